#include "storage/types.h"

#include "storage/dueq.h"

#include <string.h>

/* Names are arrays, not pointers, each of which would be a relocation of libdueq. */

const char *dueq_state_name(enum dueq_state state)
{
    static const char names[][8] = {"delayed", "ready", "claimed", "dead", "done", "waiting"};

    return names[state];
}

const char *dueq_event_name(enum dueq_event_type type)
{
    static const char names[DUEQ_EVENT_TYPES][10] = {"pushed", "due",    "claimed",
                                                     "acked",  "nacked", "expired",
                                                     "lapsed", "dead",   "cancelled"};

    return names[type];
}

const char *dueq_outcome_name(enum dueq_outcome outcome)
{
    static const char names[][8] = {"failed", "silent", "fatal", "crashed"};

    return names[outcome];
}

const char *dueq_push_outcome_name(enum dueq_push_outcome outcome)
{
    static const char names[][10] = {"created", "ignored", "replaced", "debounced", "follows"};

    return names[outcome];
}

const char *dueq_catchup_name(enum dueq_catchup catchup)
{
    static const char names[][5] = {"none", "one", "all"};

    return names[catchup];
}

const char *dueq_overlap_name(enum dueq_overlap overlap)
{
    return overlap == DUEQ_OVERLAP_SKIP ? "skip" : "queue";
}

void dueq_settings_init(struct dueq_settings *settings)
{
    memset(settings, 0, sizeof(*settings));
    for (int i = 0; i < DUEQ_SETTINGS; i++)
        settings->numbers[i] = DUEQ_DEFAULT;
}

void dueq_push_init(struct dueq_push *push)
{
    *push = (struct dueq_push){.priority = DUEQ_DEFAULT,
                               .lease = DUEQ_DEFAULT,
                               .retries = DUEQ_DEFAULT,
                               .crashes = DUEQ_DEFAULT,
                               .backoff = DUEQ_DEFAULT,
                               .backoff_max = DUEQ_DEFAULT,
                               .jitter = DUEQ_DEFAULT,
                               .ttl = DUEQ_DEFAULT,
                               .window = DUEQ_DEFAULT,
                               .weight = DUEQ_DEFAULT};
}

void dueq_cron_init(struct dueq_cron *cron)
{
    *cron = (struct dueq_cron){.every = 0};
    dueq_push_init(&cron->push);
}

void dueq_dead_init(struct dueq_dead *dead)
{
    *dead = (struct dueq_dead){.action = DUEQ_DEAD_LOOK, .limit = UINT64_MAX};
}

void dueq_claim_init(struct dueq_claim *claim)
{
    *claim = (struct dueq_claim){.lease = DUEQ_DEFAULT, .waits_since = DUEQ_NEVER};
}

void dueq_scan_init(struct dueq_scan *scan)
{
    *scan = (struct dueq_scan){.state = DUEQ_DEFAULT, .count = 10};
}
