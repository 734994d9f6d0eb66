/* Holds the keys of a store against a model; cmocka fails where they differ. */
#ifndef DUEQ_KEYS_COMPARE_H
#define DUEQ_KEYS_COMPARE_H

#include "tests/support/keys_model.h"

/* Type, expiry, size and every element, in order where there is one. */
void compare_key(const struct keys_view *view, int name, const struct model_key *key);
void compare_keys(struct dueq *store, struct dueq_time time, const struct keys_model *model);

/* Nothing is waiting to be reclaimed: counts are exact, and the space holds a record for each
 * thing of the model and none besides. */
void compare_space(struct dueq *store, const struct keys_model *model);

#endif
