/* AFTER and ON-DEAD of a push: the jobs that the new one waits for. */
#ifndef DUEQ_PUSH_AFTER_H
#define DUEQ_PUSH_AFTER_H

#include "server/commands/queue/after_rights.h"
#include "server/dispatch/context.h"
#include "storage/types.h"

/* Their syntax, for COMMAND DOCS. */
#define PUSH_AFTER_SYNTAX "[ON-DEAD FAIL|RUN|WAIT] [AFTER id|topic:id [id|topic:id ...]]"

/* Colons at which the names of a command are taken apart: each is a search of its own. */
enum { PUSH_AFTER_COLONS_MAX = 5 * DUEQ_AFTER_MAX };

/* What a push is called, as hashes: its id, and topic:id. Thousands of names are compared with
 * a thousand pushes. */
struct push_after_name {
    uint64_t id, joined;
};
struct push_after_name push_after_name_of(const struct dueq_push *push);

/* What a command knows of the push whose options it reads. */
struct push_after_place {
    struct after_rights *rights;         /* to the topics that names may mean */
    size_t end;                          /* argument: the names of AFTER end before it */
    size_t most;                         /* names that may come, 0 to DUEQ_AFTER_MAX */
    size_t colons;                       /* that may come; what was read is taken off */
    const struct dueq_push *earlier;     /* pushes of the same command, which come first */
    const struct push_after_name *names; /* of each of them */
    size_t earlier_count;
};
/* Of the only push of a command: AFTER is its last option. */
struct push_after_place push_after_alone(const struct context *context,
                                         struct after_rights *rights);

/* Reads argument *at and what belongs to it, when it is one of the two words; *at is then the
 * one behind. What was read counts when the rights are known. *ret_is: it is. push->after is
 * memory that push_after_release frees, also after a failure. False: the error is written.
 * O(names * earlier pushes + colons * log n). */
bool push_after_read(struct context *context, size_t *at, struct push_after_place *place,
                     struct dueq_push *push, bool *ret_is);
void push_after_release(struct dueq_push *push);

#endif
