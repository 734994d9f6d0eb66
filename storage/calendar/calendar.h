/* When a spec comes next in a time zone, with its daylight saving. As Vixie cron of Debian:
 *
 * A spec that follows the clock (`*` in minute or hour) comes whenever the clock of the place
 * shows such a time: not in an hour that is left out, twice in one that is repeated. Any other
 * spec names moments of the day: one in an hour that is left out comes when the hour is over,
 * unless three hours and more are left out; one in an hour that is repeated comes the first
 * time only.
 *
 * The rules of the zone are the caller's: a function that tells the offset from UTC. */
#ifndef DUEQ_CALENDAR_H
#define DUEQ_CALENDAR_H

#include "storage/calendar/cron_spec.h"

struct calendar_zone {
    /* How far the clock of the place is ahead of UTC at `time` (unix s), s; within 26 hours.
     * False: the zone cannot be read. NULL: UTC. */
    bool (*offset)(void *arg, const char *name, int64_t time, int32_t *ret_offset);
    void *arg;
    const char *name;
};

/* One time of a spec. */
struct calendar_point {
    int64_t time;  /* unix s */
    int64_t local; /* what the clock of the place shows then, or would have */
};

enum calendar_result {
    CALENDAR_FOUND,
    CALENDAR_NEVER,  /* not within 100 years */
    CALENDAR_NO_ZONE /* zone->offset has failed */
};

/* The first time after `time` (unix s). Some 10 calls of zone->offset; 50 near a change. */
enum calendar_result calendar_after(const struct cron_spec *spec,
                                    const struct calendar_zone *zone, int64_t time,
                                    struct calendar_point *ret_point);
/* The time that follows *point, which is changed to that one. Several may be at one time: those
 * of an hour that is left out. */
enum calendar_result calendar_next(const struct cron_spec *spec,
                                   const struct calendar_zone *zone,
                                   struct calendar_point *point);

#endif
