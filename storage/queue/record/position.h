/* A position in a lane or a class of the schedule: ordered by due time, then by arrival.
 * Private to storage/queue. */
#ifndef DUEQ_POSITION_H
#define DUEQ_POSITION_H

#include "storage/types.h"

struct position {
    int64_t due; /* ms, on the clock of the lane or class */
    uint64_t seq;
};

/* After every entry. */
#define POSITION_NEVER ((struct position){DUEQ_NEVER, 0})

static inline bool position_before(struct position a, struct position b)
{
    return a.due < b.due || (a.due == b.due && a.seq < b.seq);
}

/* The next position: no other lies between the two. */
static inline struct position position_after(struct position position)
{
    if (position.seq == UINT64_MAX)
        return (struct position){position.due + 1, 0};
    return (struct position){position.due, position.seq + 1};
}

#endif
