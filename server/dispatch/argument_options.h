/* Reads the options of a command by a table: one entry names an option, the kind of its value,
 * its bounds and the field of a struct that gets it.
 *
 *     struct claim {
 *         int64_t count, lease;
 *         bool reverse;
 *     };
 *     static const struct argument_option options[] = {
 *         {"count", OPTION_INTEGER(struct claim, count), .rule = INTEGER_WITHIN(1, 10000)},
 *         {"lease", OPTION_DURATION(struct claim, lease)},
 *         {"reverse", OPTION_FLAG(struct claim, reverse)},
 *         {.name = NULL}};
 *
 *     struct claim claim = {.count = 1, .lease = DUEQ_DEFAULT};
 *
 *     if (!argument_options_read(context, 2, options, &claim))
 *         return OUTCOME_DONE;
 *
 * As in Redis, options come in any order and any case, and the last of equal ones wins. A table
 * is at file scope (INTEGER_WITHIN needs that) and has at most 64 entries. The caller sets the
 * struct to its defaults first. Nothing is allocated; slices point into the request. Cost:
 * O(arguments * entries). */
#ifndef DUEQ_ARGUMENT_OPTIONS_H
#define DUEQ_ARGUMENT_OPTIONS_H

#include "server/dispatch/arguments.h"

#include <stddef.h>

enum argument_option_kind {
    ARGUMENT_OPTION_FLAG,
    ARGUMENT_OPTION_SETS,
    ARGUMENT_OPTION_ADDS,
    ARGUMENT_OPTION_INTEGER,
    ARGUMENT_OPTION_INT,
    ARGUMENT_OPTION_FLOAT,
    ARGUMENT_OPTION_DURATION,
    ARGUMENT_OPTION_LIMIT,
    ARGUMENT_OPTION_CHOICE,
    ARGUMENT_OPTION_NAME,
    ARGUMENT_OPTION_BYTES,
    ARGUMENT_OPTION_INDEX,
    ARGUMENT_OPTION_CUSTOM
};

struct argument_option {
    const char *name;               /* lower case; NULL ends the table */
    enum argument_option_kind kind; /* this and the next are set by a macro below */
    size_t field;                   /* offset in the caller's struct */
    unsigned number;                /* of SETS and ADDS; free for CUSTOM */
    /* Of INTEGER (NULL: any number) and of INT (never NULL; the bounds fit an int). */
    const struct integer_rule *rule;
    const char *const *words; /* of CHOICE: lower case, NULL ends them */
    const char *what;         /* of NAME, for its error: "id" */
    /* Options of one group exclude each other: the second counts as unknown. 0: no group. */
    unsigned group;
    bool once; /* the second time it counts as unknown */
    /* CUSTOM: `values` arguments follow at least. Reads them from argument *at on into `form`,
     * the caller's struct, and moves *at to the first argument after them. False: it has
     * written the error. */
    size_t values;
    bool (*read)(struct context *context, size_t *at, const struct argument_option *option,
                 void *form);
};

/* LIMIT offset count. */
struct argument_limit {
    int64_t offset, count;
};

/* ---- kinds: the struct, and its field. A field of another type does not compile. */

#define OPTION_OF(option_kind, form, member, type)                                             \
    .kind = ARGUMENT_OPTION_##option_kind, .field = _Generic(((form *)0)->member, type         \
                                                             : offsetof(form, member))

/* Without a value. bool: becomes true. */
#define OPTION_FLAG(form, member) OPTION_OF(FLAG, form, member, bool)
/* Without a value. unsigned or enum: becomes, or gets the bits of, `number`. */
#define OPTION_SETS(form, member) OPTION_OF(SETS, form, member, unsigned)
#define OPTION_ADDS(form, member) OPTION_OF(ADDS, form, member, unsigned)
/* int64_t, uint64_t or int, within `rule`; that of COUNT has no negative numbers. */
#define OPTION_INTEGER(form, member) OPTION_OF(INTEGER, form, member, int64_t)
#define OPTION_COUNT(form, member)   OPTION_OF(INTEGER, form, member, uint64_t)
#define OPTION_INT(form, member)     OPTION_OF(INT, form, member, int)
#define OPTION_FLOAT(form, member)   OPTION_OF(FLOAT, form, member, double)
/* int64_t, ms: "1500", "30s". */
#define OPTION_DURATION(form, member) OPTION_OF(DURATION, form, member, int64_t)
/* struct argument_limit: two integers. */
#define OPTION_LIMIT(form, member) OPTION_OF(LIMIT, form, member, struct argument_limit)
/* unsigned or enum: the index of the value in `words`; another value is a syntax error. */
#define OPTION_CHOICE(form, member) OPTION_OF(CHOICE, form, member, unsigned)
/* struct dueq_slice: 1 to DUEQ_NAME_MAX bytes, or any bytes. of: what its error calls it. */
#define OPTION_NAME(form, member, of)                                                          \
    OPTION_OF(NAME, form, member, struct dueq_slice), .what = (of)
#define OPTION_BYTES(form, member) OPTION_OF(BYTES, form, member, struct dueq_slice)
/* size_t: the index of the value's argument. */
#define OPTION_INDEX(form, member) OPTION_OF(INDEX, form, member, size_t)
/* What `read` does with `values` arguments or more. */
#define OPTION_CUSTOM .kind = ARGUMENT_OPTION_CUSTOM

/* ---- reading. False: the error of a value is written; the form may be partly filled. */

/* Reads the options that are all arguments from `at` on; what is unknown, or has no value, is
 * "ERR syntax error". */
bool argument_options_read(struct context *context, size_t at,
                           const struct argument_option *options, void *form);

/* For options that other arguments follow, or that have an error of their own: reads until the
 * first argument that is no option of the table or lacks its value. *at is the first argument,
 * and then that one or context_count. */
bool argument_options_read_leading(struct context *context, size_t *at,
                                   const struct argument_option *options, void *form);

/* For requests with so many options that they are read in slices: reads the one at *at, and
 * moves *at behind its values. What is unknown, or has no value, is "ERR syntax error". The
 * table has no groups, and nothing that may stand only once. O(entries). */
bool argument_options_read_one(struct context *context, size_t *at,
                               const struct argument_option *options, void *form);

/* The first argument from `at` on that is the option of that name, and not the value of one
 * before it; request->count: there is none. For looks at a request before its handler runs. */
size_t argument_options_find(const struct request *request, size_t at,
                             const struct argument_option *options, const char *name);

#endif
