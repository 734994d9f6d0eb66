#include "storage/queue/core/settings.h"

#include "storage/glob.h"
#include "storage/kv/cursor.h"
#include "storage/kv/room.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/record/numbers.h"
#include "storage/xxh3.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    RECORD_VERSION = 1,
    TAG_STEPS = 0x80,
    TAG_DEAD_TOPIC = 0x81,
    RECORD_MAX = 1 + DUEQ_SETTINGS * (1 + NUMBERS_MAX) + 2 + DUEQ_STEPS_MAX * NUMBERS_MAX + 2 +
                 DUEQ_NAME_MAX
};

struct scope {
    UT_hash_handle hh;         /* all, by name */
    struct scope *next, *prev; /* patterns, the longest first (utlist) */
    bool pattern;
    struct dueq_settings settings;
    size_t name_size;
    uint8_t name[DUEQ_NAME_MAX];
};

static struct dueq_slice scope_name(const struct scope *scope)
{
    return dueq_slice(scope->name, scope->name_size);
}

static bool is_pattern(struct dueq_slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (memchr("*?[", ((const char *)name.data)[i], 3) != NULL)
            return true;
    return false;
}

static bool is_empty(const struct dueq_settings *settings)
{
    for (int i = 0; i < DUEQ_SETTINGS; i++)
        if (settings->numbers[i] != DUEQ_DEFAULT)
            return false;
    return settings->step_count == 0 && settings->dead_topic_size == 0;
}

/* ---- the record: version, then a tag and a value for each setting that is set */

static struct kv_key record_key(struct dueq_slice scope)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_SETTINGS);
    kv_key_name(&key, scope, 0); /* 255 bytes at most: never folded */
    return key;
}

static size_t write_record(uint8_t *bytes, const struct dueq_settings *settings)
{
    uint8_t *at = bytes;

    *at++ = RECORD_VERSION;
    for (int i = 0; i < DUEQ_SETTINGS; i++) {
        if (settings->numbers[i] == DUEQ_DEFAULT)
            continue;
        *at++ = (uint8_t)i;
        at = numbers_write(at, settings->numbers[i]);
    }
    if (settings->step_count > 0) {
        *at++ = TAG_STEPS;
        *at++ = (uint8_t)settings->step_count;
        for (size_t i = 0; i < settings->step_count; i++)
            at = numbers_write(at, settings->steps[i]);
    }
    if (settings->dead_topic_size > 0) {
        *at++ = TAG_DEAD_TOPIC;
        *at++ = (uint8_t)settings->dead_topic_size;
        memcpy(at, settings->dead_topic, settings->dead_topic_size);
        at += settings->dead_topic_size;
    }
    return (size_t)(at - bytes);
}

static const uint8_t *read_steps(const uint8_t *at, const uint8_t *end,
                                 struct dueq_settings *settings)
{
    if (at == end || *at > DUEQ_STEPS_MAX)
        return NULL;
    settings->step_count = *at++;
    for (size_t i = 0; i < settings->step_count; i++)
        at = numbers_read(at, end, &settings->steps[i]);
    return at;
}

static const uint8_t *read_dead_topic(const uint8_t *at, const uint8_t *end,
                                      struct dueq_settings *settings)
{
    if (at == end || end - at < 1 + *at)
        return NULL;
    settings->dead_topic_size = *at++;
    memcpy(settings->dead_topic, at, settings->dead_topic_size);
    return at + settings->dead_topic_size;
}

bool settings_read(struct dueq_slice record, struct dueq_settings *ret_settings)
{
    const uint8_t *at = record.data, *end = at + record.size;

    dueq_settings_init(ret_settings);
    if (record.size == 0 || *at++ != RECORD_VERSION)
        return false;
    while (at != NULL && at < end) {
        uint8_t tag = *at++;

        if (tag < DUEQ_SETTINGS)
            at = numbers_read(at, end, &ret_settings->numbers[tag]);
        else if (tag == TAG_STEPS)
            at = read_steps(at, end, ret_settings);
        else
            at = tag == TAG_DEAD_TOPIC ? read_dead_topic(at, end, ret_settings) : NULL;
    }
    return at != NULL;
}

/* ---- scopes in RAM */

static int compare(const struct scope *a, const struct scope *b)
{
    if (a->name_size != b->name_size)
        return a->name_size > b->name_size ? -1 : 1;
    return dueq_slice_compare(scope_name(a), scope_name(b));
}

static unsigned hash_of(const struct queue *queue, struct dueq_slice name)
{
    return (unsigned)XXH3_64bits_withSeed(name.data, name.size, kv_seed(queue->kv));
}

static struct scope *find(const struct queue *queue, struct dueq_slice name)
{
    unsigned hash = hash_of(queue, name);
    struct scope *scope;

    HASH_FIND_BYHASHVALUE(hh, queue->scopes, name.data, name.size, hash, scope);
    return scope;
}

/* NULL: out of memory. */
static struct scope *add(struct queue *queue, struct dueq_slice name)
{
    struct scope *scope = calloc(1, sizeof(*scope));

    if (scope == NULL)
        return NULL;
    dueq_settings_init(&scope->settings);
    scope->name_size = name.size;
    memcpy(scope->name, name.data, name.size);
    scope->pattern = is_pattern(name);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, queue->scopes, scope->name, scope->name_size,
                                hash_of(queue, name), scope);
    if (scope->hh.tbl == NULL) {
        free(scope);
        return NULL;
    }
    if (scope->pattern)
        DL_INSERT_INORDER(queue->patterns, scope, compare);
    return scope;
}

static bool sets_durability(const struct scope *scope)
{
    return scope->settings.numbers[DUEQ_SET_DURABILITY] != DUEQ_DEFAULT;
}

static bool asks_for_ring(const struct scope *scope)
{
    return scope->settings.numbers[DUEQ_SET_EVENTS] > 0;
}

/* The change itself is always synced at once: so is then what was written before. */
static void replace(struct queue *queue, struct scope *scope,
                    const struct dueq_settings *settings)
{
    bool did = sets_durability(scope), asked = asks_for_ring(scope);

    scope->settings = *settings;
    queue->ring_scopes += (size_t)asks_for_ring(scope) - (size_t)asked;
    queue->durable_scopes += (size_t)sets_durability(scope) - (size_t)did;
    if (did || sets_durability(scope))
        queue->asked |= ASKS_ALWAYS;
}

static void discard(struct queue *queue, struct scope *scope)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed is in the table no more */
    HASH_DEL(queue->scopes, scope);
    if (scope->pattern)
        DL_DELETE(queue->patterns, scope);
    free(scope);
}

/* Every topic computes its settings anew. */
static void forget(struct queue *queue)
{
    queue->settings_epoch++;
}

static enum dueq_status keep(struct queue *queue, struct dueq_slice name,
                             const struct dueq_settings *settings)
{
    struct scope *scope = find(queue, name);

    if (scope == NULL)
        scope = add(queue, name);
    if (scope == NULL)
        return DUEQ_NOMEM;
    replace(queue, scope, settings);
    forget(queue);
    return DUEQ_OK;
}

static void drop(struct queue *queue, struct dueq_slice name)
{
    struct scope *scope = find(queue, name);
    struct dueq_settings none;

    if (scope == NULL)
        return;
    dueq_settings_init(&none);
    replace(queue, scope, &none);
    discard(queue, scope);
    forget(queue);
}

/* ---- which scope sets what */

/* What belongs to a backoff, or to a rate, comes from one scope: from the first that sets its
 * kind. */
static bool sets(const struct scope *scope, unsigned setting)
{
    const struct dueq_settings *settings = &scope->settings;

    if (setting == DUEQ_SETTINGS)
        return settings->dead_topic_size > 0;
    if (setting >= DUEQ_SET_BACKOFF && setting <= DUEQ_SET_JITTER)
        return settings->step_count > 0 || settings->numbers[DUEQ_SET_BACKOFF] != DUEQ_DEFAULT;
    if (BUCKETS_KNOWN && setting >= DUEQ_SET_RATE && setting <= DUEQ_SET_GROUP_RATE_BURST)
        setting = setting < DUEQ_SET_GROUP_RATE ? DUEQ_SET_RATE : DUEQ_SET_GROUP_RATE;
    return settings->numbers[setting] != DUEQ_DEFAULT;
}

/* The name itself counts before every pattern. */
static const struct scope *source(const struct queue *queue, struct dueq_slice topic,
                                  unsigned setting)
{
    const struct scope *scope = find(queue, topic);

    if (scope != NULL && sets(scope, setting))
        return scope;
    DL_FOREACH(queue->patterns, scope)
        if (sets(scope, setting) && glob_match((const char *)scope->name, scope->name_size,
                                               topic.data, topic.size, false))
            return scope;
    return NULL;
}

struct dueq_slice settings_source(struct queue *queue, struct dueq_slice topic,
                                  unsigned setting)
{
    const struct scope *scope = source(queue, topic, setting);

    return scope == NULL ? dueq_slice(NULL, 0) : scope_name(scope);
}

static void copy_backoff(struct dueq_settings *settings, const struct dueq_settings *from)
{
    for (int i = DUEQ_SET_BACKOFF; i <= DUEQ_SET_JITTER; i++)
        settings->numbers[i] = from->numbers[i];
    memcpy(settings->steps, from->steps, sizeof(settings->steps));
    settings->step_count = from->step_count;
}

static void copy_setting(struct dueq_settings *settings, const struct dueq_settings *from,
                         unsigned setting)
{
    if (setting == DUEQ_SETTINGS) {
        settings->dead_topic_size = from->dead_topic_size;
        memcpy(settings->dead_topic, from->dead_topic, from->dead_topic_size);
    } else if (setting == DUEQ_SET_BACKOFF) {
        copy_backoff(settings, from);
    } else if (setting < DUEQ_SET_BACKOFF || setting > DUEQ_SET_JITTER) {
        settings->numbers[setting] = from->numbers[setting];
    }
}

/* What earlier scopes leave open. */
static void fill_in(struct dueq_settings *settings, const struct scope *scope, bool *decided)
{
    for (unsigned i = 0; i <= DUEQ_SETTINGS; i++)
        if (!decided[i] && sets(scope, i)) {
            decided[i] = true;
            copy_setting(settings, &scope->settings, i);
        }
}

/* Each pattern is matched once, as there may be thousands. */
static void compute(const struct queue *queue, struct dueq_slice topic,
                    struct dueq_settings *ret_settings)
{
    bool decided[DUEQ_SETTINGS + 1] = {false};
    const struct scope *scope = find(queue, topic);

    dueq_settings_init(ret_settings);
    if (scope != NULL)
        fill_in(ret_settings, scope, decided);
    DL_FOREACH(queue->patterns, scope)
        if (glob_match((const char *)scope->name, scope->name_size, topic.data, topic.size,
                       false))
            fill_in(ret_settings, scope, decided);
}

const struct dueq_settings *settings_of(struct queue *queue, struct topic *topic)
{
    struct dueq_settings settings;

    if (topic->settings_epoch == queue->settings_epoch)
        return topic->settings;
    free(topic->settings);
    topic->settings = NULL;
    compute(queue, topic_name(topic), &settings);
    if (is_empty(&settings)) {
        topic->settings_epoch = queue->settings_epoch;
        return NULL;
    }
    topic->settings = malloc(sizeof(settings));
    if (topic->settings == NULL)
        return NULL;
    *topic->settings = settings;
    topic->settings_epoch = queue->settings_epoch;
    return topic->settings;
}

int64_t settings_number(struct queue *queue, struct topic *topic, enum dueq_setting setting,
                        int64_t otherwise)
{
    const struct dueq_settings *settings = settings_of(queue, topic);

    return settings == NULL || settings->numbers[setting] == DUEQ_DEFAULT
               ? otherwise
               : settings->numbers[setting];
}

/* ---- durability */

static unsigned asks_for(int64_t durability)
{
    if (durability == DUEQ_DEFAULT)
        return ASKS_MODE;
    return durability == DUEQ_SYNC_ALWAYS ? ASKS_ALWAYS : ASKS_INTERVAL;
}

void settings_note_use_of(struct queue *queue, struct dueq_slice name)
{
    const struct scope *scope =
        queue->durable_scopes == 0 ? NULL : source(queue, name, DUEQ_SET_DURABILITY);

    queue->asked |= scope == NULL ? (unsigned)ASKS_MODE
                                  : asks_for(scope->settings.numbers[DUEQ_SET_DURABILITY]);
}

/* Without memory for the settings of the topic the scopes are searched: its promise holds. */
void settings_note_use(struct queue *queue, struct topic *topic)
{
    const struct dueq_settings *settings =
        queue->durable_scopes == 0 ? NULL : settings_of(queue, topic);

    if (settings != NULL)
        queue->asked |= asks_for(settings->numbers[DUEQ_SET_DURABILITY]);
    else if (topic->settings_epoch == queue->settings_epoch)
        queue->asked |= ASKS_MODE;
    else
        settings_note_use_of(queue, topic_name(topic));
}

void settings_note_use_of_all(struct queue *queue)
{
    queue->asked |= ASKS_MODE | (queue->durable_scopes > 0 ? ASKS_ALWAYS : 0);
}

/* ---- changing and reading scopes */

static bool sends_to_itself(struct dueq_slice scope, const struct dueq_settings *settings)
{
    return settings->dead_topic_size > 0 &&
           dueq_slice_equal(scope, dueq_slice(settings->dead_topic, settings->dead_topic_size));
}

/* Of what was read, too: what a setting is used for relies on its range. */
static bool is_in_range(const struct dueq_settings *settings)
{
    for (int i = 0; i < DUEQ_SETTINGS; i++)
        if (settings->numbers[i] < DUEQ_DEFAULT)
            return false;
    for (size_t i = 0; i < settings->step_count; i++)
        if (settings->steps[i] < 0)
            return false;
    return settings->numbers[DUEQ_SET_JITTER] <= 100 &&
           settings->numbers[DUEQ_SET_DURABILITY] <= DUEQ_SYNC_INTERVAL &&
           settings->numbers[DUEQ_SET_GROUP_MODE] <= DUEQ_GROUP_CAP(DUEQ_CAP_MAX) &&
           settings->numbers[DUEQ_SET_GROUP_ON_FAILURE] <= DUEQ_GROUP_PASS &&
           settings->numbers[DUEQ_SET_GROUP_CONCURRENCY] <= DUEQ_CAP_MAX &&
           settings->numbers[DUEQ_SET_GROUP_CONCURRENCY] != 0 &&
           settings->numbers[DUEQ_SET_EVENTS] <= DUEQ_RING_MAX;
}

static bool is_valid(struct dueq_slice scope, const struct dueq_settings *settings)
{
    return queue_valid_name(scope) && settings->step_count <= DUEQ_STEPS_MAX &&
           settings->dead_topic_size <= DUEQ_NAME_MAX && is_in_range(settings) &&
           settings->numbers[DUEQ_SET_EVENTS] <= rings_most() &&
           rates_check(settings) == DUEQ_OK && !sends_to_itself(scope, settings);
}

enum dueq_status settings_put(struct queue *queue, struct dueq_slice scope,
                              const struct dueq_settings *settings)
{
    struct kv_key key = record_key(scope);
    uint8_t bytes[RECORD_MAX];
    enum dueq_status status;

    if (!is_valid(scope, settings))
        return DUEQ_INVALID;
    if (is_empty(settings)) {
        kv_del(queue->kv, kv_key_slice(&key));
        drop(queue, scope);
        topic_sweep_begin(queue); /* less may be kept now */
        return DUEQ_OK;
    }
    if (HASH_COUNT(queue->scopes) >= DUEQ_SCOPES_MAX && find(queue, scope) == NULL)
        return DUEQ_TOOBIG;
    status = kv_room(queue->kv, sizeof(bytes) + sizeof(key));
    if (status == DUEQ_OK)
        status = keep(queue, scope, settings);
    if (status != DUEQ_OK)
        return status;
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, write_record(bytes, settings)),
           false);
    topic_sweep_begin(queue);
    return DUEQ_OK;
}

enum dueq_status settings_get(struct queue *queue, struct dueq_slice scope,
                              struct dueq_settings *ret_settings)
{
    const struct scope *found = find(queue, scope);

    if (found == NULL)
        return DUEQ_NOTFOUND;
    *ret_settings = found->settings;
    return DUEQ_OK;
}

/* All records of the table have a scope in RAM, and the other way round. */
enum dueq_status settings_after(struct queue *queue, struct dueq_slice after,
                                struct dueq_slice *ret_scope)
{
    struct kv_key key = record_key(after), table;
    const struct scope *found;
    struct dueq_slice name;
    enum dueq_status status;

    kv_key_start(&table, TABLE_SETTINGS);
    if (after.size > 0)
        key.bytes[key.size++] = 0; /* the least name above */
    status = kv_cursor_seek(queue->cursor, kv_key_slice(&key));
    if (status != DUEQ_OK)
        return status;
    name = kv_cursor_key(queue->cursor);
    if (!kv_key_begins(name, &table))
        return DUEQ_NOTFOUND;
    found = find(queue, dueq_slice((const uint8_t *)name.data + 1, name.size - 1));
    if (found == NULL)
        return DUEQ_CORRUPT;
    *ret_scope = scope_name(found);
    return DUEQ_OK;
}

/* ---- life */

static enum dueq_status load_scope(struct queue *queue)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor),
                      name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct dueq_settings settings;
    enum dueq_status status;

    if (!queue_valid_name(name) || !settings_read(kv_cursor_value(queue->cursor), &settings) ||
        !is_in_range(&settings))
        return DUEQ_CORRUPT;
    status = rates_check(&settings);
    return status == DUEQ_OK ? keep(queue, name, &settings) : status;
}

enum dueq_status settings_load(struct queue *queue)
{
    struct kv_key table;
    enum dueq_status status;

    queue->settings_epoch = 1;
    kv_key_start(&table, TABLE_SETTINGS);
    status = kv_cursor_seek(queue->cursor, kv_key_slice(&table));
    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(queue->cursor), &table)) {
        status = load_scope(queue);
        if (status == DUEQ_OK)
            status = kv_cursor_next(queue->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

void settings_release(struct queue *queue)
{
    struct scope *scope, *next;

    HASH_ITER(hh, queue->scopes, scope, next)
        discard(queue, scope);
}
