#include "storage/kv/mark.h"

#include "storage/bytes.h"

enum {
    SIZE_WITHOUT_RUNS = 24,             /* version 1, and whenever there are no runs */
    SIZE_2 = SIZE_WITHOUT_RUNS + 16,    /* version 2: first and next number, all of level 0 */
    LIST_BEGIN = SIZE_WITHOUT_RUNS + 8, /* version 3: next number, and then each run */
    RUN_SIZE = 18,
    SIZE_MOST = LIST_BEGIN + RUNS_MOST * RUN_SIZE,
    LEVELS_MOST = 32 /* eight times as many checkpoints each */
};

/* More there cannot be; with less no sum of theirs is too large. */
static const uint64_t NUMBER_MOST = (uint64_t)1 << 62, RECORDS_MOST = (uint64_t)1 << 48;

/* Of a run, for a mark that does not say how many. */
static const uint64_t RECORDS_UNKNOWN = 240000;

/* A key that users of the key space cannot use. */
static const uint8_t mark_key[] = {0};

/* Version 2 has numbers only. How many records such a run has it does not say. */
static bool read_numbers(const uint8_t *bytes, struct run_list *runs)
{
    uint64_t first = bytes_read_u64(bytes + SIZE_WITHOUT_RUNS),
             next = bytes_read_u64(bytes + SIZE_WITHOUT_RUNS + 8);

    if (first == 0 || next < first || next - first > RUNS_MOST || next > NUMBER_MOST)
        return false;
    for (runs->next = first; runs->next < next;) {
        struct run *run = run_list_add(runs, runs->count, 0);

        run->records = RECORDS_UNKNOWN;
        run->whole = true;
    }
    return true;
}

/* Adds a run to the list. False: there is none like it. */
static bool read_run(const uint8_t *bytes, struct run_list *runs)
{
    struct run run = {.number = bytes_read_u64(bytes),
                      .records = bytes_read_u64(bytes + 8),
                      .level = bytes[16],
                      .whole = bytes[17] != 0};

    if (run.number == 0 || run.number >= runs->next ||
        run_list_find(runs, run.number) < runs->count)
        return false;
    runs->runs[runs->count++] = run;
    return run.records <= RECORDS_MOST && run.level < LEVELS_MOST;
}

static bool read_runs(struct dueq_slice value, struct run_list *ret_runs)
{
    const uint8_t *bytes = value.data, *end = bytes + value.size;
    bool sound;

    *ret_runs = (struct run_list){.next = 1};
    if (value.size == SIZE_WITHOUT_RUNS)
        return true;
    if (value.size == SIZE_2)
        return read_numbers(bytes, ret_runs);
    if (value.size <= LIST_BEGIN || value.size > SIZE_MOST ||
        (value.size - LIST_BEGIN) % RUN_SIZE != 0)
        return false;
    ret_runs->next = bytes_read_u64(bytes + SIZE_WITHOUT_RUNS);
    sound = ret_runs->next <= NUMBER_MOST;
    for (bytes += LIST_BEGIN; bytes < end && sound; bytes += RUN_SIZE)
        sound = read_run(bytes, ret_runs);
    return sound;
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

static void write_run(uint8_t *bytes, const struct run *run)
{
    bytes_write_u64(bytes, run->number);
    bytes_write_u64(bytes + 8, run->records);
    bytes[16] = run->level;
    bytes[17] = run->whole;
}

static struct dueq_slice write_mark(const struct checkpoint_mark *mark, uint8_t *bytes)
{
    bytes_write_u64(bytes, mark->lsn);
    bytes_write_u64(bytes + 8, (uint64_t)mark->time);
    bytes_write_u64(bytes + 16, mark->seed);
    if (mark->runs.count == 0)
        return dueq_slice(bytes, SIZE_WITHOUT_RUNS);
    bytes_write_u64(bytes + SIZE_WITHOUT_RUNS, mark->runs.next);
    for (unsigned i = 0; i < mark->runs.count; i++)
        write_run(bytes + LIST_BEGIN + (size_t)i * RUN_SIZE, &mark->runs.runs[i]);
    return dueq_slice(bytes, LIST_BEGIN + (size_t)mark->runs.count * RUN_SIZE);
}

enum dueq_status mark_put(struct lmdb_txn *txn, const struct checkpoint_mark *mark)
{
    uint8_t bytes[SIZE_MOST];

    return lmdb_put(txn, dueq_slice(mark_key, sizeof(mark_key)), write_mark(mark, bytes));
}

enum dueq_status mark_create(const char *dir, const struct dueq_io *io,
                             const struct checkpoint_mark *mark, struct dueq_error *error)
{
    uint8_t bytes[SIZE_MOST];

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
