/* A disk that fails, fills up, or interrupts calls: durable records stay durable, failed ones
 * never become durable, and a full disk can be drained. */
#include "storage/kv/journal/segment.h"
#include "tests/support/store/journal_rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct journal_rig rig;

static int set_up(void **state)
{
    (void)state;
    rig_init(&rig);
    rig_reopen(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_release(&rig);
    return 0;
}

/* Appends and waits until something fails; returns the last LSN that was durable before. */
static uint64_t append_until_failure(void)
{
    uint64_t settled = journal_durable_lsn(rig.journal);

    while (rig_try(&rig, 500) == DUEQ_OK &&
           journal_wait(rig.journal, journal_last_lsn(rig.journal)) == DUEQ_OK)
        settled = journal_durable_lsn(rig.journal);
    return settled;
}

/* The journal has failed for good: no append succeeds and nothing becomes durable, although the
 * disk works again. */
static void expect_failed(uint64_t settled, const char *call)
{
    uint64_t last = journal_last_lsn(rig.journal);

    assert_int_equal(journal_status(rig.journal), DUEQ_IO);
    assert_non_null(strstr(journal_failure(rig.journal), call));
    assert_non_null(strstr(journal_failure(rig.journal), "/journal/"));
    assert_non_null(strstr(journal_failure(rig.journal), strerror(EIO)));
    assert_int_equal(rig_try(&rig, 100), DUEQ_IO);
    assert_int_equal(journal_wait(rig.journal, last + 1), DUEQ_IO);
    assert_int_equal(journal_sync(rig.journal), last > settled ? DUEQ_IO : DUEQ_OK);
    assert_int_equal(journal_durable_lsn(rig.journal), settled);
    assert_int_equal(journal_last_lsn(rig.journal), last);
}

/* The failed record may exist or not; the journal continues after the last one. */
static void expect_reopening_from(uint64_t settled)
{
    rig_reopen(&rig);
    assert_true(rig.read_to == settled || rig.read_to == settled + 1);
    settled = rig_append(&rig, 500);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, settled);
}

/* later_every is odd: the sync thread writes the others, too. */
static void fail_nth(enum disk_call call, unsigned nth, unsigned later_every, const char *name)
{
    uint64_t settled;

    set_up(NULL);
    rig.options.stage_bytes = later_every % 2 * RIG_SEGMENT;
    rig.later_every = later_every;
    fake_disk_fail(rig.disk, call, nth, 1, EIO);
    settled = append_until_failure();
    expect_failed(settled, name);
    expect_reopening_from(settled);
    tear_down(NULL);
}

static void after_a_failed_write_nothing_becomes_durable(void **state)
{
    (void)state;
    for (unsigned nth = 0; nth < 25; nth++)
        for (unsigned later_every = 0; later_every < 3; later_every++)
            fail_nth(DISK_WRITE, nth, later_every, "write");
}

static void after_a_failed_sync_nothing_becomes_durable(void **state)
{
    (void)state;
    for (unsigned nth = 0; nth < 25; nth++)
        for (unsigned later_every = 0; later_every < 3; later_every++)
            fail_nth(DISK_SYNC, nth, later_every, "fdatasync");
}

static void after_a_failed_name_sync_nothing_becomes_durable(void **state)
{
    (void)state;
    for (unsigned nth = 0; nth < 4; nth++)
        fail_nth(DISK_SYNC_NAMES, nth, nth % 2, "directory");
}

static void a_segment_that_cannot_be_made_fails_the_journal(void **state)
{
    static const enum disk_call calls[] = {DISK_OPEN, DISK_ALLOCATE, DISK_RENAME};

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (unsigned nth = 0; nth < 3; nth++)
            fail_nth(calls[i], nth, nth % 2, "segment");
}

static void a_waiter_is_woken_by_a_failure(void **state)
{
    (void)state;
    fake_disk_hold_syncs(rig.disk, true);
    assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
    fake_disk_fail(rig.disk, DISK_SYNC, 0, 1, EIO);
    fake_disk_hold_syncs(rig.disk, false);
    assert_int_equal(journal_wait(rig.journal, 1), DUEQ_IO);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
}

/* After a failed sync Linux does not write the pages again, but reads still return them: an
 * opening must read what a power cut would leave. */
static void what_a_failed_sync_lost_is_not_read_back(void **state)
{
    struct dice dice = {7};

    (void)state;
    for (int round = 0; round < 40; round++) {
        uint64_t found;

        for (int i = 0; i < 4; i++)
            rig_append(&rig, 500);
        fake_disk_fail(rig.disk, DISK_SYNC, 0, 1, EIO);
        append_until_failure();
        rig_reopen(&rig);
        found = rig.read_to;
        rig_close(&rig);
        fake_disk_restart(rig.disk, &dice);
        rig_reopen(&rig);
        assert_int_equal(rig.read_to, found);
    }
}

static void interrupted_and_short_transfers_are_continued(void **state)
{
    (void)state;
    fake_disk_shorten(rig.disk, 61);
    journal_prepare(rig.journal);
    assert_true(journal_has_room(rig.journal));
    for (size_t size = RIG_PAYLOAD_LEAST; size < 900; size += 19)
        rig_append(&rig, size);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 47);
    fake_disk_shorten(rig.disk, 0);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 47);
}

static void an_interrupted_allocation_is_tried_again(void **state)
{
    (void)state;
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 0, 3, EINTR);
    rig_append(&rig, 100);
}

/* One open of each commit succeeds: that of the segment, which needs a descriptor anyway. */
static void the_name_of_a_segment_is_synced_without_a_free_descriptor(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        fake_disk_fail(rig.disk, DISK_OPEN, 1, FAKE_DISK_ALWAYS, i % 2 == 0 ? EMFILE : ENFILE);
        rig_append(&rig, 500);
        assert_int_equal(journal_status(rig.journal), DUEQ_OK);
    }
    fake_disk_fail(rig.disk, DISK_OPEN, 0, 0, 0);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 20);
}

static void a_journal_that_failed_between_syncs_can_be_closed(void **state)
{
    (void)state;
    rig.options.durability = DUEQ_SYNC_INTERVAL;
    rig.options.interval_ms = 3600 * 1000;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    fake_disk_fail(rig.disk, DISK_WRITE, 0, 1, EIO);
    assert_int_equal(rig_try(&rig, 100), DUEQ_IO);
    rig_close(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 1);
}

/* Whatever the mode says. */
static void a_record_that_asks_for_a_sync_is_not_durable_after_a_failed_one(void **state)
{
    (void)state;
    for (int mode = DUEQ_SYNC_ALWAYS; mode <= DUEQ_SYNC_NONE; mode++) {
        uint64_t settled;

        rig.options.durability = (enum dueq_durability)mode;
        rig.options.interval_ms = 3600 * 1000;
        rig_reopen(&rig);
        rig.asks = ASKS_INTERVAL;
        settled = rig_append(&rig, 100);
        fake_disk_fail(rig.disk, DISK_SYNC, 0, 1, EIO);
        rig.asks = ASKS_ALWAYS;
        assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
        assert_int_equal(journal_wait(rig.journal, settled + 1), DUEQ_IO);
        assert_int_equal(journal_durable_lsn(rig.journal), settled);
        journal_set_durability(rig.journal, DUEQ_SYNC_NONE, 1);
        assert_int_equal(journal_durable_lsn(rig.journal), settled);
        rig_close(&rig);
    }
}

static void an_opening_that_cannot_read_changes_nothing(void **state)
{
    static const enum disk_call calls[] = {DISK_OPEN, DISK_READ, DISK_SYNC};

    (void)state;
    while (rig_files(&rig, "0") < 3)
        rig_append(&rig, 500);
    rig_close(&rig);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (unsigned nth = 0; nth < 5; nth++) {
            uint64_t digest = rig_digest(&rig);

            fake_disk_fail(rig.disk, calls[i], nth, 1, EIO);
            assert_int_equal(rig_open(&rig), DUEQ_IO);
            assert_non_null(strstr(rig.error.text, rig.dir));
            assert_true(rig_digest(&rig) == digest);
        }
    rig_reopen(&rig);
}

/* ---- a full disk */

static void fill_disk(int error)
{
    journal_prepare(rig.journal);
    assert_true(journal_has_room(rig.journal));
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, error);
}

static void drain_disk(void)
{
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 0, 0, 0);
}

static uint64_t append_until_full(void)
{
    enum dueq_status status;

    while ((status = rig_try(&rig, 500)) == DUEQ_OK)
        ;
    assert_int_equal(status, DUEQ_FULL);
    return journal_last_lsn(rig.journal);
}

static void a_full_disk_takes_the_spare_then_the_reserve_then_no_more(void **state)
{
    (void)state;
    fill_disk(ENOSPC);
    while (rig_files(&rig, "spare-") > 0)
        rig_append(&rig, 500);
    assert_true(journal_has_room(rig.journal));
    assert_int_equal(rig_files(&rig, "reserve"), 1);
    while (rig_files(&rig, "reserve") > 0)
        rig_append(&rig, 500);
    assert_false(journal_has_room(rig.journal));
    append_until_full();
    assert_int_equal(journal_status(rig.journal), DUEQ_OK);
    assert_int_equal(rig_files(&rig, "0"), 2);
}

static void a_full_disk_is_drained_by_a_checkpoint(void **state)
{
    uint64_t last;

    (void)state;
    fill_disk(EDQUOT);
    last = append_until_full();
    assert_int_equal(journal_sync(rig.journal), DUEQ_OK);
    journal_trim(rig.journal, last);
    journal_prepare(rig.journal);
    assert_false(journal_has_room(rig.journal)); /* no reserve yet */
    assert_int_equal(rig_append(&rig, 500), last + 1);
    drain_disk();
    journal_prepare(rig.journal);
    assert_true(journal_has_room(rig.journal));
    assert_int_equal(rig_files(&rig, "reserve"), 1);
    rig.after = last;
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last + 1);
}

/* The disk is full, and the segments that are not needed any more have left one spare. Returns
 * the last LSN. */
static uint64_t fill_disk_to_one_spare(void)
{
    uint64_t last;

    fill_disk(ENOSPC);
    last = append_until_full();
    assert_int_equal(journal_sync(rig.journal), DUEQ_OK);
    journal_trim(rig.journal, last);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    return last;
}

/* What was found out when a file could not be made is still true when a spare is at hand. */
static void a_spare_that_is_taken_on_a_full_disk_is_no_room(void **state)
{
    uint64_t last = fill_disk_to_one_spare();

    (void)state;
    assert_false(journal_has_room(rig.journal));
    assert_int_equal(rig_append(&rig, 500), last + 1);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
    assert_false(journal_has_room(rig.journal));
    assert_int_equal(journal_reserve(rig.journal, 2000), DUEQ_OK); /* the segment has it */
    assert_int_equal(journal_reserve(rig.journal, 3500), DUEQ_FULL);
}

/* A segment that was made in a hurry is left for a spare, when that can be opened. */
static void a_spare_is_not_needed_while_the_segment_has_room(void **state)
{
    uint64_t last;

    (void)state;
    rig_append(&rig, 100);
    journal_prepare(rig.journal);
    fake_disk_fail(rig.disk, DISK_OPEN, 0, 1, EMFILE);
    last = rig_append(&rig, 100);
    assert_int_equal(journal_status(rig.journal), DUEQ_OK);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    assert_int_equal(rig_files(&rig, "0"), 1);
    assert_int_equal(rig_append(&rig, 100), last + 1);
    assert_int_equal(rig_files(&rig, "0"), 2);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last + 1);
}

static atomic_bool prepared; /* the thread has ended */

static void *prepare(void *arg)
{
    journal_prepare(arg);
    atomic_store(&prepared, true);
    return NULL;
}

/* The owner uses the reserve up while the checkpoint thread still makes a spare. */
static void room_that_ends_while_files_are_made_has_ended(void **state)
{
    pthread_t thread;
    bool had_room, has_room;

    (void)state;
    rig.options.durability = DUEQ_SYNC_NONE;
    rig_reopen(&rig);
    fake_disk_hold_syncs(rig.disk, true);
    atomic_store(&prepared, false);
    assert_int_equal(pthread_create(&thread, NULL, prepare, rig.journal), 0);
    while (fake_disk_held_syncs(rig.disk) == 0) {
        assert_false(atomic_load(&prepared)); /* a new file is synced */
        sched_yield();
    }
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    rig_append(&rig, 500); /* takes the reserve: there is nothing else */
    had_room = journal_has_room(rig.journal);
    fake_disk_hold_syncs(rig.disk, false);
    pthread_join(thread, NULL);
    has_room = journal_has_room(rig.journal);
    assert_int_equal(rig_files(&rig, "reserve"), 0);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    assert_false(had_room);
    assert_false(has_room);
    drain_disk();
    journal_prepare(rig.journal);
    assert_true(journal_has_room(rig.journal));
}

static void a_large_record_that_finds_no_room_leaves_the_reserve(void **state)
{
    (void)state;
    fill_disk(ENOSPC);
    assert_int_equal(rig_try(&rig, 2 * RIG_SEGMENT), DUEQ_FULL);
    assert_int_equal(rig_files(&rig, "reserve"), 1);
    assert_int_equal(rig_append(&rig, 100), 1);
}

static void the_reserve_outlives_a_reopening(void **state)
{
    (void)state;
    fill_disk(ENOSPC);
    append_until_full();
    rig_reopen(&rig);
    assert_int_equal(rig_try(&rig, 500), DUEQ_FULL);
    drain_disk();
    journal_prepare(rig.journal);
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    rig_reopen(&rig);
    rig_append(&rig, 500);
    assert_int_equal(rig_files(&rig, "reserve"), 0);
    assert_false(journal_has_room(rig.journal));
}

static bool is_blank(const char *name)
{
    char *path = rig_path(&rig, name);
    size_t size;
    uint8_t *bytes = rig_read(path, &size);
    bool blank = bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;

    free(bytes);
    free(path);
    return blank;
}

/* Otherwise its records would be valid under the number that it gets next time. */
static void remove_reserve(void)
{
    const struct dueq_io *io = fake_disk_io(rig.disk);
    char *path = rig_path(&rig, "reserve.seg");

    assert_int_equal(io->unlink(io->arg, path), 0);
    free(path);
}

/* It is set aside for a full disk, on which none can be made after a power cut. */
static void the_reserve_outlives_a_power_cut(void **state)
{
    struct dice dice = {12};

    (void)state;
    for (int round = 0; round < 10; round++) {
        journal_prepare(rig.journal);
        assert_int_equal(rig_files(&rig, "reserve"), 1);
        fake_disk_cut_after(rig.disk, 0);
        rig_close(&rig);
        fake_disk_restart(rig.disk, &dice);
        assert_int_equal(rig_files(&rig, "reserve"), 1);
        remove_reserve();
        rig_reopen(&rig);
    }
}

static void the_reserve_does_not_come_back_written_to(void **state)
{
    struct dice dice = {11};

    (void)state;
    for (int round = 0; round < 30; round++) {
        fill_disk(ENOSPC);
        while (rig_files(&rig, "reserve") > 0)
            assert_int_equal(rig_try(&rig, 500), DUEQ_OK);
        fake_disk_hold_syncs(rig.disk, true);
        while (rig_try(&rig, 500) == DUEQ_OK)
            ;
        fake_disk_cut_after(rig.disk, 0);
        rig_close(&rig);
        fake_disk_restart(rig.disk, &dice);
        assert_true(rig_files(&rig, "reserve") == 0 || is_blank("reserve.seg"));
        rig_reopen(&rig);
    }
}

/* A file that was renamed but could not be opened must not be in the way when there is room
 * again. */
static void fail_taking_the_reserve(enum disk_call call, unsigned passing, int left)
{
    uint64_t last = journal_last_lsn(rig.journal);

    fill_disk(ENOSPC);
    while (rig_files(&rig, "spare-") > 0)
        last = rig_append(&rig, 500);
    fake_disk_fail(rig.disk, call, passing, 1, EIO);
    while (rig_try(&rig, 500) == DUEQ_OK)
        last++;
    assert_int_equal(journal_status(rig.journal), DUEQ_IO);
    assert_int_equal(rig_files(&rig, "reserve"), left);
    drain_disk();
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
}

static void a_reserve_that_cannot_be_taken_fails_the_journal(void **state)
{
    (void)state;
    fail_taking_the_reserve(DISK_SYNC_NAMES, 0, 0);
    fail_taking_the_reserve(DISK_OPEN, 1, 1); /* the one of a new file succeeds */
}

/* A new file and the reserve need one each; the sync of its name needs none. */
static void the_reserve_is_taken_without_a_third_descriptor(void **state)
{
    uint64_t last = 0;

    (void)state;
    fill_disk(ENOSPC);
    while (rig_files(&rig, "spare-") > 0)
        rig_append(&rig, 500);
    while (rig_files(&rig, "reserve") > 0) {
        fake_disk_fail(rig.disk, DISK_OPEN, 2, FAKE_DISK_ALWAYS, EMFILE);
        last = rig_append(&rig, 500);
    }
    fake_disk_fail(rig.disk, DISK_OPEN, 0, 0, 0);
    drain_disk();
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
}

/* The disk is still full, and the reserve is used up: a spare takes its place, and a segment
 * that is not needed that of the spare. */
static void a_spare_becomes_the_reserve_that_is_missing(void **state)
{
    uint64_t last = fill_disk_to_one_spare();

    (void)state;
    rig.after = last;
    rig_reopen(&rig);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    assert_int_equal(rig_files(&rig, "reserve"), 1);
    assert_int_equal(rig_append(&rig, 500), last + 1);
    assert_false(journal_has_room(rig.journal));
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last + 1);
}

static void a_reserve_of_another_size_is_made_anew(void **state)
{
    (void)state;
    journal_prepare(rig.journal);
    rig.options.segment_bytes *= 2;
    rig_reopen(&rig);
    assert_int_equal(rig_files(&rig, "reserve"), 0);
    journal_prepare(rig.journal);
    assert_int_equal(rig_files(&rig, "reserve"), 1);
}

static void preparing_that_fails_leaves_nothing_half_made(void **state)
{
    static const enum disk_call calls[] = {DISK_OPEN, DISK_ALLOCATE, DISK_WRITE, DISK_SYNC,
                                           DISK_RENAME};

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        fake_disk_fail(rig.disk, calls[i], 0, 1, ENOSPC);
        journal_prepare(rig.journal);
        assert_false(journal_has_room(rig.journal));
        assert_int_equal(rig_files(&rig, "new-"), 0);
        assert_int_equal(rig_files(&rig, "spare-"), 0);
    }
    journal_prepare(rig.journal);
    assert_true(journal_has_room(rig.journal));
    assert_int_equal(journal_status(rig.journal), DUEQ_OK);
}

static void a_segment_that_cannot_be_recycled_is_deleted(void **state)
{
    (void)state;
    while (rig_files(&rig, "0") < 3)
        rig_append(&rig, 500);
    fake_disk_fail(rig.disk, DISK_RENAME, 0, FAKE_DISK_ALWAYS, EIO);
    journal_trim(rig.journal, journal_last_lsn(rig.journal));
    assert_int_equal(rig_files(&rig, "0"), 1);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_failed_write_nothing_becomes_durable),
        cmocka_unit_test(after_a_failed_sync_nothing_becomes_durable),
        cmocka_unit_test(after_a_failed_name_sync_nothing_becomes_durable),
        cmocka_unit_test(a_segment_that_cannot_be_made_fails_the_journal),
        TEST(a_waiter_is_woken_by_a_failure),
        TEST(what_a_failed_sync_lost_is_not_read_back),
        TEST(interrupted_and_short_transfers_are_continued),
        TEST(an_interrupted_allocation_is_tried_again),
        TEST(the_name_of_a_segment_is_synced_without_a_free_descriptor),
        TEST(a_journal_that_failed_between_syncs_can_be_closed),
        TEST(a_record_that_asks_for_a_sync_is_not_durable_after_a_failed_one),
        TEST(an_opening_that_cannot_read_changes_nothing),
        TEST(a_full_disk_takes_the_spare_then_the_reserve_then_no_more),
        TEST(a_full_disk_is_drained_by_a_checkpoint),
        TEST(a_spare_that_is_taken_on_a_full_disk_is_no_room),
        TEST(a_spare_is_not_needed_while_the_segment_has_room),
        TEST(room_that_ends_while_files_are_made_has_ended),
        TEST(a_large_record_that_finds_no_room_leaves_the_reserve),
        TEST(the_reserve_outlives_a_reopening),
        TEST(the_reserve_outlives_a_power_cut),
        TEST(the_reserve_does_not_come_back_written_to),
        TEST(a_reserve_that_cannot_be_taken_fails_the_journal),
        TEST(the_reserve_is_taken_without_a_third_descriptor),
        TEST(a_spare_becomes_the_reserve_that_is_missing),
        TEST(a_reserve_of_another_size_is_made_anew),
        TEST(preparing_that_fails_leaves_nothing_half_made),
        TEST(a_segment_that_cannot_be_recycled_is_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
