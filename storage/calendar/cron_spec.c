#include "storage/calendar/cron_spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    DAY = 86400,
    YEARS_MOST = 100, /* a 29 February that is a Monday may be 40 years away */
    FIELDS_MOST = 6,
    NUMBER_MAX = 99
};

/* ---- fields */

struct field {
    const char *what;
    int least, most;
    const char *names; /* three letters each, from `least` on */
};

static const struct field fields[FIELDS_MOST] = {
    {"second", 0, 59, NULL},
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of week", 0, 7, "sunmontuewedthufrisat"},
};
enum { SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK };

/* What is read; at == end: all of it. */
struct reader {
    const char *at, *end;
    const struct field *field;
    char *error;
};

static bool refuse(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(struct reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->error, CRON_SPEC_ERROR_MAX, format, arguments);
    va_end(arguments);
    return false;
}

static bool refuse_field(struct reader *reader)
{
    return refuse(reader, "the field %s does not read", reader->field->what);
}

static bool take(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool read_digits(struct reader *reader, int *ret_number)
{
    const char *begin = reader->at;
    int number = 0;

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           number <= NUMBER_MAX)
        number = 10 * number + (*reader->at++ - '0');
    *ret_number = number;
    return reader->at > begin;
}

static bool read_name(struct reader *reader, int *ret_number)
{
    const char *names = reader->field->names;

    if (names == NULL || reader->end - reader->at < 3)
        return false;
    for (int i = 0; names[3 * i] != '\0'; i++)
        if (strncasecmp(reader->at, names + 3 * i, 3) == 0) {
            *ret_number = reader->field->least + i;
            reader->at += 3;
            return true;
        }
    return false;
}

static bool read_value(struct reader *reader, int *ret_number)
{
    const struct field *field = reader->field;

    if (!read_digits(reader, ret_number) && !read_name(reader, ret_number))
        return refuse_field(reader);
    if (*ret_number < field->least || *ret_number > field->most)
        return refuse(reader, "the %s must be between %d and %d", field->what, field->least,
                      field->most);
    return true;
}

/* ---- sets */

/* Sunday is 0 and 7. */
static uint8_t weekday_bit(int weekday)
{
    return (uint8_t)(1u << (weekday % 7));
}

static bool read_step(struct reader *reader, int *ret_step)
{
    const struct field *field = reader->field;

    if (!read_digits(reader, ret_step))
        return refuse_field(reader);
    if (*ret_step < 1 || *ret_step > field->most)
        return refuse(reader, "a step of the %s must be between 1 and %d", field->what,
                      field->most);
    return true;
}

/* "sat-sun" ends with the Sunday after. */
static bool read_range(struct reader *reader, int *from, int *to, bool *ret_range)
{
    *ret_range = true;
    if (take(reader, '*')) {
        *from = reader->field->least;
        *to = reader->field == &fields[DAY_OF_WEEK] ? 6 : reader->field->most;
        return true;
    }
    if (!read_value(reader, from))
        return false;
    *to = *from;
    *ret_range = take(reader, '-');
    if (!*ret_range)
        return true;
    if (!read_value(reader, to))
        return false;
    if (reader->field == &fields[DAY_OF_WEEK] && *to == 0)
        *to = 7;
    if (*to < *from)
        return refuse(reader, "a range of the %s ends before it begins", reader->field->what);
    return true;
}

/* "5", "1-5", "*", each also with "/2"; "5/20" goes on to the end. */
static bool read_numbers(struct reader *reader, uint64_t *set)
{
    int from, to, step = 1;
    bool range;

    if (!read_range(reader, &from, &to, &range))
        return false;
    if (take(reader, '/')) {
        if (!read_step(reader, &step))
            return false;
        if (!range)
            to = reader->field->most;
    }
    for (int i = from; i <= to; i += step)
        *set |= UINT64_C(1) << i;
    return true;
}

/* "L": the last day of the month; "L-2": two days before. */
static bool read_last_day(struct reader *reader, struct cron_spec *spec)
{
    int before = 0;

    if (take(reader, '-') && (!read_digits(reader, &before) || before > 30))
        return refuse(reader, "after L- must come a number of days from 0 to 30");
    spec->days_before_last |= 1u << before;
    return true;
}

/* "5#2": the second Friday; "5L": the last one. False: it is neither; nothing was read. */
static bool read_weekday_of_month(struct reader *reader, struct cron_spec *spec, bool *ret_good)
{
    const char *begin = reader->at;
    int weekday, number;

    *ret_good = true;
    if (!read_digits(reader, &weekday) && !read_name(reader, &weekday))
        return false;
    if (weekday <= 7 && (take(reader, 'L') || take(reader, 'l'))) {
        spec->last_weekdays |= weekday_bit(weekday);
        return true;
    }
    if (weekday <= 7 && take(reader, '#')) {
        *ret_good = read_digits(reader, &number) && number >= 1 && number <= CRON_SPEC_WEEKS;
        if (*ret_good)
            spec->nth_weekdays[number - 1] |= weekday_bit(weekday);
        else
            refuse(reader, "after # must come a number from 1 to %d", CRON_SPEC_WEEKS);
        return true;
    }
    reader->at = begin;
    return false;
}

static bool read_item(struct reader *reader, struct cron_spec *spec, uint64_t *set)
{
    bool good;

    if (reader->field == &fields[DAY_OF_MONTH] && (take(reader, 'L') || take(reader, 'l')))
        return read_last_day(reader, spec);
    if (reader->field == &fields[DAY_OF_WEEK] && read_weekday_of_month(reader, spec, &good))
        return good;
    return read_numbers(reader, set);
}

static bool read_field(struct reader *reader, struct cron_spec *spec, uint64_t *ret_set)
{
    *ret_set = 0;
    do {
        if (!read_item(reader, spec, ret_set))
            return false;
    } while (take(reader, ','));
    return reader->at == reader->end || refuse_field(reader);
}

/* ---- the whole spec */

static void keep_field(struct cron_spec *spec, size_t which, uint64_t set, bool star)
{
    switch (which) {
    case SECOND:
        spec->seconds = set;
        spec->follows_clock |= star;
        break;
    case MINUTE:
        spec->minutes = set;
        spec->follows_clock |= star;
        break;
    case HOUR:
        spec->hours = (uint32_t)set;
        spec->follows_clock |= star;
        break;
    case DAY_OF_MONTH:
        spec->days = (uint32_t)set;
        spec->any_day = star;
        break;
    case MONTH:
        spec->months = (uint32_t)set;
        break;
    default:
        spec->weekdays = (uint8_t)((set | set >> 7) & 0x7f);
        spec->any_weekday = star;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns how many there are; one more than FIELDS_MOST: too many. */
static size_t split(struct dueq_slice text, struct dueq_slice words[FIELDS_MOST])
{
    const char *at = text.data, *end = at + text.size;
    size_t count = 0;

    for (;;) {
        const char *begin;

        while (at < end && is_blank(*at))
            at++;
        if (at == end || count == FIELDS_MOST)
            return at == end ? count : count + 1;
        for (begin = at; at < end && !is_blank(*at);)
            at++;
        words[count++] = dueq_slice(begin, (size_t)(at - begin));
    }
}

static bool read_fields(struct reader *reader, const struct dueq_slice *words, size_t count,
                        struct cron_spec *spec)
{
    size_t first = FIELDS_MOST - count;

    spec->seconds = 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t set;

        reader->field = &fields[first + i];
        reader->at = words[i].data;
        reader->end = reader->at + words[i].size;
        if (!read_field(reader, spec, &set))
            return false;
        keep_field(spec, first + i, set, *(const char *)words[i].data == '*');
    }
    return true;
}

/* What a word stands for; data NULL: it is none. */
static struct dueq_slice spec_of_word(struct dueq_slice word)
{
    static const struct {
        const char *word, *spec;
    } words[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strlen(words[i].word) == word.size &&
            strncasecmp(words[i].word, word.data, word.size) == 0)
            return dueq_slice(words[i].spec, strlen(words[i].spec));
    return dueq_slice(NULL, 0);
}

static bool read_text(struct reader *reader, struct dueq_slice text, struct cron_spec *spec)
{
    struct dueq_slice words[FIELDS_MOST];
    size_t count = split(text, words);

    if (count == 1 && *(const char *)words[0].data == '@') {
        struct dueq_slice meaning = spec_of_word(words[0]);

        if (meaning.data == NULL)
            return refuse(reader, "the words are @yearly, @annually, @monthly, @weekly, "
                                  "@daily, @midnight and @hourly");
        count = split(meaning, words);
    }
    if (count != FIELDS_MOST && count != FIELDS_MOST - 1)
        return refuse(reader, "a spec has 5 fields (minute, hour, day of month, month, day of "
                              "week), or 6 with the second before them");
    return read_fields(reader, words, count, spec);
}

bool cron_spec_parse(struct dueq_slice text, struct cron_spec *ret_spec, char *error)
{
    struct reader reader = {.error = error};
    struct cron_spec spec = {.seconds = 0};
    int64_t local;

    if (text.size > CRON_SPEC_MAX)
        return refuse(&reader, "a spec has at most %d bytes", CRON_SPEC_MAX);
    if (!read_text(&reader, text, &spec))
        return false;
    if (!cron_spec_next(&spec, 0, &local))
        return refuse(&reader, "there is no such date: no month of the spec has that day");
    *ret_spec = spec;
    return true;
}

/* ---- dates */

struct date {
    int64_t number; /* of the day since 1970-01-01 */
    int year, month, day, weekday;
    int last; /* day of the month */
};

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap);
}

static bool date_of(int64_t number, struct date *ret_date)
{
    time_t seconds = (time_t)(number * DAY);
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL)
        return false;
    *ret_date = (struct date){.number = number,
                              .year = tm.tm_year + 1900,
                              .month = tm.tm_mon + 1,
                              .day = tm.tm_mday,
                              .weekday = tm.tm_wday};
    ret_date->last = days_in(ret_date->year, ret_date->month);
    return true;
}

static void pass(struct date *date, int days)
{
    date->number += days;
    date->day += days;
    date->weekday = (date->weekday + days) % 7;
    if (date->day <= date->last)
        return;
    date->day = 1; /* never more than to the first of the next month */
    date->year += date->month == 12;
    date->month = date->month % 12 + 1;
    date->last = days_in(date->year, date->month);
}

static bool has(uint64_t set, int number)
{
    return (set >> number & 1) != 0;
}

static bool day_fits(const struct cron_spec *spec, const struct date *date)
{
    bool day =
        has(spec->days, date->day) || has(spec->days_before_last, date->last - date->day);
    bool weekday = has(spec->weekdays, date->weekday) ||
                   has(spec->nth_weekdays[(date->day - 1) / 7], date->weekday) ||
                   (date->day + 7 > date->last && has(spec->last_weekdays, date->weekday));

    return spec->any_day || spec->any_weekday ? day && weekday : day || weekday;
}

/* The first day at or after `date` that fits. */
static bool next_day(const struct cron_spec *spec, struct date *date)
{
    int last_year = date->year + YEARS_MOST;

    while (date->year <= last_year) {
        if (!has(spec->months, date->month))
            pass(date, date->last - date->day + 1);
        else if (day_fits(spec, date))
            return true;
        else
            pass(date, 1);
    }
    return false;
}

/* ---- the time of the day */

/* The first number of the set from `from` on; -1: there is none. */
static int first_from(uint64_t set, int from)
{
    set = from > 63 ? 0 : set >> from << from;
    return set == 0 ? -1 : __builtin_ctzll(set);
}

/* The first second of the day at or after `from` that fits; -1: there is none. */
static int next_second(const struct cron_spec *spec, int from)
{
    int wanted = from % 60, found = first_from(spec->seconds, wanted), seconds = found;

    wanted = from / 60 % 60 + (found < 0);
    found = first_from(spec->minutes, wanted);
    if (seconds < 0 || found != wanted)
        seconds = first_from(spec->seconds, 0);
    seconds += 60 * (found < 0 ? first_from(spec->minutes, 0) : found);
    wanted = from / 3600 + (found < 0);
    found = first_from(spec->hours, wanted);
    if (found < 0)
        return -1;
    if (found != wanted)
        seconds = first_from(spec->seconds, 0) + 60 * first_from(spec->minutes, 0);
    return 3600 * found + seconds;
}

bool cron_spec_next(const struct cron_spec *spec, int64_t from, int64_t *ret_local)
{
    int64_t number = from >= 0 ? from / DAY : -((DAY - 1 - from) / DAY);
    int second = next_second(spec, (int)(from - number * DAY));
    struct date date;

    if (!date_of(second < 0 ? number + 1 : number, &date) || !next_day(spec, &date))
        return false;
    if (second < 0 || date.number > number)
        second = next_second(spec, 0);
    *ret_local = date.number * DAY + second;
    return true;
}
