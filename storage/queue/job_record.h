/* A job's two records, and the keys of the queue's tables. Private to storage/queue. Encodings:
 * storage/FORMAT.md. */
#ifndef DUEQ_JOB_RECORD_H
#define DUEQ_JOB_RECORD_H

#include "storage/status.h"
#include "storage/types.h"
#include "storage/kv/key.h"
#include "storage/queue/safe_time.h"

/* The tables: first byte of a key. Those of storage/keys are lower case. */
enum {
    TABLE_BODY = 'B',     /* topic, seq -> id, options, body: never rewritten */
    TABLE_GARBAGE = 'G',  /* -> nothing: flushed topics have left something behind */
    TABLE_META = 'M',     /* -> counters; 't' -> the caller's time line */
    TABLE_SCHEDULE = 'Q', /* topic, class, ..., due, seq -> nothing */
    TABLE_STATE = 'S',    /* topic, seq -> state, once it is another than at the push */
    TABLE_TOPIC = 'T',    /* name -> topic */
    TABLE_ID = 'U'        /* topic, caller's id or its hash -> seq */
};

/* Classes of the schedule. */
enum {
    CLASS_PENDING = 'p', /* priority, clock, due, seq */
    CLASS_CLAIMED = 'c', /* lease end, seq */
    CLASS_DEAD = 'd',    /* time of death, seq */
    CLASS_TTL = 'x'      /* end of life, seq */
};

/* Which clock a pending job's due time is on. */
enum { CLOCK_QUEUE = 0, CLOCK_WALL = 1 };

enum job_phase { PHASE_PENDING, PHASE_CLAIMED, PHASE_DEAD };

/* Nothing that changes while the job lives. */
struct job_body {
    struct dueq_slice id; /* size 0: given by the store, made of stamp and seq */
    struct dueq_slice body;
    uint8_t priority;
    uint8_t clock;                                     /* that `due` is on */
    int64_t due;                                       /* at first */
    int64_t lease, retries, backoff, backoff_max, ttl; /* lease, ttl: DUEQ_DEFAULT too */
    int64_t pushed;                                    /* on the wall clock */
    int64_t stamp; /* the same moment on the queue's clock: ids sort by it */
};

struct job_state {
    enum job_phase state;
    bool token_valid; /* false: never claimed, or given back by a nack */
    uint8_t priority;
    uint8_t clock;
    int64_t due; /* pending: due; claimed: end of the lease; dead: time of death */
    int64_t attempt, token;
    int64_t expires; /* end of the ttl; DUEQ_NEVER: none */
    struct dueq_slice error;
};

enum { JOB_RECORD_HEAD_MAX = 4 + 8 * 10, JOB_RECORD_STATE_MAX = 5 + 4 * 10 + DUEQ_ERROR_MAX };

/* Writes what comes before id and body; returns its size. */
size_t job_record_write_head(uint8_t *bytes, const struct job_body *body);
bool job_record_read_body(struct dueq_slice record, struct job_body *ret_body);
/* The state that a job has from its push until something happens to it: no record of its own
 * says so, which spares most jobs a quarter of what is written for them. */
struct job_state job_record_first_state(const struct job_body *body);
/* When the ttl of a job that is due then, on the queue's clock, runs out. */
int64_t body_life_end(const struct job_body *body, int64_t due);

size_t job_record_write_state(uint8_t *bytes, const struct job_state *state);
bool job_record_read_state(struct dueq_slice record, struct job_state *ret_state);

/* ---- keys */

/* What the keys of a topic's records in a table begin with. */
struct kv_key queue_key_topic(uint8_t table, uint64_t topic);
struct kv_key queue_key_job(uint8_t table, uint64_t topic, uint64_t seq);
/* Names of 16 bytes and more are hashed: random ids of any size cost the index the same. Two of
 * one hash are taken for duplicates by a push, and told apart by everybody else. */
struct kv_key queue_key_id(uint64_t topic, struct dueq_slice id, uint64_t seed);
/* The head of a schedule class; of CLASS_PENDING: of one lane. */
struct kv_key queue_key_class(uint64_t topic, uint8_t class);
struct kv_key queue_key_lane(uint64_t topic, uint8_t priority, uint8_t clock);
void queue_key_add_position(struct kv_key *key, int64_t due, uint64_t seq);
/* Of a key that begins with a class or lane of `head` bytes. False: it is none. */
bool queue_key_read_position(struct dueq_slice key, size_t head, int64_t *ret_due,
                             uint64_t *ret_seq);

/* ---- ids that the store gives: 50 bits of time and 64 of seq in Crockford's base 32, so that
 * they sort by time, then arrival, and tell their seq */

enum { GIVEN_ID_SIZE = 23 };

void given_id_write(char *text, int64_t time, uint64_t seq); /* GIVEN_ID_SIZE bytes */
/* False: the store would not give such an id. */
bool given_id_read(struct dueq_slice text, uint64_t *ret_seq);

#endif
