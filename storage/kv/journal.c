#include "storage/kv/journal.h"

#include "storage/kv/journal_files.h"
#include "storage/kv/journal_replay.h"
#include "storage/kv/segment.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS_AT_ONCE = 64, PAD_MAX = RECORD_ALIGN };

struct journal {
    struct journal_files files;
    uint64_t salt;
    const struct kv_io *io;
    void (*notify)(void *arg);
    void *notify_arg;

    /* the owner's */
    struct segment_file *current; /* NULL until the first append */
    struct segment_file large;    /* set aside for a record beyond a segment; size 0: none */
    uint64_t last;

    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the sync thread */
    pthread_cond_t settled_changed;
    struct segment_file *oldest, *youngest; /* live ones */
    uint64_t written;                       /* LSN that is with the kernel */
    uint64_t wanted; /* LSN that somebody waits to be synced, whatever the mode */
    uint64_t noted;  /* LSN that a note says is durable */
    unsigned interval_ms, note_ms;
    bool idle; /* the sync thread waits for work */
    bool stop;
    char failure[256];
    struct journal_stats stats;

    _Atomic(int) durability;
    _Atomic(uint64_t) synced, settled;
    _Atomic(int) status;
    pthread_t thread;
    bool thread_runs;
};

/* ---- state */

uint64_t journal_last(const struct journal *journal)
{
    return journal->last;
}

uint64_t journal_settled(const struct journal *journal)
{
    return atomic_load_explicit(&journal->settled, memory_order_acquire);
}

uint64_t journal_synced(const struct journal *journal)
{
    return atomic_load_explicit(&journal->synced, memory_order_acquire);
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

/* The first failure stays; from then on nothing settles. Under the lock. */
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
    pthread_cond_broadcast(&journal->settled_changed);
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

static void settle(struct journal *journal, uint64_t lsn)
{
    if (lsn > journal_settled(journal))
        atomic_store_explicit(&journal->settled, lsn, memory_order_release);
}

/* ---- the sync thread */

/* Must something be synced now? Under the lock. */
static bool sync_due(const struct journal *journal)
{
    uint64_t synced = journal_synced(journal);

    if (journal_status(journal) != DUEQ_OK || journal->written <= synced)
        return false;
    return atomic_load(&journal->durability) == KV_SYNC_ALWAYS || journal->wanted > synced;
}

static struct timespec moment_in(const struct journal *journal, unsigned ms)
{
    uint64_t usec = journal->io->monotonic_usec(journal->io->arg) + (uint64_t)ms * 1000;

    return (struct timespec){(time_t)(usec / 1000000), (long)(usec % 1000000) * 1000};
}

static void wait_interval(struct journal *journal)
{
    struct timespec until = moment_in(journal, journal->interval_ms);

    while (!journal->stop && !sync_due(journal) &&
           atomic_load(&journal->durability) == KV_SYNC_INTERVAL)
        if (pthread_cond_timedwait(&journal->work, &journal->lock, &until) == ETIMEDOUT)
            break;
}

/* Syncs one segment and, when it is new, its name. The lock is let go meanwhile; the segment
 * stays, because only what is synced is trimmed. */
static bool sync_segment(struct journal *journal, struct segment_file *segment)
{
    const struct kv_io *io = journal->io;
    const char *call = "fdatasync";
    bool named = segment->named;
    int result, error;

    segment->dirty = false;
    pthread_mutex_unlock(&journal->lock);
    result = io->fdatasync(io->arg, segment->fd);
    if (result == 0 && !named) {
        call = "fsync of the directory of";
        result = io->fsync_dir(io->arg, journal->files.path);
    }
    error = errno;
    pthread_mutex_lock(&journal->lock);
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
    return journal->note_ms > 0 && journal_synced(journal) > journal->noted &&
           journal->youngest != NULL && journal->youngest->fd >= 0 &&
           journal_status(journal) == DUEQ_OK;
}

/* True: nothing has come meanwhile. Under the lock. */
static bool wait_a_while(struct journal *journal)
{
    struct timespec until = moment_in(journal, journal->note_ms);

    return pthread_cond_timedwait(&journal->work, &journal->lock, &until) == ETIMEDOUT &&
           !journal->stop && !sync_due(journal);
}

/* Says in the youngest segment what is durable: no record may follow for long that would. A
 * note that cannot be written says nothing, which does no harm; its sync is like any other,
 * because a record may have been written meanwhile. Under the lock, which the sync lets go. */
static void note_durable(struct journal *journal)
{
    struct segment_file *segment = journal->youngest;
    uint8_t bytes[SEGMENT_NOTE_SIZE];
    struct iovec part = {bytes, sizeof(bytes)};

    journal->noted = journal_synced(journal);
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

/* Returns under the lock when there is something to sync, or it is time to stop. */
static void wait_for_work(struct journal *journal)
{
    while (!journal->stop && !sync_due(journal)) {
        if (atomic_load(&journal->durability) == KV_SYNC_INTERVAL &&
            journal->written > journal_synced(journal) && journal_status(journal) == DUEQ_OK) {
            wait_interval(journal);
            if (journal_status(journal) == DUEQ_OK)
                return;
            continue; /* failed meanwhile, and perhaps told to stop */
        }
        journal->idle = true;
        if (!note_wanted(journal))
            pthread_cond_wait(&journal->work, &journal->lock);
        else if (wait_a_while(journal))
            note_durable(journal);
        journal->idle = false;
    }
}

/* A full segment that is synced needs its descriptor no more. Under the lock. */
static void close_old(struct journal *journal)
{
    for (struct segment_file *segment = journal->oldest; segment != journal->youngest;
         segment = segment->next)
        if (!segment->dirty && segment->fd >= 0) {
            journal->io->close(journal->io->arg, segment->fd);
            segment->fd = -1;
        }
}

static void count_sync(struct journal *journal, uint64_t usec)
{
    journal->stats.syncs++;
    journal->stats.sync_usec_total += usec;
    if (usec > journal->stats.sync_usec_max)
        journal->stats.sync_usec_max = usec;
}

static void *run_sync_thread(void *arg)
{
    struct journal *journal = arg;
    const struct kv_io *io = journal->io;

    pthread_mutex_lock(&journal->lock);
    for (;;) {
        uint64_t target, began;
        bool done;

        wait_for_work(journal);
        if (journal->stop)
            break;
        target = journal->written;
        began = io->monotonic_usec(io->arg);
        done = sync_all(journal);
        count_sync(journal, io->monotonic_usec(io->arg) - began);
        if (done) {
            atomic_store_explicit(&journal->synced, target, memory_order_release);
            settle(journal, target);
            close_old(journal);
            pthread_cond_broadcast(&journal->settled_changed);
        }
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
    pthread_cond_init(&journal->settled_changed, NULL);
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
    journal->io = options->io;
    journal->notify = options->notify;
    journal->notify_arg = options->notify_arg;
    journal->interval_ms = options->interval_ms;
    journal->note_ms = options->note_ms;
    atomic_store(&journal->durability, (int)options->durability);
    init_sync(journal);
    status = journal_files_open(&journal->files, dir, options->io, options->segment_bytes,
                                options->disk_reserve, &listing, error);
    if (status == DUEQ_OK) {
        status = journal_replay(&journal->files, &listing, options->salt, after, fn, arg,
                                &segments, ret_replay, error);
        free(listing.numbers);
    }
    adopt_segments(journal, segments);
    if (status == DUEQ_OK) {
        journal->last = journal->written = journal->noted = ret_replay->last_lsn;
        atomic_store(&journal->synced, journal->last);
        atomic_store(&journal->settled, journal->last);
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
    pthread_cond_destroy(&journal->settled_changed);
    pthread_mutex_destroy(&journal->lock);
    free(journal);
}

/* ---- appending */

/* Writes all parts at the offset, however many calls that takes. */
static bool write_parts(struct journal *journal, struct iovec *parts, int count,
                        uint64_t offset)
{
    const struct kv_io *io = journal->io;

    while (count > 0) {
        ssize_t put = io->pwritev(io->arg, journal->current->fd, parts,
                                  count < PARTS_AT_ONCE ? count : PARTS_AT_ONCE, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put == 0 ? ENOSPC : errno;
            return false;
        }
        offset += (uint64_t)put;
        while (count > 0 && (size_t)put >= parts->iov_len) {
            put -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (put > 0) {
            parts->iov_base = (uint8_t *)parts->iov_base + put;
            parts->iov_len -= (size_t)put;
        }
    }
    return true;
}

static bool begin_segment(struct journal *journal)
{
    struct segment_file *segment = journal->current;
    struct segment_header header = {.number = segment->number,
                                    .first_lsn = journal->last + 1,
                                    .durable = journal_synced(journal)};
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    struct iovec part = {bytes, sizeof(bytes)};

    segment_write_header(bytes, &header, segment_salt(journal->salt, segment->number));
    segment->first_lsn = header.first_lsn;
    segment->last_lsn = journal->last;
    segment->used = SEGMENT_HEADER_SIZE;
    return write_parts(journal, &part, 1, 0);
}

/* A file for a record of that space: the large one that was set aside for it, or another. */
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

/* A new current segment with room for a record of that space. */
static enum dueq_status roll(struct journal *journal, size_t space)
{
    struct segment_file *segment = calloc(1, sizeof(*segment));
    enum dueq_status status;

    if (segment == NULL)
        return DUEQ_NOMEM;
    status = take(journal, space, segment);
    if (status != DUEQ_OK) {
        free(segment);
        return status == DUEQ_IO ? fail(journal, "creating a segment", 0) : status;
    }
    pthread_mutex_lock(&journal->lock);
    if (journal->youngest != NULL)
        journal->youngest->next = segment;
    else
        journal->oldest = segment;
    journal->youngest = segment;
    journal->current = segment;
    pthread_mutex_unlock(&journal->lock);
    return begin_segment(journal) ? DUEQ_OK : fail(journal, "write", segment->number);
}

static bool fits_current(const struct journal *journal, size_t space)
{
    return journal->current != NULL && journal->current->used + space <= journal->current->size;
}

/* A batch that goes on growing asks again and again: twice as much at once, where it can be
 * had. What is set aside already stays until there is more: the batch under way relies on it.
 */
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

/* Tells the sync thread, which costs a system call only when it sleeps. */
static void publish(struct journal *journal, size_t space)
{
    pthread_mutex_lock(&journal->lock);
    journal->written = journal->last;
    journal->current->last_lsn = journal->last;
    journal->current->used += space;
    journal->current->dirty = true;
    journal->stats.written_bytes += space;
    if (atomic_load(&journal->durability) != KV_SYNC_ALWAYS)
        settle(journal, journal->last);
    if (journal->idle && atomic_load(&journal->durability) != KV_SYNC_NONE)
        pthread_cond_signal(&journal->work);
    pthread_mutex_unlock(&journal->lock);
}

static enum dueq_status write_record(struct journal *journal, int64_t time,
                                     const struct iovec *parts, int count, size_t size)
{
    static const uint8_t padding[PAD_MAX];
    struct segment_file *segment = journal->current;
    struct record_header header = {.lsn = journal->last + 1,
                                   .durable = journal_synced(journal),
                                   .time = time,
                                   .size = (uint32_t)size};
    uint8_t bytes[RECORD_HEADER_SIZE];
    size_t space = record_space(size);
    struct iovec few[8], *all = few;
    bool done;

    if (count + 2 > (int)(sizeof(few) / sizeof(few[0])))
        all = malloc(((size_t)count + 2) * sizeof(*all));
    if (all == NULL)
        return DUEQ_NOMEM;
    record_write_header(bytes, &header, parts, count,
                        segment_salt(journal->salt, segment->number));
    all[0] = (struct iovec){bytes, sizeof(bytes)};
    memcpy(all + 1, parts, (size_t)count * sizeof(*parts));
    all[count + 1] = (struct iovec){(void *)(uintptr_t)padding, space - sizeof(bytes) - size};
    done = write_parts(journal, all, count + 1 + (all[count + 1].iov_len > 0), segment->used);
    if (all != few)
        free(all);
    if (!done)
        return fail(journal, "write", segment->number);
    journal->last++;
    publish(journal, space);
    return DUEQ_OK;
}

enum dueq_status journal_append(struct journal *journal, int64_t time,
                                const struct iovec *parts, int count, uint64_t *ret_lsn)
{
    size_t size = parts_size(parts, count), space = record_space(size);
    enum dueq_status status = journal_status(journal);

    if (status != DUEQ_OK)
        return status;
    if (size > KV_RECORD_MAX)
        return DUEQ_TOOBIG;
    if (!fits_current(journal, space))
        status = roll(journal, space);
    if (status == DUEQ_OK)
        status = write_record(journal, time, parts, count, size);
    if (status != DUEQ_OK)
        return status;
    discard_large(journal); /* of a batch that needed less after all */
    *ret_lsn = journal->last;
    return DUEQ_OK;
}

/* ---- waiting */

static enum dueq_status wait_until(struct journal *journal, const _Atomic(uint64_t) *reached,
                                   uint64_t lsn, bool force)
{
    pthread_mutex_lock(&journal->lock);
    if (force && lsn > journal->wanted)
        journal->wanted = lsn;
    pthread_cond_signal(&journal->work);
    while (atomic_load(reached) < lsn && journal_status(journal) == DUEQ_OK)
        pthread_cond_wait(&journal->settled_changed, &journal->lock);
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
    return wait_until(journal, &journal->settled, lsn, false);
}

void journal_set_durability(struct journal *journal, enum kv_durability durability,
                            unsigned interval_ms)
{
    pthread_mutex_lock(&journal->lock);
    atomic_store(&journal->durability, (int)durability);
    journal->interval_ms = interval_ms;
    if (durability != KV_SYNC_ALWAYS)
        settle(journal, journal->written);
    pthread_cond_signal(&journal->work);
    pthread_cond_broadcast(&journal->settled_changed);
    pthread_mutex_unlock(&journal->lock);
}

/* ---- housekeeping */

/* Takes the oldest segment out when it is not needed any more. */
static struct segment_file *unlink_below(struct journal *journal, uint64_t lsn)
{
    struct segment_file *segment = journal->oldest;

    if (segment == NULL || segment == journal->current || segment->last_lsn > lsn ||
        segment->dirty)
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
        segment = unlink_below(journal, lsn);
        pthread_mutex_unlock(&journal->lock);
        if (segment == NULL)
            return;
        if (segment->fd >= 0)
            journal->io->close(journal->io->arg, segment->fd);
        journal_files_retire(&journal->files, segment->number, segment->size);
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
        ret_stats->live_bytes += segment->used;
        ret_stats->segments++;
    }
    pthread_mutex_unlock(&locked->lock);
}
