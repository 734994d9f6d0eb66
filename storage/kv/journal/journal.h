/* The journal: an append-only sequence of records, each synced before it is settled. Segment
 * files, preallocated and recycled. The format is described in storage/FORMAT.md.
 *
 * This is the seam for other logs (DESIGN 10): append one record asynchronously, learn its
 * outcome (settled, failed), read from an LSN at open, trim. Record payloads are opaque here.
 *
 * Owner-thread functions unless said otherwise. A sync thread inside runs fdatasync; a journal
 * whose write or sync failed is failed for good and settles nothing more. */
#ifndef DUEQ_JOURNAL_H
#define DUEQ_JOURNAL_H

#include "storage/io.h"
#include "storage/kv/kv.h"

struct journal;

struct journal_options {
    size_t segment_bytes;
    enum dueq_durability durability;
    unsigned interval_ms;
    uint64_t disk_reserve; /* bytes of the disk that are left free for what drains the store */
    uint64_t salt; /* entropy: each segment's checksum seed is derived from it and its number */
    unsigned note_ms; /* so long after the last sync it is noted what is durable; 0: never */
    const struct dueq_io *io;
    void (*notify)(
        void *arg); /* from the sync thread, after the settled LSN or status changed */
    void *notify_arg;
};

/* A record as replay hands it out; the payload lives until the function returns. */
struct journal_record {
    uint64_t lsn;
    int64_t time; /* unix ms given to journal_append */
    const uint8_t *payload;
    size_t size;
};
typedef enum dueq_status (*journal_replay_fn)(void *arg, const struct journal_record *record);

struct journal_replay {
    uint64_t records;       /* handed to the function */
    uint64_t cut_bytes;     /* torn tail that was dropped */
    uint64_t checked_bytes; /* that checksums were computed of: what reading has cost */
    uint64_t last_lsn;
};

/* Opens DIR/journal (created if missing), reads all records with an LSN above `after` in order
 * through `fn`, cuts a torn tail, and stands ready to append LSN last + 1 (or after + 1). A bad
 * record that a later record or a segment's note proves to have been durable (each carries the
 * durable LSN of its time), or a gap in the LSNs, is DUEQ_CORRUPT: nothing on disk is changed,
 * `error` names file, offset and what to do. An error from `fn` is passed on. */
enum dueq_status journal_open(const char *dir, const struct journal_options *options,
                              uint64_t after, journal_replay_fn fn, void *arg,
                              struct journal **ret_journal, struct journal_replay *ret_replay,
                              struct dueq_error *error);

/* Closes without a sync of its own; what was not settled may be lost. NULL is fine. */
void journal_close(struct journal *journal);

/* Writes one record made of the parts, LSN = last + 1. The bytes are with the kernel on return;
 * settled when journal_durable_lsn() reaches the LSN. DUEQ_FULL: no segment could be had,
 * reserve included; DUEQ_NOMEM: not at this moment, for want of memory or a descriptor; nothing
 * was written and the journal is sound. DUEQ_IO: failed for good. */
enum dueq_status journal_append(struct journal *journal, int64_t time,
                                const struct iovec *parts, int count, uint64_t *ret_lsn);

/* A payload that outlives the call: `release` is called with the owner when the record has been
 * written, has failed or never will be, by any thread and perhaps before the call returns. */
struct journal_payload {
    const struct iovec *parts;
    int count;
    void *owner;
    void (*release)(void *owner);
};

/* The same, but the sync thread computes the checksum and writes: for records that would take
 * the owner a while. The bytes are set aside on return and nothing more; a write that fails
 * shows as a failed sync does. Later records may be written before it, but settle after it.
 * Unless it is DUEQ_OK, the payload stays the caller's. O(1). */
enum dueq_status journal_append_later(struct journal *journal, int64_t time,
                                      const struct journal_payload *payload, uint64_t *ret_lsn);

/* Bytes of the records that are yet to be written. Any thread. */
size_t journal_pending(const struct journal *journal);

uint64_t journal_last_lsn(const struct journal *journal);       /* LSN of the last append */
uint64_t journal_durable_lsn(const struct journal *journal);    /* any thread */
uint64_t journal_synced_lsn(const struct journal *journal);     /* any thread; <= settled */
enum dueq_status journal_status(const struct journal *journal); /* any thread */
const char *journal_failure(const struct journal *journal);     /* "" while sound */

/* Waits until everything appended is synced, whatever the mode. */
enum dueq_status journal_sync(struct journal *journal);
/* The same up to lsn; any thread. */
enum dueq_status journal_sync_to(struct journal *journal, uint64_t lsn);
/* Waits until lsn is settled or the journal failed. */
enum dueq_status journal_wait(struct journal *journal, uint64_t lsn);

void journal_set_durability(struct journal *journal, enum dueq_durability durability,
                            unsigned interval_ms);

/* Records up to and including lsn are not needed any more: whole segments below are recycled
 * (renamed to spares, at most two kept; the rest deleted). Any thread. */
void journal_trim(struct journal *journal, uint64_t lsn);

/* Sees to it that a record of that size can be appended without the reserve, whatever happens
 * to the disk: what has to be had for it is had at once. DUEQ_FULL, DUEQ_NOMEM: it cannot. */
enum dueq_status journal_reserve(struct journal *journal, size_t size);

/* Prepares a zero-filled spare segment when there is none, so that a sync into it writes no
 * metadata. Slow; called from the checkpoint thread. Also tries to get back the reserve segment
 * after it was used. */
void journal_prepare(struct journal *journal);

/* Is there something to prepare? Any thread. */
bool journal_wants_files(const struct journal *journal);

/* True while a new segment can be had without touching the reserve. Any thread. */
bool journal_has_room(const struct journal *journal);

/* Can a record of that size be appended, with the reserve if need be? True also when that is
 * not known for certain. */
bool journal_drains(const struct journal *journal, size_t size);

/* Neither spare nor reserve is there: on a full disk nothing can be appended. */
bool journal_is_bare(const struct journal *journal);

/* The number of the segment that is appended to; 0: none yet. */
uint64_t journal_segment(const struct journal *journal);

/* The disk gives nothing more, and a trim would bring segments back: the owner makes room for
 * one. Any thread. */
bool journal_wants_trim(const struct journal *journal);

struct journal_stats {
    uint64_t live_bytes, segments, written_bytes, syncs, sync_usec_total, sync_usec_max;
};
void journal_get_stats(const struct journal *journal, struct journal_stats *ret_stats);

#endif
