/* The keys of the queue's tables in the key space. Encodings: storage/FORMAT.md. Private to
 * storage/queue. */
#ifndef DUEQ_QUEUE_KEY_H
#define DUEQ_QUEUE_KEY_H

#include "storage/kv/key.h"

/* The tables: first byte of a key. Those of storage/keys are lower case. */
enum {
    /* Topic and seq of a waiting job, topic and seq of one that it waits for -> that topic's
     * name. The same edge from the other side is in TABLE_DEPENDENT. */
    TABLE_AWAITED = 'A',
    TABLE_BODY = 'B', /* topic, seq -> id, options, body; not rewritten while it is claimed */
    TABLE_CRON = 'C', /* name -> rule of a recurring job, with the job's body */
    /* Topic and seq of a job, topic and seq of one that waits for it -> that topic's name. */
    TABLE_DEPENDENT = 'D',
    TABLE_EVENT = 'E',      /* topic, number -> event that the topic keeps */
    TABLE_FOLLOW = 'F',     /* topic, seq -> body that follows the claimed one */
    TABLE_GARBAGE = 'G',    /* -> nothing; present while flushed topics still have records */
    TABLE_ENDED = 'J',      /* topic, seq -> how a job has ended that others waited for */
    TABLE_META = 'M',       /* -> counters; 't' -> the caller's timeline */
    TABLE_CRON_STATE = 'N', /* name -> its next time and what happened so far */
    TABLE_TURN = 'O', /* topic, order, group -> nothing: groups that can run a parked job */
    /* Name of a topic, or pattern -> settings. Not beside bodies: a damaged one hides what is
     * absent beside it, and the opening looks for settings. */
    TABLE_SETTINGS = 'P',
    TABLE_SCHEDULE = 'Q', /* topic, class, ..., due, seq -> nothing */
    TABLE_RESULT = 'R',   /* topic, seq -> result of a done job */
    TABLE_STATE = 'S',    /* topic, seq -> state, once it differs from that of the push */
    TABLE_TOPIC = 'T',    /* name -> topic */
    TABLE_ID = 'U',       /* topic, caller's id or its hash -> seq */
    TABLE_GROUP = 'W'     /* topic, group -> what the group has (group_record.h) */
};

/* Classes of the schedule. */
enum {
    CLASS_PENDING = 'p', /* priority, clock, due, seq */
    CLASS_CLAIMED = 'c', /* end of the lease, seq */
    CLASS_DEAD = 'd',    /* time of death, seq */
    CLASS_DONE = 'f',    /* when it is removed, seq */
    CLASS_PARKED = 'g',  /* group, rank, priority, due, seq: due, and sorted by group */
    CLASS_WAITING = 'w', /* since when it waits for other jobs, seq */
    CLASS_TTL = 'x'      /* end of the ttl, seq */
};

/* Each of these writes a whole key, or the prefix that others add to, and returns its bytes. */

/* The prefix of all keys of a topic in a table. */
struct dueq_slice queue_key_topic(struct kv_key *key, uint8_t table, uint64_t topic);
struct dueq_slice queue_key_job(struct kv_key *key, uint8_t table, uint64_t topic,
                                uint64_t seq);
/* An edge between two jobs: that of `topic`, `seq` comes first in the key. */
struct dueq_slice queue_key_edge(struct kv_key *key, uint8_t table, uint64_t topic,
                                 uint64_t seq, uint64_t other_topic, uint64_t other_seq);
/* Ids of 16 bytes and more are hashed, so that long ids cost the index no more than short ones.
 * A push treats two ids with the same hash as duplicates; lookups compare the id in the
 * body. */
struct dueq_slice queue_key_id(struct kv_key *key, uint64_t topic, struct dueq_slice id,
                               uint64_t seed);
/* The prefix of a class of the schedule. */
struct dueq_slice queue_key_class(struct kv_key *key, uint64_t topic, uint8_t class);
/* The prefix of one lane: CLASS_PENDING, one priority, one clock. */
struct dueq_slice queue_key_lane(struct kv_key *key, uint64_t topic, uint8_t priority,
                                 uint8_t clock);
/* The prefix of the parked jobs of a group: CLASS_PARKED and the group. */
struct dueq_slice queue_key_parked(struct kv_key *key, uint64_t topic, uint64_t group);
/* The record of a group. */
struct dueq_slice queue_key_group(struct kv_key *key, uint64_t topic, uint64_t group);
/* Appends a position to the prefix of a class or lane. due: ms. */
struct dueq_slice queue_key_add_position(struct kv_key *key, int64_t due, uint64_t seq);
/* Reads the position that follows a prefix of `head` bytes. False: the key is malformed. */
bool queue_key_read_position(struct dueq_slice key, size_t head, int64_t *ret_due,
                             uint64_t *ret_seq);

#endif
