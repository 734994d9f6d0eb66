/* Reads the arguments of a request as Redis reads them. Every reader that returns bool writes
 * the error reply and returns false when the argument is bad; it then leaves *ret unchanged.
 * `index` is less than context_count. Nothing is allocated. Cost: O(size of the argument). */
#ifndef DUEQ_ARGUMENTS_H
#define DUEQ_ARGUMENTS_H

#include "server/dispatch/context.h"

/* ---- words, in upper or lower case */

static inline bool arguments_is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

/* Does a value follow the option at `index`? Otherwise "ERR syntax error". Options: see
 * argument_options.h. */
bool arguments_has_value(struct context *context, size_t index);

/* One of several words (lower case, NULL ends them): its index. No such word, or no such
 * argument: "ERR syntax error". */
bool arguments_choice(struct context *context, size_t index, const char *const *words,
                      unsigned *ret_choice);

/* FLUSHDB and FLUSHALL: no argument, ASYNC or SYNC. */
bool arguments_flush_form(struct context *context);

/* ---- numbers */

/* Bounds of an integer, both included, and the two errors. */
struct integer_rule {
    int64_t least, most;
    const char *not_integer; /* NULL: "ERR value is not an integer or out of range" */
    const char *outside;     /* NULL: "ERR value is out of range, value must between ..." */
    const char *beyond;      /* for a number of more than 64 bits; NULL: as not_integer */
};
#define ARGUMENTS_SYNTAX_ERROR "ERR syntax error"

/* Rules that are written where they are used, as an argument of arguments_integer. */
#define INTEGER_RULE(...)                 (&(const struct integer_rule){__VA_ARGS__})
#define INTEGER_WITHIN(least, most)       INTEGER_RULE(least, most, NULL, NULL, NULL)
#define INTEGER_OR(least, most, error)    INTEGER_RULE(least, most, error, error, NULL)
#define INTEGER_BOUND(least, most, error) INTEGER_RULE(least, most, NULL, error, NULL)
/* A range that every number outside is told, also one of more than 64 bits. */
#define INTEGER_RANGE(least, most, error) INTEGER_RULE(least, most, NULL, error, error)
/* A number that is a macro, as a part of a text. */
#define TEXT_OF(number)      TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(value) #value
#define RANGE_TEXT(least, most)                                                                \
    "ERR value is out of range, must be between " TEXT_OF(least) " and " TEXT_OF(most)

/* rule NULL: any integer of 64 bits. */
bool arguments_integer(struct context *context, size_t index, const struct integer_rule *rule,
                       int64_t *ret_number);
bool arguments_float(struct context *context, size_t index, double *ret_number);

/* A number of arguments that follow it, such as numkeys, after which `after` more must come.
 * `rule` has the error for less than 1; too_many: the error for more than there are. */
bool arguments_number_of(struct context *context, size_t index, size_t after,
                         const struct integer_rule *rule, const char *too_many,
                         size_t *ret_number);
/* The rule for numkeys of most commands. */
#define ARGUMENTS_NUMKEYS INTEGER_OR(1, INT64_MAX, "ERR numkeys should be greater than 0")

/* ---- times */

/* "1500", "30s": ms. */
bool arguments_duration(struct context *context, size_t index, int64_t *ret_ms);
/* Seconds, with a fraction: the deadline on the queue's clock, ms. 0 seconds: DUEQ_NEVER. */
bool arguments_timeout(struct context *context, size_t index, int64_t *ret_deadline);
/* A time on the wall clock (absolute) or from now, in seconds or milliseconds, not less than
 * `least`: the time on the queue's clock at which a key expires, ms. */
bool arguments_expiry(struct context *context, size_t index, bool seconds, bool absolute,
                      int64_t least, int64_t *ret_expires);

/* ---- names, databases, cursors */

/* Checks that a name has 1 to DUEQ_NAME_MAX bytes. what: "topic", "id". */
bool arguments_name(struct context *context, size_t index, const char *what);
/* The number of a database, less than config.databases. not_integer: the error for what is no
 * integer; NULL: Redis' usual one. */
bool arguments_database(struct context *context, size_t index, const char *not_integer,
                        unsigned *ret_database);
bool arguments_cursor(struct context *context, size_t index, uint64_t *ret_cursor);

#endif
