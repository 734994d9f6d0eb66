/* Extends the leases of the jobs that are held, on a thread with a connection of its own, so
 * that nothing that waits for the target lets one end. It connects when the first lease is a
 * third over; who holds jobs for less never needs it. */
#ifndef DUEQ_KEEPER_H
#define DUEQ_KEEPER_H

#include "tools/forward/forward.h"

struct keeper;

/* NULL: there is no thread to be had. */
struct keeper *keeper_new(const struct forward_options *options);
void keeper_free(struct keeper *keeper);
/* The job must stay until it is dropped. O(1). */
void keeper_add(struct keeper *keeper, struct forward_job *job);
void keeper_drop(struct keeper *keeper, struct forward_job *job);

#endif
