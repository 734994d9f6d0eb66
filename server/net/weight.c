#include "server/net/weight.h"

enum {
    LIGHT_REQUESTS = 4, /* ask for little, and so do more that take no longer than these: */
    LIGHT_USEC_LEAST = 20,
    LIGHT_USEC_MOST = 200,
    LIGHT_SHARE = 4, /* between the two: this part of what much takes, */
    HEAVY_MEAN = 16, /* in the mean of about so many */
    LIGHT_BYTES = 8 * 1024
};

/* While other programs use the caches or the memory, all takes up to ten times as long, much as
 * well as little. */
static uint64_t light_usec(const struct weights *all)
{
    uint64_t usec = all->usec / HEAVY_MEAN / LIGHT_SHARE;

    if (usec < LIGHT_USEC_LEAST)
        return LIGHT_USEC_LEAST;
    return usec > LIGHT_USEC_MOST ? LIGHT_USEC_MOST : usec;
}

static bool is_much(const struct weights *all, const struct weight_read *read)
{
    return (read->run > LIGHT_REQUESTS && read->usec > light_usec(all)) || read->more ||
           read->size > LIGHT_BYTES || read->unsent > LIGHT_BYTES;
}

void weight_note(struct weight *weight, struct weights *all, const struct weight_read *read)
{
    bool much = is_much(all, read);

    weight->is_heavy = much && weight->was_much;
    weight->was_much = much;
    if (!weight->is_heavy)
        return;
    all->usec += read->usec;
    all->usec -= all->usec / HEAVY_MEAN;
}
