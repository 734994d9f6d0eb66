#include "tools/forward/pace.h"

#include "protocol/number.h"

#include <string.h>

enum { DAY_MS = 86400000 };

bool pace_parse(struct pace *pace, const char *text)
{
    const char *slash = strchr(text, '/');
    int64_t count, ms;

    if (slash == NULL || !number_parse_integer(text, (size_t)(slash - text), &count) ||
        !number_parse_duration(slash + 1, strlen(slash + 1), &ms) || count < 1 ||
        count > PACE_MOST || ms < 1 || ms > DAY_MS)
        return false;
    *pace = (struct pace){.count = count, .ms = ms, .permits = count * ms};
    return true;
}

/* In each ms `count` units come back, and a permit is `ms` units: no rate is rounded. */
static void refill(struct pace *pace, int64_t now)
{
    int64_t passed = now - pace->at;

    if (passed > pace->ms)
        passed = pace->ms;
    pace->at = now;
    pace->permits += passed * pace->count;
    if (pace->permits > pace->count * pace->ms)
        pace->permits = pace->count * pace->ms;
}

int64_t pace_left(struct pace *pace, int64_t now, int64_t most)
{
    if (pace->count == 0)
        return most;
    refill(pace, now);
    return pace->permits / pace->ms < most ? pace->permits / pace->ms : most;
}

void pace_take(struct pace *pace)
{
    pace->permits -= pace->ms;
}

int64_t pace_wait(struct pace *pace, int64_t now)
{
    int64_t lacks;

    if (pace_left(pace, now, 1) > 0)
        return 0;
    lacks = pace->ms - pace->permits;
    return (lacks + pace->count - 1) / pace->count;
}
