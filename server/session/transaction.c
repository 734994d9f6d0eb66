#include "server/session/transaction.h"

#include "server/containers/request_copy.h"
#include "server/session/session.h"
#include "server/session/watches.h"

#include <assert.h>
#include <stdlib.h>

#define TRANSACTION_BYTES_MAX                                                                  \
    ((size_t)1 << 30) /* of arguments: one journal record must hold them */

struct transaction {
    struct request **requests; /* each its own allocation */
    size_t count, capacity, bytes, arguments;
    unsigned flags;
    bool needs_store, foresees;
    bool failed;
};

struct transaction *transaction_new(void)
{
    return calloc(1, sizeof(struct transaction));
}

void transaction_free(struct transaction *transaction)
{
    if (transaction == NULL)
        return;
    for (size_t i = 0; i < transaction->count; i++)
        free(transaction->requests[i]);
    free(transaction->requests);
    free(transaction);
}

static bool make_room(struct transaction *transaction)
{
    size_t capacity = transaction->capacity == 0 ? 8 : transaction->capacity * 2;
    struct request **grown;

    if (transaction->count < transaction->capacity)
        return true;
    grown = realloc(transaction->requests, capacity * sizeof(struct request *));
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

enum dueq_status transaction_queue(struct transaction *transaction,
                                   const struct request *request, const struct command *command)
{
    struct request *copy = NULL;

    assert(request->count > 0);
    if (transaction->bytes + request->bytes > TRANSACTION_BYTES_MAX)
        return refuse(transaction, DUEQ_TOOBIG);
    if (make_room(transaction))
        copy = malloc(request_copy_size(request) + sizeof(*copy));
    if (copy == NULL)
        return refuse(transaction, DUEQ_NOMEM);
    *copy = request_copy(request, copy + 1);
    transaction->requests[transaction->count++] = copy;
    transaction->flags |= command->flags;
    transaction->needs_store |= command_needs_store(command);
    transaction->foresees |= command->foresee != NULL;
    transaction->bytes += request_copy_size(request);
    transaction->arguments += request->count;
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
    return transaction->requests[index];
}

void transaction_end(struct context *context)
{
    transaction_free(context->session->transaction);
    context->session->transaction = NULL;
    watches_drop(context->server, context->session);
}
