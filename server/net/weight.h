/* Which clients send or take much each time. They are read after those that ask for little, in
 * a part of the turn of their own: so a PING waits for a part of what fifty clients have sent
 * in pipelines, not for all of it, and the many are served in each turn, too. */
#ifndef DUEQ_WEIGHT_H
#define DUEQ_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one client; zero at first. */
struct weight {
    bool was_much; /* what it sent last; */
    bool is_heavy; /* and what it sent before: it is read after the others */
};

/* Of all of them; zero at first. */
struct weights {
    uint64_t usec; /* that heavy ones took: HEAVY_MEAN (weight.c) times their mean */
};

/* What one read has brought. */
struct weight_read {
    size_t size;   /* bytes that were read */
    size_t unsent; /* bytes of output after it */
    bool more;     /* not all requests have run */
    int64_t run;   /* requests that have */
    uint64_t usec; /* in so long */
};

/* Many small requests are little as long as they take little: they may be many because they had
 * to wait. Who sends a PING each ms would else stay among those who send much, and find more of
 * its own at each turn. The second time in a row makes a client heavy: in the first, another
 * program may have had the processor meanwhile. */
void weight_note(struct weight *weight, struct weights *all, const struct weight_read *read);

#endif
