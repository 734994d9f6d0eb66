/* Compaction: a copy of data.mdb without its free pages takes its place. */
#include "storage/kv/lmdb_internal.h"
#include "storage/kv/pages/pages_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char data_name[] = "data.mdb", copy_name[] = "data.mdb.new",
                  lock_name[] = "lock.mdb", copy_lock_name[] = "data.mdb.new-lock";

/* ---- files */

static const char *path_of(const struct lmdb_store *store, const char *name, char *path)
{
    enum { LONGEST = sizeof("/data.mdb.new-lock") }; /* a longer directory is not opened */

    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - LONGEST, store->dir, name);
    return path;
}

/* 0, also when there is none; or errno. */
static int remove_file(const struct lmdb_store *store, const char *name)
{
    const struct dueq_io *io = store->io;
    char path[PATH_MAX];

    path_of(store, name, path);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    return io->unlink(io->arg, path) == 0 || errno == ENOENT ? 0 : errno;
}

int lmdb_remove_copy(struct lmdb_store *store)
{
    int error = remove_file(store, copy_name), other = remove_file(store, copy_lock_name);

    return error != 0 ? error : other;
}

static int rename_file(const struct lmdb_store *store, const char *from, const char *to)
{
    const struct dueq_io *io = store->io;
    char before[PATH_MAX], after[PATH_MAX];

    return io->rename(io->arg, path_of(store, from, before), path_of(store, to, after)) == 0
               ? 0
               : errno;
}

/* ---- the promise of the owner */

void lmdb_begin_promise(struct lmdb_store *store, uint64_t bytes)
{
    pthread_mutex_lock(&store->lock);
    store->promised = bytes;
    pthread_mutex_unlock(&store->lock);
}

enum dueq_status lmdb_promise(struct lmdb_store *store, uint64_t bytes)
{
    int error = 0;

    pthread_mutex_lock(&store->lock);
    if (store->kept && bytes > store->promised)
        error = lmdb_file_allocate(store->copy, store->copy_used + bytes);
    if (error == 0 && bytes > store->promised)
        store->promised = bytes;
    pthread_mutex_unlock(&store->lock);
    return lmdb_status_of(store, error);
}

void lmdb_end_promise(struct lmdb_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->copy = NULL;
    store->kept = false;
    pthread_mutex_unlock(&store->lock);
}

/* True, and it stays so until the owner ends the promise: the file has as much. */
static bool is_kept(struct lmdb_store *store, const struct lmdb_file *file, uint64_t *ret_bytes)
{
    pthread_mutex_lock(&store->lock);
    *ret_bytes = store->promised;
    store->kept = atomic_load(&file->allocated) >= store->copy_used + store->promised;
    pthread_mutex_unlock(&store->lock);
    return store->kept;
}

/* The owner promises more meanwhile, as it makes changes. */
static int keep_promise(struct lmdb_store *store, struct lmdb_file *file)
{
    uint64_t bytes;
    int error = 0;

    while (error == 0 && !is_kept(store, file, &bytes))
        error = lmdb_file_allocate(file, store->copy_used + bytes);
    return error;
}

/* ---- the copy */

/* Opens what was copied as LMDB will use it. The lock file is a new one: the present
 * environment uses the other. */
static int enter_copy(struct lmdb_store *store, struct lmdb_file *file)
{
    char path[PATH_MAX];
    int error = lmdb_file_prepare_lock(store->io, path_of(store, copy_lock_name, path));

    if (error == 0)
        error = lmdb_file_open(file, path_of(store, copy_name, path), store->map_bytes,
                               MDB_NOSUBDIR | MDB_NOMETASYNC);
    if (error == 0)
        error = lmdb_file_look(file);
    if (error == 0)
        pages_limit(file->reader, &store->limit);
    return error;
}

static enum dueq_status fill_copy(struct lmdb_store *store, struct lmdb_file *file,
                                  bool (*goes_on)(void *arg, uint64_t bytes), void *arg)
{
    struct pages_copy copy = {.pages = atomic_load(&store->file)->writer,
                              .fd = file->fd,
                              .goes_on = goes_on,
                              .arg = arg};
    uint64_t promised;
    enum dueq_status status;
    int error;

    is_kept(store, file, &promised);
    error = lmdb_file_allocate(file, store->copy_used + promised);
    if (error != 0)
        return lmdb_status_of(store, error);
    status = pages_copy(&copy, &error);
    if (status == DUEQ_OK)
        status = pages_check_metas(store->io, file->fd, NULL);
    if (error != 0)
        lmdb_status_of(store, error);
    else if (status == DUEQ_CORRUPT || status == DUEQ_IO)
        atomic_store(&store->last_damage, copy.pages);
    return status;
}

/* Makes the file complete under its other name, and opens it. */
static enum dueq_status make_copy(struct lmdb_store *store, struct lmdb_file *file,
                                  bool (*goes_on)(void *arg, uint64_t bytes), void *arg)
{
    const struct dueq_io *io = store->io;
    char path[PATH_MAX];
    int error = lmdb_remove_copy(store);
    enum dueq_status status;

    if (error == 0) {
        file->fd = io->open(io->arg, path_of(store, copy_name, path),
                            O_RDWR | O_CREAT | O_TRUNC, 0600);
        error = file->fd < 0 ? errno : 0;
    }
    if (error != 0)
        return lmdb_status_of(store, error);
    status = fill_copy(store, file, goes_on, arg);
    if (status == DUEQ_OK)
        status = lmdb_status_of(store, enter_copy(store, file));
    if (status == DUEQ_OK)
        status = lmdb_status_of(store, keep_promise(store, file));
    return status;
}

/* Shows the last transaction to the writer's view; nothing changes the file until the copy has
 * ended. */
static enum dueq_status show_last(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_load(&store->file);
    enum dueq_status status;
    MDB_txn *txn;
    int error = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);

    if (error != MDB_SUCCESS)
        return lmdb_status_of(store, error);
    status = pages_show(file->writer, mdb_txn_id(txn));
    mdb_txn_abort(txn);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    store->copy_used = pages_copy_size(file->writer);
    return DUEQ_OK;
}

static void drop_copy(struct lmdb_store *store, struct lmdb_file *file)
{
    lmdb_end_promise(store);
    lmdb_file_free(file);
    lmdb_remove_copy(store);
}

enum dueq_status lmdb_copy(struct lmdb_store *store, bool (*goes_on)(void *arg, uint64_t bytes),
                           void *arg)
{
    struct lmdb_file *file;
    enum dueq_status status;

    if (lmdb_has_before(store))
        return DUEQ_BUSY;
    status = show_last(store);
    if (status != DUEQ_OK)
        return status;
    file = lmdb_file_new(store->io);
    if (file == NULL)
        return DUEQ_NOMEM;
    file->number = atomic_load(&store->file)->number + 1;
    store->copy = file;
    status = make_copy(store, file, goes_on, arg);
    if (status != DUEQ_OK)
        drop_copy(store, file);
    return status;
}

/* ---- the switch */

/* Is data.mdb the file that the store uses? A rename that reports an error may have happened.
 */
static bool has_name(const struct lmdb_store *store)
{
    struct stat named, used;
    char path[PATH_MAX];
    mdb_filehandle_t fd;

    return mdb_env_get_fd(atomic_load(&store->file)->env, &fd) == MDB_SUCCESS &&
           fstat(fd, &used) == 0 && stat(path_of(store, data_name, path), &named) == 0 &&
           named.st_dev == used.st_dev && named.st_ino == used.st_ino;
}

/* Both files have the state of the same mark, so it does not matter which of them a power cut
 * leaves: until the name is synced nothing else is written. */
static enum dueq_status change_names(struct lmdb_store *store, bool *ret_lost)
{
    const struct dueq_io *io = store->io;
    int error = rename_file(store, copy_name, data_name);

    if (error != 0) {
        *ret_lost = !has_name(store);
    } else if (io->fsync_dir(io->arg, store->dir) != 0) {
        error = errno;
        *ret_lost = true;
    }
    if (error == 0)
        return DUEQ_OK;
    lmdb_status_of(store, error);
    return DUEQ_IO;
}

enum dueq_status lmdb_take_copy(struct lmdb_store *store, bool *ret_lost)
{
    struct lmdb_file *file = store->copy;
    enum dueq_status status = change_names(store, ret_lost);

    if (status != DUEQ_OK) {
        drop_copy(store, file);
        return status;
    }
    if (rename_file(store, copy_lock_name, lock_name) != 0)
        remove_file(store, copy_lock_name); /* only programs of LMDB miss it */
    atomic_store(&store->has_before, true);
    atomic_store(&store->file, file);
    return DUEQ_OK;
}

bool lmdb_has_before(const struct lmdb_store *store)
{
    return atomic_load(&store->has_before);
}

bool lmdb_has_unused(const struct lmdb_store *store)
{
    return atomic_load(&store->unused) != NULL;
}

void lmdb_close_unused(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_exchange(&store->unused, NULL);
    const struct pages *damage = atomic_load(&store->last_damage);

    if (file == NULL)
        return;
    if (damage != NULL && (damage == file->reader || damage == file->writer))
        lmdb_status_of(store, MDB_CORRUPTED);
    lmdb_file_free(file);
    atomic_store(&store->has_before, false);
}
