#include "server/http/topic_metrics.h"

#include "storage/store.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 8, WRITES = 64, MS = 1000 };

struct topic_sample {
    struct dueq_topic_stats stats;
    bool known; /* the topic is still there */
    uint8_t name_size;
    char name[DUEQ_NAME_MAX];
};

bool topic_metrics_take(struct topic_metrics *topics, struct dueq *store, size_t most)
{
    struct dueq_slice *names = calloc(most + 1, sizeof(*names));

    *topics = (struct topic_metrics){0};
    if (names == NULL)
        return false;
    topics->count = store == NULL ? 0 : dueq_recent_topics(store, names, most);
    topics->samples = calloc(topics->count + 1, sizeof(*topics->samples));
    for (size_t i = 0; topics->samples != NULL && i < topics->count; i++) {
        topics->samples[i].name_size = (uint8_t)names[i].size;
        memcpy(topics->samples[i].name, names[i].data, names[i].size);
    }
    free(names);
    return topics->samples != NULL;
}

void topic_metrics_release(struct topic_metrics *topics)
{
    free(topics->samples);
    topics->samples = NULL;
}

static struct dueq_slice name_of(const struct topic_sample *sample)
{
    return dueq_slice(sample->name, sample->name_size);
}

/* A look counts as use: the one used last is looked at last. */
static void look(struct topic_metrics *topics, struct server *server)
{
    for (int i = 0; i < LOOKS && topics->looked < topics->count; i++) {
        struct topic_sample *sample = &topics->samples[topics->count - ++topics->looked];

        sample->known =
            server->store != NULL && dueq_topic_stats(server->store, name_of(sample),
                                                      server->now, &sample->stats) == DUEQ_OK;
    }
    if (server->store != NULL)
        store_settle(server->store);
}

/* ---- families */

/* What is left of `total` without the topics that are shown: of totals that were taken before
 * them it may be less than nothing. */
static uint64_t rest(const struct topic_metrics *topics, uint64_t total, int state)
{
    uint64_t shown = 0;

    for (size_t i = 0; i < topics->count; i++)
        if (topics->samples[i].known)
            shown += topics->samples[i].stats.counts[state];
    return total > shown ? total - shown : 0;
}

static void write_others(const struct topic_metrics *topics, const struct metrics *metrics,
                         struct metric_text *text)
{
    if (!metrics->has_total || metrics->topics <= topics->count)
        return;
    for (int state = 0; state < DUEQ_STATES; state++) {
        metric_start(text);
        metric_label(text, "topic", "\\\\other");
        metric_label(text, "state", dueq_state_name((enum dueq_state)state));
        metric_value(text, rest(topics, metrics->total.counts[state], state));
    }
}

static void write_states(const struct topic_sample *sample, struct metric_text *text)
{
    for (int state = 0; state < DUEQ_STATES; state++) {
        metric_start(text);
        metric_label_bytes(text, "topic", name_of(sample));
        metric_label(text, "state", dueq_state_name((enum dueq_state)state));
        metric_value(text, sample->stats.counts[state]);
    }
}

static void write_age(const struct topic_sample *sample, struct metric_text *text)
{
    metric_start(text);
    metric_label_bytes(text, "topic", name_of(sample));
    metric_fraction(text, (uint64_t)sample->stats.oldest_ready_age, MS);
}

static void write_count(const struct topic_sample *sample, uint64_t count,
                        struct metric_text *text)
{
    metric_start(text);
    metric_label_bytes(text, "topic", name_of(sample));
    metric_value(text, count);
}

#define WRITE_TOTAL(total)                                                                     \
    static void write_##total(const struct topic_sample *sample, struct metric_text *text)     \
    {                                                                                          \
        write_count(sample, sample->stats.total, text);                                        \
    }
WRITE_TOTAL(pushed)
WRITE_TOTAL(claimed)
WRITE_TOTAL(acked)
WRITE_TOTAL(nacked)
WRITE_TOTAL(dead)
WRITE_TOTAL(leases_expired)

static const struct family {
    enum metric_type type;
    const char *name, *help;
    void (*write)(const struct topic_sample *sample, struct metric_text *text);
} families[] = {
    {METRIC_GAUGE, "dueq_topic_jobs", "Jobs of a topic by state.", write_states},
    {METRIC_GAUGE, "dueq_topic_oldest_ready_age_seconds",
     "How long ago the oldest ready job of a topic fell due.", write_age},
    {METRIC_COUNTER, "dueq_topic_pushed", "Jobs that were pushed into a topic.", write_pushed},
    {METRIC_COUNTER, "dueq_topic_claimed", "Claims of a topic.", write_claimed},
    {METRIC_COUNTER, "dueq_topic_acked", "Jobs of a topic that are done.", write_acked},
    {METRIC_COUNTER, "dueq_topic_nacked", "Attempts of a topic that were given up.",
     write_nacked},
    {METRIC_COUNTER, "dueq_topic_dead", "Jobs of a topic that died.", write_dead},
    {METRIC_COUNTER, "dueq_topic_leases_expired", "Leases of a topic that ran out.",
     write_leases_expired}};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static void write_some(struct topic_metrics *topics, const struct metrics *metrics,
                       struct metric_text *text)
{
    const struct family *family = &families[topics->family];

    if (topics->next == 0)
        metric_family(text, family->type, family->name, family->help);
    for (int i = 0; i < WRITES && topics->next < topics->count; i++, topics->next++)
        if (topics->samples[topics->next].known)
            family->write(&topics->samples[topics->next], text);
    if (topics->next < topics->count)
        return;
    if (family->write == write_states)
        write_others(topics, metrics, text);
    topics->next = 0;
    topics->family++;
}

bool topic_metrics_step(struct topic_metrics *topics, const struct metrics *metrics,
                        struct metric_text *text)
{
    if (!metrics->has_store)
        return false;
    if (topics->looked < topics->count)
        look(topics, metrics->server);
    else
        write_some(topics, metrics, text);
    return topics->family < FAMILIES;
}
