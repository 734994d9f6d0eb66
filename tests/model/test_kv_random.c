/* Random changes of a key space, compared with an array in memory: puts, deletes, gets,
 * prefetches, cursors, counts, commits, checkpoints, compactions, clean reopening, and
 * reopening as after a crash. SEED= reproduces, STEPS= scales. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 1500, HISTORY = 64 };

struct cell {
    bool present;
    uint32_t size;
    uint8_t fill;
};

struct world {
    struct cell cells[KEYS];
};

static struct {
    struct dice dice;
    char *dir;
    struct kv *kv;
    struct kv_cursor *cursor;
    struct world now;       /* the present content */
    struct world committed; /* at the last commit */
    uint64_t folded;        /* records, in earlier openings */
    uint64_t compactions;   /* likewise */
    uint64_t backups;       /* that the walk went on in */
} test;

static uint8_t filler[70000];

/* Key i, ascending with i, in tables that have runs (Q, U) and in others. Every hundredth is as
 * long as keys can be. */
static struct dueq_slice key_of(int i, char *space)
{
    static const char tables[] = "BQSUkz";
    int size = snprintf(space, KV_KEY_MAX + 1, "%c%05d", tables[i / (KEYS / 5)], i);

    if (i % 100 == 7) {
        memset(space + size, 'x', (size_t)(KV_KEY_MAX - size));
        size = KV_KEY_MAX;
    }
    return dueq_slice(space, (size_t)size);
}

static void open_space(void)
{
    struct dueq_options options;
    struct dueq_error error;

    dueq_options_init(&options);
    options.memtable_bytes = 60000;
    options.segment_bytes = 1 << 20;
    options.stage_bytes = dice_once_in(&test.dice, 2) ? 0 : dice_roll(&test.dice, 50000);
    options.journal_bytes = 2 << 20;
    options.map_bytes = 256 << 20;
    options.disk_reserve_bytes = 0;
    options.seed = 42;
    error.text[0] = '\0';
    if (kv_open(test.dir, &options, &test.kv, &error) != DUEQ_OK)
        fail_msg("kv_open: %s", error.text);
    test.cursor = kv_cursor_new(test.kv);
}

static void check_value(const struct cell *cell, struct dueq_slice value)
{
    assert_int_equal(value.size, cell->size);
    for (size_t at = 0; at < value.size; at += 1 + value.size / 50)
        assert_int_equal(((const uint8_t *)value.data)[at], cell->fill);
}

static void put_one(int i)
{
    struct cell *cell = &test.now.cells[i];
    char space[KV_KEY_MAX + 1];
    struct dueq_slice key = key_of(i, space), parts[3];
    bool absent = !cell->present && dice_once_in(&test.dice, 2);

    cell->present = true;
    cell->size = (uint32_t)dice_roll(&test.dice, dice_once_in(&test.dice, 50) ? 60000 : 200);
    cell->fill = (uint8_t)dice_roll(&test.dice, 256);
    memset(filler, cell->fill, cell->size);
    parts[0] = dueq_slice(filler, cell->size / 4);
    parts[1] = dueq_slice(filler, 0);
    parts[2] = dueq_slice(filler, cell->size - cell->size / 4);
    kv_putv(test.kv, key, parts, 3, absent);
}

static void del_one(int i)
{
    char space[KV_KEY_MAX + 1];

    kv_del(test.kv, key_of(i, space));
    test.now.cells[i].present = false;
}

/* Deletes consecutive keys, so that there are dead ranges. */
static void del_some(int i)
{
    int end = i + (int)dice_roll(&test.dice, 120);

    for (; i < end && i < KEYS; i++)
        del_one(i);
}

static void get_one(int i)
{
    char space[KV_KEY_MAX + 1];
    struct dueq_slice value;
    enum dueq_status status = kv_get(test.kv, key_of(i, space), &value);

    assert_int_equal(status, test.now.cells[i].present ? DUEQ_OK : DUEQ_NOTFOUND);
    if (status == DUEQ_OK)
        check_value(&test.now.cells[i], value);
}

/* What is looked for together, some of it absent, changes no later result. */
static void prefetch_some(int i)
{
    static char space[KV_PREFETCH_MOST][KV_KEY_MAX + 1];
    struct dueq_slice keys[KV_PREFETCH_MOST];
    size_t count = (size_t)dice_roll(&test.dice, KV_PREFETCH_MOST + 1);

    for (size_t at = 0; at < count; at++)
        keys[at] = key_of(dice_once_in(&test.dice, 2) ? (i + (int)at) % KEYS
                                                      : (int)dice_roll(&test.dice, KEYS),
                          space[at]);
    kv_prefetch(test.kv, keys, count);
    if (count > 0)
        kv_expect(test.kv, keys[count - 1]);
}

static int next_present(int i, int step)
{
    while (i >= 0 && i < KEYS && !test.now.cells[i].present)
        i += step;
    return i >= 0 && i < KEYS ? i : -1;
}

/* The cursor walks, and sometimes the content changes meanwhile. */
static void walk(int i)
{
    char space[KV_KEY_MAX + 1];
    int step = dice_once_in(&test.dice, 2) ? 1 : -1;
    enum dueq_status status = step > 0 ? kv_cursor_seek(test.cursor, key_of(i, space))
                                       : kv_cursor_seek_last(test.cursor, key_of(i, space));
    int at = next_present(step > 0 ? i : i - 1, step);
    unsigned budget = (unsigned)dice_roll(&test.dice, 4);

    if (dice_once_in(&test.dice, 3)) { /* another cursor may add dead ranges */
        if (dice_once_in(&test.dice, 2))
            kv_cursor_seek_within(test.cursor, key_of(i, space), &budget);
        else
            kv_cursor_seek_last_within(test.cursor, key_of(i, space), &budget);
        status = step > 0 ? kv_cursor_seek(test.cursor, key_of(i, space))
                          : kv_cursor_seek_last(test.cursor, key_of(i, space));
    }
    for (int moves = 0; moves < 30; moves++) {
        assert_int_equal(status, at < 0 ? DUEQ_NOTFOUND : DUEQ_OK);
        if (at < 0)
            return;
        assert_true(dueq_slice_equal(kv_cursor_key(test.cursor), key_of(at, space)));
        check_value(&test.now.cells[at], kv_cursor_value(test.cursor));
        if (dice_once_in(&test.dice, 8))
            put_one((int)dice_roll(&test.dice, KEYS));
        if (dice_once_in(&test.dice, 8))
            del_one((int)dice_roll(&test.dice, 2) ? at : (int)dice_roll(&test.dice, KEYS));
        if (dice_once_in(&test.dice, 40))
            kv_maintain(test.kv, false);
        if (dice_once_in(&test.dice, 6))
            step = -step;
        status = step > 0 ? kv_cursor_next(test.cursor) : kv_cursor_prev(test.cursor);
        at = next_present(at + step, step);
    }
}

/* Counts keys in one call, or in many that each do a little. */
static void count_from(int i)
{
    char space[KV_KEY_MAX + 1];
    int end = i + (int)dice_roll(&test.dice, KEYS + 1 - i);
    unsigned most = dice_once_in(&test.dice, 2) ? UINT32_MAX : 8, budget;
    uint64_t count = 0, wanted = 0;
    struct kv_key from;
    enum dueq_status status;

    for (int at = i; at < end; at++)
        wanted += test.now.cells[at].present;
    kv_key_copy(&from, key_of(i, space));
    do {
        budget = most == UINT32_MAX ? most : (unsigned)dice_roll(&test.dice, most);
        status = kv_cursor_count(test.cursor, &from, key_of(end, space), &budget, &count);
        if (status == DUEQ_BUSY && dice_once_in(&test.dice, 100))
            kv_maintain(test.kv, false);
    } while (status == DUEQ_BUSY);
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(count, wanted);
    assert_int_equal(kv_cursor_next(test.cursor), DUEQ_NOTFOUND);
}

static uint64_t commit(void)
{
    static int64_t now = 1000;
    uint64_t lsn;

    assert_int_equal(kv_commit(test.kv, now++, &lsn), DUEQ_OK);
    test.committed = test.now;
    return lsn;
}

static void check_all(void)
{
    char space[KV_KEY_MAX + 1];
    enum dueq_status status = kv_cursor_seek(test.cursor, dueq_slice("\1", 1));

    for (int at = next_present(0, 1); at >= 0; at = next_present(at + 1, 1)) {
        assert_int_equal(status, DUEQ_OK);
        assert_true(dueq_slice_equal(kv_cursor_key(test.cursor), key_of(at, space)));
        check_value(&test.now.cells[at], kv_cursor_value(test.cursor));
        status = kv_cursor_next(test.cursor);
    }
    assert_int_equal(status, DUEQ_NOTFOUND);
}

static void reopen(bool crash)
{
    struct dueq_stats stats;
    uint64_t records;

    kv_get_stats(test.kv, &stats);
    test.folded += stats.folded_records;
    test.compactions += stats.compactions;
    assert_int_equal(stats.compaction_failures, 0);
    kv_cursor_free(test.cursor);
    if (crash) {
        assert_int_equal(kv_wait(test.kv, kv_last_lsn(test.kv)), DUEQ_OK);
        kv_abandon(test.kv);
    } else {
        commit();
        assert_int_equal(kv_close(test.kv), DUEQ_OK);
    }
    test.now = test.committed;
    open_space();
    check_all();
    assert_int_equal(kv_check(test.kv, &records), DUEQ_OK);
}

/* The walk goes on in a backup, as if the store were lost. */
static void move_to_backup(void)
{
    char path[PATH_MAX];
    struct dueq_stats stats;

    commit();
    snprintf(path, sizeof(path), "%s.backup", test.dir);
    assert_int_equal(kv_backup(test.kv, path), DUEQ_OK);
    do {
        kv_maintain(test.kv, false);
        usleep(200);
        kv_get_stats(test.kv, &stats);
    } while (stats.backup_running);
    assert_int_equal(stats.backup_status, DUEQ_OK);
    kv_cursor_free(test.cursor);
    kv_abandon(test.kv);
    assert_int_equal(temp_dir_replace(path, test.dir), 0);
    test.backups++;
    open_space();
    check_all();
}

/* Some run beside what follows, which may end them; on a slow machine none of these would
 * come to its end. */
static void compact(void)
{
    struct dueq_stats stats;

    assert_int_equal(kv_compact(test.kv), DUEQ_OK);
    if (dice_once_in(&test.dice, 2))
        return;
    commit();
    do {
        kv_maintain(test.kv, false);
        usleep(200);
        kv_get_stats(test.kv, &stats);
    } while (stats.compaction_running);
}

static void random_step(void)
{
    uint64_t face = dice_roll(&test.dice, 10000);
    int i = (int)dice_roll(&test.dice, KEYS);

    if (face < 4000)
        put_one(i);
    else if (face < 6000)
        del_one(i);
    else if (face < 6020)
        del_some(i);
    else if (face < 8500)
        get_one(i);
    else if (face < 8530)
        prefetch_some(i);
    else if (face < 8600)
        count_from(i);
    else if (face < 9000)
        walk(i);
    else if (face < 9800)
        commit();
    else if (face < 9950)
        kv_maintain(test.kv, dice_once_in(&test.dice, 2));
    else if (face < 9970)
        kv_checkpoint_start(test.kv);
    else if (face < 9975)
        check_all();
    else if (face < 9978 && (commit(), true))
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    else if (face < 9982)
        reopen(face < 9981);
    else if (face < 9983)
        move_to_backup();
    else if (face < 9993)
        compact();
}

static void a_space_is_the_map_it_claims_to_be_across_crashes(void **state)
{
    long steps = dice_setting("STEPS", 150000);

    (void)state;
    dice_begin(&test.dice);
    test.dir = temp_dir_new();
    open_space();
    for (long step = 0; step < steps; step++) {
        random_step();
        assert_int_equal(kv_status(test.kv), DUEQ_OK);
    }
    reopen(false);
    assert_true(test.folded > 0 || steps < 100000);
    assert_true(test.compactions > 0 || steps < 100000);
    assert_true(test.backups > 0 || steps < 100000);
    kv_cursor_free(test.cursor);
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    temp_dir_remove(test.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_space_is_the_map_it_claims_to_be_across_crashes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
