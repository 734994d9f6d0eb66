#include "storage/kv/fold.h"

#include <assert.h>
#include <stdlib.h>

enum {
    FROM_LEAST = 4,
    FROM_MOST = RUNS_MOST / 2, /* the rest is for checkpoints that come during a fold */
    TREE_SHARE = 2
};

/* One run, at its first record that is not moved yet. */
struct head {
    struct lmdb_cursor *cursor;
    struct run_key run;
    bool there, tombstone;
    struct dueq_slice key, value;
    size_t moved;
};

struct fold {
    struct lmdb_store *lmdb;
    struct head heads[RUNS_MOST]; /* the newest last */
    unsigned count;
};

/* ---- reading */

static enum dueq_status take(struct head *head, enum dueq_status status)
{
    head->there =
        status == DUEQ_OK && run_key_read(&head->run, lmdb_key(head->cursor), &head->key);
    if (head->there &&
        !run_value_read(lmdb_value(head->cursor), &head->tombstone, &head->value))
        return DUEQ_CORRUPT;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status go_to_begin(struct head *head)
{
    return take(head, lmdb_seek(head->cursor, run_key_first(&head->run)));
}

static enum dueq_status open_heads(struct fold *fold, const struct run_list *runs, uint64_t end)
{
    enum dueq_status status = DUEQ_OK;

    fold->count = (unsigned)(end - runs->first);
    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++) {
        fold->heads[i].moved = 0;
        run_key_start(&fold->heads[i].run, runs->first + i);
        status = go_to_begin(&fold->heads[i]);
    }
    return status;
}

/* The least key; of equal ones the newest. NULL: all runs are empty. */
static struct head *nearest(struct fold *fold)
{
    struct head *best = NULL;

    for (unsigned i = 0; i < fold->count; i++) {
        struct head *head = &fold->heads[i];

        if (head->there && (best == NULL || dueq_slice_compare(head->key, best->key) <= 0))
            best = head;
    }
    return best;
}

static enum dueq_status pass(struct fold *fold, struct dueq_slice key)
{
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++) {
        struct head *head = &fold->heads[i];

        if (!head->there || !dueq_slice_equal(head->key, key))
            continue;
        head->moved++;
        status = take(head, lmdb_next(head->cursor));
    }
    return status;
}

/* ---- moving */

static enum dueq_status put_some(struct fold *fold, struct lmdb_txn *txn, size_t limit,
                                 size_t *ret_moved)
{
    struct head *head;

    *ret_moved = 0;
    while (*ret_moved < limit && (head = nearest(fold)) != NULL) {
        enum dueq_status status =
            head->tombstone ? lmdb_del(txn, head->key) : lmdb_put(txn, head->key, head->value);

        if (status == DUEQ_OK)
            status = pass(fold, head->key);
        if (status != DUEQ_OK)
            return status;
        ++*ret_moved;
    }
    return DUEQ_OK;
}

/* Run after run, so that each page is changed once. */
static enum dueq_status del_moved(struct head *head, struct lmdb_txn *txn)
{
    enum dueq_status status = go_to_begin(head);

    for (size_t i = 0; i < head->moved && status == DUEQ_OK; i++) {
        assert(head->there);
        status = lmdb_del(txn, lmdb_key(head->cursor));
        if (status == DUEQ_OK)
            status = take(head, lmdb_next(head->cursor));
    }
    return status;
}

/* Of a run whose other records are moved. */
static enum dueq_status del_filter(struct head *head, struct lmdb_txn *txn)
{
    enum dueq_status status = lmdb_seek(head->cursor, run_key_head(&head->run));
    struct dueq_slice key;

    while (status == DUEQ_OK && run_key_has_head(&head->run, lmdb_key(head->cursor)) &&
           !run_key_read(&head->run, lmdb_key(head->cursor), &key)) {
        status = lmdb_del(txn, lmdb_key(head->cursor));
        if (status == DUEQ_OK)
            status = lmdb_next(head->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status end_runs(struct fold *fold, struct lmdb_txn *txn,
                                 struct checkpoint_mark *mark, uint64_t end)
{
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++)
        status = del_filter(&fold->heads[i], txn);
    mark->runs.first = end;
    return status == DUEQ_OK ? mark_put(txn, mark) : status;
}

static enum dueq_status move_some(struct fold *fold, struct lmdb_txn *txn,
                                  struct checkpoint_mark *mark, uint64_t end, size_t limit,
                                  size_t *ret_moved)
{
    enum dueq_status status = open_heads(fold, &mark->runs, end);
    bool done = false;

    if (status == DUEQ_OK)
        status = put_some(fold, txn, limit, ret_moved);
    if (status == DUEQ_OK)
        done = nearest(fold) == NULL;
    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++)
        status = del_moved(&fold->heads[i], txn);
    return status == DUEQ_OK && done ? end_runs(fold, txn, mark, end) : status;
}

enum dueq_status fold_step(struct fold *fold, struct checkpoint_mark *mark, uint64_t end,
                           size_t limit, size_t *ret_moved)
{
    struct checkpoint_mark after = *mark;
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(fold->lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = move_some(fold, txn, &after, end, limit, ret_moved);
    if (status != DUEQ_OK) {
        lmdb_abort(txn);
        return status;
    }
    status = lmdb_commit(txn);
    if (status == DUEQ_OK)
        *mark = after;
    return status;
}

/* ---- life */

struct fold *fold_new(struct lmdb_store *lmdb)
{
    struct fold *fold = calloc(1, sizeof(*fold));

    if (fold == NULL)
        return NULL;
    fold->lmdb = lmdb;
    for (unsigned i = 0; i < RUNS_MOST; i++) {
        fold->heads[i].cursor = lmdb_writer_cursor_new(lmdb);
        if (fold->heads[i].cursor == NULL) {
            fold_free(fold);
            return NULL;
        }
    }
    return fold;
}

void fold_free(struct fold *fold)
{
    if (fold == NULL)
        return;
    for (unsigned i = 0; i < RUNS_MOST; i++)
        lmdb_cursor_free(fold->heads[i].cursor);
    free(fold);
}

unsigned fold_from(struct lmdb_store *lmdb, size_t table)
{
    uint64_t runs = lmdb_tree_bytes(lmdb) / (TREE_SHARE * (uint64_t)table + 1);

    return runs < FROM_LEAST ? FROM_LEAST : runs > FROM_MOST ? FROM_MOST : (unsigned)runs;
}
