/* Topics and jobs of a damaged store (storage/salvage.h). */
#ifndef DUEQ_QUEUE_SALVAGE_H
#define DUEQ_QUEUE_SALVAGE_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct salvage;
struct kv;

/* Records of the schedule and of the index of ids are not kept as they are: the new store makes
 * its own. They say which jobs there were. */
bool queue_salvage_takes(struct dueq_slice key);
/* if_absent: unless a record of the same job is there. */
void queue_salvage_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value,
                       bool if_absent);
void queue_salvage_del(struct kv *kv, struct dueq_slice key);

/* The epoch of which the counters are; 0: they are lost, or of the first. */
uint64_t queue_salvage_epoch(struct kv *from);
/* Makes the topics and jobs of what was read anew. */
enum dueq_status queue_salvage(struct salvage *salvage);

#endif
