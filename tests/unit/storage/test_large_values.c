/* Large values: taken over without a copy, written by the sync thread, and sound whatever
 * happens to their keys meanwhile. */
#include "storage/dueq.h"
#include "storage/kv/kv.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { LARGE = 200 * 1000, BEFORE = 100 };

static struct {
    char *dir;
    struct fake_disk *disk;
    struct dueq_options options;
    struct kv *kv;
} test;

static atomic_bool holds_notices;

static void open_kv(void)
{
    struct dueq_error error;

    if (kv_open(test.dir, &test.options, &test.kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

/* As a crash would leave it. */
static void reopen(void)
{
    kv_abandon(test.kv);
    open_kv();
}

static int set_up(void **state)
{
    (void)state;
    test.dir = temp_dir_new();
    test.disk = fake_disk_new();
    dueq_options_init(&test.options);
    test.options.segment_bytes = 1 << 20;
    test.options.map_bytes = 64 << 20;
    test.options.disk_reserve_bytes = 0;
    test.options.io = fake_disk_io(test.disk);
    open_kv();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_disk_hold_syncs(test.disk, false); /* also after a test that failed */
    atomic_store(&holds_notices, false);
    kv_abandon(test.kv);
    fake_disk_free(test.disk);
    temp_dir_remove(test.dir);
    return 0;
}

static struct dueq_loan new_loan(char fill)
{
    struct dueq_loan loan = {.memory = malloc(BEFORE + LARGE), .size = LARGE, .before = BEFORE};

    assert_non_null(loan.memory);
    loan.data = (uint8_t *)loan.memory + BEFORE;
    memset(loan.data, fill, LARGE);
    return loan;
}

static void put_large(const char *key, char fill)
{
    struct dueq_loan loan = new_loan(fill);

    kv_put(test.kv, text(key), dueq_slice(loan.data, LARGE), true);
    free(loan.memory);
}

static uint64_t commit(void)
{
    uint64_t lsn;

    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    return lsn;
}

static struct dueq_slice get(const char *key)
{
    struct dueq_slice value;

    assert_int_equal(kv_get(test.kv, text(key), &value), DUEQ_OK);
    return value;
}

static void expect_absent(const char *key)
{
    struct dueq_slice value;

    assert_int_equal(kv_get(test.kv, text(key), &value), DUEQ_NOTFOUND);
}

static void expect_large(const char *key, const char *head, char fill)
{
    struct dueq_slice value = get(key);
    const char *bytes = value.data;

    assert_int_equal(value.size, strlen(head) + LARGE);
    assert_memory_equal(bytes, head, strlen(head));
    for (size_t i = strlen(head); i < value.size; i += 997)
        assert_int_equal(bytes[i], fill);
    assert_int_equal(bytes[value.size - 1], fill);
}

/* A sync that is held keeps the sync thread from what is committed after it. */
static void hold_sync_thread(void)
{
    fake_disk_hold_syncs(test.disk, true);
    kv_put(test.kv, text("first"), text("one"), true);
    commit();
    while (fake_disk_held_syncs(test.disk) == 0)
        usleep(1000);
}

static void let_go(void)
{
    fake_disk_hold_syncs(test.disk, false);
}

/* ---- checks in slices */

enum { HUGE = 9 * 1000 * 1000, HUGE_SLICES = 5 };

static void put_huge(const char *key, char fill)
{
    char *bytes = malloc(HUGE);

    assert_non_null(bytes);
    memset(bytes, fill, HUGE);
    kv_put(test.kv, text(key), dueq_slice(bytes, HUGE), true);
    free(bytes);
}

static void settle(void)
{
    commit();
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
}

/* One read in a turn; its status. */
static enum dueq_status read_slice(const char *key, char fill)
{
    struct dueq_slice value;
    enum dueq_status status;

    kv_maintain(test.kv, false);
    kv_begin_slices(test.kv);
    status = kv_get(test.kv, text(key), &value);
    assert_int_equal(kv_end_slices(test.kv), status == DUEQ_BUSY);
    if (status == DUEQ_OK) {
        assert_int_equal(value.size, HUGE);
        assert_int_equal(((const char *)value.data)[HUGE - 1], fill);
    }
    return status;
}

/* Turns until the value is read. */
static int turns_of(const char *key, char fill)
{
    int turns = 1;

    for (; read_slice(key, fill) == DUEQ_BUSY; turns++)
        assert_true(turns < 100);
    return turns;
}

static void a_huge_value_is_checked_in_slices_and_once(void **state)
{
    (void)state;
    put_huge("a", 'a');
    assert_int_equal(turns_of("a", 'a'), 1); /* in memory */
    settle();
    assert_int_equal(turns_of("a", 'a'), HUGE_SLICES);
    assert_int_equal(turns_of("a", 'a'), 1);
    put_huge("b", 'b');
    settle();
    assert_int_equal(turns_of("a", 'a'), 1);
    kv_del(test.kv, text("a"));
    settle();
    put_huge("a", 'A');
    settle();
    assert_int_equal(turns_of("a", 'A'), HUGE_SLICES);
    reopen();
    assert_int_equal(turns_of("a", 'A'), HUGE_SLICES);
}

/* Who has no patience, or has changed something, gets it at once. */
static void only_who_asks_for_slices_gets_them(void **state)
{
    struct dueq_slice value;

    (void)state;
    put_huge("a", 'a');
    put_huge("b", 'b');
    settle();
    assert_int_equal(read_slice("a", 'a'), DUEQ_BUSY);
    get("a");
    assert_int_equal(read_slice("b", 'b'), DUEQ_BUSY);
    kv_begin_slices(test.kv);
    kv_put(test.kv, text("small"), text("x"), true);
    assert_int_equal(kv_get(test.kv, text("b"), &value), DUEQ_OK);
    assert_false(kv_end_slices(test.kv));
}

/* Two that take turns do not make each other begin again. */
static void several_checks_come_to_an_end(void **state)
{
    int turns = 0, busy;

    (void)state;
    put_huge("a", 'a');
    put_huge("b", 'b');
    put_huge("c", 'c');
    settle();
    do {
        busy = (read_slice("a", 'a') == DUEQ_BUSY) + (read_slice("b", 'b') == DUEQ_BUSY) +
               (read_slice("c", 'c') == DUEQ_BUSY);
        assert_true(++turns < 3 * HUGE_SLICES);
    } while (busy > 0);
}

static void a_check_does_not_mix_two_values(void **state)
{
    (void)state;
    put_huge("a", '0');
    settle();
    for (int fill = '1'; fill < '9'; fill++) {
        assert_int_equal(read_slice("a", (char)(fill - 1)), DUEQ_BUSY);
        put_huge("a", (char)fill);
        settle();
        kv_maintain(test.kv, false);
    }
    assert_int_equal(turns_of("a", '8'), HUGE_SLICES);
}

/* In a byte of the value that begins with this letter. */
static void damage(char fill)
{
    char path[256], run[4096], byte;
    off_t at = 0;
    int fd;

    snprintf(path, sizeof(path), "%s/data.mdb", test.dir);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    do
        assert_int_equal(pread(fd, run, sizeof(run), at += (off_t)sizeof(run)), sizeof(run));
    while (run[100] != fill || memcmp(run + 100, run + 101, 3000) != 0);
    byte = (char)(fill ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, at + 200), 1);
    close(fd);
}

/* The damaged one only is answered so, also when the other one has helped to check it. */
static void damage_shows_at_the_end_of_the_check(void **state)
{
    int turns = 0;

    (void)state;
    put_huge("a", 'a');
    put_huge("b", 'b');
    settle();
    damage('a');
    reopen();
    assert_int_equal(read_slice("a", 'a'), DUEQ_BUSY);
    while (read_slice("b", 'b') == DUEQ_BUSY)
        assert_true(++turns < 3 * HUGE_SLICES);
    assert_string_equal(kv_damage(test.kv), "");
    while (read_slice("a", 'a') == DUEQ_BUSY)
        assert_true(++turns < 5 * HUGE_SLICES);
    assert_int_equal(read_slice("a", 'a'), DUEQ_BUSY); /* again from the start */
    assert_string_not_equal(kv_damage(test.kv), "");
    assert_int_equal(turns_of("b", 'b'), 1);
}

/* What was held when the key had it, whatever becomes of key and file. */
static void a_held_value_outlives_its_key(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        const char *bytes;
        struct dueq_hold *hold, *again;

        put_large("key", 'h');
        put_large("other", 'o');
        commit();
        if (round == 1)
            assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        bytes = get("key").data;
        hold = kv_hold(test.kv, bytes + 1000);
        again = kv_hold(test.kv, bytes);
        assert_non_null(hold);
        assert_non_null(again);
        kv_let_go(again);
        for (int i = 0; i < 6; i++) {
            kv_del(test.kv, text("key"));
            put_large("key", (char)('a' + i));
            put_large("other", (char)('A' + i));
            commit();
            assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
            kv_maintain(test.kv, false);
        }
        for (size_t i = 0; i < LARGE; i++)
            assert_int_equal(bytes[i], 'h');
        kv_let_go(hold);
        expect_large("key", "", 'f');
    }
}

/* Holds on many snapshots are refused, and the file does not keep what nobody holds. */
static void holds_are_bounded_and_leave_nothing(void **state)
{
    struct dueq_hold *holds[200];
    struct dueq_stats stats;
    uint64_t file = 0;
    int held = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        put_large("key", (char)i);
        commit();
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        holds[held] = kv_hold(test.kv, get("key").data);
        held += holds[held] != NULL;
    }
    assert_in_range(held, 10, 100);
    assert_null(kv_hold(test.kv, "not of the store"));
    for (int i = 0; i < held; i++)
        kv_let_go(holds[i]);
    for (int i = 0; i < 40; i++) {
        struct dueq_hold *hold;

        put_large("key", (char)i);
        commit();
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        kv_maintain(test.kv, false);
        hold = kv_hold(test.kv, get("key").data);
        assert_non_null(hold);
        kv_let_go(hold);
        kv_get_stats(test.kv, &stats);
        if (i == 10)
            file = stats.map_used_bytes;
    }
    assert_true(stats.map_used_bytes < file + LARGE / 2);
}

static void a_lent_value_is_taken_over_with_what_stands_before_it(void **state)
{
    struct dueq_loan loan = new_loan('x');
    const uint8_t *data = loan.data;
    struct dueq_slice parts[] = {text("he"), text("ad"), dueq_slice(loan.data, LARGE)};

    (void)state;
    kv_lend(test.kv, &loan, 1);
    kv_putv(test.kv, text("key"), parts, 3, true);
    kv_lend(test.kv, NULL, 0);
    assert_null(loan.memory);
    assert_ptr_equal((const uint8_t *)get("key").data, data - 4);
    expect_large("key", "head", 'x');
    assert_int_equal(kv_wait(test.kv, commit()), DUEQ_OK);
    reopen();
    expect_large("key", "head", 'x');
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    reopen();
    expect_large("key", "head", 'x');
}

static void what_is_not_all_of_the_loan_is_copied(void **state)
{
    static const char long_head[BEFORE + 1];
    struct dueq_loan loan = new_loan('x');
    struct dueq_slice part = dueq_slice(loan.data, LARGE - 1);
    struct dueq_slice parts[] = {dueq_slice(long_head, sizeof(long_head)),
                                 dueq_slice(loan.data, LARGE)};

    (void)state;
    kv_lend(test.kv, &loan, 1);
    kv_put(test.kv, text("part"), part, true);
    kv_putv(test.kv, text("long head"), parts, 2, true);
    assert_non_null(loan.memory);
    kv_put(test.kv, text("all"), dueq_slice(loan.data, LARGE), true);
    assert_null(loan.memory);
    kv_put(test.kv, text("again"), dueq_slice(loan.data, LARGE), true);
    kv_lend(test.kv, NULL, 0);
    assert_int_equal(get("part").size, LARGE - 1);
    expect_large("all", "", 'x');
    expect_large("again", "", 'x');
}

static void later_records_do_not_settle_before_it(void **state)
{
    uint64_t large, small;

    (void)state;
    hold_sync_thread();
    put_large("large", 'l');
    large = commit();
    kv_put(test.kv, text("small"), text("two"), true);
    small = commit();
    assert_true(kv_durable_lsn(test.kv) < large);
    let_go();
    assert_int_equal(kv_wait(test.kv, small), DUEQ_OK);
    reopen();
    expect_large("large", "", 'l');
    assert_int_equal(get("small").size, 3);
}

/* Nor where nothing waits for a sync: until it is written it can still be lost. */
static void without_syncs_it_settles_when_it_is_written(void **state)
{
    uint64_t large, small;

    (void)state;
    hold_sync_thread();
    kv_set_durability(test.kv, DUEQ_SYNC_NONE, 1);
    put_large("large", 'l');
    large = commit();
    kv_put(test.kv, text("small"), text("two"), true);
    small = commit();
    assert_int_equal(kv_durable_lsn(test.kv), large - 1);
    let_go();
    assert_int_equal(kv_wait(test.kv, small), DUEQ_OK);
}

static void its_key_may_change_before_it_is_written(void **state)
{
    (void)state;
    hold_sync_thread();
    put_large("changed", 'a');
    put_large("deleted", 'b');
    commit();
    put_large("changed", 'c');
    kv_del(test.kv, text("deleted"));
    let_go();
    assert_int_equal(kv_wait(test.kv, commit()), DUEQ_OK);
    expect_large("changed", "", 'c');
    reopen();
    expect_large("changed", "", 'c');
    expect_absent("deleted");
}

static void it_is_dropped_with_a_store_that_is_abandoned(void **state)
{
    (void)state;
    hold_sync_thread();
    put_large("large", 'l');
    commit();
    put_large("larger", 'm');
    commit();
    let_go();
    reopen(); /* it may have been written or not: what is there is whole */
    assert_int_equal(get("first").size, 3);
}

static void a_write_of_it_that_fails_is_a_failed_store(void **state)
{
    uint64_t lsn;

    (void)state;
    hold_sync_thread();
    put_large("large", 'l');
    lsn = commit();
    fake_disk_fail(test.disk, DISK_WRITE, 0, FAKE_DISK_ALWAYS, EIO);
    let_go();
    assert_int_equal(kv_wait(test.kv, lsn), DUEQ_IO);
    assert_true(kv_durable_lsn(test.kv) < lsn);
    while (kv_status(test.kv) == DUEQ_OK) /* until the thread has told */
        usleep(1000);
    assert_non_null(strstr(kv_failure(test.kv), "write on "));
    fake_disk_fail(test.disk, DISK_WRITE, 0, 0, EIO);
    reopen();
    expect_absent("large");
}

static void the_store_is_busy_for_large_ones_until_it_is_written(void **state)
{
    uint64_t lsn;

    (void)state;
    hold_sync_thread();
    assert_false(kv_is_busy(test.kv, LARGE));
    put_large("large", 'l');
    lsn = commit();
    assert_true(kv_is_busy(test.kv, LARGE));
    assert_false(kv_is_busy(test.kv, 100));
    let_go();
    assert_int_equal(kv_wait(test.kv, lsn), DUEQ_OK);
    assert_false(kv_is_busy(test.kv, LARGE));
}

/* ---- freeing */

static void hold_notice(void *arg)
{
    (void)arg;
    while (atomic_load(&holds_notices))
        usleep(1000);
}

/* Bytes of what malloc maps by itself: with glibc that is every block above 32 MiB. */
static size_t mapped_bytes(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    return mallinfo2().hblkhd;
#else
    skip();
    return 0;
#endif
}

static void put_enormous(size_t size)
{
    char *bytes = calloc(1, size);

    assert_non_null(bytes);
    kv_put(test.kv, text("enormous"), dueq_slice(bytes, size), true);
    free(bytes);
}

static void start_checkpoint(void)
{
    struct dueq_stats stats;

    assert_int_equal(kv_wait(test.kv, commit()), DUEQ_OK);
    atomic_store(&holds_notices, true);
    kv_checkpoint_start(test.kv);
    do {
        usleep(1000);
        kv_get_stats(test.kv, &stats);
    } while (stats.checkpoints == 0);
}

/* To free 500 MB takes 40 ms. The thread is held where it has ended the checkpoint and has yet
 * to free the table. */
static void the_checkpoint_thread_frees_what_it_wrote(void **state)
{
    const size_t size = 40 << 20;
    size_t held;
    struct dueq_stats stats;

    (void)state;
    kv_abandon(test.kv);
    test.options.map_bytes = 256 << 20;
    test.options.notify = hold_notice;
    open_kv();
    put_enormous(size);
    start_checkpoint();
    held = mapped_bytes();
    kv_maintain(test.kv, false);
    kv_get_stats(test.kv, &stats);
    assert_int_equal(stats.frozen_bytes, 0);
    assert_true(mapped_bytes() >= held);
    atomic_store(&holds_notices, false);
    while (mapped_bytes() + size > held)
        usleep(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define with_store(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        with_store(a_lent_value_is_taken_over_with_what_stands_before_it),
        with_store(what_is_not_all_of_the_loan_is_copied),
        with_store(later_records_do_not_settle_before_it),
        with_store(without_syncs_it_settles_when_it_is_written),
        with_store(its_key_may_change_before_it_is_written),
        with_store(it_is_dropped_with_a_store_that_is_abandoned),
        with_store(a_write_of_it_that_fails_is_a_failed_store),
        with_store(the_store_is_busy_for_large_ones_until_it_is_written),
        with_store(a_huge_value_is_checked_in_slices_and_once),
        with_store(only_who_asks_for_slices_gets_them),
        with_store(several_checks_come_to_an_end),
        with_store(a_check_does_not_mix_two_values),
        with_store(damage_shows_at_the_end_of_the_check),
        with_store(a_held_value_outlives_its_key),
        with_store(holds_are_bounded_and_leave_nothing),
        with_store(the_checkpoint_thread_frees_what_it_wrote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
