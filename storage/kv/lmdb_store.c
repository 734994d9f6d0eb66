#include "storage/kv/lmdb_store.h"

#include "storage/kv/pages/pages.h"
#include "storage/kv/pages/pages_census.h"
#include "storage/kv/pages/pages_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PROBE_BYTES = 256 * 1024, /* a short write on a full disk leaves less than this */
    RUN_WORDS = 4,            /* 1 MiB of pages */
    LOCK_FILE_BYTES = 16 * 1024,
    HELD_MOST = 32 /* snapshots; LMDB has 126 places for readers */
};

/* The map of a new file: room for its meta pages and a record. */
#define NEW_MAP_BYTES ((size_t)1 << 20)

/* A snapshot that somebody holds. */
struct lmdb_hold {
    MDB_txn *txn;
    unsigned holders;
};

struct lmdb_store {
    const struct dueq_io *io;
    int fd;                      /* of data.mdb, besides LMDB's own; -1: none */
    _Atomic(uint64_t) allocated; /* bytes of data.mdb that certainly have blocks on the disk */
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *snapshot, *other; /* reads use `snapshot`; `other` replaces it */
    struct pages *reader;      /* the owner's */
    struct pages *writer;      /* the checkpoint thread's */
    struct lmdb_hold *held;    /* the snapshot, if it is held */
    unsigned held_count;       /* snapshots that are held, older ones included */
    uint64_t generation;
    _Atomic(int) snapshot_use; /* enum snapshot_use: which thread may renew the snapshot */
    _Atomic(int) last_error;
    _Atomic(const struct pages *) last_damage; /* NULL: last_error says it */
};

/* The owner has the snapshot; no thread has it; the checkpoint thread is renewing it. */
enum snapshot_use { PINNED, RELEASED, RENEWING };

struct lmdb_cursor {
    struct lmdb_store *store;
    struct pages_cursor position;
    struct dueq_slice key, value;
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
    atomic_store(&store->last_damage, NULL);
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
    const struct pages *damage = atomic_load(&store->last_damage);

    return damage != NULL ? pages_damage(damage)
                          : mdb_strerror(atomic_load(&store->last_error));
}

/* Notes the view in which damage was found. */
static enum dueq_status seen_by(struct lmdb_store *store, const struct pages *pages,
                                enum dueq_status status)
{
    if (status == DUEQ_CORRUPT || status == DUEQ_IO)
        atomic_store(&store->last_damage, pages);
    return status;
}

static MDB_val val_of(struct dueq_slice slice)
{
    return (MDB_val){.mv_size = slice.size, .mv_data = (void *)(uintptr_t)slice.data};
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

static int put_with_sum(struct lmdb_txn *txn, struct dueq_slice key,
                        const struct dueq_slice *parts, size_t count)
{
    MDB_val k = val_of(key), room = {.mv_size = PAGES_SUM_SIZE};
    uint8_t *at;
    int error;

    for (size_t i = 0; i < count; i++)
        room.mv_size += parts[i].size;
    error = mdb_cursor_put(txn->cursor, &k, &room, MDB_RESERVE);
    if (error != MDB_SUCCESS)
        return error;
    at = room.mv_data;
    for (size_t i = 0; i < count; at += parts[i].size, i++)
        if (parts[i].size > 0)
            memcpy(at, parts[i].data, parts[i].size);
    pages_write_sum(at, key, dueq_slice(room.mv_data, room.mv_size - PAGES_SUM_SIZE));
    return MDB_SUCCESS;
}

/* Writes a file with one record. No other process knows the file. */
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
        error = put_with_sum(&txn, key, &value, 1);
        mdb_cursor_close(txn.cursor);
    }
    if (error != MDB_SUCCESS) {
        mdb_txn_abort(txn.txn);
        return error;
    }
    error = mdb_txn_commit(txn.txn);
    return error == MDB_SUCCESS ? mdb_env_sync(store->env, 1) : error;
}

static int make_empty(const struct dueq_io *io, const char *path)
{
    int fd = io->open(io->arg, path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    return fd < 0 ? errno : io->close(io->arg, fd) == 0 ? 0 : errno;
}

static int make_data_file(const char *dir, const char *path, const struct dueq_io *io,
                          struct dueq_slice key, struct dueq_slice value)
{
    struct lmdb_store store = {.io = io};
    char beside[PATH_MAX];
    int error;

    snprintf(beside, sizeof(beside), "%.*s.new", PATH_MAX - 8, path);
    error = make_empty(io, beside); /* overwrites the rest of a failed creation */
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

enum dueq_status lmdb_store_create(const char *dir, const struct dueq_io *io,
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

/* Syncs data.mdb, also for a process that crashed before its sync, and drops it from the page
 * cache. 0, or errno. */
static int read_off_disk(struct lmdb_store *store, const char *path)
{
    const struct dueq_io *io = store->io;

    store->fd = io->open(io->arg, path, O_RDWR, 0);
    if (store->fd < 0 || io->fdatasync(io->arg, store->fd) != 0)
        return errno;
    io->forget(io->arg, store->fd);
    return 0;
}

/* LMDB writes its table of readers through a map: if the file had no blocks there, a full disk
 * would end the process by a signal. 0, or errno. */
static int allocate_lock_file(const struct dueq_io *io, const char *dir)
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

/* A lock file that has the right size and all its blocks is not touched: a full disk may refuse
 * an allocation of blocks that exist. */
static int prepare_lock_file(const struct dueq_io *io, const char *dir)
{
    char path[PATH_MAX + 16];
    struct stat stats;

    snprintf(path, sizeof(path), "%s/lock.mdb", dir);
    if (stat(path, &stats) == 0 && stats.st_size >= LOCK_FILE_BYTES &&
        (int64_t)stats.st_blocks * 512 >= stats.st_size)
        return 0;
    return allocate_lock_file(io, dir);
}

static enum dueq_status renew(struct lmdb_store *store);

static enum dueq_status look_at_file(struct lmdb_store *store, struct dueq_error *error)
{
    enum dueq_status status;
    MDB_envinfo info;

    mdb_env_info(store->env,
                 &info); /* LMDB maps a file that is larger than asked for as a whole */
    store->reader = pages_new(store->io, store->fd, info.me_mapsize, false);
    store->writer = pages_new(store->io, store->fd, info.me_mapsize, true);
    if (store->reader == NULL || store->writer == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    status = renew(store);
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(error, status, "data.mdb: %s. Restore a backup",
                                         lmdb_error_text(store));
}

static enum dueq_status open_store(struct lmdb_store *store, const char *dir,
                                   uint64_t map_bytes, struct dueq_error *error)
{
    char path[PATH_MAX];
    enum dueq_status status;
    int result = data_path(dir, path) ? read_off_disk(store, path) : ENAMETOOLONG;

    if (result == MDB_SUCCESS)
        result = prepare_lock_file(store->io, dir);
    if (result == MDB_SUCCESS) {
        status = pages_check_metas(store->io, store->fd, error);
        if (status != DUEQ_OK)
            return status;
        result = open_environment(store, dir, map_bytes, MDB_NOMETASYNC);
    }
    if (result == MDB_SUCCESS)
        result = open_database(store);
    if (result != MDB_SUCCESS)
        return dueq_fail(error, status_of(store, result), "cannot open %s/data.mdb: %s", dir,
                         mdb_strerror(result));
    return look_at_file(store, error);
}

enum dueq_status lmdb_store_open(const char *dir, uint64_t map_bytes, const struct dueq_io *io,
                                 struct lmdb_store **ret_store, struct dueq_error *error)
{
    struct lmdb_store *store = calloc(1, sizeof(*store));
    enum dueq_status status;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    store->io = io;
    store->fd = -1;
    status = open_store(store, dir, map_bytes, error);
    if (status != DUEQ_OK) {
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
    pages_free(store->reader);
    pages_free(store->writer);
    if (store->snapshot != NULL)
        mdb_txn_abort(store->snapshot);
    if (store->other != NULL)
        mdb_txn_abort(store->other);
    if (store->env != NULL)
        mdb_env_close(store->env);
    if (store->fd >= 0)
        store->io->close(store->io->arg, store->fd);
    free(store);
}

/* ---- reading */

/* The new snapshot begins before the old one ends. So a page that only the old one uses is on
 * the list of free pages and not yet used again. */
static int begin_other(struct lmdb_store *store)
{
    if (store->other == NULL)
        return mdb_txn_begin(store->env, NULL, MDB_RDONLY, &store->other);
    return mdb_txn_renew(store->other);
}

/* DUEQ_NOTFOUND: two commits came in between, and another try gets a later transaction. If it
 * does not, the meta page is damaged. */
static enum dueq_status show_other(struct lmdb_store *store)
{
    uint64_t tried = 0, txnid;
    enum dueq_status status;

    for (;; tried = txnid) {
        status = status_of(store, begin_other(store));
        if (status != DUEQ_OK)
            return status;
        txnid = mdb_txn_id(store->other);
        status = pages_show(store->reader, txnid);
        if (status == DUEQ_OK)
            return DUEQ_OK;
        mdb_txn_reset(store->other);
        if (status != DUEQ_NOTFOUND || txnid <= tried)
            break;
    }
    return seen_by(store, store->reader, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
}

static enum dueq_status renew(struct lmdb_store *store)
{
    enum dueq_status status = show_other(store);
    MDB_txn *old = store->snapshot;

    if (status != DUEQ_OK)
        return status;
    store->snapshot = store->other;
    store->other = NULL;
    if (store->held == NULL) {
        mdb_txn_reset(old);
        store->other = old;
    }
    store->held = NULL; /* the last holder ends it */
    return DUEQ_OK;
}

/* No-op if the snapshot is released already: its renewal may be running. */
void lmdb_release_snapshot(struct lmdb_store *store)
{
    int expected = PINNED;

    atomic_compare_exchange_strong(&store->snapshot_use, &expected, RELEASED);
}

void lmdb_renew_released(struct lmdb_store *store)
{
    int expected = RELEASED;

    if (!atomic_compare_exchange_strong(&store->snapshot_use, &expected, RENEWING))
        return;
    store->generation++;
    renew(store); /* on failure the old one stays; the owner gets the failure when it renews */
    atomic_store_explicit(&store->snapshot_use, RELEASED, memory_order_release);
}

/* Takes the snapshot for the owner. Waits for a running renewal, some tens of microseconds. */
static void pin(struct lmdb_store *store)
{
    int expected = RELEASED;

    if (atomic_load_explicit(&store->snapshot_use, memory_order_relaxed) == PINNED)
        return;
    while (!atomic_compare_exchange_weak(&store->snapshot_use, &expected, PINNED)) {
        expected = RELEASED;
        sched_yield();
    }
}

enum dueq_status lmdb_renew(struct lmdb_store *store)
{
    pin(store);
    store->generation++;
    return renew(store);
}

uint64_t lmdb_generation(struct lmdb_store *store)
{
    pin(store);
    return store->generation;
}

const char *lmdb_damage(struct lmdb_store *store)
{
    pin(store);
    return pages_damage(store->reader);
}

void lmdb_forget_damage(struct lmdb_store *store)
{
    pin(store);
    pages_forget_damage(store->reader);
}

enum dueq_status lmdb_get(struct lmdb_store *store, struct dueq_slice key,
                          struct dueq_slice *ret_value)
{
    pin(store);
    return seen_by(store, store->reader, pages_get(store->reader, key, ret_value));
}

/* Needs no snapshot: the checkpoint thread's renewals read no values. */
bool lmdb_limit_checks(struct lmdb_store *store, size_t *allowance)
{
    return pages_limit_checks(store->reader, allowance);
}

struct lmdb_hold *lmdb_hold(struct lmdb_store *store, const void *byte)
{
    pin(store);
    if (!pages_contain(store->reader, byte))
        return NULL;
    if (store->held == NULL) {
        if (store->held_count == HELD_MOST)
            return NULL;
        store->held = calloc(1, sizeof(*store->held));
        if (store->held == NULL)
            return NULL;
        store->held->txn = store->snapshot;
        store->held_count++;
    }
    store->held->holders++;
    return store->held;
}

void lmdb_let_go(struct lmdb_store *store, struct lmdb_hold *hold)
{
    pin(store);
    if (--hold->holders > 0)
        return;
    if (hold == store->held)
        store->held = NULL;
    else
        mdb_txn_abort(hold->txn);
    store->held_count--;
    free(hold);
}

static struct lmdb_cursor *cursor_new(struct lmdb_store *store, struct pages *pages)
{
    struct lmdb_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL)
        return NULL;
    cursor->store = store;
    cursor->position.pages = pages;
    return cursor;
}

struct lmdb_cursor *lmdb_cursor_new(struct lmdb_store *store)
{
    return cursor_new(store, store->reader);
}

struct lmdb_cursor *lmdb_writer_cursor_new(struct lmdb_store *store)
{
    return cursor_new(store, store->writer);
}

void lmdb_cursor_free(struct lmdb_cursor *cursor)
{
    free(cursor);
}

static enum dueq_status take(struct lmdb_cursor *cursor, enum dueq_status status)
{
    if (status == DUEQ_OK)
        status = pages_record(&cursor->position, &cursor->key, &cursor->value);
    return seen_by(cursor->store, cursor->position.pages, status);
}

/* The writer's cursors need no snapshot. */
static void pin_for(const struct lmdb_cursor *cursor)
{
    if (cursor->position.pages == cursor->store->reader)
        pin(cursor->store);
}

enum dueq_status lmdb_seek(struct lmdb_cursor *cursor, struct dueq_slice key)
{
    pin_for(cursor);
    return take(cursor, pages_seek(&cursor->position, key));
}

enum dueq_status lmdb_last(struct lmdb_cursor *cursor)
{
    pin_for(cursor);
    return take(cursor, pages_last(&cursor->position));
}

enum dueq_status lmdb_next(struct lmdb_cursor *cursor)
{
    pin_for(cursor);
    return take(cursor, pages_next(&cursor->position));
}

enum dueq_status lmdb_prev(struct lmdb_cursor *cursor)
{
    pin_for(cursor);
    return take(cursor, pages_prev(&cursor->position));
}

enum dueq_status lmdb_skip(struct lmdb_cursor *cursor, struct dueq_slice end,
                           uint64_t *ret_count)
{
    pin_for(cursor);
    return take(cursor, pages_skip(&cursor->position, end, ret_count));
}

struct dueq_slice lmdb_key(const struct lmdb_cursor *cursor)
{
    return cursor->key;
}

struct dueq_slice lmdb_value(const struct lmdb_cursor *cursor)
{
    return cursor->value;
}

/* ---- writing */

/* LMDB checks nothing, so the pages that it will use are checked before. */
static enum dueq_status open_txn(struct lmdb_txn *txn)
{
    struct lmdb_store *store = txn->store;
    enum dueq_status status = status_of(store, mdb_txn_begin(store->env, NULL, 0, &txn->txn));

    if (status != DUEQ_OK)
        return status;
    status = pages_show(store->writer, mdb_txn_id(txn->txn) - 1);
    status = seen_by(store, store->writer, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
    if (status == DUEQ_OK)
        status = status_of(store, mdb_cursor_open(txn->txn, store->dbi, &txn->cursor));
    if (status != DUEQ_OK)
        mdb_txn_abort(txn->txn);
    return status;
}

enum dueq_status lmdb_begin(struct lmdb_store *store, struct lmdb_txn **ret_txn)
{
    struct lmdb_txn *txn = calloc(1, sizeof(*txn));
    enum dueq_status status;

    if (txn == NULL)
        return DUEQ_NOMEM;
    txn->store = store;
    status = open_txn(txn);
    if (status != DUEQ_OK) {
        free(txn);
        return status;
    }
    *ret_txn = txn;
    return DUEQ_OK;
}

static enum dueq_status allow(struct lmdb_txn *txn, struct dueq_slice key)
{
    struct lmdb_store *store = txn->store;

    return seen_by(store, store->writer, pages_allow(store->writer, key));
}

/* Keys come in order, so the cursor finds the next key near the last one. */
enum dueq_status lmdb_putv(struct lmdb_txn *txn, struct dueq_slice key,
                           const struct dueq_slice *parts, size_t count)
{
    enum dueq_status status = allow(txn, key);

    return status == DUEQ_OK ? status_of(txn->store, put_with_sum(txn, key, parts, count))
                             : status;
}

enum dueq_status lmdb_put(struct lmdb_txn *txn, struct dueq_slice key, struct dueq_slice value)
{
    return lmdb_putv(txn, key, &value, 1);
}

enum dueq_status lmdb_del(struct lmdb_txn *txn, struct dueq_slice key)
{
    MDB_val k = val_of(key);
    enum dueq_status status = allow(txn, key);
    int error;

    if (status != DUEQ_OK)
        return status;
    error = mdb_cursor_get(txn->cursor, &k, NULL, MDB_SET);
    if (error == MDB_NOTFOUND)
        return DUEQ_OK;
    if (error == MDB_SUCCESS)
        error = mdb_cursor_del(txn->cursor, 0);
    return status_of(txn->store, error);
}

/* Decides what a failure of LMDB means. LMDB returns ENOSPC when a write finds no room, which
 * does no harm, and when a sync fails for it, which loses what was written. The kernel reports
 * a failed sync once to every descriptor, also to ours. LMDB returns EIO for a short write; it
 * is ENOSPC if the file cannot grow by what was to be written. */
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

/* Makes a bitmap of pages, which the caller frees. NULL: out of memory. */
static uint64_t *new_bitmap(uint64_t pages)
{
    return calloc(pages / 64 + 1, sizeof(uint64_t));
}

/* Reads the free list (dbi 0): each record is a count and so many page numbers. Returns the
 * number of free pages. */
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

/* Counts free pages in runs of at least RUN_WORDS whole words of 64 pages. */
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

/* Allocates the blocks that are not known to exist, up to `size`. 0, or errno. */
static int allocate_up_to(struct lmdb_store *store, uint64_t size)
{
    const struct dueq_io *io = store->io;
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

/* LMDB may have made the file longer, with holes: these get blocks, or do not count. */
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

uint64_t lmdb_tree_bytes(struct lmdb_store *store)
{
    MDB_stat stat;

    mdb_env_stat(store->env, &stat);
    return (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
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

enum dueq_status lmdb_check(struct lmdb_store *store, struct lmdb_census *ret_census)
{
    struct pages_census census;
    enum dueq_status status;

    pin(store);
    status = seen_by(store, store->reader, pages_check(store->reader, &census));
    if (status == DUEQ_OK)
        *ret_census = (struct lmdb_census){census.records, census.pages, census.free_pages,
                                           census.lost_pages};
    return status;
}
