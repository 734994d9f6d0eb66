#include "storage/queue/core/cron_store.h"

#include "storage/kv/cursor.h"
#include "storage/queue/core/queue_state.h"
#include "storage/xxh3.h"

static struct dueq_slice record_key(struct kv_key *key, uint8_t table, struct dueq_slice name)
{
    kv_key_start(key, table);
    kv_key_name(key, name, 0); /* 255 bytes at most: never folded */
    return kv_key_slice(key);
}

/* Without a seed: the same on every machine. */
int64_t cron_delay(struct dueq_slice name, const struct cron_rule *rule)
{
    if (rule->jitter == 0)
        return 0;
    return (int64_t)(XXH3_64bits(name.data, name.size) % (uint64_t)rule->jitter);
}

/* ---- records */

enum dueq_status cron_load(struct queue *queue, struct dueq_slice name, struct cron *ret_cron)
{
    struct kv_key key;
    struct dueq_slice rule, state;
    enum dueq_status status = kv_get(queue->kv, record_key(&key, TABLE_CRON, name), &rule);

    if (status != DUEQ_OK)
        return status;
    status = kv_get(queue->kv, record_key(&key, TABLE_CRON_STATE, name), &state);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    return cron_record_read_rule(rule, &ret_cron->rule) &&
                   cron_record_read_state(state, &ret_cron->state)
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

void cron_save_rule(struct queue *queue, struct dueq_slice name, const struct cron_rule *rule)
{
    struct kv_key key;
    uint8_t head[CRON_RECORD_HEAD_MAX];
    struct dueq_slice parts[2] = {dueq_slice(head, cron_record_write_rule(head, rule)),
                                  rule->job.body};

    kv_putv(queue->kv, record_key(&key, TABLE_CRON, name), parts, 2, false);
}

/* ---- entries */

static void arrange(struct queue *queue, struct cron_entry *entry, uint8_t clock, int64_t delay,
                    const struct cron_state *state)
{
    struct crons *crons = &queue->crons;

    entry->failure = DUEQ_OK;
    if (state->paused)
        crons_rest(crons, entry);
    else
        crons_wait(crons, entry, clock, safe_time_add(state->base, delay));
    if (entry->is_paused != state->paused)
        crons->stats.paused += state->paused ? 1 : -UINT64_C(1);
    entry->is_paused = state->paused;
}

void cron_save_state(struct queue *queue, struct cron_entry *entry, uint8_t clock,
                     int64_t delay, const struct cron_state *state)
{
    struct kv_key key;
    uint8_t bytes[CRON_RECORD_STATE_MAX];

    kv_put(queue->kv, record_key(&key, TABLE_CRON_STATE, cron_entry_name(entry)),
           dueq_slice(bytes, cron_record_write_state(bytes, state)), false);
    arrange(queue, entry, clock, delay, state);
}

void cron_remove(struct queue *queue, struct cron_entry *entry)
{
    struct kv_key key;

    kv_del(queue->kv, record_key(&key, TABLE_CRON, cron_entry_name(entry)));
    kv_del(queue->kv, record_key(&key, TABLE_CRON_STATE, cron_entry_name(entry)));
    queue->crons.stats.paused -= entry->is_paused;
    crons_remove(&queue->crons, entry);
}

/* ---- in order */

/* The least name above `name`, at the cursor. It looks in the table of states: that of the
 * rules is beside the bodies of jobs, and a damaged page of those must not end an opening. */
static enum dueq_status seek(struct queue *queue, struct dueq_slice name,
                             struct dueq_slice *ret_name)
{
    struct kv_key key, table;
    struct dueq_slice found;
    enum dueq_status status;

    kv_key_start(&table, TABLE_CRON_STATE);
    record_key(&key, TABLE_CRON_STATE, name);
    if (name.size > 0)
        key.bytes[key.size++] = 0;
    status = kv_cursor_seek(queue->cursor, kv_key_slice(&key));
    if (status != DUEQ_OK)
        return status;
    found = kv_cursor_key(queue->cursor);
    if (!kv_key_begins(found, &table))
        return DUEQ_NOTFOUND;
    *ret_name = dueq_slice((const uint8_t *)found.data + 1, found.size - 1);
    return DUEQ_OK;
}

enum dueq_status cron_name_after(struct queue *queue, struct dueq_slice after,
                                 struct dueq_slice *ret_name)
{
    struct dueq_slice name;
    enum dueq_status status = seek(queue, after, &name);
    const struct cron_entry *entry = status == DUEQ_OK ? crons_find(&queue->crons, name) : NULL;

    if (entry != NULL)
        *ret_name = cron_entry_name(entry);
    return status == DUEQ_OK && entry == NULL ? DUEQ_CORRUPT : status;
}

/* ---- the opening */

enum { DAMAGED_MS = 60000 };

/* One that does not read stops nothing else, as a damaged job does not: a tick tries it again,
 * and who asks for it is told. */
static void set_aside(struct queue *queue, struct cron_entry *entry, enum dueq_status status)
{
    entry->failure = status;
    queue->crons.stats.failures++;
    crons_wait(&queue->crons, entry, CLOCK_QUEUE, safe_time_add(queue->now, DAMAGED_MS));
}

/* The wall clock may have been set back meanwhile. */
static enum dueq_status load_entry(struct queue *queue, struct dueq_slice name,
                                   struct cron_entry **ret_entry)
{
    struct cron cron;
    enum dueq_status status;

    if (!queue_valid_name(name))
        return DUEQ_CORRUPT;
    *ret_entry = crons_add(&queue->crons, name);
    if (*ret_entry == NULL)
        return DUEQ_NOMEM;
    status = cron_load(queue, cron_entry_name(*ret_entry), &cron);
    if (status != DUEQ_OK) {
        set_aside(queue, *ret_entry, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
        return status == DUEQ_NOMEM ? status : DUEQ_OK;
    }
    name = cron_entry_name(*ret_entry);
    arrange(queue, *ret_entry, cron_clock(&cron.rule), cron_delay(name, &cron.rule),
            &cron.state);
    if (cron_clock(&cron.rule) == CLOCK_WALL &&
        cron.state.seen > queue_wall_of(queue, CLOCK_QUEUE, queue->now))
        queue->crons.sweep = queue->crons.entries;
    return DUEQ_OK;
}

enum dueq_status crons_load(struct queue *queue)
{
    struct dueq_slice name = {NULL, 0};
    enum dueq_status status;

    queue->crons.seed = kv_seed(queue->kv);
    queue->crons.limit = CRONS_LIMIT;
    queue->crons.offset = queue->offset;
    while ((status = seek(queue, name, &name)) == DUEQ_OK) {
        struct cron_entry *entry;

        status = load_entry(queue, name, &entry);
        if (status != DUEQ_OK)
            return status;
        name = cron_entry_name(entry);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}
