/* How often each command ran and which errors were replied, for INFO. */
#ifndef DUEQ_SERVER_COMMAND_STATS_H
#define DUEQ_SERVER_COMMAND_STATS_H

#include "server/command.h"

struct command_stats {
    uint64_t calls;
    uint64_t usec;     /* of all calls together */
    uint64_t rejected; /* not run: arity, login, no room, no store */
    uint64_t failed;   /* run, and replied an error */
};

/* Of one command, for the caller to count in; lives as long as the program. */
struct command_stats *command_stats_of(const struct command *command);
void command_stats_reset(void); /* the errors as well */

enum { ERROR_CODES_MAX = 64, ERROR_CODE_SIZE = 32 };

struct error_stats {
    char code[ERROR_CODE_SIZE]; /* "ERR", "STALE" */
    uint64_t count;
};

/* Counts an error reply by its first word. Beyond ERROR_CODES_MAX codes it counts none. */
void error_stats_count(const char *reply, size_t size);
/* The codes seen so far, in order of first appearance. */
const struct error_stats *error_stats_all(size_t *ret_count);

#endif
