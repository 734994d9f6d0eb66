/* Bytes that a buffer copies later: they count at once, keep their place whatever happens
 * around them, and their owner is told once when they are copied or dropped. */
#include "protocol/buffer.h"
#include "protocol/resp_writer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MIB = 1024 * 1024, SIZE = 3 * MIB };

static struct {
    struct buffer buffer;
    char *bytes;
    int released;
} test;

static int set_up(void **state)
{
    (void)state;
    buffer_init(&test.buffer, 64 * MIB);
    test.bytes = malloc(SIZE);
    assert_non_null(test.bytes);
    for (size_t i = 0; i < SIZE; i++)
        test.bytes[i] = (char)((i * 2654435761U) >> 13);
    test.released = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&test.buffer);
    free(test.bytes);
    return 0;
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void append_later(void)
{
    struct buffer_source source = {test.bytes, SIZE, &test.released, count_release};

    buffer_append_later(&test.buffer, &source);
}

static void append(const char *text)
{
    buffer_append(&test.buffer, text, strlen(text));
}

/* The content is `head`, the bytes, `tail`. */
static void expect_content(const char *head, const char *tail)
{
    const char *content = buffer_content(&test.buffer);

    assert_int_equal(buffer_size(&test.buffer), strlen(head) + SIZE + strlen(tail));
    assert_memory_equal(content, head, strlen(head));
    assert_memory_equal(content + strlen(head), test.bytes, SIZE);
    assert_memory_equal(content + strlen(head) + SIZE, tail, strlen(tail));
}

static void they_count_at_once_and_are_copied_in_parts(void **state)
{
    (void)state;
    append("head");
    append_later();
    append("tail");
    assert_int_equal(buffer_size(&test.buffer), 8 + SIZE);
    assert_int_equal(buffer_ready(&test.buffer), 4);
    for (int part = 1; part <= 3; part++) {
        assert_false(buffer_is_filled(&test.buffer));
        assert_int_equal(test.released, 0);
        buffer_fill(&test.buffer, MIB);
        if (part < 3)
            assert_int_equal(buffer_ready(&test.buffer), 4 + part * MIB);
    }
    assert_true(buffer_is_filled(&test.buffer));
    assert_int_equal(test.released, 1);
    assert_int_equal(buffer_ready(&test.buffer), 8 + SIZE);
    expect_content("head", "tail");
}

static void what_is_ready_may_leave_before_the_rest_is_copied(void **state)
{
    size_t sent = 0;

    (void)state;
    append_later();
    append("tail");
    while (sent < SIZE) {
        size_t ready;

        buffer_fill(&test.buffer, 100 * 1000);
        ready = buffer_ready(&test.buffer);
        if (ready > SIZE - sent)
            ready = SIZE - sent;
        assert_memory_equal(buffer_content(&test.buffer), test.bytes + sent, ready);
        buffer_consume(&test.buffer, ready);
        sent += ready;
    }
    assert_int_equal(buffer_size(&test.buffer), 4);
    assert_memory_equal(buffer_content(&test.buffer), "tail", 4);
}

static void a_head_may_be_inserted_before_them(void **state)
{
    (void)state;
    append("a");
    append_later();
    append("z");
    buffer_insert(&test.buffer, 0, "1234", 4); /* in the room that is kept for it */
    buffer_insert(&test.buffer, 5, "56", 2);   /* right before them */
    for (int i = 0; i < 10; i++)               /* more than there is room for */
        buffer_insert(&test.buffer, 7, "0123456789", 10);
    buffer_fill(&test.buffer, SIZE_MAX);
    buffer_cut(&test.buffer, 7, 100);
    expect_content("1234a56", "z");
}

static void they_move_with_what_stands_around_them(void **state)
{
    (void)state;
    append("ab");
    append_later();
    append("yyyyz");
    buffer_cut(&test.buffer, SIZE + 2, 4); /* moves all that is before */
    buffer_fill(&test.buffer, MIB);
    append_later(); /* the memory grows */
    buffer_fill(&test.buffer, SIZE);
    buffer_truncate(&test.buffer, 2 + SIZE + 1);
    buffer_fill(&test.buffer, SIZE_MAX);
    assert_int_equal(test.released, 2);
    expect_content("ab", "z");
}

static void they_are_dropped_with_their_place(void **state)
{
    (void)state;
    append("a");
    append_later();
    buffer_truncate(&test.buffer, 1);
    assert_int_equal(test.released, 1);
    append_later();
    append_later();
    test.buffer.end -= SIZE; /* as net does with a reply that is put by */
    append("b");
    assert_int_equal(test.released, 2);
    buffer_clear(&test.buffer);
    assert_int_equal(test.released, 3);
    assert_true(buffer_is_filled(&test.buffer));
    append_later();
    buffer_release(&test.buffer);
    assert_int_equal(test.released, 4);
}

static void what_does_not_fit_is_released(void **state)
{
    (void)state;
    buffer_init(&test.buffer, SIZE - 1);
    append_later();
    assert_true(test.buffer.overflowed);
    assert_int_equal(test.released, 1);
    assert_int_equal(buffer_size(&test.buffer), 0);
}

static bool lend(void *arg, const void *data, size_t size, struct buffer_source *ret_source)
{
    *ret_source = (struct buffer_source){data, size, &test.released, count_release};
    return *(bool *)arg;
}

/* Large or not, lent or not, a reply has the same bytes. */
static void a_writer_lends_large_bulks_only(void **state)
{
    bool lends = true;
    struct resp_lender lender = {lend, &lends};
    struct resp_writer writer = {&test.buffer, 2, &lender};

    (void)state;
    resp_bulk(&writer, test.bytes, RESP_LARGE_BULK - 1);
    assert_true(buffer_is_filled(&test.buffer));
    buffer_clear(&test.buffer);
    for (int round = 0; round < 2; round++, lends = false) {
        resp_bulk(&writer, test.bytes, SIZE);
        assert_int_equal(buffer_is_filled(&test.buffer), !lends);
        resp_integer(&writer, 7);
        buffer_fill(&test.buffer, SIZE_MAX);
        expect_content("$3145728\r\n", "\r\n:7\r\n");
        buffer_clear(&test.buffer);
    }
    assert_int_equal(test.released, 1);
}

#define BUFFER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Else its growth would end where the room ends, and copy all of it. */
static void a_large_buffer_keeps_out_of_the_room_of_small_blocks(void **state)
{
    enum { BLOCKS = 1000, BLOCK = 64 * 1024 };
    static char *blocks[BLOCKS];
    uintptr_t first, last, place;
    (void)state;

    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(BLOCK);
    first = (uintptr_t)blocks[0];
    last = (uintptr_t)blocks[BLOCKS - 1];
    for (size_t i = 0; i < BLOCKS - 1; i++)
        free(blocks[i]);
    for (size_t i = 0; i < 32; i++)
        buffer_append(&test.buffer, test.bytes + i * BLOCK, BLOCK);
    place = (uintptr_t)test.buffer.data;
    assert_memory_equal(buffer_content(&test.buffer), test.bytes, (size_t)32 * BLOCK);
    assert_false(place >= first && place < last);
    buffer_clear(&test.buffer);
    buffer_shrink(&test.buffer, 0);
    assert_null(test.buffer.data);
    free(blocks[BLOCKS - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUFFER_TEST(they_count_at_once_and_are_copied_in_parts),
        BUFFER_TEST(what_is_ready_may_leave_before_the_rest_is_copied),
        BUFFER_TEST(a_head_may_be_inserted_before_them),
        BUFFER_TEST(they_move_with_what_stands_around_them),
        BUFFER_TEST(they_are_dropped_with_their_place),
        BUFFER_TEST(what_does_not_fit_is_released),
        BUFFER_TEST(a_writer_lends_large_bulks_only),
        BUFFER_TEST(a_large_buffer_keeps_out_of_the_room_of_small_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
