/* One ordered, durable map of byte keys to byte values: journal in front, memtable in RAM, LMDB
 * checkpointed behind. See DESIGN in ARCHITECTURE.md, "storage/kv".
 *
 * Threads: every function here is called by one thread, the owner. Inside, a sync thread runs
 * fdatasync and a checkpoint thread writes LMDB; neither calls back except through
 * `options.notify`.
 *
 * Writes: kv_put and kv_del change what kv_get and cursors see at once, and gather in the
 * current batch. kv_commit appends the batch to the journal as one atomic record. A write that
 * cannot be kept in memory or on disk makes the store failed, for good: from then on every call
 * that reads or commits answers the reason, kv_put and kv_del change nothing, nothing of the
 * batch is ever settled, and the owner closes and reopens from what is on disk. That is why
 * kv_put and kv_del return nothing. */
#ifndef DUEQ_KV_H
#define DUEQ_KV_H

#include "storage/options.h"
#include "storage/stats.h"
#include "storage/slice.h"
#include "storage/status.h"
#include "storage/types.h"

#include <stdbool.h>
#include <stdint.h>

struct kv;
struct kv_cursor;

enum {
    KV_KEY_MAX = 511,    /* bytes; LMDB's compiled-in limit. Longer names are folded: key.h */
    KV_PUT_PARTS_MAX = 4 /* slices of one value given to kv_putv */
};

/* Opens or creates DIR (data.mdb, lock.mdb, FORMAT, journal/), takes its lock, replays the
 * journal. A torn tail is cut; damage before a record known to be durable is DUEQ_CORRUPT and
 * leaves the directory untouched. On failure *ret_kv is untouched and error says why. */
enum dueq_status kv_open(const char *dir, const struct dueq_options *options,
                         struct kv **ret_kv, struct dueq_error *error);

/* Settles what is committed, checkpoints it so that the next open replays nothing, frees
 * everything. Commits nothing: a batch under way is dropped, and then there is no checkpoint
 * either, the next open replays the journal. The status is that of the checkpoint or sync;
 * memory is freed whatever it is. kv may be NULL. */
enum dueq_status kv_close(struct kv *kv);

/* Frees everything without checkpoint or sync: what is on disk stays as a crash would leave it.
 * For a failed store, and for tests. kv may be NULL. */
void kv_abandon(struct kv *kv);

/* ---- reading: O(log n). Slices live until their key is written or deleted, and not beyond the
 * next kv_commit or kv_maintain; those of a cursor until it moves, too. */

enum dueq_status kv_get(struct kv *kv, struct dueq_slice key, struct dueq_slice *ret_value);

/* A cursor's position is a key, not a place: it survives every write, commit and checkpoint.
 * Any number may be open. Every move answers DUEQ_OK, DUEQ_NOTFOUND (past the end; position
 * lost) or an error. */
struct kv_cursor *kv_cursor_new(struct kv *kv); /* NULL: out of memory */
void kv_cursor_free(struct kv_cursor *cursor);

enum dueq_status kv_cursor_seek(struct kv_cursor *cursor, struct dueq_slice key); /* >= key */
enum dueq_status kv_cursor_seek_last(struct kv_cursor *cursor,
                                     struct dueq_slice key); /* < key */
enum dueq_status kv_cursor_next(struct kv_cursor *cursor);
enum dueq_status kv_cursor_prev(struct kv_cursor *cursor);

struct dueq_slice kv_cursor_key(const struct kv_cursor *cursor);
struct dueq_slice kv_cursor_value(const struct kv_cursor *cursor);

/* How many deleted records the last move stepped over: what it cost beyond O(log n). They are
 * remembered, so that no other move steps over them, and gone with the next checkpoint. */
uint64_t kv_cursor_passed(const struct kv_cursor *cursor);

/* The same moves for those who must not take long: a step of the budget pays for
 * KV_TOMBSTONES_A_STEP deleted records. When it is spent among them the answer is
 * DUEQ_NOTFOUND, *budget is 0 and the position lost; a seek from there again goes on where this
 * one stopped. NULL: any number of steps. */
enum { KV_TOMBSTONES_A_STEP = 8 };
enum dueq_status kv_cursor_seek_within(struct kv_cursor *cursor, struct dueq_slice key,
                                       unsigned *budget);
enum dueq_status kv_cursor_seek_last_within(struct kv_cursor *cursor, struct dueq_slice key,
                                            unsigned *budget);
enum dueq_status kv_cursor_next_within(struct kv_cursor *cursor, unsigned *budget);

/* ---- writing */

/* `absent`: the caller knows that the key is not present now (as kv_get would tell). Then a
 * kv_del before the next checkpoint leaves nothing behind, not even a tombstone. Key and value
 * are copied. Key: 1 to KV_KEY_MAX bytes. */
void kv_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value, bool absent);

/* The same for a value given in pieces. */
void kv_putv(struct kv *kv, struct dueq_slice key, const struct dueq_slice *parts, size_t count,
             bool absent);

/* From now on these may be taken, until others are lent (NULL, 0: none). What is taken stays as
 * it is until the next kv_commit at least. */
void kv_lend(struct kv *kv, struct dueq_loan *loans, size_t count);

/* A key that is not present is no error. */
void kv_del(struct kv *kv, struct dueq_slice key);

/* Asked before anything is changed: may the batch grow by about so many more bytes of keys and
 * values? DUEQ_OK; DUEQ_FULL when growth must be refused (map at its high-water mark, or the
 * disk at its reserve) so that what drains the store still fits, DUEQ_NOMEM for want of a
 * descriptor; DUEQ_TOOBIG when one record
 * would not hold it; or why the store failed. What DUEQ_OK has promised room to in the journal
 * is set aside until the commit. O(1), and now and then a file that is made. */
enum dueq_status kv_room(struct kv *kv, size_t bytes);

/* The same for several changes that are to be made all or none. What was said yes to stays so
 * for every kv_room within these bytes, until the commit. */
enum dueq_status kv_grant(struct kv *kv, size_t bytes);

/* Is a checkpoint under way that a busy writer is about to run into? Work that can wait should,
 * for otherwise a commit waits, and everybody with it. */
bool kv_is_behind(const struct kv *kv);

/* Should a change of so many bytes wait? It is large, and what was written before is still on
 * its way to the journal, or a commit would wait for a checkpoint that runs. Ask again when
 * options.notify has been called. O(1). */
bool kv_is_busy(const struct kv *kv, size_t bytes);

/* May what drains the store be written? DUEQ_FULL when the disk has no room and what was set
 * aside for this is used up, too: then only reading goes on. O(1). */
enum dueq_status kv_drains(struct kv *kv);

/* ---- the batch */

/* Bytes gathered since the last commit; 0: nothing to commit. Owners commit early when a batch
 * grows past some MiB. A record holds at most options.record_bytes; more, which kv_room
 * refuses, makes the store failed. */
size_t kv_batch_bytes(const struct kv *kv);

/* Appends the batch as one record that carries `now` (unix ms; for whoever reads the journal).
 * An empty batch commits nothing. *ret_lsn: the last LSN committed, also on an empty batch. May
 * wait for the checkpoint when both memtables are full. DUEQ_FULL, DUEQ_NOMEM: there is no
 * room, memory or descriptor for the record at this moment; the store is sound and the batch
 * stays as it is: commit again later, or abandon the store. */
enum dueq_status kv_commit(struct kv *kv, int64_t now, uint64_t *ret_lsn);

/* Replies to what was read or committed up to this LSN may leave. Never goes back. O(1). */
uint64_t kv_durable_lsn(const struct kv *kv);

/* The LSN of the last commit. */
uint64_t kv_last_lsn(const struct kv *kv);

/* The greatest `now` ever committed to this directory; 0 for a new one. */
int64_t kv_time_floor(const struct kv *kv);

/* Blocks until lsn is settled or the store failed. */
enum dueq_status kv_wait(struct kv *kv, uint64_t lsn);

/* DUEQ_OK, or why the store failed (DUEQ_IO, DUEQ_NOMEM, DUEQ_CORRUPT, ...). */
enum dueq_status kv_status(const struct kv *kv);

/* The failure in words: which call on which file, errno; "" while the store is sound. Lives as
 * long as kv. */
const char *kv_failure(const struct kv *kv);

/* After a DUEQ_CORRUPT or DUEQ_IO of a read: which page of data.mdb, and what is wrong with it;
 * lives until the next call. "": no page since kv_forget_damage; what was read is sound to its
 * checksum and yet not what should be there. */
const char *kv_damage(const struct kv *kv);
void kv_forget_damage(struct kv *kv);

/* ---- housekeeping */

/* Once a turn, after the commit: freezes a full memtable, lets go of a flushed one, renews the
 * LMDB snapshot. `idle`: nothing else to do now, a good time to checkpoint. */
void kv_maintain(struct kv *kv, bool idle);

/* Starts a checkpoint of all that is committed (no-op when one runs or nothing is there). */
void kv_checkpoint_start(struct kv *kv);

/* The same, and waits until it is in LMDB and the journal is recycled. DUEQ_INVALID: a batch is
 * under way. */
enum dueq_status kv_checkpoint(struct kv *kv);

/* Changes the sync mode of a running store. */
void kv_set_durability(struct kv *kv, enum dueq_durability durability, unsigned interval_ms);

void kv_get_stats(const struct kv *kv, struct dueq_stats *ret_stats);

/* Looks at every page and every value of data.mdb, as the last checkpoint left it; opening has
 * looked at the journal. DUEQ_CORRUPT: kv_damage says what was met. O(data). */
enum dueq_status kv_check(struct kv *kv, uint64_t *ret_records);

/* Random at creation of the directory, the same ever after: seeds the hashes of folded keys. */
uint64_t kv_seed(const struct kv *kv);

/* What a memtable may hold, bytes: a measure of what memory the store is meant to take. */
uint64_t kv_memtable_limit(const struct kv *kv);

#endif
