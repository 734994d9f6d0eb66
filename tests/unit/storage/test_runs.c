/* Runs: tables that are written to LMDB in parts, left incomplete and written again, and folds
 * in between; what they cost; and a map without room for them. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/fold.h"
#include "storage/kv/kv.h"
#include "storage/kv/kv_internal.h"
#include "storage/kv/merge.h"
#include "storage/kv/room.h"
#include "storage/kv/run_filter.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 900, MIB = 1 << 20 };

/* ---- merges and folds, step by step */

static struct {
    struct dice dice;
    char *dir;
    struct lmdb_store *lmdb;
    struct fold *fold, *level;
    struct memtable *table; /* the changes since the last mark */
    struct merge merge;
    struct checkpoint_mark mark;
    unsigned cells[KEYS];   /* what the last mark stands for; 0: absent */
    unsigned changed[KEYS]; /* the same with the changes of the table */
    bool unsure[KEYS];      /* a merge that was left may have written it */
    unsigned serial;
} test;

static struct dueq_slice key_of(int i, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "%c%04d", "BQSUk"[i / (KEYS / 5)], i));
}

static int open_map(size_t map_bytes)
{
    struct checkpoint_mark mark = {.seed = 5, .runs = {.next = 1}};
    struct dueq_error error = {""};

    memset(&test, 0, sizeof(test));
    test.dir = temp_dir_new();
    assert_int_equal(mark_create(test.dir, &io_system, &mark, &error), DUEQ_OK);
    assert_int_equal(lmdb_store_open(test.dir, map_bytes, &io_system, &test.lmdb, &error),
                     DUEQ_OK);
    assert_int_equal(mark_read(test.lmdb, &test.mark), DUEQ_OK);
    test.fold = fold_new(test.lmdb);
    test.level = fold_new(test.lmdb);
    test.table = memtable_new(NULL);
    assert_true(test.fold != NULL && test.level != NULL && test.table != NULL);
    return 0;
}

static int open_pages(void **state)
{
    (void)state;
    open_map(64 * MIB);
    dice_begin(&test.dice);
    return 0;
}

static int close_pages(void **state)
{
    (void)state;
    memtable_free(test.table);
    fold_free(test.fold);
    fold_free(test.level);
    lmdb_store_close(test.lmdb);
    temp_dir_remove(test.dir);
    return 0;
}

static void change(int i)
{
    char space[16];
    struct dueq_slice key = key_of(i, space);

    test.changed[i] = dice_once_in(&test.dice, 3) ? 0 : ++test.serial;
    if (test.changed[i] == 0) {
        assert_int_equal(memtable_del(test.table, key), DUEQ_OK);
    } else {
        struct dueq_slice value = dueq_slice(&test.changed[i], sizeof(test.changed[i]));

        assert_int_equal(memtable_put(test.table, key, &value, 1, false, NULL), DUEQ_OK);
    }
}

/* What the file says of a key, as readers put it together. */
static unsigned find(int i)
{
    char space[16];
    struct dueq_slice key = key_of(i, space), value;
    struct run_key whole;
    unsigned serial = 0;
    bool tombstone = false;
    enum dueq_status status = DUEQ_NOTFOUND;

    for (unsigned at = test.mark.runs.count; at-- > 0;) {
        run_key_start(&whole, test.mark.runs.runs[at].number);
        status = lmdb_get(test.lmdb, run_key_of(&whole, key), &value);
        if (status == DUEQ_OK) {
            assert_true(runs_take(key));
            assert_true(run_value_read(value, &tombstone, &value));
            break;
        }
    }
    if (status != DUEQ_OK)
        status = lmdb_get(test.lmdb, key, &value);
    if (status == DUEQ_OK && !tombstone)
        memcpy(&serial, value.data, sizeof(serial));
    return serial;
}

/* The state of the mark, except for what a merge that was left may have written. */
static void check_file(void)
{
    struct checkpoint_mark mark;

    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
    assert_int_equal(mark_read(test.lmdb, &mark), DUEQ_OK);
    assert_int_equal(mark.runs.count, test.mark.runs.count);
    for (int i = 0; i < KEYS; i++)
        if (!test.unsure[i])
            assert_int_equal(find(i), test.cells[i]);
}

/* Into the tables, or into a run that takes their place; both at once, of different runs. */
static void begin_fold(void)
{
    const struct run_list *runs = &test.mark.runs;
    unsigned from = fold_end(test.fold, runs), count = runs->count - from;
    unsigned some = count == 0 ? 0 : 1 + (unsigned)dice_roll(&test.dice, count);

    if (some == 0 || fold_is_running(test.level))
        return;
    if (from == 0 && dice_once_in(&test.dice, 3)) {
        fold_begin(test.fold, runs, 0, some, 0);
    } else {
        from += (unsigned)dice_roll(&test.dice, count - some + 1);
        fold_begin(test.level, runs, from, from + some, 1);
    }
}

/* Whoever opens the file next knows no more than its mark says. */
static void crash(void)
{
    unsigned count = test.mark.runs.count;

    fold_cancel(test.fold);
    fold_cancel(test.level);
    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
    assert_int_equal(mark_read(test.lmdb, &test.mark), DUEQ_OK);
    assert_int_equal(test.mark.runs.count, count);
}

static void fold_some(void)
{
    struct fold *folds[] = {test.fold, test.level};
    size_t moved;

    begin_fold();
    for (int i = 0; i < 2; i++)
        if (fold_is_running(folds[i]) &&
            (test.mark.runs.count < RUNS_MOST || !fold_needs_place(folds[i])))
            assert_int_equal(
                fold_step(folds[i], &test.mark, 1 + dice_roll(&test.dice, 200), &moved),
                DUEQ_OK);
    if (dice_once_in(&test.dice, 20))
        fold_cancel(folds[dice_roll(&test.dice, 2)]);
    if (dice_once_in(&test.dice, 20))
        crash();
    check_file();
}

/* True: the table is written as a whole. */
static bool merge_some(void)
{
    bool ends = dice_once_in(&test.dice, 2);

    assert_int_equal(merge_init(&test.merge, test.lmdb, test.table, &test.mark), DUEQ_OK);
    while (test.merge.more && (ends || !dice_once_in(&test.dice, 6))) {
        test.merge.limit = 1 + dice_roll(&test.dice, 4);
        assert_int_equal(merge_step(&test.merge), DUEQ_OK);
    }
    merge_release(&test.merge);
    if (test.merge.more)
        return false;
    test.mark = test.merge.mark;
    return true;
}

static void leave_merge(void)
{
    for (int i = 0; i < KEYS; i++)
        test.unsure[i] = test.unsure[i] || test.changed[i] != test.cells[i];
}

static void end_merge(void)
{
    memcpy(test.cells, test.changed, sizeof(test.cells));
    memset(test.unsure, 0, sizeof(test.unsure));
    memtable_free(test.table);
    test.table = memtable_new(NULL);
    assert_non_null(test.table);
}

/* As a checkpoint after a crash: the table has the same changes, and more. */
static void a_run_may_be_left_incomplete(void **state)
{
    uint64_t most = 0;

    (void)state;
    for (int round = 0; round < 800; round++) {
        int changes = round < 4 ? KEYS * 2 : (int)dice_roll(&test.dice, 60);

        for (int i = 0; i < changes; i++)
            change((int)dice_roll(&test.dice, KEYS));
        while (test.mark.runs.count == RUNS_MOST)
            fold_some();
        if (merge_some())
            end_merge();
        else
            leave_merge();
        check_file();
        if (dice_once_in(&test.dice, 3))
            fold_some();
        if (test.mark.runs.count > most)
            most = test.mark.runs.count;
    }
    assert_true(most > 4);
}

/* ---- the last pages of a map */

/* All records have a page of their own, nearly: they come in random order. */
static void change_far(uint64_t i, bool present)
{
    static const uint8_t bytes[200];
    struct dueq_slice value = dueq_slice(bytes, sizeof(bytes)), key;
    char space[32];

    key = dueq_slice(space, (size_t)sprintf(space, "k%016" PRIx64, i * 0x9E3779B97F4A7C15u));
    assert_int_equal(present ? memtable_put(test.table, key, &value, 1, true, NULL)
                             : memtable_del(test.table, key),
                     DUEQ_OK);
}

/* As a checkpoint: with fewer operations after each refusal. */
static enum dueq_status merge_table(void)
{
    enum dueq_status status = DUEQ_OK;
    bool least = false;

    assert_int_equal(merge_init(&test.merge, test.lmdb, test.table, &test.mark), DUEQ_OK);
    while (test.merge.more && (status == DUEQ_OK || (status == DUEQ_FULL && !least))) {
        least = test.merge.limit <= MERGE_LEAST;
        status = merge_step(&test.merge);
        assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
    }
    merge_release(&test.merge);
    if (status == DUEQ_OK)
        end_merge();
    return status;
}

/* What it frees can be used after one more commit. So if it took all pages but a few, there was
 * no other transaction, for ever: here from 242 deletions on. */
static void a_transaction_leaves_pages_for_the_next(void **state)
{
    enum { RECORDS = 12000, FROM = 230, TO = 250 };

    (void)state;
    for (uint64_t deletions = FROM; deletions < TO; deletions++) {
        open_map(4 * MIB);
        for (uint64_t i = 0; i < RECORDS; i++)
            change_far(i, true);
        assert_int_equal(merge_table(), DUEQ_OK);
        for (uint64_t i = 0; i < deletions; i++)
            change_far(i, false);
        assert_int_equal(merge_table(), DUEQ_OK);
        change_far(RECORDS - 1, false);
        assert_int_equal(merge_table(), DUEQ_OK);
        close_pages(NULL);
    }
}

/* ---- marks */

static void put_mark(const uint8_t *bytes, size_t size)
{
    static const uint8_t key[] = {0};
    struct lmdb_txn *txn;

    assert_int_equal(lmdb_begin(test.lmdb, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, dueq_slice(key, 1), dueq_slice(bytes, size)), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
}

static void a_mark_of_the_older_form_is_read(void **state)
{
    uint8_t bytes[40] = {[7] = 9, [31] = 3, [39] = 5}; /* runs 3 and 4 */
    struct checkpoint_mark mark;

    (void)state;
    put_mark(bytes, sizeof(bytes));
    assert_int_equal(mark_read(test.lmdb, &mark), DUEQ_OK);
    assert_int_equal(mark.lsn, 9);
    assert_int_equal(mark.runs.next, 5);
    assert_int_equal(mark.runs.count, 2);
    assert_int_equal(mark.runs.runs[0].number, 3);
    assert_int_equal(mark.runs.runs[1].number, 4);
    assert_true(mark.runs.runs[0].whole && mark.runs.runs[0].level == 0);
    bytes[39] = 3 + RUNS_MOST + 1;
    put_mark(bytes, sizeof(bytes));
    assert_int_equal(mark_read(test.lmdb, &mark), DUEQ_CORRUPT);
}

static void a_mark_keeps_its_list(void **state)
{
    struct checkpoint_mark mark = test.mark, seen;
    struct lmdb_txn *txn;

    (void)state;
    while (mark.runs.count < RUNS_MOST) {
        struct run *run = run_list_add(&mark.runs, mark.runs.count / 2, mark.runs.count % 3);

        run->records = (uint64_t)1 << mark.runs.count % 49;
        run->whole = mark.runs.count % 2 == 0;
    }
    assert_int_equal(lmdb_begin(test.lmdb, &txn), DUEQ_OK);
    assert_int_equal(mark_put(txn, &mark), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
    assert_int_equal(mark_read(test.lmdb, &seen), DUEQ_OK);
    assert_int_equal(seen.runs.next, mark.runs.next);
    assert_int_equal(seen.runs.count, RUNS_MOST);
    for (unsigned i = 0; i < RUNS_MOST; i++) {
        const struct run *a = &mark.runs.runs[i], *b = &seen.runs.runs[i];

        assert_true(a->number == b->number && a->records == b->records);
        assert_true(a->level == b->level && a->whole == b->whole);
    }
}

/* It was planned, and refused for so long that checkpoints have taken all places. */
static void a_fold_that_finds_no_place_ends(void **state)
{
    struct run_list *runs = &test.mark.runs;
    size_t moved = 1;

    (void)state;
    while (runs->count < RUNS_MOST)
        run_list_add(runs, runs->count, 0)->whole = true;
    fold_begin(test.level, runs, 8, 32, 1);
    assert_true(fold_needs_place(test.level));
    assert_int_equal(fold_step(test.level, &test.mark, 100, &moved), DUEQ_OK);
    assert_int_equal(moved, 0);
    assert_false(fold_is_running(test.level));
    assert_int_equal(runs->count, RUNS_MOST);
}

/* Two runs, numbers 3 and 4. */
enum { LIST_SIZE = 32 + 2 * 18 };
static const uint8_t sound_list[LIST_SIZE] = {
    [31] = 5, [39] = 3, [47] = 7, [49] = 1, [57] = 4, [65] = 7, [67] = 1};

static enum dueq_status read_list(size_t at, uint8_t byte, size_t size)
{
    uint8_t bytes[LIST_SIZE + 18];
    struct checkpoint_mark mark;

    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, sound_list, LIST_SIZE);
    bytes[at] = byte;
    put_mark(bytes, size);
    return mark_read(test.lmdb, &mark);
}

static void a_list_that_cannot_be_is_damage(void **state)
{
    (void)state;
    assert_int_equal(read_list(47, 8, LIST_SIZE), DUEQ_OK);
    assert_int_equal(read_list(47, 8, LIST_SIZE + 1), DUEQ_CORRUPT);
    assert_int_equal(read_list(47, 8, LIST_SIZE - 18 - 1), DUEQ_CORRUPT);
    assert_int_equal(read_list(47, 8, LIST_SIZE + 18), DUEQ_CORRUPT); /* a run of number 0 */
    assert_int_equal(read_list(57, 3, LIST_SIZE), DUEQ_CORRUPT);      /* twice the same */
    assert_int_equal(read_list(57, 5, LIST_SIZE), DUEQ_CORRUPT);      /* not given out yet */
    assert_int_equal(read_list(24, 0xff, LIST_SIZE), DUEQ_CORRUPT);   /* the next, too high */
    assert_int_equal(read_list(40, 0xff, LIST_SIZE), DUEQ_CORRUPT);   /* so many records */
    assert_int_equal(read_list(48, 0xff, LIST_SIZE), DUEQ_CORRUPT);   /* a level that high */
    assert_int_equal(read_list(24, 0xff, 40), DUEQ_CORRUPT);
    assert_int_equal(read_list(0, 0, 23), DUEQ_CORRUPT);
    assert_int_equal(read_list(0, 0, 0), DUEQ_CORRUPT);
}

/* ---- filters */

static struct dueq_slice filter_key_of(int i, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "U%d", i));
}

static void put_filter(struct run_filter *filter, int keys)
{
    struct lmdb_txn *txn;
    struct run_key run;
    char space[16];

    assert_true(run_filter_init(filter, 1, 5, (size_t)keys));
    for (int i = 0; i < keys; i++)
        run_filter_add(filter, filter_key_of(i, space));
    run_key_start(&run, 1);
    assert_int_equal(lmdb_begin(test.lmdb, &txn), DUEQ_OK);
    for (unsigned i = 0; i < filter->chunks; i++)
        assert_int_equal(lmdb_put(txn, run_filter_key(&run, i), run_filter_chunk(filter, i)),
                         DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
}

/* Of many keys that are not there, how many may be. */
static int misses(struct run_filter *filter, int keys)
{
    char space[16];
    int may_have = 0;

    for (int i = 0; i < keys; i++)
        assert_true(run_filter_may_have(filter, test.lmdb, filter_key_of(i, space)));
    for (int i = keys; i < 2 * keys; i++)
        may_have += run_filter_may_have(filter, test.lmdb, filter_key_of(i, space));
    return may_have;
}

static void a_filter_without_room_is_read_in_its_place(void **state)
{
    enum { MANY = 20000 };
    struct run_filter filter, kept;
    size_t bytes;

    (void)state;
    put_filter(&filter, MANY);
    bytes = run_filter_bytes(&filter);
    run_filter_release(&filter);
    run_filter_open(&kept, test.lmdb, 1, 5, bytes);
    assert_int_equal(run_filter_bytes(&kept), bytes);
    run_filter_open(&filter, test.lmdb, 1, 5, bytes - 1);
    assert_int_equal(run_filter_bytes(&filter), 0);
    assert_true(misses(&filter, MANY) < MANY / 20);
    assert_int_equal(misses(&filter, MANY), misses(&kept, MANY));
    run_filter_release(&kept);
    run_filter_release(&filter);
}

/* ---- a store */

static struct kv *kv;
static char *dir;

static void set_options(struct dueq_options *options, size_t memtable_bytes, uint64_t map_bytes)
{
    dueq_options_init(options);
    options->durability = DUEQ_SYNC_NONE;
    options->memtable_bytes = memtable_bytes;
    options->map_bytes = map_bytes;
    options->segment_bytes = 4 * MIB;
    options->disk_reserve_bytes = 0;
    options->seed = 42;
}

static void open_store_of(size_t memtable_bytes, uint64_t map_bytes)
{
    struct dueq_options options;
    struct dueq_error error = {""};

    set_options(&options, memtable_bytes, map_bytes);
    if (kv_open(dir, &options, &kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

static void open_store(uint64_t map_bytes)
{
    open_store_of(256 * 1024, map_bytes);
}

static int make_dir(void **state)
{
    (void)state;
    dir = temp_dir_new();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    kv_abandon(kv);
    kv = NULL;
    temp_dir_remove(dir);
    return 0;
}

static struct dueq_slice random_key(char table, uint64_t number, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "%c%016" PRIx64, table, dice_hash(number)));
}

static void commit(void)
{
    uint64_t lsn;

    assert_int_equal(kv_commit(kv, 1, &lsn), DUEQ_OK);
    kv_maintain(kv, false);
}

static uint64_t written_bytes(void)
{
    struct dueq_stats stats;
    unsigned long long bytes = 0;
    char line[128];
    FILE *file = fopen("/proc/self/io", "r");

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL && sscanf(line, "wchar: %llu", &bytes) != 1)
        ;
    fclose(file);
    kv_get_stats(kv, &stats);
    return bytes - stats.journal_written_bytes;
}

/* Adds records in random order. Bytes of data.mdb that are written for each. */
static uint64_t cost_of(char table, uint64_t from, uint64_t end)
{
    uint64_t before = written_bytes();
    char space[32];

    for (uint64_t i = from; i < end; i++) {
        kv_put(kv, random_key(table, i, space), dueq_slice("12345", 5), true);
        if (i % 100 == 0)
            commit();
    }
    commit();
    assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
    return (written_bytes() - before) / (end - from);
}

static void records_in_random_order_cost_few_pages(void **state)
{
    uint64_t with_runs, without;

    (void)state;
    open_store(256 * (uint64_t)MIB);
    cost_of('U', 0, 120000);
    with_runs = cost_of('U', 120000, 240000);
    cost_of('k', 0, 120000);
    without = cost_of('k', 120000, 240000);
    print_message("%" PRIu64 " bytes a record, without runs %" PRIu64 "\n", with_runs, without);
    assert_true(with_runs * 3 < without);
}

/* Returns how many steps the count has taken, in slices of 250. */
static uint64_t count_all(uint64_t wanted)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    uint64_t count = 0, steps = 0;
    struct kv_key from;
    enum dueq_status status;

    assert_non_null(cursor);
    kv_key_copy(&from, dueq_slice("Q", 1));
    do {
        unsigned budget = 250;

        status = kv_cursor_count(cursor, &from, dueq_slice("R", 1), &budget, &count);
        steps += 250 - budget;
    } while (status == DUEQ_BUSY);
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(count, wanted);
    kv_cursor_free(cursor);
    return steps;
}

/* Adds one record after the other, each by a checkpoint, until there are some runs: a fold in
 * between takes those that there were. Returns how many. */
static uint64_t add_runs(uint64_t from)
{
    struct dueq_stats stats;
    uint64_t added = 0;
    char space[32];

    do {
        assert_true(added < 1000);
        kv_put(kv, random_key('Q', from + added++, space), dueq_slice("12345", 5), true);
        commit();
        assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
        kv_maintain(kv, false);
        kv_get_stats(kv, &stats);
    } while (stats.runs < 2);
    return added;
}

/* Some records are put again after they were deleted: each is in one level only. */
static void records_in_many_runs_are_counted_by_the_page(void **state)
{
    enum { RECORDS = 100000 };
    uint64_t added;
    char space[32];

    (void)state;
    open_store(256 * (uint64_t)MIB);
    for (uint64_t i = 0; i < RECORDS; i++) {
        kv_put(kv, random_key('Q', i, space), dueq_slice("12345", 5), true);
        if (i % 100 == 0) {
            uint64_t old = dice_hash(i) % (i + 1);

            kv_del(kv, random_key('Q', old, space));
            kv_put(kv, random_key('Q', old, space), dueq_slice("1", 1), true);
            commit();
        }
    }
    added = add_runs(RECORDS);
    assert_true(count_all(RECORDS + added) * 10 < RECORDS);
}

static struct dueq_slice ordered_key(uint64_t number, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "Q%016" PRIx64, number));
}

static void put_in_order(uint64_t from, uint64_t end)
{
    char space[32];

    for (uint64_t i = from; i < end; i++)
        kv_put(kv, ordered_key(i, space), dueq_slice("12345", 5), true);
    commit();
}

/* Jobs that are due in the order of their pushes. */
static void records_in_order_go_past_their_run(void **state)
{
    uint64_t before, in_order;
    struct dueq_stats stats;

    (void)state;
    open_store(256 * (uint64_t)MIB);
    cost_of('k', 0, 60000);
    before = written_bytes();
    for (uint64_t i = 0; i < 40000; i += 2000) {
        put_in_order(i, i + 2000);
        assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
        kv_get_stats(kv, &stats);
        assert_int_equal(stats.runs, 0);
    }
    in_order = (written_bytes() - before) / 40000;
    print_message("%" PRIu64 " bytes a record\n", in_order);
    assert_true(in_order < 90);
    count_all(40000);
    count_all(40000 + add_runs(1));
}

/* Until a checkpoint ends, such a record is in LMDB and in the memtable. */
static void what_goes_past_a_run_is_counted_once(void **state)
{
    unsigned between = 0;
    uint64_t most;
    char space[32];

    (void)state;
    open_store_of(4 * MIB, 256 * (uint64_t)MIB);
    cost_of('k', 0, 150000);
    most = 1000 + add_runs(1);
    for (uint64_t round = 0; between < 5; round++, most += 1000) {
        uint64_t commits = checkpoint_commits(kv->checkpoint);

        assert_true(round < 50);
        put_in_order(round * 1000, round * 1000 + 1000);
        for (uint64_t i = 0; i < 20000; i++)
            kv_put(kv, random_key('k', i, space), dueq_slice("changed", 7), false);
        commit();
        kv_freeze(kv);
        assert_non_null(kv->frozen);
        while (checkpoint_running(kv->checkpoint)) {
            kv_maintain(kv, false);
            between += kv->frozen != NULL && checkpoint_commits(kv->checkpoint) > commits;
            count_all(most);
        }
        assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
    }
    count_all(most - 1000);
}

/* Depth is in memtables: here it is 400 and more, as with 50 million jobs. */
static void a_deep_store_costs_little_more(void **state)
{
    uint64_t shallow, deep;

    (void)state;
    open_store_of(64 * 1024, 256 * (uint64_t)MIB);
    cost_of('U', 0, 50000);
    shallow = cost_of('U', 50000, 100000);
    cost_of('U', 100000, 400000);
    deep = cost_of('U', 400000, 500000);
    print_message("%" PRIu64 " bytes a record, deep %" PRIu64 "\n", shallow, deep);
    assert_true(deep < 2 * shallow);
}

static void expect_present(uint64_t from, uint64_t to, bool present)
{
    char space[32];
    struct dueq_slice value;

    for (uint64_t i = from; i < to; i++)
        assert_int_equal(kv_get(kv, random_key("QU"[i % 2], i, space), &value),
                         present ? DUEQ_OK : DUEQ_NOTFOUND);
}

/* Changes some bytes of the mark's list of runs, and writes its checksum anew. */
static void damage_list(struct dice *dice)
{
    static const uint8_t key[] = {0};
    uint8_t bytes[32 + RUNS_MOST * 18];
    struct dueq_error error = {""};
    struct lmdb_store *lmdb;
    struct dueq_slice value;
    struct lmdb_txn *txn;

    assert_int_equal(lmdb_store_open(dir, 256 * (uint64_t)MIB, &io_system, &lmdb, &error),
                     DUEQ_OK);
    assert_int_equal(lmdb_get(lmdb, dueq_slice(key, 1), &value), DUEQ_OK);
    assert_true(value.size >= 32 + 2 * 18 && value.size <= sizeof(bytes));
    memcpy(bytes, value.data, value.size);
    for (uint64_t i = 1 + dice_roll(dice, 4); i-- > 0;)
        bytes[24 + dice_roll(dice, value.size - 24)] = (uint8_t)dice_roll(dice, 8);
    assert_int_equal(lmdb_begin(lmdb, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, dueq_slice(key, 1), dueq_slice(bytes, value.size)), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    lmdb_store_close(lmdb);
}

/* Some hundred records in so many checkpoints, so that they are folded. */
static void use(uint64_t from)
{
    struct dueq_slice value;
    char space[32];

    for (uint64_t i = from; i < from + 30; i++) {
        for (uint64_t j = 0; j < 10; j++)
            kv_put(kv, random_key("QU"[j % 2], i * 10 + j, space), dueq_slice("1", 1), false);
        kv_get(kv, random_key('U', i, space), &value);
        commit();
        kv_checkpoint(kv);
        kv_maintain(kv, false);
    }
}

/* It may lack records, and two levels may have one key. */
static void a_damaged_list_of_runs_crashes_nothing(void **state)
{
    struct dueq_options options;
    struct dueq_error error;
    struct dice dice;
    int refused = 0;

    (void)state;
    dice_begin(&dice);
    open_store(256 * (uint64_t)MIB);
    cost_of('U', 0, 20000);
    for (int round = 0; round < 40; round++) {
        use((uint64_t)round * 30);
        add_runs((uint64_t)round * 1000);
        assert_int_equal(kv_close(kv), DUEQ_OK);
        damage_list(&dice);
        set_options(&options, 256 * 1024, 256 * (uint64_t)MIB);
        kv = NULL;
        if (kv_open(dir, &options, &kv, &error) == DUEQ_OK)
            continue;
        assert_non_null(strstr(error.text, "damaged"));
        refused++;
        kv_abandon(kv);
        temp_dir_remove(dir);
        dir = temp_dir_new();
        open_store(256 * (uint64_t)MIB);
        cost_of('U', 0, 20000);
    }
    assert_true(refused > 0);
}

/* Records of a table that has no runs. With so many, runs are folded into larger ones. */
static void put_others(uint64_t count)
{
    char space[32];

    for (uint64_t i = 0; i < count; i++) {
        kv_put(kv, dueq_slice(space, (size_t)sprintf(space, "k%08" PRIu64, i)),
               dueq_slice("12345", 5), true);
        if (i % 500 == 0)
            commit();
    }
    commit();
    assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
}

/* ---- kills while runs are folded */

enum { OTHERS = 120000, KILL_ROUNDS = 16 };

static struct {
    uint64_t begun, done; /* records */
    unsigned levels, halves;
} * shared;

static void note_levels(void)
{
    bool is_half = false;

    assert_int_equal(kv_see_runs(kv), DUEQ_OK);
    for (unsigned i = 0; i < kv->runs.count; i++) {
        if (kv->runs.runs[i].level > shared->levels)
            shared->levels = kv->runs.runs[i].level;
        is_half = is_half || !kv->runs.runs[i].whole;
    }
    if (is_half && dice_hash(shared->done) % 3 == 0) {
        shared->halves++;
        raise(SIGKILL);
    }
}

/* Record i is deleted when 3 * i is put, if i is a multiple of 7. */
static bool is_deleted(uint64_t i, uint64_t end)
{
    return i % 7 == 0 && i > 0 && 3 * i < end;
}

static void put_until_killed(void)
{
    char space[32];

    open_store_of(64 * 1024, 256 * (uint64_t)MIB);
    for (;;) {
        uint64_t i = shared->begun++;

        kv_put(kv, random_key("QU"[i % 2], i, space), dueq_slice("12345", 5), false);
        if (i % 21 == 0 && i > 0)
            kv_del(kv, random_key("QU"[i / 3 % 2], i / 3, space));
        commit();
        shared->done = i + 1;
        note_levels();
        if (dice_hash(i) % 20000 == 0)
            raise(SIGKILL);
    }
}

static void expect_all(uint64_t done)
{
    struct dueq_slice value;
    char space[32];

    for (uint64_t i = 0; i < done; i++)
        if (!is_deleted(i, shared->begun) || is_deleted(i, done))
            assert_int_equal(kv_get(kv, random_key("QU"[i % 2], i, space), &value),
                             is_deleted(i, done) ? DUEQ_NOTFOUND : DUEQ_OK);
}

/* On a busy machine the thread that folds may have had no time yet. */
static bool has_folded(int round)
{
    return (shared->levels > 0 && shared->halves > 0) || round == 10 * KILL_ROUNDS;
}

static void kills_while_levels_are_folded_lose_nothing(void **state)
{
    uint64_t records;
    int status;
    pid_t child;

    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    open_store_of(64 * 1024, 256 * (uint64_t)MIB);
    put_others(OTHERS);
    assert_int_equal(kv_close(kv), DUEQ_OK);
    kv = NULL;
    for (int round = 0; round < KILL_ROUNDS || !has_folded(round); round++) {
        child = fork();
        if (child == 0) {
            put_until_killed();
            _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        open_store_of(64 * 1024, 256 * (uint64_t)MIB);
        expect_all(shared->done);
        assert_int_equal(kv_check(kv, &records), DUEQ_OK);
        kv_abandon(kv);
        kv = NULL;
    }
    print_message("%" PRIu64 " records, %u levels, %u halves\n", shared->done, shared->levels,
                  shared->halves);
    assert_true(shared->levels > 0 && shared->halves > 0);
    open_store_of(64 * 1024, 256 * (uint64_t)MIB);
    munmap(shared, 4096);
}

/* ---- a map without room */

/* Others that stay leave single free pages between them, and the store wants some in a row. */
static void fill_and_drain(uint64_t others)
{
    size_t memtable = others > 0 ? 64 * 1024 : 256 * 1024;
    char space[32];

    open_store_of(memtable, 24 * (uint64_t)MIB);
    put_others(others);
    for (int round = 0; round < 3; round++) {
        uint64_t end = 0, records = 0;

        for (; kv_room(kv, 1000) == DUEQ_OK; end++) {
            kv_put(kv, random_key("QU"[end % 2], end, space), dueq_slice("12345", 5), true);
            if (end % 50 == 0)
                commit();
        }
        commit();
        assert_true(end > 10000 || (round > 0 && others > 0));
        expect_present(0, end, true);
        for (uint64_t i = 0; i < end; i++) {
            kv_del(kv, random_key("QU"[i % 2], i, space));
            if (i % 50 == 0)
                commit();
        }
        commit();
        assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
        expect_present(0, end, false);
        assert_int_equal(kv_check(kv, &records), DUEQ_OK);
        assert_int_equal(kv_close(kv), DUEQ_OK);
        open_store_of(memtable, 24 * (uint64_t)MIB);
        expect_present(0, end, false);
    }
}

static void a_full_map_is_drained_and_filled_again(void **state)
{
    (void)state;
    fill_and_drain(0);
}

static void a_full_map_with_levels_is_drained_and_filled_again(void **state)
{
    (void)state;
    fill_and_drain(OTHERS);
}

static uint64_t used_bytes(void)
{
    struct dueq_stats stats;

    assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
    kv_maintain(kv, false);
    kv_get_stats(kv, &stats);
    return stats.map_used_bytes;
}

/* As many records go as come, in random places. */
static void a_steady_store_does_not_grow(void **state)
{
    enum { LIVE = 40000, ROUNDS = 8 };
    uint64_t first = 0, most = 0;
    char space[32];

    (void)state;
    open_store(256 * (uint64_t)MIB);
    for (uint64_t i = 0; i < (uint64_t)LIVE * ROUNDS; i++) {
        kv_put(kv, random_key("QU"[i % 2], i, space), dueq_slice("12345", 5), true);
        if (i >= LIVE)
            kv_del(kv, random_key("QU"[i % 2], i - LIVE, space));
        if (i % 50 == 0)
            commit();
        if (i % LIVE == LIVE - 1) {
            uint64_t used;

            commit();
            used = used_bytes();
            if (i / LIVE < 3)
                first = used > first ? used : first;
            most = used > most ? used : most;
        }
    }
    print_message("%" PRIu64 " bytes, later %" PRIu64 "\n", first, most);
    assert_true(most < first + first / 2);
    expect_present((uint64_t)LIVE * (ROUNDS - 1), (uint64_t)LIVE * ROUNDS, true);
    expect_present(0, (uint64_t)LIVE * (ROUNDS - 1), false);
}

/* ---- filters that memory has no room for */

enum { FILTER_KEYS = 20000, FILTER_RUN = 77 };

static struct dueq_slice id_key(unsigned i, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "U%08x", i * 2654435761U));
}

/* Writes the filter of a run that has the keys from `first` on. */
static void write_filter(uint64_t run, unsigned first)
{
    struct run_filter filter;
    struct lmdb_txn *txn;
    struct run_key key;
    char space[16];

    assert_true(run_filter_init(&filter, run, 5, FILTER_KEYS));
    for (unsigned i = first; i < first + FILTER_KEYS; i++)
        run_filter_add(&filter, id_key(i, space));
    run_key_start(&key, run);
    assert_int_equal(lmdb_begin(test.lmdb, &txn), DUEQ_OK);
    for (unsigned i = 0; i < filter.chunks; i++)
        assert_int_equal(lmdb_put(txn, run_filter_key(&key, i), run_filter_chunk(&filter, i)),
                         DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    run_filter_release(&filter);
}

/* Of those that the filter should not have, about one in a hundred may be there. */
static void filter_has(struct run_filter *filter, unsigned first)
{
    unsigned wrong = 0;
    char space[16];

    for (unsigned i = first; i < first + FILTER_KEYS; i++) {
        assert_true(run_filter_may_have(filter, test.lmdb, id_key(i, space)));
        wrong += run_filter_may_have(filter, test.lmdb, id_key(i + (1U << 24), space));
    }
    assert_in_range(wrong, 1, FILTER_KEYS / 40);
}

/* Where its chunks are holds for one snapshot: another run may have their pages in the next. */
static void a_filter_that_is_not_kept_is_read_anew_in_each_snapshot(void **state)
{
    struct run_filter filter;

    (void)state;
    write_filter(FILTER_RUN, 0);
    assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
    run_filter_open(&filter, test.lmdb, FILTER_RUN, 5, 0);
    assert_int_equal(run_filter_bytes(&filter), 0);
    filter_has(&filter, 0);
    for (unsigned i = 1; i < 9; i++) {
        write_filter(FILTER_RUN, i * FILTER_KEYS);
        assert_int_equal(lmdb_renew(test.lmdb), DUEQ_OK);
        run_filter_forget_places(&filter);
        filter_has(&filter, i * FILTER_KEYS);
    }
    run_filter_release(&filter);
}

static size_t kept_bytes(void)
{
    struct dueq_stats stats;

    kv_get_stats(kv, &stats);
    return stats.run_filter_bytes;
}

static void filters_give_their_memory_back(void **state)
{
    size_t all;

    (void)state;
    open_store_of(64 * 1024, 256 * (uint64_t)MIB);
    kv_keep_filters(kv, SIZE_MAX);
    put_others(OTHERS); /* so runs are not folded into the tables soon */
    cost_of('U', 0, 20000);
    kv_maintain(kv, false);
    expect_present(20000, 24000, false);
    all = kept_bytes();
    assert_true(all > 0);
    kv_keep_filters(kv, all - 1);
    assert_in_range(kept_bytes(), 1, all - 1);
    kv_keep_filters(kv, 0);
    expect_present(20000, 24000, false);
    assert_int_equal(kept_bytes(), 0);
    cost_of('U', 20000, 24000);
    expect_present(24000, 28000, false);
    assert_int_equal(kept_bytes(), 0);
    kv_keep_filters(kv, SIZE_MAX);
    cost_of('U', 24000, 28000);
    expect_present(28000, 32000, false);
    assert_true(kept_bytes() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(filters_give_their_memory_back, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_filter_that_is_not_kept_is_read_anew_in_each_snapshot,
                                        open_pages, close_pages),
        cmocka_unit_test_setup_teardown(a_run_may_be_left_incomplete, open_pages, close_pages),
        cmocka_unit_test(a_transaction_leaves_pages_for_the_next),
        cmocka_unit_test_setup_teardown(a_mark_of_the_older_form_is_read, open_pages,
                                        close_pages),
        cmocka_unit_test_setup_teardown(a_mark_keeps_its_list, open_pages, close_pages),
        cmocka_unit_test_setup_teardown(a_fold_that_finds_no_place_ends, open_pages,
                                        close_pages),
        cmocka_unit_test_setup_teardown(a_list_that_cannot_be_is_damage, open_pages,
                                        close_pages),
        cmocka_unit_test_setup_teardown(a_filter_without_room_is_read_in_its_place, open_pages,
                                        close_pages),
        cmocka_unit_test_setup_teardown(records_in_random_order_cost_few_pages, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(records_in_many_runs_are_counted_by_the_page, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_deep_store_costs_little_more, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(records_in_order_go_past_their_run, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_goes_past_a_run_is_counted_once, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_steady_store_does_not_grow, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_list_of_runs_crashes_nothing, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(kills_while_levels_are_folded_lose_nothing, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_full_map_is_drained_and_filled_again, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_full_map_with_levels_is_drained_and_filled_again,
                                        make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
