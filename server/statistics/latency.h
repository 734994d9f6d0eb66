/* Times of at least latency-monitor-threshold ms, for LATENCY: by event, under Redis' names
 * ("command", "fast-command", "expire-cycle", "aof-write"), the worst of each second. */
#ifndef DUEQ_LATENCY_H
#define DUEQ_LATENCY_H

#include <stddef.h>
#include <stdint.h>

enum latency_event {
    LATENCY_COMMAND,
    LATENCY_FAST_COMMAND, /* one that is flagged `fast` */
    LATENCY_TICK,         /* jobs that fall due and keys that expire, in one turn */
    LATENCY_COMMIT,       /* writing a record to the journal, with waits for a checkpoint */
    LATENCY_EVENTS
};

enum { LATENCY_SAMPLES = 160 }; /* kept of each event */

struct latency_sample {
    int64_t time; /* unix s */
    uint64_t ms;
};

struct latency_series {
    struct latency_sample samples[LATENCY_SAMPLES]; /* a ring */
    size_t next;                                    /* index of the next sample */
    size_t count;
    uint64_t worst; /* ms, since the last reset */
};

struct latency {
    struct latency_series series[LATENCY_EVENTS];
};

const char *latency_event_name(enum latency_event event);

/* Notes a time of `usec`. threshold: ms, 0: nothing is noted; time: unix s. */
void latency_note(struct latency *latency, enum latency_event event, uint64_t usec,
                  int64_t threshold, int64_t time);
void latency_reset(struct latency_series *series);
/* Index 0 is the oldest; below series->count. */
const struct latency_sample *latency_sample_at(const struct latency_series *series,
                                               size_t index);

#endif
