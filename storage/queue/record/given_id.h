/* The ids that the store gives to jobs: 50 bits of time and 64 bits of seq in Crockford's base
 * 32. They sort by time, then by arrival, and contain the seq. Private to storage/queue. */
#ifndef DUEQ_GIVEN_ID_H
#define DUEQ_GIVEN_ID_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { GIVEN_ID_SIZE = 23 };

/* text: GIVEN_ID_SIZE bytes; no NUL is written. time: ms, 0 or more. */
void given_id_write(char *text, int64_t time, uint64_t seq);
/* False: the store never gives such an id. */
bool given_id_read(struct dueq_slice text, uint64_t *ret_seq);

#endif
