#include "storage/kv/lmdb_backup.h"

#include "storage/kv/lmdb_internal.h"
#include "storage/kv/pages/pages_census.h"
#include "storage/kv/pages/pages_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

struct lmdb_backup {
    const struct dueq_io *io;
    struct lmdb_file *file;
    MDB_txn *txn;
    uint64_t txnid;
    struct pages *pages; /* of file; the thread's */
};

/* ---- the owner's */

/* The view maps what the file has now, and not all that the store may need one day. */
static struct pages *new_view(const struct lmdb_file *file)
{
    MDB_envinfo info;
    MDB_stat stat;

    mdb_env_info(file->env, &info);
    mdb_env_stat(file->env, &stat);
    return pages_new(file->io, file->fd, ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize,
                     false);
}

/* One try. DUEQ_NOTFOUND: two commits came in between. */
static enum dueq_status hold(struct lmdb_store *store, struct lmdb_backup *backup)
{
    int error = mdb_txn_begin(backup->file->env, NULL, MDB_RDONLY, &backup->txn);
    enum dueq_status status;

    if (error != MDB_SUCCESS) {
        backup->txn = NULL;
        return lmdb_status_of(store, error);
    }
    backup->txnid = mdb_txn_id(backup->txn);
    backup->pages = new_view(backup->file);
    status = backup->pages == NULL ? DUEQ_NOMEM : pages_begin(backup->pages, backup->txnid);
    if (status == DUEQ_OK)
        return DUEQ_OK;
    pages_free(backup->pages);
    backup->pages = NULL;
    mdb_txn_abort(backup->txn);
    backup->txn = NULL;
    return status;
}

/* As long as each try finds a later transaction than the one before. */
static enum dueq_status hold_last(struct lmdb_store *store, struct lmdb_backup *backup)
{
    enum dueq_status status;
    uint64_t tried;

    do {
        tried = backup->txnid;
        status = hold(store, backup);
    } while (status == DUEQ_NOTFOUND && backup->txnid > tried);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status lmdb_backup_new(struct lmdb_store *store, struct lmdb_backup **ret_backup)
{
    struct lmdb_backup *backup = calloc(1, sizeof(*backup));
    enum dueq_status status;

    if (backup == NULL)
        return DUEQ_NOMEM;
    lmdb_pin(store);
    backup->io = store->io;
    backup->file = store->shown;
    status = hold_last(store, backup);
    if (status != DUEQ_OK) {
        free(backup);
        return status;
    }
    backup->file->uses++; /* a compaction meanwhile does not close it */
    *ret_backup = backup;
    return DUEQ_OK;
}

void lmdb_backup_free(struct lmdb_store *store, struct lmdb_backup *backup)
{
    if (backup == NULL)
        return;
    lmdb_pin(store);
    pages_free(backup->pages);
    mdb_txn_abort(backup->txn);
    lmdb_leave_file(store, backup->file);
    free(backup);
}

/* ---- the thread's */

uint64_t lmdb_backup_size(const struct lmdb_backup *backup)
{
    return pages_copy_size(backup->pages);
}

/* Reads the copy through the calls of the system, but for those after which nobody wants it. */
struct reading {
    struct dueq_io io;
    const struct dueq_io *system;
    bool (*goes_on)(void *arg, uint64_t bytes);
    void *arg;
    uint64_t size;
    bool stopped;
};

static ssize_t read_on(void *arg, int fd, void *data, size_t size, off_t offset)
{
    struct reading *reading = arg;

    if (!reading->goes_on(reading->arg, reading->size)) {
        reading->stopped = true;
        errno = ECANCELED;
        return -1;
    }
    return reading->system->pread(reading->system->arg, fd, data, size, offset);
}

/* What the disk has, as far as the system lets go of what it keeps in memory. */
static enum dueq_status check(const struct lmdb_backup *backup, int fd, struct reading *reading)
{
    struct pages *pages = pages_new(&reading->io, fd, reading->size, false);
    struct pages_census census;
    enum dueq_status status;

    if (pages == NULL)
        return DUEQ_NOMEM;
    status = pages_show(pages, backup->txnid);
    if (status == DUEQ_OK)
        status = pages_check(pages, &census);
    pages_free(pages);
    if (reading->stopped)
        return DUEQ_BUSY;
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

static enum dueq_status fill(struct lmdb_backup *backup, int fd,
                             bool (*goes_on)(void *arg, uint64_t bytes), void *arg)
{
    const struct dueq_io *io = backup->io;
    struct pages_copy copy = {.pages = backup->pages, .fd = fd, .goes_on = goes_on, .arg = arg};
    struct reading reading = {.io = *io,
                              .system = io,
                              .goes_on = goes_on,
                              .arg = arg,
                              .size = lmdb_backup_size(backup)};
    int error;
    enum dueq_status status = pages_begin_list(backup->pages);

    reading.io.arg = &reading;
    reading.io.pread = read_on;
    if (status == DUEQ_OK)
        status = pages_copy(&copy, &error);
    if (status == DUEQ_OK)
        status = pages_check_metas(io, fd, NULL);
    if (status != DUEQ_OK)
        return status;
    io->forget(io->arg, fd);
    return check(backup, fd, &reading);
}

enum dueq_status lmdb_backup_write(struct lmdb_backup *backup, const char *path,
                                   bool (*goes_on)(void *arg, uint64_t bytes), void *arg)
{
    const struct dueq_io *io = backup->io;
    int fd = io->open(io->arg, path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    enum dueq_status status;

    if (fd < 0)
        return errno == ENOSPC || errno == EDQUOT ? DUEQ_FULL : DUEQ_IO;
    status = fill(backup, fd, goes_on, arg);
    io->close(io->arg, fd);
    return status;
}
