/* Journal files that were changed: an opening cuts off a torn tail, and refuses damage without
 * changing a file. */
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "tests/support/store/journal_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { PAYLOAD = 108, SPACE = 160, RECORDS = 5 };

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

/* The offset of record `lsn` in the first segment, when all records have the same size. */
static size_t offset_of(uint64_t lsn)
{
    return SEGMENT_HEADER_SIZE + (lsn - 1) * SPACE;
}

static void write_records(uint64_t count)
{
    assert_int_equal(record_space(PAYLOAD), SPACE);
    for (uint64_t i = 0; i < count; i++)
        rig_append(&rig, PAYLOAD);
}

static void write_segments(unsigned count)
{
    while (rig_files(&rig, "0") < count)
        rig_append(&rig, PAYLOAD);
    rig_append(&rig, PAYLOAD);
    rig_append(&rig, PAYLOAD);
}

/* The opening reports damage, where it is, and what to do; it changes no file. */
static void expect_refusal(uint64_t number, const char *where)
{
    char *path = rig_segment(&rig, number);
    uint64_t digest;

    rig_close(&rig);
    digest = rig_digest(&rig);
    assert_int_equal(rig_open(&rig), DUEQ_CORRUPT);
    assert_null(rig.journal);
    assert_non_null(strstr(rig.error.text, path));
    assert_non_null(strstr(rig.error.text, where));
    assert_non_null(strstr(rig.error.text, "backup"));
    assert_true(rig_digest(&rig) == digest);
    free(path);
}

static void remove_segment(uint64_t number)
{
    char *path = rig_segment(&rig, number);

    assert_int_equal(unlink(path), 0);
    free(path);
}

/* ---- the tail */

/* After the cut the journal continues, and a later opening reads the new records. */
static void expect_cut_to(uint64_t last)
{
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
    rig_append(&rig, PAYLOAD);
    rig_append(&rig, PAYLOAD);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last + 2);
    assert_int_equal(rig.timelines[last + 1], rig.timeline - 1);
}

static void tear_at(size_t cut, bool shorter)
{
    char *path;
    uint8_t *bytes;
    size_t size;

    set_up(NULL);
    write_records(RECORDS);
    rig_close(&rig);
    path = rig_segment(&rig, 1);
    bytes = rig_read(path, &size);
    memset(bytes + cut, 0, size - cut);
    rig_write(path, bytes, shorter ? cut : size);
    free(bytes);
    free(path);
    expect_cut_to(RECORDS - 1);
    tear_down(NULL);
}

static void a_torn_tail_is_cut_at_every_byte(void **state)
{
    size_t begin = offset_of(RECORDS);

    (void)state;
    for (size_t cut = begin; cut < begin + RECORD_HEADER_SIZE + PAYLOAD; cut++) {
        tear_at(cut, false);
        tear_at(cut, true);
    }
}

static void a_file_that_ends_within_the_padding_has_its_record(void **state)
{
    char *path = rig_segment(&rig, 1);

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    assert_int_equal(truncate(path, (off_t)offset_of(RECORDS + 1) - 1), 0);
    expect_cut_to(RECORDS);
    free(path);
}

static void any_bit_flipped_in_the_last_record_cuts_it(void **state)
{
    char *path = rig_segment(&rig, 1);
    size_t begin = offset_of(RECORDS) * 8;

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    for (size_t bit = begin; bit < begin + (RECORD_HEADER_SIZE + PAYLOAD) * 8; bit++) {
        rig_flip(path, bit);
        rig_reopen(&rig);
        assert_int_equal(rig.read_to, RECORDS - 1);
        rig_flip(path, bit);
    }
    free(path);
}

/* Nothing proves that a record of the tail was durable, although later ones are on disk. */
static void a_hole_in_what_was_never_durable_is_cut(void **state)
{
    char *path = rig_segment(&rig, 1);

    (void)state;
    write_records(RECORDS);
    fake_disk_hold_syncs(rig.disk, true);
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(rig_try(&rig, PAYLOAD), DUEQ_OK);
    fake_disk_cut_after(rig.disk, 0);
    rig_close(&rig);
    rig_flip(path, offset_of(RECORDS + 2) * 8);
    fake_disk_cut_after(rig.disk, UINT32_MAX);
    fake_disk_hold_syncs(rig.disk, false);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, RECORDS + 1);
    assert_int_equal(rig.replay.cut_bytes, 3 * SPACE);
    free(path);
}

static void segments_behind_an_honest_end_are_removed(void **state)
{
    char *path = rig_segment(&rig, 2);
    uint8_t junk[RIG_SEGMENT];

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    memset(junk, 'j', sizeof(junk));
    rig_write(path, junk, sizeof(junk));
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, RECORDS);
    assert_int_equal(rig_files(&rig, "0"), 1);
    free(path);
}

/* The LSN of the next segment shows that nothing is missing. */
static void a_segment_that_was_never_begun_is_passed_over(void **state)
{
    char *path = rig_segment(&rig, 2);
    uint8_t zeros[RIG_SEGMENT] = {0};
    uint64_t last;

    (void)state;
    fake_disk_fail(rig.disk, DISK_ALLOCATE, 1, 1, ENOSPC);
    while (rig_try(&rig, PAYLOAD) == DUEQ_OK)
        ;
    last = rig_append(&rig, PAYLOAD);
    rig_close(&rig);
    rig_write(path, zeros, sizeof(zeros));
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
    assert_int_equal(rig.replay.cut_bytes, 0);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void an_empty_file_is_an_honest_end(void **state)
{
    char *path = rig_segment(&rig, 1);

    (void)state;
    rig_close(&rig);
    rig_write(path, (const uint8_t *)"", 0);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, 0);
    assert_int_equal(rig_files(&rig, "0"), 0);
    free(path);
}

/* ---- damage */

static void any_bit_flipped_in_a_durable_record_is_damage(void **state)
{
    char *path = rig_segment(&rig, 1), where[32];
    size_t begin = offset_of(2) * 8;

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    snprintf(where, sizeof(where), "at byte %zu", offset_of(2));
    for (size_t bit = begin; bit < begin + (RECORD_HEADER_SIZE + PAYLOAD) * 8; bit++) {
        rig_flip(path, bit);
        expect_refusal(1, where);
        rig_flip(path, bit);
    }
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, RECORDS);
    free(path);
}

/* Waits until the idle sync thread has written the note: one sync for the record and one for
 * the note, which may be done before this thread checks. */
static void write_record_and_await_note(void)
{
    unsigned long syncs = fake_disk_count(rig.disk, DISK_SYNC);

    write_records(1);
    while (fake_disk_count(rig.disk, DISK_SYNC) < syncs + 2)
        usleep(1000);
}

static void write_records_and_rest(uint64_t count)
{
    rig.options.note_ms = 3600 * 1000;
    rig_reopen(&rig);
    write_records(count - 1);
    rig_close(&rig);
    rig.options.note_ms = 1;
    rig_reopen(&rig);
    write_record_and_await_note();
    rig_close(&rig);
}

/* No other record follows it. */
static void any_bit_flipped_in_the_last_record_of_a_journal_at_rest_is_damage(void **state)
{
    char *path, where[32];
    size_t begin = offset_of(1) * 8;

    (void)state;
    write_records_and_rest(RECORDS);
    path = rig_segment(&rig, 2); /* the reopening began a segment */
    snprintf(where, sizeof(where), "at byte %zu", offset_of(1));
    for (size_t bit = begin; bit < begin + (RECORD_HEADER_SIZE + PAYLOAD) * 8; bit++) {
        rig_flip(path, bit);
        expect_refusal(2, where);
        rig_flip(path, bit);
    }
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, RECORDS);
    free(path);
}

static void a_flipped_note_says_nothing(void **state)
{
    char *path;

    (void)state;
    write_records_and_rest(RECORDS);
    path = rig_segment(&rig, 2);
    for (size_t bit = SEGMENT_FIXED_SIZE * 8; bit < SEGMENT_HEADER_SIZE * 8; bit++) {
        rig_flip(path, bit);
        rig_reopen(&rig);
        assert_int_equal(rig.read_to, RECORDS);
        rig_close(&rig);
        rig_flip(path, bit);
    }
    free(path);
}

/* A client can send any body, also a megabyte of imitated headers of large records. */
static void imitations_of_records_cost_what_other_bytes_cost(void **state)
{
    enum { SIZE = 1 << 20 };
    static uint8_t bytes[SIZE];
    char *path = rig_segment(&rig, 1);
    uint8_t *found;
    size_t size;

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    found = rig_read(path, &size);
    memcpy(bytes, found, offset_of(RECORDS + 1));
    for (size_t at = offset_of(RECORDS + 1); at < SIZE; at += 8)
        memcpy(bytes + at, "DQR1\0\x08\0\0", 8); /* it claims half a megabyte */
    rig_write(path, bytes, SIZE);
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, RECORDS);
    assert_true(rig.replay.checked_bytes >= SIZE);
    assert_true(rig.replay.checked_bytes <= 8 * SIZE);
    free(found);
    free(path);
}

static void any_bit_flipped_in_a_segment_header_is_damage(void **state)
{
    char *path = rig_segment(&rig, 2);

    (void)state;
    write_segments(3);
    rig_close(&rig);
    for (size_t bit = 0; bit < SEGMENT_FIXED_SIZE * 8; bit++) {
        rig_flip(path, bit);
        expect_refusal(2, "at byte 0");
        rig_flip(path, bit);
    }
    rig_reopen(&rig);
    free(path);
}

static void a_flipped_header_of_the_first_segment_is_damage(void **state)
{
    char *path = rig_segment(&rig, 1);

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    rig_flip(path, 100);
    expect_refusal(1, "at byte 0");
    free(path);
}

static void a_missing_first_segment_is_damage(void **state)
{
    (void)state;
    write_segments(3);
    rig_close(&rig);
    remove_segment(1);
    expect_refusal(2, "missing");
}

static void a_missing_middle_segment_is_damage(void **state)
{
    (void)state;
    write_segments(4);
    rig_close(&rig);
    remove_segment(2);
    expect_refusal(1, "at byte 4096");
}

static void a_record_cut_out_is_damage(void **state)
{
    char *path = rig_segment(&rig, 1), where[32];
    uint8_t *bytes;
    size_t size;

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    bytes = rig_read(path, &size);
    memmove(bytes + offset_of(3), bytes + offset_of(4), size - offset_of(4));
    rig_write(path, bytes, size);
    snprintf(where, sizeof(where), "at byte %zu", offset_of(3));
    expect_refusal(1, where);
    free(bytes);
    free(path);
}

static void damage_below_the_checkpoint_does_no_harm(void **state)
{
    char *path = rig_segment(&rig, 1);
    uint64_t last;

    (void)state;
    write_segments(3);
    last = journal_last_lsn(rig.journal);
    rig_close(&rig);
    rig_flip(path, offset_of(2) * 8);
    rig.after = 40; /* in the second segment */
    rig_reopen(&rig);
    assert_int_equal(rig.read_to, last);
    free(path);
}

static void damage_below_the_checkpoint_in_its_own_segment_does_no_harm(void **state)
{
    char *path = rig_segment(&rig, 1);

    (void)state;
    write_records(RECORDS);
    rig_close(&rig);
    rig_flip(path, offset_of(2) * 8);
    rig.after = RECORDS;
    rig_reopen(&rig);
    assert_int_equal(rig_append(&rig, PAYLOAD), RECORDS + 1);
    free(path);
}

/* The data.mdb was restored from another store, or is new after a loss. */
static void a_journal_of_another_store_is_refused(void **state)
{
    (void)state;
    write_segments(2);
    rig.options.salt++;
    expect_refusal(1, "another store");
}

static void a_refusal_leaves_spares_and_half_made_files_alone(void **state)
{
    char *path = rig_segment(&rig, 1);
    char *half_made = rig_path(&rig, "new-0000000000000077.tmp");

    (void)state;
    write_records(RECORDS);
    journal_prepare(rig.journal);
    rig_close(&rig);
    rig_write(half_made, (const uint8_t *)"x", 1);
    rig_flip(path, offset_of(2) * 8);
    rig.options.segment_bytes *= 2; /* spares of the old size cannot be used */
    expect_refusal(1, "at byte");
    assert_int_equal(rig_files(&rig, ""), 4);
    free(half_made);
    free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_tail_is_cut_at_every_byte),
        TEST(a_file_that_ends_within_the_padding_has_its_record),
        TEST(any_bit_flipped_in_the_last_record_cuts_it),
        TEST(a_hole_in_what_was_never_durable_is_cut),
        TEST(segments_behind_an_honest_end_are_removed),
        TEST(a_segment_that_was_never_begun_is_passed_over),
        TEST(an_empty_file_is_an_honest_end),
        TEST(any_bit_flipped_in_a_durable_record_is_damage),
        TEST(any_bit_flipped_in_the_last_record_of_a_journal_at_rest_is_damage),
        TEST(a_flipped_note_says_nothing),
        TEST(imitations_of_records_cost_what_other_bytes_cost),
        TEST(any_bit_flipped_in_a_segment_header_is_damage),
        TEST(a_flipped_header_of_the_first_segment_is_damage),
        TEST(a_missing_first_segment_is_damage),
        TEST(a_missing_middle_segment_is_damage),
        TEST(a_record_cut_out_is_damage),
        TEST(damage_below_the_checkpoint_does_no_harm),
        TEST(damage_below_the_checkpoint_in_its_own_segment_does_no_harm),
        TEST(a_journal_of_another_store_is_refused),
        TEST(a_refusal_leaves_spares_and_half_made_files_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
