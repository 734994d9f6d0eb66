/* What a waiting job waits for, as fields of a map. */
#ifndef DUEQ_REPLY_WAITING_H
#define DUEQ_REPLY_WAITING_H

#include "server/commands/queue/after_rights.h"

enum { WAITING_SHOWN = 100 }; /* usually; the number of all is told, too */

/* Three fields: awaits, on-dead, after, with at most so many. Arguments 1 and 2 name the job.
 * Its slices are void afterwards. The rights to the topics are asked for. */
void write_waiting(struct context *context, struct after_rights *rights,
                   const struct dueq_job *job);
/* The same with all of them. OUTCOME_WAIT: there are more, which write_more_waiting writes in
 * later slices (after_rights_fn). */
enum outcome write_all_waiting(struct context *context, struct after_rights *rights,
                               const struct dueq_job *job);
enum outcome write_more_waiting(struct context *context, struct after_rights *rights);
const char *on_dead_word(enum dueq_on_dead on_dead);

#endif
