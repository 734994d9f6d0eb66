/* Times and durations as people write and read them. */
#ifndef DUEQ_CLIENT_TIME_H
#define DUEQ_CLIENT_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum { CLIENT_TIME_TEXT = 96 };

/* Unix milliseconds; what moment.h reads; or a date with a time of day in the local zone:
 * "2026-12-01 09:00", with seconds if need be. */
bool client_read_moment(const char *text, int64_t *ret_ms);

int64_t client_now(void); /* unix ms */

/* These write CLIENT_TIME_TEXT bytes and return them. */
const char *client_show_span(int64_t ms, char *text);     /* "2 h 5 min", "350 ms" */
const char *client_show_moment(int64_t ms, char *text);   /* "2026-12-01 09:00:00 (in 2 h)" */
const char *client_show_bytes(int64_t bytes, char *text); /* "1.5 MB" */

#endif
