/* The self-check of recurring jobs: each has two records and an entry, which agree. */
#include "storage/queue/cron_entries.h"

#include "storage/verify.h"

struct cron_audit {
    struct queue *queue;
    struct findings *findings;
    uint64_t rules, paused;
};

static void blame(const struct cron_audit *audit, struct dueq_slice name, bool sound,
                  const char *what)
{
    char text[FINDINGS_QUOTED_MAX];

    if (!sound)
        findings_add(audit->findings, what, "recurring job %s", findings_quote(text, name));
}

static struct dueq_slice name_of(struct dueq_slice key)
{
    return dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
}

static bool is_at(const struct cron_entry *entry, const struct cron *cron)
{
    int64_t delay = cron_delay(cron_entry_name(entry), &cron->rule);

    return entry->clock == cron_clock(&cron->rule) &&
           entry->at == safe_time_add(cron->state.base, delay);
}

/* One that failed or waits for the disk is at another time, on the queue's clock. */
static bool is_in_time(const struct queue *queue, const struct cron_entry *entry,
                       const struct cron *cron)
{
    return is_at(entry, cron) ||
           (entry->clock == CLOCK_QUEUE && entry->at <= queue->now + 60000);
}

static bool at_rule(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct cron_audit *audit = arg;
    struct dueq_slice name = name_of(key);
    const struct cron_entry *entry =
        queue_valid_name(name) ? crons_find(&audit->queue->crons, name) : NULL;
    char error[CRON_SPEC_ERROR_MAX];
    struct cron_times times;
    struct cron cron;

    (void)value;
    audit->rules++;
    blame(audit, name, entry != NULL, "a recurring job is not in memory");
    if (entry == NULL)
        return true;
    if (cron_load(audit->queue, name, &cron) != DUEQ_OK ||
        cron_times_begin(audit->queue, name, &cron.rule, &times, error) != DUEQ_OK) {
        blame(audit, name, false, "a recurring job does not read");
        return true;
    }
    audit->paused += cron.state.paused;
    blame(audit, name, cron.state.paused == entry->is_paused,
          "a recurring job is paused on disk or in memory only");
    blame(audit, name, entry->waits == !entry->is_paused, "a recurring job does not wait");
    blame(audit, name, !entry->waits || is_in_time(audit->queue, entry, &cron),
          "a recurring job waits for another time");
    return true;
}

static bool at_state(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct cron_audit *audit = arg;
    struct dueq_slice name = name_of(key), rule;
    struct kv_key rule_key;

    (void)value;
    kv_key_copy(&rule_key, key);
    rule_key.bytes[0] = TABLE_CRON;
    blame(audit, name, kv_get(audit->queue->kv, kv_key_slice(&rule_key), &rule) == DUEQ_OK,
          "the state of a recurring job belongs to no rule");
    return true;
}

void cron_audit(struct queue *queue, struct findings *findings)
{
    struct cron_audit audit = {.queue = queue, .findings = findings};
    const char *wrong = crons_check(&queue->crons);
    struct kv_key table;

    if (wrong != NULL)
        findings_add(findings, wrong, "all recurring jobs");
    kv_key_start(&table, TABLE_CRON);
    findings_walk(findings, queue->kv, &table, at_rule, &audit);
    kv_key_start(&table, TABLE_CRON_STATE);
    findings_walk(findings, queue->kv, &table, at_state, &audit);
    if (!findings->stopped && (audit.rules != crons_count(&queue->crons) ||
                               audit.paused != queue->crons.stats.paused))
        findings_add(findings, "the number of recurring jobs is wrong", "all recurring jobs");
}
