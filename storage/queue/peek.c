/* Shows the next jobs of a topic in order: merges the parts of the schedule in which they are.
 */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/queue/look.h"

#include <stdlib.h>

enum { STEPS_MAX = 5000 }; /* over deleted records: some 4 ms */

/* A part of the schedule: a lane, or a class. */
struct stream {
    struct kv_key head;
    uint8_t priority, clock;
    int64_t last;          /* no due time after this one is wanted, ms on its clock */
    bool is_over;          /* nothing is left; else: */
    struct position first; /* on its clock */
    struct position order; /* the same on the queue's clock */
};

struct merge {
    struct look look;
    struct stream *streams;
    size_t count;
    size_t left; /* jobs wanted */
    unsigned budget;
};

/* ---- streams */

/* Finds the first entry of the stream at or after `from`. */
static enum dueq_status find_first(struct merge *merge, struct stream *stream,
                                   struct position from)
{
    struct kv_cursor *cursor = merge->look.queue->cursor;
    struct kv_key key = stream->head;
    enum dueq_status status;

    queue_key_add_position(&key, from.due, from.seq);
    stream->is_over = true;
    status = kv_cursor_seek_within(cursor, kv_key_slice(&key), &merge->budget);
    if (status == DUEQ_NOTFOUND)
        return merge->budget == 0 ? DUEQ_BUSY : DUEQ_OK;
    if (status != DUEQ_OK || !kv_key_begins(kv_cursor_key(cursor), &stream->head))
        return status;
    if (!queue_key_read_position(kv_cursor_key(cursor), stream->head.size, &stream->first.due,
                                 &stream->first.seq))
        return DUEQ_CORRUPT;
    stream->is_over = stream->first.due > stream->last;
    stream->order = stream->first;
    stream->order.due = queue_clock_of(merge->look.queue, stream->clock, stream->first.due);
    return DUEQ_OK;
}

static enum dueq_status add_stream(struct merge *merge, const struct stream *stream,
                                   struct position from)
{
    merge->streams[merge->count] = *stream;
    return find_first(merge, &merge->streams[merge->count++], from);
}

static enum dueq_status add_lane(struct merge *merge, const struct lane *lane, bool ready)
{
    int64_t now = schedule_lane_now(lane, merge->look.time);
    struct stream stream = {
        .priority = lane->priority, .clock = lane->clock, .last = ready ? now : DUEQ_NEVER};

    queue_key_lane(&stream.head, merge->look.topic->id, lane->priority, lane->clock);
    if (!ready)
        return add_stream(merge, &stream, (struct position){now + 1, 0});
    return lane->head.due > now ? DUEQ_OK : add_stream(merge, &stream, lane->head);
}

/* ---- merging */

/* Among equal due times the better priority, then the earlier arrival. */
static bool comes_before(const struct stream *a, const struct stream *b)
{
    if (a->order.due != b->order.due)
        return a->order.due < b->order.due;
    return a->priority != b->priority ? a->priority < b->priority : a->order.seq < b->order.seq;
}

static struct stream *best_of(struct merge *merge)
{
    struct stream *best = NULL;

    for (size_t i = 0; i < merge->count; i++) {
        struct stream *stream = &merge->streams[i];

        if (!stream->is_over && (best == NULL || comes_before(stream, best)))
            best = stream;
    }
    return best;
}

/* Shows the jobs of all streams in order, and takes the streams away. */
static enum dueq_status show(struct merge *merge)
{
    enum dueq_status status = DUEQ_OK;
    struct stream *best;

    while (status == DUEQ_OK && merge->left > 0 && !merge->look.is_over &&
           (best = best_of(merge)) != NULL) {
        status = look_at_job(&merge->look, best->first.seq);
        merge->left--;
        if (status == DUEQ_OK && merge->left > 0)
            status = find_first(merge, best, position_after(best->first));
    }
    merge->count = 0;
    return status;
}

/* ---- what is merged */

/* Those in the lists of their groups come after those in lanes, group by group. */
static enum dueq_status show_parked(struct merge *merge)
{
    struct kv_key at = {.size = 0};
    enum dueq_status status = DUEQ_OK;

    while (merge->left > 0 && !merge->look.is_over && status == DUEQ_OK) {
        uint64_t seq;

        status = groups_parked_after(merge->look.queue, merge->look.topic, &at, &merge->budget,
                                     &seq);
        if (status == DUEQ_NOTFOUND)
            return merge->budget == 0 ? DUEQ_BUSY : DUEQ_OK;
        if (status == DUEQ_OK)
            status = look_at_job(&merge->look, seq);
        merge->left--;
    }
    return status;
}

/* Lanes come by priority; those of one priority are merged. */
static enum dueq_status show_ready(struct merge *merge)
{
    const struct topic *topic = merge->look.topic;
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < topic->lane_count && status == DUEQ_OK; i++) {
        status = add_lane(merge, &topic->lanes[i], true);
        if (status == DUEQ_OK && (i + 1 == topic->lane_count ||
                                  topic->lanes[i + 1].priority != topic->lanes[i].priority))
            status = show(merge);
        if (merge->left == 0 || merge->look.is_over)
            break;
    }
    return status == DUEQ_OK && topic->parked > 0 ? show_parked(merge) : status;
}

static enum dueq_status show_delayed(struct merge *merge)
{
    const struct topic *topic = merge->look.topic;
    enum dueq_status status = DUEQ_OK;

    if (merge->left == 0 || merge->look.is_over)
        return DUEQ_OK;
    for (size_t i = 0; i < topic->lane_count && status == DUEQ_OK; i++)
        status = add_lane(merge, &topic->lanes[i], false);
    return status == DUEQ_OK ? show(merge) : status;
}

static enum dueq_status show_class(struct merge *merge, uint8_t class)
{
    struct stream stream = {.last = DUEQ_NEVER};
    enum dueq_status status;

    queue_key_class(&stream.head, merge->look.topic->id, class);
    status = add_stream(merge, &stream, (struct position){SAFE_TIME_MIN, 0});
    return status == DUEQ_OK ? show(merge) : status;
}

static enum dueq_status show_all(struct merge *merge)
{
    int state = merge->look.state;
    uint8_t class = state == DUEQ_DEFAULT ? 0 : look_class((enum dueq_state)state);
    enum dueq_status status = DUEQ_OK;

    if (class != 0)
        return show_class(merge, class);
    if (state != DUEQ_DELAYED)
        status = show_ready(merge);
    if (status == DUEQ_OK && state != DUEQ_READY)
        status = show_delayed(merge);
    return status;
}

enum dueq_status queue_peek(struct queue *queue, const struct dueq_peek *peek,
                            struct dueq_time time, dueq_job_fn fn, void *arg)
{
    struct merge merge = {.look = {.queue = queue,
                                   .state = peek->state,
                                   .from = INT64_MIN,
                                   .to = INT64_MAX,
                                   .fn = fn,
                                   .arg = arg},
                          .left = peek->count,
                          .budget = STEPS_MAX};
    enum dueq_status status;

    if (!queue_valid_name(peek->topic) || peek->state < DUEQ_DEFAULT ||
        peek->state >= DUEQ_STATES)
        return DUEQ_INVALID;
    merge.look.time = queue_time(queue, time);
    status = topics_find(queue, peek->topic, &merge.look.topic);
    if (status != DUEQ_OK)
        return status;
    merge.streams = calloc(merge.look.topic->lane_count + 1, sizeof(*merge.streams));
    if (merge.streams == NULL)
        return DUEQ_NOMEM;
    status = show_all(&merge);
    free(merge.streams);
    return status;
}
