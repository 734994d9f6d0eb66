#include "server/session/transaction.h"

#include "server/containers/given_request.h"
#include "server/containers/request_copy.h"
#include "server/containers/spent.h"
#include "server/session/monitor_text.h"
#include "server/session/session.h"
#include "server/session/watches.h"

#include <assert.h>
#include <stdlib.h>

enum { LARGE_REQUEST = 64 * 1024 }; /* bytes: from there on nothing is copied */

#define TRANSACTION_BYTES_MAX                                                                  \
    ((size_t)1 << 30) /* of arguments: one journal record must hold them */

struct queued_request {
    struct request request;
    size_t size;                       /* of all of it */
    struct resp_given *given;          /* the memory of the request; NULL: it is a copy */
    struct monitor_text *text;         /* for monitors; NULL: there is none */
    struct queued_request *next_large; /* of those whose text is prepared */
    size_t loan_count;
    struct dueq_loan loans[CONTEXT_LOANS_MOST]; /* the first loan_count */
};

struct transaction {
    struct spent spent;
    struct queued_request **requests; /* each its own allocation, with the copy after it */
    size_t count, capacity, bytes, arguments;
    struct queued_request *first_large, *last_large; /* the first: its text is not complete */
    size_t text_bytes;
    unsigned flags;
    bool needs_store, foresees;
    bool failed;
    struct acl_memo rights; /* of the first request */
    bool rights_differ;     /* of another one */
};

struct transaction *transaction_new(void)
{
    return calloc(1, sizeof(struct transaction));
}

static void free_request(struct queued_request *queued)
{
    for (size_t i = 0; i < queued->loan_count; i++)
        free(queued->loans[i].memory);
    given_request_free(queued->given);
    monitor_text_drop(&queued->text);
    spent_memory(queued, queued->size);
}

void transaction_forget(struct transaction *transaction, size_t index)
{
    assert(index < transaction->count);
    if (transaction->requests[index] != NULL)
        free_request(transaction->requests[index]);
    transaction->requests[index] = NULL;
}

static bool free_some(struct spent *spent)
{
    struct transaction *transaction = (struct transaction *)(void *)spent;

    for (size_t i = 0; i < SPENT_PARTS && transaction->count > 0; i++, transaction->count--)
        transaction_forget(transaction, transaction->count - 1);
    if (transaction->count > 0)
        return false;
    free(transaction->requests);
    free(transaction);
    return true;
}

void transaction_free(struct transaction *transaction)
{
    if (transaction != NULL && !free_some(&transaction->spent))
        spent_add(&transaction->spent, free_some);
}

static bool make_room(struct transaction *transaction)
{
    size_t capacity = transaction->capacity == 0 ? 8 : transaction->capacity * 2;
    struct queued_request **grown;

    if (transaction->count < transaction->capacity)
        return true;
    grown = realloc(transaction->requests, capacity * sizeof(*grown));
    if (grown == NULL)
        return false;
    transaction->requests = grown;
    transaction->capacity = capacity;
    return true;
}

static enum dueq_status refuse(struct transaction *transaction, enum dueq_status status)
{
    transaction->failed = true;
    return status;
}

/* What it holds but for its loans; size: of the copy, if it is one. */
static size_t held_bytes(const struct queued_request *queued, const struct context *context,
                         size_t size)
{
    if (queued->given == NULL)
        return size;
    size = given_request_bytes(queued->given);
    for (size_t i = 0; i < context->loan_count; i++)
        size -= context->loans[i].size;
    return size;
}

/* Takes over what the request lends. Returns how many bytes that are. */
static size_t take_loans(struct queued_request *queued, struct context *context)
{
    size_t bytes = 0;

    queued->loan_count = context->loan_count;
    for (size_t i = 0; i < context->loan_count; i++) {
        queued->loans[i] = context->loans[i];
        context->loans[i].memory = NULL;
        bytes += queued->loans[i].size + queued->loans[i].before;
    }
    return bytes;
}

static void note_rights(struct transaction *transaction, const struct acl_memo *rights)
{
    if (transaction->count == 1)
        transaction->rights = *rights;
    else if (rights->user != transaction->rights.user ||
             rights->version != transaction->rights.version)
        transaction->rights_differ = true;
    transaction->rights_differ |= !rights->allowed;
}

const struct acl_memo *transaction_rights(const struct transaction *transaction)
{
    return transaction->rights_differ ? NULL : &transaction->rights;
}

/* NULL: out of memory. */
static struct queued_request *copy_request(const struct context *context,
                                           const uint8_t *const *kept, size_t size)
{
    struct queued_request *queued = malloc(sizeof(*queued) + size);

    if (queued == NULL)
        return NULL;
    queued->size = sizeof(*queued) + size;
    queued->given = NULL;
    queued->request = request_copy_but(context->request, queued + 1, kept, context->loan_count);
    return queued;
}

/* Takes over the memory of the reader, whose request stays where it is. NULL: out of memory. */
static struct queued_request *take_request(const struct context *context)
{
    struct queued_request *queued = malloc(sizeof(*queued));
    struct resp_given *given = malloc(sizeof(*given));

    if (queued == NULL || given == NULL) {
        free(queued);
        free(given);
        return NULL;
    }
    queued->size = sizeof(*queued);
    queued->given = given;
    queued->request = *context->request;
    resp_reader_give(context->reader, given);
    return queued;
}

static bool may_take(const struct context *context, size_t size)
{
    return context->reader != NULL && size >= LARGE_REQUEST &&
           resp_reader_has(context->reader, context->request);
}

/* Adds it to those whose text for monitors is made in slices. */
static void note_large(struct transaction *transaction, struct queued_request *queued)
{
    queued->text = NULL;
    queued->next_large = NULL;
    if (queued->request.bytes < MONITOR_TEXT_LARGE)
        return;
    if (transaction->first_large == NULL)
        transaction->first_large = queued;
    else
        transaction->last_large->next_large = queued;
    transaction->last_large = queued;
}

enum dueq_status transaction_queue(struct transaction *transaction, struct context *context)
{
    const struct request *request = context->request;
    const uint8_t *kept[CONTEXT_LOANS_MOST];
    struct queued_request *queued = NULL;
    size_t size;

    assert(request->count > 0 && context->loan_count <= CONTEXT_LOANS_MOST);
    for (size_t i = 0; i < context->loan_count; i++)
        kept[i] = context->loans[i].data;
    if (transaction->bytes + request->bytes > TRANSACTION_BYTES_MAX)
        return refuse(transaction, DUEQ_TOOBIG);
    size = request_copy_size_but(request, kept, context->loan_count);
    if (make_room(transaction))
        queued =
            may_take(context, size) ? take_request(context) : copy_request(context, kept, size);
    if (queued == NULL)
        return refuse(transaction, DUEQ_NOMEM);
    transaction->requests[transaction->count++] = queued;
    note_large(transaction, queued);
    transaction->flags |= context->command->flags;
    transaction->needs_store |= command_needs_store(context->command);
    transaction->foresees |= context->command->foresee != NULL;
    transaction->bytes += held_bytes(queued, context, size) + take_loans(queued, context);
    transaction->arguments += request->count;
    note_rights(transaction, &context->session->rights);
    return DUEQ_OK;
}

unsigned transaction_flags(const struct transaction *transaction)
{
    return transaction->flags;
}

bool transaction_needs_store(const struct transaction *transaction)
{
    return transaction->needs_store;
}

bool transaction_foresees(const struct transaction *transaction)
{
    return transaction->foresees;
}

void transaction_fail(struct transaction *transaction)
{
    transaction->failed = true;
}

bool transaction_failed(const struct transaction *transaction)
{
    return transaction->failed;
}

size_t transaction_count(const struct transaction *transaction)
{
    return transaction->count;
}

size_t transaction_arguments(const struct transaction *transaction)
{
    return transaction->arguments;
}

size_t transaction_bytes(const struct transaction *transaction)
{
    return transaction->bytes;
}

const struct request *transaction_request(const struct transaction *transaction, size_t index)
{
    assert(index < transaction->count);
    return &transaction->requests[index]->request;
}

struct dueq_loan *transaction_loans(const struct transaction *transaction, size_t index,
                                    size_t *ret_count)
{
    assert(index < transaction->count);
    *ret_count = transaction->requests[index]->loan_count;
    return transaction->requests[index]->loans;
}

bool transaction_prepare_texts(struct transaction *transaction, size_t most)
{
    struct queued_request *queued = transaction->first_large;
    size_t before;

    if (queued == NULL || transaction->failed || transaction->text_bytes > most)
        return true;
    before = monitor_text_bytes(queued->text);
    if (monitor_text_prepare(&queued->text, &queued->request, most))
        transaction->first_large = queued->next_large;
    transaction->text_bytes += monitor_text_bytes(queued->text) - before;
    return transaction->first_large == NULL;
}

size_t transaction_text_bytes(const struct transaction *transaction)
{
    return transaction->text_bytes;
}

struct monitor_text **transaction_text(const struct transaction *transaction, size_t index)
{
    assert(index < transaction->count);
    return &transaction->requests[index]->text;
}

void transaction_end(struct context *context)
{
    transaction_free(context->session->transaction);
    context->session->transaction = NULL;
    watches_drop(context->server, context->session);
}
