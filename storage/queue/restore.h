/* Topics and jobs as a whole, with all that the store knows of them, for those who copy a store
 * record by record (tools/offline). Nothing else calls it: a restored job was neither pushed
 * nor claimed, and no limit is asked. */
#ifndef DUEQ_QUEUE_RESTORE_H
#define DUEQ_QUEUE_RESTORE_H

#include "storage/queue/core/topic.h"
#include "storage/queue/queue.h"

/* What a topic is besides its jobs. */
struct whole_topic {
    uint64_t next_seq, next_token;
    struct dueq_topic_stats totals; /* the totals of it only */
    uint64_t paused;
    int64_t paused_until;
    struct bucket bucket;
};

/* That of a group which is not full. A store and its copy know the group by the same number. */
struct whole_bucket {
    uint64_t group;
    struct bucket bucket;
};

/* A job with all of its records. */
struct whole_job {
    uint64_t seq;
    struct job_body body;
    bool
        moved; /* the state is another one than that of the push; if not, a restore makes it: */
    struct job_state state;
    bool has_result;
    struct dueq_slice result;
    struct job_body follow; /* with state.followed */
};

/* DUEQ_NOTFOUND: there is no such topic. */
enum dueq_status queue_whole_topic(struct queue *queue, struct dueq_slice name,
                                   struct whole_topic *ret_topic);
/* Calls fn for each job of the topic, in the order of arrival; the slices live until it
 * returns. False stops. fn must not change the store. DUEQ_CORRUPT: a job does not read; those
 * before it were given. */
typedef bool (*whole_job_fn)(void *arg, const struct whole_job *job);
enum dueq_status queue_each_whole_job(struct queue *queue, struct dueq_slice name,
                                      whole_job_fn fn, void *arg);

/* Makes a topic. DUEQ_DUPLICATE: it exists. DUEQ_INVALID: the name, or a number that no topic
 * can have. */
enum dueq_status queue_restore_topic(struct queue *queue, struct dueq_slice name,
                                     const struct whole_topic *topic);
/* Adds a job to a topic that was restored; in the order of arrival. DUEQ_NOTFOUND: there is no
 * such topic. DUEQ_DUPLICATE: a job has the id or a later place. DUEQ_INVALID: no job is like
 * that. DUEQ_FULL, DUEQ_TOOBIG, DUEQ_NOMEM. On failure nothing has changed. */
enum dueq_status queue_restore_job(struct queue *queue, struct dueq_slice name,
                                   const struct whole_job *job, struct dueq_time time);

/* Calls fn for the bucket of each group of the topic; fn must not change the store.
 * DUEQ_CORRUPT: a group does not read. */
typedef bool (*whole_bucket_fn)(void *arg, const struct whole_bucket *bucket);
enum dueq_status queue_each_whole_bucket(struct queue *queue, struct dueq_slice name,
                                         whole_bucket_fn fn, void *arg);
/* Of a topic that was restored. DUEQ_NOTFOUND: there is no such topic. DUEQ_INVALID: no bucket
 * is like that. DUEQ_FULL. */
enum dueq_status queue_restore_bucket(struct queue *queue, struct dueq_slice name,
                                      const struct whole_bucket *bucket);

/* A job of the topic waits for another one. */
struct whole_edge {
    uint64_t seq;         /* of the job that waits */
    struct dueq_slice of; /* the other one's topic */
    uint64_t of_seq;      /* 0: it is gone */
    enum dueq_end end;    /* how it has ended, which the one that waits was not told yet;
                             DUEQ_END_NONE: it has not */
};

/* Calls fn for each edge of a waiting job of the topic; fn must not change the store.
 * DUEQ_CORRUPT: an edge does not read. (This and the next two: restore_edges.c) */
typedef bool (*whole_edge_fn)(void *arg, const struct whole_edge *edge);
enum dueq_status queue_each_whole_edge(struct queue *queue, struct dueq_slice name,
                                       whole_edge_fn fn, void *arg);
/* When the jobs of all topics are restored. DUEQ_NOTFOUND: there is no such job. DUEQ_INVALID:
 * no edge is like that. DUEQ_FULL, DUEQ_TOOBIG. */
enum dueq_status queue_restore_edge(struct queue *queue, struct dueq_slice name,
                                    const struct whole_edge *edge, struct dueq_time time);
/* When all edges are restored: jobs of the topic that wait for nothing go on. O(waiting). */
enum dueq_status queue_restore_waiting(struct queue *queue, struct dueq_slice name,
                                       struct dueq_time time);

/* What outlives topics: the numbers with which new ones begin, and the totals of dropped ones;
 * nothing else of *numbers is used. DUEQ_INVALID: a number that no store can have. */
void queue_get_outliving(const struct queue *queue, struct whole_topic *ret_numbers);
enum dueq_status queue_set_outliving(struct queue *queue, const struct whole_topic *numbers);

#endif
