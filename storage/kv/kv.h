/* One ordered, durable map of byte keys to byte values. Changes go into the journal and into a
 * memtable in RAM; a checkpoint merges the memtable into LMDB later.
 *
 * Threads: one thread, the owner, calls all functions. Inside, a sync thread runs fdatasync and
 * a checkpoint thread writes LMDB. Neither calls back except through `options.notify`.
 *
 * Writes: kv_get and cursors see changes by kv_put and kv_del at once. The changes gather in a
 * batch; kv_commit appends the batch to the journal as one atomic record.
 *
 * Failure: if a write cannot be kept in memory or on disk, the store has failed, for good. From
 * then on every call that reads or commits returns the reason, kv_put and kv_del change
 * nothing, and nothing of the batch becomes durable. The owner closes the store and reopens it
 * from what is on disk. So kv_put and kv_del need no status. */
#ifndef DUEQ_KV_H
#define DUEQ_KV_H

#include "storage/asks.h"
#include "storage/kv/key.h"
#include "storage/options.h"
#include "storage/slice.h"
#include "storage/stats.h"
#include "storage/status.h"
#include "storage/types.h"

#include <stdbool.h>
#include <stdint.h>

struct kv;
struct dueq_hold;

enum { KV_PUT_PARTS_MAX = 4 }; /* slices of one value given to kv_putv */

/* Opens or creates DIR (data.mdb, lock.mdb, FORMAT, journal/), takes its lock, replays the
 * journal. Cuts off a torn tail. DUEQ_CORRUPT: damage up to a record that is known to be
 * durable; the directory does not change. Others: DUEQ_INVALID (an option, or the length of
 * dir), DUEQ_LOCKED, DUEQ_FORMAT, DUEQ_IO, DUEQ_FULL, DUEQ_NOMEM, DUEQ_STOPPED. On failure
 * *ret_kv is untouched and error says why. O(journal). */
enum dueq_status kv_open(const char *dir, const struct dueq_options *options,
                         struct kv **ret_kv, struct dueq_error *error);

/* For those who load what they need after kv_open: so many topics are loaded. DUEQ_STOPPED:
 * options.on_progress wants no more of it. O(1). */
enum dueq_status kv_report_topics(struct kv *kv, uint64_t topics);

/* Makes all commits durable, checkpoints them so that the next opening replays nothing, and
 * frees everything. Does not commit: a batch is dropped, and then there is no checkpoint and
 * the next opening replays the journal. Returns the status of the checkpoint or sync; memory is
 * freed in any case. kv may be NULL. */
enum dueq_status kv_close(struct kv *kv);

/* Frees everything without checkpoint or sync; the disk is as after a crash. For a failed
 * store, and for tests. kv may be NULL. */
void kv_abandon(struct kv *kv);

/* ---- reading; cursor.h walks in order */

/* O(log n). *ret_value lives until the key is written or deleted, and no longer than the next
 * kv_commit or kv_maintain. DUEQ_NOTFOUND: there is no such key. */
enum dueq_status kv_get(struct kv *kv, struct dueq_slice key, struct dueq_slice *ret_value);

/* For who will look for several keys: the next kv_get of these wait less for memory. It changes
 * no result. At most KV_PREFETCH_MOST. O(log n) for each. */
enum { KV_PREFETCH_MOST = 32 };
void kv_prefetch(struct kv *kv, const struct dueq_slice *keys, size_t count);
/* For who will put a key soon: that waits less for memory then. It changes no result. O(log n),
 * which the put saves. */
void kv_expect(struct kv *kv, struct dueq_slice key);
#ifdef DUEQ_SMALL /* its memtables fit into the caches */
enum { KV_EXPECTS = 0 };
#else
enum { KV_EXPECTS = 1 };
#endif

/* As kv_get, in the newest *levels levels (KV_ALL_LEVELS: in all). Sets *levels to how many of
 * them contain whatever was written since a key that was found was first put; KV_ALL_LEVELS
 * when that is not known. So a record that is never written before another one is not searched
 * on the disk while the other one is only in memory. */
enum { KV_ALL_LEVELS = 3 };
enum dueq_status kv_get_within(struct kv *kv, struct dueq_slice key, unsigned *levels,
                               struct dueq_slice *ret_value);

/* Between these two calls a read that meets a large value of data.mdb which was not checked yet
 * checks a part of it and answers DUEQ_BUSY; the same read goes on from there. The parts are
 * KV_CHECK_BYTES between two calls of kv_maintain. After a change there are no parts any more,
 * so one who is answered DUEQ_BUSY has changed nothing, and can run again from the start.
 * kv_end_slices: was there such an answer? O(1). */
enum { KV_CHECK_BYTES = 2 * 1024 * 1024 };
void kv_begin_slices(struct kv *kv);
bool kv_end_slices(struct kv *kv);
bool kv_in_slices(const struct kv *kv);
/* For one who may not wait for kv_maintain: KV_CHECK_BYTES may be checked from now on. */
void kv_renew_slices(struct kv *kv);

/* Keeps the value that contains the byte readable and unchanged until kv_let_go, whatever
 * becomes of its key. `byte` is of a slice that is still valid. NULL: it is no large value (it
 * is shorter than 16 KiB and a bit), or there is no room for one more hold: copy the bytes. Let
 * it go soon, and before the store is closed: what checkpoints free stays in the file until
 * then. O(large values in memory). */
struct dueq_hold *kv_hold(struct kv *kv, const void *byte);
void kv_let_go(struct dueq_hold *hold);

/* ---- writing; room.h says what may be written. Key: 1 to KV_KEY_MAX bytes, the first not
 * 0 and not 255. */

/* Key and value are copied. `absent`: the caller knows that the key is not present now (kv_get
 * would answer DUEQ_NOTFOUND). A kv_del before the next checkpoint then leaves nothing, not
 * even a tombstone. O(log n). */
void kv_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value, bool absent);

/* The same for a value given in pieces, at most KV_PUT_PARTS_MAX. No piece: an empty value. */
void kv_putv(struct kv *kv, struct dueq_slice key, const struct dueq_slice *parts, size_t count,
             bool absent);

/* A large value whose last part is one of these loans is taken over, not copied: the store sets
 * loan->memory to NULL and frees the memory later; the bytes stay readable until the next
 * kv_commit at least. The array is the caller's and must live until the next call, which
 * replaces it (NULL, 0: none). */
void kv_lend(struct kv *kv, struct dueq_loan *loans, size_t count);

/* A key that is not present is no error. O(log n). */
void kv_del(struct kv *kv, struct dueq_slice key);

/* True: a checkpoint runs, and there is pressure (pressure.h). Work that can wait should wait,
 * because it takes from what others may still write. O(1). */
bool kv_is_behind(const struct kv *kv);

/* True: a change of so many bytes should wait. It is large, and either an earlier large record
 * is not written yet, or the commit would wait for a checkpoint that runs. Ask again after
 * options.notify was called. O(1). */
bool kv_is_busy(const struct kv *kv, size_t bytes);

/* ---- the batch */

/* Bytes gathered since the last commit; 0: nothing to commit. Owners commit early when a batch
 * grows past some MiB. A record holds at most options.record_bytes; more, which kv_room
 * refuses, makes the store failed. */
size_t kv_batch_bytes(const struct kv *kv);

/* The record of the batch asks for this (a sum of enum asks) too. Without a call it asks for
 * what the mode says. */
void kv_ask(struct kv *kv, unsigned asks);

/* Appends the batch as one record that contains `now` (unix ms; only journal readers use it).
 * *ret_lsn: the LSN of the last commit, also for an empty batch, which writes nothing. Waits
 * for the checkpoint at KV_PRESSURE_MOST, without options.heeds_pressure. DUEQ_FULL,
 * DUEQ_NOMEM: there is no room, memory or descriptor for the record now; the store is sound and
 * the batch stays: commit again later, or abandon the store. Any other status: the store has
 * failed; DUEQ_TOOBIG: the batch was larger than DUEQ_RECORD_MAX. */
enum dueq_status kv_commit(struct kv *kv, int64_t now, uint64_t *ret_lsn);

/* All commits up to this LSN are durable, so replies to them may be sent. Never decreases.
 * O(1). */
uint64_t kv_durable_lsn(const struct kv *kv);

/* All commits up to this LSN are written: that is enough for a reply whose changes ask for
 * ASKS_INTERVAL. Never less than kv_durable_lsn. O(1). */
uint64_t kv_written_lsn(const struct kv *kv);

/* Would a commit be synced at once, because no other one waits for its sync? *ret_usec: how
 * long a sync takes, a mean of the last ones; 0: there was none. O(1). */
bool kv_may_sync(const struct kv *kv, uint64_t *ret_usec);

/* The LSN of the last commit. */
uint64_t kv_last_lsn(const struct kv *kv);

/* The greatest `now` ever committed to this directory; 0 for a new one. */
int64_t kv_time_floor(const struct kv *kv);

/* Blocks until lsn is durable or the store has failed. */
enum dueq_status kv_wait(struct kv *kv, uint64_t lsn);

/* DUEQ_OK, or why the store failed (DUEQ_IO, DUEQ_NOMEM, DUEQ_CORRUPT, ...). */
enum dueq_status kv_status(const struct kv *kv);

/* The failure in words: which call on which file, errno; "" while the store is sound. Lives as
 * long as kv. */
const char *kv_failure(const struct kv *kv);
/* The caller has changed a part of what belongs together and cannot go on: the store fails, and
 * nothing since the last commit becomes durable. */
void kv_give_up(struct kv *kv, enum dueq_status status);

/* After a read that returned DUEQ_CORRUPT or DUEQ_IO: the page of data.mdb, and what is wrong
 * with it. Lives until the next call. "": no damaged page was found since kv_forget_damage;
 * then the record has the right checksum but not the content that its reader expects. */
const char *kv_damage(const struct kv *kv);
void kv_forget_damage(struct kv *kv);

/* ---- housekeeping */

/* Call it once per turn, after the commit. Has a memtable freed that is checkpointed, renews
 * the LMDB snapshot, checks the room every 200 ms. Starts a checkpoint when 20 calls in a row
 * were idle and it is worth its cost, or when cursors stepped over 200,000 tombstones.
 * (kv_commit starts the checkpoint of a full memtable.) `idle`: the caller has nothing else to
 * do now. */
void kv_maintain(struct kv *kv, bool idle);
/* With options.drop_pages: what was read of data.mdb leaves the memory of the process now. */
void kv_drop_pages(struct kv *kv);
/* True: until the store is used or notifies, kv_maintain has nothing to do. */
bool kv_rests(const struct kv *kv);

/* Starts a checkpoint of all that is committed. No effect if one runs, if there is nothing new,
 * or if there is a batch. */
void kv_checkpoint_start(struct kv *kv);

/* The same, and waits until all is in LMDB and the journal is recycled. DUEQ_INVALID: there is
 * a batch. DUEQ_FULL: the disk or the map is full; after about 2 s it gave up, and the journal
 * still has everything. */
enum dueq_status kv_checkpoint(struct kv *kv);

/* As dueq_compact and dueq_set_auto_compact; kv_maintain starts it. */
enum dueq_status kv_compact(struct kv *kv);
/* As dueq_backup; kv_maintain starts it. */
enum dueq_status kv_backup(struct kv *kv, const char *path);
/* As dueq_backup_from; base NULL: as kv_backup. */
enum dueq_status kv_backup_from(struct kv *kv, const char *path, const char *base);
void kv_set_auto_compact(struct kv *kv, unsigned percent, uint64_t bytes);

enum dueq_durability kv_durability(const struct kv *kv);
/* Changes the sync mode of a running store. */
void kv_set_durability(struct kv *kv, enum dueq_durability durability, unsigned interval_ms);

void kv_get_stats(const struct kv *kv, struct dueq_stats *ret_stats);

/* Checks every page and every value of data.mdb, as the last checkpoint left it; the opening
 * has checked the journal. DUEQ_CORRUPT: kv_damage says what was found. O(data). */
enum dueq_status kv_check(struct kv *kv, uint64_t *ret_records);

/* A random number that is made with the directory and never changes; the seed of the hashes of
 * folded keys. */
uint64_t kv_seed(const struct kv *kv);

/* Of the history (journal/history.h) that commits belong to now. 0 for a directory that was
 * never copied; greater for one that goes on from a copy of another. */
uint64_t kv_epoch(const struct kv *kv);

/* Bytes that one memtable may hold: options.memtable_bytes. */
uint64_t kv_memtable_limit(const struct kv *kv);
/* The filters of runs may take `most` bytes of memory, at most 16 MiB; none until it is called.
 * Those that have no room are read from the file. */
void kv_keep_filters(struct kv *kv, size_t most);

#endif
