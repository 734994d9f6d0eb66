/* The journal without faults: append, become durable, read back, recycle. */
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "tests/support/store/journal_rig.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct journal_rig rig;

static int set_up(void **state)
{
    (void)state;
    rig_init(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_release(&rig);
    return 0;
}

static struct journal_stats stats(void)
{
    struct journal_stats found;

    journal_get_stats(rig.journal, &found);
    return found;
}

static void fill_segments(unsigned count)
{
    while (stats().segments < count)
        rig_append(&rig, 500);
}

static void a_new_journal_is_empty(void **state)
{
    (void)state;
    rig_reopen(&rig);
    assert_int_equal(rig.replay.records, 0);
    assert_int_equal(rig.replay.cut_bytes, 0);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
    assert_true(journal_has_room(rig.journal));
    assert_string_equal(journal_failure(rig.journal), "");
}

static void records_come_back_in_order_over_many_segments(void **state)
{
    (void)state;
    rig_reopen(&rig);
    for (size_t size = RIG_PAYLOAD_LEAST; size < 900; size += 7)
        rig_append(&rig, size);
    assert_true(stats().segments > 5);
    rig_reopen(&rig);
    assert_int_equal(rig.replay.records, 126);
    assert_int_equal(rig.read_to, 126);
    assert_int_equal(rig.replay.cut_bytes, 0);
    assert_int_equal(journal_durable_lsn(rig.journal), 126);
    assert_int_equal(rig_append(&rig, 100), 127);
}

static void only_records_above_the_checkpoint_are_handed_out(void **state)
{
    (void)state;
    rig_reopen(&rig);
    fill_segments(4);
    rig.after = 10;
    rig_reopen(&rig);
    assert_int_equal(rig.replay.records, rig.read_to - 10);
    rig.after = rig.read_to;
    rig_reopen(&rig);
    assert_int_equal(rig.replay.records, 0);
    assert_int_equal(rig_append(&rig, 100), rig.after + 1);
}

static void a_checkpoint_ahead_of_the_journal_is_where_it_goes_on(void **state)
{
    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    rig.after = 50;
    rig_reopen(&rig);
    assert_int_equal(rig_append(&rig, 100), 51);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 51);
}

static void a_record_larger_than_a_segment_has_one_of_its_own(void **state)
{
    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    rig_append(&rig, 3 * RIG_SEGMENT);
    rig_append(&rig, 100);
    assert_int_equal(stats().segments, 3);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 3);
    journal_trim(rig.journal, 3);
    assert_int_equal(rig_files(&rig, "0"), 0);
}

static void a_record_that_just_fits_fills_its_segment(void **state)
{
    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, RIG_SEGMENT - SEGMENT_HEADER_SIZE - RECORD_HEADER_SIZE);
    assert_int_equal(stats().segments, 1);
    rig_append(&rig, RIG_SEGMENT - SEGMENT_HEADER_SIZE - RECORD_HEADER_SIZE);
    assert_int_equal(stats().segments, 2);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 2);
}

static void a_record_in_many_parts_is_written_whole(void **state)
{
    enum { PARTS = 300 };
    static uint8_t byte = 'x';
    struct iovec parts[PARTS];
    uint64_t lsn;
    char *path;
    uint8_t *bytes;
    size_t size;

    (void)state;
    rig_reopen(&rig);
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){&byte, 1};
    assert_int_equal(journal_append(rig.journal, 1, parts, PARTS, ASKS_MODE, &lsn), DUEQ_OK);
    assert_int_equal(journal_wait(rig.journal, lsn), DUEQ_OK);
    path = rig_segment(&rig, 1);
    bytes = rig_read(path, &size);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(bytes[SEGMENT_HEADER_SIZE + RECORD_HEADER_SIZE + i], 'x');
    free(bytes);
    free(path);
}

/* ---- sync modes */

static void always_means_durable_when_synced(void **state)
{
    (void)state;
    rig_reopen(&rig);
    fake_disk_hold_syncs(rig.disk, true);
    assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
    fake_disk_hold_syncs(rig.disk, false);
    assert_int_equal(journal_wait(rig.journal, 1), DUEQ_OK);
    assert_int_equal(journal_durable_lsn(rig.journal), 1);
    assert_int_equal(journal_synced_lsn(rig.journal), 1);
}

static void a_new_segment_is_durable_when_its_name_is(void **state)
{
    unsigned long names, syncs;

    (void)state;
    rig_reopen(&rig);
    names = fake_disk_count(rig.disk, DISK_SYNC_NAMES);
    syncs = fake_disk_count(rig.disk, DISK_SYNC);
    rig_append(&rig, 100);
    assert_int_equal(fake_disk_count(rig.disk, DISK_SYNC_NAMES), names + 1);
    rig_append(&rig, 100);
    assert_int_equal(fake_disk_count(rig.disk, DISK_SYNC_NAMES), names + 1);
    assert_int_equal(fake_disk_count(rig.disk, DISK_SYNC), syncs + 2);
}

static void interval_is_durable_at_once_and_syncs_later(void **state)
{
    (void)state;
    rig.options.durability = DUEQ_SYNC_INTERVAL;
    rig_reopen(&rig);
    fake_disk_hold_syncs(rig.disk, true);
    assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
    assert_int_equal(journal_durable_lsn(rig.journal), 1);
    fake_disk_hold_syncs(rig.disk, false);
    rig_await_sync(&rig, 1);
}

static void none_is_durable_at_once_and_syncs_when_asked(void **state)
{
    unsigned long syncs;

    (void)state;
    rig.options.durability = DUEQ_SYNC_NONE;
    rig_reopen(&rig);
    syncs = fake_disk_count(rig.disk, DISK_SYNC);
    for (int i = 0; i < 20; i++)
        rig_append(&rig, 500);
    assert_int_equal(journal_durable_lsn(rig.journal), 20);
    assert_int_equal(fake_disk_count(rig.disk, DISK_SYNC), syncs);
    assert_int_equal(journal_sync_to(rig.journal, 5), DUEQ_OK);
    assert_true(journal_synced_lsn(rig.journal) >= 5);
    assert_int_equal(journal_sync(rig.journal), DUEQ_OK);
    assert_int_equal(journal_synced_lsn(rig.journal), 20);
}

static void the_mode_changes_under_way(void **state)
{
    (void)state;
    rig.options.durability = DUEQ_SYNC_NONE;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    journal_set_durability(rig.journal, DUEQ_SYNC_ALWAYS, 1);
    rig_await_sync(&rig, 1);
    fake_disk_hold_syncs(rig.disk, true);
    assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
    assert_int_equal(journal_durable_lsn(rig.journal), 1);
    journal_set_durability(rig.journal, DUEQ_SYNC_NONE, 1);
    assert_int_equal(journal_durable_lsn(rig.journal), 2);
    fake_disk_hold_syncs(rig.disk, false);
}

/* ---- records that ask for something else than the mode */

enum { AN_HOUR = 3600000 };

static void append_asking(unsigned asks)
{
    rig.asks = asks;
    assert_int_equal(rig_try(&rig, 100), DUEQ_OK);
}

static void open_with(enum dueq_durability durability, unsigned interval_ms)
{
    rig.options.durability = durability;
    rig.options.interval_ms = interval_ms;
    rig_reopen(&rig);
}

/* Nobody waits for the sync: it comes by itself, and not at the end of the interval. */
static void a_record_is_synced_at_once_in_any_mode(void **state)
{
    (void)state;
    for (int mode = DUEQ_SYNC_ALWAYS; mode <= DUEQ_SYNC_NONE; mode++) {
        uint64_t first;

        open_with((enum dueq_durability)mode, AN_HOUR);
        first = journal_last_lsn(rig.journal) + 1;
        append_asking(ASKS_INTERVAL);
        assert_int_equal(journal_durable_lsn(rig.journal), first);
        fake_disk_hold_syncs(rig.disk, true);
        append_asking(ASKS_INTERVAL | ASKS_ALWAYS);
        append_asking(ASKS_INTERVAL);
        assert_int_equal(journal_durable_lsn(rig.journal), first);
        assert_int_equal(journal_written_lsn(rig.journal), first + 2);
        fake_disk_hold_syncs(rig.disk, false);
        rig_await_sync(&rig, first + 1);
        assert_int_equal(journal_wait(rig.journal, first + 2), DUEQ_OK);
    }
}

static void a_record_is_durable_when_written_in_any_mode(void **state)
{
    unsigned long syncs;

    (void)state;
    for (int mode = DUEQ_SYNC_ALWAYS; mode <= DUEQ_SYNC_NONE; mode++) {
        open_with((enum dueq_durability)mode, AN_HOUR);
        syncs = fake_disk_count(rig.disk, DISK_SYNC);
        for (int i = 0; i < 20; i++)
            append_asking(ASKS_INTERVAL);
        assert_int_equal(journal_durable_lsn(rig.journal), journal_last_lsn(rig.journal));
        assert_true(journal_synced_lsn(rig.journal) < journal_last_lsn(rig.journal));
        assert_int_equal(fake_disk_count(rig.disk, DISK_SYNC), syncs);
    }
}

static void a_record_is_synced_within_the_interval_in_any_mode(void **state)
{
    (void)state;
    for (int mode = DUEQ_SYNC_ALWAYS; mode <= DUEQ_SYNC_NONE; mode++) {
        open_with((enum dueq_durability)mode, 1);
        append_asking(ASKS_INTERVAL);
        rig_await_sync(&rig, journal_last_lsn(rig.journal));
    }
}

static void the_mode_changes_only_for_what_asks_for_it(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_ALWAYS, AN_HOUR);
    fake_disk_hold_syncs(rig.disk, true);
    append_asking(ASKS_MODE);
    append_asking(ASKS_ALWAYS);
    append_asking(ASKS_MODE);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
    journal_set_durability(rig.journal, DUEQ_SYNC_INTERVAL, AN_HOUR);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
    assert_int_equal(journal_written_lsn(rig.journal), 3);
    fake_disk_hold_syncs(rig.disk, false);
    rig_await_sync(&rig, 2);
    assert_int_equal(journal_wait(rig.journal, 3), DUEQ_OK);
}

/* The sync thread writes it: before, it can still be lost when the process is killed. */
static void a_large_record_is_durable_when_it_is_written(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_ALWAYS, AN_HOUR);
    fake_disk_hold_syncs(rig.disk, true);
    append_asking(ASKS_ALWAYS);
    while (fake_disk_held_syncs(rig.disk) == 0)
        sched_yield();
    rig.later_every = 1;
    append_asking(ASKS_INTERVAL);
    rig.later_every = 0;
    append_asking(ASKS_INTERVAL);
    assert_int_equal(journal_written_lsn(rig.journal), 1);
    fake_disk_hold_syncs(rig.disk, false);
    assert_int_equal(journal_wait(rig.journal, 3), DUEQ_OK);
    assert_int_equal(journal_written_lsn(rig.journal), 3);
}

/* The interval is an hour, and the sync thread waits for its end. */
static void a_large_record_is_written_during_the_interval(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_INTERVAL, AN_HOUR);
    append_asking(ASKS_MODE);
    rig.later_every = 1;
    append_asking(ASKS_MODE);
    while (journal_written_lsn(rig.journal) < 2)
        sched_yield();
    while (journal_durable_lsn(rig.journal) < 2) /* follows at once */
        sched_yield();
}

/* ---- records that the sync thread writes, as they wait for it anyway */

static void open_staging(uint64_t bytes)
{
    rig.options.stage_bytes = bytes;
    open_with(DUEQ_SYNC_ALWAYS, AN_HOUR);
}

/* The sync thread is in a sync of the first record; it has nothing else yet. */
static void hold_the_sync_thread(void)
{
    fake_disk_hold_syncs(rig.disk, true);
    append_asking(ASKS_ALWAYS);
    while (fake_disk_held_syncs(rig.disk) == 0)
        sched_yield();
}

static void expect_all_after_reopening(void)
{
    uint64_t last = journal_last_lsn(rig.journal);

    assert_int_equal(journal_wait(rig.journal, last), DUEQ_OK);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
}

static void what_comes_during_a_sync_is_one_write_after_it(void **state)
{
    unsigned long writes;

    (void)state;
    open_staging(RIG_SEGMENT);
    hold_the_sync_thread();
    writes = fake_disk_count(rig.disk, DISK_WRITE);
    for (int i = 0; i < 5; i++)
        append_asking(ASKS_MODE);
    assert_int_equal(fake_disk_count(rig.disk, DISK_WRITE), writes);
    assert_int_equal(journal_written_lsn(rig.journal), 1);
    fake_disk_hold_syncs(rig.disk, false);
    assert_int_equal(journal_wait(rig.journal, 6), DUEQ_OK);
    assert_int_equal(fake_disk_count(rig.disk, DISK_WRITE), writes + 1);
    expect_all_after_reopening();
}

/* Its reply waits for no sync, so those before it must not wait either. */
static void a_record_that_needs_no_sync_is_written_with_all_before_it(void **state)
{
    (void)state;
    open_staging(RIG_SEGMENT);
    hold_the_sync_thread();
    append_asking(ASKS_ALWAYS);
    append_asking(ASKS_ALWAYS | ASKS_INTERVAL);
    assert_int_equal(journal_written_lsn(rig.journal), 3);
    append_asking(ASKS_ALWAYS); /* from now on each of them is */
    assert_int_equal(journal_written_lsn(rig.journal), 4);
    assert_int_equal(journal_durable_lsn(rig.journal), 0);
    fake_disk_hold_syncs(rig.disk, false);
    expect_all_after_reopening();
}

static void what_is_too_much_to_wait_is_written_at_once(void **state)
{
    enum { MOST = 700 };

    (void)state;
    open_staging(MOST);
    hold_the_sync_thread();
    while (journal_written_lsn(rig.journal) == 1)
        append_asking(ASKS_MODE);
    assert_int_equal(journal_written_lsn(rig.journal), journal_last_lsn(rig.journal));
    assert_in_range(journal_last_lsn(rig.journal), 4, MOST / 100 + 2);
    rig_try(&rig, MOST + 1); /* by itself, too */
    assert_int_equal(journal_written_lsn(rig.journal), journal_last_lsn(rig.journal));
    fake_disk_hold_syncs(rig.disk, false);
    expect_all_after_reopening();
}

static void a_segment_that_is_left_has_all_its_records(void **state)
{
    (void)state;
    open_staging(RIG_SEGMENT);
    rig_append(&rig, 100);
    journal_prepare(rig.journal);
    rig_append(&rig, 100); /* in the spare, which is better */
    journal_prepare(rig.journal);
    hold_the_sync_thread();
    append_asking(ASKS_MODE);
    assert_int_equal(journal_written_lsn(rig.journal), 3);
    assert_true(journal_switch(rig.journal));
    assert_int_equal(journal_written_lsn(rig.journal), 4);
    append_asking(ASKS_MODE);
    assert_int_equal(stats().segments, 3);
    while (stats().segments < 5) /* full ones, too */
        append_asking(ASKS_MODE);
    fake_disk_hold_syncs(rig.disk, false);
    expect_all_after_reopening();
}

/* A large record lies between them: its bytes are not there yet. */
static void a_large_record_divides_what_is_written(void **state)
{
    (void)state;
    open_staging(RIG_SEGMENT);
    for (int round = 0; round < 20; round++) {
        append_asking(ASKS_MODE);
        rig.later_every = 1;
        append_asking(ASKS_MODE);
        rig.later_every = 0;
        append_asking(ASKS_MODE);
    }
    expect_all_after_reopening();
}

/* A process that ends without a sync leaves to the kernel what was committed. */
static void closing_writes_what_nobody_has_written(void **state)
{
    (void)state;
    open_staging(RIG_SEGMENT);
    for (int round = 0; round < 200; round++) {
        uint64_t last = journal_last_lsn(rig.journal) + 2;

        append_asking(ASKS_MODE);
        append_asking(ASKS_MODE);
        rig_reopen(&rig);
        assert_int_equal(rig.read_to, last);
    }
}

/* ---- housekeeping */

static void segments_below_are_trimmed_and_the_others_stay(void **state)
{
    (void)state;
    rig_reopen(&rig);
    fill_segments(5);
    journal_trim(rig.journal, 0);
    assert_int_equal(stats().segments, 5);
    journal_trim(rig.journal, 8); /* a segment has 7 records */
    assert_int_equal(stats().segments, 4);
    assert_int_equal(rig_files(&rig, "0"), 4);
    journal_trim(rig.journal, journal_last_lsn(rig.journal));
    assert_int_equal(stats().segments, 1);
    rig.after = journal_last_lsn(rig.journal);
    rig_reopen(&rig);
}

static void two_spares_are_kept_at_most(void **state)
{
    (void)state;
    rig_reopen(&rig);
    fill_segments(8);
    journal_trim(rig.journal, journal_last_lsn(rig.journal));
    assert_int_equal(rig_files(&rig, "spare-"), 2);
    assert_int_equal(rig_files(&rig, "0"), 1);
    fill_segments(4);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
    assert_int_equal(rig_files(&rig, "0"), 4);
}

static void a_spare_and_the_reserve_are_prepared_once(void **state)
{
    unsigned long allocations;

    (void)state;
    rig_reopen(&rig);
    journal_prepare(rig.journal);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    assert_int_equal(rig_files(&rig, "reserve.seg"), 1);
    allocations = fake_disk_count(rig.disk, DISK_ALLOCATE);
    journal_prepare(rig.journal);
    rig_append(&rig, 100);
    assert_int_equal(fake_disk_count(rig.disk, DISK_ALLOCATE), allocations);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
    assert_int_equal(rig_files(&rig, "0"), 1);
}

/* Blocks of a file that is made when it is needed are not written: a sync there takes longer.
 */
static void a_segment_made_in_a_hurry_is_left_for_a_spare(void **state)
{
    uint64_t last;

    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    journal_prepare(rig.journal);
    assert_int_equal(stats().segments, 1);
    rig_append(&rig, 100);
    assert_int_equal(stats().segments, 2);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
    journal_prepare(rig.journal);
    last = rig_append(&rig, 100);
    assert_int_equal(stats().segments, 2);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
}

/* So does a server: it makes room first, and the file for that is not filled, either. */
static void a_spare_made_in_a_hurry_is_left_for_a_filled_one(void **state)
{
    (void)state;
    rig_reopen(&rig);
    assert_int_equal(journal_reserve(rig.journal, 100), DUEQ_OK);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    rig_append(&rig, 100);
    assert_int_equal(stats().segments, 1);
    rig_append(&rig, 100); /* there is no better one yet */
    assert_int_equal(stats().segments, 1);
    journal_prepare(rig.journal);
    rig_append(&rig, 100);
    assert_int_equal(stats().segments, 2);
    rig.after = journal_last_lsn(rig.journal) - 1;
    journal_trim(rig.journal, rig.after);
    assert_int_equal(rig_files(&rig, "spare-"), 1); /* not filled: it is not better */
    rig_append(&rig, 100);
    assert_int_equal(stats().segments, 1);
    rig_reopen(&rig);
}

static void a_record_larger_than_a_segment_does_not_take_the_spare(void **state)
{
    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    journal_prepare(rig.journal);
    rig_append(&rig, 2 * (size_t)rig.options.segment_bytes);
    assert_int_equal(rig_files(&rig, "spare-"), 1);
    rig_append(&rig, 100);
    assert_int_equal(rig_files(&rig, "spare-"), 0);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 3);
}

static void what_a_recycled_segment_held_is_never_read_again(void **state)
{
    (void)state;
    rig_reopen(&rig);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 7; i++)
            rig_append(&rig, 500);
        fill_segments(3);
        rig.after = journal_last_lsn(rig.journal) - (uint64_t)(round * 5 % 7);
        journal_trim(rig.journal, rig.after);
        rig_append(&rig, 500); /* of the same size: old records are where new ones will be */
        rig_reopen(&rig);
        assert_int_equal(rig.replay.cut_bytes, 0);
    }
}

static void what_is_half_made_is_removed_at_opening(void **state)
{
    char *path;

    (void)state;
    rig_reopen(&rig);
    rig_append(&rig, 100);
    path = rig_path(&rig, "new-0000000000000009.tmp");
    rig_write(path, (const uint8_t *)"x", 1);
    rig_reopen(&rig);
    assert_int_equal(rig_files(&rig, "new-"), 0);
    assert_int_equal(rig_files(&rig, "0"), 1);
    free(path);
}

/* As a power cut leaves a segment whose header is on disk, and whose first record is not. */
static void empty_segment(uint64_t number)
{
    char *path = rig_segment(&rig, number);
    uint8_t *bytes;
    size_t size;

    rig_close(&rig);
    bytes = rig_read(path, &size);
    memset(bytes + SEGMENT_HEADER_SIZE, 0, size - SEGMENT_HEADER_SIZE);
    rig_write(path, bytes, size);
    free(bytes);
    free(path);
}

/* Each record up to that one is in a segment that waits for the archive. */
static void expect_waiting(uint64_t last)
{
    struct journal_segment segment;
    uint64_t lsn = 0;

    while (lsn < last) {
        assert_true(journal_await_segment(rig.journal, 1, &segment));
        assert_int_equal(segment.first_lsn, lsn + 1);
        assert_true(segment.last_lsn >= segment.first_lsn);
        lsn = segment.last_lsn;
        journal_archived(rig.journal, segment.number);
    }
    assert_int_equal(lsn, last);
}

static void an_empty_segment_hides_none_that_waits_for_the_archive(void **state)
{
    uint64_t last;

    (void)state;
    rig.options.archives = true;
    rig_reopen(&rig);
    fill_segments(3); /* the third has one record */
    last = journal_last_lsn(rig.journal) - 1;
    empty_segment(3);
    rig_reopen(&rig);
    assert_int_equal(journal_last_lsn(rig.journal), last);
    rig_append(&rig, 500);
    rig.after = last + 1;
    rig_reopen(&rig);
    expect_waiting(last + 1);
}

/* The one that is lost is a gap; those before it are not. */
static void a_lost_segment_hides_none_that_waits_for_the_archive(void **state)
{
    struct journal_segment segment;
    char *path;
    uint64_t first;

    (void)state;
    rig.options.archives = true;
    rig_reopen(&rig);
    fill_segments(2);
    first = journal_last_lsn(rig.journal); /* of the second */
    fill_segments(4);
    rig.after = journal_last_lsn(rig.journal);
    rig_close(&rig);
    path = rig_segment(&rig, 2);
    rig_flip(path, 100);
    free(path);
    rig_reopen(&rig);
    assert_true(journal_await_segment(rig.journal, 1, &segment));
    assert_int_equal(segment.first_lsn, 1);
    assert_int_equal(segment.last_lsn, first - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_journal_is_empty),
        TEST(records_come_back_in_order_over_many_segments),
        TEST(only_records_above_the_checkpoint_are_handed_out),
        TEST(a_checkpoint_ahead_of_the_journal_is_where_it_goes_on),
        TEST(a_record_larger_than_a_segment_has_one_of_its_own),
        TEST(a_record_that_just_fits_fills_its_segment),
        TEST(a_record_in_many_parts_is_written_whole),
        TEST(always_means_durable_when_synced),
        TEST(a_new_segment_is_durable_when_its_name_is),
        TEST(interval_is_durable_at_once_and_syncs_later),
        TEST(none_is_durable_at_once_and_syncs_when_asked),
        TEST(the_mode_changes_under_way),
        TEST(a_record_is_synced_at_once_in_any_mode),
        TEST(a_record_is_durable_when_written_in_any_mode),
        TEST(a_record_is_synced_within_the_interval_in_any_mode),
        TEST(the_mode_changes_only_for_what_asks_for_it),
        TEST(a_large_record_is_durable_when_it_is_written),
        TEST(a_large_record_is_written_during_the_interval),
        TEST(what_comes_during_a_sync_is_one_write_after_it),
        TEST(a_record_that_needs_no_sync_is_written_with_all_before_it),
        TEST(what_is_too_much_to_wait_is_written_at_once),
        TEST(a_segment_that_is_left_has_all_its_records),
        TEST(a_large_record_divides_what_is_written),
        TEST(closing_writes_what_nobody_has_written),
        TEST(segments_below_are_trimmed_and_the_others_stay),
        TEST(two_spares_are_kept_at_most),
        TEST(a_spare_and_the_reserve_are_prepared_once),
        TEST(a_segment_made_in_a_hurry_is_left_for_a_spare),
        TEST(a_spare_made_in_a_hurry_is_left_for_a_filled_one),
        TEST(a_record_larger_than_a_segment_does_not_take_the_spare),
        TEST(what_a_recycled_segment_held_is_never_read_again),
        TEST(what_is_half_made_is_removed_at_opening),
        TEST(an_empty_segment_hides_none_that_waits_for_the_archive),
        TEST(a_lost_segment_hides_none_that_waits_for_the_archive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
