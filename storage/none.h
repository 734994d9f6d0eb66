/* What the files share that stand in libdueq-small for parts of a store: keys_none.c and
 * crons_none.c. */
#ifndef DUEQ_NONE_H
#define DUEQ_NONE_H

#include "storage/status.h"

struct kv;

/* tables: their first bytes, a C string. DUEQ_FORMAT: one of them has a record. DUEQ_NOMEM,
 * DUEQ_CORRUPT, DUEQ_IO. */
enum dueq_status none_expect_empty(struct kv *kv, const char *tables);

#endif
