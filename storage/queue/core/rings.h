/* The events that a topic keeps: a ring of the last ones, as many as its setting says, with
 * numbers that go on by one and never go back, also when the topic is dropped and made again.
 * An event is in the same batch as the change that it tells of. On a full disk only its number
 * is used up: what drains the store needs the room. So a number without a record was dropped.
 *
 * A ring begins with the next token of its topic, and tokens go on above the numbers of rings
 * that are gone. Private to storage/queue. */
#ifndef DUEQ_RINGS_H
#define DUEQ_RINGS_H

#include "storage/slice.h"
#include "storage/status.h"
#include "storage/types.h"

struct job;
struct queue;
struct topic;

/* Of a topic, in its record. */
struct ring {
    uint64_t begin; /* the first number that it ever gave */
    uint64_t first; /* no record has a lower number */
    uint64_t next;  /* 0: it has given none */
};

/* The most events that a topic may keep; 0: this build keeps none. */
int64_t rings_most(void);
/* DUEQ_FORMAT: settings ask for rings, and this build knows none. */
enum dueq_status rings_load(const struct queue *queue);

/* How many events the topic keeps; 0: none. */
uint64_t rings_size(struct queue *queue, struct topic *topic);
/* Keeps an event, if the topic keeps any. Of the job its seq, its body's id and stamp, and the
 * attempt are used. O(log n). */
void rings_add(struct queue *queue, struct topic *topic, const struct job *job,
               enum dueq_event_type type);
/* The same for a job that does not read: readers see that an event is missing. */
void rings_skip(struct queue *queue, struct topic *topic);
/* Takes back all from that number on, because the change failed; `next` before it. */
void rings_take_back(struct queue *queue, struct topic *topic, uint64_t next);
/* Removes what is more than the settings say, and saves to where jobs have been counted as due
 * when a ring begins: in ticks. DUEQ_CORRUPT, DUEQ_IO. */
enum dueq_status rings_follow(struct queue *queue, struct topic *topic, unsigned *budget);
/* Of a topic that is loaded: no number below `floor` is given again, because a store that this
 * one is a copy of may have given it. */
void rings_raise(struct topic *topic, uint64_t floor);

/* What is wrong with a record of the topic's ring; NULL: nothing. Static text. */
const char *rings_flaw(const struct topic *topic, uint64_t number, struct dueq_slice record);

/* ---- who waits for events */

/* False: nobody does. */
void rings_watch(struct queue *queue, bool watches);
/* Of a topic that has new events, or keeps none any more. DUEQ_NOTFOUND. */
enum dueq_status rings_next(struct queue *queue, struct dueq_slice *ret_topic);
/* Takes the topic out of these; no-op when it is not among them. */
void rings_unwatch(struct queue *queue, struct topic *topic);

#endif
