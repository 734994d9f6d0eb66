/* Commands that remove many elements from a list, set or sorted set. They find the elements in
 * slices (long_work.h), write them into the reply meanwhile, and then remove all of them in one
 * step. A key that changes before that step makes the command begin again. */
#ifndef DUEQ_REMOVALS_H
#define DUEQ_REMOVALS_H

#include "server/commands/database.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/zset/zset.h"

struct removals_request;

/* How a command replies. */
struct removals_form {
    /* Writes what comes before the `count` elements. NULL: elements are not replied. */
    void (*begin)(struct context *context, const struct removals_request *request,
                  uint64_t count);
    /* Writes one element. NULL: as with begin. */
    void (*write)(struct context *context, const struct removals_request *request,
                  const struct zset_entry *element);
    /* `count` elements are removed: writes the end of the reply and publishes events. */
    void (*end)(struct context *context, const struct removals_request *request,
                uint64_t count);
    /* Does all of it in this turn: for keys that cannot be read in slices (DUEQ_INVALID). */
    enum outcome (*at_once)(struct context *context, const struct removals_request *request);
};

struct removals_request {
    const struct removals_form *form;
    const void *arg; /* the form's own */
    size_t key;      /* argument */
    enum keys_type type;
    uint64_t count; /* elements to reply */
    struct keys_removal_part part;
    const struct zset_range *range; /* of KEYS_REMOVAL_RANGE, else NULL */
};

/* Begins a removal that looks at `steps` elements. In an EXEC everything is done at once, up to
 * LONG_WHOLE steps; more is an error. `request` need only live during the call. */
enum outcome removals_begin(struct context *context, const struct removals_request *request,
                            uint64_t steps);
/* Has a removal begun whose key has not changed since? False: the command begins, for the first
 * time or again; nothing of an earlier reply is left. */
bool removals_is_running(struct context *context);
/* Has a removal begun, also one whose key has changed since? */
bool removals_has_begun(const struct context *context);
/* Runs a slice of it. Key and count are those of removals_begin; the request's other members
 * must be the same. */
enum outcome removals_continue(struct context *context, const struct removals_request *request);

#endif
