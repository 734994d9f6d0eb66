/* Segments in the archive, and stores that are made of them: what a store had at any record
 * comes back, and what cannot come back is said. */
#include "storage/dueq.h"
#include "storage/io.h"
#include "storage/kv/archive_file.h"
#include "storage/kv/backup_label.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/kv/kv_recovery.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { TURNS_MOST = 20000, VALUE = 3000 };

static struct {
    char *dir;
    char data[PATH_MAX], archive[PATH_MAX], backup[PATH_MAX], made[PATH_MAX];
    struct dueq_io io;
    _Atomic(bool) archive_full, archive_rots;
    /* in the archive, in backups, and below a directory that is restored */
    _Atomic(int) unsynced, unnamed, early;
    bool cleared;           /* it was synced when nothing was in it that is to go */
    _Atomic(uint64_t) read; /* bytes, from the archive */
    char closed[PATH_MAX];  /* a path that may not be opened */
    _Atomic(bool) is_closed;
    struct dueq_options options;
    struct kv *kv;
    struct dueq_error error;
    struct dueq_recovery recovery;
} test;

static int tell_free_bytes(void *arg, const char *path, uint64_t *ret_bytes)
{
    if (!atomic_load(&test.archive_full) || strcmp(path, test.archive) != 0)
        return io_system.free_bytes(arg, path, ret_bytes);
    *ret_bytes = 100;
    return 0;
}

static int refuse_open(void *arg, const char *path, int flags, mode_t mode)
{
    if (!atomic_load(&test.is_closed) || strcmp(path, test.closed) != 0)
        return io_system.open(arg, path, flags, mode);
    errno = EACCES;
    return -1;
}

static bool is_watched(const char *path)
{
    return strncmp(path, test.archive, strlen(test.archive)) == 0 ||
           strncmp(path, test.backup, strlen(test.backup)) == 0 ||
           strncmp(path, test.made, strlen(test.made)) == 0;
}

static bool is_watched_file(int fd)
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof(path) - 1) > 0 && is_watched(path) &&
           strstr(path, "/journal/") == NULL && strstr(path, "data.mdb") == NULL;
}

static ssize_t note_write(void *arg, int fd, const struct iovec *parts, int count, off_t offset)
{
    ssize_t put = io_system.pwritev(arg, fd, parts, count, offset);

    if (!is_watched_file(fd))
        return put;
    atomic_store(&test.unsynced, 1);
    if (atomic_load(&test.archive_rots))
        assert_int_equal(pwrite(fd, "rot", 3, offset + put / 2), 3);
    return put;
}

static ssize_t note_read(void *arg, int fd, void *bytes, size_t size, off_t offset)
{
    ssize_t got = io_system.pread(arg, fd, bytes, size, offset);

    if (got > 0 && is_watched_file(fd))
        atomic_fetch_add(&test.read, (uint64_t)got);
    return got;
}

static int note_sync(void *arg, int fd)
{
    if (is_watched_file(fd))
        atomic_store(&test.unsynced, 0);
    return io_system.fdatasync(arg, fd);
}

/* What gets its name must be synced, its directory too. */
static int note_rename(void *arg, const char *from, const char *to)
{
    if (strcmp(to, test.made) == 0)
        atomic_fetch_add(&test.early, !test.cleared);
    if (is_watched(to) && strstr(to, "/journal/") == NULL) {
        atomic_fetch_add(&test.early, atomic_load(&test.unsynced));
        atomic_store(&test.unnamed, 1);
    }
    return io_system.rename(arg, from, to);
}

static bool is_partial(const char *path)
{
    size_t size = strlen(test.made);

    return strncmp(path, test.made, size) == 0 && strcmp(path + size, ".partial") == 0;
}

static bool is_in_partial(const char *name)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s.partial/%s", test.made, name);
    return access(path, F_OK) == 0;
}

static int note_dir_sync(void *arg, const char *path)
{
    if (is_partial(path))
        test.cleared = !is_in_partial("journal") && !is_in_partial("lock.mdb");
    if (strcmp(path, test.archive) == 0 || strstr(path, "/made/..") != NULL ||
        strstr(path, "/backup/..") != NULL)
        atomic_store(&test.unnamed, 0);
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
    memset(&test, 0, sizeof(test));
    test.dir = temp_dir_new();
    snprintf(test.data, sizeof(test.data), "%s/data", test.dir);
    snprintf(test.archive, sizeof(test.archive), "%s/archive", test.dir);
    snprintf(test.backup, sizeof(test.backup), "%s/backup", test.dir);
    snprintf(test.made, sizeof(test.made), "%s/made", test.dir);
    assert_int_equal(mkdir(test.archive, 0700), 0);
    test.io = io_system;
    test.io.free_bytes = tell_free_bytes;
    test.io.open = refuse_open;
    test.io.pread = note_read;
    test.io.pwritev = note_write;
    test.io.fdatasync = note_sync;
    test.io.rename = note_rename;
    test.io.fsync_dir = note_dir_sync;
    dueq_options_init(&test.options);
    test.options.durability = DUEQ_SYNC_NONE;
    test.options.memtable_bytes = 256 << 10;
    test.options.segment_bytes = 64 << 10;
    test.options.journal_bytes = 1 << 20;
    test.options.map_bytes = 1 << 28;
    test.options.disk_reserve_bytes = 0;
    test.options.io = &test.io;
    test.options.archive_dir = test.archive;
    open_at(test.data, &test.kv);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    temp_dir_remove(test.dir);
    return 0;
}

static struct dueq_stats stats(void)
{
    struct dueq_stats now;

    kv_get_stats(test.kv, &now);
    return now;
}

/* Record lsn puts a value with its LSN under one of 50 keys: what a store has tells how far it
 * comes. Its time is 10 times the LSN. */
static void put(struct kv *kv, unsigned count, uint8_t mark)
{
    static uint8_t value[VALUE];
    char key[16];
    uint64_t lsn;

    while (count-- > 0) {
        uint64_t next = kv_last_lsn(kv) + 1;

        memset(value, (int)(next % 251), sizeof(value));
        value[0] = mark;
        memcpy(value + 1, &next, sizeof(next));
        kv_put(kv, dueq_slice(key, (size_t)sprintf(key, "k%02u", (unsigned)(next % 50))),
               dueq_slice(value, 100 + next * 37 % (VALUE - 100)), false);
        assert_int_equal(kv_commit(kv, (int64_t)next * 10, &lsn), DUEQ_OK);
        if (next % 8 == 0)
            kv_maintain(kv, false);
    }
    assert_int_equal(kv_wait(kv, kv_last_lsn(kv)), DUEQ_OK); /* large ones are written later */
}

/* The store has the records up to that one, each put with that mark, and no other. */
static void expect_records(const char *dir, uint64_t last, uint8_t mark)
{
    const char *archive = test.options.archive_dir;
    struct dueq_slice found;
    char key[16];
    uint64_t lsn;
    struct kv *kv;

    test.options.archive_dir = NULL;
    open_at(dir, &kv);
    test.options.archive_dir = archive;
    assert_int_equal(kv_last_lsn(kv), last);
    assert_int_equal(kv_time_floor(kv), last * 10);
    for (unsigned at = 0; at < 50; at++) {
        uint64_t newest = last - (last + 50 - at) % 50;

        assert_int_equal(kv_get(kv, dueq_slice(key, (size_t)sprintf(key, "k%02u", at)), &found),
                         DUEQ_OK);
        memcpy(&lsn, (const uint8_t *)found.data + 1, sizeof(lsn));
        assert_int_equal(lsn, newest);
        if (mark != 0 && newest == last)
            assert_int_equal(*(const uint8_t *)found.data, mark);
    }
    kv_abandon(kv);
}

static void await_archive(uint64_t segments)
{
    for (unsigned turn = 0; stats().archive.segments < segments; turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
}

static void await_all(void)
{
    for (unsigned turn = 0; stats().archive.waiting_segments > 0; turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
}

/* Segments end when they are full: how many records that takes depends on when others ended
 * early. */
static void put_segments(uint64_t segments, uint8_t mark)
{
    for (uint64_t end = stats().archive.segments + segments; stats().archive.segments < end;) {
        put(test.kv, 10, mark);
        await_all();
    }
}

static void back_up(void)
{
    assert_int_equal(kv_backup(test.kv, test.backup), DUEQ_OK);
    for (unsigned turn = 0; stats().backup_running; turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
    assert_int_equal(stats().backup_status, DUEQ_OK);
}

static enum dueq_status restore(uint64_t to, uint64_t history)
{
    const char *archives[] = {test.archive};

    test.recovery = (struct dueq_recovery){.backup = test.backup,
                                           .dir = test.made,
                                           .archives = archives,
                                           .archive_count = 1,
                                           .to_lsn = to,
                                           .to_time = INT64_MAX,
                                           .history = history};
    return recovery_run(&test.recovery, &test.error);
}

static void remove_made(void)
{
    char command[PATH_MAX + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", test.made);
    assert_int_equal(system(command), 0);
}

static void expect_restore(uint64_t to, uint64_t last, uint8_t mark)
{
    if (restore(to, 0) != DUEQ_OK)
        fail_msg("%s", test.error.text);
    assert_int_equal(test.recovery.lsn, last);
    expect_records(test.made, last, mark);
    remove_made();
}

static bool exists(const char *path)
{
    struct stat found;

    return lstat(path, &found) == 0;
}

static void expect_failure(enum dueq_status status, uint64_t to)
{
    char partial[PATH_MAX + 16];

    assert_int_equal(restore(to, 0), status);
    snprintf(partial, sizeof(partial), "%s.partial", test.made);
    assert_false(exists(partial));
    assert_false(exists(test.made));
}

/* The names in the archive, in their order. */
static unsigned list_archive(char names[][ARCHIVE_NAME_SIZE], unsigned most)
{
    struct dirent **found;
    int count = scandir(test.archive, &found, NULL, alphasort);
    unsigned segments = 0;

    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        struct archive_name name;

        if (archive_name_read(found[i]->d_name, &name)) {
            assert_true(segments < most);
            strcpy(names[segments++], found[i]->d_name);
        }
        free(found[i]);
    }
    free(found);
    return segments;
}

enum { NAMES_MOST = 1000 };
static char names[NAMES_MOST][ARCHIVE_NAME_SIZE];

static const char *archived(unsigned at, char *path)
{
    snprintf(path, PATH_MAX, "%.3000s/%.80s", test.archive, names[at]);
    return path;
}

/* A clean close archives what is there. */
static void close_store(void)
{
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    test.kv = NULL;
}

/* ---- */

static void a_copy_is_synced_before_it_has_its_name_and_after(void **state)
{
    (void)state;
    put(test.kv, 200, 1);
    await_all();
    assert_true(stats().archive.segments > 0);
    assert_int_equal(atomic_load(&test.unnamed), 0);
    assert_int_equal(atomic_load(&test.early), 0);
}

static bool never_stop(void *arg)
{
    (void)arg;
    return true;
}

/* Who made it may have been killed before it was synced. */
static void a_copy_that_is_there_is_synced_before_it_counts(void **state)
{
    struct archive_copy copy = {.io = &test.io, .dir = test.archive, .goes_on = never_stop};
    char path[PATH_MAX], moved[PATH_MAX];

    (void)state;
    copy.seed = kv_seed(test.kv);
    put(test.kv, 200, 1);
    close_store();
    assert_true(list_archive(names, NAMES_MOST) > 0);
    snprintf(moved, sizeof(moved), "%.3000s/moved", test.dir);
    assert_int_equal(rename(archived(0, path), moved), 0);
    assert_int_equal(archive_copy(&copy, moved, 0), DUEQ_OK);
    assert_true(exists(path));
    atomic_store(&test.unsynced, 1);
    atomic_store(&test.unnamed, 1);
    assert_int_equal(archive_copy(&copy, moved, 0), DUEQ_OK);
    assert_int_equal(atomic_load(&test.unsynced), 0);
    assert_int_equal(atomic_load(&test.unnamed), 0);
}

static void what_a_backup_says_of_itself_is_synced_before_it_has_its_name(void **state)
{
    (void)state;
    put(test.kv, 20, 1);
    back_up();
    assert_int_equal(atomic_load(&test.unnamed), 0);
    assert_int_equal(atomic_load(&test.early), 0);
}

/* No time line is known here. */
static bool read_nothing(struct dueq_slice value, int64_t *ret_ahead)
{
    (void)value;
    (void)ret_ahead;
    return true;
}

static void a_restored_store_is_synced_before_it_has_its_name_and_after(void **state)
{
    const struct kv_timeline timeline = {dueq_slice("M", 1), read_nothing};
    const char *archives[] = {test.archive};

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    put(test.kv, 60, 1);
    close_store();
    test.recovery = (struct dueq_recovery){.backup = test.backup,
                                           .dir = test.made,
                                           .archives = archives,
                                           .archive_count = 1,
                                           .to_lsn = UINT64_MAX,
                                           .to_time = INT64_MAX};
    assert_int_equal(kv_recover(&test.recovery, &timeline, &test.io, &test.error), DUEQ_OK);
    assert_int_equal(atomic_load(&test.unnamed), 0);
    assert_int_equal(atomic_load(&test.early), 0);
    expect_records(test.made, 120, 1);
}

static void a_store_comes_back_at_any_record(void **state)
{
    uint64_t base, last;
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    put(test.kv, 100 + (unsigned)dice_roll(&dice, 300), 1);
    back_up();
    base = stats().backup_lsn;
    put(test.kv, 600, 1);
    last = kv_last_lsn(test.kv);
    close_store();
    expect_restore(UINT64_MAX, last, 1);
    expect_restore(base, base, 1);
    expect_restore(base + 1, base + 1, 1);
    for (int i = 0; i < 6; i++) {
        uint64_t to = base + dice_roll(&dice, last - base + 1);

        expect_restore(to, to, 1);
    }
    expect_failure(DUEQ_INVALID, base - 1);
    expect_failure(DUEQ_NOTFOUND, last + 1);
}

static void a_store_comes_back_at_any_time(void **state)
{
    const char *archives[] = {test.archive};
    uint64_t base;

    (void)state;
    put(test.kv, 100, 1);
    back_up();
    base = stats().backup_lsn;
    put(test.kv, 300, 1);
    close_store();
    for (int64_t time = (int64_t)base * 10; time < (int64_t)base * 10 + 40; time += 5) {
        test.recovery = (struct dueq_recovery){.backup = test.backup,
                                               .dir = test.made,
                                               .archives = archives,
                                               .archive_count = 1,
                                               .to_lsn = UINT64_MAX,
                                               .to_time = time};
        assert_int_equal(recovery_run(&test.recovery, &test.error), DUEQ_OK);
        assert_true(test.recovery.moment_reached);
        expect_records(test.made, (uint64_t)time / 10, 1);
        remove_made();
    }
    test.recovery.to_time = (int64_t)base * 10 - 1;
    assert_int_equal(recovery_run(&test.recovery, &test.error), DUEQ_INVALID);
    test.recovery.to_time = INT64_MAX - 1;
    assert_int_equal(recovery_run(&test.recovery, &test.error), DUEQ_OK);
    assert_false(test.recovery.moment_reached);
}

/* Also what a crash left in the journal below the checkpoint. */
static void nothing_is_lost_while_the_archive_is_away(void **state)
{
    char away[PATH_MAX + 16];
    uint64_t last;

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    snprintf(away, sizeof(away), "%s.away", test.archive);
    assert_int_equal(rename(test.archive, away), 0);
    put(test.kv, 400, 1);
    for (unsigned turn = 0; stats().archive.failures == 0; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(1000);
    }
    assert_int_equal(stats().archive.status, DUEQ_IO);
    assert_int_equal(stats().archive.error, ENOENT);
    assert_false(exists(test.archive));
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    kv_abandon(test.kv);
    open_at(test.data, &test.kv);
    put(test.kv, 10, 1);
    assert_true(stats().archive.waiting_segments > 3);
    assert_int_equal(rename(away, test.archive), 0);
    kv_abandon(test.kv); /* the next one does not wait before it tries again */
    open_at(test.data, &test.kv);
    last = kv_last_lsn(test.kv);
    await_all();
    assert_int_equal(stats().archive.gaps, 0);
    close_store();
    expect_restore(UINT64_MAX, last, 1);
}

static void a_full_archive_is_said_and_waited_for(void **state)
{
    (void)state;
    atomic_store(&test.archive_full, true);
    test.options.disk_reserve_bytes = 0;
    put(test.kv, 200, 1);
    for (unsigned turn = 0; stats().archive.failures == 0; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(1000);
    }
    assert_int_equal(stats().archive.status, DUEQ_FULL);
    assert_int_equal(list_archive(names, NAMES_MOST), 0);
    assert_true(stats().archive.waiting_segments > 0);
    atomic_store(&test.archive_full, false);
    await_all();
    assert_int_equal(stats().archive.status, DUEQ_OK);
    assert_int_equal(stats().archive.gaps, 0);
}

/* What is wrong with a copy is not wrong with its segment, which waits for a better one. */
static void an_archive_that_keeps_other_bytes_is_tried_again(void **state)
{
    (void)state;
    atomic_store(&test.archive_rots, true);
    put(test.kv, 200, 1);
    for (unsigned turn = 0; stats().archive.failures == 0; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(1000);
    }
    assert_int_equal(stats().archive.status, DUEQ_IO);
    assert_int_equal(stats().archive.error, EIO);
    assert_int_equal(list_archive(names, NAMES_MOST), 0);
    assert_true(stats().archive.waiting_segments > 0);
    atomic_store(&test.archive_rots, false);
    await_all();
    assert_int_equal(stats().archive.status, DUEQ_OK);
    assert_int_equal(stats().archive.gaps, 0);
}

/* The journal does not grow for ever, and a restore says what is missing. */
static void what_waits_for_too_long_is_given_up(void **state)
{
    uint64_t before, last;

    (void)state;
    kv_abandon(test.kv);
    test.options.archive_max_lag = 300 << 10;
    open_at(test.data, &test.kv);
    put(test.kv, 60, 1);
    back_up();
    put(test.kv, 100, 1);
    await_all();
    before = stats().archive.last_lsn;
    atomic_store(&test.archive_full, true);
    for (int i = 0; i < 8; i++) {
        put(test.kv, 100, 1);
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        assert_true(stats().archive.waiting_bytes <= test.options.archive_max_lag + (64 << 10));
    }
    atomic_store(&test.archive_full, false);
    put(test.kv, 100, 1);
    await_all();
    assert_true(stats().archive.gaps >= 1);
    last = kv_last_lsn(test.kv);
    close_store();
    expect_failure(DUEQ_CORRUPT, UINT64_MAX);
    assert_int_equal(test.recovery.lsn, before);
    expect_failure(DUEQ_CORRUPT, last);
    expect_restore(before, before, 1);
}

/* Each takes a whole file of the journal, however few records there are. */
static void segments_that_end_early_are_freed(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    test.options.archive_interval_ms = 1;
    open_at(test.data, &test.kv);
    for (uint64_t segment = 1; segment <= 20; segment++) {
        put(test.kv, 1, 1);
        await_archive(segment);
    }
    for (unsigned turn = 0; stats().journal_segments > 8; turn++) {
        assert_true(turn < TURNS_MOST / 10);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
    assert_true(stats().checkpoints > 0);
    assert_int_equal(stats().archive.gaps, 0);
}

/* The limit is for the disk: segments with one record each take as much of it as full ones. */
static void the_limit_counts_files_not_records(void **state)
{
    enum { LIVES = 12, KEPT = 5 };

    (void)state;
    atomic_store(&test.archive_full, true);
    test.options.archive_max_lag = (uint64_t)KEPT * test.options.segment_bytes;
    for (int life = 0; life < LIVES; life++) {
        kv_abandon(test.kv);
        open_at(test.data, &test.kv);
        put(test.kv, 1, 1);
    }
    put(test.kv, 100, 1);
    assert_true(stats().archive.waiting_segments >= LIVES);
    assert_int_equal(stats().archive.waiting_bytes,
                     stats().archive.waiting_segments * test.options.segment_bytes);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    assert_true(stats().archive.waiting_segments > 0);
    assert_true(stats().archive.waiting_bytes <= test.options.archive_max_lag);
}

static void damage(const char *path, off_t at, bool cut)
{
    int fd = open(path, O_RDWR);

    assert_true(fd >= 0);
    assert_int_equal(cut ? ftruncate(fd, at) : pwrite(fd, "rot", 3, at) - 3, 0);
    close(fd);
}

/* Found when their segments would be copied again. It stops nothing, and is said. */
static void damaged_files_are_set_aside_and_written_anew(void **state)
{
    char path[4][PATH_MAX], aside[PATH_MAX + 16];

    (void)state;
    kv_abandon(test.kv);
    test.options.memtable_bytes = 8 << 20; /* all stays in the journal */
    test.options.journal_bytes = 16 << 20;
    open_at(test.data, &test.kv);
    put(test.kv, 60, 1);
    back_up();
    put(test.kv, 300, 1);
    await_all();
    assert_true(list_archive(names, NAMES_MOST) >= 7);
    for (unsigned at = 0; at < 4; at++)
        damage(archived(3 + at, path[at]), at == 0 ? 20 : 20000, at == 3);
    kv_abandon(test.kv);
    open_at(test.data, &test.kv);
    put(test.kv, 100, 1);
    await_all();
    assert_int_equal(stats().archive.damaged, 4);
    assert_int_equal(stats().archive.failures, 0);
    assert_int_equal(stats().archive.gaps, 0);
    for (unsigned at = 0; at < 4; at++) {
        snprintf(aside, sizeof(aside), "%.4000s.damaged", path[at]);
        assert_true(exists(aside));
        assert_true(exists(path[at]));
    }
    close_store();
    expect_restore(UINT64_MAX, 460, 1);
}

/* A store of which all is in the journal, and in the archive. */
static void fill_archive(void)
{
    kv_abandon(test.kv);
    test.options.memtable_bytes = 8 << 20;
    test.options.journal_bytes = 16 << 20;
    open_at(test.data, &test.kv);
    put(test.kv, 300, 1);
    await_all();
    assert_true(list_archive(names, NAMES_MOST) >= 5);
    kv_abandon(test.kv);
}

/* It may be the only copy of what it has. */
static void a_file_that_cannot_be_opened_is_not_replaced(void **state)
{
    struct stat before, after;

    (void)state;
    fill_archive();
    assert_int_equal(stat(archived(3, test.closed), &before), 0);
    atomic_store(&test.is_closed, true);
    open_at(test.data, &test.kv);
    for (unsigned turn = 0; stats().archive.failures == 0; turn++) {
        assert_true(turn < TURNS_MOST);
        assert_true(stats().archive.waiting_segments > 0);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
    assert_int_equal(stats().archive.status, DUEQ_IO);
    assert_int_equal(stats().archive.error, EACCES);
    atomic_store(&test.is_closed, false);
    await_all();
    assert_int_equal(stats().archive.damaged, 0);
    assert_int_equal(stat(test.closed, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void what_was_set_aside_before_stays(void **state)
{
    char path[PATH_MAX], aside[PATH_MAX + 16];
    struct stat found;

    (void)state;
    fill_archive();
    snprintf(aside, sizeof(aside), "%.4000s.damaged", archived(3, path));
    assert_int_equal(mkdir(aside, 0700), 0);
    damage(path, 20000, false);
    snprintf(aside, sizeof(aside), "%.4000s.damaged", archived(4, path));
    write_text(aside, "first");
    damage(path, 20000, false);
    open_at(test.data, &test.kv);
    await_all();
    assert_int_equal(stats().archive.damaged, 2);
    assert_int_equal(stats().archive.failures, 0);
    assert_int_equal(stat(aside, &found), 0);
    assert_int_equal(found.st_size, 5);
    for (unsigned at = 3; at < 5; at++) {
        snprintf(aside, sizeof(aside), "%.4000s.damaged.2", archived(at, path));
        assert_true(exists(aside));
        assert_true(exists(path));
    }
}

/* Who shares the archive may make pipes and links in it: none is waited for, or followed. */
static void pipes_and_links_in_the_archive_are_no_segments(void **state)
{
    char path[PATH_MAX], aside[PATH_MAX + 16], link[PATH_MAX + 16], other[PATH_MAX + 16];
    struct stat found;

    (void)state;
    fill_archive();
    snprintf(other, sizeof(other), "%s.other", test.archive);
    write_text(other, "");
    snprintf(link, sizeof(link), "%.4000s.partial", archived(4, path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(other, link), 0);
    snprintf(aside, sizeof(aside), "%.4000s.damaged", archived(3, path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    open_at(test.data, &test.kv);
    await_all();
    assert_int_equal(stats().archive.damaged, 1);
    assert_int_equal(stats().archive.failures, 0);
    assert_true(exists(aside));
    assert_int_equal(lstat(path, &found), 0);
    assert_true(S_ISREG(found.st_mode));
    assert_int_equal(stat(other, &found), 0);
    assert_int_equal(found.st_size, 0);
    assert_int_equal(lstat(archived(4, path), &found), 0);
    assert_true(S_ISREG(found.st_mode));
}

static void make_pipe(const char *dir, const char *name, char *path)
{
    snprintf(path, PATH_MAX, "%.3000s/%.80s", dir, name);
    assert_true(unlink(path) == 0 || errno == ENOENT);
    assert_int_equal(mkfifo(path, 0600), 0);
}

/* To open one would take for ever. */
static void pipes_in_a_backup_are_not_waited_for(void **state)
{
    static const char *const files[] = {"FORMAT", "data.mdb"};
    char path[PATH_MAX], kept[PATH_MAX + 16];
    unsigned count;

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    put(test.kv, 120, 1);
    await_all();
    close_store();
    for (unsigned at = 0; at < 2; at++) {
        snprintf(path, sizeof(path), "%.3000s/%s", test.backup, files[at]);
        snprintf(kept, sizeof(kept), "%.4000s.kept", path);
        assert_int_equal(rename(path, kept), 0);
        make_pipe(test.backup, files[at], path);
        expect_failure(DUEQ_INVALID, UINT64_MAX);
        assert_non_null(strstr(test.error.text, "is not a regular file"));
        assert_int_equal(rename(kept, path), 0);
    }
    assert_int_equal(mkdir(test.made, 0700), 0);
    make_pipe(test.made, BACKUP_LABEL_FILE, path);
    snprintf(kept, sizeof(kept), "%s", test.backup);
    snprintf(test.backup, sizeof(test.backup), "%.3000s", test.made);
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_NOTFOUND);
    snprintf(test.backup, sizeof(test.backup), "%.3000s", kept);
    remove_made();
    count = list_archive(names, NAMES_MOST);
    assert_true(count >= 3);
    make_pipe(test.archive, names[count - 2], path); /* above the backup, and not the last */
    expect_failure(DUEQ_CORRUPT, UINT64_MAX);
}

static enum dueq_status restore_from(const char *one, const char *two)
{
    const struct kv_timeline timeline = {dueq_slice("M", 1), read_nothing};
    const char *archives[] = {one, two};

    test.recovery = (struct dueq_recovery){.backup = test.backup,
                                           .dir = test.made,
                                           .archives = archives,
                                           .archive_count = two == NULL ? 1 : 2,
                                           .to_lsn = UINT64_MAX,
                                           .to_time = INT64_MAX};
    return kv_recover(&test.recovery, &timeline, &test.io, &test.error);
}

static void another_copy_has_what_a_damaged_one_lacks(void **state)
{
    char path[PATH_MAX], other[PATH_MAX + 16], command[2 * PATH_MAX + 64];
    const uint8_t damage[64] = {0};
    struct stat found;

    (void)state;
    put(test.kv, 30, 1);
    back_up();
    put(test.kv, 120, 1);
    close_store();
    snprintf(other, sizeof(other), "%s.other", test.archive);
    snprintf(command, sizeof(command), "cp -r '%s' '%s'", test.archive, other);
    assert_int_equal(system(command), 0);
    for (unsigned at = list_archive(names, NAMES_MOST); at-- > 0;) {
        int fd = open(archived(at, path), O_RDWR);

        assert_int_equal(fstat(fd, &found), 0);
        assert_int_equal(pwrite(fd, damage, sizeof(damage), found.st_size - 64), 64);
        close(fd);
    }
    assert_int_equal(restore_from(test.archive, NULL), DUEQ_CORRUPT);
    if (restore_from(test.archive, other) != DUEQ_OK)
        fail_msg("%s", test.error.text);
    expect_records(test.made, 150, 1);
    remove_made();
    if (restore_from(other, test.archive) != DUEQ_OK)
        fail_msg("%s", test.error.text);
    expect_records(test.made, 150, 1);
}

/* An archive may have the segments of years, and the backup may be of yesterday. */
static void segments_below_the_backup_are_not_read(void **state)
{
    char path[PATH_MAX];
    struct stat found;
    uint64_t all = 0;

    (void)state;
    put(test.kv, 900, 1);
    back_up();
    put(test.kv, 100, 1);
    close_store();
    for (unsigned at = list_archive(names, NAMES_MOST); at-- > 0;) {
        assert_int_equal(stat(archived(at, path), &found), 0);
        all += (uint64_t)found.st_size;
    }
    test.read = 0;
    assert_int_equal(restore_from(test.archive, NULL), DUEQ_OK);
    assert_true(test.read > 0);
    if (test.read > all * 3 / 4)
        fail_msg("%" PRIu64 " of %" PRIu64 " bytes were read", atomic_load(&test.read), all);
    expect_records(test.made, 1000, 1);
}

/* Each byte of a segment counts, but for the note that nobody reads. */
static void a_flipped_bit_is_found(void **state)
{
    char path[PATH_MAX];
    struct dice dice;
    struct stat found;
    uint64_t last;
    unsigned count, harmless = 0;

    (void)state;
    dice_begin(&dice);
    put(test.kv, 30, 1);
    back_up();
    put(test.kv, 120, 1);
    last = kv_last_lsn(test.kv);
    close_store();
    count = list_archive(names, NAMES_MOST);
    for (int i = 0; i < 40; i++) {
        int fd = open(archived((unsigned)dice_roll(&dice, count), path), O_RDWR);
        uint8_t byte, flipped;
        off_t at;

        assert_int_equal(fstat(fd, &found), 0);
        at = i < 4 ? i * 24 : (off_t)dice_roll(&dice, (uint64_t)found.st_size);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        flipped = byte ^ (uint8_t)(1 << dice_roll(&dice, 8));
        assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
        if (restore(UINT64_MAX, 0) == DUEQ_OK) {
            expect_records(test.made, last, 1); /* below the backup, or padding */
            remove_made();
            harmless++;
        } else {
            assert_false(exists(test.made));
        }
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    assert_true(harmless < 40);
    expect_restore(UINT64_MAX, last, 1);
}

static void a_missing_segment_is_found(void **state)
{
    char path[PATH_MAX], away[PATH_MAX + 16];
    unsigned count;

    (void)state;
    back_up();
    put(test.kv, 200, 1);
    close_store();
    count = list_archive(names, NAMES_MOST);
    assert_true(count > 3);
    snprintf(away, sizeof(away), "%s/away", test.dir);
    for (unsigned at = 0; at < count - 1; at++) {
        assert_int_equal(rename(archived(at, path), away), 0);
        expect_failure(DUEQ_CORRUPT, UINT64_MAX);
        assert_int_equal(rename(away, path), 0);
    }
    expect_restore(UINT64_MAX, 200, 1);
}

/* The archive has what a kill left of a copy; and the segment itself, not yet known to be
 * there. */
static void a_kill_in_the_middle_is_made_good(void **state)
{
    char path[PATH_MAX], partial[PATH_MAX + 16];
    uint64_t last;
    FILE *file;

    (void)state;
    back_up();
    put(test.kv, 200, 1);
    await_archive(2);
    list_archive(names, NAMES_MOST);
    snprintf(partial, sizeof(partial), "%s.partial", archived(1, path));
    assert_int_equal(rename(path, partial), 0);
    file = fopen(partial, "r+");
    assert_non_null(file);
    fputs("rubbish", file);
    fclose(file);
    kv_abandon(test.kv);
    open_at(test.data, &test.kv);
    put(test.kv, 100, 1);
    last = kv_last_lsn(test.kv);
    close_store();
    if (exists(path)) /* it was still in the journal */
        expect_restore(UINT64_MAX, last, 1);
    else
        expect_failure(DUEQ_CORRUPT, UINT64_MAX);
}

static void copy_data(const char *to)
{
    char command[3 * PATH_MAX];

    snprintf(command, sizeof(command), "cp -a '%s' '%s'", test.data, to);
    assert_int_equal(system(command), 0);
}

/* Two servers on copies of one directory: the second must not replace what the first wrote. */
static void two_that_write_the_same_records_are_told_apart(void **state)
{
    char twin[PATH_MAX];

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    close_store();
    snprintf(twin, sizeof(twin), "%s/twin", test.dir);
    copy_data(twin);
    open_at(test.data, &test.kv);
    put(test.kv, 100, 2);
    close_store();
    open_at(twin, &test.kv);
    put(test.kv, 100, 3);
    for (unsigned turn = 0; stats().archive.failures == 0; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(1000);
    }
    assert_int_equal(stats().archive.status, DUEQ_DUPLICATE);
    kv_abandon(test.kv);
    test.kv = NULL;
    expect_restore(UINT64_MAX, 160, 2);
}

/* After a restore the new store goes on, into the same archive. */
static void what_went_on_after_a_restore_comes_back_or_what_was_before(void **state)
{
    struct archive_name old;
    uint64_t last;

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    put(test.kv, 200, 1);
    last = kv_last_lsn(test.kv);
    close_store();
    list_archive(names, NAMES_MOST);
    assert_true(archive_name_read(names[0], &old));
    assert_int_equal(restore(150, 0), DUEQ_OK);
    assert_int_equal(rename(test.made, test.data) == 0 || errno == ENOTEMPTY, 1);
    snprintf(test.data, sizeof(test.data), "%s/again", test.dir);
    assert_int_equal(rename(test.made, test.data), 0);
    open_at(test.data, &test.kv);
    assert_int_equal(kv_epoch(test.kv), 1);
    put(test.kv, 70, 2);
    close_store();
    expect_restore(UINT64_MAX, 220, 2);
    expect_restore(150, 150, 1);
    expect_restore(151, 151, 2);
    assert_int_equal(restore(UINT64_MAX, old.history), DUEQ_OK);
    expect_records(test.made, last, 1);
    remove_made();
    assert_int_equal(restore(UINT64_MAX, 12345), DUEQ_NOTFOUND);
}

/* Two went on from the same backup, as if it were theirs. */
static void two_histories_must_be_chosen_from(void **state)
{
    char command[3 * PATH_MAX], twin[PATH_MAX];

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    close_store();
    for (uint8_t mark = 2; mark < 4; mark++) {
        snprintf(twin, sizeof(twin), "%s/twin%d", test.dir, mark);
        snprintf(command, sizeof(command), "cp -a '%s' '%s'", test.backup, twin);
        assert_int_equal(system(command), 0);
        open_at(twin, &test.kv);
        put(test.kv, 100, mark);
        close_store();
    }
    expect_failure(DUEQ_DUPLICATE, UINT64_MAX);
}

static enum dueq_status increment(const char *name, const char *base, char *path)
{
    enum dueq_status status;
    char base_path[PATH_MAX];

    snprintf(path, PATH_MAX, "%.3000s/%s", test.dir, name);
    snprintf(base_path, sizeof(base_path), "%.3000s/%s", test.dir, base);
    status = kv_backup_from(test.kv, path, base_path);
    for (unsigned turn = 0; status == DUEQ_OK && stats().backup_running; turn++) {
        assert_true(turn < TURNS_MOST);
        kv_maintain(test.kv, false);
        usleep(1000);
    }
    return status == DUEQ_OK ? stats().backup_status : status;
}

/* Without the archive: each has what it needs, with what it goes on from. */
static void increments_need_no_archive(void **state)
{
    char one[PATH_MAX], two[PATH_MAX];
    struct dice dice;
    uint64_t last;

    (void)state;
    dice_begin(&dice);
    put(test.kv, 60 + (unsigned)dice_roll(&dice, 50), 1);
    back_up();
    put(test.kv, (unsigned)dice_roll(&dice, 200), 1);
    assert_int_equal(increment("one", "backup", one), DUEQ_OK);
    assert_int_equal(stats().backup_lsn, kv_last_lsn(test.kv));
    put(test.kv, 100, 1);
    assert_int_equal(increment("two", "one", two), DUEQ_OK);
    last = kv_last_lsn(test.kv);
    put(test.kv, 50, 1);
    assert_int_equal(increment("one", "backup", one), DUEQ_DUPLICATE);
    assert_int_equal(increment("three", "nothing", one), DUEQ_NOTFOUND);
    close_store();
    strcpy(test.backup, two);
    test.recovery = (struct dueq_recovery){
        .backup = test.backup, .dir = test.made, .to_lsn = UINT64_MAX, .to_time = INT64_MAX};
    if (recovery_run(&test.recovery, &test.error) != DUEQ_OK)
        fail_msg("%s", test.error.text);
    assert_true(test.recovery.lsn >= last && test.recovery.lsn <= last + 50);
    expect_records(test.made, test.recovery.lsn, 1);
    remove_made();
    expect_restore(last + 20, last + 20, 1); /* and on with the archive */
}

static void an_increment_of_another_store_or_over_a_gap_is_refused(void **state)
{
    char path[PATH_MAX];
    unsigned count;

    (void)state;
    put(test.kv, 60, 1);
    await_all();
    back_up();
    put_segments(4, 1);
    count = list_archive(names, NAMES_MOST);
    assert_true(count >= 4);
    assert_int_equal(unlink(archived(count - 2, path)), 0);
    assert_int_equal(increment("one", "backup", path), DUEQ_CORRUPT);
    assert_false(exists(path));
    kv_abandon(test.kv);
    snprintf(test.data, sizeof(test.data), "%s/other", test.dir);
    open_at(test.data, &test.kv);
    put(test.kv, 100, 1);
    assert_int_equal(increment("one", "backup", path), DUEQ_STALE);
    kv_abandon(test.kv);
    test.options.archive_dir = NULL;
    open_at(test.data, &test.kv);
    assert_int_equal(increment("one", "backup", path), DUEQ_WRONGSTATE);
}

static void an_increment_tells_why_the_archive_fails(void **state)
{
    char path[PATH_MAX];

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    atomic_store(&test.archive_full, true);
    put(test.kv, 100, 1);
    assert_int_equal(increment("one", "backup", path), DUEQ_FULL);
    assert_false(exists(path));
}

static void a_place_that_is_taken_is_refused(void **state)
{
    char path[PATH_MAX + 16];

    (void)state;
    put(test.kv, 60, 1);
    back_up();
    assert_int_equal(mkdir(test.made, 0700), 0);
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_OK); /* it is empty */
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_INVALID);
    remove_made();
    snprintf(path, sizeof(path), "%s.partial", test.made);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_INVALID);
    assert_true(exists(path));
    assert_int_equal(rmdir(path), 0);
    strcpy(test.backup, test.data); /* in use */
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_LOCKED);
    strcpy(test.backup, test.archive);
    assert_int_equal(restore(UINT64_MAX, 0), DUEQ_NOTFOUND);
    assert_false(exists(path));
}

/* A stopped server, and nothing else. */
static void a_directory_with_its_journal_is_a_backup(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    test.options.archive_dir = NULL;
    open_at(test.data, &test.kv);
    put(test.kv, 130, 1);
    kv_abandon(test.kv);
    test.kv = NULL;
    strcpy(test.backup, test.data);
    expect_restore(UINT64_MAX, 130, 1);
    expect_restore(120, 120, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_copy_is_synced_before_it_has_its_name_and_after),
        TEST(a_copy_that_is_there_is_synced_before_it_counts),
        TEST(what_a_backup_says_of_itself_is_synced_before_it_has_its_name),
        TEST(a_restored_store_is_synced_before_it_has_its_name_and_after),
        TEST(a_store_comes_back_at_any_record),
        TEST(a_store_comes_back_at_any_time),
        TEST(nothing_is_lost_while_the_archive_is_away),
        TEST(a_full_archive_is_said_and_waited_for),
        TEST(an_archive_that_keeps_other_bytes_is_tried_again),
        TEST(what_waits_for_too_long_is_given_up),
        TEST(segments_that_end_early_are_freed),
        TEST(the_limit_counts_files_not_records),
        TEST(damaged_files_are_set_aside_and_written_anew),
        TEST(a_file_that_cannot_be_opened_is_not_replaced),
        TEST(what_was_set_aside_before_stays),
        TEST(pipes_in_a_backup_are_not_waited_for),
        TEST(pipes_and_links_in_the_archive_are_no_segments),
        TEST(another_copy_has_what_a_damaged_one_lacks),
        TEST(segments_below_the_backup_are_not_read),
        TEST(a_flipped_bit_is_found),
        TEST(a_missing_segment_is_found),
        TEST(a_kill_in_the_middle_is_made_good),
        TEST(two_that_write_the_same_records_are_told_apart),
        TEST(what_went_on_after_a_restore_comes_back_or_what_was_before),
        TEST(two_histories_must_be_chosen_from),
        TEST(increments_need_no_archive),
        TEST(an_increment_of_another_store_or_over_a_gap_is_refused),
        TEST(an_increment_tells_why_the_archive_fails),
        TEST(a_place_that_is_taken_is_refused),
        TEST(a_directory_with_its_journal_is_a_backup),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
