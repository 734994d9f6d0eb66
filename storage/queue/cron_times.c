#include "storage/queue/cron_entries.h"

#include <string.h>
#include <strings.h>

enum { SECOND_MS = 1000 };

static bool is_utc(struct dueq_slice zone)
{
    return zone.size == 0 || (zone.size == 3 && strncasecmp(zone.data, "utc", 3) == 0);
}

static bool no_zones(void *arg, const char *name, int64_t time, int32_t *ret_offset)
{
    (void)arg, (void)name, (void)time, (void)ret_offset;
    return false;
}

static void set_zone(const struct crons *crons, struct dueq_slice zone,
                     struct cron_times *times)
{
    times->zone = (struct calendar_zone){.name = times->zone_name};
    memset(times->zone_name, 0, sizeof(times->zone_name));
    if (is_utc(zone))
        return;
    memcpy(times->zone_name, zone.data, zone.size);
    times->zone.offset = crons->zone == NULL ? no_zones : crons->zone;
    times->zone.arg = crons->zone_arg;
}

enum dueq_status cron_times_begin(const struct queue *queue, struct dueq_slice name,
                                  const struct cron_rule *rule, struct cron_times *ret_times,
                                  char *error)
{
    ret_times->every = rule->every;
    ret_times->delay = cron_delay(name, rule);
    if (rule->every > 0)
        return DUEQ_OK;
    set_zone(&queue->crons, rule->zone, ret_times);
    return cron_spec_parse(rule->spec, &ret_times->spec, error) ? DUEQ_OK : DUEQ_INVALID;
}

/* What does not come within 100 years does not come. */
static enum dueq_status keep(enum calendar_result result, const struct calendar_point *point,
                             struct cron_state *state)
{
    if (result == CALENDAR_NO_ZONE)
        return DUEQ_NOTFOUND;
    state->base =
        result == CALENDAR_NEVER ? SAFE_TIME_MAX : safe_time_clamp(point->time * SECOND_MS);
    state->local = point->local;
    return DUEQ_OK;
}

static int64_t seconds_of(int64_t ms)
{
    return ms >= 0 ? ms / SECOND_MS : -((SECOND_MS - 1 - ms) / SECOND_MS);
}

enum dueq_status cron_times_after(const struct cron_times *times, int64_t now,
                                  struct cron_state *state)
{
    struct calendar_point point = {0, 0};
    int64_t passed = now - times->delay - state->base;

    if (times->every == 0)
        return keep(
            calendar_after(&times->spec, &times->zone, seconds_of(now - times->delay), &point),
            &point, state);
    if (passed >= 0)
        state->base += passed / times->every * times->every + times->every;
    return DUEQ_OK;
}

enum dueq_status cron_times_next(const struct cron_times *times, struct cron_state *state)
{
    struct calendar_point point = {seconds_of(state->base), state->local};

    if (times->every == 0)
        return keep(calendar_next(&times->spec, &times->zone, &point), &point, state);
    state->base = safe_time_add(state->base, times->every);
    return DUEQ_OK;
}
