/* Commands: one table entry holds everything about one. COMMAND, COMMAND DOCS, HELP, arity
 * errors, key positions and redis-cli's hints all come from it.
 *
 * Each file in server/commands/ holds the handlers of a theme and exports its table; adding a
 * command is one entry, one handler, one test, one line in the README. */
#ifndef DUEQ_COMMAND_H
#define DUEQ_COMMAND_H

#include "protocol/request.h"
#include "protocol/resp_writer.h"
#include "storage/dueq.h"

#include <stdbool.h>
#include <stdint.h>

struct server;
struct session;
struct command;
struct waiter;

enum outcome {
    OUTCOME_DONE, /* the reply is written */
    OUTCOME_WAIT, /* no reply yet: waiters_wait_for_topics was called */
    OUTCOME_CLOSE /* the reply is written; close when it has left */
};

/* What a handler gets. It never sees a socket, a clock or libevent. */
struct context {
    struct server *server;
    struct session *session;
    struct dueq *store;
    const struct command *command; /* the (sub)command being run */
    const struct request *request;
    struct resp_writer *reply;
    struct dueq_time now;
    const struct waiter *waiter; /* not NULL: run again for a session that waits */
    bool timed_out;              /* with waiter: its deadline has passed, reply nil */
    bool may_wait;               /* false inside MULTI: a blocking command answers at once */
    bool queued;                 /* runs as part of an EXEC */
    enum dueq_status failed;     /* of context_status: the error is the whole reply */
};

static inline size_t context_count(const struct context *context)
{
    return context->request->count;
}
static inline struct argument context_argument(const struct context *context, size_t index)
{
    return context->request->arguments[index];
}
static inline struct dueq_slice context_slice(const struct context *context, size_t index)
{
    struct argument argument = context->request->arguments[index];
    return dueq_slice(argument.data, argument.size);
}

typedef enum outcome (*command_fn)(struct context *context);

/* Redis' command flags, in the order in which COMMAND prints them. */
enum command_flag {
    COMMAND_WRITE = 1 << 0,
    COMMAND_READONLY = 1 << 1,
    COMMAND_DENYOOM = 1 << 2, /* grows the store: refused with -FULL when there is no room */
    COMMAND_ADMIN = 1 << 3,
    COMMAND_PUBSUB = 1 << 4,
    COMMAND_NOSCRIPT = 1 << 5,
    COMMAND_BLOCKING = 1 << 6,
    COMMAND_LOADING = 1 << 7, /* works while the store is not available (failed, reopening) */
    COMMAND_STALE = 1 << 8,
    COMMAND_SKIP_MONITOR = 1 << 9,
    COMMAND_SKIP_SLOWLOG = 1 << 10,
    COMMAND_FAST = 1 << 11,
    COMMAND_NO_AUTH = 1 << 12, /* runs before login */
    COMMAND_NO_MANDATORY_KEYS = 1 << 13,
    COMMAND_NO_ASYNC_LOADING = 1 << 14,
    COMMAND_NO_MULTI = 1 << 15,
    COMMAND_MOVABLEKEYS = 1 << 16,
    COMMAND_ALLOW_BUSY = 1 << 17,
    /* Not printed: works without the store although Redis does not call it `loading`. */
    COMMAND_STORELESS = 1 << 18,
    /* Not printed: runs at once after MULTI. */
    COMMAND_UNQUEUED = 1 << 19,
    /* Not printed: runs for a RESP2 client that has subscriptions. */
    COMMAND_SUBSCRIBED = 1 << 20,
    /* Not printed: held back by CLIENT PAUSE WRITE although it is no write. */
    COMMAND_PAUSED = 1 << 21,
    COMMAND_MAY_WRITE = COMMAND_WRITE | COMMAND_PAUSED,
    /* Not printed: only with enable-debug-command. */
    COMMAND_PROTECTED = 1 << 22,
    /* Not printed: looking at a key is not using it. */
    COMMAND_NO_TOUCH = 1 << 23,
    /* Not printed: a write that counts as a read in keyspace_hits and keyspace_misses. */
    COMMAND_LOOKS_UP = 1 << 24,
    /* Not printed: using keys is what it is for, CLIENT NO-TOUCH or not. */
    COMMAND_TOUCHES = 1 << 25,
    /* Not printed: runs what MULTI has queued. */
    COMMAND_RUNS_QUEUE = 1 << 26,
    /* Of commands that neither touch the store nor take time. */
    COMMAND_ANYTIME = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST
};

/* Where the keys (for Q. commands: the topics) stand, as clients from before key specifications
 * want it. */
struct key_positions {
    int first; /* index of the first, 0: none */
    int last;  /* index of the last; negative: counted from the end */
    int step;
};

struct command {
    const char *name; /* lower case, as in "q.push", "client"; subcommands: "kill" */
    int arity;        /* Redis': with the command's name; negative: at least. Subcommands count
                       * the container's name as well */
    unsigned flags;   /* enum command_flag */
    struct key_positions keys;
    const char *key_specs; /* the same, and what is done with them: key_specs.h; NULL: none */
    const char *group;     /* COMMAND DOCS: "queue", "connection", "server", "generic", ... */
    const char *since;     /* "1.0.0" */
    const char *summary;
    const char *complexity;
    /* Arguments for COMMAND DOCS, HELP and hints, in Redis' own notation, without the name:
     * "topic body [ID id] [DELAY duration | AT unix-ms] [id token ...]". */
    const char *syntax;
    const char *categories; /* ACL categories that the flags do not imply: "queue dangerous" */
    const char *tips;       /* COMMAND INFO's, space separated; NULL: none */
    command_fn run;         /* NULL for a pure container */
    const struct command *subcommands; /* ended by an entry without a name; NULL: none */
};

/* ---- lookup (command.c). Case-insensitive, O(1). */
const struct command *command_find(struct argument name);
const struct command *command_find_sub(const struct command *container, struct argument name);
size_t command_count(void);
const struct command *command_at(size_t index); /* 0 .. count - 1, in order of the tables */
/* "client|kill" for subcommands; static storage per command. */
const char *command_full_name(const struct command *command);
bool command_arity_fits(const struct command *command, size_t count);
/* Can it do nothing while the store is not available? */
static inline bool command_needs_store(const struct command *command)
{
    return !(command->flags & (COMMAND_LOADING | COMMAND_STORELESS));
}
/* The container of a subcommand, NULL for a command. */
const struct command *command_container(const struct command *command);

/* ---- running (dispatch.c) */

/* Looks up, checks login, arity, room and state of the store, and runs the handler. Writes the
 * error reply itself. */
enum outcome dispatch_command(struct context *context);

/* Does a CLIENT PAUSE hold the request back? */
bool dispatch_is_paused(const struct server *server, const struct session *session,
                        const struct request *request);

/* ---- helpers for handlers (context.c) */

/* Each writes the error reply and answers false when the argument is bad. */
bool arguments_integer(struct context *context, size_t index, int64_t *ret_number);
bool arguments_duration(struct context *context, size_t index, int64_t *ret_ms);
/* The moment on the queue's clock at which so many ms, 0 or more, will have gone by: not
 * earlier. DUEQ_NEVER when there is no such number. */
int64_t context_deadline(const struct context *context, int64_t ms);
bool arguments_name(struct context *context, size_t index, const char *what); /* 1..255 bytes */

enum outcome context_syntax_error(struct context *context); /* "ERR syntax error" */
enum outcome context_arity_error(struct context *context);
/* Of a container: "ERR unknown subcommand 'x'. Try CLIENT HELP." */
enum outcome context_unknown_subcommand(struct context *context);
/* Of a subcommand with arguments that make no sense. */
enum outcome context_subcommand_error(struct context *context);
enum outcome context_ok(struct context *context);
/* Replies to a storage status that the command has no word of its own for (FULL, IO, ...). The
 * error takes the place of whatever the command has written, and of what it writes still. */
enum outcome context_status(struct context *context, enum dueq_status status);
/* For dispatch: the error in full, where data is damaged with what was asked for. */
void context_tell_failure(struct context *context);

/* Makes the session wait until one of the topics is signalled or `deadline` (queue clock, ms;
 * DUEQ_NEVER: for ever) has passed; then the handler runs again with the same arguments and
 * context->waiter set (it may answer OUTCOME_WAIT by calling this again: place in line and
 * deadline are kept). Returns OUTCOME_WAIT. */
enum outcome waiters_wait_for_topics(struct context *context, const struct dueq_slice *topics,
                                     size_t count, int64_t deadline);
/* The names, at `*count` arguments from `*first` on, that a blocking command has to look at:
 * all of them at first; when it runs again, the one that changed. */
void waiters_select_changed(const struct context *context, size_t *first, size_t *count);

#endif
