#include "storage/kv/journal/journal.h"

#include "storage/kv/journal/journal_files.h"
#include "storage/kv/journal/journal_replay.h"
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "storage/kv/journal/stage.h"
#include "storage/scheduling.h"
#include "storage/spans.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PARTS_AT_ONCE = 64,
    PAD_MAX = RECORD_ALIGN,
    MEAN_OF = 8,              /* syncs */
    LATER_STEP = 1024 * 1024, /* bytes per write of a large record */
    /* bytes of it after which it is synced, so that other syncs need not wait for all */
    LATER_DIRTY = 32 * 1024 * 1024
};

/* A record that the sync thread has to write. */
struct pending {
    struct pending *next;
    struct segment_file *segment;
    uint64_t offset;
    struct record_header header;
    struct journal_payload payload;
};

struct journal {
    struct journal_files files;
    uint64_t salt;
    struct history history;
    const struct dueq_io *io;
    void (*notify)(void *arg);
    void *notify_arg;

    /* for the owner's thread */
    struct segment_file *current; /* NULL until the first append */
    struct segment_file large;    /* for a record larger than a segment; size 0: none */
    uint64_t last, last_staged;   /* LSNs */
    uint64_t stage_bytes;
    bool relaxed; /* some records count as durable when they are written: nothing is staged */

    /* for all threads, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the sync thread */
    pthread_cond_t durable_changed;
    pthread_cond_t archive; /* for the archive's thread */
    bool archives, released;
    uint64_t max_lag, trimmed; /* trimmed: LSN up to which the owner needs nothing */
    struct segment_file *oldest, *youngest; /* live ones */
    uint64_t appended;                      /* LSN of the last append */
    struct pending *pending, *last_pending; /* by LSN; the first may be in work */
    size_t pending_bytes;
    struct stage staged;  /* for the sync thread to write */
    struct stage leaving; /* one of the threads writes it */
    uint64_t wanted;      /* LSN that must be synced in any mode */
    /* LSNs of the last records that asked for the mode, for ASKS_ALWAYS, for ASKS_INTERVAL */
    uint64_t asked_mode, asked_always, asked_interval;
    uint64_t noted; /* the durable LSN of the last note */
    unsigned interval_ms, note_ms;
    bool idle;   /* the sync thread waits for work */
    bool pauses; /* it waits for the end of the interval, or for work that is due at once */
    bool stop;
    char failure[256];
    struct journal_stats stats;

    _Atomic(int) durability;
    _Atomic(uint64_t) synced, durable, written;
    _Atomic(uint64_t) sync_usec; /* that a sync takes: a mean of the last ones */
    _Atomic(int) status;
    pthread_t thread;
    bool thread_runs;
};

/* ---- state */

uint64_t journal_last_lsn(const struct journal *journal)
{
    return journal->last;
}

uint64_t journal_written_lsn(const struct journal *journal)
{
    return atomic_load_explicit(&journal->written, memory_order_acquire);
}

uint64_t journal_durable_lsn(const struct journal *journal)
{
    return atomic_load_explicit(&journal->durable, memory_order_acquire);
}

uint64_t journal_synced_lsn(const struct journal *journal)
{
    return atomic_load_explicit(&journal->synced, memory_order_acquire);
}

uint64_t journal_sync_usec(const struct journal *journal)
{
    return atomic_load_explicit(&journal->sync_usec, memory_order_relaxed);
}

enum dueq_status journal_status(const struct journal *journal)
{
    return (enum dueq_status)atomic_load_explicit(&journal->status, memory_order_acquire);
}

const char *journal_failure(const struct journal *journal)
{
    return journal_status(journal) == DUEQ_OK ? "" : journal->failure;
}

static struct journal *shared(const struct journal *journal)
{
    return (struct journal *)(uintptr_t)journal;
}

bool journal_has_room(const struct journal *journal)
{
    return journal_files_have_room(&shared(journal)->files);
}

bool journal_wants_files(const struct journal *journal)
{
    return journal_status(journal) == DUEQ_OK && journal_files_wanted(&shared(journal)->files);
}

bool journal_is_bare(const struct journal *journal)
{
    return journal_files_bare(&shared(journal)->files);
}

uint64_t journal_segment(const struct journal *journal)
{
    return journal->current == NULL ? 0 : journal->current->number;
}

bool journal_wants_trim(const struct journal *journal)
{
    struct journal *locked = shared(journal);
    bool some;

    if (journal_has_room(journal))
        return false;
    pthread_mutex_lock(&locked->lock);
    some = locked->oldest != NULL && locked->oldest != locked->current;
    pthread_mutex_unlock(&locked->lock);
    return some;
}

/* The first failure stays; from then on no record becomes durable. Under the lock. */
static enum dueq_status fail_locked(struct journal *journal, const char *call, uint64_t number,
                                    int error)
{
    char path[PATH_MAX];

    if (journal_status(journal) != DUEQ_OK)
        return DUEQ_IO;
    journal_files_live_path(&journal->files, number, path);
    snprintf(journal->failure, sizeof(journal->failure), "%s on %.180s: %s", call, path,
             strerror(error));
    atomic_store_explicit(&journal->status, DUEQ_IO, memory_order_release);
    pthread_cond_broadcast(&journal->durable_changed);
    return DUEQ_IO;
}

static enum dueq_status fail(struct journal *journal, const char *call, uint64_t number)
{
    int error = errno;

    pthread_mutex_lock(&journal->lock);
    fail_locked(journal, call, number, error);
    pthread_mutex_unlock(&journal->lock);
    return DUEQ_IO;
}

static uint64_t earlier(uint64_t lsn, const struct stage *stage)
{
    return STAGE_IS_BUILT && stage->first != 0 && stage->first < lsn ? stage->first : lsn;
}

/* The LSN up to which all records are written. Under the lock. */
static uint64_t written(const struct journal *journal)
{
    uint64_t next = journal->appended + 1;

    if (journal->pending != NULL)
        next = journal->pending->header.lsn;
    return earlier(earlier(next, &journal->staged), &journal->leaving) - 1;
}

enum dueq_durability journal_durability(const struct journal *journal)
{
    return (enum dueq_durability)atomic_load(&journal->durability);
}

/* The last record that is durable only after a sync. Under the lock. */
static uint64_t asked_at_once(const struct journal *journal)
{
    return journal_durability(journal) == DUEQ_SYNC_ALWAYS &&
                   journal->asked_mode > journal->asked_always
               ? journal->asked_mode
               : journal->asked_always;
}

/* The last record that is synced within the interval at the latest. Under the lock. */
static uint64_t asked_soon(const struct journal *journal)
{
    return journal_durability(journal) == DUEQ_SYNC_NONE ? journal->asked_interval
                                                         : journal->appended;
}

/* After something was written or synced, or the mode was changed. Records between the last sync
 * and one that asked for a sync count as durable only after that sync. Under the lock. */
static void advance_durable(struct journal *journal)
{
    uint64_t synced = journal_synced_lsn(journal), lsn = written(journal);

    atomic_store_explicit(&journal->written, lsn, memory_order_release);
    if (asked_at_once(journal) > synced)
        lsn = synced;
    if (lsn > journal_durable_lsn(journal))
        atomic_store_explicit(&journal->durable, lsn, memory_order_release);
}

size_t journal_pending(const struct journal *journal)
{
    struct journal *locked = shared(journal);
    size_t bytes;

    pthread_mutex_lock(&locked->lock);
    bytes = journal->pending_bytes;
    pthread_mutex_unlock(&locked->lock);
    return bytes;
}

/* ---- writing */

/* The parts that are not yet written, and their offset. */
struct writing {
    struct iovec *parts;
    int count;
    uint64_t offset;
};

static void advance(struct writing *writing, size_t put)
{
    writing->offset += put;
    while (writing->count > 0 && put >= writing->parts->iov_len) {
        put -= writing->parts->iov_len;
        writing->parts++;
        writing->count--;
    }
    if (put > 0) {
        writing->parts->iov_base = (uint8_t *)writing->parts->iov_base + put;
        writing->parts->iov_len -= put;
    }
}

/* Copies the parts that contain the first `most` bytes. Returns how many these are. */
static int first_of(const struct writing *writing, size_t most, struct iovec *ret_parts)
{
    int count = 0;

    while (count < writing->count && count < PARTS_AT_ONCE && most > 0) {
        struct iovec part = writing->parts[count];

        if (part.iov_len > most)
            part.iov_len = most;
        most -= part.iov_len;
        ret_parts[count++] = part;
    }
    return count;
}

/* Makes one call for at most `most` bytes. Returns how many were written; -1: errno. */
static ssize_t write_some(const struct dueq_io *io, int fd, struct writing *writing,
                          size_t most)
{
    struct iovec parts[PARTS_AT_ONCE];
    int count = first_of(writing, most, parts);
    ssize_t put;

    do
        put = io->pwritev(io->arg, fd, parts, count, (off_t)writing->offset);
    while (put < 0 && errno == EINTR);
    if (put == 0)
        errno = ENOSPC;
    if (put <= 0)
        return -1;
    advance(writing, (size_t)put);
    return put;
}

/* Writes all parts at the offset, in as many calls as needed. */
static bool write_parts(const struct dueq_io *io, int fd, struct iovec *parts, int count,
                        uint64_t offset)
{
    struct writing writing = {parts, count, offset};

    while (writing.count > 0)
        if (write_some(io, fd, &writing, SIZE_MAX) < 0)
            return false;
    return true;
}

/* ---- the sync thread */

/* True: something must be synced now. Under the lock. */
static bool sync_due(const struct journal *journal)
{
    uint64_t synced = journal_synced_lsn(journal);

    if (journal_status(journal) != DUEQ_OK || written(journal) <= synced)
        return false;
    return asked_at_once(journal) > synced || journal->wanted > synced;
}

/* True: there are staged records, and nobody is writing some. Under the lock. */
static bool stage_due(const struct journal *journal)
{
    return STAGE_IS_BUILT && journal_status(journal) == DUEQ_OK && journal->staged.first != 0 &&
           journal->leaving.first == 0;
}

/* True: there is a large record to write. Under the lock. */
static bool pending_due(const struct journal *journal)
{
    return journal_status(journal) == DUEQ_OK && journal->pending != NULL;
}

static bool work_due(const struct journal *journal)
{
    return sync_due(journal) || stage_due(journal) || pending_due(journal);
}

/* True: something must be synced before the interval is over. Under the lock. */
static bool sync_soon(const struct journal *journal)
{
    uint64_t synced = journal_synced_lsn(journal);

    return journal_status(journal) == DUEQ_OK && written(journal) > synced &&
           asked_soon(journal) > synced;
}

/* True: the sync thread waits, and has something to do now. Under the lock. */
static bool must_wake(const struct journal *journal)
{
    return (journal->idle && sync_soon(journal)) ||
           ((journal->idle || journal->pauses) && work_due(journal));
}

/* Wakes the sync thread without the lock, for which it would have to sleep again. */
static void unlock_and_wake(struct journal *journal)
{
    bool wakes = must_wake(journal);

    pthread_mutex_unlock(&journal->lock);
    if (wakes)
        pthread_cond_signal(&journal->work);
}

static struct timespec deadline_in(const struct journal *journal, unsigned ms)
{
    uint64_t usec = journal->io->monotonic_usec(journal->io->arg) + (uint64_t)ms * 1000;

    return (struct timespec){(time_t)(usec / 1000000), (long)(usec % 1000000) * 1000};
}

static void wait_interval(struct journal *journal)
{
    struct timespec until = deadline_in(journal, journal->interval_ms);

    journal->pauses = true;
    while (!journal->stop && !work_due(journal) && sync_soon(journal))
        if (pthread_cond_timedwait(&journal->work, &journal->lock, &until) == ETIMEDOUT)
            break;
    journal->pauses = false;
}

/* Syncs one segment and, when it is new, its name. Releases the lock meanwhile; journal_trim
 * does not remove the segment. */
static bool sync_segment(struct journal *journal, struct segment_file *segment)
{
    const struct dueq_io *io = journal->io;
    const char *call = "fdatasync";
    bool named = segment->named;
    int result, error;

    segment->dirty = false;
    segment->syncing = true;
    pthread_mutex_unlock(&journal->lock);
    result = io->fdatasync(io->arg, segment->fd);
    if (result == 0 && !named) {
        call = "fsync of the directory of";
        result = journal_files_sync_names(&journal->files);
    }
    error = errno;
    pthread_mutex_lock(&journal->lock);
    segment->syncing = false;
    if (result != 0)
        fail_locked(journal, call, segment->number, error);
    segment->named = true;
    return result == 0;
}

/* Older segments are synced before younger ones. Under the lock. */
static bool sync_all(struct journal *journal)
{
    struct segment_file *last = journal->youngest;

    for (struct segment_file *segment = journal->oldest; segment != NULL;
         segment = segment->next) {
        if (segment->dirty && !sync_segment(journal, segment))
            return false;
        if (segment == last)
            break;
    }
    return true;
}

static bool note_wanted(const struct journal *journal)
{
    return journal->note_ms > 0 && journal_synced_lsn(journal) > journal->noted &&
           journal->youngest != NULL && journal->youngest->fd >= 0 &&
           journal_status(journal) == DUEQ_OK;
}

/* Waits for note_ms. True: no record was appended meanwhile. Under the lock. */
static bool wait_a_while(struct journal *journal)
{
    struct timespec until = deadline_in(journal, journal->note_ms);

    return pthread_cond_timedwait(&journal->work, &journal->lock, &until) == ETIMEDOUT &&
           !journal->stop && !work_due(journal);
}

/* Writes the durable LSN into the youngest segment, because the next record, which would
 * contain it, may come much later. A note that cannot be written does no harm. A failed sync
 * makes the journal failed, as always: a record may have been written meanwhile. Under the
 * lock, which the sync releases. */
static void note_durable(struct journal *journal)
{
    struct segment_file *segment = journal->youngest;
    uint8_t bytes[SEGMENT_NOTE_SIZE];
    struct iovec part = {bytes, sizeof(bytes)};

    journal->noted = journal_synced_lsn(journal);
    segment_write_note(bytes, journal->noted, segment_salt(journal->salt, segment->number));
    if (journal->io->pwritev(journal->io->arg, segment->fd, &part, 1, SEGMENT_FIXED_SIZE) < 0)
        return;
    segment->dirty = true;
    if (sync_all(journal) || journal->notify == NULL)
        return;
    pthread_mutex_unlock(&journal->lock);
    journal->notify(journal->notify_arg);
    pthread_mutex_lock(&journal->lock);
}

/* Returns under the lock when there is something to write or sync, or it is time to stop. */
static void wait_for_work(struct journal *journal)
{
    while (!journal->stop && !work_due(journal)) {
        if (sync_soon(journal)) {
            wait_interval(journal);
            if (journal_status(journal) == DUEQ_OK)
                return;
            continue; /* the journal has failed meanwhile, or must stop */
        }
        journal->idle = true;
        if (!note_wanted(journal))
            pthread_cond_wait(&journal->work, &journal->lock);
        else if (wait_a_while(journal) && note_wanted(journal)) /* it may have been left */
            note_durable(journal);
        journal->idle = false;
    }
}

/* Closes the descriptors of full segments that are synced. Under the lock. */
static void close_old(struct journal *journal)
{
    for (struct segment_file *segment = journal->oldest; segment != journal->youngest;
         segment = segment->next)
        if (!segment->dirty && segment->pending == 0 && segment->fd >= 0) {
            journal->io->close(journal->io->arg, segment->fd);
            segment->fd = -1;
        }
}

static void count_sync(struct journal *journal, uint64_t usec)
{
    uint64_t mean = atomic_load_explicit(&journal->sync_usec, memory_order_relaxed);

    mean = mean == 0 ? usec : (mean * (MEAN_OF - 1) + usec) / MEAN_OF;
    atomic_store_explicit(&journal->sync_usec, mean, memory_order_relaxed);
    journal->stats.syncs++;
    journal->stats.sync_usec_total += usec;
    spans_note(&journal->stats.syncs_took, usec);
    if (usec > journal->stats.sync_usec_max)
        journal->stats.sync_usec_max = usec;
}

/* Syncs all that is written, which makes it durable. Under the lock, which the syncs
 * release. */
static void sync_written(struct journal *journal)
{
    const struct dueq_io *io = journal->io;
    uint64_t target = written(journal), began = io->monotonic_usec(io->arg);
    bool done;

    if (journal_status(journal) != DUEQ_OK)
        return;
    done = sync_all(journal);
    count_sync(journal, io->monotonic_usec(io->arg) - began);
    if (!done)
        return;
    atomic_store_explicit(&journal->synced, target, memory_order_release);
    advance_durable(journal);
    close_old(journal);
    pthread_cond_broadcast(&journal->durable_changed);
}

/* ---- staged records: small ones of the mode always, which wait for a sync anyway
 *
 * The owner does not write them itself: the file system may hold a write for a third of a
 * second while it commits a journal of its own. And the records of several turns take one
 * write. */

/* Writes them, by either thread. Under the lock, which it releases meanwhile. */
static void write_staged(struct journal *journal)
{
    struct stage *stage = &journal->leaving, empty = *stage;
    struct iovec part;
    int error;
    bool done;

    assert(stage_due(journal));
    *stage = journal->staged;
    journal->staged = empty;
    part = (struct iovec){stage->bytes, stage->size};
    pthread_mutex_unlock(&journal->lock);
    done = write_parts(journal->io, stage->segment->fd, &part, 1, stage->offset);
    error = errno;
    pthread_mutex_lock(&journal->lock);
    if (!done) {
        fail_locked(journal, "write", stage->segment->number, error);
        return;
    }
    stage->segment->pending--;
    stage->segment->dirty = true;
    stage_clear(stage);
    advance_durable(journal);
    pthread_cond_broadcast(&journal->durable_changed);
}

/* The owner's, before something else is written into the segment, or it is left. Takes no lock
 * when all that was staged is written. */
static enum dueq_status write_staged_now(struct journal *journal)
{
    if (!STAGE_IS_BUILT || journal_written_lsn(journal) >= journal->last_staged)
        return journal_status(journal);
    pthread_mutex_lock(&journal->lock);
    while (journal->leaving.first != 0 && journal_status(journal) == DUEQ_OK)
        pthread_cond_wait(&journal->durable_changed, &journal->lock);
    if (stage_due(journal))
        write_staged(journal);
    unlock_and_wake(journal); /* it may have found nothing to do meanwhile */
    return journal_status(journal);
}

/* ---- large records, which the sync thread writes */

static struct pending *take_pending(struct journal *journal)
{
    struct pending *pending = journal->pending;

    journal->pending = pending->next;
    if (journal->pending == NULL)
        journal->last_pending = NULL;
    assert(journal->pending_bytes >= pending->header.size);
    journal->pending_bytes -= pending->header.size;
    return pending;
}

static void free_pending(struct pending *pending)
{
    pending->payload.release(pending->payload.owner);
    free(pending);
}

/* Puts header, payload and padding into `all`, which has room for two more parts than the
 * payload; `bytes` has room for a header. Returns how many parts. */
static int record_parts(struct journal *journal, const struct segment_file *segment,
                        const struct record_header *header, const struct iovec *parts,
                        int count, uint8_t *bytes, struct iovec *all)
{
    static const uint8_t padding[PAD_MAX];
    size_t pad = record_space(header->size) - RECORD_HEADER_SIZE - header->size;

    assert(header->durable < header->lsn && header->lsn >= segment->first_lsn);
    record_write_header(bytes, header, parts, count,
                        segment_salt(journal->salt, segment->number));
    all[0] = (struct iovec){bytes, RECORD_HEADER_SIZE};
    memcpy(all + 1, parts, (size_t)count * sizeof(*parts));
    all[count + 1] = (struct iovec){(void *)(uintptr_t)padding, pad};
    return count + 1 + (pad > 0);
}

/* Syncs every LATER_DIRTY bytes: other writers would wait for a disk with much to write. NULL,
 * or the name of the call that failed. */
static const char *write_in_steps(struct journal *journal, int fd, struct writing *writing)
{
    const struct dueq_io *io = journal->io;
    size_t dirty = 0;

    while (writing->count > 0) {
        ssize_t put = write_some(io, fd, writing, LATER_STEP);

        if (put < 0)
            return "write";
        dirty += (size_t)put;
        if (dirty < LATER_DIRTY || journal_durability(journal) == DUEQ_SYNC_NONE)
            continue;
        if (io->fdatasync(io->arg, fd) != 0)
            return "fdatasync";
        dirty = 0;
    }
    return NULL;
}

static const char *write_record_later(struct journal *journal, const struct pending *pending)
{
    const struct journal_payload *payload = &pending->payload;
    struct iovec *all = malloc(((size_t)payload->count + 2) * sizeof(*all));
    uint8_t bytes[RECORD_HEADER_SIZE];
    struct writing writing = {all, 0, pending->offset};
    const char *failed;

    if (all == NULL)
        return "malloc";
    writing.count = record_parts(journal, pending->segment, &pending->header, payload->parts,
                                 payload->count, bytes, all);
    failed = write_in_steps(journal, pending->segment->fd, &writing);
    free(all);
    return failed;
}

/* Writes the first record that waits. Under the lock, which it releases meanwhile. */
static void write_pending(struct journal *journal)
{
    struct pending *pending = journal->pending;
    const char *failed;
    int error;

    pthread_mutex_unlock(&journal->lock);
    errno = 0;
    failed = write_record_later(journal, pending);
    error = errno;
    pthread_mutex_lock(&journal->lock);
    if (failed != NULL) {
        fail_locked(journal, failed, pending->segment->number, error);
        return;
    }
    take_pending(journal);
    assert(pending->segment->pending > 0);
    pending->segment->pending--;
    pending->segment->dirty = true;
    advance_durable(journal);
    pthread_cond_broadcast(&journal->durable_changed);
    pthread_mutex_unlock(&journal->lock);
    free_pending(pending); /* slow: it may be hundreds of MB */
    pthread_mutex_lock(&journal->lock);
}

/* Writes what is staged, and syncs the written records before it writes the next large one. */
static void *run_sync_thread(void *arg)
{
    struct journal *journal = arg;

    scheduling_run_at_once();
    pthread_mutex_lock(&journal->lock);
    for (;;) {
        bool writes;

        wait_for_work(journal);
        if (journal->stop)
            break;
        if (stage_due(journal))
            write_staged(journal);
        writes = pending_due(journal) && !sync_due(journal);
        if (writes)
            write_pending(journal);
        if (!writes || sync_soon(journal))
            sync_written(journal);
        pthread_mutex_unlock(&journal->lock);
        if (journal->notify != NULL)
            journal->notify(journal->notify_arg);
        pthread_mutex_lock(&journal->lock);
    }
    pthread_mutex_unlock(&journal->lock);
    return NULL;
}

/* ---- opening and closing */

static void init_sync(struct journal *journal)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&journal->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&journal->work, &monotonic);
    pthread_cond_init(&journal->durable_changed, NULL);
    pthread_cond_init(&journal->archive, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void adopt_segments(struct journal *journal, struct segment_file *segments)
{
    journal->oldest = segments;
    for (; segments != NULL; segments = segments->next)
        journal->youngest = segments;
}

enum dueq_status journal_open(const char *dir, const struct journal_options *options,
                              uint64_t after, journal_replay_fn fn, void *arg,
                              struct journal **ret_journal, struct journal_replay *ret_replay,
                              struct dueq_error *error)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    struct journal_listing listing;
    struct segment_file *segments = NULL;
    enum dueq_status status;

    if (journal == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    journal->salt = options->salt;
    journal->history = options->history;
    journal->io = options->io;
    journal->notify = options->notify;
    journal->notify_arg = options->notify_arg;
    journal->interval_ms = options->interval_ms;
    journal->note_ms = options->note_ms;
    journal->stage_bytes = options->stage_bytes;
    journal->archives = options->archives;
    journal->max_lag = options->max_lag;
    journal->trimmed = after;
    atomic_store(&journal->durability, (int)options->durability);
    init_sync(journal);
    status = journal_files_open(&journal->files, dir, options->io, options->segment_bytes,
                                options->disk_reserve, &listing, error);
    journal->files.archives = options->archives;
    if (status == DUEQ_OK) {
        status = journal_replay(&journal->files, &listing, options->salt, after, fn, arg,
                                &segments, ret_replay, error);
        free(listing.numbers);
    }
    adopt_segments(journal, segments);
    if (status == DUEQ_OK) {
        journal->last = journal->appended = journal->noted = ret_replay->last_lsn;
        atomic_store(&journal->synced, journal->last);
        atomic_store(&journal->durable, journal->last);
        atomic_store(&journal->written, journal->last);
        journal->thread_runs =
            pthread_create(&journal->thread, NULL, run_sync_thread, journal) == 0;
        if (!journal->thread_runs)
            status = dueq_fail(error, DUEQ_NOMEM, "cannot start the sync thread");
    }
    if (status != DUEQ_OK) {
        journal_close(journal);
        return status;
    }
    *ret_journal = journal;
    return DUEQ_OK;
}

static void discard_large(struct journal *journal)
{
    if (journal->large.size > 0)
        journal_files_discard_large(&journal->files, &journal->large);
    journal->large.size = 0;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->thread_runs) {
        pthread_mutex_lock(&journal->lock);
        journal->stop = true;
        pthread_cond_signal(&journal->work);
        pthread_mutex_unlock(&journal->lock);
        pthread_join(journal->thread, NULL);
    }
    write_staged_now(journal);
    stage_release(&journal->staged);
    stage_release(&journal->leaving);
    while (journal->pending != NULL)
        free_pending(take_pending(journal));
    while (journal->oldest != NULL) {
        struct segment_file *segment = journal->oldest;

        journal->oldest = segment->next;
        if (segment->fd >= 0)
            journal->io->close(journal->io->arg, segment->fd);
        free(segment);
    }
    discard_large(journal);
    journal_files_close(&journal->files);
    pthread_cond_destroy(&journal->work);
    pthread_cond_destroy(&journal->durable_changed);
    pthread_cond_destroy(&journal->archive);
    pthread_mutex_destroy(&journal->lock);
    free(journal);
}

/* ---- appending */

static bool write_header(struct journal *journal, const struct segment_file *segment)
{
    struct segment_header header = {.number = segment->number,
                                    .first_lsn = segment->first_lsn,
                                    .durable = journal_synced_lsn(journal),
                                    .history = journal->history};
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    struct iovec part = {bytes, sizeof(bytes)};

    assert(header.number > 0 && header.durable < header.first_lsn);
    segment_write_header(bytes, &header, segment_salt(journal->salt, segment->number));
    return write_parts(journal->io, segment->fd, &part, 1, 0);
}

/* Takes a file for a record of that space: the large one that was reserved, or another. */
static enum dueq_status take(struct journal *journal, size_t space,
                             struct segment_file *ret_segment)
{
    size_t size = space + SEGMENT_HEADER_SIZE;

    if (size <= journal->files.segment_bytes || size > journal->large.size)
        return journal_files_take(&journal->files, size, ret_segment);
    *ret_segment = journal->large;
    journal->large.size = 0;
    return journal_files_take_large(&journal->files, ret_segment);
}

/* Begins a new current segment with room for a record of that space. */
static enum dueq_status roll(struct journal *journal, size_t space)
{
    enum dueq_status status = write_staged_now(journal);
    struct segment_file *segment;

    if (status != DUEQ_OK)
        return status;
    segment = calloc(1, sizeof(*segment));
    if (segment == NULL)
        return DUEQ_NOMEM;
    status = take(journal, space, segment);
    if (status != DUEQ_OK) {
        free(segment);
        return status == DUEQ_IO ? fail(journal, "creating a segment", 0) : status;
    }
    segment->first_lsn = journal->last + 1; /* the archive's thread may ask at once */
    segment->last_lsn = journal->last;
    segment->used = SEGMENT_HEADER_SIZE;
    pthread_mutex_lock(&journal->lock);
    if (journal->youngest != NULL)
        journal->youngest->next = segment;
    else
        journal->oldest = segment;
    journal->youngest = segment;
    journal->current = segment;
    pthread_mutex_unlock(&journal->lock);
    if (journal->archives)
        pthread_cond_signal(&journal->archive);
    return write_header(journal, segment) ? DUEQ_OK : fail(journal, "write", segment->number);
}

static bool fits_current(const struct journal *journal, size_t space)
{
    return journal->current != NULL && journal->current->used + space <= journal->current->size;
}

/* Reserves twice as much where it can, because a growing batch asks again and again. Keeps the
 * old file until there is a larger one: the batch needs it. */
static enum dueq_status reserve_large(struct journal *journal, size_t size)
{
    struct segment_file larger;
    enum dueq_status status = DUEQ_FULL;

    if (journal->large.size >= size)
        return DUEQ_OK;
    if (size <= SIZE_MAX / 2)
        status = journal_files_make_large(&journal->files, 2 * size, &larger);
    if (status != DUEQ_OK)
        status = journal_files_make_large(&journal->files, size, &larger);
    if (status != DUEQ_OK)
        return status;
    discard_large(journal);
    journal->large = larger;
    return DUEQ_OK;
}

bool journal_drains(const struct journal *journal, size_t size)
{
    return fits_current(journal, record_space(size)) || journal_has_room(journal) ||
           !journal_is_bare(journal);
}

/* Under the lock. */
static bool is_synced(const struct journal *journal)
{
    const struct segment_file *segment = journal->current;

    return !segment->dirty && !segment->syncing && segment->pending == 0 &&
           journal_synced_lsn(journal) == journal->appended;
}

bool journal_leave(struct journal *journal, size_t size)
{
    bool leaves;

    if (journal->current == NULL || journal_status(journal) != DUEQ_OK ||
        journal_drains(journal, size))
        return false;
    pthread_mutex_lock(&journal->lock);
    leaves = is_synced(journal);
    if (leaves) {
        journal->noted = journal->appended; /* no note comes into a file that has been left */
        journal->current = NULL;
        pthread_cond_signal(&journal->archive);
    }
    pthread_mutex_unlock(&journal->lock);
    return leaves;
}

bool journal_switch(struct journal *journal)
{
    if (journal->current == NULL || journal->current->last_lsn < journal->current->first_lsn ||
        journal_status(journal) != DUEQ_OK || !journal_has_room(journal) ||
        !journal_files_have_spare(&journal->files) || write_staged_now(journal) != DUEQ_OK)
        return false;
    pthread_mutex_lock(&journal->lock);
    journal->noted = journal->appended; /* no note comes into a file that has been left */
    journal->current = NULL;
    pthread_cond_signal(&journal->archive);
    pthread_mutex_unlock(&journal->lock);
    return true;
}

enum dueq_status journal_reserve(struct journal *journal, size_t size)
{
    size_t space = record_space(size);
    enum dueq_status status = journal_status(journal);

    if (status != DUEQ_OK || fits_current(journal, space))
        return status;
    if (space + SEGMENT_HEADER_SIZE > journal->files.segment_bytes)
        return reserve_large(journal, space + SEGMENT_HEADER_SIZE);
    return journal_has_room(journal) ? journal_files_spare(&journal->files) : DUEQ_FULL;
}

static size_t parts_size(const struct iovec *parts, int count)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

/* Under the lock. */
static void note_asks(struct journal *journal, unsigned asks)
{
    assert(asks != 0);
    if (asks & ASKS_MODE)
        journal->asked_mode = journal->appended;
    if (asks & ASKS_ALWAYS)
        journal->asked_always = journal->appended;
    if (asks & ASKS_INTERVAL)
        journal->asked_interval = journal->appended;
}

/* Gives the record its LSN. Under the lock. */
static void publish_locked(struct journal *journal, size_t space, unsigned asks)
{
    struct segment_file *segment = journal->current;

    assert(segment->used % RECORD_ALIGN == 0 && segment->used + space <= segment->size);
    assert(journal->appended == journal->last && segment->last_lsn == journal->last);
    journal->appended = ++journal->last;
    segment->last_lsn = journal->last;
    segment->used += space;
    segment->dirty = true;
    journal->stats.written_bytes += space;
    note_asks(journal, asks);
    advance_durable(journal);
}

static struct record_header next_header(const struct journal *journal, int64_t time,
                                        size_t size)
{
    return (struct record_header){.lsn = journal->last + 1,
                                  .durable = journal_synced_lsn(journal),
                                  .time = time,
                                  .size = (uint32_t)size};
}

/* A record that counts as durable when it is written is written at once, and in a journal that
 * has such records all are: they would wait for those before them. */
static bool stages(struct journal *journal, unsigned asks)
{
    if ((asks & ASKS_INTERVAL) != 0 ||
        ((asks & ASKS_MODE) != 0 && journal_durability(journal) != DUEQ_SYNC_ALWAYS))
        journal->relaxed = true;
    return STAGE_IS_BUILT && journal->stage_bytes > 0 && !journal->relaxed;
}

/* Is there room, and would the record follow what is staged? No large one may lie in between.
 * Under the lock. */
static bool may_stage(const struct journal *journal, size_t space)
{
    const struct stage *stage = &journal->staged;

    return space <= journal->stage_bytes - stage->size &&
           (stage->first == 0 || stage->offset + stage->size == journal->current->used);
}

/* Puts the record behind those that the sync thread is to write. Under the lock. False: it
 * cannot be there, or there is no memory. */
static bool stage_record(struct journal *journal, const struct iovec *parts, int count,
                         size_t space)
{
    struct segment_file *segment = journal->current;
    struct stage *stage = &journal->staged;

    if (!may_stage(journal, space) || !stage_reserve(stage, space))
        return false;
    if (stage->first == 0) {
        stage->first = journal->last + 1;
        stage->segment = segment;
        stage->offset = segment->used;
        segment->pending++;
    }
    stage_add(stage, parts, count);
    journal->last_staged = journal->last + 1;
    assert(stage->segment == segment && stage->offset + stage->size == segment->used + space);
    return true;
}

/* False: the caller has to write it. */
static bool leave_to_sync(struct journal *journal, const struct iovec *parts, int count,
                          size_t space, unsigned asks)
{
    bool done;

    pthread_mutex_lock(&journal->lock);
    done = stage_record(journal, parts, count, space);
    if (done)
        publish_locked(journal, space, asks);
    unlock_and_wake(journal);
    return done;
}

static enum dueq_status write_at_once(struct journal *journal, struct iovec *parts, int count,
                                      size_t space, unsigned asks)
{
    struct segment_file *segment = journal->current;
    enum dueq_status status = write_staged_now(journal);

    if (status != DUEQ_OK)
        return status;
    if (!write_parts(journal->io, segment->fd, parts, count, segment->used))
        return fail(journal, "write", segment->number);
    pthread_mutex_lock(&journal->lock);
    publish_locked(journal, space, asks);
    unlock_and_wake(journal);
    return DUEQ_OK;
}

static enum dueq_status write_record(struct journal *journal, int64_t time,
                                     const struct iovec *parts, int count, size_t size,
                                     unsigned asks)
{
    size_t space = record_space(size);
    enum dueq_status status = DUEQ_OK;
    struct segment_file *segment = journal->current;
    struct record_header header = next_header(journal, time, size);
    uint8_t bytes[RECORD_HEADER_SIZE];
    struct iovec few[8], *all = few;

    if (count + 2 > (int)(sizeof(few) / sizeof(few[0])))
        all = malloc(((size_t)count + 2) * sizeof(*all));
    if (all == NULL)
        return DUEQ_NOMEM;
    count = record_parts(journal, segment, &header, parts, count, bytes, all);
    if (!stages(journal, asks) || !leave_to_sync(journal, all, count, space, asks))
        status = write_at_once(journal, all, count, space, asks);
    if (all != few)
        free(all);
    return status;
}

/* True: a segment that was made in a hurry, as the first one is, is current, and one whose
 * blocks are written is ready: there a sync takes a third less. */
static bool has_better(struct journal *journal)
{
    return journal->current->unfilled && journal_files_have_filled(&journal->files) &&
           journal_has_room(journal);
}

/* Makes sure that the current segment has room for a record with such a payload. */
static enum dueq_status make_room(struct journal *journal, size_t size)
{
    size_t space = record_space(size);
    enum dueq_status status = journal_status(journal);

    if (status != DUEQ_OK)
        return status;
    if (size > DUEQ_RECORD_MAX)
        return DUEQ_TOOBIG;
    if (!fits_current(journal, space))
        return roll(journal, space);
    if (has_better(journal) && space + SEGMENT_HEADER_SIZE <= journal->files.segment_bytes)
        status = roll(journal, space);
    return status == DUEQ_IO ? DUEQ_IO : DUEQ_OK; /* else the current one still has the room */
}

enum dueq_status journal_append(struct journal *journal, int64_t time,
                                const struct iovec *parts, int count, unsigned asks,
                                uint64_t *ret_lsn)
{
    size_t size = parts_size(parts, count);
    enum dueq_status status = make_room(journal, size);

    if (status == DUEQ_OK)
        status = write_record(journal, time, parts, count, size, asks);
    if (status != DUEQ_OK)
        return status;
    discard_large(journal); /* the batch was smaller than what was reserved */
    *ret_lsn = journal->last;
    return DUEQ_OK;
}

static void queue_pending(struct journal *journal, struct pending *pending, size_t space,
                          unsigned asks)
{
    pthread_mutex_lock(&journal->lock);
    assert(pending->header.lsn == journal->last + 1);
    *(journal->pending != NULL ? &journal->last_pending->next : &journal->pending) = pending;
    journal->last_pending = pending;
    journal->pending_bytes += pending->header.size;
    pending->segment->pending++;
    publish_locked(journal, space, asks);
    unlock_and_wake(journal);
}

enum dueq_status journal_append_later(struct journal *journal, int64_t time,
                                      const struct journal_payload *payload, unsigned asks,
                                      uint64_t *ret_lsn)
{
    size_t size = parts_size(payload->parts, payload->count);
    struct pending *pending = malloc(sizeof(*pending));
    enum dueq_status status = pending == NULL ? DUEQ_NOMEM : make_room(journal, size);

    if (status != DUEQ_OK) {
        free(pending);
        return status;
    }
    *pending = (struct pending){.segment = journal->current,
                                .offset = journal->current->used,
                                .header = next_header(journal, time, size),
                                .payload = *payload};
    queue_pending(journal, pending, record_space(size), asks);
    discard_large(journal);
    *ret_lsn = journal->last;
    return DUEQ_OK;
}

/* ---- waiting */

static enum dueq_status wait_until(struct journal *journal, const _Atomic(uint64_t) *reached,
                                   uint64_t lsn, bool force)
{
    pthread_mutex_lock(&journal->lock);
    assert(!force || lsn <= journal->appended);
    if (force && lsn > journal->wanted)
        journal->wanted = lsn;
    pthread_cond_signal(&journal->work);
    while (atomic_load(reached) < lsn && journal_status(journal) == DUEQ_OK)
        pthread_cond_wait(&journal->durable_changed, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
    return atomic_load(reached) >= lsn ? DUEQ_OK : journal_status(journal);
}

enum dueq_status journal_sync_to(struct journal *journal, uint64_t lsn)
{
    return wait_until(journal, &journal->synced, lsn, true);
}

enum dueq_status journal_sync(struct journal *journal)
{
    return journal_sync_to(journal, journal->last);
}

enum dueq_status journal_wait(struct journal *journal, uint64_t lsn)
{
    return wait_until(journal, &journal->durable, lsn, false);
}

void journal_set_durability(struct journal *journal, enum dueq_durability durability,
                            unsigned interval_ms)
{
    pthread_mutex_lock(&journal->lock);
    atomic_store(&journal->durability, (int)durability);
    journal->relaxed = false;
    journal->interval_ms = interval_ms;
    advance_durable(journal);
    pthread_cond_signal(&journal->work);
    pthread_cond_broadcast(&journal->durable_changed);
    pthread_mutex_unlock(&journal->lock);
}

/* ---- housekeeping */

bool journal_end_segment_of(struct journal *journal, uint64_t lsn)
{
    return journal->current != NULL && journal->current->first_lsn <= lsn &&
           journal_switch(journal);
}

static bool waits(const struct journal *journal, const struct segment_file *segment)
{
    return journal->archives && segment != journal->current && !segment->archived &&
           segment->last_lsn >= segment->first_lsn;
}

/* What they take of the disk: a segment that ended early has a whole file. Under the lock. */
static uint64_t waiting_bytes(const struct journal *journal)
{
    uint64_t bytes = 0;

    for (const struct segment_file *segment = journal->oldest; segment != NULL;
         segment = segment->next)
        if (waits(journal, segment))
            bytes += segment->size;
    return bytes;
}

/* The archive must not take the journal's room. Under the lock. */
static bool keeps(struct journal *journal, const struct segment_file *segment)
{
    return waits(journal, segment) && journal_files_have_room(&journal->files) &&
           (journal->max_lag == 0 || waiting_bytes(journal) <= journal->max_lag);
}

/* Takes the oldest segment out of the list when it is no longer needed. */
static struct segment_file *unlink_below(struct journal *journal, uint64_t lsn)
{
    struct segment_file *segment = journal->oldest;

    assert(lsn <= journal->appended);
    if (segment == NULL || segment == journal->current || segment->last_lsn > lsn ||
        segment->dirty || segment->syncing || keeps(journal, segment))
        return NULL;
    journal->oldest = segment->next;
    if (journal->oldest == NULL)
        journal->youngest = NULL;
    return segment;
}

void journal_trim(struct journal *journal, uint64_t lsn)
{
    struct segment_file *segment;

    do {
        pthread_mutex_lock(&journal->lock);
        if (lsn > journal->trimmed)
            journal->trimmed = lsn;
        segment = unlink_below(journal, lsn);
        pthread_mutex_unlock(&journal->lock);
        if (segment == NULL)
            return;
        if (segment->fd >= 0)
            journal->io->close(journal->io->arg, segment->fd);
        journal_files_retire(&journal->files, segment->number, segment->size,
                             segment->unfilled && segment->used < segment->size / 2);
        free(segment);
    } while (true);
}

void journal_prepare(struct journal *journal)
{
    if (journal_status(journal) == DUEQ_OK)
        journal_files_prepare(&journal->files);
}

void journal_get_stats(const struct journal *journal, struct journal_stats *ret_stats)
{
    struct journal *locked = shared(journal);

    pthread_mutex_lock(&locked->lock);
    *ret_stats = journal->stats;
    ret_stats->live_bytes = ret_stats->segments = 0;
    for (const struct segment_file *segment = journal->oldest; segment != NULL;
         segment = segment->next) {
        ret_stats->live_bytes += segment->last_lsn > journal->trimmed ? segment->used : 0;
        ret_stats->segments++;
    }
    pthread_mutex_unlock(&locked->lock);
}

/* ---- the archive */

/* Under the lock. */
static struct segment_file *first_waiting(const struct journal *journal)
{
    struct segment_file *segment = journal->oldest;

    while (segment != NULL && !waits(journal, segment))
        segment = segment->next;
    return segment;
}

/* Under the lock. False: the time is over. */
static bool wait_for_archive(struct journal *journal, const struct timespec *until)
{
    if (until == NULL)
        return pthread_cond_wait(&journal->archive, &journal->lock) == 0;
    return pthread_cond_timedwait(&journal->archive, &journal->lock, until) != ETIMEDOUT;
}

bool journal_await_segment(struct journal *journal, unsigned ms,
                           struct journal_segment *ret_segment)
{
    struct timespec until = deadline_in(journal, ms);
    const struct segment_file *segment;
    bool waiting = true;

    pthread_mutex_lock(&journal->lock);
    while ((segment = first_waiting(journal)) == NULL && waiting && !journal->released)
        waiting = wait_for_archive(journal, ms == 0 ? NULL : &until);
    if (segment != NULL) {
        ret_segment->number = segment->number;
        ret_segment->first_lsn = segment->first_lsn;
        ret_segment->last_lsn = segment->last_lsn;
        journal_files_live_path(&journal->files, segment->number, ret_segment->path);
    }
    pthread_mutex_unlock(&journal->lock);
    return segment != NULL;
}

void journal_archived(struct journal *journal, uint64_t number)
{
    uint64_t trimmed;

    pthread_mutex_lock(&journal->lock);
    for (struct segment_file *segment = journal->oldest; segment != NULL;
         segment = segment->next)
        if (segment->number == number)
            segment->archived = true;
    trimmed = journal->trimmed;
    pthread_mutex_unlock(&journal->lock);
    journal_trim(journal, trimmed);
}

void journal_pause(struct journal *journal, unsigned ms)
{
    struct timespec until = deadline_in(journal, ms);

    pthread_mutex_lock(&journal->lock);
    while (!journal->released && wait_for_archive(journal, &until))
        continue;
    pthread_mutex_unlock(&journal->lock);
}

void journal_release_waiters(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal->released = true;
    pthread_cond_signal(&journal->archive);
    pthread_mutex_unlock(&journal->lock);
}

uint64_t journal_archived_lsn(const struct journal *journal)
{
    struct journal *locked = shared(journal);
    const struct segment_file *segment;
    uint64_t lsn;

    pthread_mutex_lock(&locked->lock);
    segment = first_waiting(journal);
    if (segment == NULL)
        segment = journal->current;
    lsn = segment == NULL || segment->last_lsn < segment->first_lsn ? journal->appended
                                                                    : segment->first_lsn - 1;
    pthread_mutex_unlock(&locked->lock);
    return lsn;
}

void journal_get_waiting(const struct journal *journal, uint64_t *ret_segments,
                         uint64_t *ret_bytes)
{
    struct journal *locked = shared(journal);

    *ret_segments = 0;
    pthread_mutex_lock(&locked->lock);
    for (const struct segment_file *segment = journal->oldest; segment != NULL;
         segment = segment->next)
        *ret_segments += waits(journal, segment);
    *ret_bytes = waiting_bytes(journal);
    pthread_mutex_unlock(&locked->lock);
}
