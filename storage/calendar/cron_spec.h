/* The spec of a recurring job, as cron writes it: "m h dom mon dow", or with seconds before it,
 * or a word like @daily. Pure: it knows no clock and no time zone. Local times are seconds
 * since 1970-01-01 00:00:00 on the clock of the place. */
#ifndef DUEQ_CRON_SPEC_H
#define DUEQ_CRON_SPEC_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CRON_SPEC_MAX = 255,       /* bytes of a spec */
    CRON_SPEC_ERROR_MAX = 160, /* of the text that says what is wrong with one */
    CRON_SPEC_WEEKS = 5
};

/* Bit n of a set stands for the number n. */
struct cron_spec {
    uint64_t seconds, minutes;
    uint32_t hours, days, months;
    uint32_t days_before_last;             /* 0: the last day of the month, 1: the day before */
    uint8_t weekdays;                      /* 0: Sunday */
    uint8_t last_weekdays;                 /* the last of the month */
    uint8_t nth_weekdays[CRON_SPEC_WEEKS]; /* [0]: the first of the month */
    bool any_day, any_weekday;             /* the field begins with "*" */
    /* Seconds, minutes or hours begin with "*": it runs by the clock as it shows, also when
     * that is set forward or back an hour. Others name a moment of the day, which comes once.
     */
    bool follows_clock;
};

/* False: error says what is wrong, CRON_SPEC_ERROR_MAX bytes. A spec that no date fits is
 * wrong. O(size), and for the latter O(1) with some 1,000 steps. */
bool cron_spec_parse(struct dueq_slice text, struct cron_spec *ret_spec, char *error);

/* The first local time at or after `from` that fits. False: none within 100 years. Some 10
 * steps, with rare dates up to 2,000. */
bool cron_spec_next(const struct cron_spec *spec, int64_t from, int64_t *ret_local);

#endif
