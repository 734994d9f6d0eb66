/* The table of commands. One entry says everything about one command: COMMAND, COMMAND DOCS,
 * HELP, arity errors, key positions and the hints of redis-cli come from it.
 *
 * Each file in server/commands/ contains handlers and the entries for them; command_list.h
 * names the files. A new command is one entry, one handler, one test and one line in the
 * README. */
#ifndef DUEQ_COMMAND_H
#define DUEQ_COMMAND_H

#include "protocol/request.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

enum outcome {
    OUTCOME_DONE,  /* the reply is written */
    OUTCOME_WAIT,  /* no reply yet: the command waits (waiters.h) or goes on later (long_work.h)
                    */
    OUTCOME_AGAIN, /* only of the dispatcher: nothing was done, the request runs again in the
                      next turn */
    OUTCOME_CLOSE  /* the reply is written; the connection closes after it has left */
};

struct context;
typedef enum outcome (*command_fn)(struct context *context);

/* Redis' command flags, in the order in which COMMAND prints them. */
enum command_flag {
    COMMAND_WRITE = 1 << 0,
    COMMAND_READONLY = 1 << 1,
    COMMAND_DENYOOM = 1 << 2, /* needs room: fails with FULL or TOOBIG when there is none */
    COMMAND_ADMIN = 1 << 3,
    COMMAND_PUBSUB = 1 << 4,
    COMMAND_NOSCRIPT = 1 << 5,
    COMMAND_BLOCKING = 1 << 6,
    COMMAND_LOADING = 1 << 7, /* works while the store is opened or not available */
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
    /* Not printed: works without the store, although Redis does not call it `loading`. */
    COMMAND_STORELESS = 1 << 18,
    /* Not printed: runs at once after MULTI. */
    COMMAND_UNQUEUED = 1 << 19,
    /* Not printed: runs for a RESP2 client that has subscriptions. */
    COMMAND_SUBSCRIBED = 1 << 20,
    /* Not printed: CLIENT PAUSE WRITE delays it, although it is not a write. */
    COMMAND_PAUSED = 1 << 21,
    COMMAND_MAY_WRITE = COMMAND_WRITE | COMMAND_PAUSED,
    /* Not printed: runs only with enable-debug-command. */
    COMMAND_PROTECTED = 1 << 22,
    /* Not printed: does not change the time when a key was last used. */
    COMMAND_NO_TOUCH = 1 << 23,
    /* Not printed: a write that counts as a read in keyspace_hits and keyspace_misses. */
    COMMAND_LOOKS_UP = 1 << 24,
    /* Not printed: changes the time of last use also after CLIENT NO-TOUCH. */
    COMMAND_TOUCHES = 1 << 25,
    /* Not printed: runs what MULTI has queued; needs the store and room that the queue
     * needs. */
    COMMAND_RUNS_QUEUE = 1 << 26,
    /* Not printed: a write that reads first, and that changes nothing when a read answers
     * DUEQ_BUSY: it runs again while a large value is checked, like a command that only reads.
     */
    COMMAND_READS_FIRST = 1 << 27,
    /* Not printed: what it takes is gone. When it has waited, it takes nothing for a client
     * that has closed its side meanwhile. */
    COMMAND_TAKES_FOR_GOOD = 1 << 28,
    /* Not printed: a slice of its long work (long_work.h) reads its keys anew, and has changed
     * nothing, nor its state, when a read answers DUEQ_BUSY: it runs again in a later turn. */
    COMMAND_READS_ANEW = 1 << 29,
    /* Commands that do not use the store and take little time. */
    COMMAND_ANYTIME = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST
};

/* Gets the index of an argument that is a key, and what the command does with it: flags as in
 * key_specs.h, not terminated by a zero. */
typedef void (*command_key_fn)(void *arg, size_t index, const char *flags, size_t flags_size);

/* The arguments that are keys (for Q. commands: topics), in the form that clients use which do
 * not know key specifications. */
struct key_positions {
    int first; /* index of the first, 0: none */
    int last;  /* index of the last; negative: counted from the end */
    int step;  /* from one to the next */
};

struct command {
    const char *name; /* lower case, as in "q.push", "client"; subcommands: "kill" */
    int arity;        /* as in Redis: counts the name; negative: at least so many. A subcommand
                       * counts the container's name as well */
    unsigned flags;   /* enum command_flag */
    struct key_positions keys;
    const char
        *key_specs; /* the same, and what the command does with them: key_specs.h; NULL: none */
    const char *group; /* COMMAND DOCS: "queue", "connection", "server", "generic", ... */
    const char *since; /* "1.0.0" */
    const char *summary;
    const char *complexity;
    /* Arguments for COMMAND DOCS, HELP and hints, in Redis' own notation, without the name:
     * "topic body [ID id] [DELAY duration | AT unix-ms] [id token ...]". */
    const char *syntax;
    const char *categories; /* ACL categories that the flags do not imply: "queue dangerous" */
    const char *tips;       /* COMMAND INFO's, space separated; NULL: none */
    command_fn run;         /* NULL for a pure container */
    /* Before anything of an EXEC runs: the status for which the whole EXEC is refused, because
     * this command in it would do nothing. Writes no reply. NULL: DUEQ_OK. */
    enum dueq_status (*foresee)(struct context *context);
    /* Calls fn for each key of a request that fits the arity, where key_specs cannot tell
     * exactly which arguments are keys. Of a request that will fail for its form it may name
     * any; false: it finds none in it. NULL: key_specs can. */
    bool (*find_keys)(const struct request *request, command_key_fn fn, void *arg);
    const struct command *subcommands; /* ended by an entry without a name; NULL: none */
};

/* ---- lookup. The first call builds the table; it lives until the program ends. */

/* In any case, O(1). NULL: there is no such command. */
const struct command *command_find(struct argument name);
/* In any case, O(subcommands). NULL: there is none. */
const struct command *command_find_sub(const struct command *container, struct argument name);
/* The command that a request names, or its subcommand where it names one. NULL: there is
 * none. */
const struct command *command_find_request(const struct request *request);
size_t command_count(void); /* without subcommands */
/* Less than COMMANDS_MAX, and another one for each command and subcommand. */
enum { COMMANDS_MAX = 512 };
size_t command_number(const struct command *command);
/* `index` is less than command_count; in order of command_list.h and of the entries there. */
const struct command *command_at(size_t index);
/* "get"; "client|kill" for a subcommand. Lives as long as the program. */
const char *command_full_name(const struct command *command);
/* Does a request of `count` arguments, the name included, fit the arity? */
bool command_arity_fits(const struct command *command, size_t count);
/* Does it fail while the store is not available? */
static inline bool command_needs_store(const struct command *command)
{
    return !(command->flags & (COMMAND_LOADING | COMMAND_STORELESS));
}
/* The container of a subcommand, NULL for a command. */
const struct command *command_container(const struct command *command);

#endif
