#include "storage/queue/core/groups.h"

#include "storage/kv/cursor.h"
#include "storage/queue/core/queue_state.h"
#include "storage/xxh3.h"

/* What a claim of weight 1 costs, on the clock of turns. */
enum { TURN = 1 << 20 };

/* Reading, judging and writing a group again. */
enum { FOLLOW_STEPS = 8 };

uint64_t groups_number(const struct queue *queue, struct dueq_slice name)
{
    uint64_t number;

    if (name.size == 0)
        return 0;
    number = XXH3_64bits_withSeed(name.data, name.size, kv_seed(queue->kv));
    return number == 0 ? 1 : number;
}

/* ---- rules */

struct group_rules groups_rules(struct queue *queue, struct topic *topic)
{
    const struct dueq_settings *settings = settings_of(queue, topic);
    struct group_rules rules = {.most = UINT64_MAX, .limit = DUEQ_SET_GROUP_MODE};
    int64_t mode, failure, most;

    if (settings == NULL)
        return rules;
    mode = queue_or_default(settings->numbers[DUEQ_SET_GROUP_MODE], DUEQ_GROUP_NONE);
    failure = queue_or_default(settings->numbers[DUEQ_SET_GROUP_ON_FAILURE], DUEQ_GROUP_HOLD);
    most = settings->numbers[DUEQ_SET_GROUP_CONCURRENCY];
    rules.rate = rates_read(settings, DUEQ_SET_GROUP_RATE);
    if (mode == DUEQ_GROUP_NONE && most == DUEQ_DEFAULT && rules.rate.count == 0)
        return rules;
    rules.any = true;
    rules.fair = mode == DUEQ_GROUP_FAIR;
    rules.holds = mode == DUEQ_GROUP_SERIAL && failure == DUEQ_GROUP_HOLD;
    if (mode == DUEQ_GROUP_SERIAL)
        rules.most = 1;
    else if (mode >= DUEQ_GROUP_CAP(1))
        rules.most = (uint64_t)(mode - DUEQ_GROUP_CAP(0));
    if (most != DUEQ_DEFAULT && (uint64_t)most < rules.most) {
        rules.most = (uint64_t)most;
        rules.limit = DUEQ_SET_GROUP_CONCURRENCY;
    }
    rules.number = ((uint64_t)(most + 1) << 32 | ((uint64_t)mode * 2 + rules.holds)) ^
                   rates_number(&rules.rate);
    return rules;
}

bool groups_is_full(const struct group_rules *rules, uint64_t group,
                    const struct group_record *record, bool is_holder)
{
    if (group == 0)
        return false;
    return record->running >= rules->most || (rules->holds && record->holds > 0 && !is_holder);
}

static bool has_jobs(const struct group_record *record)
{
    return record->running > 0 || record->parked > 0 || record->holds > 0;
}

/* When the bucket alone keeps it there, it is looked at when that is full. One that was to be
 * looked at before stays where it is: claims of a group are cheaper so. */
static void judge_idle(const struct group_record *before, int64_t now,
                       struct group_record *record)
{
    int64_t full = record->bucket.full + (record->bucket.part > 0);
    bool stays = group_waits_for_time(before) && before->at > now && before->at <= full;

    record->order = GROUP_WAITS;
    if (bucket_is_full(&record->bucket) || (!stays && has_jobs(record)))
        return;
    record->order = GROUP_BY_PERMIT;
    record->at = stays ? before->at : full;
}

/* Where the group belongs by what it has. before: where it is. */
static void judge(const struct group_rules *rules, uint64_t group,
                  const struct group_record *before, int64_t now, struct group_record *record)
{
    int64_t next = group == 0 ? INT64_MIN : rates_next(&rules->rate, &record->bucket);

    if (record->parked == 0 || groups_is_full(rules, group, record, record->head.rank == 0)) {
        judge_idle(before, now, record);
    } else if (next > now) {
        record->order = GROUP_BY_PERMIT;
        record->at = next;
    } else {
        record->order = rules->fair ? GROUP_BY_TURN : GROUP_BY_PLACE;
    }
}

/* ---- turns */

static bool same_turn(const struct group_record *a, const struct group_record *b)
{
    if (a->order != b->order)
        return false;
    if (a->order == GROUP_BY_TURN)
        return a->turn == b->turn;
    if (group_waits_for_time(a))
        return a->at == b->at;
    return a->order == GROUP_WAITS || (a->head.priority == b->head.priority &&
                                       a->head.position.due == b->head.position.due &&
                                       a->head.position.seq == b->head.position.seq);
}

/* Searches begin at the first turn that there may be. */
static void note_turn(struct queue *queue, struct topic *topic,
                      const struct group_record *record)
{
    struct group_record *first = &topic->first_turn;

    if (group_waits_for_time(record)) {
        if (record->at < topic->first_permit)
            topic->first_permit = record->at;
        queue_event_at(queue, topic, record->at);
        return;
    }
    if (record->order == GROUP_BY_TURN) {
        if (record->turn < first->turn)
            first->turn = record->turn;
        return;
    }
    if (record->head.priority < first->head.priority ||
        (record->head.priority == first->head.priority &&
         position_before(record->head.position, first->head.position)))
        first->head = record->head;
}

static void put_turn(struct queue *queue, struct topic *topic, uint64_t group,
                     const struct group_record *before, const struct group_record *after)
{
    struct kv_key key;

    if (same_turn(before, after))
        return;
    if (before->order != GROUP_WAITS)
        kv_del(queue->kv, group_turn_key(&key, topic->id, group, before));
    if (after->order == GROUP_WAITS)
        return;
    note_turn(queue, topic, after);
    kv_put(queue->kv, group_turn_key(&key, topic->id, group, after), dueq_slice(NULL, 0), true);
}

/* ---- the record */

static bool is_needed(const struct group_record *record)
{
    return has_jobs(record) || !bucket_is_full(&record->bucket);
}

static void put_record(struct queue *queue, struct topic *topic)
{
    struct group_cache *cache = &queue->group;
    uint8_t bytes[GROUP_RECORD_MAX];
    struct kv_key key;
    bool needed = is_needed(&cache->now);

    queue_key_group(&key, topic->id, cache->group);
    if (needed)
        kv_put(queue->kv, kv_key_slice(&key),
               dueq_slice(bytes, group_record_write(bytes, &cache->now)), !cache->is_there);
    else if (cache->is_there)
        kv_del(queue->kv, kv_key_slice(&key));
    topic->groups += (uint64_t)needed - (uint64_t)cache->is_there;
    cache->is_there = needed;
    if (!needed)
        cache->now = (struct group_record){.running = 0};
    queue_mark_dirty(queue, topic);
}

static uint64_t cost_of(int64_t weight)
{
    return (uint64_t)TURN / (uint64_t)(weight < 1 ? 1 : weight);
}

/* A group that was empty comes after those that wait already. */
static void join_turns(struct group_cache *cache, const struct topic *topic)
{
    uint64_t turn = topic->turn + cost_of(cache->weight);

    if (cache->now.turn < turn)
        cache->now.turn = turn;
}

/* After the last holder a job of a better priority may come; and by its head the group has its
 * turn. */
static void forget_holders(struct group_record *record)
{
    if (record->parked > 0 && record->holds == 0 && record->head.rank == 0)
        record->head = (struct group_place){.rank = 1, .position = {INT64_MIN, 0}};
}

/* Groups that were judged by other rules are to be judged anew, also after a crash. */
static void note_rules(struct topic *topic, const struct group_rules *rules)
{
    if (topic->groups == 0)
        topic->group_rules = rules->number;
    else if (topic->group_rules != rules->number)
        topic->group_rules = GROUP_RULES_MIXED;
}

/* Jobs that no claim has met since they fell due may wait for their group in a lane. */
static bool has_ready_lane(const struct topic *topic)
{
    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].ready > 0)
            return true;
    return false;
}

/* May a claim that found nothing before find a job of the group now? */
static bool frees_job(const struct group_cache *cache, const struct topic *topic)
{
    const struct group_record *now = &cache->now, *before = &cache->written;

    if (group_can_run(now) && (!group_can_run(before) || now->parked > before->parked))
        return true;
    return (now->running < before->running || now->holds < before->holds) &&
           has_ready_lane(topic);
}

/* Writes what has changed, and wakes claims when the group can run a job by now. */
static void settle(struct queue *queue)
{
    struct group_cache *cache = &queue->group;
    struct topic *topic = cache->topic;
    struct group_rules rules;

    if (!cache->dirty)
        return;
    cache->dirty = false;
    rules = groups_rules(queue, topic);
    forget_holders(&cache->now);
    note_rules(topic, &rules);
    rates_settle(&rules.rate, &cache->now.bucket, queue->now);
    judge(&rules, cache->group, &cache->written, queue->now, &cache->now);
    if (cache->now.order == GROUP_BY_TURN && cache->written.order != GROUP_BY_TURN)
        join_turns(cache, topic);
    if (frees_job(cache, topic))
        queue_signal(queue, topic);
    put_turn(queue, topic, cache->group, &cache->written, &cache->now);
    put_record(queue, topic);
    cache->written = cache->now;
}

enum dueq_status groups_get(struct queue *queue, const struct topic *topic, uint64_t group,
                            struct group_record *ret_record)
{
    struct kv_key key;
    struct dueq_slice value;
    enum dueq_status status;

    if (topic->groups == 0)
        return DUEQ_NOTFOUND;
    status = kv_get(queue->kv, queue_key_group(&key, topic->id, group), &value);
    return status == DUEQ_OK && !group_record_read(value, ret_record) ? DUEQ_CORRUPT : status;
}

enum dueq_status groups_load(struct queue *queue, struct topic *topic, uint64_t group)
{
    struct group_cache *cache = &queue->group;
    struct group_record record = {.running = 0};
    enum dueq_status status;

    if (cache->loaded && cache->topic_id == topic->id && cache->group == group)
        return DUEQ_OK;
    settle(queue);
    status = groups_get(queue, topic, group, &record);
    cache->topic_id = topic->id;
    cache->group = group;
    cache->loaded = status == DUEQ_OK || status == DUEQ_NOTFOUND;
    cache->is_there = status == DUEQ_OK;
    cache->weight = 1;
    if (!cache->is_there)
        record = (struct group_record){.running = 0};
    cache->written = cache->now = record;
    return cache->loaded ? DUEQ_OK : status;
}

/* A damaged record counts as nothing: a check finds the difference. One that cannot be read now
 * would be overwritten: callers load it before they begin, and if it fails here nevertheless,
 * what is begun must not become durable. */
static struct group_record *change(struct queue *queue, struct topic *topic, uint64_t group)
{
    struct group_cache *cache = &queue->group;
    enum dueq_status status = groups_load(queue, topic, group);

    if (status != DUEQ_OK && status != DUEQ_CORRUPT)
        kv_give_up(queue->kv, status);
    cache->loaded = true;
    cache->topic = topic;
    cache->dirty = true;
    return &cache->now;
}

void groups_begin(struct queue *queue)
{
    queue->group.held++;
}

void groups_end(struct queue *queue)
{
    if (--queue->group.held == 0)
        settle(queue);
}

/* ---- parked jobs */

static struct group_place place_of(const struct job_state *state, uint64_t seq)
{
    return (struct group_place){
        .rank = !state->holds, .priority = state->priority, .position = {state->due, seq}};
}

void groups_park(struct queue *queue, struct topic *topic, const struct job_state *state,
                 uint64_t seq)
{
    struct group_place place = place_of(state, seq);
    struct group_record *record;
    struct kv_key key;

    groups_begin(queue);
    record = change(queue, topic, state->group);
    if (record->parked == 0 || group_place_before(place, record->head))
        record->head = place;
    record->parked++;
    queue->group.weight = state->weight;
    topic->parked++;
    queue->jobs.pending++;
    queue->jobs.ready++;
    kv_put(queue->kv, group_parked_key(&key, topic->id, state->group, place),
           dueq_slice(NULL, 0), true);
    queue_mark_dirty(queue, topic);
    groups_end(queue);
}

/* The first place of a group's list after that one. */
static struct group_place place_after(struct group_place place)
{
    place.position = position_after(place.position);
    return place;
}

static void unpark(struct queue *queue, struct topic *topic, const struct job_state *state,
                   uint64_t seq)
{
    struct group_place place = place_of(state, seq);
    struct group_record *record = change(queue, topic, state->group);
    struct kv_key key;

    if (!group_place_before(record->head, place))
        record->head = place_after(place);
    record->parked -= record->parked > 0;
    topic->parked--;
    queue->jobs.pending--;
    queue->jobs.ready--;
    kv_del(queue->kv, group_parked_key(&key, topic->id, state->group, place));
    queue_mark_dirty(queue, topic);
}

bool groups_has(struct queue *queue, const struct topic *topic, const struct job_state *state,
                uint64_t seq)
{
    struct kv_key key;
    struct dueq_slice value;

    return topic->parked > 0 && state->state == PHASE_PENDING && state->clock == CLOCK_QUEUE &&
           kv_get(queue->kv,
                  group_parked_key(&key, topic->id, state->group, place_of(state, seq)),
                  &value) == DUEQ_OK;
}

/* ---- entries come and go */

static bool parks(struct queue *queue, struct topic *topic, const struct job_state *state,
                  struct dueq_time time)
{
    struct group_rules rules = groups_rules(queue, topic);
    bool waits = false;

    if (!rules.any || state->clock != CLOCK_QUEUE || state->due > time.now)
        return false;
    if (rules.fair)
        return true;
    return groups_blocks(queue, topic, &rules, state, &waits) == DUEQ_OK && waits;
}

bool groups_add(struct queue *queue, struct topic *topic, const struct job_state *state,
                uint64_t seq, struct dueq_time time)
{
    bool parked = false;

    groups_begin(queue);
    if (state->state == PHASE_CLAIMED && state->group != 0)
        change(queue, topic, state->group)->running++;
    if (state->state == PHASE_PENDING && state->holds)
        change(queue, topic, state->group)->holds++;
    if (state->state == PHASE_PENDING && parks(queue, topic, state, time)) {
        groups_park(queue, topic, state, seq);
        parked = true;
    }
    groups_end(queue);
    return parked;
}

static void less(uint64_t *count)
{
    *count -= *count > 0;
}

bool groups_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                   uint64_t seq)
{
    bool parked = false;

    if (topic->groups == 0)
        return false;
    groups_begin(queue);
    if (state->state == PHASE_CLAIMED && state->group != 0)
        less(&change(queue, topic, state->group)->running);
    if (state->state == PHASE_PENDING && state->holds)
        less(&change(queue, topic, state->group)->holds);
    if (state->state == PHASE_PENDING && topic->parked > 0 &&
        groups_load(queue, topic, state->group) == DUEQ_OK && queue->group.now.parked > 0 &&
        !group_place_before(place_of(state, seq), queue->group.now.head) &&
        groups_has(queue, topic, state, seq)) {
        unpark(queue, topic, state, seq);
        parked = true;
    }
    groups_end(queue);
    return parked;
}

void groups_charge(struct queue *queue, struct topic *topic, const struct job_state *state)
{
    struct group_rules rules = groups_rules(queue, topic);
    struct group_record *record;

    if (!rules.fair && (rules.rate.count == 0 || state->group == 0))
        return;
    groups_begin(queue);
    record = change(queue, topic, state->group);
    if (rules.fair && topic->turn < record->turn)
        topic->turn = record->turn;
    if (rules.fair)
        record->turn += cost_of(state->weight);
    if (state->group != 0)
        rates_take(&rules.rate, &record->bucket, queue->now);
    groups_end(queue);
}

enum dueq_status groups_fill(struct queue *queue, struct topic *topic, uint64_t group,
                             const struct bucket *bucket)
{
    enum dueq_status status = groups_load(queue, topic, group);

    if (status != DUEQ_OK)
        return status;
    change(queue, topic, group)->bucket = *bucket;
    settle(queue);
    return DUEQ_OK;
}

/* ---- claims */

enum dueq_status groups_blocks(struct queue *queue, struct topic *topic,
                               const struct group_rules *rules, const struct job_state *state,
                               bool *ret_waits)
{
    enum dueq_status status;

    *ret_waits = false;
    if (!rules->any || state->group == 0 || (topic->groups == 0 && !queue->group.dirty))
        return DUEQ_OK;
    status = groups_load(queue, topic, state->group);
    if (status == DUEQ_OK)
        *ret_waits = groups_is_full(rules, state->group, &queue->group.now, state->holds) ||
                     rates_next(&rules->rate, &queue->group.now.bucket) > queue->now;
    return status;
}

/* The first turn of that order from that one on. */
static enum dueq_status seek_turn(struct queue *queue, const struct topic *topic,
                                  const struct group_record *from, unsigned *budget,
                                  uint64_t *ret_group, struct group_record *ret_found)
{
    struct kv_key key, prefix;
    enum dueq_status status;

    group_turn_key(&key, topic->id, 0, from);
    queue_key_topic(&prefix, TABLE_TURN, topic->id);
    kv_key_u8(&prefix, from->order);
    status = kv_cursor_seek_within(queue->cursor, kv_key_slice(&key), budget);
    if (status != DUEQ_OK)
        return status;
    if (!kv_key_begins(kv_cursor_key(queue->cursor), &prefix))
        return DUEQ_NOTFOUND;
    return group_turn_read(kv_cursor_key(queue->cursor), ret_group, ret_found) ? DUEQ_OK
                                                                               : DUEQ_CORRUPT;
}

/* The group whose turn was found becomes the loaded one. A turn that its group does not have,
 * or whose group does not read, is taken away, because the turns after it would wait for it for
 * ever: DUEQ_CORRUPT. What of the group is lost is for repair to find. */
static enum dueq_status load_turn(struct queue *queue, struct topic *topic, uint64_t group,
                                  const struct group_record *found)
{
    enum dueq_status status = groups_load(queue, topic, group);
    struct kv_key key;

    if (status == DUEQ_OK && same_turn(found, &queue->group.written))
        return DUEQ_OK;
    if (status != DUEQ_OK && status != DUEQ_CORRUPT)
        return status;
    kv_del(queue->kv, group_turn_key(&key, topic->id, group, found));
    return DUEQ_CORRUPT;
}

/* The first group in that order, from that priority on. */
static enum dueq_status first_turn(struct queue *queue, struct topic *topic,
                                   enum group_order order, uint8_t priority, unsigned *budget,
                                   uint64_t *ret_group, struct group_record *ret_found)
{
    struct group_record *first = &topic->first_turn, from = *first, found;
    bool later = order == GROUP_BY_PLACE && priority > first->head.priority;
    enum dueq_status status;

    from.order = (uint8_t)order;
    if (later)
        from.head = (struct group_place){.priority = priority, .position = {INT64_MIN, 0}};
    status = seek_turn(queue, topic, &from, budget, ret_group, &found);
    if (status != DUEQ_OK)
        return status;
    if (order == GROUP_BY_TURN)
        first->turn = found.turn;
    else if (!later)
        first->head = found.head;
    *ret_found = found;
    return DUEQ_OK;
}

/* The first parked job of the group. */
static enum dueq_status first_parked(struct queue *queue, const struct topic *topic,
                                     uint64_t group, struct group_place from, unsigned *budget,
                                     struct group_place *ret_place)
{
    struct kv_key key, prefix;
    enum dueq_status status;

    group_parked_key(&key, topic->id, group, from);
    queue_key_parked(&prefix, topic->id, group);
    status = kv_cursor_seek_within(queue->cursor, kv_key_slice(&key), budget);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND && *budget > 0 ? DUEQ_CORRUPT : status;
    return kv_key_begins(kv_cursor_key(queue->cursor), &prefix) &&
                   group_parked_read(kv_cursor_key(queue->cursor), prefix.size, ret_place)
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

static bool same_place(struct group_place a, struct group_place b)
{
    return !group_place_before(a, b) && !group_place_before(b, a);
}

/* A group is at the place where its first job may be: when that is farther back, the group goes
 * there, and another one may come first. */
static enum dueq_status first_in(struct queue *queue, struct topic *topic,
                                 enum group_order order, uint8_t priority, unsigned *budget,
                                 uint64_t *ret_group, struct group_place *ret_place)
{
    while (*budget > 0) {
        struct group_place place = {.rank = 0};
        struct group_record found;
        enum dueq_status status =
            first_turn(queue, topic, order, priority, budget, ret_group, &found);

        if (status != DUEQ_OK)
            return status;
        status = load_turn(queue, topic, *ret_group, &found);
        if (status == DUEQ_CORRUPT) {
            *budget -= *budget > 0;
            continue;
        }
        if (status == DUEQ_OK)
            status =
                first_parked(queue, topic, *ret_group, queue->group.now.head, budget, &place);
        if (status != DUEQ_OK)
            return status;
        *ret_place = place;
        if (same_place(place, queue->group.now.head))
            return DUEQ_OK;
        change(queue, topic, *ret_group)->head = place;
        settle(queue);
        if (queue->group.now.order == GROUP_BY_TURN)
            return DUEQ_OK;
        *budget -= *budget > 0;
    }
    return DUEQ_NOTFOUND;
}

/* Until all groups follow a change of the rules, some are in the other order. */
enum dueq_status groups_first(struct queue *queue, struct topic *topic,
                              const struct group_rules *rules, uint8_t priority,
                              unsigned *budget, uint64_t *ret_group,
                              struct group_place *ret_place)
{
    enum group_order order = rules->fair ? GROUP_BY_TURN : GROUP_BY_PLACE;
    enum dueq_status status;

    if (topic->parked == 0)
        return DUEQ_NOTFOUND;
    status = first_in(queue, topic, order, priority, budget, ret_group, ret_place);
    if (status != DUEQ_NOTFOUND || *budget == 0 || topic->group_rules == rules->number)
        return status;
    order = rules->fair ? GROUP_BY_PLACE : GROUP_BY_TURN;
    return first_in(queue, topic, order, priority, budget, ret_group, ret_place);
}

/* ---- looking */

bool groups_agree(struct queue *queue, struct topic *topic, uint64_t group,
                  const struct group_record *record)
{
    struct group_rules rules = groups_rules(queue, topic);
    struct group_record wanted = *record;

    if (topic->follow.runs || topic->group_rules != rules.number)
        return true;
    if (group_waits_for_time(record) && record->at <= queue->now)
        return true; /* the next tick looks at it */
    judge(&rules, group, record, queue->now, &wanted);
    return wanted.order == record->order &&
           (!group_waits_for_time(&wanted) || wanted.at >= record->at);
}

enum dueq_status groups_parked_after(struct queue *queue, const struct topic *topic,
                                     struct kv_key *at, unsigned *budget, uint64_t *ret_seq)
{
    struct kv_key prefix;
    struct group_place place;
    enum dueq_status status;

    queue_key_class(&prefix, topic->id, CLASS_PARKED);
    if (at->size == 0)
        *at = prefix;
    else
        kv_key_follow(at);
    status = kv_cursor_seek_within(queue->cursor, kv_key_slice(at), budget);
    if (status != DUEQ_OK)
        return status;
    if (!kv_key_begins(kv_cursor_key(queue->cursor), &prefix))
        return DUEQ_NOTFOUND;
    kv_key_copy(at, kv_cursor_key(queue->cursor));
    if (!group_parked_read(kv_key_slice(at), prefix.size + 8u, &place))
        return DUEQ_CORRUPT;
    *ret_seq = place.position.seq;
    return DUEQ_OK;
}

/* ---- time */

/* One whose group is damaged is passed over. */
static enum dueq_status release_one(struct queue *queue, struct topic *topic, uint64_t group,
                                    const struct group_record *found)
{
    enum dueq_status status = load_turn(queue, topic, group, found);

    if (status != DUEQ_OK)
        return status == DUEQ_CORRUPT ? DUEQ_OK : status;
    (void)change(queue, topic, group);
    settle(queue);
    queue->rate_releases++;
    return DUEQ_OK;
}

enum dueq_status groups_release(struct queue *queue, struct topic *topic, int64_t now,
                                unsigned *budget)
{
    enum dueq_status status = DUEQ_OK;

    if (topic->groups == 0 || !BUCKETS_KNOWN)
        topic->first_permit = DUEQ_NEVER;
    while (BUCKETS_KNOWN && status == DUEQ_OK && topic->first_permit <= now && *budget > 0) {
        struct group_record from = {.order = GROUP_BY_PERMIT, .at = topic->first_permit}, found;
        uint64_t group;

        status = seek_turn(queue, topic, &from, budget, &group, &found);
        if (status == DUEQ_NOTFOUND && *budget > 0)
            topic->first_permit = DUEQ_NEVER;
        if (status != DUEQ_OK)
            break;
        topic->first_permit = found.at;
        if (found.at > now)
            break;
        status = release_one(queue, topic, group, &found);
        *budget -= *budget < FOLLOW_STEPS ? *budget : FOLLOW_STEPS;
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* ---- a change of the rules */

bool groups_lag(struct queue *queue, struct topic *topic)
{
    return topic->groups > 0 &&
           (topic->follow.runs || topic->group_rules != groups_rules(queue, topic).number);
}

/* The first group that has a record, from `*group` on. */
static enum dueq_status next_group(struct queue *queue, const struct topic *topic,
                                   unsigned *budget, uint64_t *group)
{
    struct kv_key key, prefix;
    struct dueq_slice found;
    enum dueq_status status =
        kv_cursor_seek_within(queue->cursor, queue_key_group(&key, topic->id, *group), budget);

    if (status != DUEQ_OK)
        return status;
    queue_key_topic(&prefix, TABLE_GROUP, topic->id);
    found = kv_cursor_key(queue->cursor);
    if (!kv_key_begins(found, &prefix))
        return DUEQ_NOTFOUND;
    if (found.size != prefix.size + 8u)
        return DUEQ_CORRUPT;
    *group = bytes_read_u64((const uint8_t *)found.data + prefix.size);
    return DUEQ_OK;
}

static void end_follow(struct queue *queue, struct topic *topic, uint64_t rules)
{
    topic->group_rules = rules;
    topic->follow.runs = false;
    queue_signal(queue, topic);
    queue_mark_dirty(queue, topic);
}

static enum dueq_status follow_one(struct queue *queue, struct topic *topic, uint64_t rules,
                                   unsigned *budget)
{
    uint64_t group = topic->follow.next;
    enum dueq_status status = next_group(queue, topic, budget, &group);

    if (status == DUEQ_NOTFOUND) {
        if (*budget > 0)
            end_follow(queue, topic, rules);
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    status = groups_load(queue, topic, group);
    if (status == DUEQ_OK) {
        (void)change(queue, topic, group);
        settle(queue);
    } else if (status != DUEQ_CORRUPT) { /* one that is damaged stays as it is */
        return status;
    }
    topic->follow.next = group + 1;
    if (group == UINT64_MAX)
        end_follow(queue, topic, rules);
    *budget -= *budget < FOLLOW_STEPS ? *budget : FOLLOW_STEPS;
    return DUEQ_OK;
}

enum dueq_status groups_follow(struct queue *queue, struct topic *topic, unsigned *budget)
{
    uint64_t rules = groups_rules(queue, topic).number;
    enum dueq_status status = DUEQ_OK;

    if (topic->groups == 0) {
        topic->group_rules = rules;
        topic->follow.runs = false;
        return DUEQ_OK;
    }
    if (topic->group_rules == rules && !topic->follow.runs)
        return DUEQ_OK;
    if (!topic->follow.runs || topic->follow.rules != rules) {
        topic->follow.runs = true;
        topic->follow.rules = rules;
        topic->follow.next = 0;
    }
    while (status == DUEQ_OK && topic->follow.runs && *budget > 0)
        status = follow_one(queue, topic, rules, budget);
    return status;
}
