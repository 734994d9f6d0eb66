/* libdueq: a durable delay and work queue in a directory. The public C API; the dueq server is
 * its first user.
 *
 * One thread owns a store; several stores may live in one process. Every change gathers in a
 * batch that dueq_commit writes to the journal as one atomic record. What a commit covers is
 * settled (on disk, with `durability always`) when dueq_durable_lsn reaches the LSN it gave; do
 * not tell anybody about a result before that: also not about one that was only read.
 *
 * Time is given, never read: struct dueq_time. Durations and times are milliseconds; moments
 * that are returned are unix ms of the wall clock.
 *
 * Names and ids are 1 to 255 bytes of anything; bodies up to DUEQ_BODY_MAX. Slices returned
 * live until the next call that changes the store (push, claim, ack, nack, extend, del, flush,
 * tick, commit, maintain). On any status but DUEQ_OK outputs are untouched and nothing has
 * changed. */
#ifndef DUEQ_H
#define DUEQ_H

/* Beside this file, in the source tree and where it is installed (as <dueq/dueq.h>). */
#include "options.h"
#include "slice.h"
#include "stats.h"
#include "status.h"
#include "types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dueq;

/* ---- the store */

/* Fills in the defaults: every commit synced, two memtables of 48 MiB at most and beside them a
 * filter of job ids of a quarter of one (two while one is filled), a journal of 512 MiB. A
 * small device wants less of everything: see options.h. */
void dueq_options_init(struct dueq_options *options);

/* kv: NULL for the defaults. The directory is made when it is not there. Topics are armed from
 * the directory of topics; no backlog is read. time.now before dueq_time_floor, DUEQ_DEFAULT
 * say, is taken for that; for a new store DUEQ_DEFAULT is the wall clock. */
enum dueq_status dueq_open(const char *dir, const struct dueq_options *kv,
                           struct dueq_time time, struct dueq **ret_store,
                           struct dueq_error *error);
/* Commits what has gathered, settles and checkpoints. The status is that of the commit, else of
 * the checkpoint. Of a commit that fails nothing is left; what was committed before is in the
 * journal, and the next opening replays it. Memory is freed whatever it is. store may be NULL.
 */
enum dueq_status dueq_close(struct dueq *store);
/* As a crash would: what has gathered is lost. For a failed store, and to give up a batch. */
void dueq_abandon(struct dueq *store);

void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults);
void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults);

/* The last moment of the queue's clock that this store knows of; 0 when new. */
int64_t dueq_time_floor(const struct dueq *store);

/* What dueq_keep_timeline was given last; false: nothing yet. */
bool dueq_get_timeline(const struct dueq *store, struct dueq_timeline *ret_line);
/* Takes it into the batch when it is another than the one kept. */
void dueq_keep_timeline(struct dueq *store, const struct dueq_timeline *line);

/* DUEQ_FULL, DUEQ_NOMEM: there is no room, memory or descriptor for the batch at this moment;
 * it stays, commit again later, or give it up with dueq_abandon. Others: the store failed. */
enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn);
size_t dueq_batch_bytes(const struct dueq *store);
uint64_t dueq_durable_lsn(const struct dueq *store);
enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn);
void dueq_maintain(struct dueq *store, bool idle); /* once a turn: see kv_maintain */
/* Commits, and waits until the checkpoint has everything: the next start has nothing to replay.
 */
enum dueq_status dueq_checkpoint(struct dueq *store, struct dueq_time time);
enum dueq_status dueq_status(const struct dueq *store);
const char *dueq_failure(const struct dueq *store);

/* ---- room */

/* Ask before a change: may the batch grow by about so many more bytes of names and values? When
 * the answer is DUEQ_OK the room is set aside until the commit. DUEQ_FULL: the map is at its
 * high-water mark or the disk at its reserve; what drains the store still fits. DUEQ_NOMEM: no
 * descriptor. DUEQ_TOOBIG: one record cannot hold it. Others: why the store failed. O(1), but
 * now and then it makes a file. */
enum dueq_status dueq_room(struct dueq *store, size_t bytes);
/* The same for several changes that are made all or none: until the commit dueq_room answers
 * DUEQ_OK within these bytes. */
enum dueq_status dueq_reserve_room(struct dueq *store, size_t bytes);
/* May what drains the store (claim, ack, del) be written? DUEQ_FULL when the disk has no room
 * and what was set aside for this is used up, too: then only reading goes on. O(1). */
enum dueq_status dueq_drains(struct dueq *store);
/* Is a checkpoint under way that a busy writer is about to run into? Work that can wait should,
 * for otherwise a commit waits, and everybody with it. */
bool dueq_is_behind(const struct dueq *store);

/* Should a change of so many bytes wait? It is large, and what was written before is still on
 * its way to the journal, or a commit would wait for a checkpoint that runs. Ask again when
 * options.notify has been called. O(1). */
bool dueq_is_busy(const struct dueq *store, size_t bytes);
/* From now on the store may take over these large values instead of copying them, until others
 * are lent (NULL, 0: none). What is taken stays as it is until the next commit at least. */
void dueq_lend(struct dueq *store, struct dueq_loan *loans, size_t count);

/* ---- operation */

void dueq_set_durability(struct dueq *store, enum dueq_durability durability,
                         unsigned interval_ms);
/* Begins a checkpoint in the background, of what has been committed. */
void dueq_start_checkpoint(struct dueq *store);
void dueq_get_stats(const struct dueq *store, struct dueq_stats *ret_stats);
/* Looks at every page and every value of data.mdb as the last checkpoint left it; opening has
 * looked at the journal. DUEQ_CORRUPT: dueq_damage says what was met. O(data). */
enum dueq_status dueq_check(struct dueq *store, uint64_t *ret_records);
/* After a DUEQ_CORRUPT or DUEQ_IO of a read: which page of data.mdb, and what is wrong with it;
 * lives until the next call. "": no page since dueq_forget_damage. */
const char *dueq_damage(const struct dueq *store);
void dueq_forget_damage(struct dueq *store);

/* ---- jobs */

/* *ret_id: the job's id. DUEQ_DUPLICATE (nothing of the existing job changes), DUEQ_FULL,
 * DUEQ_TOOBIG, DUEQ_INVALID. O(log n). */
enum dueq_status dueq_push(struct dueq *store, const struct dueq_push *push,
                           struct dueq_time time, struct dueq_slice *ret_id);

/* Gives out one due job of the topic: least priority number first, then due, then order of
 * arrival. lease: DUEQ_DEFAULT for the job's own. DUEQ_NOTFOUND when nothing is due; DUEQ_BUSY
 * when a thousand jobs whose ttl has run out, or tens of thousands that were removed just now,
 * were in the way and more may be: call again, after a dueq_tick if there is other work. The
 * token is greater than every token given in this topic before. O(log n). */
enum dueq_status dueq_claim(struct dueq *store, struct dueq_slice topic, int64_t lease,
                            struct dueq_time time, struct dueq_job *ret_job);

/* Removes a finished job. DUEQ_NOTFOUND: no such job. DUEQ_STALE: it was claimed again, or
 * given back, since that token. A late ack with nobody in between is accepted. */
enum dueq_status dueq_ack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          int64_t token, struct dueq_time time);

/* Gives a claimed job back; past its retries it is dead. *ret_state: what became of it. */
enum dueq_status dueq_nack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                           enum dueq_state *ret_state);

/* The lease ends `lease` ms from now. *ret_end: that moment. */
enum dueq_status dueq_extend(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, int64_t lease, struct dueq_time time,
                             int64_t *ret_end);

enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job);

/* Removes a job in whatever state. */
enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time);

/* ---- topics */

/* Delayed and ready are exact at the given time, unless thousands have fallen due since the
 * last tick: then `counting` is true, some that are ready count as delayed, the age and
 * next_due are of what has been counted, and dueq_tick or another call goes on. The sum of both
 * is exact always. Leases and lives that have ended count when dueq_tick has come to them.
 * Bounded, a millisecond or so. */
enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats);

/* The same of all topics together; totals also of those that are no more. Above
 * DUEQ_TOPICS_AGED topics delayed and ready are as of the last dueq_tick (`counting`: it has
 * not come to everything), next_due is DUEQ_NEVER and the age DUEQ_DEFAULT: not known. */
enum dueq_status dueq_total_stats(struct dueq *store, struct dueq_time time,
                                  struct dueq_topic_stats *ret_stats);

/* Names of the topics, in byte order; one without jobs is dropped when a thousand others became
 * empty after it, and its totals with it: the first after `after` (size 0: the
 * first). DUEQ_NOTFOUND at the end. */
enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name);
size_t dueq_topic_count(const struct dueq *store);

/* Removes everything. Space is given back in slices by dueq_tick. */
enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time);

/* ---- time and waiting */

/* Does what is due (leases that ended, ttls, jobs falling due) in at most `budget` steps. True:
 * there is more, call again. */
bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget);

/* How many ms after `time` dueq_tick wants to be called; DUEQ_NEVER: nothing is scheduled.
 * O(1). */
int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time);

/* A topic in which a job became claimable since the last call (push, nack, lease end, a job
 * falling due); DUEQ_NOTFOUND when there is none left. Each is named once, in order. */
enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic);

#ifdef __cplusplus
}
#endif

#endif
