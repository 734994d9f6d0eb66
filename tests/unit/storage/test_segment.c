/* The bytes of a journal segment. */
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "storage/options.h"

#include <string.h>

#include "tests/support/cmocka.h"

enum { SALT = 77, PAYLOAD = 45 };

static const struct segment_header header = {.number = 9, .first_lsn = 1000, .durable = 998};
static const struct record_header record = {
    .lsn = 1001, .durable = 999, .time = -5, .size = PAYLOAD};

static uint8_t bytes[256];

static void write_record(void)
{
    static uint8_t payload[PAYLOAD];
    struct iovec parts[] = {{payload, 1}, {payload + 1, 0}, {payload + 1, PAYLOAD - 1}};

    for (int i = 0; i < PAYLOAD; i++)
        payload[i] = (uint8_t)(i * 7 + 1);
    memset(bytes, 0xee, sizeof(bytes));
    record_write_header(bytes, &record, parts, 3, SALT);
    memcpy(bytes + RECORD_HEADER_SIZE, payload, PAYLOAD);
}

static void a_segment_header_reads_as_written(void **state)
{
    struct segment_header found;

    (void)state;
    segment_write_header(bytes, &header, SALT);
    assert_true(segment_read_header(bytes, SALT, &found));
    assert_int_equal(found.number, header.number);
    assert_int_equal(found.first_lsn, header.first_lsn);
    assert_int_equal(found.durable, header.durable);
}

static void a_segment_header_has_the_bytes_that_the_format_says(void **state)
{
    static const uint8_t expected[32] = "DUEQSEG1"
                                        "\0\0\0\0\0\0\0\x09"
                                        "\0\0\0\0\0\0\x03\xe8"
                                        "\0\0\0\0\0\0\x03\xe6";

    (void)state;
    segment_write_header(bytes, &header, SALT);
    assert_memory_equal(bytes, expected, sizeof(expected));
}

static void a_segment_header_with_any_bit_flipped_does_not_check(void **state)
{
    struct segment_header found = {.number = 1};

    (void)state;
    segment_write_header(bytes, &header, SALT);
    for (int bit = 0; bit < SEGMENT_FIXED_SIZE * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(segment_read_header(bytes, SALT, &found));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(found.number, 1); /* untouched on failure */
}

static void a_header_of_another_salt_does_not_check(void **state)
{
    struct segment_header found;

    (void)state;
    segment_write_header(bytes, &header, SALT);
    assert_false(segment_read_header(bytes, SALT + 1, &found));
}

static void segments_and_stores_have_salts_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(segment_salt(5, 1), segment_salt(5, 1));
    assert_true(segment_salt(5, 1) != segment_salt(5, 2));
    assert_true(segment_salt(5, 1) != segment_salt(6, 1));
}

static void a_record_written_in_parts_reads_as_one(void **state)
{
    struct record_header found;

    (void)state;
    write_record();
    assert_true(record_read(bytes, sizeof(bytes), SALT, &found));
    assert_int_equal(found.lsn, record.lsn);
    assert_int_equal(found.durable, record.durable);
    assert_int_equal(found.time, record.time);
    assert_int_equal(found.size, PAYLOAD);
}

static void a_record_with_any_bit_flipped_does_not_check(void **state)
{
    struct record_header found = {.lsn = 1};

    (void)state;
    write_record();
    for (int bit = 0; bit < (RECORD_HEADER_SIZE + PAYLOAD) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(record_read(bytes, sizeof(bytes), SALT, &found));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_false(record_read(bytes, sizeof(bytes), SALT + 1, &found));
    assert_int_equal(found.lsn, 1);
}

static void a_record_needs_room_for_its_payload_but_not_for_its_padding(void **state)
{
    struct record_header found;

    (void)state;
    write_record();
    for (size_t room = 0; room < RECORD_HEADER_SIZE + PAYLOAD; room++)
        assert_false(record_read(bytes, room, SALT, &found));
    assert_true(record_read(bytes, RECORD_HEADER_SIZE + PAYLOAD, SALT, &found));
}

/* Whatever the payload, and however much of it is there. */
static void the_header_of_a_record_checks_by_itself(void **state)
{
    struct record_header found;

    (void)state;
    write_record();
    memset(bytes + RECORD_HEADER_SIZE, 0xaa, PAYLOAD);
    assert_true(record_read_header(bytes, RECORD_HEADER_SIZE, SALT, &found));
    assert_int_equal(found.lsn, record.lsn);
    assert_int_equal(found.size, PAYLOAD);
    assert_false(record_read(bytes, sizeof(bytes), SALT, &found));
    assert_false(record_read_header(bytes, RECORD_HEADER_SIZE, SALT + 1, &found));
    assert_false(record_read_header(bytes, RECORD_HEADER_SIZE - 1, SALT, &found));
    for (int bit = 0; bit < RECORD_HEADER_SIZE * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(record_read_header(bytes, RECORD_HEADER_SIZE, SALT, &found));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* Where a size_t has 32 bits, the space of the largest number would be none. */
static void a_header_with_more_than_any_record_has_is_none(void **state)
{
    static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - RECORD_HEADER_SIZE,
                                     (uint32_t)DUEQ_RECORD_MAX + 1};
    struct record_header found, large = record;

    (void)state;
    large.size = (uint32_t)DUEQ_RECORD_MAX;
    record_write_header(bytes, &large, NULL, 0, SALT);
    assert_true(record_read_header(bytes, RECORD_HEADER_SIZE, SALT, &found));
    assert_true(record_space(found.size) > DUEQ_RECORD_MAX);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        large.size = sizes[i];
        record_write_header(bytes, &large, NULL, 0, SALT);
        assert_false(record_read_header(bytes, RECORD_HEADER_SIZE, SALT, &found));
        assert_false(record_read(bytes, sizeof(bytes), SALT, &found));
    }
}

static void a_note_says_what_is_durable_or_nothing(void **state)
{
    (void)state;
    segment_write_header(bytes, &header, SALT);
    assert_int_equal(segment_read_note(bytes + SEGMENT_FIXED_SIZE, SALT), 0);
    segment_write_note(bytes, 998, SALT);
    assert_int_equal(segment_read_note(bytes, SALT), 998);
    assert_int_equal(segment_read_note(bytes, SALT + 1), 0);
    for (int bit = 0; bit < 24 * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(segment_read_note(bytes, SALT), 0);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void records_take_multiples_of_eight_bytes(void **state)
{
    (void)state;
    assert_int_equal(record_space(0), RECORD_HEADER_SIZE);
    assert_int_equal(record_space(1), RECORD_HEADER_SIZE + 8);
    assert_int_equal(record_space(8), RECORD_HEADER_SIZE + 8);
    assert_int_equal(record_space(9), RECORD_HEADER_SIZE + 16);
}

static void a_torn_record_still_says_which_it_is(void **state)
{
    (void)state;
    write_record();
    bytes[RECORD_HEADER_SIZE + 3] ^= 1;
    assert_true(record_begins(bytes, sizeof(bytes)));
    assert_true(record_begins_as(bytes, sizeof(bytes), record.lsn));
    assert_false(record_begins_as(bytes, sizeof(bytes), record.lsn + 1));
    assert_false(record_begins_as(bytes, RECORD_HEADER_SIZE - 1, record.lsn));
    bytes[0] ^= 1;
    assert_false(record_begins(bytes, sizeof(bytes)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_header_reads_as_written),
        cmocka_unit_test(a_segment_header_has_the_bytes_that_the_format_says),
        cmocka_unit_test(a_segment_header_with_any_bit_flipped_does_not_check),
        cmocka_unit_test(a_header_of_another_salt_does_not_check),
        cmocka_unit_test(segments_and_stores_have_salts_of_their_own),
        cmocka_unit_test(a_record_written_in_parts_reads_as_one),
        cmocka_unit_test(a_record_with_any_bit_flipped_does_not_check),
        cmocka_unit_test(a_record_needs_room_for_its_payload_but_not_for_its_padding),
        cmocka_unit_test(the_header_of_a_record_checks_by_itself),
        cmocka_unit_test(a_header_with_more_than_any_record_has_is_none),
        cmocka_unit_test(a_note_says_what_is_durable_or_nothing),
        cmocka_unit_test(records_take_multiples_of_eight_bytes),
        cmocka_unit_test(a_torn_record_still_says_which_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
