/* What OBJECT and DEBUG OBJECT say about a key apart from its encoding. */
#ifndef DUEQ_KEY_OBJECT_H
#define DUEQ_KEY_OBJECT_H

#include "storage/keys/keys.h"

/* References that Redis would report: INT32_MAX for the small integers that it shares, else 1.
 * info: of the key. */
int64_t key_object_references(const struct keys_view *view, struct dueq_slice name,
                              const struct keys_info *info);

/* Seconds since the key was last used; a lower bound for a key that is not among those whose
 * last use is remembered. */
int64_t key_object_idle(const struct keys_view *view, struct dueq_slice name);

#endif
