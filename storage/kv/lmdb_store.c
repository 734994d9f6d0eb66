#include "storage/kv/lmdb_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PROBE_BYTES = 256 * 1024, /* what a short write has left of a full disk is less */
    RUN_WORDS = 4,            /* 1 MiB of pages */
    LOCK_FILE_BYTES = 16 * 1024
};

/* Pages of a new file: its metas and a record. */
#define NEW_MAP_BYTES ((size_t)1 << 20)

struct lmdb_store {
    const struct kv_io *io;
    int fd;                      /* of data.mdb, besides LMDB's own: -1: none */
    _Atomic(uint64_t) allocated; /* bytes of it that have blocks on the disk for certain */
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *snapshot;
    uint64_t generation;
    _Atomic(int) last_error;
};

struct lmdb_cursor {
    struct lmdb_store *store;
    MDB_cursor *cursor;
    uint64_t generation;
    MDB_val key, value;
};

struct lmdb_txn {
    struct lmdb_store *store;
    MDB_txn *txn;
    MDB_cursor *cursor;
};

static enum dueq_status status_of(struct lmdb_store *store, int error)
{
    if (error == MDB_SUCCESS)
        return DUEQ_OK;
    if (error == MDB_NOTFOUND)
        return DUEQ_NOTFOUND;
    atomic_store(&store->last_error, error);
    switch (error) {
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
        return DUEQ_FULL;
    case ENOMEM:
        return DUEQ_NOMEM;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return DUEQ_CORRUPT;
    case MDB_VERSION_MISMATCH:
        return DUEQ_FORMAT;
    default:
        return DUEQ_IO;
    }
}

const char *lmdb_error_text(const struct lmdb_store *store)
{
    return mdb_strerror(atomic_load(&store->last_error));
}

static MDB_val val_of(struct dueq_slice slice)
{
    return (MDB_val){.mv_size = slice.size, .mv_data = (void *)(uintptr_t)slice.data};
}

static struct dueq_slice slice_of(MDB_val val)
{
    return dueq_slice(val.mv_data, val.mv_size);
}

static int open_database(struct lmdb_store *store)
{
    int error = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &store->snapshot);

    return error == MDB_SUCCESS ? mdb_dbi_open(store->snapshot, NULL, 0, &store->dbi) : error;
}

static int open_environment(struct lmdb_store *store, const char *path, size_t map_bytes,
                            unsigned flags)
{
    int error = mdb_env_create(&store->env);

    if (error == MDB_SUCCESS)
        error = mdb_env_set_mapsize(store->env, map_bytes);
    if (error == MDB_SUCCESS)
        error = mdb_env_open(store->env, path, MDB_NOTLS | MDB_NORDAHEAD | flags, 0600);
    return error;
}

/* ---- creation */

/* One record in a file that nobody else knows of. */
static int fill_new(struct lmdb_store *store, const char *path, struct dueq_slice key,
                    struct dueq_slice value)
{
    struct lmdb_txn txn = {.store = store};
    int error = open_environment(store, path, NEW_MAP_BYTES, MDB_NOSUBDIR | MDB_NOLOCK);

    if (error == MDB_SUCCESS)
        error = mdb_txn_begin(store->env, NULL, 0, &txn.txn);
    if (error != MDB_SUCCESS)
        return error;
    error = mdb_dbi_open(txn.txn, NULL, 0, &store->dbi);
    if (error == MDB_SUCCESS)
        error = mdb_cursor_open(txn.txn, store->dbi, &txn.cursor);
    if (error == MDB_SUCCESS) {
        MDB_val k = val_of(key), v = val_of(value);

        error = mdb_cursor_put(txn.cursor, &k, &v, 0);
        mdb_cursor_close(txn.cursor);
    }
    if (error != MDB_SUCCESS) {
        mdb_txn_abort(txn.txn);
        return error;
    }
    error = mdb_txn_commit(txn.txn);
    return error == MDB_SUCCESS ? mdb_env_sync(store->env, 1) : error;
}

static int make_empty(const struct kv_io *io, const char *path)
{
    int fd = io->open(io->arg, path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    return fd < 0 ? errno : io->close(io->arg, fd) == 0 ? 0 : errno;
}

static int make_data_file(const char *dir, const char *path, const struct kv_io *io,
                          struct dueq_slice key, struct dueq_slice value)
{
    struct lmdb_store store = {.io = io};
    char beside[PATH_MAX];
    int error;

    snprintf(beside, sizeof(beside), "%.*s.new", PATH_MAX - 8, path);
    error = make_empty(io, beside); /* one that a power cut has left begins again */
    if (error == 0)
        error = fill_new(&store, beside, key, value);
    if (store.env != NULL)
        mdb_env_close(store.env);
    if (error == 0 && io->rename(io->arg, beside, path) != 0)
        error = errno;
    if (error == 0 && io->fsync_dir(io->arg, dir) != 0)
        error = errno;
    return error;
}

static bool data_path(const char *dir, char *path)
{
    return snprintf(path, PATH_MAX, "%s/data.mdb", dir) < PATH_MAX - 8;
}

enum dueq_status lmdb_store_create(const char *dir, const struct kv_io *io,
                                   struct dueq_slice key, struct dueq_slice value,
                                   struct dueq_error *error)
{
    struct lmdb_store store = {0};
    char path[PATH_MAX];
    int fd, result;

    if (!data_path(dir, path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    fd = io->open(io->arg, path, O_RDWR, 0);
    if (fd >= 0) {
        io->close(io->arg, fd);
        return DUEQ_OK;
    }
    result = errno == ENOENT ? make_data_file(dir, path, io, key, value) : errno;
    return result == 0 ? DUEQ_OK
                       : dueq_fail(error, status_of(&store, result), "cannot create %s: %s",
                                   path, mdb_strerror(result));
}

/* ---- life */

/* Also when it is the first to open the file after a crash: what a dead process has left
 * unsynced is synced here. 0, or errno. */
static int read_off_disk(struct lmdb_store *store, const char *path)
{
    const struct kv_io *io = store->io;

    store->fd = io->open(io->arg, path, O_RDWR, 0);
    if (store->fd < 0 || io->fdatasync(io->arg, store->fd) != 0)
        return errno;
    io->forget(io->arg, store->fd);
    return 0;
}

/* LMDB writes its table of readers through a map: without blocks beneath it, a full disk would
 * end the process by a signal. 0, or errno. */
static int allocate_lock_file(const struct kv_io *io, const char *dir)
{
    char path[PATH_MAX + 16];
    int fd, error = 0;

    snprintf(path, sizeof(path), "%s/lock.mdb", dir);
    fd = io->open(io->arg, path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return errno;
    if (io->fallocate(io->arg, fd, 0, LOCK_FILE_BYTES) != 0)
        error = errno;
    io->close(io->arg, fd);
    return error;
}

/* A lock file that is as large as ours is, and has all its blocks, is not touched: a full disk
 * may say that it has no room for what is there. */
static int prepare_lock_file(const struct kv_io *io, const char *dir)
{
    char path[PATH_MAX + 16];
    struct stat stats;

    snprintf(path, sizeof(path), "%s/lock.mdb", dir);
    if (stat(path, &stats) == 0 && stats.st_size >= LOCK_FILE_BYTES &&
        (int64_t)stats.st_blocks * 512 >= stats.st_size)
        return 0;
    return allocate_lock_file(io, dir);
}

enum dueq_status lmdb_store_open(const char *dir, uint64_t map_bytes, const struct kv_io *io,
                                 struct lmdb_store **ret_store, struct dueq_error *error)
{
    struct lmdb_store *store = calloc(1, sizeof(*store));
    char path[PATH_MAX];
    int result;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    store->io = io;
    store->fd = -1;
    result = data_path(dir, path) ? read_off_disk(store, path) : ENAMETOOLONG;
    if (result == MDB_SUCCESS)
        result = prepare_lock_file(io, dir);
    if (result == MDB_SUCCESS)
        result = open_environment(store, dir, map_bytes, MDB_NOMETASYNC);
    if (result == MDB_SUCCESS)
        result = open_database(store);
    if (result != MDB_SUCCESS) {
        enum dueq_status status = status_of(store, result);

        dueq_fail(error, status, "cannot open %s/data.mdb: %s", dir, mdb_strerror(result));
        lmdb_store_close(store);
        return status;
    }
    *ret_store = store;
    return DUEQ_OK;
}

void lmdb_store_close(struct lmdb_store *store)
{
    if (store == NULL)
        return;
    if (store->snapshot != NULL)
        mdb_txn_abort(store->snapshot);
    if (store->env != NULL)
        mdb_env_close(store->env);
    if (store->fd >= 0)
        store->io->close(store->io->arg, store->fd);
    free(store);
}

/* ---- reading */

enum dueq_status lmdb_renew(struct lmdb_store *store)
{
    mdb_txn_reset(store->snapshot);
    store->generation++;
    return status_of(store, mdb_txn_renew(store->snapshot));
}

uint64_t lmdb_generation(const struct lmdb_store *store)
{
    return store->generation;
}

enum dueq_status lmdb_get(struct lmdb_store *store, struct dueq_slice key,
                          struct dueq_slice *ret_value)
{
    MDB_val wanted = val_of(key), value;
    enum dueq_status status =
        status_of(store, mdb_get(store->snapshot, store->dbi, &wanted, &value));

    if (status == DUEQ_OK)
        *ret_value = slice_of(value);
    return status;
}

struct lmdb_cursor *lmdb_cursor_new(struct lmdb_store *store)
{
    struct lmdb_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL)
        return NULL;
    cursor->store = store;
    cursor->generation = store->generation;
    if (mdb_cursor_open(store->snapshot, store->dbi, &cursor->cursor) != MDB_SUCCESS) {
        free(cursor);
        return NULL;
    }
    return cursor;
}

void lmdb_cursor_free(struct lmdb_cursor *cursor)
{
    if (cursor == NULL)
        return;
    mdb_cursor_close(cursor->cursor);
    free(cursor);
}

static enum dueq_status move(struct lmdb_cursor *cursor, MDB_cursor_op op)
{
    struct lmdb_store *store = cursor->store;

    if (cursor->generation != store->generation) {
        int error = mdb_cursor_renew(store->snapshot, cursor->cursor);

        if (error != MDB_SUCCESS)
            return status_of(store, error);
        cursor->generation = store->generation;
    }
    return status_of(store, mdb_cursor_get(cursor->cursor, &cursor->key, &cursor->value, op));
}

enum dueq_status lmdb_seek(struct lmdb_cursor *cursor, struct dueq_slice key)
{
    cursor->key = val_of(key);
    return move(cursor, MDB_SET_RANGE);
}

enum dueq_status lmdb_last(struct lmdb_cursor *cursor)
{
    return move(cursor, MDB_LAST);
}

enum dueq_status lmdb_next(struct lmdb_cursor *cursor)
{
    return move(cursor, MDB_NEXT);
}

enum dueq_status lmdb_prev(struct lmdb_cursor *cursor)
{
    return move(cursor, MDB_PREV);
}

struct dueq_slice lmdb_key(const struct lmdb_cursor *cursor)
{
    return slice_of(cursor->key);
}

struct dueq_slice lmdb_value(const struct lmdb_cursor *cursor)
{
    return slice_of(cursor->value);
}

/* ---- writing */

enum dueq_status lmdb_begin(struct lmdb_store *store, struct lmdb_txn **ret_txn)
{
    struct lmdb_txn *txn = calloc(1, sizeof(*txn));
    enum dueq_status status;

    if (txn == NULL)
        return DUEQ_NOMEM;
    txn->store = store;
    status = status_of(store, mdb_txn_begin(store->env, NULL, 0, &txn->txn));
    if (status == DUEQ_OK) {
        status = status_of(store, mdb_cursor_open(txn->txn, store->dbi, &txn->cursor));
        if (status != DUEQ_OK)
            mdb_txn_abort(txn->txn);
    }
    if (status != DUEQ_OK) {
        free(txn);
        return status;
    }
    *ret_txn = txn;
    return DUEQ_OK;
}

/* The cursor finds the place of the next key near that of the last: keys come in order. */
enum dueq_status lmdb_put(struct lmdb_txn *txn, struct dueq_slice key, struct dueq_slice value)
{
    MDB_val k = val_of(key), v = val_of(value);

    return status_of(txn->store, mdb_cursor_put(txn->cursor, &k, &v, 0));
}

enum dueq_status lmdb_del(struct lmdb_txn *txn, struct dueq_slice key)
{
    MDB_val k = val_of(key);
    int error = mdb_cursor_get(txn->cursor, &k, NULL, MDB_SET);

    if (error == MDB_NOTFOUND)
        return DUEQ_OK;
    if (error == MDB_SUCCESS)
        error = mdb_cursor_del(txn->cursor, 0);
    return status_of(txn->store, error);
}

/* LMDB says ENOSPC when a write finds no room, which does no harm, and when a sync does, which
 * loses what was written. The kernel tells every descriptor of a failed sync once: ours, too. A
 * write that finds room for a part it calls EIO: so it is when the file cannot be longer by
 * what was to be written. */
static enum dueq_status doubt(struct lmdb_store *store, enum dueq_status status)
{
    uint64_t file;

    if (status != DUEQ_FULL && status != DUEQ_IO)
        return status;
    if (store->io->fdatasync(store->io->arg, store->fd) != 0)
        return DUEQ_IO;
    if (status == DUEQ_FULL)
        return status;
    return lmdb_grow(store, PROBE_BYTES, &file) == DUEQ_FULL ? DUEQ_FULL : DUEQ_IO;
}

enum dueq_status lmdb_commit(struct lmdb_txn *txn)
{
    struct lmdb_store *store = txn->store;
    enum dueq_status status;

    mdb_cursor_close(txn->cursor);
    status = doubt(store, status_of(store, mdb_txn_commit(txn->txn)));
    free(txn);
    return status;
}

enum dueq_status lmdb_sync(struct lmdb_store *store)
{
    enum dueq_status status = status_of(store, mdb_env_sync(store->env, 1));

    return status == DUEQ_FULL ? DUEQ_IO : status;
}

void lmdb_abort(struct lmdb_txn *txn)
{
    mdb_cursor_close(txn->cursor);
    mdb_txn_abort(txn->txn);
    free(txn);
}

/* ---- space */

/* A bit for each page; the caller frees it. NULL: out of memory. */
static uint64_t *new_bitmap(uint64_t pages)
{
    return calloc(pages / 64 + 1, sizeof(uint64_t));
}

/* Each record of the free list (dbi 0) is a number of pages and their numbers. */
static uint64_t read_free_list(MDB_txn *txn, uint64_t *bitmap, uint64_t end)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t pages = 0;

    if (mdb_cursor_open(txn, 0, &cursor) != MDB_SUCCESS)
        return 0;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
        const uint8_t *at = value.mv_data;
        size_t count, page;

        memcpy(&count, at, sizeof(count));
        pages += count;
        for (size_t i = 1; bitmap != NULL && i <= count && (i + 1) * 8 <= value.mv_size; i++) {
            memcpy(&page, at + i * sizeof(page), sizeof(page));
            if (page < end)
                bitmap[page / 64] |= (uint64_t)1 << page % 64;
        }
    }
    mdb_cursor_close(cursor);
    return pages;
}

/* Whole words of 64 pages, four behind one another at least. */
static uint64_t count_runs(const uint64_t *bitmap, uint64_t end)
{
    uint64_t pages = 0, words = 0;

    for (uint64_t i = 0; bitmap != NULL && i <= end / 64; i++) {
        if (bitmap[i] == UINT64_MAX) {
            words++;
            continue;
        }
        pages += words >= RUN_WORDS ? words * 64 : 0;
        words = 0;
    }
    return pages + (words >= RUN_WORDS ? words * 64 : 0);
}

/* Blocks from where they are known to be up to `size`. */
static int allocate_up_to(struct lmdb_store *store, uint64_t size)
{
    const struct kv_io *io = store->io;
    uint64_t from = atomic_load(&store->allocated);
    int result = 0;

    while (from < size &&
           (result = io->fallocate(io->arg, store->fd, (off_t)from, (off_t)(size - from))) !=
               0 &&
           errno == EINTR)
        ;
    while (result == 0 && from < size &&
           !atomic_compare_exchange_weak(&store->allocated, &from, size))
        ;
    return result;
}

enum dueq_status lmdb_grow(struct lmdb_store *store, uint64_t bytes, uint64_t *ret_file)
{
    uint64_t size = atomic_load(&store->allocated) + bytes;

    if (allocate_up_to(store, size) != 0)
        return status_of(store, errno);
    *ret_file = size;
    return DUEQ_OK;
}

/* What LMDB has made longer by itself may have holes: they are filled, or do not count. */
static uint64_t allocated_bytes(struct lmdb_store *store)
{
    struct stat stats;

    if (fstat(store->fd, &stats) != 0)
        return 0;
    if (atomic_load(&store->allocated) == 0 &&
        (uint64_t)stats.st_blocks * 512 >= (uint64_t)stats.st_size)
        atomic_store(&store->allocated, (uint64_t)stats.st_size);
    if ((uint64_t)stats.st_size > atomic_load(&store->allocated))
        allocate_up_to(store, (uint64_t)stats.st_size);
    return atomic_load(&store->allocated);
}

void lmdb_get_room(struct lmdb_store *store, struct lmdb_room *ret_room)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_txn *txn;
    uint64_t end, *bitmap;

    mdb_env_info(store->env, &info);
    mdb_env_stat(store->env, &stat);
    end = info.me_last_pgno + 1;
    bitmap = new_bitmap(end);
    *ret_room = (struct lmdb_room){.file = allocated_bytes(store), .end = end * stat.ms_psize};
    ret_room->used = ret_room->end;
    if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn) == MDB_SUCCESS) {
        ret_room->used -= read_free_list(txn, bitmap, end) * stat.ms_psize;
        mdb_txn_abort(txn);
    }
    ret_room->runs = count_runs(bitmap, end) * stat.ms_psize;
    free(bitmap);
}
