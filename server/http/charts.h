/* What has happened in the last 15 minutes, three hours and day, for the dashboard's charts: of
 * the whole server, and of some topics. Each has three rings of bounded length, 20 KB together;
 * a look every 10 seconds adds to the present point of each. While nothing happens there are no
 * looks.
 *
 * Topics share CHARTS_TOPICS_MAX places. One that somebody looks at keeps its place. Who asks
 * for another one gets the place of a topic in which nothing happens, the one least recently
 * asked for; else that of a busy one, but half of the places stay with busy topics, whatever is
 * asked for. A busy topic takes that of one in which nothing happens, and which nobody has
 * asked for in the last hour, or at all while busy ones have less than half of the places. */
#ifndef DUEQ_CHARTS_H
#define DUEQ_CHARTS_H

#include "protocol/buffer.h"
#include "server/server.h"

struct charts;

enum {
    CHARTS_TOPICS_MAX = 32,
    CHARTS_LOOK_MS = 10 * 1000,
    CHARTS_KEPT_MS =
        3600 * 1000, /* so long something happens in a topic, or it was asked for */
    CHARTS_WATCHED_MS = 60 * 1000, /* so long somebody still looks at it */
    CHARTS_POINTS_MAX = 180,       /* of a ring */
};

enum charts_range { CHARTS_MINUTES, CHARTS_HOURS, CHARTS_DAY, CHARTS_RANGES };

/* The columns of a point. Counts are of the step; ready and delayed at its end; ms: the
 * greatest that were seen in it, of looks at the last minute. */
enum charts_column {
    CHARTS_PUSHED,
    CHARTS_CLAIMED,
    CHARTS_ACKED,
    CHARTS_FAILED, /* given back, or the lease ended */
    CHARTS_READY,
    CHARTS_DELAYED,
    CHARTS_WAIT_P50,
    CHARTS_WAIT_P99,
    CHARTS_RUN_P50,
    CHARTS_RUN_P99,
    CHARTS_LATE_P99,
    CHARTS_COLUMNS
};

#define CHARTS_UNKNOWN UINT32_MAX

struct charts_point {
    uint32_t slot; /* unix time in steps; 0: unused */
    uint32_t of[CHARTS_COLUMNS];
};

/* Of a range: its name in a query, its step and how many points there are at most. */
const char *charts_range_name(enum charts_range range);
int64_t charts_step_ms(enum charts_range range);
size_t charts_length(enum charts_range range);

/* NULL: out of memory. It reads what was kept of the time before, if there is something. */
struct charts *charts_new(struct server *server);
/* Keeps it for the next start. NULL is fine. */
void charts_free(struct charts *charts);
/* To be called in turns: something may have happened, so there are looks again. O(1). */
void charts_wake(struct charts *charts);

/* Writes {"step_ms":...,"columns":[...],"points":[...]} of the topic; size 0: of the server. A
 * topic that has no history yet has one from now on. */
void charts_write(struct charts *charts, struct dueq_slice topic, enum charts_range range,
                  struct buffer *out);

/* ---- for charts_file.c */

/* Calls fn for each point that there is. */
void charts_each(const struct charts *charts,
                 void (*fn)(void *arg, struct dueq_slice topic, enum charts_range range,
                            const struct charts_point *point),
                 void *arg);
/* Takes a point of before; drops it when there are too many topics, or no memory. */
void charts_restore(struct charts *charts, struct dueq_slice topic, enum charts_range range,
                    const struct charts_point *point);

#endif
