/* The key space across power cuts, kills, clean ends and failed syncs: an opening finds the
 * whole state after some commit, not an earlier one than the last durable commit.
 *
 * Journal and data.mdb are on one fake disk. It loses what was not synced and what a failed
 * sync has dropped, even if reads still return it. SEED= reproduces, STEPS= scales. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/journal/segment_scan.h"
#include "storage/kv/kv.h"
#include "storage/kv/segment_list.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 6000, BULK = 2500, COMMITS = 512, TIME = 10, SEED = 42, LOOKS = 20 };
enum { LIVES = 250 }; /* of a directory */

/* A value is its serial number; 0: the key is absent. */
struct write {
    int key;
    uint64_t serial;
};

struct commit {
    struct write *writes;
    size_t count;
    bool asks_sync; /* is it durable only after a sync? */
};

static struct {
    struct dice dice;
    char *dir, *archive;
    bool archives; /* in all lives, or in none */
    struct fake_disk *disk;
    enum dueq_durability durability;
    struct kv *kv; /* NULL: not open */
    uint64_t serial;
    uint64_t base;                  /* LSN at the last opening */
    uint64_t cells[KEYS];           /* the state then */
    struct commit commits[COMMITS]; /* since then; the last may be incomplete */
    uint64_t last;                  /* LSN of the last commit that may be on the disk */
    uint64_t settled;               /* LSN that was durable and must survive */
} test;

/* ---- keys and values */

/* In tables that have runs (Q, U) and in another. */
static struct dueq_slice key_of(int key, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "%c%06d", "QUk"[key / (KEYS / 3)], key));
}

/* Sometimes a large value, which the batch does not copy and which fills segments. */
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

/* ---- one life */

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

/* Most ask for what the mode says. */
static void ask_something(struct commit *commit)
{
    unsigned asks = dice_once_in(&test.dice, 2) ? 0 : 1 + (unsigned)dice_roll(&test.dice, 7);

    kv_ask(test.kv, asks);
    commit->asks_sync = (asks & ASKS_ALWAYS) || ((asks == 0 || (asks & ASKS_MODE)) &&
                                                 test.durability == DUEQ_SYNC_ALWAYS);
}

static void commit_some(void)
{
    size_t writes = 1 + dice_roll(&test.dice, dice_once_in(&test.dice, 25) ? BULK : 12);
    uint64_t next = kv_last_lsn(test.kv) + 1, lsn;
    struct commit *commit = &test.commits[next % COMMITS];

    *commit = (struct commit){.writes = calloc(writes, sizeof(*commit->writes))};
    assert_non_null(commit->writes);
    while (commit->count < writes)
        write_one(commit);
    ask_something(commit);
    test.last = next;
    if (kv_commit(test.kv, (int64_t)next * TIME, &lsn) == DUEQ_OK)
        assert_int_equal(lsn, next);
}

static void track_durable(void)
{
    uint64_t durable = kv_durable_lsn(test.kv);
    struct dueq_stats stats;

    kv_get_stats(test.kv, &stats);
    for (uint64_t lsn = stats.synced_lsn + 1; lsn <= durable; lsn++)
        assert_false(test.commits[lsn % COMMITS].asks_sync);
    if (stats.synced_lsn > test.settled)
        test.settled = stats.synced_lsn;
}

static void random_step(void)
{
    uint64_t face = dice_roll(&test.dice, 100);

    if (face < 57)
        commit_some();
    else if (face < 60)
        kv_compact(test.kv);
    else if (face < 75)
        kv_wait(test.kv, kv_last_lsn(test.kv));
    else if (face < 90)
        kv_maintain(test.kv, dice_once_in(&test.dice, 2));
    else if (face < 97)
        kv_checkpoint_start(test.kv);
    else
        kv_checkpoint(test.kv);
    track_durable();
}

/* ---- the next opening */

/* Applies the commits up to that LSN, which the opened space reports, to the model. */
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

/* The other threads have come to the end of this life, or to its failing sync. */
static bool is_cut_short(enum dueq_status status)
{
    return status == DUEQ_IO && (fake_disk_is_dead(test.disk) || kv_status(test.kv) != DUEQ_OK);
}

static void check_state(void)
{
    struct kv_cursor *cursor = kv_cursor_new(test.kv);
    enum dueq_status status = kv_cursor_seek(cursor, dueq_slice("\1", 1));
    char space[16];

    for (int key = 0; key < KEYS; key++) {
        if (test.cells[key] == 0)
            continue;
        if (is_cut_short(status))
            break;
        assert_int_equal(status, DUEQ_OK);
        assert_true(dueq_slice_equal(kv_cursor_key(cursor), key_of(key, space)));
        check_value(kv_cursor_value(cursor), test.cells[key]);
        status = kv_cursor_next(cursor);
    }
    assert_true(status == DUEQ_NOTFOUND || is_cut_short(status));
    kv_cursor_free(cursor);
}

/* The last record that can be read after that one without a gap. */
static uint64_t read_on(const struct segment_list *list, uint64_t lsn)
{
    const struct listed_segment *segment = NULL;
    uint64_t before = lsn;

    while (lsn == before) {
        struct segment_scan scan;

        segment = segment_list_find(list, lsn + 1, segment);
        if (segment == NULL)
            break;
        if (segment_scan_open(&scan, &io_system, segment->path, SEED) != DUEQ_OK)
            continue;
        segment_scan_to(&scan, UINT64_MAX);
        if (scan.next_lsn - 1 > lsn)
            lsn = scan.next_lsn - 1;
        segment_scan_close(&scan);
    }
    return lsn;
}

static uint64_t read_archive_and_journal(uint64_t lsn)
{
    struct segment_list list = {.count = 0};
    char journal[PATH_MAX];
    struct dueq_error error;
    uint64_t before;

    snprintf(journal, sizeof(journal), "%s/journal", test.dir);
    assert_int_equal(segment_list_add(&list, &io_system, journal, SEED, &error), DUEQ_OK);
    assert_int_equal(segment_list_add(&list, &io_system, test.archive, SEED, &error), DUEQ_OK);
    assert_int_equal(segment_list_plan(&list, 0, 0, 0, &error), DUEQ_OK);
    do {
        before = lsn;
        lsn = read_on(&list, lsn);
    } while (lsn > before);
    segment_list_release(&list);
    return lsn;
}

/* Every record that the store has is in the archive or in the journal. Meanwhile a segment may
 * leave one for the other; a second look finds it. */
static void check_archive(uint64_t last)
{
    uint64_t lsn = 0;

    for (int look = 0; look < LOOKS && test.archives && lsn < last; look++)
        lsn = read_archive_and_journal(lsn);
    if (test.archives && lsn < last)
        fail_msg("record %llu of %llu is nowhere", (unsigned long long)lsn + 1,
                 (unsigned long long)last);
}

static void check_return(void)
{
    uint64_t lsn = kv_last_lsn(test.kv);

    if (lsn < test.settled || lsn > test.last)
        fail_msg("commits up to %llu were settled, up to %llu made; %llu came back",
                 (unsigned long long)test.settled, (unsigned long long)test.last,
                 (unsigned long long)lsn);
    assert_int_equal(kv_time_floor(test.kv), lsn * TIME);
    check_archive(lsn);
    roll_forward(lsn);
    check_state();
    test.settled = lsn; /* it was read, so it must survive from now on */
}

static enum dueq_status try_to_open(struct dueq_error *error)
{
    struct dueq_options options;

    dueq_options_init(&options);
    options.durability = test.durability = (enum dueq_durability)dice_roll(&test.dice, 3);
    options.interval_ms = 2;
    options.stage_bytes = dice_once_in(&test.dice, 3) ? 0 : dice_roll(&test.dice, 20000);
    options.memtable_bytes = 300000;
    options.segment_bytes = 64 << 10;
    options.journal_bytes = 1 << 20;
    options.map_bytes = 256 << 20;
    options.disk_reserve_bytes = 0;
    options.seed = SEED;
    options.archive_dir = test.archives ? test.archive : NULL;
    options.archive_interval_ms = 3;
    options.io = fake_disk_io(test.disk);
    return kv_open(test.dir, &options, &test.kv, error);
}

/* Tries again as the server does: a sync may fail once more. */
static bool open_space(void)
{
    struct dueq_error error = {""};

    test.kv = NULL;
    for (int tries = 0; tries < 3; tries++) {
        enum dueq_status status = try_to_open(&error);

        if (status == DUEQ_OK)
            return true;
        test.kv = NULL;
        if (fake_disk_is_dead(test.disk))
            return false;
        if (status != DUEQ_IO && status != DUEQ_FULL) /* which a failed sync may cause */
            break;
    }
    fail_msg("kv_open: %s", error.text);
    return false;
}

/* A power cut may interrupt it; when it has succeeded, all commits stay. What is not committed
 * does not. */
static void close_space(void)
{
    uint64_t last = kv_last_lsn(test.kv);

    if (dice_once_in(&test.dice, 2))
        kv_put(test.kv, dueq_slice("never", 5), dueq_slice("committed", 9), false);
    if (kv_close(test.kv) == DUEQ_OK)
        test.settled = last;
}

static void cut_perhaps(void)
{
    if (!fake_disk_is_dead(test.disk) && dice_once_in(&test.dice, 2))
        fake_disk_cut_after(test.disk, 0);
}

static void end_life(void)
{
    bool closes = test.kv != NULL && dice_once_in(&test.dice, 3);

    if (!closes || dice_once_in(&test.dice, 2))
        cut_perhaps();
    if (closes)
        close_space();
    else
        kv_abandon(test.kv);
    test.kv = NULL;
    cut_perhaps();
    if (fake_disk_is_killed(test.disk))
        fake_disk_revive(test.disk);
    if (fake_disk_is_dead(test.disk))
        fake_disk_restart(test.disk, &test.dice);
    fake_disk_fail(test.disk, DISK_DATA_SYNC, 0, 0, 0);
    fake_disk_cut_after(test.disk, UINT32_MAX);
}

static void live_once(void)
{
    int steps = (int)dice_roll(&test.dice, 120);
    uint64_t end = 1 + dice_roll(&test.dice, 400);

    if (dice_once_in(&test.dice, 2))
        fake_disk_cut_after(test.disk, end);
    else if (dice_once_in(&test.dice, 2))
        fake_disk_kill_after(test.disk, end);
    if (dice_once_in(&test.dice, 3))
        fake_disk_fail(test.disk, DISK_DATA_SYNC, (unsigned)dice_roll(&test.dice, 40), 1,
                       dice_once_in(&test.dice, 3) ? ENOSPC : EIO);
    if (open_space()) {
        check_return();
        while (steps-- > 0 && kv_status(test.kv) == DUEQ_OK)
            random_step();
        track_durable();
    }
    end_life();
}

static void set_up_test(void)
{
    if (test.dice.state == 0)
        dice_begin(&test.dice);
    test.dir = temp_dir_new();
    test.archive = temp_dir_new();
    test.disk = fake_disk_new();
    dice_bits(&test.dice);
    fake_disk_restart(test.disk, &test.dice); /* what a failed sync loses is random, too */
    lmdb_disk_attach(test.disk);
}

static void tear_down_test(void)
{
    lmdb_disk_attach(NULL);
    fake_disk_free(test.disk);
    temp_dir_remove(test.dir);
    temp_dir_remove(test.archive);
}

static void cut_and_restart(void)
{
    fake_disk_cut_after(test.disk, 0);
    kv_abandon(test.kv);
    test.kv = NULL;
    fake_disk_restart(test.disk, &test.dice);
}

static uint64_t commit_one(const char *key)
{
    uint64_t lsn;

    kv_put(test.kv, dueq_slice(key, 1), dueq_slice("value", 5), false);
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    return lsn;
}

/* The seed is on disk before the first record: without it the journal cannot be read. */
static void a_new_space_survives_a_cut_at_once(void **state)
{
    struct dueq_error error = {""};
    struct dueq_slice value;

    (void)state;
    set_up_test();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    assert_int_equal(kv_wait(test.kv, commit_one("k")), DUEQ_OK);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    cut_and_restart();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    assert_int_equal(kv_get(test.kv, dueq_slice("k", 1), &value), DUEQ_OK);
    kv_abandon(test.kv);
    tear_down_test();
}

/* Returns whether the creation ended before. */
static bool cut_in_creation(unsigned long calls)
{
    struct dueq_error error = {""};
    bool whole;

    set_up_test();
    fake_disk_cut_after(test.disk, calls);
    whole = try_to_open(&error) == DUEQ_OK && !fake_disk_is_dead(test.disk);
    if (error.text[0] != '\0')
        test.kv = NULL;
    cut_and_restart();
    error.text[0] = '\0';
    if (try_to_open(&error) != DUEQ_OK)
        fail_msg("after a cut at call %lu: %s", calls, error.text);
    assert_int_equal(kv_wait(test.kv, commit_one("k")), DUEQ_OK);
    kv_abandon(test.kv);
    test.kv = NULL;
    tear_down_test();
    return whole;
}

/* Wherever a power cut interrupts the creation, the next opening completes the directory. */
static void a_cut_at_any_point_of_creation_leaves_a_directory_that_opens(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++)
        for (unsigned long calls = 1; !cut_in_creation(calls); calls++)
            assert_true(calls < 500);
}

/* Fills some segments, so that an opening has some to remove. */
enum { LARGE = 40000, LARGE_KEYS = 6 };

static struct dueq_slice large_value(int at)
{
    static uint8_t value[LARGE];

    memset(value, 'a' + at, sizeof(value));
    return dueq_slice(value, sizeof(value));
}

static void commit_segments(void)
{
    uint64_t lsn;

    for (int i = 0; i < LARGE_KEYS; i++) {
        char key = (char)('a' + i);

        kv_put(test.kv, dueq_slice(&key, 1), large_value(i), false);
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
        assert_int_equal(kv_wait(test.kv, lsn), DUEQ_OK);
    }
}

static void put_others(int fill)
{
    uint64_t lsn;

    for (int i = 'm'; i < 'z'; i++) {
        char key = (char)i;

        kv_put(test.kv, dueq_slice(&key, 1), large_value(fill), false);
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    }
}

/* Most of what data.mdb has had is deleted. */
static void make_sparse(void)
{
    uint64_t lsn;

    commit_segments();
    for (int i = 0; i < 3; i++)
        put_others(i);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    for (int i = 'm'; i < 'z'; i++) {
        char key = (char)i;

        kv_del(test.kv, dueq_slice(&key, 1));
    }
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    kv_maintain(test.kv, false);
}

/* Until it has ended, or the store has failed. */
static struct dueq_stats compact(void)
{
    struct dueq_stats stats;

    kv_compact(test.kv);
    do {
        usleep(100);
        kv_maintain(test.kv, false);
        kv_get_stats(test.kv, &stats);
    } while (stats.compaction_running && kv_status(test.kv) == DUEQ_OK);
    return stats;
}

static void check_segments(void)
{
    struct dueq_slice value;

    for (int i = 0; i < LARGE_KEYS; i++) {
        char key = (char)('a' + i);

        assert_int_equal(kv_get(test.kv, dueq_slice(&key, 1), &value), DUEQ_OK);
        assert_true(dueq_slice_equal(value, large_value(i)));
    }
}

/* The power goes right after an opening. Another one finds everything. */
static void open_cut_and_check(const char *when, unsigned long nth)
{
    struct dueq_error error = {""};

    if (try_to_open(&error) != DUEQ_OK) /* an opening syncs, too */
        assert_int_equal(try_to_open(&error), DUEQ_OK);
    check_segments();
    cut_and_restart();
    if (try_to_open(&error) != DUEQ_OK)
        fail_msg("%s %lu: %s", when, nth, error.text);
    check_segments();
    kv_abandon(test.kv);
    test.kv = NULL;
}

/* After a failed sync Linux counts the pages as written. What the store reads then may not be
 * on the disk, so the journal must stay until it is. */
static void lose_nth_data_sync(unsigned nth, int error_number)
{
    struct dueq_error error = {""};

    set_up_test();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    commit_segments();
    fake_disk_fail(test.disk, DISK_DATA_SYNC, nth, 1, error_number);
    kv_checkpoint(test.kv);
    kv_abandon(test.kv);
    open_cut_and_check("sync", nth);
    tear_down_test();
}

/* What a killed process has written and not synced is read by the next one, which must sync it
 * before it relies on it, on a full disk too. Returns whether the checkpoint ended before. */
static bool kill_in_checkpoint(unsigned long calls, bool full)
{
    struct dueq_error error = {""};
    bool whole;

    set_up_test();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    commit_segments();
    fake_disk_kill_after(test.disk, calls);
    whole = kv_checkpoint(test.kv) == DUEQ_OK;
    kv_abandon(test.kv);
    whole = whole && !fake_disk_is_killed(test.disk);
    fake_disk_revive(test.disk);
    if (full)
        fake_disk_fail(test.disk, DISK_DATA_WRITE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    open_cut_and_check("kill", calls);
    tear_down_test();
    return whole;
}

static void a_kill_at_any_point_of_a_checkpoint_loses_nothing_to_a_later_cut(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++)
        for (unsigned long calls = 1; !kill_in_checkpoint(calls, round % 2 == 0); calls++)
            assert_true(calls < 500);
}

/* The power goes, or the process is killed and the power goes later. Returns whether all of it
 * ended before. */
static bool end_in_compaction(unsigned long calls, bool cut)
{
    struct dueq_error error = {""};
    bool whole;

    set_up_test();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    make_sparse();
    if (cut)
        fake_disk_cut_after(test.disk, calls);
    else
        fake_disk_kill_after(test.disk, calls);
    compact();
    whole = !fake_disk_is_dead(test.disk);
    kv_abandon(test.kv);
    test.kv = NULL;
    if (fake_disk_is_killed(test.disk))
        fake_disk_revive(test.disk);
    else
        fake_disk_restart(test.disk, &test.dice);
    open_cut_and_check(cut ? "cut" : "kill", calls);
    tear_down_test();
    return whole;
}

static void a_compaction_that_ends_at_any_point_loses_nothing(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++)
        for (unsigned long calls = 1; !end_in_compaction(calls, round % 2 == 0); calls++)
            assert_true(calls < 500);
}

/* What the copy has taken over is not in the journal any more. */
static void a_cut_after_a_compaction_and_a_checkpoint_loses_nothing(void **state)
{
    struct dueq_error error = {""};

    (void)state;
    for (int round = 0; round < 12; round++) {
        set_up_test();
        assert_int_equal(try_to_open(&error), DUEQ_OK);
        make_sparse();
        assert_int_equal(compact().compactions, 1);
        if (round % 2 == 0)
            commit_segments();
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        cut_and_restart();
        open_cut_and_check("round", (unsigned long)round);
        tear_down_test();
    }
}

static bool is_there(const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", test.dir, name);
    return access(path, F_OK) == 0;
}

/* The disk refuses one call of the copying. Data.mdb stays, and the store goes on; only a name
 * that could not be synced ends it. Returns whether the compaction came to its end. */
static bool fail_in_compaction(enum disk_call call, unsigned nth, int error_number)
{
    struct dueq_error error = {""};
    struct dueq_stats stats;
    bool whole;

    set_up_test();
    assert_int_equal(try_to_open(&error), DUEQ_OK);
    make_sparse();
    fake_disk_fail(test.disk, call, nth, 1, error_number);
    stats = compact();
    fake_disk_fail(test.disk, call, 0, 0, 0);
    whole = stats.compactions == 1;
    if (kv_status(test.kv) == DUEQ_OK) {
        assert_int_equal(stats.compaction_failures, !whole);
        check_segments();
        commit_segments();
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        if (!whole)
            assert_false(is_there("data.mdb.new"));
    } else {
        assert_int_equal(call, DISK_SYNC_NAMES);
    }
    cut_and_restart();
    open_cut_and_check("call", nth);
    assert_false(is_there("data.mdb.new"));
    tear_down_test();
    return whole;
}

static void a_disk_that_fails_during_a_compaction_ends_only_that(void **state)
{
    static const struct {
        enum disk_call call;
        int error;
    } faults[] = {{DISK_OPEN, EMFILE},     {DISK_WRITE, EIO},     {DISK_WRITE, ENOSPC},
                  {DISK_ALLOCATE, ENOSPC}, {DISK_SYNC, EIO},      {DISK_SYNC, ENOSPC},
                  {DISK_RENAME, EIO},      {DISK_SYNC_NAMES, EIO}};

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        for (unsigned nth = 0; nth < 6; nth++) {
            bool whole = fail_in_compaction(faults[i].call, nth, faults[i].error);

            if (nth == 0)
                assert_false(whole);
        }
}

static void what_a_failed_sync_of_data_lost_is_not_believed(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++)
        for (unsigned nth = 0; nth < 8; nth++)
            lose_nth_data_sync(nth, round % 2 == 0 ? EIO : ENOSPC);
}

/* For a new directory. */
static void forget_state(void)
{
    roll_forward(test.base);
    test.base = test.last = test.settled = 0;
    memset(test.cells, 0, sizeof(test.cells));
}

static void live(long lives)
{
    test.archives = dice_once_in(&test.dice, 2);
    for (long life = 0; life < lives; life++)
        live_once();
    forget_state();
    test.archives = false;
}

/* A new directory now and then, as an archive only grows and each life reads all of it. */
static void a_space_comes_back_as_it_was_after_some_commit(void **state)
{
    long lives = dice_setting("STEPS", LIVES);

    (void)state;
    for (long lived = 0; lived < lives; lived += LIVES) {
        set_up_test();
        live(lives - lived < LIVES ? lives - lived : LIVES);
        tear_down_test();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_space_survives_a_cut_at_once),
        cmocka_unit_test(a_cut_at_any_point_of_creation_leaves_a_directory_that_opens),
        cmocka_unit_test(what_a_failed_sync_of_data_lost_is_not_believed),
        cmocka_unit_test(a_kill_at_any_point_of_a_checkpoint_loses_nothing_to_a_later_cut),
        cmocka_unit_test(a_compaction_that_ends_at_any_point_loses_nothing),
        cmocka_unit_test(a_cut_after_a_compaction_and_a_checkpoint_loses_nothing),
        cmocka_unit_test(a_disk_that_fails_during_a_compaction_ends_only_that),
        cmocka_unit_test(a_space_comes_back_as_it_was_after_some_commit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
