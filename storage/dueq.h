/* libdueq: a durable delay and work queue in a directory. This is the public C API; the dueq
 * server is its first user. It has functions for jobs only: the server's keys are not public.
 *
 * Threads: one thread at a time uses a store. Several stores may be open in one process.
 *
 * Commits: all changes gather in a batch. dueq_commit writes the batch to the journal as one
 * atomic record and returns its LSN (log sequence number). The commit is durable when
 * dueq_durable_lsn reaches that LSN: with DUEQ_SYNC_ALWAYS after fdatasync, with the other
 * modes as soon as it is written. Do not report a result before its commit is durable, not even
 * one that was only read: it may show changes of a batch that a crash loses. A topic whose
 * durability is set (DUEQ_SET_DURABILITY) says otherwise for the batches in which it was used:
 * one with a topic `always` is synced at once and durable after that, in every mode; one with
 * topics `interval` only is durable when it is written, like those before it that need no sync.
 *
 * Time: the caller gives it with each call (struct dueq_time). Durations and times are
 * milliseconds; times that are returned are unix time of the wall clock.
 *
 * Limits: topic names and job ids have 1 to 255 bytes of any value, bodies up to DUEQ_BODY_MAX.
 *
 * Ownership: the store copies what it is given. Slices that it returns are valid until the next
 * call that changes the store (push, claim, ack, nack, extend, del, flush, tick, commit,
 * maintain).
 *
 * Errors: on any status but DUEQ_OK outputs are untouched, and no job has been added, claimed,
 * moved or removed for the caller. dueq_claim may have declared jobs dead whose ttl had run
 * out. Any call can answer DUEQ_IO, DUEQ_CORRUPT or DUEQ_NOMEM. */
#ifndef DUEQ_H
#define DUEQ_H

/* Beside this file, in the source tree and where it is installed (as <dueq/dueq.h>). */
#include "cron.h"
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
struct dueq_watch; /* a watched job: dueq_watch_end */

/* ---- the store */

/* Opens the store in a directory; makes the directory when it does not exist. options: NULL for
 * the defaults; they are copied. The clock starts at time.now, or at dueq_time_floor when that
 * is later (give DUEQ_DEFAULT to start there; a new store then starts at time.wall). *ret_store
 * belongs to the caller until dueq_close or dueq_abandon. error: may be NULL.
 *
 * DUEQ_INVALID: an option is out of its range, or options->size is less than that of the first
 * version (dueq_options_init was not called). DUEQ_LOCKED: another process has the directory
 * open. DUEQ_FORMAT: a newer version wrote it. DUEQ_STOPPED:
 * options->on_progress said so. Cost: replays the journal since the last
 * checkpoint, and reads all topics, but no jobs. */
enum dueq_status dueq_open(const char *dir, const struct dueq_options *options,
                           struct dueq_time time, struct dueq **ret_store,
                           struct dueq_error *error);
/* Commits the batch, waits until it is durable, makes a checkpoint and frees the store. Returns
 * the status of the commit if that failed, else that of the checkpoint. When the commit fails,
 * its batch is lost; earlier commits are in the journal, and the next opening replays them. The
 * memory is always freed. store may be NULL. */
enum dueq_status dueq_close(struct dueq *store);
/* Frees the store without a commit: the batch is lost, as in a crash. For a failed store, or to
 * give up a batch. store may be NULL. */
void dueq_abandon(struct dueq *store);

/* The defaults of pushes and claims. The store does not save them. */
void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults);
void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults);

/* The latest time of the queue's clock in this store, ms; 0 for a new store. */
int64_t dueq_time_floor(const struct dueq *store);

/* Returns what dueq_keep_timeline was given last. False: nothing yet. */
bool dueq_get_timeline(const struct dueq *store, struct dueq_timeline *ret_line);
/* Stores the timeline with the next commit, when it differs from the stored one. */
void dueq_keep_timeline(struct dueq *store, const struct dueq_timeline *line);

/* Writes the batch to the journal; waits for a checkpoint at DUEQ_PRESSURE_MOST only. *ret_lsn:
 * the LSN to wait for; an empty batch has that of the commit before. DUEQ_FULL, DUEQ_NOMEM:
 * there is no disk space, memory or file descriptor at present; the batch stays, so commit
 * again later, or drop it with dueq_abandon. Any other status: the store has failed for good.
 */
enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn);
/* Bytes of the changes that are not committed. */
size_t dueq_batch_bytes(const struct dueq *store);
/* All commits up to this LSN are durable. */
uint64_t dueq_durable_lsn(const struct dueq *store);
/* All commits up to this LSN are written: a kill of the process does not lose them, a power cut
 * may. This is enough to report what concerns only topics with the durability `interval`, while
 * an earlier commit is still being synced. Never less than dueq_durable_lsn. */
uint64_t dueq_written_lsn(const struct dueq *store);
/* Blocks until that LSN is durable. */
enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn);
/* Call it after each commit. Frees a memtable that a checkpoint has written, renews the read
 * snapshot, and looks at the free space. Starts a checkpoint after 20 calls with `idle` set, or
 * when cursors have passed 200,000 tombstones. */
void dueq_maintain(struct dueq *store, bool idle);
/* Commits, and blocks until a checkpoint contains everything, so that the next opening replays
 * nothing. DUEQ_FULL: there is no space for the checkpoint; the journal still has
 * everything. */
enum dueq_status dueq_checkpoint(struct dueq *store, struct dueq_time time);
/* DUEQ_OK, or why the store has failed; then only dueq_abandon helps. */
enum dueq_status dueq_status(const struct dueq *store);
/* The failure in words, for a log. Lives as long as the store. */
const char *dueq_failure(const struct dueq *store);

/* ---- room */

/* Ask before a change: may the batch grow by about that many bytes of names and values?
 * DUEQ_OK: the room is reserved until the commit. DUEQ_FULL: the map is at its high-water mark
 * or the disk at its reserve; claims, acks and deletes still fit. DUEQ_NOMEM: no file
 * descriptor. DUEQ_TOOBIG: one batch cannot hold it. Any other status: why the store has
 * failed. O(1), but some calls create a file. */
enum dueq_status dueq_room(struct dueq *store, uint64_t bytes);
/* The same for several changes of which all or none must be made: until the commit, dueq_room
 * answers DUEQ_OK within these bytes. */
enum dueq_status dueq_reserve_room(struct dueq *store, uint64_t bytes);
/* May changes that make room (claim, ack, del) be written? DUEQ_FULL: the disk is full and the
 * space reserved for them is used up; only reads are possible. O(1). */
enum dueq_status dueq_drains(struct dueq *store);
/* Is there pressure? Then work that is not urgent should wait. */
bool dueq_is_behind(const struct dueq *store);

/* ---- pressure */

enum { DUEQ_PRESSURE_FULL = 1000, DUEQ_PRESSURE_MOST = 2000 };

/* How near a commit is to waiting for a checkpoint. 0: no checkpoint runs, or the memory for
 * changes is less than half used. 1 to 1,000: the second half fills. Above 1,000 the reserve
 * for claims, acks and deletes is in use, half as much again; at 2,000 dueq_commit waits until
 * the checkpoint ends. One who does not ask loses nothing: the commits wait. One who has other
 * work sets options.heeds_pressure and makes no growing change from DUEQ_PRESSURE_FULL on, and
 * no change at all at DUEQ_PRESSURE_MOST: then no commit waits for a checkpoint (each change
 * that is made all the same takes memory). It falls when options.notify was called. While the
 * disk is full it is 0, as dueq_room refuses growth, and a commit may wait all the same. O(1).
 */
unsigned dueq_pressure(const struct dueq *store);
/* Call it after each growing change: how many microseconds to put off the next one, so that the
 * memory for changes is full when the checkpoint ends, and not before. 0 without pressure.
 * O(1). */
uint64_t dueq_growth_pause(struct dueq *store);

/* Should a change of that many bytes wait? True for a large change while earlier commits are
 * still being written, or when its commit would have to wait for a checkpoint. Ask again after
 * options.notify was called. O(1). */
bool dueq_is_busy(const struct dueq *store, size_t bytes);
/* Lends large values: the store may take over their memory instead of copying them, until the
 * next call of this function (NULL, 0: none are lent). A value that was taken over stays
 * readable and unchanged at least until the next commit. */
void dueq_lend(struct dueq *store, struct dueq_loan *loans, size_t count);

/* Between these two calls a call that meets a large body in data.mdb which was not checked yet
 * checks a part of it and answers DUEQ_BUSY; it has changed nothing, and the same call goes on
 * from there. So a body of 500 MB does not take 100 ms at once. The parts are 2 MiB between two
 * calls of dueq_maintain. dueq_end_slices: was there such an answer? O(1). */
void dueq_begin_slices(struct dueq *store);
bool dueq_end_slices(struct dueq *store);

/* Keeps a large body readable and unchanged until dueq_let_go, whatever becomes of its job.
 * `byte`: one of its bytes, while the job that a call has answered is still valid. NULL: the
 * body is not large (some 16 KiB), or there are too many holds: copy it. Let it go soon,
 * because data.mdb grows meanwhile by what checkpoints free, and before the store is closed or
 * abandoned. */
struct dueq_hold *dueq_hold(struct dueq *store, const void *byte);
void dueq_let_go(struct dueq_hold *hold);

/* ---- operation */

/* Of what concerns no topic with a durability of its own. */
enum dueq_durability dueq_get_durability(const struct dueq *store);
void dueq_set_durability(struct dueq *store, enum dueq_durability durability,
                         unsigned interval_ms);
/* Starts a checkpoint of all commits so far, in the background. */
void dueq_start_checkpoint(struct dueq *store);
/* Copies data.mdb without its free pages, in the background; the copy takes its place. First
 * comes a checkpoint. Calls of dueq_maintain start it, and see its end (struct dueq_stats).
 * Reads and changes go on; growth has to wait when the memory for changes is full before the
 * copy is complete (dueq_pressure). No-op when one runs, or next to nothing would come back.
 * DUEQ_FULL: besides disk_reserve_bytes the disk has no room for what is in use. On failure,
 * also of a running one, data.mdb stays as it is. O(1). */
enum dueq_status dueq_compact(struct dueq *store);
/* When dueq_maintain does that by itself: data.mdb has more than `bytes`, and its free pages
 * are more than `percent` of those in use (100: more than half of the file); 0: never. It waits
 * until no checkpoint has run for 5 s, or the file was like that after eight in a row. After a
 * failure it waits for a minute, then for two, and so on. A checkpoint that lacks free pages in
 * a row for what was accepted is helped by a copy in any case. options: auto_compact_percent
 * (100), auto_compact_bytes (64 MiB). */
void dueq_set_auto_compact(struct dueq *store, unsigned percent, uint64_t bytes);
/* Copies the store into the new directory `path`, in the background, while it goes on: all that
 * is committed by the end of the next dueq_maintain, and perhaps more. The copy is a data
 * directory without a journal, which any dueq of this format opens. Calls of dueq_maintain
 * start it, after a checkpoint, and see its end (struct dueq_stats). It is made in the
 * directory `path` with DUEQ_BACKUP_PARTIAL at the end, synced, read again and checked, and
 * gets its name last. What an earlier one that did not end has left there is removed. Until it
 * ends data.mdb grows by what checkpoints free. It leaves options.disk_reserve_bytes of the
 * disk free, or ends with DUEQ_FULL; on failure nothing is left of it. dueq_close and
 * dueq_abandon give it up. DUEQ_BUSY: one runs already. DUEQ_DUPLICATE: there is something of
 * that name. DUEQ_INVALID: path is empty or too long, or ends with '/'. DUEQ_NOMEM. O(1). */
enum dueq_status dueq_backup(struct dueq *store, const char *path);
/* The same for an increment: only the records since the backup or increment `base`, which is a
 * directory beside it. They come from the archive (dueq_options.archive_dir); what is not there
 * yet is archived first. Then base is needed, and what that goes on from, to restore it
 * (dueq restore). DUEQ_WRONGSTATE: there is no archive. DUEQ_NOTFOUND: base is no backup.
 * DUEQ_STALE: it is one of another store, or of another history: one that went on from a copy.
 * backup_status DUEQ_CORRUPT: the archive has a gap since then. */
enum dueq_status dueq_backup_from(struct dueq *store, const char *path, const char *base);
/* size: sizeof(*ret_stats) as the caller knows it; no byte after it is written. O(1). */
void dueq_get_stats_sized(const struct dueq *store, struct dueq_stats *ret_stats, size_t size);
static inline void dueq_get_stats(const struct dueq *store, struct dueq_stats *ret_stats)
{
    dueq_get_stats_sized(store, ret_stats, sizeof(*ret_stats));
}
/* Valid until the store is closed; later calls change it. O(1). */
const struct dueq_spans *dueq_get_spans(const struct dueq *store, enum dueq_span span);
/* Reads every page and every value of data.mdb as the last checkpoint left it (dueq_open has
 * checked the journal). *ret_records: the number of values. DUEQ_CORRUPT: see dueq_damage.
 * O(data). */
enum dueq_status dueq_check(struct dueq *store, uint64_t *ret_records);

/* dueq_check, and then compares every index with every record: each job with its schedule, its
 * id, its results and the counts of its topic; each key with its members, their orders, its
 * size, its expiry and its database; and looks for what belongs to nothing. */
struct dueq_verify {
    /* Is told of each finding: where it is (topic and job, key, page of data.mdb) and what is
     * wrong there. Both texts are valid until it returns. NULL: nobody is told. */
    void (*on_finding)(void *arg, const char *where, const char *what);
    /* Is called after each 10,000 records; false stops. NULL: nobody asks. */
    bool (*on_progress)(void *arg, uint64_t records);
    void *arg;                  /* of both */
    uint64_t records, findings; /* set by dueq_verify: how many there were */
};
/* DUEQ_CORRUPT: there are findings. DUEQ_INVALID: there is a batch. DUEQ_STOPPED: on_progress
 * said so. DUEQ_NOMEM. Changes nothing. Takes 8 bytes of memory for each topic and for each key
 * that has records of its own. O(data * log n); it may take many minutes. */
enum dueq_status dueq_verify(struct dueq *store, struct dueq_verify *verify);
/* After a read that answered DUEQ_CORRUPT or DUEQ_IO: which page of data.mdb is damaged, and
 * how.
 * "": none since dueq_forget_damage. Valid until the next call. */
const char *dueq_damage(const struct dueq *store);
void dueq_forget_damage(struct dueq *store);

/* ---- jobs */

/* Adds a job; the topic is made with its first job. *ret_id: the job's id. DUEQ_DUPLICATE: the
 * topic has a job with this id, which does not change. DUEQ_FULL: see dueq_room. DUEQ_LIMIT,
 * DUEQ_TOOBIG: the topic's settings do not allow one more job, or this body. DUEQ_PAUSED,
 * DUEQ_INVALID. O(log n). */
enum dueq_status dueq_push(struct dueq *store, const struct dueq_push *push,
                           struct dueq_time time, struct dueq_slice *ret_id);

/* Adds `count` jobs, or none when one of them is refused: statuses as dueq_push, DUEQ_DUPLICATE
 * also when two of them have one id, and DUEQ_TOOBIG when they do not fit one batch.
 * ret_pushed: `count` of them, in order. All of it happens in this call: a thousand small jobs
 * take some milliseconds. DUEQ_INVALID also with more than a thousand million jobs.
 * O(count log n). */
enum dueq_status dueq_push_many(struct dueq *store, const struct dueq_push *pushes,
                                size_t count, struct dueq_time time,
                                struct dueq_pushed *ret_pushed);

/* Adds one job; push->on_duplicate says what happens when the topic has a job with the id.
 * ret_pushed: its outcome says what was done. DUEQ_DUPLICATE: only with DUEQ_REJECT, or when
 * another id has the same hash. A push that must not have an id twice has one. */
enum dueq_status dueq_push_unique(struct dueq *store, const struct dueq_push *push,
                                  struct dueq_time time, struct dueq_pushed *ret_pushed);

/* Claims one due job of the topic: of those that need not wait for their groups (of a fair
 * topic: of the group whose turn it is) the job with the lowest priority number, then with the
 * earliest due time, then the one that was pushed first. lease: ms, or DUEQ_DEFAULT for the
 * job's own. DUEQ_NOTFOUND: no job is due. DUEQ_BUSY: the call met a thousand jobs whose ttl
 * had run out, hundreds that must wait for their groups, or tens of thousands of records that
 * were removed just now, and stopped; call
 * again, or after dueq_tick. DUEQ_FULL: the disk is full, and of what is set aside only the
 * part is left that removals need. The token of a claim is greater than all earlier ones of the
 * topic. O(log n). */
enum dueq_status dueq_claim(struct dueq *store, struct dueq_slice topic, int64_t lease,
                            struct dueq_time time, struct dueq_job *ret_job);

/* The same for a worker that has a name: it is kept with the job; of longer names the first
 * DUEQ_WORKER_MAX bytes. */
enum dueq_status dueq_claim_as(struct dueq *store, struct dueq_slice topic, int64_t lease,
                               struct dueq_slice worker, struct dueq_time time,
                               struct dueq_job *ret_job);

/* The same for a caller that acks the job before the next commit. Never DUEQ_FULL. */
enum dueq_status dueq_claim_to_ack(struct dueq *store, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_job *ret_job);

/* The same with all that a claim can say: dueq_claim_init comes first. */
enum dueq_status dueq_claim_with(struct dueq *store, const struct dueq_claim *claim,
                                 struct dueq_time time, struct dueq_job *ret_job);
/* Have the claims since the last commit taken some ms, with jobs that they could not have? Who
 * shares a thread with others takes what it has, and the rest after the commit. O(1). */
bool dueq_claims_are_enough(const struct dueq *store);

/* Removes a finished job, or keeps it as done when its window or its topic says so; then
 * another ack with the same token is accepted too. DUEQ_CANCELLED: the job was cancelled; it is
 * removed. A follow-up takes the job's place. DUEQ_NOTFOUND: there is no such job. DUEQ_STALE:
 * the job was claimed again or given back since that token was given. An ack after the end of
 * the lease is accepted if the job was not claimed again. */
enum dueq_status dueq_ack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          int64_t token, struct dueq_time time);

/* The same with a result, or with a time for which the done job is kept; dueq_get shows both.
 * When its window or the time is over, ticks remove it. A job whose place a follow-up takes
 * keeps no result. An ack with the same token that comes again changes nothing. DUEQ_FULL:
 * there is no room for it (see dueq_room), and the job stays claimed. DUEQ_INVALID, DUEQ_TOOBIG
 * and all statuses of dueq_ack. */
enum dueq_status dueq_finish(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, const struct dueq_done *done,
                             struct dueq_time time);

/* Is the job claimed, or was it, with that token and not given on since? Changes nothing.
 * DUEQ_NOTFOUND, DUEQ_STALE, DUEQ_CANCELLED: as dueq_ack; DUEQ_STALE also when it is done. */
enum dueq_status dueq_holds(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token);

/* Acks a job and adds the jobs that follow from it, or does nothing: an ack that would be the
 * second one is DUEQ_STALE. One of them may have the id of the acked job, when the ack makes
 * that free, and they may wait for it (dueq_push.after): it is done by then. done: as of
 * dueq_finish; NULL: as dueq_ack. DUEQ_CANCELLED: the job is gone, and nothing is added. No
 * argument may lie in the store: copy what a claim has shown. Statuses: dueq_finish,
 * dueq_push_many. */
enum dueq_status dueq_hand_over(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, int64_t token,
                                const struct dueq_done *done, const struct dueq_push *pushes,
                                size_t count, struct dueq_time time,
                                struct dueq_pushed *ret_pushed);

/* Gives a claimed job back. The job is dead when its retries or its ttl are used up, or when
 * nack->outcome is DUEQ_FATAL. (A topic may say that jobs whose ttl is used up are removed, or
 * that dead jobs go to another topic: there they are ready, and have no end of their ttl.)
 * *ret_state: its new state, that of the follow-up when there is one; DUEQ_DEAD also when the
 * job is removed or in another topic. After the end of the lease, when nobody has claimed the
 * job again, the nack takes the place of the crash that was counted. When the disk is full and
 * half of what is set aside is used, the attempt is counted, but its texts are not kept.
 * DUEQ_NOTFOUND, DUEQ_STALE, DUEQ_CANCELLED: as dueq_ack. */
enum dueq_status dueq_nack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                           enum dueq_state *ret_state);

/* The lease ends `lease` ms from now. *ret_end: when that is. After the end of the lease, when
 * nobody has claimed the job again, the claim goes on, and the crash that was counted is
 * forgotten. DUEQ_NOTFOUND, DUEQ_STALE: as dueq_ack; DUEQ_STALE also when no more jobs of its
 * topic or group may be claimed by then. DUEQ_CANCELLED: the job was cancelled; the lease ends
 * when it would have. */
enum dueq_status dueq_extend(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, int64_t lease, struct dueq_time time,
                             int64_t *ret_end);

/* The same, and keeps with the job how far the work has come; size 0: as it was. Of longer
 * texts the first DUEQ_PROGRESS_MAX bytes. */
enum dueq_status dueq_extend_with(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_slice id, int64_t token, int64_t lease,
                                  struct dueq_slice progress, struct dueq_time time,
                                  int64_t *ret_end);

/* The lease of the claim with this token ends now, as dueq_tick ends those whose time is over:
 * the job is ready, or dead after too many crashes. A late ack with nobody in between is
 * accepted. For a worker that is known to be gone. DUEQ_NOTFOUND. DUEQ_STALE: the claim has
 * ended. O(log n). */
enum dueq_status dueq_end_lease(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, int64_t token, struct dueq_time time);

/* Changes when a delayed or ready job is due: `when` ms from now, or at `when` (absolute, unix
 * ms; a past time means now). *ret_due: when that is, unix ms. Its ttl counts from there. A job
 * that is ready keeps its place when it is to be due now (0).
 * DUEQ_NOTFOUND. DUEQ_WRONGSTATE: it is claimed, dead or done. DUEQ_FULL: as dueq_claim. */
enum dueq_status dueq_reschedule(struct dueq *store, struct dueq_slice topic,
                                 struct dueq_slice id, bool absolute, int64_t when,
                                 struct dueq_time time, int64_t *ret_due);
/* Changes what a job says. changes->topic and ->id name it; of its options those that are not
 * DUEQ_DEFAULT count, and its body when with_body is set; the others have no effect. Of a
 * claimed job the options can be changed, not the body. A new ttl counts from the due time; of
 * a claimed job that had none, from the claim. DUEQ_NOTFOUND. DUEQ_WRONGSTATE: it is
 * dead or done, or claimed with a new body. DUEQ_FULL, DUEQ_LIMIT, DUEQ_TOOBIG, DUEQ_INVALID:
 * as dueq_push; what makes room for a larger body are other jobs. O(size of the body). */
enum dueq_status dueq_update(struct dueq *store, const struct dueq_push *changes,
                             bool with_body, struct dueq_time time);
/* Moves a delayed or ready job to another topic, with its id, options and attempts.
 * DUEQ_NOTFOUND. DUEQ_WRONGSTATE. DUEQ_DUPLICATE, DUEQ_PAUSED, DUEQ_LIMIT, DUEQ_TOOBIG,
 * DUEQ_FULL: as of a push into the other topic, whose oldest jobs may make room. Its tokens of
 * this topic are void. O(size of the body). */
enum dueq_status dueq_move(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_slice other, struct dueq_time time);
/* Cancels a job. One that waits is removed (*ret_claimed: false). A claimed one stays with its
 * worker, which learns of it when it extends, acks or gives back: then, or when its lease ends,
 * it is removed. A follow-up is removed at once. DUEQ_NOTFOUND. DUEQ_WRONGSTATE: it is dead or
 * done. */
enum dueq_status dueq_cancel(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             struct dueq_time time, bool *ret_claimed);

/* Shows a job in any state. DUEQ_NOTFOUND. */
enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job);

/* Calls fn for up to `most` of the jobs that a waiting one waits for, by topic and in order of
 * arrival, those after *place, which it moves; for none when it does not wait. DUEQ_NOTFOUND.
 * DUEQ_WRONGSTATE: libdueq-small knows no such jobs. O(most * log n). */
enum dueq_status dueq_awaited(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                              struct dueq_time time, unsigned most,
                              struct dueq_awaited_place *place, dueq_awaited_fn fn, void *arg);

/* Removes a job in any state. DUEQ_NOTFOUND. */
enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time);

/* ---- waiting for the end of jobs */

/* Watches a delayed, ready or claimed job: when it has ended, dueq_next_end returns `arg`
 * once. A follow-up that takes the place of a job is no end: it is watched then. *ret_watch:
 * valid until that, until dueq_unwatch, or until the store is closed or abandoned; a restart
 * forgets it. DUEQ_NOTFOUND. DUEQ_WRONGSTATE: the job is dead or done. DUEQ_DUPLICATE: it is
 * watched already. DUEQ_TOOBIG: DUEQ_WATCHES_MAX jobs are. O(log n). */
enum dueq_status dueq_watch_end(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, void *arg, struct dueq_watch **ret_watch);
/* Ends the watch; it also works when the job has ended. O(1). */
void dueq_unwatch(struct dueq *store, struct dueq_watch *watch);
/* How the next of the watched jobs has ended, in order; its watch is over. The end may be in
 * the batch that is not yet committed. False: there is no more. O(1). */
bool dueq_next_end(struct dueq *store, void **ret_arg, enum dueq_end *ret_end);

/* ---- what happens to jobs */

/* From now on what happens to jobs is noted, for dueq_next_event; false: no more. A hint, in
 * RAM only: the oldest DUEQ_EVENTS_MOST are kept until they are taken, and more are lost. While
 * nobody listens it costs nothing. O(1), false: O(events). */
void dueq_listen(struct dueq *store, bool listens);
/* The oldest event that was not taken; it may be in the batch that is not yet committed. Its
 * slices are valid until the next call of this function. False: there is none. O(1). */
bool dueq_next_event(struct dueq *store, struct dueq_event *ret_event);

/* A topic for which DUEQ_SET_EVENTS is set keeps its last events on disk, each in the same
 * batch as the change that it tells of. They have numbers that go on by one and never go back.
 * Calls fn for those after the number `after` (0: from the first that there was), in order. For
 * those that are not kept any more, or were not because the disk was full, it gets a gap. At
 * most `count` events and gaps. A topic that does not exist has none. DUEQ_WRONGSTATE: the
 * topic keeps no events. DUEQ_INVALID. O(log n), and O(1) for each. */
enum dueq_status dueq_events(struct dueq *store, struct dueq_slice topic, uint64_t after,
                             size_t count, dueq_kept_fn fn, void *arg);
/* The number of the topic's last event; 0: there was none. DUEQ_WRONGSTATE, DUEQ_INVALID. */
enum dueq_status dueq_last_event(struct dueq *store, struct dueq_slice topic,
                                 uint64_t *ret_number);

/* ---- looking at many jobs. None of these changes anything. Each call stops after 16 MiB of
 * bodies, with fewer jobs than wanted, as reading them takes time. */

/* Calls fn for a part of the topic's jobs. cursor: "0" begins; the text in ret_cursor goes on
 * where the call stopped, and is "0" when everything was looked at. Nothing is kept between
 * calls, so a scan need not be ended, and changes and restarts between two calls do no harm.
 *
 * A job that is there, in the wanted state, during the whole scan is given to fn once at least;
 * others may be. With by_due this holds for a job that keeps its due time and priority.
 *
 * ret_cursor: DUEQ_CURSOR_SIZE bytes. DUEQ_NOTFOUND: there is no such topic. DUEQ_INVALID: the
 * cursor is not from such a scan. A call may find nothing and not be at the end. O(count *
 * log n), with by_due also O(priorities in use). */
enum dueq_status dueq_scan(struct dueq *store, const struct dueq_scan *scan,
                           struct dueq_slice cursor, struct dueq_time time, dueq_job_fn fn,
                           void *arg, char *ret_cursor);

/* Calls fn for the next jobs of the topic in order. Ready ones: as they would be claimed now,
 * and after them those in the lists of their groups, group by group. Delayed ones: by due time,
 * then priority. Claimed ones: by the end of the lease. Dead ones: those that died first. Done
 * ones: those that are removed first. DUEQ_NOTFOUND: there is no such topic. DUEQ_BUSY: the
 * call met tens of thousands of records that were removed just now, and stopped; call again
 * from the start. O(count * priorities in use * log n). */
enum dueq_status dueq_peek(struct dueq *store, const struct dueq_peek *peek,
                           struct dueq_time time, dueq_job_fn fn, void *arg);

/* Counts the delayed jobs that fall due in each bucket: in bucket i those due later than i
 * lengths after the first call, up to i + 1 lengths after it. Jobs are counted by the page of
 * the schedule, not one by one. A step of *budget pays for a page of data.mdb, or for a record
 * that was changed since the last checkpoint; 1,000 steps take a part of a ms. DUEQ_BUSY: the
 * budget is spent; call again with the same struct and a new budget (2 or more). If the topic
 * changes between two calls, a change may be counted or not: a job that moves to a later bucket
 * then counts in both. DUEQ_NOTFOUND: there is no such topic. DUEQ_INVALID. */
enum dueq_status dueq_forecast(struct dueq *store, struct dueq_forecast *forecast,
                               struct dueq_time time, unsigned *budget);

/* How many jobs would be claimed before this one, if it is ready; 0 if it is not.
 * DUEQ_BUSY: too many to count them in some 2 ms, or jobs of the topic wait for their groups,
 * so that their order is not known. DUEQ_NOTFOUND. */
enum dueq_status dueq_ahead(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                            struct dueq_time time, uint64_t *ret_ahead);
/* What the group of a job has; of a job without a group all is zero but `most`. DUEQ_NOTFOUND:
 * the topic has no such job. O(log n). */
enum dueq_status dueq_group_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_slice id, struct dueq_group_stats *ret_stats);

/* ---- dead jobs */

/* Goes through the dead jobs of a topic, those that died first before the others, and looks at
 * them, removes them (purge), or lets them begin anew (redrive): without failures and crashes
 * so far, due now or spread over time, in their own topic or in another one. Their history and
 * last error stay. Jobs that die after the first call are not touched.
 *
 * One call does about `budget` steps (1 or more): a step for a job, four for one that is purged
 * or redriven, more for large bodies. It stops when the batch can hold no more. Call it with
 * the same query and progress until progress->is_over, with commits in between (DUEQ_TOOBIG:
 * one batch cannot hold the next job alone); changes of others in between do no harm. fn: gets
 * each job of a look or of a dry run; may be NULL.
 *
 * A pause of a topic does not hold a redrive up. In another topic a job keeps its id and
 * options, but has no end of its ttl. One whose id is taken there stays dead and counts as
 * skipped, and so does one for which a limit of the topic (the length; in another topic the
 * bytes, too) has no room: a redrive drops nothing.
 *
 * DUEQ_INVALID: a name, older, rate or period is out of range. DUEQ_FULL: no room for the next
 * job of a redrive. On these and other errors the jobs before keep what was done with them. A
 * topic that does not exist has no dead jobs. */
enum dueq_status dueq_dead(struct dueq *store, const struct dueq_dead *query,
                           struct dueq_time time, unsigned budget, dueq_job_fn fn, void *arg,
                           struct dueq_dead_progress *progress);

/* ---- topics */

/* Counts and totals of one topic. DUEQ_NOTFOUND: there is no such topic. The counts of delayed
 * and ready jobs are exact, unless thousands of jobs have fallen due since the last tick. Then
 * `counting` is true: some ready jobs still count as delayed, oldest_ready_age and next_due are
 * those of the jobs counted so far, and dueq_tick or another call counts more. The sum of the
 * two counts is always exact. A lease or ttl that has ended counts after the next dueq_tick.
 * Bounded: about 1 ms. */
enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats);

/* How long the topic's jobs waited, ran and were late. In RAM only: since the store was opened
 * (not before `since`), and for the topics used last: some thousands. DUEQ_NOTFOUND: there is
 * no such topic. O(different times), at most 1,900. */
enum dueq_status dueq_topic_latencies(struct dueq *store, struct dueq_slice topic,
                                      struct dueq_time time,
                                      struct dueq_latencies *ret_latencies);

/* The same for all topics together; the totals include topics that were dropped. With more than
 * DUEQ_TOPICS_AGED topics, delayed and ready are those of the last dueq_tick (`counting`: that
 * tick did not finish), next_due is DUEQ_NEVER and the age is DUEQ_DEFAULT: both unknown. */
enum dueq_status dueq_total_stats(struct dueq *store, struct dueq_time time,
                                  struct dueq_topic_stats *ret_stats);

/* Returns the first topic name after `after` in byte order; size 0: the first of all.
 * DUEQ_NOTFOUND: there is none. A topic without jobs, with its totals, is dropped when a
 * thousand others became empty after it. */
enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name);
/* The same for topics that have claimed jobs. *budget: steps, one for each topic that is looked
 * at. DUEQ_BUSY: it is used up; *ret_name goes on from there. */
enum dueq_status dueq_claimed_topic_after(struct dueq *store, struct dueq_slice after,
                                          unsigned *budget, struct dueq_slice *ret_name);
size_t dueq_topic_count(const struct dueq *store);

/* Returns the names of up to `most` topics, and how many they are: those with jobs that were
 * used last, the latest first, then those without, then any others. All of them when there are
 * no more than `most`, unless thousands have been dropped. Valid until the next call that
 * changes the store. O(most). */
size_t dueq_recent_topics(struct dueq *store, struct dueq_slice *ret_names, size_t most);

/* Pauses a topic: `in` refuses pushes (DUEQ_PAUSED), `out` lets claims find nothing; neither
 * resumes it. wait: ms after which it resumes by itself; DUEQ_DEFAULT: never. A topic without
 * jobs can be paused too. DUEQ_NOTFOUND: there is nothing to resume. */
enum dueq_status dueq_pause(struct dueq *store, struct dueq_slice topic, bool in, bool out,
                            int64_t wait, struct dueq_time time);

/* Removes the jobs of a topic that were there at the first call and are not claimed. Call it
 * with the same arguments until progress->is_over. budget: steps, 1 or more; a job that is
 * looked at costs one, a job that is removed four. DUEQ_INVALID. O(budget * log n). */
enum dueq_status dueq_purge(struct dueq *store, const struct dueq_purge *purge,
                            struct dueq_time time, unsigned budget,
                            struct dueq_purge_progress *progress);

/* Removes a topic with its jobs, totals, pause, and the settings of its name (not those of
 * patterns). Ids and tokens of a topic of the same name that comes later are new ones. The
 * totals of all topics keep its share. DUEQ_NOTFOUND: there is neither a topic nor settings.
 * O(1): dueq_tick removes the records. */
enum dueq_status dueq_drop(struct dueq *store, struct dueq_slice topic, struct dueq_time time);

/* ---- settings of topics. A scope is the name of a topic, or a glob pattern (with `*`, `?` or
 * `[`) for all topics whose name matches. What a job does not set itself comes from the scope
 * with the topic's name, else from the longest pattern that sets it, else from
 * dueq_set_defaults. A change applies to new jobs, and to the next claim or failure of those
 * that wait. */

/* Replaces all settings of the scope; settings without any value remove the scope.
 * DUEQ_INVALID: the scope's name, a value is out of range, or a topic is its own dead-letter
 * topic (of a pattern that also matches that one, it is not). DUEQ_TOOBIG: there are
 * DUEQ_SCOPES_MAX. */
enum dueq_status dueq_put_settings(struct dueq *store, struct dueq_slice scope,
                                   const struct dueq_settings *settings);
/* DUEQ_NOTFOUND: the scope sets nothing. */
enum dueq_status dueq_get_settings(struct dueq *store, struct dueq_slice scope,
                                   struct dueq_settings *ret_settings);
/* The scope that decides this setting for a topic of that name; size 0: none. setting: enum
 * dueq_setting, or DUEQ_SETTINGS for the dead-letter topic. Valid until the next change of
 * settings. O(patterns). */
struct dueq_slice dueq_setting_source(struct dueq *store, struct dueq_slice topic,
                                      unsigned setting);
/* The first scope in byte order after `after`; size 0: the first of all. DUEQ_NOTFOUND: there
 * is none. O(log n). */
enum dueq_status dueq_settings_after(struct dueq *store, struct dueq_slice after,
                                     struct dueq_slice *ret_scope);

/* ---- recurring jobs: see cron.h */

/* No name, no times; all defaults. */
void dueq_cron_init(struct dueq_cron *cron);
/* "none", "one" or "all"; static text. */
const char *dueq_catchup_name(enum dueq_catchup catchup);
/* "queue" or "skip"; static text. */
const char *dueq_overlap_name(enum dueq_overlap overlap);

/* Where the rules of time zones come from: the store has none. fn NULL, as after the opening:
 * there is only UTC, and entries of other zones wait. */
void dueq_set_zones(struct dueq *store, dueq_zone_fn fn, void *arg);
/* How many entries there may be; at first 10,000. Those above it stay. */
void dueq_set_cron_limit(struct dueq *store, uint64_t entries);

/* Makes an entry, or changes the one of that name; its counts, its pause and, when the times
 * are the same as before, its next time stay. error: says what is wrong with DUEQ_INVALID; may
 * be NULL. DUEQ_INVALID: a value, the spec, a spec that no date fits, or a zone that is not
 * known. DUEQ_TOOBIG: the body; or there are as many entries as may be. DUEQ_FULL. O(log n). */
enum dueq_status dueq_cron_set(struct dueq *store, const struct dueq_cron *cron,
                               struct dueq_time time, struct dueq_error *error);
/* The slices are valid until the next call that changes the store. DUEQ_NOTFOUND. */
enum dueq_status dueq_cron_get(struct dueq *store, struct dueq_slice name,
                               struct dueq_cron *ret_cron, struct dueq_cron_state *ret_state);
/* Its jobs stay. DUEQ_NOTFOUND. */
enum dueq_status dueq_cron_del(struct dueq *store, struct dueq_slice name);
/* Times that pass during a pause are not missed, and no firing makes up for them.
 * DUEQ_NOTFOUND. DUEQ_INVALID: the zone cannot be read now. */
enum dueq_status dueq_cron_pause(struct dueq *store, struct dueq_slice name, bool pause,
                                 struct dueq_time time);
/* Fires now, also during a pause. The next time stays as it is. DUEQ_NOTFOUND. DUEQ_WRONGSTATE:
 * DUEQ_OVERLAP_SKIP. Others as dueq_push. */
enum dueq_status dueq_cron_run(struct dueq *store, struct dueq_slice name,
                               struct dueq_time time, struct dueq_pushed *ret_pushed);
/* The next `count` times, unix ms; *ret_count: how many there are. Of a paused entry: as if it
 * were resumed now. DUEQ_NOTFOUND. DUEQ_INVALID: the zone cannot be read. */
enum dueq_status dueq_cron_next(struct dueq *store, struct dueq_slice name,
                                struct dueq_time time, size_t count, int64_t *ret_times,
                                size_t *ret_count);
/* The first name in byte order after `after`; size 0: the first of all. Valid until the next
 * call that changes the store. DUEQ_NOTFOUND: there is none. O(log n). */
enum dueq_status dueq_cron_after(struct dueq *store, struct dueq_slice after,
                                 struct dueq_slice *ret_name);
/* O(1). */
void dueq_get_cron_stats(const struct dueq *store, struct dueq_cron_stats *ret_stats);

/* ---- all at once */

/* Removes all jobs and topics, and the server's keys. O(1): dueq_tick gives the space back. */
enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time);

/* ---- time and waiting */

/* Does what is due, in at most `budget` steps: ends leases, declares jobs dead whose ttl has
 * run out, counts jobs that fall due. Less than 16 steps count as 16: each call comes further.
 * True: there is more to do; call again. */
bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget);

/* In how many ms after `time` dueq_tick must be called; DUEQ_NEVER: nothing is scheduled.
 * O(1). */
int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time);

/* Returns a topic in which a job became ready since the last call (by a push, a nack, the end
 * of a lease, or because it fell due). Each topic is returned once, in order. DUEQ_NOTFOUND:
 * there is no more. */
enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic);

#ifdef __cplusplus
}
#endif

#endif
