/* Time zones: the C library knows the rules of the zone files that the system keeps (tzdata).
 * The library has one zone at a time for the whole process; what else asks for local time goes
 * through here too. All threads may call these. */
#ifndef DUEQ_ZONES_H
#define DUEQ_ZONES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* As localtime_r, in the zone of the process. */
void zones_local(time_t time, struct tm *ret_local);

/* How far the clock of a zone ("Europe/Berlin") is ahead of UTC then, s. False: there is no
 * such zone. The files are in $TZDIR, or else in /usr/share/zoneinfo. arg is not used: it is a
 * dueq_zone_fn. After a call for another zone it reads the file of the zone. */
bool zones_offset(void *arg, const char *zone, int64_t time, int32_t *ret_offset);

/* Makes the environment what it was: for a program that follows in this process. */
void zones_leave(void);

#endif
