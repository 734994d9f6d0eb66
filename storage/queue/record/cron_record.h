/* The two records of a recurring job: the rule, as it was set, and the state, which each firing
 * writes. Encodings: storage/FORMAT.md. Private to storage/queue. */
#ifndef DUEQ_CRON_RECORD_H
#define DUEQ_CRON_RECORD_H

#include "storage/cron.h"
#include "storage/queue/record/given_id.h"
#include "storage/queue/record/job_record.h"

struct cron_rule {
    int64_t every;  /* ms; 0: by spec */
    int64_t jitter; /* ms */
    enum dueq_catchup catchup;
    enum dueq_overlap overlap;
    struct dueq_slice spec, zone, topic;
    struct job_body job; /* body and options */
};

/* Its next time is on the queue's clock with `every`, else on the wall clock. */
struct cron_state {
    bool paused;
    bool has_last;   /* last_id is one */
    int64_t base;    /* next time without its jitter, ms */
    int64_t local;   /* what the clock of the zone shows then, s; see calendar_point */
    int64_t seen;    /* wall clock when `base` was computed, ms */
    int64_t made_up; /* missed times made up for in one go so far */
    int64_t fired, missed, overlapped;
    int64_t last; /* wall clock of the last firing, ms; 0: none */
    char last_id[GIVEN_ID_SIZE];
};

enum {
    CRON_RECORD_HEAD_MAX = 5 + 2 * NUMBERS_MAX + DUEQ_CRON_SPEC_MAX + DUEQ_CRON_ZONE_MAX +
                           DUEQ_NAME_MAX + JOB_RECORD_HEAD_MAX,
    CRON_RECORD_STATE_MAX = 2 + 8 * NUMBERS_MAX + GIVEN_ID_SIZE
};

/* Writes what comes before the body of the job; returns its size. The sizes are in range. */
size_t cron_record_write_rule(uint8_t *bytes, const struct cron_rule *rule);
bool cron_record_read_rule(struct dueq_slice record, struct cron_rule *ret_rule);
/* bytes: CRON_RECORD_STATE_MAX of them. */
size_t cron_record_write_state(uint8_t *bytes, const struct cron_state *state);
bool cron_record_read_state(struct dueq_slice record, struct cron_state *ret_state);

#endif
