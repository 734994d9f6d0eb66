#include "server/commands/long_read.h"

#include "server/dispatch/long_work.h"
#include "server/server.h"
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PICK_STEPS = 4,         /* each pick is somewhere else: 4 to 10 us, 100 on a new page */
    PICKS_LEAST = 8,        /* are done at once, however long the turn is */
    BURST = 64,             /* members of one scan at most: it stops only at its end */
    BURST_BYTES = 64 * 1024 /* a scan that writes more is followed by one of one member */
};

/* ---- the elements of each source */

static void spend(struct long_read *read, size_t steps, size_t bytes)
{
    size_t cost = steps + bytes / LONG_STEP_BYTES;

    read->budget -= cost < read->budget ? (unsigned)cost : read->budget;
}

/* False: no more elements are wanted, or not in this slice. */
static bool take(struct long_read *read, const struct long_read_element *element)
{
    spend(read, 1, element->name.size + element->value.size);
    read->is_over = !read->take(read, element);
    return !read->is_over && read->budget > 0;
}

/* A scan in slices can stop in the middle only when it is over. */
static bool take_member(void *arg, struct dueq_slice name, struct dueq_slice value)
{
    struct long_read *read = arg;
    struct long_read_element element = {.name = name, .value = value};

    return take(read, &element) || (read->in_slices && !read->is_over);
}

static bool take_scored(void *arg, const struct zset_entry *entry)
{
    struct long_read *read = arg;
    struct long_read_element element = {.name = entry->member, .score = entry->score};

    return take(read, &element) || (read->in_slices && !read->is_over);
}

static bool take_name(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    (void)info;
    return take_member(arg, name, dueq_slice(NULL, 0));
}

static bool take_value(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct long_read *read = arg;
    struct long_read_element element = {.name = value};

    (void)unused;
    read->at.place += read->towards == LIST_TAIL ? 1 : UINT64_MAX;
    return take(read, &element);
}

static bool take_entry(void *arg, const struct zset_entry *entry)
{
    struct long_read *read = arg;
    struct long_read_element element = {.name = entry->member, .score = entry->score};

    if (read->at.skip > 0) {
        read->at.skip--;
        return --read->budget > 0;
    }
    if (!read->at.turns)
        return take(read, &element);
    read->at.turns = false;
    read->at.order.again = true;
    return false;
}

/* ---- a slice of the walk */

static enum dueq_status scan(const struct keys_view *view, struct long_read *read,
                             uint64_t count)
{
    uint64_t *place = &read->at.place;

    switch (read->source) {
    case LONG_READ_HASH:
        return hash_scan(view, read->key, *place, count, take_member, read, place);
    case LONG_READ_SET:
        return set_scan(view, read->key, *place, count, take_member, read, place);
    case LONG_READ_ZSET:
        return zset_scan(view, read->key, *place, count, take_scored, read, place);
    default:
        return keys_scan(view, *place, count, take_name, read, place);
    }
}

/* At once: a single scan, whose reply is dropped when the budget does not suffice. */
static enum dueq_status walk_members(const struct keys_view *view, struct long_read *read)
{
    uint64_t burst = read->in_slices ? 1 : UINT64_MAX;
    enum dueq_status status;

    do {
        size_t before = buffer_size(read->reply->out);
        unsigned budget = read->budget;

        status = scan(view, read, burst);
        if (read->at.place == 0 && (read->in_slices || read->budget > 0))
            read->is_over = true;
        burst = buffer_size(read->reply->out) - before > BURST_BYTES ||
                        budget - read->budget > burst
                    ? 1
                    : burst * 2;
        burst = burst < BURST ? burst : BURST;
    } while (status == DUEQ_OK && !read->is_over && read->budget > 0);
    return status;
}

static enum dueq_status walk_order(const struct keys_view *view, struct long_read *read)
{
    enum dueq_status status;
    bool turned;

    do {
        struct zset_range range = read->range;

        turned = read->at.turns;
        range.reverse ^= turned;
        status = zset_each_on(view, read->key, &range, &read->at.order, take_entry, read);
        turned = turned && !read->at.turns;
    } while (status == DUEQ_OK && turned);
    if (read->budget > 0)
        read->is_over = true;
    return status;
}

static enum dueq_status walk_list(const struct keys_view *view, struct long_read *read)
{
    enum dueq_status status =
        list_each(view, read->key, read->at.place, read->towards, take_value, read);

    if (status == DUEQ_NOTFOUND || read->budget > 0)
        read->is_over = true;
    return status;
}

static enum dueq_status walk_topics(struct long_read *read)
{
    struct long_read_progress *at = &read->at;
    enum dueq_status status = DUEQ_OK;
    bool goes_on = true;

    while (goes_on && status == DUEQ_OK) {
        struct long_read_element element = {.name = {NULL, 0}};

        status = dueq_topic_after(read->context->store, dueq_slice(at->name, at->name_size),
                                  &element.name);
        if (status != DUEQ_OK)
            break;
        memcpy(at->name, element.name.data, element.name.size);
        at->name_size = element.name.size;
        goes_on = take(read, &element);
    }
    return status;
}

bool long_read_may_pick(const struct context *context, unsigned done, unsigned most)
{
    unsigned least = long_work_state(context) == NULL ? PICKS_LEAST : 1;

    return done < least || (done < most && !server_part_is_long(context->server));
}

static enum dueq_status walk_picks(struct long_read *read)
{
    enum dueq_status status;
    unsigned picks = 0;

    do {
        size_t before = buffer_size(read->reply->out);

        status = read->pick(read);
        spend(read, PICK_STEPS, buffer_size(read->reply->out) - before);
        if (!long_read_may_pick(read->context, ++picks, LONG_STEPS))
            read->budget = 0;
    } while (status == DUEQ_OK && !read->is_over && read->budget > 0);
    return status;
}

/* Walks until the budget is spent or is_over is set. */
static enum dueq_status walk(struct long_read *read)
{
    struct keys_view view = database_view(read->context);
    enum dueq_status status;

    if (read->pick != NULL)
        return walk_picks(read);
    if (read->source == LONG_READ_ORDER)
        status = walk_order(&view, read);
    else if (read->source == LONG_READ_LIST)
        status = walk_list(&view, read);
    else if (read->source == LONG_READ_TOPICS)
        status = walk_topics(read);
    else
        status = walk_members(&view, read);
    if (status != DUEQ_NOTFOUND)
        return status;
    read->is_over = true;
    return DUEQ_OK;
}

static void begin(struct long_read *read)
{
    if (read->begin != NULL)
        read->begin(read);
}

static enum outcome end(struct long_read *read)
{
    if (read->end != NULL)
        read->end(read);
    return OUTCOME_DONE;
}

/* Writes the error in place of the reply so far. */
static enum outcome fail(struct long_read *read, size_t reply_begin, enum dueq_status status)
{
    buffer_truncate(read->reply->out, reply_begin);
    return context_status(read->context, status);
}

/* ---- in slices */

struct reading {
    bool begun;
    struct long_read_progress at;
};

static void free_reading(void *state)
{
    struct reading *reading = state;

    slice_set_free(reading->at.seen);
    free(reading);
}

static bool is_of_key(const struct long_read *read)
{
    return read->source != LONG_READ_NAMES && read->source != LONG_READ_TOPICS;
}

static enum outcome later(struct context *context, const struct long_read *read)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    enum outcome outcome;

    if (reading == NULL)
        return context_status(context, DUEQ_NOMEM);
    outcome = long_work_continue(context, reading, free_reading,
                                 is_of_key(read) ? LONG_HOLDS_KEYS : LONG_HOLDS_NOTHING);
    if (outcome == OUTCOME_WAIT)
        long_work_set_reply_aside(context);
    return outcome;
}

/* Must the walk begin again? Never for all names. */
static bool begins_again(const struct long_read *read, const struct reading *reading)
{
    if (!reading->begun || !is_of_key(read))
        return !reading->begun;
    return long_work_keys_changed(read->context);
}

static enum outcome run_slice(struct long_read *read, struct reading *reading)
{
    size_t reply_begin = long_work_reply_begin(read->context);
    enum dueq_status status;

    read->in_slices = true;
    read->mark = reply_begin;
    read->budget = LONG_STEPS;
    if (begins_again(read, reading)) {
        slice_set_free(reading->at.seen);
        buffer_truncate(read->reply->out, reply_begin);
        begin(read);
    } else {
        long_work_restore_reply(read->context);
        read->at = reading->at;
    }
    status = walk(read);
    reading->begun = status != DUEQ_STALE;
    reading->at = read->at;
    if (status != DUEQ_OK && status != DUEQ_STALE)
        return fail(read, reply_begin, status);
    return status == DUEQ_OK && read->is_over ? end(read) : OUTCOME_WAIT;
}

/* ---- at once */

static unsigned enough(const struct long_read *read)
{
    return read->pick != NULL ? LONG_STEPS : LONG_ENOUGH;
}

static enum outcome run_at_once(struct long_read *read)
{
    struct context *context = read->context;
    size_t reply_begin = buffer_size(read->reply->out);
    enum dueq_status status;

    read->budget = 1 + enough(read);
    begin(read);
    status = walk(read);
    slice_set_free(read->at.seen);
    read->at.seen = NULL;
    if (status != DUEQ_OK)
        return fail(read, reply_begin, status);
    if (read->is_over)
        return end(read);
    buffer_truncate(read->reply->out, reply_begin);
    return later(context, read);
}

enum outcome long_read_run(struct context *context, struct long_read *read)
{
    assert((read->take != NULL) != (read->pick != NULL));
    read->context = context;
    read->reply = context->reply;
    if (long_work_state(context) != NULL)
        return run_slice(read, long_work_state(context));
    return read->steps > enough(read) ? later(context, read) : run_at_once(read);
}

/* ---- arrays */

void long_read_begin_array(struct long_read *read)
{
    read->mark = read->in_slices ? resp_reserved(read->reply) : resp_deferred(read->reply);
}

void long_read_end_array(struct long_read *read, uint64_t count)
{
    if (read->in_slices)
        resp_reserved_array(read->reply, read->mark, count);
    else
        resp_deferred_array(read->reply, read->mark, count);
}
