/* What MEMORY and DEBUG share. */
#ifndef DUEQ_KEY_SIZE_H
#define DUEQ_KEY_SIZE_H

#include "storage/keys/keys.h"

/* Bytes of the value alone, by a sample of a few of its elements. */
uint64_t key_size_estimate_value(const struct keys_view *view, struct dueq_slice name,
                                 const struct keys_info *info);

#endif
