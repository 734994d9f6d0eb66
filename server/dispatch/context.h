/* What a handler gets, and the replies that many handlers write. Each reply function that
 * returns an outcome returns OUTCOME_DONE, so that a handler can end with it. Cost of each:
 * O(1), but for the text that it writes. */
#ifndef DUEQ_CONTEXT_H
#define DUEQ_CONTEXT_H

#include "protocol/resp_writer.h"
#include "server/dispatch/command.h"
#include "storage/dueq.h"

#include <assert.h>

struct acl_memo;
struct monitor_text;
struct nested_work;
struct resp_reader;
struct server;
struct session;
struct waiter;

enum { CONTEXT_LOANS_MOST = 16 }; /* loans of one request */

/* One run of one command. A handler sees no socket, no clock and no libevent. All pointers are
 * borrowed, and are valid until the handler returns. */
struct context {
    struct server *server;
    struct session *session;
    struct dueq *store;            /* NULL: not available; the command does not need it */
    const struct command *command; /* the command or subcommand that runs */
    const struct request *request;
    struct resp_writer *reply;
    struct dueq_time now;
    const struct waiter *waiter;   /* not NULL: the command waited and runs again */
    bool timed_out;                /* with waiter: its deadline has passed, the reply is nil */
    bool may_wait;                 /* false in an EXEC: a blocking command answers at once */
    bool stops;                    /* the server is about to: a claim finds nothing */
    bool again;                    /* the command has run before: OUTCOME_AGAIN */
    bool queued;                   /* the command is part of an EXEC, ... */
    const struct acl_memo *rights; /* ... and what is known of the right to it; NULL: nothing */
    struct nested_work *nested;    /* with queued: the command may take several slices of it */
    struct resp_reader *reader;    /* has the request: waiters_take; NULL: it is kept already */
    struct dueq_loan *loans; /* large arguments, which the store, or who keeps the request, */
    size_t loan_count;       /* may take over: memory becomes NULL */
    struct monitor_text **monitor_text; /* what monitors are shown, as far as it is prepared */
    enum dueq_status failed; /* set by context_status: the error replaces the whole reply */
};

static inline size_t context_count(const struct context *context)
{
    return context->request->count;
}

/* `index` is less than context_count. The bytes are the request's. */
static inline struct argument context_argument(const struct context *context, size_t index)
{
    assert(index < context->request->count);
    return context->request->arguments[index];
}
static inline struct dueq_slice context_slice(const struct context *context, size_t index)
{
    struct argument argument = context_argument(context, index);
    return dueq_slice(argument.data, argument.size);
}

/* The loan that contains the argument, which is large: who sets its memory to NULL has to free
 * it, and keeps it readable until the command has ended. NULL: it is short, or not lent. */
struct dueq_loan *context_loan(const struct context *context, size_t index);
/* Bytes that are copied when the store takes the argument, or all of them: not those of loans,
 * whose memory it takes over. O(loans). */
size_t context_copied(const struct context *context, size_t index);
size_t context_copied_of_all(const struct context *context);

/* The time on the queue's clock `ms` (0 or more) after now, rounded up so that it does not come
 * too early. DUEQ_NEVER when the sum exceeds 64 bits. */
int64_t context_deadline(const struct context *context, int64_t ms);

/* ---- replies */

enum outcome context_ok(struct context *context); /* "OK" */
enum outcome context_reply_integer(struct context *context, int64_t number);
/* The argument as a bulk. The memory of a large one is taken over: its bytes are copied in
 * later turns. They stay readable until the command has ended. */
enum outcome context_reply_argument(struct context *context, size_t index);
/* The same of a bulk that is the argument between two texts. */
enum outcome context_reply_between(struct context *context, const char *before, size_t index,
                                   const char *after);

static inline void resp_slice(struct resp_writer *writer, struct dueq_slice slice)
{
    resp_bulk(writer, slice.data, slice.size);
}

/* ---- errors */

enum outcome context_syntax_error(struct context *context); /* "ERR syntax error" */
enum outcome context_arity_error(struct context *context);
/* Of a container: "ERR unknown subcommand 'x'. Try CLIENT HELP." */
enum outcome context_unknown_subcommand(struct context *context);
/* Of a subcommand whose arguments it cannot read. */
enum outcome context_subcommand_error(struct context *context);
/* Replies to a status of the store for which the command has no text of its own (FULL, IO,
 * ...). The error replaces what the command has written, and what it still writes. */
enum outcome context_status(struct context *context, enum dueq_status status);
/* The text of that reply; static. */
const char *context_status_text(enum dueq_status status);
/* True for DUEQ_OK and DUEQ_NOTFOUND. For others calls context_status and returns false. */
bool context_check_status(struct context *context, enum dueq_status status);
/* For dispatch.c: writes the error for context->failed. For damaged data it names what is
 * damaged and what the client asked for, and writes the same to the log. */
void context_tell_failure(struct context *context);

#endif
