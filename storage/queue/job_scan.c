/* Walks the jobs of a topic in the order of keys, a part in each call. The cursor is the key
 * that was looked at last. */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/queue/look.h"

/* Of one call: moves over deleted records, and ranges of keys to look into. Some 2 ms. */
enum { STEPS_MAX = 2000 };

/* Keys of one kind, in order. */
struct span {
    struct kv_key first, last;
    size_t head; /* bytes before the due time, or before the seq when there is none */
    bool timed;
};

struct walk {
    struct look look;
    const struct dueq_scan *scan;
    struct kv_key at; /* all keys up to it have been looked at */
    size_t left;      /* jobs to look at */
    unsigned budget;
};

/* ---- cursors: the table and what follows the topic in the key, in hexadecimal. "0" is none of
 * these. */

enum { CURSOR_BYTES = (DUEQ_CURSOR_SIZE - 1) / 2 };

static void write_cursor(const struct walk *walk, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";
    struct kv_key prefix;
    size_t head = queue_key_topic(&prefix, walk->at.bytes[0], walk->look.topic->id).size;
    char *text = ret_text;

    for (size_t i = 0; i < walk->at.size; i = i == 0 ? head : i + 1) {
        *text++ = digits[walk->at.bytes[i] >> 4];
        *text++ = digits[walk->at.bytes[i] & 15];
    }
    *text = '\0';
}

/* -1: no digit. */
static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_bytes(struct dueq_slice text, uint8_t *bytes)
{
    const char *at = text.data;

    if (text.size == 0 || text.size % 2 != 0 || text.size > (size_t)CURSOR_BYTES * 2)
        return false;
    for (size_t i = 0; i < text.size; i += 2) {
        int high = digit_of(at[i]), low = digit_of(at[i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Jobs move in the schedule while they stay in their state, but for dead, done and waiting
 * ones; their seq never changes. Claimed jobs have a state record, and most others have none.
 */
static uint8_t table_of(const struct dueq_scan *scan)
{
    if (scan->by_due || scan->state == DUEQ_DEAD || scan->state == DUEQ_DONE ||
        scan->state == DUEQ_WAITING)
        return TABLE_SCHEDULE;
    return scan->state == DUEQ_CLAIMED ? TABLE_STATE : TABLE_BODY;
}

static bool read_cursor(struct dueq_slice text, struct walk *walk)
{
    uint8_t bytes[CURSOR_BYTES] = {0};
    uint8_t table = table_of(walk->scan);

    queue_key_topic(&walk->at, table, walk->look.topic->id);
    if (dueq_slice_equal(text, dueq_slice("0", 1)))
        return true;
    if (!read_bytes(text, bytes) || bytes[0] != table)
        return false;
    for (size_t i = 1; i < text.size / 2; i++)
        kv_key_u8(&walk->at, bytes[i]);
    return true;
}

/* ---- spans */

static struct span span_of_seqs(const struct walk *walk)
{
    struct span span;

    span.timed = false;
    span.head = queue_key_topic(&span.first, table_of(walk->scan), walk->look.topic->id).size;
    span.last = span.first;
    kv_key_number(&span.last, UINT64_MAX);
    return span;
}

static struct span span_of_times(const struct kv_key *head, int64_t from, int64_t to)
{
    struct span span = {.first = *head, .last = *head, .head = head->size, .timed = true};

    queue_key_add_position(&span.first, from, 0);
    queue_key_add_position(&span.last, to, UINT64_MAX);
    return span;
}

/* A wanted time, of the wall clock, on the given clock; what no job can have stays the limit
 * that it is. */
static int64_t on_clock(const struct walk *walk, uint8_t clock, int64_t time)
{
    if (time <= 2 * SAFE_TIME_MIN)
        return INT64_MIN;
    if (time >= 2 * SAFE_TIME_MAX)
        return INT64_MAX;
    return clock == CLOCK_WALL ? time : queue_clock_of(walk->look.queue, CLOCK_WALL, time);
}

static void get_range(const struct walk *walk, uint8_t clock, int64_t *ret_from,
                      int64_t *ret_to)
{
    *ret_from = walk->scan->by_due ? on_clock(walk, clock, walk->scan->from) : INT64_MIN;
    *ret_to = walk->scan->by_due ? on_clock(walk, clock, walk->scan->to) : INT64_MAX;
}

static struct span span_of_class(const struct walk *walk, uint8_t class)
{
    struct kv_key head;
    int64_t from, to;

    get_range(walk, CLOCK_QUEUE, &from, &to);
    if (class == CLASS_DONE) { /* in order of their removal */
        from = INT64_MIN;
        to = INT64_MAX;
    }
    queue_key_class(&head, walk->look.topic->id, class);
    return span_of_times(&head, from, to);
}

static struct span span_of_lane(const struct walk *walk, const struct lane *lane)
{
    struct kv_key head;
    int64_t from, to, now = schedule_lane_now(lane, walk->look.time);

    get_range(walk, lane->clock, &from, &to);
    if (walk->look.state == DUEQ_READY && to > now)
        to = now;
    if (walk->look.state == DUEQ_DELAYED && from <= now)
        from = now + 1;
    queue_key_lane(&head, walk->look.topic->id, lane->priority, lane->clock);
    return span_of_times(&head, from, to);
}

/* Parked jobs are in the order of their groups. */
static struct span span_of_parked(const struct walk *walk)
{
    struct span span = {.timed = true};

    queue_key_class(&span.first, walk->look.topic->id, CLASS_PARKED);
    span.last = span.first;
    kv_key_u64(&span.last, UINT64_MAX);
    kv_key_u8(&span.last, UINT8_MAX);
    kv_key_u8(&span.last, UINT8_MAX);
    span.head = span.last.size;
    queue_key_add_position(&span.last, INT64_MAX, UINT64_MAX);
    return span;
}

/* ---- walking */

static bool is_stopped(const struct walk *walk)
{
    return walk->look.is_over || walk->left == 0 || walk->budget == 0;
}

static bool read_seq(struct dueq_slice key, const struct span *span, uint64_t *ret_seq)
{
    const uint8_t *at = key.data, *end = at + key.size;
    int64_t due;

    if (span->timed)
        return queue_key_read_position(key, span->head, &due, ret_seq);
    return bytes_read_number(at + span->head, end, ret_seq) == end;
}

static enum dueq_status look_at_key(struct walk *walk, const struct span *span)
{
    struct dueq_slice key = kv_cursor_key(walk->look.queue->cursor);
    uint64_t seq;

    kv_key_copy(&walk->at, key);
    if (!read_seq(key, span, &seq))
        return DUEQ_CORRUPT;
    walk->left--;
    return look_at_job(&walk->look, seq);
}

/* What comes before the cursor has been looked at; a budget that ends among deleted records is
 * one that is spent. */
static enum dueq_status walk_span(struct walk *walk, const struct span *span)
{
    struct kv_cursor *cursor = walk->look.queue->cursor;
    struct kv_key from = walk->at;
    enum dueq_status status;

    kv_key_follow(&from);
    if (dueq_slice_compare(kv_key_slice(&from), kv_key_slice(&span->first)) < 0)
        from = span->first;
    if (dueq_slice_compare(kv_key_slice(&from), kv_key_slice(&span->last)) > 0)
        return DUEQ_OK;
    walk->budget--;
    status = kv_cursor_seek_within(cursor, kv_key_slice(&from), &walk->budget);
    while (status == DUEQ_OK &&
           dueq_slice_compare(kv_cursor_key(cursor), kv_key_slice(&span->last)) <= 0) {
        status = look_at_key(walk, span);
        if (status != DUEQ_OK || is_stopped(walk))
            return status;
        status = kv_cursor_next_within(cursor, &walk->budget);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* The states are in order of keys. */
static enum dueq_status walk_classes(struct walk *walk, const enum dueq_state *states,
                                     size_t count)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < count; i++) {
        struct span span = span_of_class(walk, look_class(states[i]));

        if (walk->look.state != DUEQ_DEFAULT && walk->look.state != (int)states[i])
            continue;
        if (status == DUEQ_OK && !is_stopped(walk))
            status = walk_span(walk, &span);
    }
    return status;
}

static enum dueq_status walk_lanes(struct walk *walk)
{
    const struct topic *topic = walk->look.topic;
    enum dueq_status status = DUEQ_OK;

    if (topic->parked > 0 && walk->look.state != DUEQ_DELAYED) {
        struct span span = span_of_parked(walk);

        status = walk_span(walk, &span);
    }
    for (size_t i = 0; i < topic->lane_count && status == DUEQ_OK && !is_stopped(walk); i++) {
        struct span span = span_of_lane(walk, &topic->lanes[i]);

        status = walk_span(walk, &span);
    }
    return status;
}

static enum dueq_status walk_spans(struct walk *walk)
{
    static const enum dueq_state before[] = {DUEQ_CLAIMED, DUEQ_DEAD, DUEQ_DONE},
                                 after[] = {DUEQ_WAITING};
    int state = walk->look.state;
    struct span span;
    enum dueq_status status;

    if (table_of(walk->scan) != TABLE_SCHEDULE) {
        span = span_of_seqs(walk);
        return walk_span(walk, &span);
    }
    status = walk_classes(walk, before, sizeof(before) / sizeof(*before));
    if (status == DUEQ_OK && !is_stopped(walk) &&
        (state == DUEQ_DEFAULT || look_class((enum dueq_state)state) == 0))
        status = walk_lanes(walk);
    return AFTERS_KNOWN && status == DUEQ_OK ? walk_classes(walk, after, 1) : status;
}

enum dueq_status queue_scan(struct queue *queue, const struct dueq_scan *scan,
                            struct dueq_slice cursor, struct dueq_time time, dueq_job_fn fn,
                            void *arg, char *ret_cursor)
{
    struct walk walk = {.look = {.queue = queue,
                                 .state = scan->state,
                                 .from = scan->by_due ? scan->from : INT64_MIN,
                                 .to = scan->by_due ? scan->to : INT64_MAX,
                                 .fn = fn,
                                 .arg = arg},
                        .scan = scan,
                        .left = scan->count,
                        .budget = STEPS_MAX};
    enum dueq_status status;

    if (!queue_valid_name(scan->topic) || scan->count == 0 || scan->state < DUEQ_DEFAULT ||
        scan->state >= DUEQ_STATES)
        return DUEQ_INVALID;
    walk.look.time = queue_time(queue, time);
    status = topics_find(queue, scan->topic, &walk.look.topic);
    if (status == DUEQ_OK && !read_cursor(cursor, &walk))
        status = DUEQ_INVALID;
    if (status == DUEQ_OK)
        status = walk_spans(&walk);
    if (status != DUEQ_OK)
        return status;
    if (is_stopped(&walk))
        write_cursor(&walk, ret_cursor);
    else
        memcpy(ret_cursor, "0", 2);
    return DUEQ_OK;
}
