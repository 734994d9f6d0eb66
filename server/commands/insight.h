/* What MEMORY and DEBUG share. */
#ifndef DUEQ_SERVER_COMMANDS_INSIGHT_H
#define DUEQ_SERVER_COMMANDS_INSIGHT_H

#include "storage/keys/keys.h"

/* Bytes of the value alone, by a sample of a few of its elements. */
uint64_t key_size_estimate(const struct keys_view *view, struct dueq_slice name,
                           const struct keys_info *info);

#endif
