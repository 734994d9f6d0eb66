/* Backups of a store that goes on: what is in them, and what a failure leaves: nothing. */
#include "storage/dueq.h"
#include "storage/io.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 3000, VALUE = 900, TURNS_MOST = 100000 };

static struct {
    char *dir, *place;
    char path[PATH_MAX], partial[PATH_MAX + 16];
    struct dueq_io io;
    _Atomic(bool) held, waits; /* the thread of the backup */
    _Atomic(bool) full, disk_full, damages;
    const char *failing; /* the end of the directory's path whose sync fails */
    _Atomic(int) synced,
        named;         /* syncs of the copy's directory, and of the one that names it */
    _Atomic(int) slow; /* turns of the waiting thread before it goes on by itself; 0: none */
    struct dueq_options options;
    struct kv *kv;
} test;

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);

    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static int tell_free_bytes(void *arg, const char *path, uint64_t *ret_bytes)
{
    (void)arg;
    *ret_bytes = (uint64_t)1 << 40;
    if (!ends_with(path, DUEQ_BACKUP_PARTIAL))
        return 0;
    while (atomic_load(&test.held)) {
        atomic_store(&test.waits, true);
        usleep(1000);
        if (atomic_load(&test.slow) > 0 && atomic_fetch_sub(&test.slow, 1) == 1)
            break;
    }
    if (atomic_load(&test.full))
        *ret_bytes = 1000;
    return 0;
}

static bool is_backup(int fd)
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof(path) - 1) > 0 &&
           strstr(path, DUEQ_BACKUP_PARTIAL "/data.mdb") != NULL;
}

static ssize_t write_unless_full(void *arg, int fd, const struct iovec *parts, int count,
                                 off_t offset)
{
    if (atomic_load(&test.disk_full) && offset > 0 && is_backup(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return io_system.pwritev(arg, fd, parts, count, offset);
}

/* After the copy, and before it is read again. */
static int damage(void *arg, int fd)
{
    uint8_t byte;

    if (atomic_load(&test.damages) && is_backup(fd)) {
        assert_int_equal(pread(fd, &byte, 1, 4 * 4096 + 3000), 1);
        byte ^= 16;
        assert_int_equal(pwrite(fd, &byte, 1, 4 * 4096 + 3000), 1);
    }
    return io_system.forget(arg, fd);
}

static int note_sync(void *arg, const char *path)
{
    if (ends_with(path, DUEQ_BACKUP_PARTIAL) && access(test.path, F_OK) != 0)
        atomic_fetch_add(&test.synced, 1);
    if (ends_with(path, "/copy/..") && access(test.path, F_OK) == 0)
        atomic_fetch_add(&test.named, 1);
    if (test.failing != NULL && ends_with(path, test.failing)) {
        errno = EIO;
        return -1;
    }
    return io_system.fsync_dir(arg, path);
}

static void open_at(const char *dir, struct kv **ret_kv)
{
    struct dueq_error error = {""};

    if (kv_open(dir, &test.options, ret_kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

static int set_up(void **state)
{
    (void)state;
    test.dir = temp_dir_new();
    test.place = temp_dir_new();
    snprintf(test.path, sizeof(test.path), "%s/copy", test.place);
    snprintf(test.partial, sizeof(test.partial), "%s" DUEQ_BACKUP_PARTIAL, test.path);
    test.io = io_system;
    test.io.free_bytes = tell_free_bytes;
    test.io.pwritev = write_unless_full;
    test.io.forget = damage;
    test.io.fsync_dir = note_sync;
    test.failing = NULL;
    atomic_store(&test.synced, 0);
    atomic_store(&test.named, 0);
    atomic_store(&test.held, false);
    atomic_store(&test.waits, false);
    atomic_store(&test.full, false);
    atomic_store(&test.disk_full, false);
    atomic_store(&test.damages, false);
    atomic_store(&test.slow, 0);
    dueq_options_init(&test.options);
    test.options.durability = DUEQ_SYNC_NONE;
    test.options.memtable_bytes = 1 << 20;
    test.options.segment_bytes = 1 << 20;
    test.options.journal_bytes = 16 << 20;
    test.options.map_bytes = 256 << 20;
    test.options.disk_reserve_bytes = 0;
    test.options.io = &test.io;
    open_at(test.dir, &test.kv);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    temp_dir_remove(test.dir);
    temp_dir_remove(test.place);
    return 0;
}

static struct dueq_stats stats(void)
{
    struct dueq_stats now;

    kv_get_stats(test.kv, &now);
    return now;
}

static struct dueq_slice key_of(unsigned at, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "k%06u", at));
}

static struct dueq_slice value_of(unsigned at, int round)
{
    static uint8_t value[VALUE];

    memset(value, (int)(at % 250), sizeof(value));
    value[0] = (uint8_t)round;
    return dueq_slice(value, sizeof(value));
}

static void put_all(int round)
{
    char space[16];
    uint64_t lsn;

    for (unsigned at = 0; at < KEYS; at++) {
        kv_put(test.kv, key_of(at, space), value_of(at, round), false);
        if (at % 20 != 19)
            continue;
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
        kv_maintain(test.kv, false);
    }
}

static void await_end(void)
{
    for (unsigned turn = 0; stats().backup_running; turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
}

static void await_copying(void)
{
    for (unsigned turn = 0; !atomic_load(&test.waits); turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
}

static bool exists(const char *path)
{
    struct stat found;

    return lstat(path, &found) == 0;
}

/* The backup, and nothing but it, has all keys as they were after that round. */
static void expect_round(const char *path, int round)
{
    struct dueq_slice found;
    struct dueq_stats now;
    uint64_t records;
    char space[16];
    struct kv *copy;

    open_at(path, &copy);
    kv_get_stats(copy, &now);
    assert_int_equal(now.lsn, stats().backup_lsn);
    assert_int_equal(kv_check(copy, &records), DUEQ_OK);
    for (unsigned at = 0; at < KEYS; at++) {
        assert_int_equal(kv_get(copy, key_of(at, space), &found), DUEQ_OK);
        assert_int_equal(found.size, VALUE);
        assert_memory_equal(found.data, value_of(at, round).data, VALUE);
    }
    kv_abandon(copy);
}

static void backup_and_fail(enum dueq_status status)
{
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    assert_int_equal(stats().backup_status, status);
    assert_int_equal(stats().backup_failures, 1);
    assert_int_equal(stats().backups, 0);
    assert_false(exists(test.path));
}

/* ---- */

static void a_backup_has_what_was_committed(void **state)
{
    (void)state;
    put_all(1);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    assert_true(stats().backup_running);
    assert_false(kv_rests(test.kv));
    await_end();
    assert_int_equal(stats().backup_status, DUEQ_OK);
    assert_int_equal(stats().backups, 1);
    assert_true(stats().backup_bytes > (uint64_t)KEYS * VALUE);
    assert_int_equal(stats().backup_copied_bytes, stats().backup_bytes);
    assert_false(exists(test.partial));
    expect_round(test.path, 1);
}

/* A power cut after the reply must find the files in the directory, and the directory. */
static void what_is_copied_is_synced_before_and_after_its_name(void **state)
{
    (void)state;
    put_all(1);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    assert_int_equal(stats().backup_status, DUEQ_OK);
    assert_true(atomic_load(&test.synced) > 0);
    assert_int_equal(atomic_load(&test.named), 1);
}

static void a_directory_that_is_not_synced_is_no_backup(void **state)
{
    (void)state;
    put_all(1);
    test.failing = DUEQ_BACKUP_PARTIAL;
    backup_and_fail(DUEQ_IO);
}

static void a_name_that_is_not_synced_is_no_backup(void **state)
{
    (void)state;
    put_all(1);
    test.failing = "/copy/..";
    backup_and_fail(DUEQ_IO);
}

static void an_empty_store_can_be_copied(void **state)
{
    uint64_t records;
    struct kv *copy;

    (void)state;
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    assert_int_equal(stats().backup_status, DUEQ_OK);
    open_at(test.path, &copy);
    assert_int_equal(kv_check(copy, &records), DUEQ_OK);
    kv_abandon(copy);
}

/* What comes while the copy is made is not in it, even after many checkpoints. */
static void the_store_goes_on_meanwhile(void **state)
{
    uint64_t before;

    (void)state;
    put_all(1);
    atomic_store(&test.held, true);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_copying();
    before = stats().checkpoints;
    for (int round = 2; round < 8; round++)
        put_all(round);
    assert_true(stats().checkpoints > before + 3);
    assert_int_equal(kv_compact(test.kv), DUEQ_OK);
    for (unsigned turn = 0; stats().compaction_running && turn < 2000; turn++) {
        kv_maintain(test.kv, false);
        usleep(1000);
    }
    assert_true(stats().backup_running);
    atomic_store(&test.held, false);
    await_end();
    assert_int_equal(stats().backup_status, DUEQ_OK);
    expect_round(test.path, 1);
    put_all(9);
    snprintf(test.path, sizeof(test.path), "%s/second", test.place);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    expect_round(test.path, 9);
}

static void one_is_made_at_a_time_under_a_new_name(void **state)
{
    (void)state;
    assert_int_equal(kv_backup(test.kv, ""), DUEQ_INVALID);
    assert_int_equal(kv_backup(test.kv, "/tmp/"), DUEQ_INVALID);
    assert_int_equal(kv_backup(test.kv, test.place), DUEQ_DUPLICATE);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_BUSY);
    await_end();
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_DUPLICATE);
}

static void a_disk_that_is_too_small_gets_no_copy(void **state)
{
    (void)state;
    put_all(1);
    atomic_store(&test.full, true);
    backup_and_fail(DUEQ_FULL);
    assert_false(exists(test.partial));
    atomic_store(&test.full, false);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    expect_round(test.path, 1);
}

/* The checkpoint that it begins with would wait until somebody makes room. */
static void a_full_store_says_so_at_once(void **state)
{
    char space[16];
    uint64_t lsn;

    (void)state;
    kv_abandon(test.kv);
    test.options.map_bytes = 2 << 20;
    open_at(test.dir, &test.kv);
    for (unsigned at = 0; at * VALUE < 2 * test.options.map_bytes; at++) {
        kv_put(test.kv, key_of(at, space), value_of(at, 1), false);
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
        kv_maintain(test.kv, false);
    }
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_FULL);
    assert_int_equal(kv_room(test.kv, 1), DUEQ_FULL);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    assert_int_equal(stats().backup_status, DUEQ_FULL);
    assert_false(exists(test.path));
}

static void a_disk_that_gets_full_keeps_no_part(void **state)
{
    (void)state;
    put_all(1);
    atomic_store(&test.disk_full, true);
    backup_and_fail(DUEQ_FULL);
    assert_false(exists(test.partial));
}

static void a_copy_that_the_disk_damages_is_no_backup(void **state)
{
    (void)state;
    put_all(1);
    atomic_store(&test.damages, true);
    backup_and_fail(DUEQ_CORRUPT);
    assert_false(exists(test.partial));
}

static void a_place_that_is_missing_is_a_failure(void **state)
{
    (void)state;
    snprintf(test.path, sizeof(test.path), "%s/no/copy", test.place);
    backup_and_fail(DUEQ_IO);
}

static void write_file(const char *name)
{
    char path[PATH_MAX + 64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", test.partial, name);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs("dueq 1\n", file);
    fclose(file);
}

static void what_a_kill_left_is_removed(void **state)
{
    (void)state;
    put_all(1);
    assert_int_equal(mkdir(test.partial, 0700), 0);
    write_file("FORMAT");
    write_file("data.mdb");
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_end();
    expect_round(test.path, 1);
}

static void files_of_somebody_else_stay(void **state)
{
    (void)state;
    assert_int_equal(mkdir(test.partial, 0700), 0);
    write_file("mine");
    backup_and_fail(DUEQ_IO);
    assert_true(exists(test.partial));
}

static void a_store_that_closes_gives_it_up(void **state)
{
    (void)state;
    put_all(1);
    atomic_store(&test.held, true);
    assert_int_equal(kv_backup(test.kv, test.path), DUEQ_OK);
    await_copying();
    atomic_store(&test.slow, 50);
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    atomic_store(&test.held, false);
    assert_false(exists(test.partial));
    assert_false(exists(test.path));
    open_at(test.dir, &test.kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_backup_has_what_was_committed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_store_can_be_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_store_goes_on_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_is_made_at_a_time_under_a_new_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_copied_is_synced_before_and_after_its_name,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_that_is_not_synced_is_no_backup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_is_not_synced_is_no_backup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_is_too_small_gets_no_copy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_store_says_so_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_gets_full_keeps_no_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_that_the_disk_damages_is_no_backup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_place_that_is_missing_is_a_failure, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_kill_left_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_somebody_else_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_closes_gives_it_up, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
