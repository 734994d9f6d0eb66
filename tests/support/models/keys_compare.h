/* Compares the keys of a store with a model; a difference fails the running test. */
#ifndef DUEQ_KEYS_COMPARE_H
#define DUEQ_KEYS_COMPARE_H

#include "tests/support/models/keys_model.h"

/* Compares type, expiry, size and every element, in order if the type has one. */
void compare_key(const struct keys_view *view, int name, const struct model_key *key);
void compare_keys(struct dueq *store, struct dueq_time time, const struct keys_model *model);

/* For a store in which nothing waits to be reclaimed: counts are exact, and the space contains
 * the records of the model and no others. */
void compare_space(struct dueq *store, const struct keys_model *model);

#endif
