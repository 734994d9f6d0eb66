/* Compaction: a copy of data.mdb without its free pages takes its place. */
#include "storage/kv/lmdb_internal.h"
#include "storage/kv/pages/pages_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What follows after the name of the data file. */
static const char data_name[] = "", copy_name[] = ".new", copy_lock_name[] = ".new-lock";

/* ---- files */

static const char *path_of(const struct lmdb_store *store, const char *name, char *path)
{
    enum { LONGEST = sizeof(".new-lock") }; /* a longer name is not opened */

    snprintf(path, PATH_MAX, "%.*s%s", PATH_MAX - LONGEST, store->data, name);
    return path;
}

const char *lmdb_place(const struct lmdb_store *store)
{
    return store->place;
}

/* data.mdb may be a link to a file elsewhere. Then that file is the one that a copy replaces,
 * and the copy is beside it. */
int lmdb_find_data(struct lmdb_store *store, const char *path)
{
    struct stat named;
    size_t size;

    store->data = lstat(path, &named) == 0 && S_ISLNK(named.st_mode) ? realpath(path, NULL)
                                                                     : strdup(path);
    if (store->data == NULL)
        return errno;
    size = (size_t)(strrchr(store->data, '/') - store->data);
    store->place = strndup(store->data, size == 0 ? 1 : size);
    if (store->place == NULL)
        return ENOMEM;
    return strlen(store->data) < PATH_MAX - 16 ? 0 : ENAMETOOLONG;
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

static int rename_copy(const struct lmdb_store *store)
{
    const struct dueq_io *io = store->io;
    char before[PATH_MAX], after[PATH_MAX];

    return io->rename(io->arg, path_of(store, copy_name, before),
                      path_of(store, data_name, after)) == 0
               ? 0
               : errno;
}

/* Only programs of LMDB miss it. */
static void rename_lock(const struct lmdb_store *store)
{
    const struct dueq_io *io = store->io;
    char before[PATH_MAX], after[PATH_MAX];

    snprintf(after, sizeof(after), "%.*s/lock.mdb", PATH_MAX - 16, store->dir);
    if (io->rename(io->arg, path_of(store, copy_lock_name, before), after) != 0)
        remove_file(store, copy_lock_name);
}

/* ---- the promise of the owner */

void lmdb_begin_promise(struct lmdb_store *store, uint64_t bytes, uint64_t disk_reserve)
{
    pthread_mutex_lock(&store->lock);
    store->promised = bytes;
    store->disk_reserve = disk_reserve;
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

/* Makes the file that long, if the reserve of the disk stays free. */
static int allocate(struct lmdb_store *store, struct lmdb_file *file, uint64_t size)
{
    const struct dueq_io *io = store->io;
    uint64_t present = atomic_load(&file->allocated), available;

    if (size <= present)
        return 0;
    if (io->free_bytes(io->arg, store->place, &available) != 0 ||
        available < store->disk_reserve || available - store->disk_reserve < size - present)
        return ENOSPC;
    return lmdb_file_allocate(file, size);
}

/* The owner promises more meanwhile, as it makes changes. */
static int keep_promise(struct lmdb_store *store, struct lmdb_file *file)
{
    uint64_t bytes;
    int error = 0;

    while (error == 0 && !is_kept(store, file, &bytes))
        error = allocate(store, file, store->copy_used + bytes);
    return error;
}

/* ---- the copy */

/* Shows the last transaction of a file to one of its views. */
static enum dueq_status show_in(struct lmdb_store *store, struct lmdb_file *file,
                                struct pages *pages)
{
    enum dueq_status status;
    MDB_txn *txn;
    int error = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);

    if (error != MDB_SUCCESS)
        return lmdb_status_of(store, error);
    status = pages_show(pages, mdb_txn_id(txn));
    mdb_txn_abort(txn);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

/* Opens what was copied as LMDB will use it. The lock file is a new one: the present
 * environment uses the other. */
static int enter_copy(struct lmdb_store *store, struct lmdb_file *file)
{
    char path[PATH_MAX];
    int error = lmdb_file_prepare_lock(store->io, path_of(store, copy_lock_name, path));

    if (error == 0)
        error = lmdb_file_open(file, path_of(store, copy_name, path), store->map_bytes,
                               MDB_NOSUBDIR | MDB_NOMETASYNC);
    return error == 0 ? lmdb_file_look(file) : error;
}

/* The owner's first look takes memory and time. Now a failure costs no more than the copy. */
static enum dueq_status look_at_copy(struct lmdb_store *store, struct lmdb_file *file)
{
    enum dueq_status status = show_in(store, file, file->reader);

    if (status == DUEQ_OK)
        pages_limit(file->reader, &store->limit);
    else if (status == DUEQ_CORRUPT)
        lmdb_status_of(store, MDB_CORRUPTED);
    return status;
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
    error = allocate(store, file, store->copy_used + promised);
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
        status = look_at_copy(store, file);
    if (status == DUEQ_OK)
        status = lmdb_status_of(store, keep_promise(store, file));
    return status;
}

/* Nothing changes the file until the copy has ended. */
static enum dueq_status show_last(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_load(&store->file);
    enum dueq_status status = show_in(store, file, file->writer);

    if (status == DUEQ_OK)
        store->copy_used = pages_copy_size(file->writer);
    return status;
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
 * leaves: until the name is synced nothing else is written. The directory is open before:
 * without a descriptor nothing is renamed. */
static enum dueq_status change_names(struct lmdb_store *store, bool *ret_lost)
{
    const struct dueq_io *io = store->io;
    int dir = io->open(io->arg, store->place, O_RDONLY | O_DIRECTORY, 0);
    int error = dir < 0 ? errno : rename_copy(store);

    if (error != 0) {
        *ret_lost = !has_name(store);
    } else if (io->fsync_open_dir(io->arg, dir) != 0) {
        error = errno;
        *ret_lost = true;
    }
    if (dir >= 0)
        io->close(io->arg, dir);
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
    rename_lock(store);
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
