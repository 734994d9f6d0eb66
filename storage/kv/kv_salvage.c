#include "storage/kv/kv_salvage.h"

#include "storage/kv/batch.h"
#include "storage/kv/data_dir.h"
#include "storage/kv/journal/journal_salvage.h"
#include "storage/kv/mark.h"
#include "storage/kv/pages/pages_salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kv_salvage {
    const struct dueq_io *io;
    struct kv_salvage_sink sink;
    char dir[PATH_MAX];
    int lock_fd, fd;
    struct pages_salvage *pages;
    struct checkpoint_mark mark;
    bool has_mark, sure; /* the mark is that of the tree */
    int64_t time;
};

static void report(void *arg, const char *what)
{
    struct kv_salvage *salvage = arg;

    salvage->sink.on_damage(salvage->sink.arg, what);
}

/* ---- data.mdb */

/* Which run has that record? False: none that the mark names. */
static bool find_run(const struct kv_salvage *salvage, struct dueq_slice whole,
                     struct dueq_slice *ret_key)
{
    for (unsigned i = 0; i < salvage->mark.runs.count; i++) {
        struct run_key run;

        run_key_start(&run, salvage->mark.runs.runs[i].number);
        if (run_key_read(&run, whole, ret_key))
            return true;
    }
    return false;
}

/* The records of runs as those of their table. */
static enum dueq_status on_page_record(void *arg, struct dueq_slice key,
                                       struct dueq_slice value, bool stray)
{
    struct kv_salvage *salvage = arg;
    uint8_t lead = *(const uint8_t *)key.data;
    bool tombstone = false;

    if (lead == 0)
        return DUEQ_OK;
    if (lead == RUNS_LEAD && (!find_run(salvage, key, &key) ||
                              !run_value_read(value, &tombstone, &value) || tombstone))
        return DUEQ_OK;
    return salvage->sink.on_put(salvage->sink.arg, key, value,
                                stray ? KV_SALVAGED_STRAY : KV_SALVAGED);
}

static void read_mark(struct kv_salvage *salvage)
{
    struct dueq_slice value;

    salvage->has_mark =
        pages_salvage_stamp(salvage->pages, &value, &salvage->sure) == DUEQ_OK &&
        mark_decode(value, &salvage->mark);
    if (!salvage->has_mark)
        report(salvage, "data.mdb: it has no mark; without it the journal cannot be read");
    else if (!salvage->sure)
        report(salvage, "data.mdb: the mark is taken from a page that nothing leads to");
    salvage->time = salvage->has_mark ? salvage->mark.time : 0;
}

static enum dueq_status open_pages(struct kv_salvage *salvage, struct dueq_error *error)
{
    static const uint8_t mark_key[] = {0};
    const struct pages_salvage_sink sink = {on_page_record, report, salvage};
    char path[PATH_MAX + sizeof("/data.mdb")];
    enum dueq_status status;

    snprintf(path, sizeof(path), "%s/data.mdb", salvage->dir);
    salvage->fd =
        salvage->io->open(salvage->io->arg, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (salvage->fd < 0)
        return dueq_fail(error, errno == ENOENT ? DUEQ_CORRUPT : DUEQ_IO,
                         "cannot open %s: %s; without it the journal cannot be read", path,
                         strerror(errno));
    if (!io_is_file(salvage->fd))
        return dueq_fail(error, DUEQ_CORRUPT,
                         "%s is not a regular file; without it the journal cannot be read",
                         path);
    status = pages_salvage_new(salvage->io, salvage->fd, dueq_slice(mark_key, sizeof(mark_key)),
                               &sink, &salvage->pages);
    if (status != DUEQ_OK)
        return dueq_fail(error, status, "cannot read %s: %s", path, dueq_status_text(status));
    read_mark(salvage);
    return DUEQ_OK;
}

/* ---- the journal */

/* What the tree has is newer than an earlier record, except where the tree is lost. */
static enum dueq_status carry_out(struct kv_salvage *salvage,
                                  const struct batch_operation *operation, bool is_earlier,
                                  bool after_gap)
{
    struct dueq_slice key = operation->key;
    uint8_t lead = key.size == 0 ? 0 : *(const uint8_t *)key.data;

    if (lead == 0 || lead == RUNS_LEAD || key.size > KV_KEY_MAX ||
        (is_earlier && !pages_salvage_lost(salvage->pages, key)))
        return DUEQ_OK;
    if (!operation->put)
        return salvage->sink.on_del(salvage->sink.arg, key);
    return salvage->sink.on_put(salvage->sink.arg, key, operation->value,
                                after_gap ? KV_SALVAGED_AFTER_GAP : KV_SALVAGED);
}

static enum dueq_status on_journal_record(void *arg, const struct journal_record *record,
                                          bool after_gap)
{
    struct kv_salvage *salvage = arg;
    const uint8_t *at = record->payload, *end = at + record->size;
    bool is_earlier = salvage->sure && record->lsn <= salvage->mark.lsn;
    enum dueq_status status = DUEQ_OK;
    struct batch_operation operation;

    if (record->time > salvage->time)
        salvage->time = record->time;
    while (at < end && status == DUEQ_OK && batch_read(&at, end, &operation))
        status = carry_out(salvage, &operation, is_earlier, after_gap);
    return status;
}

/* ---- the directory */

/* A FORMAT that is damaged is none of a later version. */
static enum dueq_status lock(struct kv_salvage *salvage, struct dueq_error *error)
{
    enum dueq_status status = data_dir_lock_to_read(salvage->dir, &salvage->lock_fd, error);

    if (status != DUEQ_CORRUPT)
        return status;
    report(salvage, error->text);
    return DUEQ_OK;
}

enum dueq_status kv_salvage_open(const char *dir, const struct dueq_io *io,
                                 const struct kv_salvage_sink *sink,
                                 struct kv_salvage **ret_salvage, struct dueq_error *error)
{
    struct kv_salvage *salvage = calloc(1, sizeof(*salvage));
    enum dueq_status status;

    if (salvage == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    salvage->io = io;
    salvage->sink = *sink;
    salvage->lock_fd = salvage->fd = -1;
    if (snprintf(salvage->dir, sizeof(salvage->dir), "%s", dir) >= (int)sizeof(salvage->dir))
        status = dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    else
        status = lock(salvage, error);
    if (status == DUEQ_OK)
        status = open_pages(salvage, error);
    if (status == DUEQ_OK)
        status = journal_salvage_ask(salvage->io, salvage->dir, error);
    if (status == DUEQ_OK)
        *ret_salvage = salvage;
    else
        kv_salvage_close(salvage);
    return status;
}

void kv_salvage_close(struct kv_salvage *salvage)
{
    if (salvage == NULL)
        return;
    pages_salvage_free(salvage->pages);
    if (salvage->fd >= 0)
        salvage->io->close(salvage->io->arg, salvage->fd);
    data_dir_unlock(salvage->lock_fd);
    free(salvage);
}

uint64_t kv_salvage_seed(const struct kv_salvage *salvage)
{
    return salvage->has_mark ? salvage->mark.seed : 0;
}

uint64_t kv_salvage_epoch(const struct kv_salvage *salvage)
{
    return salvage->has_mark ? history_epoch(salvage->mark.history.id) : 0;
}

enum dueq_status kv_salvage_read(struct kv_salvage *salvage, int64_t *ret_time)
{
    const struct journal_salvage_sink sink = {on_journal_record, report, salvage};
    enum dueq_status status = pages_salvage_read(salvage->pages);

    if (status == DUEQ_OK && salvage->has_mark)
        status = journal_salvage(salvage->io, salvage->dir, salvage->mark.seed,
                                 salvage->sure ? salvage->mark.lsn + 1 : 0, &sink);
    *ret_time = salvage->time;
    return status;
}
