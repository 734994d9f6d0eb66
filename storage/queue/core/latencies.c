#include "storage/queue/core/latencies.h"

#include "storage/queue/core/histogram.h"
#include "storage/queue/core/queue_state.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

struct topic_latencies {
    uint64_t id;
    struct topic *topic; /* NULL: asleep */
    int64_t since;       /* on the queue's clock */
    int64_t until;       /* end of the period */
    uint64_t period;     /* the present one, counted from `since` */
    struct histogram times[DUEQ_SPANS];
    struct topic_latencies *prev, *next;
    UT_hash_handle hh;
};

/* ---- of which topics */

static size_t bytes_of(const struct topic_latencies *latencies)
{
    size_t bytes = sizeof(*latencies);

    for (int span = 0; span < DUEQ_SPANS; span++)
        bytes += histogram_bytes(&latencies->times[span]);
    return bytes;
}

static void discard(struct queue *queue, struct topic_latencies *latencies)
{
    struct latencies *all = &queue->latencies;

    assert(all->by_topic != NULL && all->list != NULL);
    all->bytes -= bytes_of(latencies);
    if (latencies->topic != NULL)
        latencies->topic->latencies = NULL;
    HASH_DEL(all->by_topic, latencies);
    DL_DELETE(all->list, latencies);
    for (int span = 0; span < DUEQ_SPANS; span++)
        histogram_release(&latencies->times[span]);
    free(latencies);
}

/* Those of topics that were not used for the longest time go; not these. */
static void make_room(struct queue *queue, const struct topic_latencies *latencies)
{
    while (queue->latencies.bytes > queue->latencies.limit &&
           queue->latencies.list != latencies)
        discard(queue, queue->latencies.list);
}

/* NULL: nothing was counted since the opening, or since it went for others. */
static struct topic_latencies *find(struct queue *queue, struct topic *topic)
{
    struct topic_latencies *latencies = topic->latencies;

    if (latencies != NULL)
        return latencies;
    HASH_FIND(hh, queue->latencies.by_topic, &topic->id, sizeof(topic->id), latencies);
    if (latencies != NULL) {
        latencies->topic = topic;
        topic->latencies = latencies;
    }
    return latencies;
}

/* NULL: out of memory. */
static struct topic_latencies *make(struct queue *queue, struct topic *topic, int64_t now)
{
    struct latencies *all = &queue->latencies;
    struct topic_latencies *latencies = calloc(1, sizeof(*latencies));

    if (latencies == NULL)
        return NULL;
    latencies->id = topic->id;
    latencies->since = now;
    latencies->until = now + HISTOGRAM_PERIOD_MS;
    HASH_ADD(hh, all->by_topic, id, sizeof(latencies->id), latencies);
    if (latencies->hh.tbl == NULL) {
        free(latencies);
        return NULL;
    }
    DL_APPEND(all->list, latencies);
    latencies->topic = topic;
    topic->latencies = latencies;
    all->bytes += sizeof(*latencies);
    return latencies;
}

/* ---- time */

static void advance(struct topic_latencies *latencies, int64_t now)
{
    uint64_t period = (uint64_t)(now - latencies->since) / HISTOGRAM_PERIOD_MS;

    for (int span = 0; span < DUEQ_SPANS; span++)
        histogram_advance(&latencies->times[span], latencies->period, period);
    latencies->period = period;
    latencies->until = latencies->since + (int64_t)(period + 1) * HISTOGRAM_PERIOD_MS;
}

/* ---- counting and reading */

/* The memory of a histogram may grow: others make room for it. */
static void count_into(struct queue *queue, struct topic_latencies *latencies,
                       struct histogram *histogram, int64_t ms)
{
    size_t before = histogram_bytes(histogram);

    (void)histogram_note(histogram, ms > 0 ? ms : 0, latencies->period);
    if (histogram_bytes(histogram) == before)
        return;
    queue->latencies.bytes += histogram_bytes(histogram) - before;
    make_room(queue, latencies);
}

void latencies_note(struct queue *queue, struct topic *topic, enum dueq_span span, int64_t ms,
                    int64_t now)
{
    struct latencies *all = &queue->latencies;
    struct topic_latencies *latencies = find(queue, topic);

    if (latencies == NULL)
        latencies = make(queue, topic, now);
    if (latencies == NULL)
        return;
    if (now >= latencies->until) {
        advance(latencies, now);
        DL_DELETE(all->list, latencies);
        DL_APPEND(all->list, latencies);
    }
    count_into(queue, latencies, &latencies->times[span], ms);
}

void latencies_read(struct queue *queue, struct topic *topic, int64_t now,
                    struct dueq_latencies *ret_latencies)
{
    struct topic_latencies *latencies = find(queue, topic);

    *ret_latencies = (struct dueq_latencies){.since = DUEQ_NEVER};
    if (latencies == NULL)
        return;
    if (now >= latencies->until)
        advance(latencies, now);
    ret_latencies->since = latencies->since;
    for (int span = 0; span < DUEQ_SPANS; span++)
        for (int window = 0; window < DUEQ_WINDOWS; window++)
            ret_latencies->times[span][window] =
                histogram_read(&latencies->times[span], (enum dueq_window)window);
}

void latencies_rest(struct topic *topic)
{
    if (topic->latencies != NULL)
        topic->latencies->topic = NULL;
    topic->latencies = NULL;
}

void latencies_drop(struct queue *queue, struct topic *topic)
{
    struct topic_latencies *latencies = find(queue, topic);

    if (latencies != NULL)
        discard(queue, latencies);
}

/* The topics' memory may be gone. */
void latencies_release(struct queue *queue)
{
    while (queue->latencies.list != NULL) {
        queue->latencies.list->topic = NULL;
        discard(queue, queue->latencies.list);
    }
}
