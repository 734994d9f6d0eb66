/* The journal: an append-only sequence of records in segment files, which are preallocated and
 * recycled. Format: storage/FORMAT.md. Private to storage/kv.
 *
 * A record is durable when journal_durable_lsn() reaches its LSN: with DUEQ_SYNC_ALWAYS after
 * fdatasync, with the other modes as soon as it is written. What a record asks for (asks.h) can
 * say otherwise for this record alone. It is synced when journal_synced_lsn() reaches its LSN,
 * and written when journal_written_lsn() does, whatever the mode.
 *
 * Another log could take the place of this one. It would need: append a record, learn whether
 * it is durable or failed, read from an LSN on at open, trim. The journal does not look into
 * payloads.
 *
 * Functions belong to the owner's thread unless they say "any thread". A sync thread inside
 * runs fdatasync and writes large records, and small ones that wait for it anyway. After a
 * write or a sync that failed the journal is failed for good: no further record becomes
 * durable. */
#ifndef DUEQ_JOURNAL_H
#define DUEQ_JOURNAL_H

#include "storage/asks.h"
#include "storage/io.h"
#include "storage/kv/journal/history.h"
#include "storage/options.h"
#include "storage/stats.h"
#include "storage/status.h"

#include <limits.h>
#include <stdbool.h>

struct journal;

struct journal_options {
    size_t segment_bytes;
    enum dueq_durability durability;
    unsigned interval_ms;
    uint64_t disk_reserve;  /* bytes of the disk that are left free for what drains the store */
    uint64_t salt;          /* random; gives each segment, with its number, a checksum seed */
    struct history history; /* of the records that are appended */
    bool archives;          /* segments wait for journal_archived */
    uint64_t max_lag;       /* bytes of their files at most; 0: no limit */
    unsigned
        note_ms; /* after so long without work the journal notes the durable LSN; 0: never */
    uint64_t stage_bytes; /* of small records that the sync thread is yet to write, at most;
                             0: the owner writes them, as it does once a record has asked for
                             less than a sync at once, until the mode is set again */
    const struct dueq_io *io;
    /* From the sync thread, after the durable LSN or the status has changed. */
    void (*notify)(void *arg);
    void *notify_arg;
};

/* A record that replay has read; the payload lives until the function returns. */
struct journal_record {
    uint64_t lsn;
    int64_t time; /* unix ms given to journal_append */
    const uint8_t *payload;
    size_t size;
    uint64_t end, total; /* of the replay: bytes up to the record's end, of all segments */
};
typedef enum dueq_status (*journal_replay_fn)(void *arg, const struct journal_record *record);

struct journal_replay {
    uint64_t records;       /* passed to the function */
    uint64_t cut_bytes;     /* bytes of the torn tail that was dropped */
    uint64_t checked_bytes; /* bytes of which checksums were computed: what reading has cost */
    uint64_t last_lsn;
};

/* Opens DIR/journal (created if missing), reads all records with an LSN above `after` in order
 * through `fn` and cuts a torn tail. The next append gets LSN last + 1 (or after + 1). Every
 * record and every note contains the LSN that was durable when it was written. So a bad record
 * that a later record or a note proves to have been durable is DUEQ_CORRUPT, and so are missing
 * LSNs: nothing on disk is changed, `error` names file, offset and what to do. An error of `fn`
 * is returned. Others: DUEQ_IO, DUEQ_FULL, DUEQ_NOMEM. O(bytes of the journal). */
enum dueq_status journal_open(const char *dir, const struct journal_options *options,
                              uint64_t after, journal_replay_fn fn, void *arg,
                              struct journal **ret_journal, struct journal_replay *ret_replay,
                              struct dueq_error *error);

/* Closes without a sync; records that are not synced may be lost. NULL is fine. */
void journal_close(struct journal *journal);

/* Writes one record whose payload is the parts, with LSN last + 1. On return the kernel has the
 * bytes, or, with stage_bytes, the sync thread has a copy of them: a write that fails then
 * makes the journal failed, like a sync. asks: sum of enum asks, not 0. DUEQ_FULL: there is no
 * segment, the reserve included. DUEQ_NOMEM: no memory or descriptor now. DUEQ_TOOBIG: more
 * than DUEQ_RECORD_MAX. After these three nothing is written and the journal is sound. DUEQ_IO:
 * failed for good. O(size), and sometimes a file is made. */
enum dueq_status journal_append(struct journal *journal, int64_t time,
                                const struct iovec *parts, int count, unsigned asks,
                                uint64_t *ret_lsn);

/* A payload that outlives the call. `release` is called once with `owner`, when the journal no
 * longer needs the parts: the record is written, or it will never be written. Any thread calls
 * it, perhaps before journal_append_later returns. */
struct journal_payload {
    const struct iovec *parts;
    int count;
    void *owner;
    void (*release)(void *owner);
};

/* The same, but the sync thread computes the checksum and writes: for large records, so that
 * the owner does not wait. On return the record has an LSN and a place in a segment; a later
 * failure of the write makes the journal failed, like that of a sync. Later records may be
 * written before this one, but become durable after it. On any status but DUEQ_OK the caller
 * keeps the payload and `release` is not called. O(1). */
enum dueq_status journal_append_later(struct journal *journal, int64_t time,
                                      const struct journal_payload *payload, unsigned asks,
                                      uint64_t *ret_lsn);

/* Payload bytes of the records that are not yet written. Any thread. */
size_t journal_pending(const struct journal *journal);

uint64_t journal_last_lsn(const struct journal *journal);       /* LSN of the last append */
uint64_t journal_written_lsn(const struct journal *journal);    /* any thread */
uint64_t journal_durable_lsn(const struct journal *journal);    /* any thread; <= written */
uint64_t journal_synced_lsn(const struct journal *journal);     /* any thread; <= durable */
uint64_t journal_sync_usec(const struct journal *journal);      /* any thread; a mean */
enum dueq_status journal_status(const struct journal *journal); /* any thread */
const char *journal_failure(const struct journal *journal);     /* "" while sound */

/* Waits until everything appended is synced, whatever the mode. */
enum dueq_status journal_sync(struct journal *journal);
/* The same up to lsn. Any thread. */
enum dueq_status journal_sync_to(struct journal *journal, uint64_t lsn);
/* Waits until lsn is durable or the journal failed. */
enum dueq_status journal_wait(struct journal *journal, uint64_t lsn);

enum dueq_durability journal_durability(const struct journal *journal);
/* Records that asked for the mode follow the new one. */
void journal_set_durability(struct journal *journal, enum dueq_durability durability,
                            unsigned interval_ms);

/* The owner no longer needs the records up to and including lsn. Segments with no later record
 * are renamed to spares (two at most) or deleted; those that wait for the archive later. Any
 * thread. */
void journal_trim(struct journal *journal, uint64_t lsn);

/* Sets space aside, so that a record with such a payload can be appended without the reserve,
 * even if the disk fills. DUEQ_FULL, DUEQ_NOMEM: there is none. O(1), and sometimes a file is
 * made. */
enum dueq_status journal_reserve(struct journal *journal, size_t size);

/* Makes a zero-filled spare segment when there is none, so that a sync into it writes no
 * metadata, and the reserve when it was used. Slow: it writes whole files. The checkpoint
 * thread calls it. */
void journal_prepare(struct journal *journal);

/* True: journal_prepare has something to do. Any thread. */
bool journal_wants_files(const struct journal *journal);

/* False: a new segment would have to be the reserve. Any thread. */
bool journal_has_room(const struct journal *journal);

/* False: a record with such a payload cannot be appended, not even into the reserve. True also
 * when that is not certain. */
bool journal_drains(const struct journal *journal, size_t size);

/* When journal_drains is false and everything is synced: the next record begins another
 * segment, so that a trim can free the one that is current now, which may be the only file on a
 * full disk. True: so it is. */
bool journal_leave(struct journal *journal, size_t size);

/* True: there is neither spare nor reserve, so on a full disk nothing can be appended. */
bool journal_is_bare(const struct journal *journal);

/* The number of the segment that is appended to; 0: none yet. */
uint64_t journal_segment(const struct journal *journal);

/* True: the disk is full, and a trim would free segments, so the owner should checkpoint. Any
 * thread. */
bool journal_wants_trim(const struct journal *journal);

/* ---- the archive; the functions are for its thread unless they say otherwise */

/* A segment that gets no more records. */
struct journal_segment {
    uint64_t number, first_lsn, last_lsn;
    char path[PATH_MAX];
};

/* Waits for the oldest such segment that was not archived. False: there was none for `ms`
 * milliseconds (0: for ever), or journal_release_waiters was called. */
bool journal_await_segment(struct journal *journal, unsigned ms,
                           struct journal_segment *ret_segment);
/* It need not wait in the journal any longer. */
void journal_archived(struct journal *journal, uint64_t number);
/* Waits so long, or until journal_release_waiters. */
void journal_pause(struct journal *journal, unsigned ms);
/* Any thread: those two return at once from now on. */
void journal_release_waiters(struct journal *journal);
/* No record up to this one waits for the archive. Any thread. */
uint64_t journal_archived_lsn(const struct journal *journal);
/* Any thread. */
void journal_get_waiting(const struct journal *journal, uint64_t *ret_segments,
                         uint64_t *ret_bytes);
/* The owner's: the next record begins another segment, if a spare is ready. True: so it is; the
 * rest of that file is not used until a trim frees it. O(1). */
bool journal_switch(struct journal *journal);
/* The owner's: the same, if that record is in the segment that would end. */
bool journal_end_segment_of(struct journal *journal, uint64_t lsn);

struct journal_stats {
    uint64_t live_bytes, segments, written_bytes, syncs, sync_usec_total, sync_usec_max;
    struct dueq_spans syncs_took; /* us */
};
void journal_get_stats(const struct journal *journal, struct journal_stats *ret_stats);

#endif
