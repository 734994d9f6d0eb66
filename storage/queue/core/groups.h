/* Groups of jobs: the settings of a topic say how many jobs of a group are claimed at a time
 * and whose turn it is. A due job that must wait for its group is parked: its entry moves from
 * its lane to the list of its group, once, so that no claim meets it again. A group that can
 * run a parked job has an entry among the turns; one that waits for a permit of its rate has
 * one by the time of that, and a tick looks at it then. Both follow from what the group has: a
 * record that is there while one of its jobs is claimed, parked or holds it, or its bucket of
 * permits is not full. Nothing of a group is in RAM.
 *
 * A group is known by a number, the seeded hash of its name. In a topic that is fair, jobs
 * without a group are one more group, number 0; it is never full. Private to storage/queue. */
#ifndef DUEQ_GROUPS_H
#define DUEQ_GROUPS_H

#include "storage/queue/core/rates.h"
#include "storage/queue/core/topic.h"
#include "storage/queue/record/group_record.h"

struct queue;

/* What the settings of a topic say. */
struct group_rules {
    bool any;                /* claims look at groups */
    bool fair;               /* groups take turns; else the best job of all comes first */
    bool holds;              /* a job that is given back holds its group */
    uint64_t most;           /* jobs of a group that are claimed at a time */
    enum dueq_setting limit; /* the setting that says so */
    struct rate rate;        /* of the claims of a group */
    uint64_t number;         /* tells these rules from others; 0: no groups */
};

/* The group that a batch of changes is about, as it is and as its record says. */
struct group_cache {
    struct topic *topic; /* of the changes that are not written yet */
    uint64_t topic_id, group;
    struct group_record written, now;
    int64_t weight; /* of the job that was parked last */
    bool loaded, is_there, dirty;
    unsigned held;
};

/* The number of a group; 0: no name. */
uint64_t groups_number(const struct queue *queue, struct dueq_slice name);
struct group_rules groups_rules(struct queue *queue, struct topic *topic);

/* Makes sure that the next change of the group cannot fail. DUEQ_CORRUPT, DUEQ_IO. */
enum dueq_status groups_load(struct queue *queue, struct topic *topic, uint64_t group);
/* Between the two, changes of one group are written together. Calls may nest. */
void groups_begin(struct queue *queue);
void groups_end(struct queue *queue);

/* ---- changes of the schedule. The group should be loaded. */

/* A job of that state gets an entry. True: it was parked, and has one; false: its lane, or its
 * class, gets it. */
bool groups_add(struct queue *queue, struct topic *topic, const struct job_state *state,
                uint64_t seq, struct dueq_time time);
/* A job of that state loses its entry. True: it was parked, and the entry is gone. */
bool groups_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                   uint64_t seq);
/* Parks a due job whose entry is gone from its lane; its clock is CLOCK_QUEUE. */
void groups_park(struct queue *queue, struct topic *topic, const struct job_state *state,
                 uint64_t seq);
/* The job is claimed: its group's turn is over, and a permit gone. */
void groups_charge(struct queue *queue, struct topic *topic, const struct job_state *state);

/* The group has that bucket. DUEQ_CORRUPT, DUEQ_IO. */
enum dueq_status groups_fill(struct queue *queue, struct topic *topic, uint64_t group,
                             const struct bucket *bucket);

/* ---- claims */

/* Must the job wait for its group? *ret_waits. DUEQ_CORRUPT, DUEQ_IO. O(log n). */
enum dueq_status groups_blocks(struct queue *queue, struct topic *topic,
                               const struct group_rules *rules, const struct job_state *state,
                               bool *ret_waits);
/* Must a job of the group wait for another one? is_holder: one that holds the group. O(1). */
bool groups_is_full(const struct group_rules *rules, uint64_t group,
                    const struct group_record *record, bool is_holder);
/* The parked job whose turn it is; in topics that are not fair, of those from that priority on.
 * DUEQ_NOTFOUND: there is none, or, with a budget of 0
 * afterwards, another call may find one. O(log n). */
enum dueq_status groups_first(struct queue *queue, struct topic *topic,
                              const struct group_rules *rules, uint8_t priority,
                              unsigned *budget, uint64_t *ret_group,
                              struct group_place *ret_place);
/* Makes the groups of the topic follow its settings, from where an earlier call stopped. A
 * budget of 0 afterwards: there is more to do. O(groups) after a change. */
enum dueq_status groups_follow(struct queue *queue, struct topic *topic, unsigned *budget);
/* Has groups_follow something to do? O(1). */
bool groups_lag(struct queue *queue, struct topic *topic);
/* Looks at the groups whose time has come, as many as the budget lets. O(log n) each. */
enum dueq_status groups_release(struct queue *queue, struct topic *topic, int64_t now,
                                unsigned *budget);

/* The next parked job of the topic, group by group. *at: the key of the one before; size 0: the
 * first. DUEQ_NOTFOUND: there are no more, or the budget is spent. NULL: it has no end. */
enum dueq_status groups_parked_after(struct queue *queue, const struct topic *topic,
                                     struct kv_key *at, unsigned *budget, uint64_t *ret_seq);

/* Has the group the turn that it should have? For checks. */
bool groups_agree(struct queue *queue, struct topic *topic, uint64_t group,
                  const struct group_record *record);
/* Is the job parked? O(log n). */
bool groups_has(struct queue *queue, const struct topic *topic, const struct job_state *state,
                uint64_t seq);
/* What the group has. DUEQ_NOTFOUND: nothing. */
enum dueq_status groups_get(struct queue *queue, const struct topic *topic, uint64_t group,
                            struct group_record *ret_record);

#endif
