#include "storage/kv/lmdb_internal.h"
#include "storage/kv/key.h"
#include "storage/kv/lmdb_parked.h"
#include "storage/kv/pages/page_layout.h"
#include "storage/kv/pages/pages_census.h"
#include "storage/kv/pages/pages_cursor.h"
#include "storage/kv/pages/pages_prefetch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PROBE_BYTES = 256 * 1024, /* a short write on a full disk leaves less than this */
    HELD_MOST = 32,           /* snapshots; LMDB has 126 places for readers */
    PARK_AFTER = 32
};

/* The map of a new file: room for its meta pages and a record. */
#define NEW_MAP_BYTES ((size_t)1 << 20)

/* The owner has the snapshot; no thread has it; the checkpoint thread is renewing it. */
enum snapshot_use { PINNED, RELEASED, RENEWING };

struct lmdb_cursor {
    struct lmdb_store *store;
    bool writer;
    uint64_t file; /* number of that of the position */
    struct pages_cursor position;
    struct dueq_slice key, value;
};

struct lmdb_txn {
    struct lmdb_store *store;
    struct lmdb_file *file;
    MDB_txn *txn;
    MDB_cursor *cursor;
    uint64_t leaf;    /* pages_allowed_leaves of the last put */
    unsigned in_leaf; /* how many puts in turn were in that leaf, besides the first one */
    struct lmdb_parked parked;
    struct kv_key since; /* one of these, PARK_AFTER ago at most; with LMDB_GUARDS */
};

enum dueq_status lmdb_status_of(struct lmdb_store *store, int error)
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

static int fill_txn(struct lmdb_file *file, struct lmdb_txn *txn, struct dueq_slice key,
                    struct dueq_slice value)
{
    int error = mdb_dbi_open(txn->txn, NULL, 0, &file->dbi);

    if (error == MDB_SUCCESS)
        error = mdb_cursor_open(txn->txn, file->dbi, &txn->cursor);
    if (error == MDB_SUCCESS) {
        error = put_with_sum(txn, key, &value, 1);
        mdb_cursor_close(txn->cursor);
    }
    return error;
}

/* Writes a file with one record. No other process knows the file. */
static int fill_new(struct lmdb_file *file, const char *path, struct dueq_slice key,
                    struct dueq_slice value)
{
    struct lmdb_txn txn = {.file = file};
    int error = lmdb_file_open(file, path, NEW_MAP_BYTES, MDB_NOSUBDIR | MDB_NOLOCK);

    if (error == MDB_SUCCESS)
        error = mdb_txn_begin(file->env, NULL, 0, &txn.txn);
    if (error != MDB_SUCCESS)
        return error;
    error = fill_txn(file, &txn, key, value);
    if (error != MDB_SUCCESS) {
        mdb_txn_abort(txn.txn);
        return error;
    }
    error = mdb_txn_commit(txn.txn);
    return error == MDB_SUCCESS ? mdb_env_sync(file->env, 1) : error;
}

static int make_empty(const struct dueq_io *io, const char *path)
{
    int fd = io->open(io->arg, path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    return fd < 0 ? errno : io->close(io->arg, fd) == 0 ? 0 : errno;
}

static int make_data_file(const char *path, const struct dueq_io *io, struct dueq_slice key,
                          struct dueq_slice value)
{
    struct lmdb_file *file = lmdb_file_new(io);
    char beside[PATH_MAX];
    int error;

    if (file == NULL)
        return ENOMEM;
    snprintf(beside, sizeof(beside), "%.*s.new", PATH_MAX - 16, path);
    error = make_empty(io, beside); /* overwrites the rest of a failed creation */
    if (error == 0)
        error = fill_new(file, beside, key, value);
    lmdb_file_free(file);
    return error == 0 && io->rename(io->arg, beside, path) != 0 ? errno : error;
}

/* A link that leads nowhere is left alone: the file may be on a disk that is not mounted. 0, or
 * errno. */
static int make_if_missing(const char *path, const struct dueq_io *io, struct dueq_slice key,
                           struct dueq_slice value)
{
    struct stat named;
    int fd = io->open(io->arg, path, O_RDWR, 0);

    if (fd >= 0) {
        io->close(io->arg, fd);
        return 0;
    }
    return errno != ENOENT || lstat(path, &named) == 0 ? errno
                                                       : make_data_file(path, io, key, value);
}

/* Leaves place for what is added to it for other files. */
static bool data_path(const char *dir, char *path)
{
    return snprintf(path, PATH_MAX, "%s/data.mdb", dir) < PATH_MAX - 16;
}

static enum dueq_status fail_missing(const char *path, struct dueq_error *error)
{
    return dueq_fail(error, DUEQ_CORRUPT,
                     "%s is missing. Is its disk mounted? If it is lost, restore a backup",
                     path);
}

enum dueq_status lmdb_store_create(const char *dir, const struct dueq_io *io,
                                   struct dueq_slice key, struct dueq_slice value,
                                   struct dueq_error *error)
{
    struct lmdb_store store = {0};
    char path[PATH_MAX];
    int result;

    if (!data_path(dir, path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    result = make_if_missing(path, io, key, value);
    if (result == 0 && io->fsync_dir(io->arg, dir) != 0)
        result = errno; /* also for a process that was killed before its sync */
    if (result == 0)
        return DUEQ_OK;
    return result == ENOENT ? fail_missing(path, error)
                            : dueq_fail(error, lmdb_status_of(&store, result),
                                        "cannot create %s: %s", path, mdb_strerror(result));
}

/* ---- life */

/* Syncs data.mdb, also for a process that crashed before its sync, and drops it from the page
 * cache. 0, or errno. */
static int read_off_disk(struct lmdb_file *file, const char *path)
{
    const struct dueq_io *io = file->io;

    file->fd = io->open(io->arg, path, O_RDWR, 0);
    if (file->fd < 0 || io->fdatasync(io->arg, file->fd) != 0)
        return errno;
    io->forget(io->arg, file->fd);
    return 0;
}

static enum dueq_status renew(struct lmdb_store *store);

static enum dueq_status look_at_file(struct lmdb_store *store, struct lmdb_file *file,
                                     struct dueq_error *error)
{
    int result = lmdb_file_look(file);
    enum dueq_status status;

    if (result != MDB_SUCCESS)
        return dueq_fail(error, lmdb_status_of(store, result), "cannot open data.mdb: %s",
                         mdb_strerror(result));
    pages_limit(file->reader, &store->limit);
    status = renew(store);
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(error, status, "data.mdb: %s. Restore a backup",
                                         lmdb_error_text(store));
}

static enum dueq_status open_store(struct lmdb_store *store, struct dueq_error *error)
{
    struct lmdb_file *file = atomic_load(&store->file);
    char path[PATH_MAX], lock[PATH_MAX];
    enum dueq_status status;
    int result = data_path(store->dir, path) ? read_off_disk(file, path) : ENAMETOOLONG;

    if (result == ENOENT)
        return fail_missing(path, error);
    if (result == MDB_SUCCESS)
        result = lmdb_find_data(store, path);
    if (result == MDB_SUCCESS) {
        lmdb_remove_copy(store);
        snprintf(lock, sizeof(lock), "%.*s/lock.mdb", PATH_MAX - 16, store->dir);
        result = lmdb_file_prepare_lock(store->io, lock);
    }
    if (result == MDB_SUCCESS) {
        status = pages_check_metas(store->io, file->fd, error);
        if (status != DUEQ_OK)
            return status;
        result = lmdb_file_open(file, store->dir, store->map_bytes, MDB_NOMETASYNC);
    }
    if (result != MDB_SUCCESS)
        return dueq_fail(error, lmdb_status_of(store, result), "cannot open %s/data.mdb: %s",
                         store->dir, mdb_strerror(result));
    return look_at_file(store, file, error);
}

static struct lmdb_store *store_new(const char *dir, uint64_t map_bytes,
                                    const struct dueq_io *io)
{
    struct lmdb_store *store = calloc(1, sizeof(*store));

    if (store == NULL)
        return NULL;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->renewing, NULL);
    store->io = io;
    store->map_bytes = map_bytes;
    store->dir = strdup(dir);
    atomic_store(&store->file, lmdb_file_new(io));
    if (store->dir != NULL && atomic_load(&store->file) != NULL)
        return store;
    lmdb_store_close(store);
    return NULL;
}

enum dueq_status lmdb_store_open(const char *dir, uint64_t map_bytes, const struct dueq_io *io,
                                 struct lmdb_store **ret_store, struct dueq_error *error)
{
    struct lmdb_store *store = store_new(dir, map_bytes, io);
    enum dueq_status status;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    status = open_store(store, error);
    if (status != DUEQ_OK) {
        lmdb_store_close(store);
        return status;
    }
    *ret_store = store;
    return DUEQ_OK;
}

void lmdb_store_close(struct lmdb_store *store)
{
    struct lmdb_file *file;

    if (store == NULL)
        return;
    file = atomic_load(&store->file);
    if (store->snapshot != NULL)
        mdb_txn_abort(store->snapshot);
    if (store->other != NULL)
        mdb_txn_abort(store->other);
    lmdb_close_unused(store);
    if (store->shown != file)
        lmdb_file_free(store->shown);
    lmdb_file_free(file);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->renewing);
    free(store->dir);
    free(store->data);
    free(store->place);
    free(store);
}

/* ---- reading */

/* The file before is the checkpoint thread's when nobody reads it any more: to unmap and close
 * it takes time. */
void lmdb_leave_file(struct lmdb_store *store, struct lmdb_file *file)
{
    if (--file->uses == 0 && file != atomic_load(&store->file))
        atomic_store(&store->unused, file);
}

/* The new snapshot begins before the old one ends. So a page that only the old one uses is on
 * the list of free pages and not yet used again. */
static int begin_other(struct lmdb_store *store, struct lmdb_file *file)
{
    if (store->other != NULL && file == store->shown)
        return mdb_txn_renew(store->other);
    if (store->other != NULL)
        mdb_txn_abort(store->other);
    store->other = NULL;
    return mdb_txn_begin(file->env, NULL, MDB_RDONLY, &store->other);
}

static void drop_other(struct lmdb_store *store, const struct lmdb_file *file)
{
    if (file == store->shown) {
        mdb_txn_reset(store->other);
        return;
    }
    mdb_txn_abort(store->other);
    store->other = NULL;
}

/* DUEQ_NOTFOUND: two commits came in between, and another try gets a later transaction. If it
 * does not, the meta page is damaged. */
static enum dueq_status show_other(struct lmdb_store *store, struct lmdb_file *file)
{
    uint64_t tried = 0, txnid;
    enum dueq_status status;

    for (;; tried = txnid) {
        status = lmdb_status_of(store, begin_other(store, file));
        if (status != DUEQ_OK)
            return status;
        txnid = mdb_txn_id(store->other);
        status = pages_show(file->reader, txnid);
        if (status == DUEQ_OK)
            return DUEQ_OK;
        drop_other(store, file);
        if (status != DUEQ_NOTFOUND || txnid <= tried)
            break;
    }
    return seen_by(store, file->reader, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
}

/* Of the old snapshot only its place among the readers is kept; a held one is kept as a whole.
 */
static void retire_snapshot(struct lmdb_store *store, struct lmdb_file *file)
{
    MDB_txn *old = store->snapshot;

    if (store->held != NULL || old == NULL)
        return; /* the last holder ends it */
    if (file != store->shown) {
        mdb_txn_abort(old);
        return;
    }
    mdb_txn_reset(old);
    store->other = old;
}

static enum dueq_status renew(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_load(&store->file), *before = store->shown;
    enum dueq_status status = show_other(store, file);
    MDB_txn *fresh = store->other;

    if (status != DUEQ_OK)
        return status;
    store->other = NULL;
    retire_snapshot(store, file);
    store->snapshot = fresh;
    store->held = NULL;
    if (file == before)
        return DUEQ_OK;
    store->shown = file;
    file->uses++;
    if (before != NULL)
        lmdb_leave_file(store, before);
    return DUEQ_OK;
}

/* No-op if the snapshot is released already: its renewal may be running. */
void lmdb_release_snapshot(struct lmdb_store *store)
{
    int expected = PINNED;

    atomic_compare_exchange_strong(&store->snapshot_use, &expected, RELEASED);
}

static bool begin_renewing(struct lmdb_store *store)
{
    int expected = RELEASED;

    return atomic_compare_exchange_strong(&store->snapshot_use, &expected, RENEWING);
}

/* On failure the old snapshot stays, and the owner gets the failure when it renews. */
void lmdb_renew_released(struct lmdb_store *store)
{
    pthread_mutex_lock(&store->renewing);
    if (begin_renewing(store)) {
        store->generation++;
        renew(store);
        atomic_store_explicit(&store->snapshot_use, RELEASED, memory_order_release);
    }
    pthread_mutex_unlock(&store->renewing);
}

/* Takes the snapshot for the owner. Waits for a running renewal, some tens of microseconds, or
 * milliseconds when its thread has no processor: it may get that of the owner, which sleeps. */
void lmdb_pin(struct lmdb_store *store)
{
    int expected = RELEASED;

    if (atomic_load_explicit(&store->snapshot_use, memory_order_relaxed) == PINNED ||
        atomic_compare_exchange_strong(&store->snapshot_use, &expected, PINNED))
        return;
    pthread_mutex_lock(&store->renewing);
    atomic_store(&store->snapshot_use, PINNED);
    pthread_mutex_unlock(&store->renewing);
}

enum dueq_status lmdb_renew(struct lmdb_store *store)
{
    lmdb_pin(store);
    store->generation++;
    return renew(store);
}

uint64_t lmdb_generation(struct lmdb_store *store)
{
    lmdb_pin(store);
    return store->generation;
}

const char *lmdb_damage(struct lmdb_store *store)
{
    lmdb_pin(store);
    return pages_damage(store->shown->reader);
}

void lmdb_forget_damage(struct lmdb_store *store)
{
    lmdb_pin(store);
    pages_forget_damage(store->shown->reader);
}

enum dueq_status lmdb_get(struct lmdb_store *store, struct dueq_slice key,
                          struct dueq_slice *ret_value)
{
    lmdb_pin(store);
    return seen_by(store, store->shown->reader,
                   pages_get(store->shown->reader, key, ret_value));
}

void lmdb_prefetch(struct lmdb_store *store, const struct dueq_slice *keys, size_t count)
{
    static_assert(LMDB_PREFETCH_MOST <= (int)PAGES_PREFETCH_MOST, "");

    assert(count <= LMDB_PREFETCH_MOST);
    lmdb_pin(store);
    pages_prefetch(store->shown->reader, keys, count);
}

/* Needs no snapshot: the checkpoint thread's renewals read no values. */
bool lmdb_limit_checks(struct lmdb_store *store, size_t *allowance)
{
    bool was_busy = store->limit.was_busy;

    store->limit = (struct pages_limit){allowance, false};
    return was_busy;
}

struct lmdb_hold *lmdb_hold(struct lmdb_store *store, const void *byte)
{
    lmdb_pin(store);
    if (!pages_contain(store->shown->reader, byte))
        return NULL;
    if (store->held == NULL) {
        if (store->held_count == HELD_MOST)
            return NULL;
        store->held = calloc(1, sizeof(*store->held));
        if (store->held == NULL)
            return NULL;
        store->held->txn = store->snapshot;
        store->held->file = store->shown;
        store->shown->uses++;
        store->held_count++;
    }
    store->held->holders++;
    return store->held;
}

void lmdb_let_go(struct lmdb_store *store, struct lmdb_hold *hold)
{
    lmdb_pin(store);
    if (--hold->holders > 0)
        return;
    if (hold == store->held)
        store->held = NULL;
    else
        mdb_txn_abort(hold->txn);
    lmdb_leave_file(store, hold->file);
    store->held_count--;
    free(hold);
}

static struct lmdb_cursor *cursor_new(struct lmdb_store *store, bool writer)
{
    struct lmdb_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL)
        return NULL;
    cursor->store = store;
    cursor->writer = writer;
    return cursor;
}

struct lmdb_cursor *lmdb_cursor_new(struct lmdb_store *store)
{
    return cursor_new(store, false);
}

struct lmdb_cursor *lmdb_writer_cursor_new(struct lmdb_store *store)
{
    return cursor_new(store, true);
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

/* A position in a file is void in the next one. The writer's cursors need no snapshot. */
static void pin_for(struct lmdb_cursor *cursor)
{
    struct lmdb_store *store = cursor->store;
    struct lmdb_file *file;

    if (!cursor->writer)
        lmdb_pin(store);
    file = cursor->writer ? atomic_load(&store->file) : store->shown;
    if (cursor->file == file->number && cursor->position.pages != NULL)
        return;
    cursor->file = file->number;
    cursor->position =
        (struct pages_cursor){.pages = cursor->writer ? file->writer : file->reader};
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
    if (cursor->position.depth == 0)
        return DUEQ_NOTFOUND;
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
    struct lmdb_file *file = txn->file;
    enum dueq_status status =
        lmdb_status_of(store, mdb_txn_begin(file->env, NULL, 0, &txn->txn));

    if (status != DUEQ_OK)
        return status;
    status = pages_show(file->writer, mdb_txn_id(txn->txn) - 1);
    status = seen_by(store, file->writer, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
    if (status == DUEQ_OK)
        status = lmdb_status_of(store, mdb_cursor_open(txn->txn, file->dbi, &txn->cursor));
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
    txn->file = atomic_load(&store->file);
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
    struct pages *writer = txn->file->writer;

    return seen_by(txn->store, writer, pages_allow(writer, key));
}

/* ---- puts and deletions */

static enum dueq_status unpark(struct lmdb_txn *txn)
{
    return lmdb_status_of(txn->store, lmdb_unpark(&txn->parked, txn->cursor));
}

/* Before a key is changed. */
static enum dueq_status unpark_for(struct lmdb_txn *txn, struct dueq_slice key)
{
    if (txn->parked.used == 0 || dueq_slice_compare(key, lmdb_parked_first(&txn->parked)) < 0)
        return DUEQ_OK;
    return unpark(txn);
}

/* Are the last keys neighbours, or do they come between records that were there? */
static bool are_appended(const struct lmdb_txn *txn, struct dueq_slice key)
{
    struct pages *writer = txn->file->writer;
    struct dueq_slice first = {NULL, 0}, last = {NULL, 0};

    pages_next_in_leaf(writer, kv_key_slice(&txn->since), &first);
    pages_next_in_leaf(writer, key, &last);
    return first.data == last.data;
}

static enum dueq_status park(struct lmdb_txn *txn, struct dueq_slice key)
{
    int error = MDB_SUCCESS;
    bool more = !LMDB_GUARDS || are_appended(txn, key);

    while (error == MDB_SUCCESS && more && pages_next_in_leaf(txn->file->writer, key, &key))
        error = lmdb_park(&txn->parked, txn->cursor, key, &more);
    return lmdb_status_of(txn->store, error);
}

/* After a put. */
static enum dueq_status note_put(struct lmdb_txn *txn, struct dueq_slice key)
{
    uint64_t leaf = pages_allowed_leaves(txn->file->writer);

    txn->in_leaf = leaf == txn->leaf ? txn->in_leaf + 1 : 0;
    txn->leaf = leaf;
    if (LMDB_GUARDS && txn->in_leaf % PARK_AFTER == 1)
        kv_key_copy(&txn->since, key);
    if (txn->in_leaf == 0 || txn->in_leaf % PARK_AFTER != 0 || txn->parked.used > 0)
        return DUEQ_OK;
    return park(txn, key);
}

static int put_beside_parked(struct lmdb_txn *txn, struct dueq_slice key,
                             const struct dueq_slice *parts, size_t count)
{
    size_t size = PAGES_SUM_SIZE;
    int error;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    error = lmdb_parked_before_put(&txn->parked, txn->cursor, key.size, size);
    if (error == MDB_SUCCESS)
        error = put_with_sum(txn, key, parts, count);
    return error == MDB_SUCCESS ? lmdb_parked_after_put(&txn->parked, txn->cursor) : error;
}

/* Keys come in order, so the cursor finds the next key near the last one. */
enum dueq_status lmdb_putv(struct lmdb_txn *txn, struct dueq_slice key,
                           const struct dueq_slice *parts, size_t count)
{
    enum dueq_status status = allow(txn, key);

    if (status == DUEQ_OK)
        status = unpark_for(txn, key);
    if (status == DUEQ_OK)
        status = lmdb_status_of(txn->store, LMDB_GUARDS && txn->parked.used > 0
                                                ? put_beside_parked(txn, key, parts, count)
                                                : put_with_sum(txn, key, parts, count));
    return status == DUEQ_OK ? note_put(txn, key) : status;
}

enum dueq_status lmdb_put(struct lmdb_txn *txn, struct dueq_slice key, struct dueq_slice value)
{
    return lmdb_putv(txn, key, &value, 1);
}

bool lmdb_share_leaf(const struct lmdb_txn *txn, struct dueq_slice first,
                     struct dueq_slice last)
{
    return pages_share_leaf(txn->file->writer, first, last);
}

enum dueq_status lmdb_del(struct lmdb_txn *txn, struct dueq_slice key)
{
    MDB_val k = val_of(key);
    enum dueq_status status = allow(txn, key);
    int error;

    if (status == DUEQ_OK)
        status = unpark_for(txn, key);
    if (status != DUEQ_OK)
        return status;
    if (LMDB_GUARDS)
        lmdb_parked_before_del(&txn->parked);
    error = mdb_cursor_get(txn->cursor, &k, NULL, MDB_SET);
    if (error == MDB_NOTFOUND)
        return DUEQ_OK;
    if (error == MDB_SUCCESS)
        error = mdb_cursor_del(txn->cursor, 0);
    return lmdb_status_of(txn->store, error);
}

/* Decides what a failure of LMDB means. LMDB returns ENOSPC when a write finds no room, which
 * does no harm, and when a sync fails for it, which loses what was written. The kernel reports
 * a failed sync once to every descriptor, also to ours. LMDB returns EIO for a short write; it
 * is ENOSPC if the file cannot grow by what was to be written. */
static enum dueq_status doubt(struct lmdb_txn *txn, enum dueq_status status)
{
    struct lmdb_file *file = txn->file;

    if (status != DUEQ_FULL && status != DUEQ_IO)
        return status;
    if (file->io->fdatasync(file->io->arg, file->fd) != 0)
        return DUEQ_IO;
    if (status == DUEQ_FULL)
        return status;
    return lmdb_status_of(txn->store, lmdb_file_allocate(file, lmdb_file_end(file) +
                                                                   PROBE_BYTES)) == DUEQ_FULL
               ? DUEQ_FULL
               : DUEQ_IO;
}

/* Takes pages, each for a value of its own, before all keys of the store. *ret_end: the last of
 * them ends at this byte of the file. */
static int take_spare(MDB_txn *txn, MDB_dbi dbi, size_t page_bytes, uint64_t *ret_end)
{
    *ret_end = 0;
    for (uint8_t key[2] = {0, 0}; key[1] < LMDB_SPARE; key[1]++) {
        MDB_val k = {sizeof(key), key}, value = {.mv_size = page_bytes / 2};
        int error = mdb_put(txn, dbi, &k, &value, MDB_RESERVE);
        uint64_t end;

        if (error != MDB_SUCCESS)
            return error;
        end = (page_word((uint8_t *)value.mv_data - PAGE_HEADER) + 1) * page_bytes;
        *ret_end = *ret_end > end ? *ret_end : end;
    }
    return MDB_SUCCESS;
}

/* A nested transaction takes them, and is undone. Damage where the keys would be does not stop
 * those that change other pages. */
enum dueq_status lmdb_leaves_spare(struct lmdb_txn *txn)
{
    struct lmdb_file *file = txn->file;
    uint64_t end;
    MDB_stat stat;
    MDB_txn *nested;
    int error;

    if (pages_allow(file->writer, dueq_slice("", 1)) != DUEQ_OK)
        return DUEQ_OK;
    error = mdb_txn_begin(file->env, txn->txn, 0, &nested);
    if (error == MDB_SUCCESS) {
        mdb_env_stat(file->env, &stat);
        error = take_spare(nested, file->dbi, stat.ms_psize, &end);
        mdb_txn_abort(nested);
    }
    if (error == MDB_SUCCESS && end > lmdb_file_end(file))
        error = lmdb_file_allocate(file, end);
    return lmdb_status_of(txn->store, error);
}

enum dueq_status lmdb_commit(struct lmdb_txn *txn)
{
    enum dueq_status status = unpark(txn);

    if (status != DUEQ_OK) {
        lmdb_abort(txn);
        return status;
    }
    mdb_cursor_close(txn->cursor);
    status = doubt(txn, lmdb_status_of(txn->store, mdb_txn_commit(txn->txn)));
    if (atomic_load(&txn->store->drops))
        lmdb_file_drop(txn->file);
    free(txn);
    return status;
}

void lmdb_drop_after_commits(struct lmdb_store *store)
{
    atomic_store(&store->drops, true);
}

bool lmdb_drops(const struct lmdb_store *store)
{
    return atomic_load(&store->drops);
}

void lmdb_drop(struct lmdb_store *store)
{
    lmdb_pin(store);
    lmdb_file_drop(store->shown);
}

enum dueq_status lmdb_sync(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_load(&store->file);
    enum dueq_status status = lmdb_status_of(store, mdb_env_sync(file->env, 1));

    return status == DUEQ_FULL ? DUEQ_IO : status;
}

void lmdb_abort(struct lmdb_txn *txn)
{
    mdb_cursor_close(txn->cursor);
    mdb_txn_abort(txn->txn);
    free(txn);
}

/* ---- space */

/* The snapshot is pinned because the checkpoint thread closes a file that nobody reads. */
enum dueq_status lmdb_grow(struct lmdb_store *store, uint64_t bytes, uint64_t *ret_file)
{
    struct lmdb_file *file;
    uint64_t size;
    int error;

    lmdb_pin(store);
    file = atomic_load(&store->file);
    size = atomic_load(&file->allocated) + bytes;
    error = lmdb_file_allocate(file, size);
    if (error != 0)
        return lmdb_status_of(store, error);
    *ret_file = size;
    return DUEQ_OK;
}

void lmdb_ask_growth(struct lmdb_store *store, uint64_t bytes)
{
    assert(bytes > 0 && !lmdb_wants_growth(store));
    atomic_store(&store->growth, bytes);
}

bool lmdb_wants_growth(const struct lmdb_store *store)
{
    return atomic_load(&store->growth) > 0;
}

void lmdb_grow_asked(struct lmdb_store *store)
{
    struct lmdb_file *file = atomic_load(&store->file);

    lmdb_file_allocate(file, atomic_load(&file->allocated) + atomic_load(&store->growth));
    atomic_store(&store->growth, 0);
}

uint64_t lmdb_allocated(struct lmdb_store *store)
{
    lmdb_pin(store);
    return atomic_load(&atomic_load(&store->file)->allocated);
}

uint64_t lmdb_tree_bytes(struct lmdb_store *store)
{
    MDB_stat stat;

    mdb_env_stat(atomic_load(&store->file)->env, &stat);
    return (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
}

uint64_t lmdb_records(struct lmdb_store *store)
{
    MDB_stat stat;

    mdb_env_stat(atomic_load(&store->file)->env, &stat);
    return stat.ms_entries;
}

void lmdb_get_room(struct lmdb_store *store, struct lmdb_room *ret_room)
{
    lmdb_file_room(atomic_load(&store->file), ret_room);
}

enum dueq_status lmdb_check(struct lmdb_store *store, struct lmdb_census *ret_census)
{
    struct pages_census census;
    enum dueq_status status;

    lmdb_pin(store);
    status = seen_by(store, store->shown->reader, pages_check(store->shown->reader, &census));
    if (status == DUEQ_OK)
        *ret_census = (struct lmdb_census){census.records, census.pages, census.free_pages,
                                           census.lost_pages};
    return status;
}
