/* Runs: tables that are written to LMDB in parts, left incomplete and written again, and folds
 * in between; what they cost; and a map without room for them. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/fold.h"
#include "storage/kv/kv.h"
#include "storage/kv/merge.h"
#include "storage/kv/room.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static int open_pages(void **state)
{
    struct checkpoint_mark mark = {.seed = 5, .runs = {.next = 1}};
    struct dueq_error error = {""};

    (void)state;
    memset(&test, 0, sizeof(test));
    dice_begin(&test.dice);
    test.dir = temp_dir_new();
    assert_int_equal(mark_create(test.dir, &io_system, &mark, &error), DUEQ_OK);
    assert_int_equal(lmdb_store_open(test.dir, 64 * MIB, &io_system, &test.lmdb, &error),
                     DUEQ_OK);
    assert_int_equal(mark_read(test.lmdb, &test.mark), DUEQ_OK);
    test.fold = fold_new(test.lmdb);
    test.level = fold_new(test.lmdb);
    test.table = memtable_new(NULL);
    assert_true(test.fold != NULL && test.level != NULL && test.table != NULL);
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
    uint8_t bytes[32 + 18 + 1] = {[31] = 9};
    struct lmdb_txn *txn;

    (void)state;
    while (mark.runs.count < RUNS_MOST) {
        struct run *run = run_list_add(&mark.runs, mark.runs.count / 2, mark.runs.count % 3);

        run->records = (uint64_t)1 << mark.runs.count % 60;
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
    put_mark(bytes, sizeof(bytes)); /* a byte too many */
    assert_int_equal(mark_read(test.lmdb, &seen), DUEQ_CORRUPT);
    put_mark(bytes, sizeof(bytes) - 1); /* a run with number 0 */
    assert_int_equal(mark_read(test.lmdb, &seen), DUEQ_CORRUPT);
}

/* ---- a store */

static struct kv *kv;
static char *dir;

static void open_store_of(size_t memtable_bytes, uint64_t map_bytes)
{
    struct dueq_options options;
    struct dueq_error error = {""};

    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE;
    options.memtable_bytes = memtable_bytes;
    options.map_bytes = map_bytes;
    options.disk_reserve_bytes = 0;
    options.seed = 42;
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

/* Some records are put again after they were deleted: each is in one level only. */
static void records_in_many_runs_are_counted_by_the_page(void **state)
{
    enum { RECORDS = 100000 };
    struct dueq_stats stats;
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
    commit();
    assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
    kv_maintain(kv, false);
    kv_get_stats(kv, &stats);
    assert_true(stats.runs > 1);
    assert_true(count_all(RECORDS) * 10 < RECORDS);
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

static void a_full_map_is_drained_and_filled_again(void **state)
{
    char space[32];

    (void)state;
    open_store(24 * (uint64_t)MIB);
    for (int round = 0; round < 3; round++) {
        uint64_t end = 0, records = 0;

        for (; kv_room(kv, 1000) == DUEQ_OK; end++) {
            kv_put(kv, random_key("QU"[end % 2], end, space), dueq_slice("12345", 5), true);
            if (end % 50 == 0)
                commit();
        }
        commit();
        assert_true(end > 10000);
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
        open_store(24 * (uint64_t)MIB);
        expect_present(0, end, false);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_may_be_left_incomplete, open_pages, close_pages),
        cmocka_unit_test_setup_teardown(a_mark_of_the_older_form_is_read, open_pages,
                                        close_pages),
        cmocka_unit_test_setup_teardown(a_mark_keeps_its_list, open_pages, close_pages),
        cmocka_unit_test_setup_teardown(records_in_random_order_cost_few_pages, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(records_in_many_runs_are_counted_by_the_page, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_deep_store_costs_little_more, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_steady_store_does_not_grow, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_full_map_is_drained_and_filled_again, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
