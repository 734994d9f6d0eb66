/* Fills a store with every kind of record: jobs in all states, with given and own ids, results,
 * settings, a pause; keys of all types, packed and not, in two databases, with expiries and
 * with names too long for a key; what was deleted and is not erased yet. */
#ifndef DUEQ_FULL_STORE_H
#define DUEQ_FULL_STORE_H

struct store_fixture;

/* The store is open and new. Commits in between. */
void full_store_fill(struct store_fixture *fixture);

#endif
