/* Compaction: what is deleted comes back to the disk, what is kept stays as it was, and what
 * reads the file before goes on. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/kv/lmdb_internal.h"
#include "storage/kv/lmdb_store.h"
#include "storage/kv/pages/pages_internal.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 1500, KEPT_EACH = 50, SMALL = 2000, LARGE = 300000, TURNS_MOST = 100000 };

static struct {
    char *dir;
    struct dueq_io io;
    uint64_t free_bytes;
    bool elsewhere_full;  /* the disks of other directories */
    uint64_t usec;        /* added to the clock */
    atomic_bool no_files; /* for the journal */
    atomic_bool held;     /* the copy, before its first byte */
    struct dueq_options options;
    struct kv *kv;
} test;

static int tell_free_bytes(void *arg, const char *path, uint64_t *ret_bytes)
{
    bool elsewhere = strncmp(path, test.dir, strlen(test.dir)) != 0;

    (void)arg;
    *ret_bytes = elsewhere && test.elsewhere_full ? 0 : test.free_bytes;
    return 0;
}

static uint64_t tell_usec(void *arg)
{
    return io_system.monotonic_usec(arg) + test.usec;
}

static int open_file(void *arg, const char *path, int flags, mode_t mode)
{
    if (strstr(path, "/journal/") != NULL && (flags & O_CREAT) != 0 && test.no_files) {
        errno = ENOSPC;
        return -1;
    }
    if (strstr(path, "/data.mdb.new") != NULL)
        for (unsigned i = 0; test.held && i < TURNS_MOST; i++)
            usleep(100);
    return io_system.open(arg, path, flags, mode);
}

static void open_space(void)
{
    struct dueq_error error = {""};

    if (kv_open(test.dir, &test.options, &test.kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

static int set_up(void **state)
{
    (void)state;
    test.dir = temp_dir_new();
    test.io = io_system;
    test.io.free_bytes = tell_free_bytes;
    test.io.open = open_file;
    test.no_files = test.held = false;
    test.io.monotonic_usec = tell_usec;
    test.free_bytes = (uint64_t)1 << 40;
    test.elsewhere_full = false;
    test.usec = 0;
    dueq_options_init(&test.options);
    test.options.durability = DUEQ_SYNC_NONE;
    test.options.memtable_bytes = 1 << 20;
    test.options.segment_bytes = 1 << 20;
    test.options.journal_bytes = 16 << 20;
    test.options.map_bytes = 256 << 20;
    test.options.disk_reserve_bytes = 0;
    test.options.auto_compact_percent = 0;
    test.options.io = &test.io;
    open_space();
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

static struct dueq_slice key_of(unsigned at, char *space)
{
    return dueq_slice(space, (size_t)sprintf(space, "%c%06u", "kQU"[at % 3], at));
}

static struct dueq_slice value_of(unsigned at)
{
    static uint8_t value[LARGE];
    size_t size = at % 500 == 0 ? LARGE : SMALL + at % 3000;

    memset(value, (int)(at % 251), size);
    return dueq_slice(value, size);
}

static void commit(void)
{
    uint64_t lsn;

    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    kv_maintain(test.kv, false);
}

static void put_all(void)
{
    char space[16];

    for (unsigned at = 0; at < KEYS; at++) {
        kv_put(test.kv, key_of(at, space), value_of(at), false);
        if (at % 20 == 19)
            commit();
    }
    commit();
}

static bool is_kept(unsigned at)
{
    return at % KEPT_EACH == 0;
}

static void delete_most(void)
{
    char space[16];

    for (unsigned at = 0; at < KEYS; at++)
        if (!is_kept(at))
            kv_del(test.kv, key_of(at, space));
    commit();
}

static void checkpoint(void)
{
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    kv_maintain(test.kv, false);
}

static void check_kept(void)
{
    struct dueq_slice value;
    char space[16];

    for (unsigned at = 0; at < KEYS; at++) {
        enum dueq_status status = kv_get(test.kv, key_of(at, space), &value);

        assert_int_equal(status, is_kept(at) ? DUEQ_OK : DUEQ_NOTFOUND);
        if (status == DUEQ_OK)
            assert_true(dueq_slice_equal(value, value_of(at)));
    }
}

/* Makes turns until none runs. */
static void await(bool idle)
{
    for (unsigned turn = 0; stats().compaction_running; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(100);
        kv_maintain(test.kv, idle);
    }
}

static void compact(void)
{
    assert_int_equal(kv_compact(test.kv), DUEQ_OK);
    await(false);
    assert_int_equal(kv_status(test.kv), DUEQ_OK);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", test.dir, name);
    return access(path, F_OK) == 0;
}

static uint64_t file_length(void)
{
    char path[PATH_MAX];
    struct stat status;

    snprintf(path, sizeof(path), "%s/data.mdb", test.dir);
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

static void check_pages(void)
{
    uint64_t records;

    assert_int_equal(kv_check(test.kv, &records), DUEQ_OK);
}

/* ---- what comes back */

static void a_compaction_gives_back_what_is_free(void **state)
{
    uint64_t before;

    (void)state;
    put_all();
    delete_most();
    checkpoint();
    before = file_length();
    compact();
    assert_int_equal(stats().compactions, 1);
    assert_int_equal(stats().compaction_status, DUEQ_OK);
    assert_true(stats().compaction_before_bytes >= before);
    assert_int_equal(stats().compaction_after_bytes, file_length());
    assert_int_equal(stats().compaction_returned_bytes,
                     stats().compaction_before_bytes - file_length());
    assert_int_equal(stats().data_file_bytes, file_length());
    assert_true(file_length() < before / 2);
    assert_false(is_there("data.mdb.new"));
    assert_false(is_there("data.mdb.new-lock"));
    check_kept();
    check_pages();
}

/* What was deleted just now is in a memtable. */
static void what_was_deleted_before_the_request_counts(void **state)
{
    uint64_t before;

    (void)state;
    put_all();
    checkpoint();
    before = file_length();
    delete_most();
    compact();
    assert_true(file_length() < before / 2);
    check_kept();
}

static void the_store_goes_on_in_the_new_file(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        put_all();
        delete_most();
        compact();
        check_kept();
    }
    assert_int_equal(stats().compactions, 3);
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    open_space();
    check_kept();
    check_pages();
}

/* The next ones may find what the first has set aside, for runs that it then has folded. */
static void nothing_is_copied_for_nothing(void **state)
{
    (void)state;
    put_all();
    delete_most();
    for (int i = 0; i < 10; i++)
        compact();
    assert_in_range(stats().compactions, 1, 4);
    assert_int_equal(stats().compaction_failures, 0);
}

/* An embedder may not call kv_maintain for long. */
static void an_owner_that_waits_for_a_checkpoint_is_not_stuck(void **state)
{
    char space[16];

    (void)state;
    put_all();
    delete_most();
    assert_int_equal(kv_compact(test.kv), DUEQ_OK);
    kv_maintain(test.kv, false);
    kv_put(test.kv, key_of(1, space), value_of(1), false);
    commit();
    checkpoint();
    kv_del(test.kv, key_of(1, space));
    commit();
    await(false);
    check_kept();
}

/* Cycles of a queue in steady state: the file has about its full length after a few of them. It
 * grows by an eighth when large values find no free pages in a row, which is a matter of luck.
 */
static void a_steady_state_does_not_grow_the_file(void **state)
{
    uint64_t most = 0;

    (void)state;
    for (int cycle = 0; cycle < 25; cycle++) {
        put_all();
        checkpoint();
        delete_most();
        checkpoint();
        if (cycle < 12)
            most = file_length() > most ? file_length() : most;
        else
            assert_true(file_length() <= most + most / 2);
    }
    assert_int_equal(stats().compactions, 0);
}

/* ---- readers of the file before */

static void a_hold_keeps_its_value(void **state)
{
    static uint8_t copy[LARGE];
    struct dueq_slice value;
    struct dueq_hold *hold;
    char space[16];

    (void)state;
    memcpy(copy, value_of(500).data, LARGE);
    put_all();
    delete_most();
    checkpoint();
    assert_int_equal(kv_get(test.kv, key_of(500, space), &value), DUEQ_OK);
    hold = kv_hold(test.kv, value.data);
    assert_non_null(hold);
    compact();
    put_all();
    delete_most();
    checkpoint();
    assert_true(dueq_slice_equal(value, dueq_slice(copy, LARGE)));
    assert_int_equal(kv_compact(test.kv), DUEQ_OK); /* waits for the hold */
    for (int turn = 0; turn < 50; turn++)
        kv_maintain(test.kv, true);
    assert_int_equal(stats().compactions, 1);
    assert_true(dueq_slice_equal(value, dueq_slice(copy, LARGE)));
    kv_let_go(hold);
    await(false);
    assert_int_equal(stats().compactions, 2);
    check_kept();
}

static void a_cursor_goes_on_in_the_new_file(void **state)
{
    struct kv_cursor *cursor;
    unsigned seen = 0;

    (void)state;
    put_all();
    delete_most();
    checkpoint();
    cursor = kv_cursor_new(test.kv);
    assert_int_equal(kv_cursor_seek(cursor, text("\1")), DUEQ_OK);
    do {
        if (++seen == 10)
            compact();
    } while (kv_cursor_next(cursor) == DUEQ_OK);
    assert_int_equal(stats().compactions, 1);
    assert_int_equal(seen, KEYS / KEPT_EACH);
    kv_cursor_free(cursor);
}

/* ---- by itself */

static void make_sparse(void)
{
    put_all();
    delete_most();
    checkpoint();
}

/* For so many seconds there is little to do. */
static void pass(unsigned seconds)
{
    test.usec += (uint64_t)seconds * 1000 * 1000;
    for (int turn = 0; turn < 30; turn++)
        kv_maintain(test.kv, turn % 2 == 0);
}

static void a_quiet_store_compacts_a_sparse_file(void **state)
{
    (void)state;
    make_sparse();
    kv_set_auto_compact(test.kv, 100, 1 << 30);
    pass(60);
    assert_false(stats().compaction_running);
    kv_set_auto_compact(test.kv, 0, 0);
    pass(60);
    assert_false(stats().compaction_running);
    make_sparse();
    kv_set_auto_compact(test.kv, 100, 1 << 20);
    pass(2);
    assert_false(stats().compaction_running);
    pass(4);
    await(true);
    assert_int_equal(stats().compactions, 1);
    pass(60);
    await(true);
    assert_int_equal(stats().compactions, 1);
    check_kept();
}

/* Under load a file is compacted when it stays sparse. */
static void a_busy_store_compacts_what_stays_sparse(void **state)
{
    char space[16];
    int checkpoints = 0;

    (void)state;
    make_sparse();
    kv_set_auto_compact(test.kv, 100, 1 << 20);
    for (; stats().compactions == 0; checkpoints++) {
        assert_true(checkpoints < 20);
        kv_put(test.kv, key_of(0, space), value_of(0), false);
        commit();
        checkpoint();
        await(false);
    }
    assert_true(checkpoints >= 8);
    check_kept();
}

/* ---- for a checkpoint that finds no free pages in a row */

enum { PAGE_EACH = 3000, CRAMPED = 1900, IN_A_ROW = 600 * 1000 };

static struct dueq_slice row_value(unsigned at)
{
    static uint8_t value[IN_A_ROW];

    memset(value, (int)(at % 251), sizeof(value));
    return dueq_slice(value, sizeof(value));
}

/* A map of 2,048 pages of which each second one is free, and hardly any two in a row. Each
 * third key begins with k, and so never goes into a run. */
static void cramp(void)
{
    char space[16];

    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    test.options.map_bytes = 8 << 20;
    test.options.memtable_bytes = 8 << 20;
    open_space();
    for (unsigned at = 0; at < CRAMPED; at++) {
        struct dueq_slice value = dueq_slice(row_value(at).data, PAGE_EACH);

        kv_put(test.kv, key_of(3 * at, space), value, false);
        if (at % 100 == 99)
            commit();
    }
    checkpoint();
    for (unsigned at = 0; at < CRAMPED; at += 2)
        kv_del(test.kv, key_of(3 * at, space));
    commit();
    checkpoint();
}

static void put_in_a_row(unsigned count)
{
    char space[16];

    for (unsigned at = 0; at < count; at++)
        kv_put(test.kv, key_of(at, space), row_value(at), false);
    commit();
}

static void check_in_a_row(unsigned count)
{
    struct dueq_slice value;
    char space[16];

    for (unsigned at = 0; at < count; at++) {
        assert_int_equal(kv_get(test.kv, key_of(at, space), &value), DUEQ_OK);
        assert_true(dueq_slice_equal(value, row_value(at)));
    }
}

/* Makes turns until it is refused or has ended. */
static void await_refusal(void)
{
    kv_checkpoint_start(test.kv);
    while (stats().checkpoint_running && stats().checkpoint_failures < 20)
        usleep(100);
    assert_true(stats().checkpoint_running);
}

static void await_checkpoint(void)
{
    for (unsigned turn = 0; stats().checkpoint_running; turn++) {
        assert_true(turn < TURNS_MOST);
        usleep(100);
        kv_maintain(test.kv, false);
    }
}

static void what_was_taken_finds_pages_in_a_row(void **state)
{
    (void)state;
    cramp();
    put_in_a_row(1);
    await_refusal();
    await_checkpoint();
    assert_int_equal(stats().compactions, 1);
    check_in_a_row(1);
    check_pages();
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    open_space();
    check_in_a_row(1);
}

/* The checkpoint thread has committed nothing yet. */
static void what_was_taken_before_a_crash_finds_them_too(void **state)
{
    (void)state;
    cramp();
    put_in_a_row(1);
    await_refusal();
    kv_abandon(test.kv);
    open_space();
    check_in_a_row(1);
    await_refusal();
    assert_int_equal(kv_compact(test.kv), DUEQ_OK); /* who asks is not in the way */
    await_checkpoint();
    assert_in_range(stats().compactions, 1, 2);
    check_in_a_row(1);
    check_pages();
}

static void a_copy_for_a_checkpoint_waits_for_the_disk(void **state)
{
    (void)state;
    cramp();
    test.free_bytes = 0;
    put_in_a_row(1);
    await_refusal();
    for (int turn = 0; turn < 1000; turn++) {
        usleep(2000);
        kv_maintain(test.kv, false);
    }
    assert_int_equal(stats().compactions, 0);
    assert_true(stats().checkpoint_running);
    test.free_bytes = (uint64_t)1 << 40;
    await_checkpoint();
    assert_int_equal(stats().compactions, 1);
    check_in_a_row(1);
}

/* Fills the journal, which gets no more files. */
static enum dueq_status commit_until_refused(void)
{
    static const uint8_t bytes[LARGE];
    enum dueq_status status = DUEQ_OK;
    uint64_t lsn;

    for (unsigned i = 0; i < KEYS && status == DUEQ_OK; i++) {
        kv_put(test.kv, dueq_slice("key", 3), dueq_slice(bytes, sizeof(bytes)), false);
        status = kv_commit(test.kv, 1, &lsn);
    }
    return status;
}

/* Else each commit would wait, and with it all that one thread serves. */
static void a_full_journal_waits_once_for_a_refused_checkpoint(void **state)
{
    enum { COMMITS = 20, TRIES = 5 };
    uint64_t failures, lsn;

    (void)state;
    cramp();
    test.free_bytes = 0;
    test.no_files = true;
    put_in_a_row(1);
    await_refusal();
    assert_int_equal(commit_until_refused(), DUEQ_FULL);
    failures = stats().checkpoint_failures;
    for (unsigned i = 0; i < COMMITS; i++)
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_FULL);
    assert_in_range(stats().checkpoint_failures, failures, failures + TRIES);
    test.free_bytes = (uint64_t)1 << 40;
    test.no_files = false;
    await_checkpoint();
    commit();
    check_in_a_row(1);
}

/* What cannot fit at all is not copied again and again. */
static void a_map_that_is_really_full_is_copied_once(void **state)
{
    enum { MORE = 10 };

    (void)state;
    cramp();
    put_in_a_row(MORE);
    await_refusal();
    for (int turn = 0; turn < 3000; turn++) {
        usleep(1000);
        kv_maintain(test.kv, false);
    }
    assert_in_range(stats().compactions, 1, 2);
    assert_true(stats().checkpoint_running);
    assert_int_equal(kv_status(test.kv), DUEQ_OK);
    check_in_a_row(MORE);
}

/* A journal that is full waits for a checkpoint, but not for one that waits for a copy. */
static void a_commit_does_not_wait_for_a_copy(void **state)
{
    (void)state;
    cramp();
    put_in_a_row(1);
    await_refusal();
    test.no_files = test.held = true;
    for (unsigned turn = 0; turn < TURNS_MOST && !stats().compaction_running; turn++) {
        usleep(100);
        kv_maintain(test.kv, false);
    }
    assert_int_equal(commit_until_refused(), DUEQ_FULL);
    assert_true(stats().compaction_running);
    assert_int_equal(stats().compaction_copied_bytes, 0);
    test.no_files = test.held = false;
    await_checkpoint();
    commit();
    check_in_a_row(1);
}

/* ---- refusals */

static void no_disk_space_is_said_at_once(void **state)
{
    (void)state;
    make_sparse();
    test.free_bytes = 1 << 20;
    assert_int_equal(kv_compact(test.kv), DUEQ_FULL);
    assert_false(stats().compaction_running);
    check_kept();
}

/* Not in each turn, but after a minute, then after two. */
static void what_fails_by_itself_is_tried_again_later(void **state)
{
    (void)state;
    make_sparse();
    test.free_bytes = 1 << 20;
    kv_set_auto_compact(test.kv, 100, 1 << 20);
    pass(6);
    pass(6);
    assert_int_equal(stats().compaction_failures, 1);
    assert_int_equal(stats().compaction_status, DUEQ_FULL);
    pass(61);
    pass(6);
    assert_int_equal(stats().compaction_failures, 2);
    test.free_bytes = (uint64_t)1 << 40;
    pass(61);
    assert_int_equal(stats().compaction_failures, 2);
    assert_int_equal(stats().compactions, 0);
    pass(61);
    await(true);
    assert_int_equal(stats().compactions, 1);
    assert_int_equal(stats().compaction_status, DUEQ_OK);
}

static void what_a_crash_has_left_is_removed(void **state)
{
    static const char *const names[] = {"data.mdb.new", "data.mdb.new-lock"};

    (void)state;
    make_sparse();
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", test.dir, names[i]);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(fd, "half a copy", 11), 11);
        close(fd);
    }
    open_space();
    assert_false(is_there(names[0]));
    assert_false(is_there(names[1]));
    check_kept();
}

/* ---- a data file elsewhere */

/* Moves the data file of the closed store, and leaves a link. */
static void move_data(const char *elsewhere, char *link, char *target)
{
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    snprintf(link, PATH_MAX, "%s/data.mdb", test.dir);
    snprintf(target, PATH_MAX, "%s/pages", elsewhere);
    assert_int_equal(rename(link, target), 0);
    assert_int_equal(symlink(target, link), 0);
    open_space();
}

/* The file grows there, not where the link is. */
static void the_room_is_that_of_the_disk_that_a_link_leads_to(void **state)
{
    enum { LARGE_ASK = 16 << 20 };
    char link[PATH_MAX], target[PATH_MAX];
    char *elsewhere = temp_dir_new();

    (void)state;
    make_sparse();
    move_data(elsewhere, link, target);
    assert_int_equal(stats().disk_free_bytes, test.free_bytes);
    test.elsewhere_full = true;
    assert_int_equal(stats().disk_free_bytes, 0);
    assert_int_equal(kv_room(test.kv, LARGE_ASK), DUEQ_FULL);
    assert_int_equal(kv_compact(test.kv), DUEQ_FULL);
    test.elsewhere_full = false;
    assert_int_equal(kv_room(test.kv, LARGE_ASK), DUEQ_OK);
    check_kept();
    temp_dir_remove(elsewhere);
}

static void what_a_link_leads_to_is_compacted(void **state)
{
    char link[PATH_MAX], target[PATH_MAX];
    char *elsewhere = temp_dir_new();
    struct stat before, after;

    (void)state;
    make_sparse();
    move_data(elsewhere, link, target);
    assert_int_equal(stat(target, &before), 0);
    compact();
    assert_int_equal(stats().compactions, 1);
    check_kept();
    assert_int_equal(lstat(link, &after), 0);
    assert_true(S_ISLNK(after.st_mode));
    assert_int_equal(stat(target, &after), 0);
    assert_true(after.st_size < before.st_size);
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    open_space();
    check_kept();
    temp_dir_remove(elsewhere);
}

/* ---- the room that the copy must have */

enum { MIB = 1 << 20, PROMISED = MIB, LATER = 8 << 20, LATEST = 32 << 20 };

static struct lmdb_store *lmdb;

static bool promise_more(void *arg, uint64_t copied)
{
    (void)arg;
    (void)copied;
    return lmdb_promise(lmdb, LATER) == DUEQ_OK;
}

static int refuse_blocks(void *arg, int fd, off_t offset, off_t size)
{
    (void)arg;
    (void)fd;
    (void)offset;
    (void)size;
    errno = ENOSPC;
    return -1;
}

static void open_lmdb(void)
{
    struct dueq_error error = {""};

    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    test.kv = NULL;
    assert_int_equal(lmdb_store_open(test.dir, test.options.map_bytes, &test.io, &lmdb, &error),
                     DUEQ_OK);
}

static void a_copy_has_the_room_that_is_promised(void **state)
{
    struct lmdb_room room;
    bool lost = false;

    (void)state;
    make_sparse();
    open_lmdb();
    lmdb_begin_promise(lmdb, PROMISED, 0);
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_OK);
    assert_int_equal(lmdb_take_copy(lmdb, &lost), DUEQ_OK);
    lmdb_get_room(lmdb, &room);
    assert_true(room.file - room.used >= LATER);
    assert_int_equal(room.end, room.used);

    test.io.fallocate = refuse_blocks; /* what is promised now must be there now */
    assert_int_equal(lmdb_promise(lmdb, LATEST), DUEQ_FULL);
    assert_int_equal(lmdb_promise(lmdb, LATER), DUEQ_OK);
    test.io.fallocate = io_system.fallocate;
    assert_int_equal(lmdb_promise(lmdb, LATEST), DUEQ_OK);
    lmdb_get_room(lmdb, &room);
    assert_true(room.file - room.used >= LATEST);
    lmdb_end_promise(lmdb);
    lmdb_store_close(lmdb);
}

/* Not when it begins, and not when the owner promises more. */
static void a_copy_leaves_the_disk_reserve(void **state)
{
    static const uint64_t left[] = {MIB / 2, 6 * MIB};
    bool lost = false;

    (void)state;
    make_sparse();
    open_lmdb();
    test.free_bytes = 64 * MIB;
    for (int i = 0; i < 2; i++) {
        lmdb_begin_promise(lmdb, PROMISED, test.free_bytes - left[i]);
        assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_FULL);
        assert_false(is_there("data.mdb.new"));
    }
    lmdb_begin_promise(lmdb, PROMISED, test.free_bytes - 32 * MIB);
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_OK);
    assert_int_equal(lmdb_take_copy(lmdb, &lost), DUEQ_OK);
    lmdb_end_promise(lmdb);
    assert_int_equal(lmdb_renew(lmdb), DUEQ_OK);
    lmdb_store_close(lmdb);
}

/* It takes memory and reads the list of free pages: the store would fail without the memory,
 * and a copy is only dropped. */
static void the_first_look_at_a_copy_is_before_its_use(void **state)
{
    const struct pages *reader;
    bool lost = false;

    (void)state;
    make_sparse();
    open_lmdb();
    lmdb_begin_promise(lmdb, PROMISED, 0);
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_OK);
    reader = lmdb->copy->reader;
    assert_non_null(reader->sound);
    assert_non_null(reader->unused);
    assert_true(reader->meta.txnid > 0);
    assert_int_equal(lmdb_take_copy(lmdb, &lost), DUEQ_OK);
    assert_int_equal(lmdb_renew(lmdb), DUEQ_OK);
    lmdb_store_close(lmdb);
}

static void a_copy_without_room_is_dropped(void **state)
{
    (void)state;
    make_sparse();
    open_lmdb();
    test.io.fallocate = refuse_blocks;
    lmdb_begin_promise(lmdb, PROMISED, 0);
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_FULL);
    assert_false(is_there("data.mdb.new"));
    test.io.fallocate = io_system.fallocate;
    lmdb_store_close(lmdb);
    open_space();
    check_kept();
}

/* Breaks a page that no search in this test reads. */
static void damage(struct dueq_slice value)
{
    static uint8_t step[LARGE * 2];
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/data.mdb", test.dir);
    fd = open(path, O_RDWR);
    for (off_t at = 0; pread(fd, step, sizeof(step), at) > 0; at += LARGE) {
        uint8_t *found = memmem(step, sizeof(step), value.data, value.size);

        if (found == NULL)
            continue;
        assert_int_equal(pwrite(fd, "broken", 6, at + (found - step) + (off_t)value.size / 2),
                         6);
        close(fd);
        return;
    }
    fail_msg("there is no such value");
}

/* What is damaged is not copied: the rest can be read on. */
static void damage_stops_a_compaction_and_not_the_store(void **state)
{
    struct dueq_slice value;
    char space[16];

    (void)state;
    make_sparse();
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    damage(value_of(500));
    open_space();
    compact();
    assert_int_equal(stats().compactions, 0);
    assert_int_equal(stats().compaction_status, DUEQ_CORRUPT);
    assert_false(is_there("data.mdb.new"));
    assert_int_equal(kv_get(test.kv, key_of(50, space), &value), DUEQ_OK);
    assert_int_equal(kv_get(test.kv, key_of(500, space), &value), DUEQ_CORRUPT);
}

static int refuse_rename(void *arg, const char *from, const char *to)
{
    (void)arg;
    (void)from;
    (void)to;
    errno = EIO;
    return -1;
}

/* The disk may lose what it had when the page was checked first. */
static void what_was_sound_before_is_checked_again(void **state)
{
    struct dueq_slice small = dueq_slice("within a leaf", 13);
    bool lost = false;

    (void)state;
    kv_put(test.kv, dueq_slice("ksmall", 6), small, false);
    make_sparse();
    open_lmdb();
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_OK);
    test.io.rename = refuse_rename;
    assert_int_equal(lmdb_take_copy(lmdb, &lost), DUEQ_IO);
    test.io.rename = io_system.rename;
    assert_false(lost);
    damage(small);
    assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_CORRUPT);
    assert_false(is_there("data.mdb.new"));
    lmdb_store_close(lmdb);
}

static int rename_and_fail(void *arg, const char *from, const char *to)
{
    io_system.rename(arg, from, to);
    errno = EIO;
    return -1;
}

/* A rename that fails may have happened: then the store must not go on in the old file. */
static void a_name_that_may_have_changed_is_looked_at(void **state)
{
    int (*const renames[])(void *, const char *, const char *) = {refuse_rename,
                                                                  rename_and_fail};

    (void)state;
    make_sparse();
    open_lmdb();
    for (int i = 0; i < 2; i++) {
        bool lost = false;

        assert_int_equal(lmdb_copy(lmdb, promise_more, NULL), DUEQ_OK);
        test.io.rename = renames[i];
        assert_int_equal(lmdb_take_copy(lmdb, &lost), DUEQ_IO);
        test.io.rename = io_system.rename;
        assert_int_equal(lost, i == 1);
        assert_false(is_there("data.mdb.new"));
    }
    lmdb_store_close(lmdb);
    open_space();
    check_kept();
}

#define compaction_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        compaction_test(a_compaction_gives_back_what_is_free),
        compaction_test(what_was_deleted_before_the_request_counts),
        compaction_test(the_store_goes_on_in_the_new_file),
        compaction_test(nothing_is_copied_for_nothing),
        compaction_test(an_owner_that_waits_for_a_checkpoint_is_not_stuck),
        compaction_test(a_steady_state_does_not_grow_the_file),
        compaction_test(a_hold_keeps_its_value),
        compaction_test(a_cursor_goes_on_in_the_new_file),
        compaction_test(a_quiet_store_compacts_a_sparse_file),
        compaction_test(a_busy_store_compacts_what_stays_sparse),
        compaction_test(what_was_taken_finds_pages_in_a_row),
        compaction_test(what_was_taken_before_a_crash_finds_them_too),
        compaction_test(a_copy_for_a_checkpoint_waits_for_the_disk),
        compaction_test(a_map_that_is_really_full_is_copied_once),
        compaction_test(a_full_journal_waits_once_for_a_refused_checkpoint),
        compaction_test(a_commit_does_not_wait_for_a_copy),
        compaction_test(no_disk_space_is_said_at_once),
        compaction_test(what_fails_by_itself_is_tried_again_later),
        compaction_test(what_a_crash_has_left_is_removed),
        compaction_test(what_a_link_leads_to_is_compacted),
        compaction_test(the_room_is_that_of_the_disk_that_a_link_leads_to),
        compaction_test(a_copy_has_the_room_that_is_promised),
        compaction_test(a_copy_leaves_the_disk_reserve),
        compaction_test(the_first_look_at_a_copy_is_before_its_use),
        compaction_test(a_copy_without_room_is_dropped),
        compaction_test(damage_stops_a_compaction_and_not_the_store),
        compaction_test(what_was_sound_before_is_checked_again),
        compaction_test(a_name_that_may_have_changed_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
