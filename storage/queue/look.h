/* Looks at many jobs of a topic without changing one (job_scan.c, peek.c, forecast.c). The
 * functions that dueq.h has under the same name with dueq_ are specified there. Private to
 * storage. */
#ifndef DUEQ_LOOK_H
#define DUEQ_LOOK_H

#include "storage/queue/core/queue_state.h"
#include "storage/types.h"

enum dueq_status queue_scan(struct queue *queue, const struct dueq_scan *scan,
                            struct dueq_slice cursor, struct dueq_time time, dueq_job_fn fn,
                            void *arg, char *ret_cursor);
enum dueq_status queue_peek(struct queue *queue, const struct dueq_peek *peek,
                            struct dueq_time time, dueq_job_fn fn, void *arg);

enum dueq_status queue_forecast(struct queue *queue, struct dueq_forecast *forecast,
                                struct dueq_time time, unsigned *budget);
enum dueq_status queue_ahead(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                             struct dueq_time time, uint64_t *ret_ahead);
enum dueq_status queue_group_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_slice id, struct dueq_group_stats *ret_stats);

/* ---- for these files only */

/* Calls that read jobs stop after so many bytes of them: checksums of large bodies take time,
 * and so do copies. Some 1 to 3 ms. */
enum { LOOK_BYTES = 2 * 1024 * 1024 };
/* And after so many moves over pages or deleted records. Some 2 ms. */
enum { LOOK_STEPS = 4000 };

/* What becomes of each job that is found. */
struct look {
    struct queue *queue;
    struct topic *topic;
    struct dueq_time time;
    int state;        /* DUEQ_DEFAULT: any */
    int64_t from, to; /* due times that are wanted, as they are shown */
    dueq_job_fn fn;
    void *arg;
    size_t bytes; /* of the jobs so far */
    bool is_over; /* fn wants no more, or enough bytes were read */
};

/* Gives the job to fn, when it has the state and the due time. DUEQ_CORRUPT: the schedule or a
 * list of jobs names one that is not there. */
enum dueq_status look_at_job(struct look *look, uint64_t seq);

/* The class of the schedule in which jobs of that state are; 0: in the lanes. */
uint8_t look_class(enum dueq_state state);

#endif
