#include "storage/calendar/calendar.h"

enum {
    HOUR_S = 3600,
    DAY_S = 24 * HOUR_S,
    OFFSET_MOST = 26 * HOUR_S, /* no clock of a place is further away from UTC */
    GAP_MOST = 3 * HOUR_S      /* a longer one is a correction of the calendar */
};

static const int64_t horizon = (int64_t)100 * 366 * DAY_S;

static bool offset_at(const struct calendar_zone *zone, int64_t time, int64_t *ret_offset)
{
    int32_t offset = 0;

    if (zone->offset != NULL && !zone->offset(zone->arg, zone->name, time, &offset))
        return false;
    *ret_offset = offset;
    return true;
}

/* The first second in (before, after] that has the offset of `after`, which is another one than
 * that of `before`. */
static bool find_change(const struct calendar_zone *zone, int64_t before, int64_t after,
                        int64_t offset_after, int64_t *ret_time)
{
    while (after - before > 1) {
        int64_t middle = before + (after - before) / 2, offset;

        if (!offset_at(zone, middle, &offset))
            return false;
        if (offset == offset_after)
            after = middle;
        else
            before = middle;
    }
    *ret_time = after;
    return true;
}

/* ---- specs that name moments of the day */

/* When the clock of the place shows `local` for the first time. *ret_left_out: never, in a gap
 * that is too long; else the end of the gap. */
static bool place(const struct calendar_zone *zone, int64_t local, int64_t *ret_time,
                  bool *ret_left_out)
{
    int64_t before, after, change;

    *ret_left_out = false;
    if (!offset_at(zone, local - OFFSET_MOST, &before) ||
        !offset_at(zone, local + OFFSET_MOST, &after))
        return false;
    *ret_time = local - before;
    if (before == after)
        return true;
    if (!find_change(zone, local - OFFSET_MOST, local + OFFSET_MOST, after, &change))
        return false;
    if (*ret_time < change)
        return true;
    *ret_time = local - after;
    if (*ret_time >= change)
        return true;
    *ret_time = change;
    *ret_left_out = after - before >= GAP_MOST;
    return true;
}

static enum calendar_result next_moment(const struct cron_spec *spec,
                                        const struct calendar_zone *zone,
                                        struct calendar_point *point)
{
    bool left_out = true;

    while (left_out) {
        if (!cron_spec_next(spec, point->local + 1, &point->local))
            return CALENDAR_NEVER;
        if (!place(zone, point->local, &point->time, &left_out))
            return CALENDAR_NO_ZONE;
    }
    return CALENDAR_FOUND;
}

/* ---- specs that follow the clock */

/* Goes from change to change of the offset. While none is near, whole days without a time that
 * fits are passed over, but for the last one: a clock that is set back may show one earlier. */
static enum calendar_result next_shown(const struct cron_spec *spec,
                                       const struct calendar_zone *zone,
                                       struct calendar_point *point)
{
    int64_t time = point->time + 1, most = point->time + horizon;

    while (time < most) {
        int64_t end = time + DAY_S, offset, later, local;

        if (!offset_at(zone, time, &offset) || !offset_at(zone, end, &later) ||
            (offset != later && !find_change(zone, time, end, later, &end)))
            return CALENDAR_NO_ZONE;
        if (!cron_spec_next(spec, time + offset, &local))
            return CALENDAR_NEVER;
        if (local < end + offset) {
            *point = (struct calendar_point){local - offset, local};
            return CALENDAR_FOUND;
        }
        time = end;
        if (offset == later && local - offset - OFFSET_MOST > end)
            time = local - offset - OFFSET_MOST;
    }
    return CALENDAR_NEVER;
}

/* The point was shown before the clock was set back, and `time`, with its offset, is
 * afterwards: what is shown a second time is passed over. */
static bool pass_repeated(const struct calendar_zone *zone, int64_t time, int64_t offset,
                          struct calendar_point *point)
{
    int64_t change;

    if (!find_change(zone, point->time, time, offset, &change))
        return false;
    if (change > point->time)
        point->local += change - point->time - 1;
    return true;
}

/* ---- both */

enum calendar_result calendar_next(const struct cron_spec *spec,
                                   const struct calendar_zone *zone,
                                   struct calendar_point *point)
{
    struct calendar_point next = *point;
    enum calendar_result result =
        spec->follows_clock ? next_shown(spec, zone, &next) : next_moment(spec, zone, &next);

    if (result == CALENDAR_FOUND)
        *point = next;
    return result;
}

enum calendar_result calendar_after(const struct cron_spec *spec,
                                    const struct calendar_zone *zone, int64_t time,
                                    struct calendar_point *ret_point)
{
    struct calendar_point point = {.time = time};
    enum calendar_result result;
    int64_t offset;

    if (!offset_at(zone, time, &offset))
        return CALENDAR_NO_ZONE;
    point.local = time + offset;
    result = calendar_next(spec, zone, &point);
    while (result == CALENDAR_FOUND && point.time <= time) {
        if (!pass_repeated(zone, time, offset, &point))
            return CALENDAR_NO_ZONE;
        result = calendar_next(spec, zone, &point);
    }
    if (result == CALENDAR_FOUND)
        *ret_point = point;
    return result;
}
