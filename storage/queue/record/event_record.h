/* The record of an event that a topic keeps. storage/FORMAT.md has the bytes. Private to
 * storage/queue. */
#ifndef DUEQ_EVENT_RECORD_H
#define DUEQ_EVENT_RECORD_H

#include "storage/queue/record/numbers.h"
#include "storage/types.h"

enum { EVENT_RECORD_MAX = 3 + 4 * NUMBERS_MAX + DUEQ_NAME_MAX };

struct event_record {
    enum dueq_event_type type;
    int64_t at; /* unix ms, wall clock */
    int64_t attempt;
    struct dueq_slice id; /* size 0: the store gave it, from the next two */
    int64_t stamp;
    uint64_t seq;
};

/* bytes: EVENT_RECORD_MAX of them. Returns how many were written. */
size_t event_record_write(uint8_t *bytes, const struct event_record *record);
/* False: malformed. */
bool event_record_read(struct dueq_slice bytes, struct event_record *ret_record);

#endif
