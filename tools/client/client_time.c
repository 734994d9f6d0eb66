#include "tools/client/client_time.h"

#include "protocol/number.h"
#include "tools/offline/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The local zone; what follows the time of day must be nothing. */
static bool read_local(const char *text, int64_t *ret_ms)
{
    static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
                                        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm date = {.tm_isdst = -1}, given;
        const char *end = strptime(text, forms[i], &date);
        time_t seconds;

        if (end == NULL || *end != '\0')
            continue;
        given = date;
        date.tm_isdst = -1;
        seconds = mktime(&date); /* it moves a day that does not exist */
        *ret_ms = (int64_t)seconds * 1000;
        return date.tm_mday == given.tm_mday && seconds != (time_t)-1;
    }
    return false;
}

bool client_read_moment(const char *text, int64_t *ret_ms)
{
    return number_parse_integer(text, strlen(text), ret_ms) || moment_parse(text, ret_ms) ||
           read_local(text, ret_ms);
}

int64_t client_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *client_show_span(int64_t ms, char *text)
{
    static const struct {
        int64_t ms, part;
        const char *name, *part_name;
    } units[] = {
        {86400000, 3600000, "d", "h"}, {3600000, 60000, "h", "min"}, {60000, 1000, "min", "s"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        int64_t whole = ms / units[i].ms, part = ms % units[i].ms / units[i].part;

        if (whole == 0)
            continue;
        if (part == 0)
            snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 " %s", whole, units[i].name);
        else
            snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 " %s %" PRId64 " %s", whole,
                     units[i].name, part, units[i].part_name);
        return text;
    }
    if (ms >= 1000 && ms % 1000 != 0 && ms < 10000)
        snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 ".%" PRId64 " s", ms / 1000,
                 ms % 1000 / 100);
    else if (ms >= 1000)
        snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 " s", ms / 1000);
    else
        snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 " ms", ms);
    return text;
}

const char *client_show_moment(int64_t ms, char *text)
{
    time_t seconds = (time_t)(ms / 1000);
    int64_t away = ms - client_now();
    char date[32] = "", span[CLIENT_TIME_TEXT];
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL ||
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(date, sizeof(date), "@%" PRId64, ms / 1000);
    client_show_span(away < 0 ? -away : away, span);
    snprintf(text, CLIENT_TIME_TEXT, away < 0 ? "%s (%.40s ago)" : "%s (in %.40s)", date, span);
    return text;
}

const char *client_show_bytes(int64_t bytes, char *text)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(text, CLIENT_TIME_TEXT, "%" PRId64 " bytes", bytes);
        return text;
    }
    for (size /= 1000; size >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        size /= 1000;
    snprintf(text, CLIENT_TIME_TEXT, "%.1f %s", size, units[unit]);
    return text;
}
