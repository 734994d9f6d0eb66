/* Keys of a damaged store (storage/salvage.h). */
#ifndef DUEQ_KEYS_SALVAGE_H
#define DUEQ_KEYS_SALVAGE_H

#include "storage/status.h"

struct salvage;

/* Makes the keys of what was read anew. */
enum dueq_status keys_salvage(struct salvage *salvage);

#endif
