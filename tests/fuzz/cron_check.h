/* What is true for any text as a spec of recurring jobs: it is refused with words, or it has
 * times, each later than the one before and one that the spec fits, in a zone whose clock is
 * set forward and back. The fuzzer and the test that replays the corpus share this. */
#ifndef DUEQ_CRON_CHECK_H
#define DUEQ_CRON_CHECK_H

#include "storage/calendar/calendar.h"

#include <stdio.h>
#include <string.h>

enum { CRON_CHECK_TIMES = 50, CRON_CHECK_HALF = 182 * 86400 };

/* An hour forward and back every half year, and every fifth eight hours, which is more than
 * daylight saving. */
static inline bool cron_check_offset(void *arg, const char *name, int64_t time,
                                     int32_t *ret_offset)
{
    int64_t half = time >= 0 ? time / CRON_CHECK_HALF : -1;

    (void)arg, (void)name;
    *ret_offset = (int32_t)(half % 2) * 3600 + (half % 10 < 5 ? 0 : 8 * 3600);
    return true;
}

static inline bool cron_holds_up(const uint8_t *data, size_t size)
{
    static const struct calendar_zone zone = {.offset = cron_check_offset};
    char error[CRON_SPEC_ERROR_MAX] = "";
    struct calendar_point point, before;
    struct cron_spec spec;
    int64_t local;

    if (!cron_spec_parse(dueq_slice(data, size), &spec, error))
        return error[0] != '\0' && memchr(error, 0, sizeof(error)) != NULL;
    if (calendar_after(&spec, &zone, 1700000000, &point) != CALENDAR_FOUND)
        return false;
    for (int i = 0; i < CRON_CHECK_TIMES; i++) {
        if (point.time <= 1700000000 || !cron_spec_next(&spec, point.local, &local) ||
            local != point.local)
            return false;
        before = point;
        if (calendar_next(&spec, &zone, &point) != CALENDAR_FOUND)
            return false;
        if (point.time < before.time ||
            (spec.follows_clock ? point.time == before.time : point.local <= before.local))
            return false;
    }
    return true;
}

#endif
