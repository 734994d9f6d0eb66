/* When a spec of cron comes next. The oracle goes through the minutes one by one, as cron does,
 * with the C library's zones. */
#include "storage/calendar/calendar.h"
#include "tests/support/dice.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/cmocka.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static struct dice dice;
static char error[CRON_SPEC_ERROR_MAX];

static struct cron_spec spec_of(const char *spec)
{
    struct cron_spec parsed;

    if (!cron_spec_parse(text(spec), &parsed, error))
        fail_msg("%s: %s", spec, error);
    return parsed;
}

/* ---- zones */

static void set_zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

/* The zone that is set. */
static bool offset_of(void *arg, const char *name, int64_t time, int32_t *ret_offset)
{
    time_t seconds = (time_t)time;
    struct tm tm;

    (void)arg, (void)name;
    localtime_r(&seconds, &tm);
    *ret_offset = (int32_t)tm.tm_gmtoff;
    return true;
}

static const struct calendar_zone local_zone = {.offset = offset_of}, utc = {.name = "UTC"};

/* "2024-03-31 02:30" as if it were UTC. */
static int64_t moment(const char *when)
{
    struct tm tm = {.tm_year = 0};

    assert_non_null(
        strptime(when, strlen(when) > 16 ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm));
    return (int64_t)timegm(&tm);
}

/* ---- specs */

static void expect_next(const char *spec, const char *from, const char *wanted)
{
    struct cron_spec parsed = spec_of(spec);
    struct calendar_point point;

    assert_int_equal(calendar_after(&parsed, &utc, moment(from), &point), CALENDAR_FOUND);
    if (point.time != moment(wanted))
        fail_msg("%s after %s: %+lld s from %s", spec, from,
                 (long long)(point.time - moment(wanted)), wanted);
    assert_int_equal(point.local, point.time);
}

static void fields_name_times(void **state)
{
    static const char *const cases[][3] = {
        {"0 0 * * *", "2026-11-22 00:00", "2026-11-23 00:00"},
        {"*/15 * * * *", "2026-11-22 10:14", "2026-11-22 10:15"},
        {"5/20 * * * *", "2026-11-22 10:25", "2026-11-22 10:45"},
        {"5-59/20 8-10 * * *", "2026-11-22 10:45", "2026-11-23 08:05"},
        {"0,30 9 * * *", "2026-11-22 09:00", "2026-11-22 09:30"},
        {"0 9 * * mon-fri", "2026-11-20 09:00", "2026-11-23 09:00"},
        {"0 9 * * MON,3", "2026-11-23 09:00", "2026-11-25 09:00"},
        {"0 9 * * fri-sun", "2026-11-22 08:00", "2026-11-22 09:00"},
        {"0 9 * * 7", "2026-11-16 09:00", "2026-11-22 09:00"},
        {"0 9 * * 0", "2026-11-16 09:00", "2026-11-22 09:00"},
        {"0 0 1 jan *", "2026-11-22 09:00", "2027-01-01 00:00"},
        {"0 0 1 feb-mar/2 *", "2026-11-22 09:00", "2027-02-01 00:00"},
        {"0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"},
        /* day of month or day of week; with a star in one of them, both */
        {"0 0 13 * 5", "2026-11-20 00:00", "2026-11-27 00:00"},
        {"0 0 13 * 5", "2026-12-11 00:00", "2026-12-13 00:00"},
        {"0 0 */2 * 1", "2026-11-22 00:00", "2026-11-23 00:00"},
        {"0 0 */2 * 1", "2026-11-23 00:00", "2026-12-07 00:00"},
        {"0 0 29 2 */1", "2026-11-22 00:00", "2028-02-29 00:00"},
        /* the last day, and days before it */
        {"0 0 L * *", "2026-11-22 00:00", "2026-11-30 00:00"},
        {"0 0 l 2 *", "2026-11-22 00:00", "2027-02-28 00:00"},
        {"0 0 L-2 2 *", "2027-03-01 00:00", "2028-02-27 00:00"},
        {"0 0 15,L * *", "2026-11-15 00:00", "2026-11-30 00:00"},
        {"0 0 * * 5L", "2026-11-22 00:00", "2026-11-27 00:00"},
        {"0 0 * * friL", "2026-11-27 00:00", "2026-12-25 00:00"},
        /* the second Friday, the fifth Sunday */
        {"0 0 * * 5#2", "2026-11-22 00:00", "2026-12-11 00:00"},
        {"0 0 * * sun#5", "2026-11-29 00:00", "2027-01-31 00:00"},
        {"0 0 * * 1#1,3#1", "2026-12-02 00:00", "2026-12-07 00:00"},
        /* words */
        {"@yearly", "2026-11-22 00:00", "2027-01-01 00:00"},
        {"@Annually", "2026-11-22 00:00", "2027-01-01 00:00"},
        {"@monthly", "2026-11-22 00:00", "2026-12-01 00:00"},
        {"@weekly", "2026-11-22 00:00", "2026-11-29 00:00"},
        {" @daily ", "2026-11-22 00:00", "2026-11-23 00:00"},
        {"@midnight", "2026-11-22 00:00", "2026-11-23 00:00"},
        {"@hourly", "2026-11-22 00:00", "2026-11-22 01:00"},
        /* with seconds */
        {"*/20 * * * * *", "2026-11-22 23:59:40", "2026-11-23 00:00:00"},
        {"30 5 0 1 1 *", "2026-11-22 00:00", "2027-01-01 00:05:30"},
        {"\t7,8  0 0 * * *", "2026-11-22 00:00:07", "2026-11-22 00:00:08"},
        /* after 2038, before 1970 */
        {"0 0 * * *", "2106-02-07 06:28:16", "2106-02-08 00:00"},
        {"0 0 * * *", "1969-12-30 06:28:16", "1969-12-31 00:00"},
        {"59 23 31 12 *", "9999-01-01 00:00", "9999-12-31 23:59"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_next(cases[i][0], cases[i][1], cases[i][2]);
}

static void wrong_specs_are_refused_in_words(void **state)
{
    static const char *const cases[][2] = {
        {"", "5 fields"},
        {"* * * *", "5 fields"},
        {"* * * * * * *", "5 fields"},
        {"@reboot", "the words are"},
        {"@", "the words are"},
        {"60 * * * *", "minute must be between 0 and 59"},
        {"* 24 * * *", "hour must be between 0 and 23"},
        {"* * 0 * *", "day of month must be between 1 and 31"},
        {"* * * 13 *", "month must be between 1 and 12"},
        {"* * * * 8", "day of week must be between 0 and 7"},
        {"99999999999999999999 * * * *", "minute must be between"},
        {"* * * * monday", "day of week does not read"},
        {"*/0 * * * *", "step of the minute"},
        {"*/60 * * * *", "step of the minute"},
        {"1- * * * *", "minute does not read"},
        {"5-1 * * * *", "ends before it begins"},
        {"1,,2 * * * *", "minute does not read"},
        {"-1 * * * *", "minute does not read"},
        {"jan * * * *", "minute does not read"},
        {"L * * * *", "minute does not read"},
        {"* * L-31 * *", "0 to 30"},
        {"* * * * 5#6", "1 to 5"},
        {"* * * * 5#", "1 to 5"},
        {"* * * * L", "day of week does not read"},
        {"* * * * 9L", "day of week must be between"},
        {"0 0 30 2 *", "no such date"},
        {"0 0 31 2,4,6,9,11 *", "no such date"},
        {"0 0 L-30 2 *", "no such date"},
        {"0 0 30 2 */2", "no such date"},
    };
    struct cron_spec parsed;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_false(cron_spec_parse(text(cases[i][0]), &parsed, error));
        if (strstr(error, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], error);
    }
}

/* ---- zones: known changes */

static void expect_times(const char *zone, const char *spec, const char *from, size_t count,
                         const char *const *wanted)
{
    struct cron_spec parsed = spec_of(spec);
    struct calendar_point point;

    set_zone(zone);
    assert_int_equal(calendar_after(&parsed, &local_zone, moment(from), &point),
                     CALENDAR_FOUND);
    for (size_t i = 0; i < count; i++) {
        if (point.time != moment(wanted[i]))
            fail_msg("%s in %s: time %zu is %+lld s from %s UTC", spec, zone, i,
                     (long long)(point.time - moment(wanted[i])), wanted[i]);
        assert_int_equal(calendar_next(&parsed, &local_zone, &point), CALENDAR_FOUND);
    }
}

#define EXPECT_TIMES(zone, spec, from, ...)                                                    \
    expect_times(zone, spec, from,                                                             \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                  \
                 (const char *const[]){__VA_ARGS__})

/* 2026-03-29: from 2:00 to 3:00 in Berlin, at 1:00 UTC. */
static void an_hour_that_is_left_out(void **state)
{
    (void)state;
    EXPECT_TIMES("Europe/Berlin", "30 2 * * *", "2026-03-28 00:00", "2026-03-28 01:30",
                 "2026-03-29 01:00", "2026-03-30 00:30");
    EXPECT_TIMES("Europe/Berlin", "0,30 2,3 * * *", "2026-03-29 00:00", "2026-03-29 01:00",
                 "2026-03-29 01:00", "2026-03-29 01:00", "2026-03-29 01:30",
                 "2026-03-30 00:00");
    EXPECT_TIMES("Europe/Berlin", "*/30 2 * * *", "2026-03-28 01:00", "2026-03-28 01:30",
                 "2026-03-30 00:00");
    EXPECT_TIMES("Europe/Berlin", "@hourly", "2026-03-28 23:30", "2026-03-29 00:00",
                 "2026-03-29 01:00", "2026-03-29 02:00");
    /* half an hour in Lord Howe, at 15:30 UTC */
    EXPECT_TIMES("Australia/Lord_Howe", "15 2 * * *", "2026-10-02 16:00", "2026-10-03 15:30",
                 "2026-10-04 15:15");
    /* Samoa had no 30 December 2011 */
    EXPECT_TIMES("Pacific/Apia", "0 12 * * *", "2011-12-29 00:00", "2011-12-29 22:00",
                 "2011-12-30 22:00", "2011-12-31 22:00");
}

/* 2026-10-25: from 3:00 to 2:00 in Berlin, at 1:00 UTC. */
static void an_hour_that_is_repeated(void **state)
{
    (void)state;
    EXPECT_TIMES("Europe/Berlin", "30 2 * * *", "2026-10-24 02:00", "2026-10-25 00:30",
                 "2026-10-26 01:30");
    EXPECT_TIMES("Europe/Berlin", "30 2 * * *", "2026-10-25 01:10", "2026-10-26 01:30");
    EXPECT_TIMES("Europe/Berlin", "*/30 2 * * *", "2026-10-24 23:59", "2026-10-25 00:00",
                 "2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30",
                 "2026-10-26 01:00");
    EXPECT_TIMES("America/New_York", "30 * * * *", "2026-11-01 05:00", "2026-11-01 05:30",
                 "2026-11-01 06:30", "2026-11-01 07:30");
    EXPECT_TIMES("America/New_York", "0 30 1 * * sun", "2026-11-01 05:00", "2026-11-01 05:30",
                 "2026-11-08 06:30");
}

/* ---- the oracle: minute by minute, as cron */

struct oracle {
    const struct cron_spec *spec;
    int64_t time, last; /* UTC; the last local minute that was seen */
    int64_t due;        /* a moment of a gap that is still to run; -1: none */
};

/* The fields are looked at one by one, without the arithmetic that is tested. */
static bool shows(const struct cron_spec *spec, int64_t local)
{
    time_t seconds = (time_t)local, later;
    struct tm tm, day;
    int last;
    bool by_day, by_weekday;

    gmtime_r(&seconds, &tm);
    if (!(spec->minutes >> tm.tm_min & 1) || !(spec->hours >> tm.tm_hour & 1) ||
        !(spec->months >> (tm.tm_mon + 1) & 1))
        return false;
    for (last = 28; last < 31; last++) {
        day = tm;
        day.tm_mday = last + 1;
        later = timegm(&day);
        gmtime_r(&later, &day);
        if (day.tm_mon != tm.tm_mon)
            break;
    }
    by_day =
        (spec->days >> tm.tm_mday & 1) || (spec->days_before_last >> (last - tm.tm_mday) & 1);
    by_weekday = (spec->weekdays >> tm.tm_wday & 1) ||
                 (spec->nth_weekdays[(tm.tm_mday - 1) / 7] >> tm.tm_wday & 1) ||
                 ((spec->last_weekdays >> tm.tm_wday & 1) && tm.tm_mday > last - 7);
    return spec->any_day || spec->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

static int64_t local_at(int64_t time)
{
    int32_t offset;

    offset_of(NULL, NULL, time, &offset);
    return time + offset;
}

/* The next minute in which cron would start the command; `to`: none before. */
static int64_t oracle_next(struct oracle *oracle, int64_t to)
{
    while (oracle->time < to) {
        int64_t local;

        while (oracle->due >= 0 && oracle->due <= oracle->last) {
            int64_t at = oracle->due;

            oracle->due = at + MINUTE;
            if (shows(oracle->spec, at))
                return oracle->time;
        }
        oracle->due = -1;
        oracle->time += MINUTE;
        local = local_at(oracle->time);
        if (oracle->spec->follows_clock) {
            if (shows(oracle->spec, local))
                return oracle->time;
        } else if (local > oracle->last && local - oracle->last <= 3 * HOUR) {
            oracle->due = oracle->last + MINUTE;
            oracle->last = local;
        } else if (local > oracle->last) {
            oracle->due = oracle->last = local;
        }
    }
    return to;
}

static void compare(const char *zone, const char *spec, int64_t from, int64_t to)
{
    struct cron_spec parsed = spec_of(spec);
    struct oracle oracle = {&parsed, from, 0, -1};
    struct calendar_point point;
    int64_t wanted;

    set_zone(zone);
    oracle.last = local_at(from);
    assert_int_equal(calendar_after(&parsed, &local_zone, from, &point), CALENDAR_FOUND);
    while ((wanted = oracle_next(&oracle, to)) < to) {
        if (point.time != wanted)
            fail_msg("%s in %s: %lld, not %lld", spec, zone, (long long)point.time,
                     (long long)wanted);
        assert_int_equal(calendar_next(&parsed, &local_zone, &point), CALENDAR_FOUND);
    }
}

static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                    "Asia/Kathmandu", "America/Sao_Paulo"};

static void a_year_minute_by_minute(void **state)
{
    static const char *const specs[] = {"30 2 * * *",    "0,15,45 1-3 * * *", "*/20 * * * *",
                                        "0 */2 * * *",   "5 2 L * *",         "30 1 * * sun#1",
                                        "0 2 * 3,10 0L", "59 23 31 * 1"};

    (void)state;
    for (size_t zone = 0; zone < 3; zone++)
        for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
            compare(zones[zone], specs[i], moment("2024-01-10 00:00"),
                    moment("2025-01-10 00:00"));
}

static void random_field(char *spec, int least, int most)
{
    char field[32];
    int a = (int)dice_roll(&dice, (uint64_t)most - (uint64_t)least + 1) + least,
        b = (int)dice_roll(&dice, (uint64_t)most - (uint64_t)a + 1) + a;

    switch (dice_roll(&dice, 5)) {
    case 0:
        snprintf(field, sizeof(field), "%d ", a);
        break;
    case 1:
        snprintf(field, sizeof(field), "%d-%d ", a, b);
        break;
    case 2:
        snprintf(field, sizeof(field), "%d,%d ", a, b);
        break;
    case 3:
        snprintf(field, sizeof(field), "*/%d ", a == 0 ? 1 : a);
        break;
    default:
        snprintf(field, sizeof(field), "* ");
    }
    strcat(spec, field);
}

/* Around the changes of many years. */
static void random_specs(void **state)
{
    static const int bounds[5][2] = {{0, 59}, {0, 4}, {1, 28}, {1, 12}, {0, 7}};

    (void)state;
    for (long i = 0; i < dice_setting("STEPS", 3000) / 100; i++) { /* each is some thousand */
        char spec[128] = "";
        int64_t from = moment("1990-01-01 00:00") + (int64_t)dice_roll(&dice, 50 * 365) * DAY;

        for (int field = 0; field < 5; field++)
            random_field(spec, bounds[field][0], bounds[field][1]);
        compare(zones[dice_roll(&dice, 5)], spec, from, from + 200 * DAY);
    }
}

static bool no_offset(void *arg, const char *name, int64_t time, int32_t *ret_offset)
{
    (void)arg, (void)name, (void)time, (void)ret_offset;
    return false;
}

static unsigned calls;

static bool counted_offset(void *arg, const char *name, int64_t time, int32_t *ret_offset)
{
    calls++;
    return offset_of(arg, name, time, ret_offset);
}

/* 3,600 times that came in the hour before. */
static void a_repeated_hour_is_passed_over_at_once(void **state)
{
    static const struct calendar_zone zone = {.offset = counted_offset};
    enum { CALLS_MOST = 100 };
    struct cron_spec spec = spec_of("0-59 0-59 0-23 * * *");
    struct calendar_point point;

    (void)state;
    set_zone("Europe/Berlin");
    for (int64_t second = 0; second < HOUR; second += 7) {
        calls = 0;
        assert_int_equal(
            calendar_after(&spec, &zone, moment("2026-10-25 01:00") + second, &point),
            CALENDAR_FOUND);
        assert_int_equal(point.time, moment("2026-10-25 02:00"));
        assert_in_range(calls, 1, CALLS_MOST);
    }
}

static void a_zone_that_cannot_be_read(void **state)
{
    static const struct calendar_zone none = {.offset = no_offset};
    struct cron_spec daily = spec_of("@daily"), hourly = spec_of("@hourly");
    struct calendar_point point = {7, 7};

    (void)state;
    assert_int_equal(calendar_after(&daily, &none, 0, &point), CALENDAR_NO_ZONE);
    assert_int_equal(calendar_next(&daily, &none, &point), CALENDAR_NO_ZONE);
    assert_int_equal(calendar_next(&hourly, &none, &point), CALENDAR_NO_ZONE);
    assert_int_equal(point.time, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_name_times),
        cmocka_unit_test(wrong_specs_are_refused_in_words),
        cmocka_unit_test(an_hour_that_is_left_out),
        cmocka_unit_test(an_hour_that_is_repeated),
        cmocka_unit_test(a_repeated_hour_is_passed_over_at_once),
        cmocka_unit_test(a_year_minute_by_minute),
        cmocka_unit_test(random_specs),
        cmocka_unit_test(a_zone_that_cannot_be_read),
    };

    dice_begin(&dice);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
