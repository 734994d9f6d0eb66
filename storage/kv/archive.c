#include "storage/kv/archive.h"

#include "storage/kv/archive_file.h"
#include "storage/kv/journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 1000, RETRY_MOST_MS = 60 * 1000 };

struct archive {
    struct archive_options options;
    char *dir;
    struct journal *journal;
    pthread_t thread;
    pthread_mutex_t lock;
    struct dueq_archive_stats stats; /* under the lock */
    uint64_t chain_lsn; /* the thread's own: what should be followed by the next segment; 0: not
                           known */
    unsigned retry_ms;  /* the thread's own; 0: the last try succeeded */
    uint64_t seen_lsn;  /* the thread's own: what the last interval ended with */
    _Atomic(bool) stop, wants_switch;
};

/* ---- the thread */

static bool goes_on(void *arg)
{
    struct archive *archive = arg;

    return !atomic_load(&archive->stop);
}

static void tell(const struct archive *archive)
{
    if (archive->options.notify != NULL)
        archive->options.notify(archive->options.notify_arg);
}

static void note_copied(struct archive *archive, const struct journal_segment *segment,
                        uint64_t bytes)
{
    struct dueq_archive_stats *stats = &archive->stats;

    pthread_mutex_lock(&archive->lock);
    if (archive->chain_lsn != 0 && segment->first_lsn > archive->chain_lsn + 1)
        stats->gaps++;
    archive->chain_lsn = segment->last_lsn;
    stats->segments++;
    stats->bytes += bytes;
    stats->last_lsn = segment->last_lsn;
    stats->status = DUEQ_OK;
    stats->error = 0;
    pthread_mutex_unlock(&archive->lock);
    archive->retry_ms = 0;
}

static void note_damaged(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    archive->stats.damaged++;
    pthread_mutex_unlock(&archive->lock);
}

/* It can never be copied: it was given up meanwhile, or it is not what it was. The next one
 * that is copied tells that it is missing. */
static void note_lost(struct archive *archive, const struct journal_segment *segment,
                      enum dueq_status status)
{
    pthread_mutex_lock(&archive->lock);
    if (archive->chain_lsn == 0) {
        archive->stats.gaps++;
        archive->chain_lsn = segment->last_lsn;
    }
    archive->stats.status = status;
    archive->stats.error = 0;
    if (status != DUEQ_NOTFOUND)
        archive->stats.failures++;
    pthread_mutex_unlock(&archive->lock);
    archive->retry_ms = 0;
}

static void note_failed(struct archive *archive, enum dueq_status status, int error)
{
    pthread_mutex_lock(&archive->lock);
    archive->stats.failures++;
    archive->stats.status = status;
    archive->stats.error = status == DUEQ_IO ? error : 0;
    pthread_mutex_unlock(&archive->lock);
    archive->retry_ms = archive->retry_ms == 0                  ? RETRY_MS
                        : archive->retry_ms < RETRY_MOST_MS / 2 ? archive->retry_ms * 2
                                                                : RETRY_MOST_MS;
}

/* True: the journal no longer needs to keep it. */
static bool put_away(struct archive *archive, const struct journal_segment *segment)
{
    struct archive_copy copy = {.io = archive->options.io,
                                .dir = archive->dir,
                                .seed = archive->options.seed,
                                .disk_reserve = archive->options.disk_reserve,
                                .goes_on = goes_on,
                                .arg = archive};
    enum dueq_status status = journal_sync_to(archive->journal, segment->last_lsn);

    if (status != DUEQ_OK) {
        archive->retry_ms = RETRY_MOST_MS; /* the journal has failed, and with it the store */
        return false;
    }
    errno = 0;
    status = archive_copy(&copy, segment->path, segment->last_lsn);
    if (copy.set_aside)
        note_damaged(archive);
    if (status == DUEQ_OK) {
        note_copied(archive, segment, copy.bytes);
        return true;
    }
    if (status == DUEQ_BUSY)
        return false;
    if (status == DUEQ_NOTFOUND || status == DUEQ_CORRUPT) {
        note_lost(archive, segment, status);
        return true;
    }
    note_failed(archive, status, errno);
    return false;
}

/* No segment was full for a whole interval: what was there at its beginning has waited that
 * long. */
static void pass_interval(struct archive *archive)
{
    uint64_t lsn = journal_written_lsn(archive->journal);

    if (archive->seen_lsn > journal_archived_lsn(archive->journal)) {
        atomic_store(&archive->wants_switch, true);
        tell(archive);
    }
    archive->seen_lsn = lsn;
}

static void *run_thread(void *arg)
{
    struct archive *archive = arg;
    struct journal_segment segment;

    while (!atomic_load(&archive->stop)) {
        if (archive->retry_ms > 0)
            journal_pause(archive->journal, archive->retry_ms);
        if (!journal_await_segment(archive->journal, archive->options.interval_ms, &segment)) {
            pass_interval(archive);
            continue;
        }
        if (put_away(archive, &segment))
            journal_archived(archive->journal, segment.number);
        tell(archive);
    }
    return NULL;
}

/* ---- the owner's side */

static void release(struct archive *archive)
{
    pthread_mutex_destroy(&archive->lock);
    free(archive->dir);
    free(archive);
}

enum dueq_status archive_new(const struct archive_options *options, struct journal *journal,
                             struct archive **ret_archive)
{
    struct archive *archive = calloc(1, sizeof(*archive));

    if (archive == NULL)
        return DUEQ_NOMEM;
    pthread_mutex_init(&archive->lock, NULL);
    archive->options = *options;
    archive->journal = journal;
    archive->dir = strdup(options->dir);
    if (archive->dir == NULL ||
        pthread_create(&archive->thread, NULL, run_thread, archive) != 0) {
        release(archive);
        return DUEQ_NOMEM;
    }
    *ret_archive = archive;
    return DUEQ_OK;
}

void archive_free(struct archive *archive)
{
    if (archive == NULL)
        return;
    atomic_store(&archive->stop, true);
    journal_release_waiters(archive->journal);
    pthread_join(archive->thread, NULL);
    release(archive);
}

bool archive_wants_switch(struct archive *archive)
{
    return atomic_load_explicit(&archive->wants_switch, memory_order_relaxed) &&
           atomic_exchange(&archive->wants_switch, false);
}

const char *archive_dir(const struct archive *archive)
{
    return archive->dir;
}

void archive_get_stats(const struct archive *archive, struct dueq_archive_stats *ret_stats)
{
    struct archive *locked = (struct archive *)(uintptr_t)archive;

    pthread_mutex_lock(&locked->lock);
    *ret_stats = archive->stats;
    ret_stats->on = true;
    pthread_mutex_unlock(&locked->lock);
    journal_get_waiting(archive->journal, &ret_stats->waiting_segments,
                        &ret_stats->waiting_bytes);
}
