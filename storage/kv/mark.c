#include "storage/kv/mark.h"

#include "storage/bytes.h"

enum {
    SIZE_1 = 24,                    /* version 1, and version 3 without runs: no history */
    SIZE_2 = SIZE_1 + 16,           /* version 2: first and next number, all of level 0 */
    SIZE_4 = SIZE_1 + HISTORY_SIZE, /* version 4 without runs */
    RUN_SIZE = 18,                  /* versions 3 and 4: next number, and then each run */
    SIZE_MOST = SIZE_4 + 8 + RUNS_MOST * RUN_SIZE,
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
    uint64_t first = bytes_read_u64(bytes), next = bytes_read_u64(bytes + 8);

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

/* Version 3 and 4: `size` bytes after what is there without runs. */
static bool read_list(const uint8_t *bytes, size_t size, struct run_list *runs)
{
    const uint8_t *end = bytes + size;
    bool sound;

    if (size <= 8 || size > 8 + RUNS_MOST * RUN_SIZE || (size - 8) % RUN_SIZE != 0)
        return false;
    runs->next = bytes_read_u64(bytes);
    sound = runs->next <= NUMBER_MOST;
    for (bytes += 8; bytes < end && sound; bytes += RUN_SIZE)
        sound = read_run(bytes, runs);
    return sound;
}

/* Lists of both versions never have the same size. */
static bool has_history(size_t size)
{
    return size == SIZE_4 || (size > SIZE_4 + 8 && (size - SIZE_4 - 8) % RUN_SIZE == 0);
}

static bool read_runs(struct dueq_slice value, size_t begin, struct run_list *ret_runs)
{
    const uint8_t *bytes = (const uint8_t *)value.data + begin;

    *ret_runs = (struct run_list){.next = 1};
    if (value.size == begin)
        return true;
    return value.size == SIZE_2 ? read_numbers(bytes, ret_runs)
                                : read_list(bytes, value.size - begin, ret_runs);
}

bool mark_decode(struct dueq_slice value, struct checkpoint_mark *ret_mark)
{
    size_t begin = has_history(value.size) ? SIZE_4 : SIZE_1;
    const uint8_t *bytes = value.data;

    if (value.size < begin || !read_runs(value, begin, &ret_mark->runs))
        return false;
    ret_mark->history =
        begin == SIZE_4 ? history_read(bytes + SIZE_1) : (struct history){.id = 0};
    ret_mark->lsn = bytes_read_u64(bytes);
    ret_mark->time = (int64_t)bytes_read_u64(bytes + 8);
    ret_mark->seed = bytes_read_u64(bytes + 16);
    return true;
}

enum dueq_status mark_read(struct lmdb_store *lmdb, struct checkpoint_mark *ret_mark)
{
    struct dueq_slice value;
    enum dueq_status status = lmdb_get(lmdb, dueq_slice(mark_key, sizeof(mark_key)), &value);

    if (status != DUEQ_OK)
        return status;
    return mark_decode(value, ret_mark) ? DUEQ_OK : DUEQ_CORRUPT;
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
    history_write(bytes + SIZE_1, &mark->history);
    if (mark->runs.count == 0)
        return dueq_slice(bytes, SIZE_4);
    bytes_write_u64(bytes + SIZE_4, mark->runs.next);
    for (unsigned i = 0; i < mark->runs.count; i++)
        write_run(bytes + SIZE_4 + 8 + (size_t)i * RUN_SIZE, &mark->runs.runs[i]);
    return dueq_slice(bytes, SIZE_4 + 8 + (size_t)mark->runs.count * RUN_SIZE);
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
