#include "storage/kv/mark.h"

#include "storage/bytes.h"

enum {
    SIZE_WITHOUT_RUNS = 24, /* version 1, and whenever there are no runs */
    SIZE = SIZE_WITHOUT_RUNS + 16
};

/* A key that users of the key space cannot use. */
static const uint8_t mark_key[] = {0};

static bool read_runs(struct dueq_slice value, struct run_list *ret_runs)
{
    const uint8_t *bytes = value.data;

    *ret_runs = (struct run_list){1, 1};
    if (value.size == SIZE_WITHOUT_RUNS)
        return true;
    if (value.size != SIZE)
        return false;
    *ret_runs = (struct run_list){bytes_read_u64(bytes + 24), bytes_read_u64(bytes + 32)};
    return ret_runs->first > 0 && ret_runs->next >= ret_runs->first &&
           ret_runs->next - ret_runs->first <= RUNS_MOST;
}

enum dueq_status mark_read(struct lmdb_store *lmdb, struct checkpoint_mark *ret_mark)
{
    struct dueq_slice value;
    enum dueq_status status = lmdb_get(lmdb, dueq_slice(mark_key, sizeof(mark_key)), &value);
    const uint8_t *bytes;

    if (status != DUEQ_OK)
        return status;
    if (!read_runs(value, &ret_mark->runs))
        return DUEQ_CORRUPT;
    bytes = value.data;
    ret_mark->lsn = bytes_read_u64(bytes);
    ret_mark->time = (int64_t)bytes_read_u64(bytes + 8);
    ret_mark->seed = bytes_read_u64(bytes + 16);
    return DUEQ_OK;
}

static struct dueq_slice write_mark(const struct checkpoint_mark *mark, uint8_t *bytes)
{
    bytes_write_u64(bytes, mark->lsn);
    bytes_write_u64(bytes + 8, (uint64_t)mark->time);
    bytes_write_u64(bytes + 16, mark->seed);
    bytes_write_u64(bytes + 24, mark->runs.first);
    bytes_write_u64(bytes + 32, mark->runs.next);
    return dueq_slice(bytes, run_list_count(&mark->runs) == 0 ? SIZE_WITHOUT_RUNS : SIZE);
}

enum dueq_status mark_put(struct lmdb_txn *txn, const struct checkpoint_mark *mark)
{
    uint8_t bytes[SIZE];

    return lmdb_put(txn, dueq_slice(mark_key, sizeof(mark_key)), write_mark(mark, bytes));
}

enum dueq_status mark_create(const char *dir, const struct dueq_io *io,
                             const struct checkpoint_mark *mark, struct dueq_error *error)
{
    uint8_t bytes[SIZE];

    return lmdb_store_create(dir, io, dueq_slice(mark_key, sizeof(mark_key)),
                             write_mark(mark, bytes), error);
}

static enum dueq_status commit_mark(struct lmdb_store *lmdb, const struct checkpoint_mark *mark)
{
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = mark_put(txn, mark);
    if (status == DUEQ_OK)
        return lmdb_commit(txn);
    lmdb_abort(txn);
    return status;
}

enum dueq_status mark_rewrite(struct lmdb_store *lmdb, const struct checkpoint_mark *mark)
{
    enum dueq_status status = commit_mark(lmdb, mark);

    if (status == DUEQ_OK)
        status = commit_mark(lmdb, mark);
    return status == DUEQ_OK || status == DUEQ_FULL ? lmdb_sync(lmdb) : status;
}
