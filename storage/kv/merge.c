#include "storage/kv/merge.h"

#include "storage/kv/run_erase.h"

enum {
    TXN_BYTES = 16 * 1024 * 1024,
    RUN_SHARE = 16, /* records of a run that count as one operation: they fill whole pages */
    SMALL_TREE =
        4,     /* tables, by the size of the memtable, in which records share pages anyway */
    GROUP = 16 /* records that follow each other, which go the same way */
};

/* ---- one record */

static enum dueq_status find_in_run(struct merge_probe *probe, struct dueq_slice key)
{
    enum dueq_status status = lmdb_seek(probe->cursor, run_key_of(&probe->run, key));

    probe->sought = true;
    probe->there =
        status == DUEQ_OK && run_key_read(&probe->run, lmdb_key(probe->cursor), &probe->key);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* Keys come in order, so a run is searched again when a key is after the one found last. */
static enum dueq_status del_in_run(struct merge_probe *probe, struct lmdb_txn *txn,
                                   struct dueq_slice key)
{
    enum dueq_status status = DUEQ_OK;

    if (!probe->sought || (probe->there && dueq_slice_compare(key, probe->key) > 0))
        status = find_in_run(probe, key);
    if (status != DUEQ_OK || !probe->there || !dueq_slice_equal(key, probe->key))
        return status;
    return lmdb_del(txn, run_key_of(&probe->run, key));
}

static enum dueq_status del_everywhere(struct merge *merge, struct lmdb_txn *txn,
                                       struct dueq_slice key)
{
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; i < merge->probe_count && status == DUEQ_OK; i++)
        status = del_in_run(&merge->probes[i], txn, key);
    return status == DUEQ_OK ? lmdb_del(txn, key) : status;
}

static enum dueq_status apply_to_table(struct lmdb_txn *txn, const struct memtable_entry *entry)
{
    struct dueq_slice key = dueq_slice(entry->key, entry->key_size);

    return entry->tombstone ? lmdb_del(txn, key)
                            : lmdb_put(txn, key, dueq_slice(entry->value, entry->value_size));
}

/* Where deletions are carried out at once no two levels have one key (cursor.c counts on it).
 */
static enum dueq_status apply_to_run(struct merge *merge, struct lmdb_txn *txn,
                                     const struct memtable_entry *entry, bool past_run)
{
    struct dueq_slice key = dueq_slice(entry->key, entry->key_size), parts[2];
    uint8_t kind = entry->tombstone ? RUN_TOMBSTONE : RUN_VALUE;
    enum dueq_status status = DUEQ_OK;

    if (entry->tombstone && (merge->frugal || runs_delete_at_once(entry->key[0])))
        return del_everywhere(merge, txn, key);
    if (!entry->fresh && runs_delete_at_once(entry->key[0]))
        status = del_everywhere(merge, txn, key);
    if (status != DUEQ_OK)
        return status;
    if (past_run)
        return apply_to_table(txn, entry);
    parts[0] = dueq_slice(&kind, 1);
    parts[1] = dueq_slice(entry->value, entry->tombstone ? 0 : entry->value_size);
    return lmdb_putv(txn, run_key_of(&merge->run, key), parts, 2);
}

/* ---- past the run
 *
 * Jobs that are due in the order in which they were pushed follow each other in the schedule.
 * Their records fill pages of the table, and would be written again when their run is folded.
 * As no two levels have one of their keys, no run hides them. */

struct group {
    unsigned left; /* records of it, from the present one on */
    bool past_run;
};

static void begin_group(const struct lmdb_txn *txn, struct memtable_cursor at,
                        struct group *group)
{
    struct memtable_entry first = memtable_at(&at), last = first;

    for (group->left = 1; group->left < GROUP && memtable_next(&at); group->left++) {
        struct memtable_entry entry = memtable_at(&at);

        if (entry.key[0] != first.key[0])
            break;
        last = entry;
    }
    group->past_run =
        group->left == GROUP && lmdb_share_leaf(txn, dueq_slice(first.key, first.key_size),
                                                dueq_slice(last.key, last.key_size));
}

static bool goes_past_run(struct merge *merge, const struct lmdb_txn *txn,
                          const struct memtable_cursor *at, const struct memtable_entry *entry,
                          struct group *group)
{
    if (!MERGE_PASSES_RUN || !runs_delete_at_once(entry->key[0]))
        return false;
    if (group->left == 0)
        begin_group(txn, *at, group);
    group->left--;
    if (group->past_run && !atomic_load_explicit(&merge->past_run, memory_order_relaxed))
        atomic_store(&merge->past_run, true);
    return group->past_run;
}

/* ---- a transaction */

/* Applies entries from the cursor on, as many as one transaction may contain. On success the
 * cursor is at the next entry; *more: there is one. */
static enum dueq_status apply_some(struct merge *merge, struct lmdb_txn *txn,
                                   struct memtable_cursor *at, bool *more, size_t *in_run)
{
    enum dueq_status status = DUEQ_OK;
    size_t limit = merge->limit * RUN_SHARE, spent = 0, bytes = 0;
    struct group group = {0, false};

    while (*more && status == DUEQ_OK && spent < limit && bytes < TXN_BYTES) {
        struct memtable_entry entry = memtable_at(at);
        bool to_run = merge->to_run && runs_take(dueq_slice(entry.key, entry.key_size)),
             past_run = to_run && goes_past_run(merge, txn, at, &entry, &group);

        status =
            to_run ? apply_to_run(merge, txn, &entry, past_run) : apply_to_table(txn, &entry);
        *in_run += to_run && !past_run;
        spent += to_run && !entry.tombstone ? 1 : RUN_SHARE;
        bytes += entry.value_size;
        *more = memtable_next(at);
    }
    return status;
}

/* Where the walk will be after the transaction. */
struct stride {
    struct memtable_cursor at;
    bool more, cleared;
    size_t in_run;
    unsigned filter_put;
};

/* The filter comes first: so a run that is complete has it. */
static enum dueq_status put_filter(struct merge *merge, struct lmdb_txn *txn, unsigned *put)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < merge->limit && *put < merge->filter.chunks && status == DUEQ_OK;
         i++, ++*put)
        status = lmdb_put(txn, run_filter_key(&merge->run, *put),
                          run_filter_chunk(&merge->filter, *put));
    return status;
}

static void list_run(const struct merge *merge, struct checkpoint_mark *mark, size_t records)
{
    struct run *run;

    if (!merge->to_run || records == 0)
        return;
    run = run_list_add(&mark->runs, mark->runs.count, 0);
    run->records = records;
    run->whole = true;
}

static enum dueq_status fill(struct merge *merge, struct lmdb_txn *txn, struct stride *stride)
{
    struct checkpoint_mark mark = merge->mark;
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; i < merge->probe_count; i++)
        merge->probes[i].sought = false;
    if (!stride->cleared) /* what a crash has left would come to life with the run */
        status = run_erase(txn, merge->probes[merge->probe_count].cursor, &merge->run,
                           merge->limit, &stride->cleared);
    if (status == DUEQ_OK && stride->cleared)
        status = put_filter(merge, txn, &stride->filter_put);
    if (status != DUEQ_OK || stride->filter_put < merge->filter.chunks)
        return status;
    status = apply_some(merge, txn, &stride->at, &stride->more, &stride->in_run);
    if (status != DUEQ_OK || stride->more)
        return status;
    list_run(merge, &mark, stride->in_run);
    return mark_put(txn, &mark);
}

static enum dueq_status run_transaction(struct merge *merge, struct stride *stride)
{
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(merge->lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = fill(merge, txn, stride);
    if (status == DUEQ_OK && merge->limit > MERGE_LEAST)
        status = lmdb_leaves_spare(txn);
    if (status == DUEQ_OK)
        return lmdb_commit(txn);
    lmdb_abort(txn);
    return status;
}

enum dueq_status merge_step(struct merge *merge)
{
    struct stride stride = {merge->at, merge->more, merge->cleared, merge->in_run,
                            merge->filter_put};
    enum dueq_status status = run_transaction(merge, &stride);

    if (status == DUEQ_OK) {
        merge->at = stride.at;
        merge->more = stride.more || stride.filter_put < merge->filter.chunks;
        merge->cleared = stride.cleared;
        merge->filter_put = stride.filter_put;
        merge->in_run = stride.in_run;
        if (!merge->more)
            list_run(merge, &merge->mark, merge->in_run);
        if (merge->limit < MERGE_OPERATIONS)
            merge->limit *= 2;
    } else if (status == DUEQ_FULL) {
        merge->frugal = merge->refused = true;
        if (merge->limit > MERGE_LEAST)
            merge->limit /= 2;
    }
    return status;
}

/* ---- life */

/* While the tables are small, many records share each page, and a run would only be written
 * besides. With runs there is no choice, because they would hide what is in the tables. */
static bool wants_run(const struct merge *merge, const struct memtable *table)
{
    return merge->mark.runs.count > 0 ||
           lmdb_tree_bytes(merge->lmdb) > SMALL_TREE * memtable_reserved(table);
}

static bool add_probe(struct merge *merge, unsigned index)
{
    const struct run_list *runs = &merge->mark.runs;
    struct merge_probe *probe = &merge->probes[index];

    *probe = (struct merge_probe){.cursor = lmdb_writer_cursor_new(merge->lmdb)};
    run_key_start(&probe->run, index < runs->count ? runs->runs[index].number : runs->next);
    return probe->cursor != NULL;
}

/* One more than there are runs: the last is for the new run. */
static bool add_probes(struct merge *merge)
{
    unsigned count = merge->mark.runs.count;
    bool done = true;

    for (unsigned i = 0; i <= count && done; i++)
        done = add_probe(merge, i);
    merge->probe_count = count;
    return done;
}

static bool make_filter(struct merge *merge, const struct memtable *table, uint64_t run)
{
    struct dueq_slice from = dueq_slice("U", 1), end = dueq_slice("V", 1);
    struct memtable_cursor at;
    size_t left = memtable_count(table, from, end);

    if (!run_filter_init(&merge->filter, run, merge->mark.seed, left))
        return false;
    memtable_seek(&at, table, from);
    for (; left > 0; left--, memtable_next(&at)) {
        struct memtable_entry entry = memtable_at(&at);

        run_filter_add(&merge->filter, dueq_slice(entry.key, entry.key_size));
    }
    return true;
}

enum dueq_status merge_init(struct merge *merge, struct lmdb_store *lmdb,
                            const struct memtable *table, const struct checkpoint_mark *mark)
{
    static const uint8_t least[] = {0};

    merge->lmdb = lmdb;
    merge->mark = *mark;
    merge->limit = MERGE_OPERATIONS;
    merge->in_run = 0;
    merge->frugal = merge->refused = false;
    merge->probe_count = 0;
    merge->filter = (struct run_filter){0};
    merge->filter_put = 0;
    for (unsigned i = 0; i < RUNS_MOST; i++)
        merge->probes[i].cursor = NULL;
    merge->to_run = wants_run(merge, table);
    if (MERGE_PASSES_RUN)
        atomic_store(&merge->past_run, false);
    merge->cleared = !merge->to_run;
    run_key_start(&merge->run, mark->runs.next);
    if (merge->to_run && (!add_probes(merge) || !make_filter(merge, table, mark->runs.next))) {
        merge_release(merge);
        return DUEQ_NOMEM;
    }
    merge->more = memtable_seek(&merge->at, table, dueq_slice(least, sizeof(least)));
    return DUEQ_OK;
}

void merge_release(struct merge *merge)
{
    for (unsigned i = 0; i < RUNS_MOST; i++)
        lmdb_cursor_free(merge->probes[i].cursor);
    run_filter_release(&merge->filter);
}
