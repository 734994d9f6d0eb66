#include "storage/kv/fold.h"

#include "storage/kv/run_erase.h"
#include "storage/kv/run_filter.h"

#include <assert.h>
#include <stdlib.h>

enum {
    TABLES_FROM = 4,  /* runs */
    TREE_SHARE = 2,   /* and one for so many memtables of data */
    TABLES_SHARE = 4, /* how many times their records all others may be */
    CHECKPOINTS = 30, /* runs of level 0 that become one */
    LEVEL_FROM = 8,   /* of another level */
    RECORDS_DENSE = 32768,
    RECORDS_SPARSE = 8192, /* each may change a page */
    /* On a small device: LMDB keeps memory for all pages of its largest transaction. The
     * records come in the order of keys, so the pages are hardly more in all. */
    RECORDS_SMALL = 1024
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
    struct head *heap[RUNS_MOST]; /* of heads that are there: no one before its parent */
    unsigned in_heap;
    uint64_t oldest, newest;  /* numbers of the runs that are folded; 0: none are */
    unsigned level;           /* of the run that takes the records; 0: the tables do */
    uint64_t into;            /* its number; 0: there is none yet */
    struct run_filter filter; /* its filter */
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

/* Of equal keys the newest is the first: it hides the others. */
static bool is_before(const struct head *head, const struct head *other)
{
    int order = dueq_slice_compare(head->key, other->key);

    return order < 0 || (order == 0 && head > other);
}

/* Takes what may be too far up in the heap to its place. */
static void sift_down(struct fold *fold, unsigned at)
{
    struct head *head = fold->heap[at];

    for (unsigned child; (child = 2 * at + 1) < fold->in_heap; at = child) {
        if (child + 1 < fold->in_heap && is_before(fold->heap[child + 1], fold->heap[child]))
            child++;
        if (is_before(head, fold->heap[child]))
            break;
        fold->heap[at] = fold->heap[child];
    }
    fold->heap[at] = head;
}

static void make_heap(struct fold *fold)
{
    fold->in_heap = 0;
    for (unsigned i = 0; i < fold->count; i++)
        if (fold->heads[i].there)
            fold->heap[fold->in_heap++] = &fold->heads[i];
    for (unsigned at = fold->in_heap / 2; at-- > 0;)
        sift_down(fold, at);
}

static unsigned begin_of(const struct fold *fold, const struct run_list *runs)
{
    return run_list_find(runs, fold->oldest);
}

static enum dueq_status open_heads(struct fold *fold, const struct run_list *runs)
{
    unsigned begin = begin_of(fold, runs);
    enum dueq_status status = DUEQ_OK;

    fold->count = fold_end(fold, runs) - begin;
    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++) {
        fold->heads[i].moved = 0;
        run_key_start(&fold->heads[i].run, runs->runs[begin + i].number);
        status = go_to_begin(&fold->heads[i]);
    }
    make_heap(fold);
    return status;
}

/* The least key; of equal ones the newest. NULL: all runs are empty. */
static struct head *nearest(const struct fold *fold)
{
    return fold->in_heap > 0 ? fold->heap[0] : NULL;
}

/* Goes on in the nearest run, and in those that have the same key. */
static enum dueq_status pass(struct fold *fold)
{
    struct dueq_slice key = nearest(fold)->key;
    enum dueq_status status;

    do {
        struct head *head = nearest(fold);

        head->moved++;
        status = take(head, lmdb_next(head->cursor));
        if (!head->there)
            fold->heap[0] = fold->heap[--fold->in_heap];
        sift_down(fold, 0);
    } while (status == DUEQ_OK && fold->in_heap > 0 &&
             dueq_slice_equal(nearest(fold)->key, key));
    return status;
}

/* ---- moving */

static enum dueq_status put_in_run(struct fold *fold, struct lmdb_txn *txn,
                                   const struct head *head)
{
    struct run_key run;

    if (fold->filter.bytes != NULL && run_filter_covers(head->key))
        run_filter_add(&fold->filter, head->key);
    run_key_start(&run, fold->into);
    return lmdb_put(txn, run_key_of(&run, head->key), lmdb_value(head->cursor));
}

static enum dueq_status put(struct fold *fold, struct lmdb_txn *txn, const struct head *head)
{
    if (fold->level > 0)
        return put_in_run(fold, txn, head);
    return head->tombstone ? lmdb_del(txn, head->key) : lmdb_put(txn, head->key, head->value);
}

static enum dueq_status put_some(struct fold *fold, struct lmdb_txn *txn, size_t limit,
                                 size_t *ret_moved)
{
    struct head *head;

    while (*ret_moved < limit && (head = nearest(fold)) != NULL) {
        enum dueq_status status = put(fold, txn, head);

        if (status == DUEQ_OK)
            status = pass(fold);
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

/* Of what is moved, when it was the last. */
static enum dueq_status erase_runs(struct fold *fold, struct lmdb_txn *txn)
{
    enum dueq_status status = DUEQ_OK;
    bool done;

    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++)
        status = run_erase(txn, fold->heads[i].cursor, &fold->heads[i].run, SIZE_MAX, &done);
    return status;
}

static enum dueq_status put_filter(const struct fold *fold, struct lmdb_txn *txn)
{
    enum dueq_status status = DUEQ_OK;
    struct run_key run;

    run_key_start(&run, fold->into);
    for (unsigned i = 0; fold->filter.bytes != NULL && i < fold->filter.chunks; i++) {
        status = lmdb_put(txn, run_filter_key(&run, i), run_filter_chunk(&fold->filter, i));
        if (status != DUEQ_OK)
            break;
    }
    return status;
}

static enum dueq_status end_runs(struct fold *fold, struct lmdb_txn *txn,
                                 struct checkpoint_mark *mark)
{
    enum dueq_status status = erase_runs(fold, txn);

    run_list_remove(&mark->runs, begin_of(fold, &mark->runs), fold->count);
    if (fold->level > 0) {
        mark->runs.runs[run_list_find(&mark->runs, fold->into)].whole = true;
        if (status == DUEQ_OK)
            status = put_filter(fold, txn);
    }
    return status == DUEQ_OK ? mark_put(txn, mark) : status;
}

static void count_moved(const struct fold *fold, struct run_list *runs, size_t moved)
{
    struct run *run = &runs->runs[begin_of(fold, runs)];

    if (fold->level > 0)
        runs->runs[run_list_find(runs, fold->into)].records += moved;
    for (unsigned i = 0; i < fold->count; i++) {
        size_t gone = fold->heads[i].moved;

        run[i].records -= gone < run[i].records ? gone : run[i].records;
    }
}

static enum dueq_status move_some(struct fold *fold, struct lmdb_txn *txn,
                                  struct checkpoint_mark *mark, size_t limit, size_t *ret_moved,
                                  bool *ret_done)
{
    enum dueq_status status = open_heads(fold, &mark->runs);

    if (status == DUEQ_OK)
        status = put_some(fold, txn, limit, ret_moved);
    if (status != DUEQ_OK)
        return status;
    *ret_done = nearest(fold) == NULL;
    count_moved(fold, &mark->runs, *ret_moved);
    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++)
        status = del_moved(&fold->heads[i], txn);
    return status == DUEQ_OK && *ret_done ? end_runs(fold, txn, mark) : status;
}

/* ---- the run that takes the records */

/* As large as theirs together. Without memory it has none. */
static enum dueq_status make_filter(struct fold *fold, const struct checkpoint_mark *mark)
{
    enum dueq_status status = open_heads(fold, &mark->runs);
    unsigned chunks = 0, more = 0;

    for (unsigned i = 0; i < fold->count && status == DUEQ_OK; i++, chunks += more)
        status = run_filter_count(fold->heads[i].cursor, &fold->heads[i].run, &more);
    run_filter_release(&fold->filter);
    if (status == DUEQ_OK)
        run_filter_init_chunks(&fold->filter, mark->runs.next, mark->seed, chunks);
    return status;
}

/* It stands before those that are folded into it, so they hide what it has. */
static enum dueq_status make_run(struct fold *fold, struct lmdb_txn *txn,
                                 struct checkpoint_mark *mark, size_t limit)
{
    struct run_key left;
    bool cleared;
    enum dueq_status status;

    run_key_start(&left, mark->runs.next);
    status = run_erase(txn, fold->heads[0].cursor, &left, limit, &cleared);
    if (status == DUEQ_OK && cleared)
        status = make_filter(fold, mark);
    if (status != DUEQ_OK || !cleared)
        return status;
    run_list_add(&mark->runs, begin_of(fold, &mark->runs), fold->level);
    return mark_put(txn, mark);
}

/* ---- a transaction */

static enum dueq_status run_transaction(struct fold *fold, struct checkpoint_mark *mark,
                                        size_t limit, size_t *ret_moved, bool *ret_done)
{
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(fold->lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = fold->level > 0 && fold->into == 0
                 ? make_run(fold, txn, mark, limit)
                 : move_some(fold, txn, mark, limit, ret_moved, ret_done);
    if (status == DUEQ_OK && limit > FOLD_LEAST)
        status = lmdb_leaves_spare(txn);
    if (status == DUEQ_OK)
        return lmdb_commit(txn);
    lmdb_abort(txn);
    return status;
}

enum dueq_status fold_step(struct fold *fold, struct checkpoint_mark *mark, size_t limit,
                           size_t *ret_moved)
{
    struct checkpoint_mark after = *mark;
    bool done = false;
    enum dueq_status status;

    *ret_moved = 0;
    if (fold_needs_place(fold) && mark->runs.count == RUNS_MOST) {
        fold_cancel(fold);
        return DUEQ_OK;
    }
    status = run_transaction(fold, &after, limit, ret_moved, &done);
    if (status != DUEQ_OK)
        return status;
    if (after.runs.next > mark->runs.next)
        fold->into = mark->runs.next;
    if (done)
        fold_cancel(fold);
    *mark = after;
    return DUEQ_OK;
}

/* ---- what to fold */

void fold_begin(struct fold *fold, const struct run_list *runs, unsigned from, unsigned end,
                unsigned level)
{
    assert(from < end && end <= runs->count && (level > 0 || from == 0));
    fold_cancel(fold);
    fold->oldest = runs->runs[from].number;
    fold->newest = runs->runs[end - 1].number;
    fold->level = level;
}

/* Has each page that changes several of the records? */
static bool is_dense(const struct fold *fold, const struct run_list *runs)
{
    return lmdb_records(fold->lmdb) <= (1 + TABLES_SHARE) * run_list_records(runs);
}

bool fold_tables_if_due(struct fold *fold, const struct run_list *runs, size_t table)
{
    uint64_t from = lmdb_tree_bytes(fold->lmdb) / (TREE_SHARE * (uint64_t)table + 1);

    if (from < TABLES_FROM)
        from = TABLES_FROM;
    if (runs->count < (from < CHECKPOINTS ? from : CHECKPOINTS) || !is_dense(fold, runs))
        return false;
    fold_begin(fold, runs, 0, runs->count, 0);
    return true;
}

/* Older runs have higher levels. */
bool fold_level_if_due(struct fold *fold, const struct run_list *runs, unsigned from)
{
    unsigned end = runs->count, at = end;

    if (runs->count == RUNS_MOST)
        return false;
    for (; end > from; end = at) {
        unsigned level = runs->runs[end - 1].level;

        while (at > from && runs->runs[at - 1].level == level)
            at--;
        if (end - at >= (level == 0 ? CHECKPOINTS : LEVEL_FROM)) {
            fold_begin(fold, runs, at, end, level + 1);
            return true;
        }
    }
    return false;
}

void fold_cancel(struct fold *fold)
{
    run_filter_release(&fold->filter);
    fold->oldest = fold->newest = fold->into = 0;
    fold->level = 0;
}

bool fold_is_running(const struct fold *fold)
{
    return fold->newest != 0;
}

unsigned fold_level(const struct fold *fold)
{
    return fold->level;
}

size_t fold_records(const struct fold *fold, const struct run_list *runs)
{
    if (lmdb_drops(fold->lmdb))
        return RECORDS_SMALL;
    return fold->level > 0 || is_dense(fold, runs) ? RECORDS_DENSE : RECORDS_SPARSE;
}

bool fold_needs_place(const struct fold *fold)
{
    return fold->level > 0 && fold->into == 0;
}

unsigned fold_end(const struct fold *fold, const struct run_list *runs)
{
    return fold->newest == 0 ? 0 : run_list_find(runs, fold->newest) + 1;
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
    run_filter_release(&fold->filter);
    free(fold);
}
