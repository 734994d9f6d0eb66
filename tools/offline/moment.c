#include "tools/offline/moment.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SECONDS_MOST = 12 /* digits */ };

/* Reads 1 to `most` digits, exactly `most` when `exact`. */
static bool take_number(const char **at, int most, bool exact, int64_t *ret)
{
    int digits = 0;

    for (*ret = 0; digits < most && isdigit((unsigned char)**at); digits++, (*at)++)
        *ret = *ret * 10 + (**at - '0');
    return exact ? digits == most : digits > 0;
}

static bool take(const char **at, const char *any)
{
    if (**at == '\0' || strchr(any, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

/* Of a second: one to nine digits, cut to ms. */
static bool take_fraction(const char **at, int64_t *ret_ms)
{
    int64_t unit = 100;

    *ret_ms = 0;
    if (!take(at, "."))
        return true;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++, unit /= 10)
        *ret_ms += unit * (**at - '0');
    return true;
}

static bool take_seconds(const char **at, int64_t *ret_ms)
{
    int64_t ms = 0, seconds = 0;

    if (take(at, ":") && (!take_number(at, 2, true, &seconds) || !take_fraction(at, &ms)))
        return false;
    *ret_ms = seconds * 1000 + ms;
    return seconds < 61;
}

static bool take_zone(const char **at, int64_t *ret_minutes)
{
    int64_t hours, minutes;
    bool west = **at == '-';

    *ret_minutes = 0;
    if (take(at, "Zz"))
        return true;
    if (!take(at, "+-") || !take_number(at, 2, true, &hours))
        return false;
    take(at, ":");
    if (!take_number(at, 2, true, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
    return true;
}

static bool take_date(const char **at, struct tm *ret_date)
{
    int64_t year, month, day, hour, minute;
    struct tm given;

    if (!take_number(at, 4, true, &year) || !take(at, "-") ||
        !take_number(at, 2, true, &month) || !take(at, "-") ||
        !take_number(at, 2, true, &day) || !take(at, "Tt ") ||
        !take_number(at, 2, true, &hour) || !take(at, ":") ||
        !take_number(at, 2, true, &minute) || hour > 23 || minute > 59)
        return false;
    *ret_date = (struct tm){.tm_year = (int)year - 1900,
                            .tm_mon = (int)month - 1,
                            .tm_mday = (int)day,
                            .tm_hour = (int)hour,
                            .tm_min = (int)minute};
    given = *ret_date;
    timegm(&given); /* it moves a day that does not exist */
    return given.tm_mon == ret_date->tm_mon && given.tm_mday == ret_date->tm_mday;
}

bool moment_parse(const char *text, int64_t *ret_ms)
{
    int64_t number, ms, zone;
    struct tm date;

    if (take(&text, "@")) {
        if (!take_number(&text, SECONDS_MOST, false, &number) || !take_fraction(&text, &ms))
            return false;
        *ret_ms = number * 1000 + ms;
        return *text == '\0';
    }
    if (!take_date(&text, &date) || !take_seconds(&text, &ms) || !take_zone(&text, &zone) ||
        *text != '\0')
        return false;
    *ret_ms = (int64_t)timegm(&date) * 1000 + ms - zone * 60000;
    return true;
}

const char *moment_format(int64_t ms, char *text)
{
    int64_t part = (ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)(ms / 1000 - (ms % 1000 < 0));
    struct tm date;
    size_t size = gmtime_r(&seconds, &date) == NULL
                      ? 0
                      : strftime(text, MOMENT_TEXT - 8, "%Y-%m-%dT%H:%M:%S", &date);

    if (size == 0)
        snprintf(text, MOMENT_TEXT, "@%" PRId64, ms / 1000);
    else
        snprintf(text + size, MOMENT_TEXT - size, ".%03dZ", (int)part);
    return text;
}
