/* Types of recurring jobs: entries that push a job again and again. Installed beside dueq.h.
 *
 * An entry fires in dueq_tick: it pushes its job and sets its next time in the same batch, so
 * each firing is one job, whatever happens in between. With `every` it fires each so many ms of
 * the queue's clock, which no step of the wall clock moves. With `spec` it fires when the wall
 * clock shows a time that the spec of cron names, in a time zone: as Vixie cron of Debian does
 * at the changes of daylight saving. A spec with `*` at the beginning of minute or hour follows
 * the clock: it does not fire in an hour that is left out, and fires again in one that is
 * repeated. Any other spec names moments of the day: in an hour that is left out they come when
 * it is over (not if three hours or more are left out), in a repeated one the first time only.
 *
 * A time is missed when more than DUEQ_CRON_LATE_MS have passed since: the program did not run,
 * the topic took no pushes, or the wall clock was set forward. When the wall clock is set back
 * by a minute or more, a spec that follows it goes on from the new time, any other one only
 * when it was set back by three hours or more; before that nothing fires twice. */
#ifndef DUEQ_CRON_H
#define DUEQ_CRON_H

#include "slice.h"
#include "status.h"
#include "types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DUEQ_CRON_SPEC_MAX = 255,     /* bytes of a spec */
    DUEQ_CRON_ZONE_MAX = 64,      /* of the name of a time zone */
    DUEQ_CRON_BODY_MAX = 65536,   /* of a body */
    DUEQ_CRON_EVERY_MIN = 1000,   /* ms */
    DUEQ_CRON_LATE_MS = 60000,    /* a time so long ago is not yet missed */
    DUEQ_CRON_MADE_UP_MAX = 10000 /* missed times that DUEQ_CATCHUP_ALL makes up for at once */
};

/* What happens when times were missed. */
enum dueq_catchup {
    DUEQ_CATCHUP_NONE, /* they are passed over */
    DUEQ_CATCHUP_ONE,  /* it fires once for all of them */
    DUEQ_CATCHUP_ALL   /* it fires once for each, for the first DUEQ_CRON_MADE_UP_MAX */
};

/* What happens when the job of the firing before is delayed, ready or claimed still. */
enum dueq_overlap {
    DUEQ_OVERLAP_QUEUE, /* another one is pushed */
    DUEQ_OVERLAP_SKIP   /* none is */
};

struct dueq_cron {
    struct dueq_slice name;
    int64_t every;          /* ms, DUEQ_CRON_EVERY_MIN or more; 0: by spec */
    struct dueq_slice spec; /* size 0: by `every` */
    struct dueq_slice zone; /* as dueq_set_zones knows it; size 0: UTC */
    int64_t jitter; /* ms; it fires so much later, or less: always the same, by its name */
    enum dueq_catchup catchup;
    enum dueq_overlap overlap;
    /* The job: topic, body, group, weight, priority, lease, retries, crashes, backoff,
     * backoff_max, jitter, steps and ttl. Its id is given by the store; the other fields are
     * not used. */
    struct dueq_push push;
};

struct dueq_cron_state {
    bool paused;
    int64_t next;        /* unix ms; DUEQ_NEVER: it is paused */
    int64_t last;        /* when it fired last, unix ms; 0: never */
    char last_id[24];    /* of the job of that firing, a C string; empty: none */
    uint64_t fired;      /* jobs */
    uint64_t missed;     /* how often missed times were passed over; several in a row are one */
    uint64_t overlapped; /* firings without a job, because of DUEQ_OVERLAP_SKIP */
    enum dueq_status failure; /* why what is due does not fire; DUEQ_OK: it does. DUEQ_NOTFOUND:
                                 the zone cannot be read. It is tried again */
};

struct dueq_cron_stats {
    uint64_t entries, paused;
    uint64_t fired, missed, overlapped, failures; /* of all, since the opening */
};

/* How far the clock of a zone is ahead of UTC at `time` (unix s), s. zone: a C string. False:
 * there is no such zone, or its rules cannot be read. It must give the same answer as long as
 * nobody changes the rules. Whatever it does, it calls no function of the store. */
typedef bool (*dueq_zone_fn)(void *arg, const char *zone, int64_t time, int32_t *ret_offset);

#ifdef __cplusplus
}
#endif

#endif
