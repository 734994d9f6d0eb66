/* The opening of the store on a thread of its own: the loop goes on meanwhile. All functions
 * are for the loop's thread. */
#ifndef DUEQ_OPENING_H
#define DUEQ_OPENING_H

#include "storage/dueq.h"

struct opening;

/* Starts an opening, and copies its arguments. options->notify is called once more, when the
 * opening has ended; options->on_progress is not used. NULL: no memory, or no thread. */
struct opening *opening_start(const char *dir, const struct dueq_options *options,
                              struct dueq_time time);

bool opening_has_ended(struct opening *opening);
/* Waits until it has ended, but no longer than so many ms. Has it? */
bool opening_await(struct opening *opening, int ms);
/* What dueq_open has reported last. Never NULL, O(1). */
void opening_get_progress(struct opening *opening, struct dueq_progress *ret_progress);
/* The opening ends with DUEQ_STOPPED at its next step, when it has not ended before. */
void opening_stop(struct opening *opening);

/* Waits for the end, and frees the opening. Returns what dueq_open has answered. ret_store: the
 * caller owns it; NULL unless the status is DUEQ_OK. */
enum dueq_status opening_finish(struct opening *opening, struct dueq **ret_store,
                                struct dueq_error *ret_error);

#endif
