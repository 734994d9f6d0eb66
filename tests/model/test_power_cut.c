/* The key space across power cuts, kills and clean ends: what comes back is the state after
 * some commit, no earlier than the last that was settled, and whole.
 *
 * The journal lies on a fake disk. LMDB writes for real, and its commits count as done: they
 * are the latest that a cut can find, and only hold what the journal has synced before. SEED=
 * reproduces, STEPS= scales. */
#include "storage/kv/kv.h"
#include "tests/support/fake_disk.h"
#include "tests/support/lmdb_meta.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { KEYS = 6000, BULK = 2500, COMMITS = 512, TIME = 10 };

/* A value is its serial number; 0: the key is absent. */
struct write {
    int key;
    uint64_t serial;
};

struct commit {
    struct write *writes;
    size_t count;
};

static struct {
    struct dice dice;
    char *dir;
    struct fake_disk *disk;
    enum kv_durability durability;
    struct kv *kv; /* NULL: not open */
    uint64_t serial;
    uint64_t base;                  /* LSN at the last opening */
    uint64_t cells[KEYS];           /* the state then */
    struct commit commits[COMMITS]; /* since, one of them perhaps cut short */
    uint64_t last;                  /* LSN of the last that may have come through */
    uint64_t settled;               /* LSN that must survive */
} test;

/* ---- keys and values */

static struct dueq_slice key_of(int key, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "k%06d", key));
}

/* Now and then one that the batch refers to, and that fills segments. */
static size_t value_size(uint64_t serial)
{
    return serial % 997 == 0 ? 40000 + serial % 9000 : sizeof(serial) + serial % 60;
}

static uint8_t value_byte(uint64_t serial, size_t at)
{
    return (uint8_t)dice_hash(serial + at / 64);
}

static struct dueq_slice value_of(uint64_t serial)
{
    static uint8_t value[50000];
    size_t size = value_size(serial);

    for (size_t at = 0; at < size; at++)
        value[at] = value_byte(serial, at);
    return dueq_slice(value, size);
}

/* ---- living */

static void write_one(struct commit *commit)
{
    struct write *write = &commit->writes[commit->count++];
    char space[16];

    write->key = (int)dice_roll(&test.dice, KEYS);
    write->serial = dice_once_in(&test.dice, 3) ? 0 : ++test.serial;
    if (write->serial == 0)
        kv_del(test.kv, key_of(write->key, space));
    else
        kv_put(test.kv, key_of(write->key, space), value_of(write->serial), false);
}

static void commit_some(void)
{
    size_t writes = 1 + dice_roll(&test.dice, dice_once_in(&test.dice, 25) ? BULK : 12);
    uint64_t next = kv_lsn(test.kv) + 1, lsn;
    struct commit *commit = &test.commits[next % COMMITS];

    *commit = (struct commit){calloc(writes, sizeof(*commit->writes)), 0};
    assert_non_null(commit->writes);
    while (commit->count < writes)
        write_one(commit);
    test.last = next;
    if (kv_commit(test.kv, (int64_t)next * TIME, &lsn) == DUEQ_OK)
        assert_int_equal(lsn, next);
}

static void note_settled(void)
{
    uint64_t settled = kv_settled(test.kv);
    struct kv_stats stats;

    kv_get_stats(test.kv, &stats);
    if (test.durability == KV_SYNC_ALWAYS)
        assert_true(settled <= stats.synced_lsn);
    if (stats.synced_lsn > test.settled)
        test.settled = stats.synced_lsn;
}

static void random_step(void)
{
    uint64_t face = dice_roll(&test.dice, 100);

    if (face < 60)
        commit_some();
    else if (face < 75)
        kv_wait(test.kv, kv_lsn(test.kv));
    else if (face < 90)
        kv_maintain(test.kv, dice_once_in(&test.dice, 2));
    else if (face < 97)
        kv_checkpoint_start(test.kv);
    else
        kv_checkpoint(test.kv);
    note_settled();
}

/* ---- coming back */

/* The state after the commit that the space says it is at. */
static void roll_forward(uint64_t lsn)
{
    for (uint64_t at = test.base + 1; at <= lsn; at++) {
        const struct commit *commit = &test.commits[at % COMMITS];

        for (size_t i = 0; i < commit->count; i++)
            test.cells[commit->writes[i].key] = commit->writes[i].serial;
    }
    for (uint64_t at = test.base + 1; at <= test.last; at++)
        free(test.commits[at % COMMITS].writes);
    test.base = test.last = lsn;
}

static void check_value(struct dueq_slice value, uint64_t serial)
{
    assert_int_equal(value.size, value_size(serial));
    for (size_t at = 0; at < value.size; at++)
        assert_int_equal(((const uint8_t *)value.data)[at], value_byte(serial, at));
}

static void check_state(void)
{
    struct kv_cursor *cursor = kv_cursor_new(test.kv);
    enum dueq_status status = kv_cursor_seek(cursor, dueq_slice("\1", 1));
    char space[16];

    for (int key = 0; key < KEYS; key++) {
        if (test.cells[key] == 0)
            continue;
        assert_int_equal(status, DUEQ_OK);
        assert_true(dueq_slice_equal(kv_cursor_key(cursor), key_of(key, space)));
        check_value(kv_cursor_value(cursor), test.cells[key]);
        status = kv_cursor_next(cursor);
    }
    assert_int_equal(status, DUEQ_NOTFOUND);
    kv_cursor_free(cursor);
}

static void check_return(void)
{
    uint64_t lsn = kv_lsn(test.kv);

    if (lsn < test.settled || lsn > test.last)
        fail_msg("commits up to %llu were settled, up to %llu made; %llu came back",
                 (unsigned long long)test.settled, (unsigned long long)test.last,
                 (unsigned long long)lsn);
    assert_int_equal(kv_time_floor(test.kv), lsn * TIME);
    roll_forward(lsn);
    check_state();
    test.settled = lsn; /* from now on others have seen it */
}

static bool open_space(void)
{
    struct kv_options options;
    struct dueq_error error = {""};
    enum dueq_status status;

    kv_options_init(&options);
    options.durability = test.durability = (enum kv_durability)dice_roll(&test.dice, 3);
    options.interval_ms = 2;
    options.memtable_bytes = 300000;
    options.segment_bytes = 64 << 10;
    options.journal_bytes = 1 << 20;
    options.map_bytes = 256 << 20;
    options.disk_reserve_bytes = 0;
    options.seed = 42;
    options.io = fake_disk_io(test.disk);
    status = kv_open(test.dir, &options, &test.kv, &error);
    if (status == DUEQ_OK)
        return true;
    test.kv = NULL;
    if (status != DUEQ_IO || !fake_disk_is_dead(test.disk))
        fail_msg("kv_open: %s", error.text);
    return false;
}

static void end_life(void)
{
    if (dice_once_in(&test.dice, 2))
        fake_disk_cut_after(test.disk, 0);
    if (test.kv != NULL && dice_once_in(&test.dice, 3))
        kv_close(test.kv); /* which may be cut short */
    else
        kv_abandon(test.kv);
    test.kv = NULL;
    if (fake_disk_is_dead(test.disk)) {
        fake_disk_restart(test.disk, &test.dice);
        if (dice_once_in(&test.dice, 2))
            lmdb_meta_undo(test.dir);
    }
    fake_disk_cut_after(test.disk, UINT32_MAX);
}

static void live_once(void)
{
    int steps = (int)dice_roll(&test.dice, 120);

    if (dice_once_in(&test.dice, 2))
        fake_disk_cut_after(test.disk, 1 + dice_roll(&test.dice, 250));
    if (open_space()) {
        check_return();
        while (steps-- > 0 && kv_status(test.kv) == DUEQ_OK)
            random_step();
        note_settled();
    }
    end_life();
}

/* The seed without which the journal says nothing is on disk before the first record. */
static void a_new_space_survives_a_cut_at_once(void **state)
{
    struct kv_options options;
    struct dueq_error error = {""};
    struct dueq_slice value;
    char *dir = temp_dir_new();
    uint64_t lsn;
    struct kv *kv;

    (void)state;
    kv_options_init(&options);
    options.disk_reserve_bytes = 0;
    for (options.seed = 1; options.seed <= 2; options.seed++) { /* each process has its own */
        if (kv_open(dir, &options, &kv, &error) != DUEQ_OK)
            fail_msg("kv_open: %s", error.text);
        if (options.seed == 1)
            kv_put(kv, dueq_slice("key", 3), dueq_slice("value", 5), true);
        assert_int_equal(kv_commit(kv, 1, &lsn), DUEQ_OK);
        assert_int_equal(kv_wait(kv, lsn), DUEQ_OK);
        assert_int_equal(kv_get(kv, dueq_slice("key", 3), &value), DUEQ_OK);
        kv_abandon(kv);
        lmdb_meta_undo(dir);
    }
    temp_dir_remove(dir);
}

static void a_space_comes_back_as_it_was_after_some_commit(void **state)
{
    long lives = dice_setting("STEPS", 250);

    (void)state;
    dice_begin(&test.dice);
    test.dir = temp_dir_new();
    test.disk = fake_disk_new();
    for (long life = 0; life < lives; life++)
        live_once();
    roll_forward(test.base);
    fake_disk_free(test.disk);
    temp_dir_remove(test.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_space_survives_a_cut_at_once),
        cmocka_unit_test(a_space_comes_back_as_it_was_after_some_commit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
