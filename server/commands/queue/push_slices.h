/* Pushes of one command, of which all happen or none. They are checked and added at once, or,
 * where bodies have many bytes together, those that come or those that are there already, in
 * slices, alone with the store (server/dispatch/alone.h): one record, and one step for all
 * other clients. */
#ifndef DUEQ_PUSH_SLICES_H
#define DUEQ_PUSH_SLICES_H

#include "server/commands/queue/after_rights.h"
#include "server/dispatch/context.h"
#include "storage/store.h"

/* Zero at first. */
struct push_slices {
    struct push_batch *batch;   /* NULL: not begun */
    struct dueq_pushed *pushed; /* one for each push */
    size_t count;
    bool is_checked;
};

/* Is the command to begin in a slice? From then on its arguments stay where they are. If so,
 * the after_rights_fn answers OUTCOME_WAIT, and is called again in one. count: of pushes. */
bool push_slices_must_wait(struct context *context, size_t count);
/* Goes on with a batch that has begun, if *status is DUEQ_OK. True: there is more, and the
 * after_rights_fn answers OUTCOME_WAIT. Then `work`, which has the slices in it, is kept for
 * the next slice, or, before the first one, freed, as nothing has changed. False: *status says
 * how it has ended, as store_push_check; with DUEQ_OK the reply is written. */
bool push_slices_have_more(struct context *context, struct after_rights *rights,
                           struct push_slices *slices, void *work, void (*free_work)(void *),
                           enum dueq_status *status);
void push_slices_release(struct push_slices *slices);

#endif
