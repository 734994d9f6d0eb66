#include "protocol/grown_memory.h"
#include "protocol/resp_reader.h"
#include "tests/fuzz/request_check.h"
#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static size_t bytes_of(const struct request *request)
{
    size_t bytes = 0;

    for (size_t i = 0; i < request->count; i++)
        bytes += request->arguments[i].size;
    return bytes;
}

/* Feeds the bytes to a reader, `step` at a time, and returns its requests as text: "[a|b][c]"
 * or "-ERR ...". */
static const char *reads(const char *bytes, size_t size, size_t step, struct resp_limits limits)
{
    static char shown[4096];
    struct resp_reader *reader = resp_reader_new(&limits);
    size_t used = 0;

    shown[0] = '\0';
    for (size_t at = 0; at < size; at += step) {
        struct request request;
        enum resp_read read;

        resp_reader_feed(reader, bytes + at, size - at < step ? size - at : step);
        while ((read = resp_reader_next(reader, &request)) == RESP_REQUEST) {
            assert_int_equal(request.bytes, bytes_of(&request));
            for (size_t i = 0; i < request.count; i++)
                used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%.*s%s",
                                         i == 0 ? "[" : "|", (int)request.arguments[i].size,
                                         request.arguments[i].data,
                                         i + 1 == request.count ? "]" : "");
        }
        if (read == RESP_ERROR) {
            snprintf(shown + used, sizeof(shown) - used, "-%s", resp_reader_error(reader));
            break;
        }
    }
    resp_reader_free(reader);
    return shown;
}

static const struct resp_limits usual = {1024 * 1024, 512 << 20, 65536, 1 << 30, false, 0};
static const struct resp_limits before_login = {10, 16384, 65536, 1 << 30, true, 0};

static void expect(const char *bytes, const char *wanted)
{
    struct resp_limits limits = usual;

    for (limits.large_bytes = 0; limits.large_bytes < 5; limits.large_bytes++) {
        for (size_t step = 1; step < 64; step *= 3)
            assert_string_equal(reads(bytes, strlen(bytes), step, limits), wanted);
        assert_string_equal(reads(bytes, strlen(bytes), strlen(bytes), limits), wanted);
    }
}

static void requests_are_read_whole_and_in_pieces(void **state)
{
    (void)state;
    expect("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n", "[GET|a][PING]");
    expect("*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "[GET|]");
    expect("*0\r\n*-1\r\n\r\n*1\r\n$4\r\nPING\r\n", "[PING]");
    expect("*1\rx$4\ryPINGab*1\r\n$4\r\nPING\r\n", "[PING][PING]"); /* Redis skips them */
    expect("PING\r\nECHO \"a b\"\nSET k 'it\\'s'\r\n", "[PING][ECHO|a b][SET|k|it's]");
}

/* Sizes around each change in how they are read, with the byte after each argument a NUL. */
static void arguments_of_every_size_are_read(void **state)
{
    static const size_t sizes[] = {0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10000, 99999};
    static char bytes[3 * 100032];
    struct resp_reader *reader = resp_reader_new(&usual);
    struct request request;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t used = (size_t)sprintf(bytes, "*3\r\n");

        for (int part = 0; part < 3; part++) {
            used += (size_t)sprintf(bytes + used, "$%zu\r\n", sizes[i]);
            memset(bytes + used, 'a' + part, sizes[i]);
            used += sizes[i];
            used += (size_t)sprintf(bytes + used, "\r\n");
        }
        for (size_t at = 0; at < used; at += 65536) {
            assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
            resp_reader_feed(reader, bytes + at, used - at < 65536 ? used - at : 65536);
        }
        assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
        assert_int_equal(request.count, 3);
        assert_int_equal(request.bytes, 3 * sizes[i]);
        for (int part = 0; part < 3; part++) {
            assert_int_equal(request.arguments[part].size, sizes[i]);
            assert_int_equal(strlen(request.arguments[part].data), sizes[i]);
            assert_true(sizes[i] == 0 ||
                        request.arguments[part].data[sizes[i] - 1] == 'a' + part);
        }
    }
    resp_reader_free(reader);
}

static void nonsense_gets_redis_own_words(void **state)
{
    (void)state;
    expect("*1\r\nPING\r\n", "-ERR Protocol error: expected '$', got 'P'");
    expect("*1\r\n*1\r\n", "-ERR Protocol error: expected '$', got '*'");
    expect("*3000000000\r\n", "-ERR Protocol error: invalid multibulk length");
    expect("*4294967295\r\n", "-ERR Protocol error: invalid multibulk length");
    expect("*x\r\n", "-ERR Protocol error: invalid multibulk length");
    expect("*01\r\n$4\r\nPING\r\n", "-ERR Protocol error: invalid multibulk length");
    expect("*+1\r\n$4\r\nPING\r\n", "-ERR Protocol error: invalid multibulk length");
    expect("*1\r\n$04\r\nPING\r\n", "-ERR Protocol error: invalid bulk length");
    expect("*1\r\n$\r\nPING\r\n", "-ERR Protocol error: invalid bulk length");
    expect("*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length");
    expect("*1\r\n$999999999999\r\n", "-ERR Protocol error: invalid bulk length");
    expect("*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length");
    expect("SET a \"unbalanced\r\n", "-ERR Protocol error: unbalanced quotes in request");
}

/* Requests of all kinds one after the other, some bytes of which are others then. */
static size_t write_nonsense(struct dice *dice, char *bytes, size_t room)
{
    static const char usual_bytes[] = "*$\r\n0123-+ ab";
    size_t used = 0, requests = 1 + dice_roll(dice, 6);

    while (requests-- > 0 && used + 512 < room) {
        unsigned count = (unsigned)dice_roll(dice, 6);

        used += (size_t)sprintf(bytes + used, "*%u\r\n", count);
        while (count-- > 0) {
            size_t size = dice_roll(dice, dice_once_in(dice, 4) ? 60 : 6);

            used += (size_t)sprintf(bytes + used, "$%zu\r\n", size);
            for (size_t i = 0; i < size; i++)
                bytes[used++] = usual_bytes[dice_roll(dice, sizeof(usual_bytes))];
            used += (size_t)sprintf(bytes + used, "\r\n");
        }
    }
    for (uint64_t changes = dice_roll(dice, 4); changes > 0; changes--)
        bytes[dice_roll(dice, used)] = usual_bytes[dice_roll(dice, sizeof(usual_bytes))];
    return used - dice_roll(dice, used < 20 ? used : 20);
}

/* What is whole is read by other code than what is not. */
static void what_is_whole_is_read_as_what_comes_in_pieces(void **state)
{
    static char bytes[4096];
    long rounds = dice_setting("STEPS", 20000);
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    while (rounds-- > 0) {
        size_t size = write_nonsense(&dice, bytes, sizeof(bytes));

        assert_true(request_splits_agree((const uint8_t *)bytes, size));
    }
}

/* More arguments than are looked at in the input are read all the same. */
static void many_arguments_are_read(void **state)
{
    static char bytes[2000 * 16];
    struct request request;

    (void)state;
    for (size_t count = 1000; count < 1100; count++) {
        struct resp_reader *reader = resp_reader_new(&usual);
        size_t used = (size_t)sprintf(bytes, "*%zu\r\n", count);

        for (size_t i = 0; i < count; i++)
            used += (size_t)sprintf(bytes + used, "$4\r\n%04zu\r\n", i);
        resp_reader_feed(reader, bytes, used);
        assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
        assert_int_equal(request.count, count);
        assert_int_equal(request.bytes, count * 4);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(atoi(request.arguments[i].data), i);
        assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
        resp_reader_free(reader);
    }
}

static void endless_lines_are_cut_off(void **state)
{
    static char line[70000];

    (void)state;
    memset(line, 'a', sizeof(line));
    assert_string_equal(reads(line, sizeof(line), 4096, usual),
                        "-ERR Protocol error: too big inline request");
    line[0] = '*';
    assert_string_equal(reads(line, sizeof(line), 4096, usual),
                        "-ERR Protocol error: too big mbulk count string");
    memcpy(line, "*1\r\n$", 5);
    assert_string_equal(reads(line, sizeof(line), 4096, usual),
                        "-ERR Protocol error: too big bulk count string");
}

static void limits_are_low_before_login(void **state)
{
    static char whole[20000];
    int head = sprintf(whole, "*1\r\n$16385\r\n");

    (void)state;
    memset(whole + head, 'x', 16385 + 2);
    assert_string_equal(reads(whole, (size_t)head + 16387, sizeof(whole), before_login),
                        "-ERR Protocol error: unauthenticated bulk length");
    for (int i = head = sprintf(whole, "*11\r\n"); i < head + 11 * 7; i += 7)
        sprintf(whole + i, "$1\r\na\r\n");
    assert_string_equal(reads(whole, (size_t)head + 77, sizeof(whole), before_login),
                        "-ERR Protocol error: unauthenticated multibulk length");
    assert_string_equal(reads("*11\r\n", 5, 5, before_login),
                        "-ERR Protocol error: unauthenticated multibulk length");
    assert_string_equal(reads("*1\r\n$16385\r\n", 12, 12, before_login),
                        "-ERR Protocol error: unauthenticated bulk length");
}

static void arrives_whole(size_t large_bytes)
{
    size_t size = (size_t)64 << 20;
    struct resp_limits limits = usual;
    struct resp_reader *reader;
    struct resp_memory memory;
    struct request request;
    char *body = malloc(size + 2);

    limits.large_bytes = large_bytes;
    reader = resp_reader_new(&limits);
    memset(body, 'b', size);
    memcpy(body + size, "\r\n", 2);
    resp_reader_feed(reader, "*1\r\n$67108864\r\n", 15);
    for (size_t at = 0; at < size + 2; at += 65536) {
        assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
        resp_reader_feed(reader, body + at, size + 2 - at < 65536 ? size + 2 - at : 65536);
    }
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_int_equal(request.arguments[0].size, size);
    assert_memory_equal(request.arguments[0].data, body, size);
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    resp_reader_measure(reader, &memory);
    assert_true(memory.total < 65536);
    resp_reader_feed(reader, "PING\r\n", 6);
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    resp_reader_free(reader);
    free(body);
}

static void a_huge_argument_arrives_whole_and_its_memory_goes_back(void **state)
{
    (void)state;
    arrives_whole(0);
    arrives_whole(1 << 20);
}

static size_t memory_of(const struct resp_reader *reader)
{
    struct resp_memory memory;

    resp_reader_measure(reader, &memory);
    return memory.total;
}

static void what_is_announced_takes_no_memory_until_it_comes(void **state)
{
    struct resp_limits limits = usual;
    struct resp_reader *reader;
    struct request request;
    static char bytes[1 << 20];

    (void)state;
    limits.large_bytes = 1 << 20;
    reader = resp_reader_new(&limits);
    resp_reader_feed(reader, "*1\r\n$536870912\r\n", 16);
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    assert_true(memory_of(reader) < (4 << 20));
    for (int i = 0; i < 8; i++) {
        resp_reader_feed(reader, bytes, sizeof(bytes));
        assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    }
    assert_true(memory_of(reader) >= (8 << 20) && memory_of(reader) < (12 << 20));
    resp_reader_free(reader);
}

/* It counts as input until it is complete, then as an argument; only received bytes count. */
static void a_large_argument_counts_by_what_has_come(void **state)
{
    struct resp_limits limits = usual;
    struct resp_reader *reader;
    struct resp_memory memory;
    struct request request;
    static char bytes[1 << 20];

    (void)state;
    limits.large_bytes = 1 << 20;
    reader = resp_reader_new(&limits);
    resp_reader_feed(reader, "*2\r\n$1048576\r\n", 14);
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    resp_reader_feed(reader, bytes, sizeof(bytes));
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    resp_reader_measure(reader, &memory);
    assert_int_equal(memory.input, sizeof(bytes));
    assert_true(memory.arguments < 1024);
    assert_true(memory.total >= sizeof(bytes) && memory.total < sizeof(bytes) + 65536);
    resp_reader_feed(reader, "\r\n", 2);
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    resp_reader_measure(reader, &memory);
    assert_int_equal(memory.input, 0);
    assert_true(memory.arguments >= sizeof(bytes));
    resp_reader_free(reader);
}

/* The other arguments of the request and the next request are complete and in order. */
static void a_large_argument_can_be_taken_over(void **state)
{
    static const char bytes[] = "*3\r\n$3\r\nSET\r\n$8\r\n01234567\r\n$1\r\nx\r\nPING\r\n";
    struct resp_limits limits = usual;
    struct resp_reader *reader;
    struct request request;
    struct resp_large *large;
    size_t count;
    void *memory;

    (void)state;
    limits.large_bytes = 8;
    reader = resp_reader_new(&limits);
    resp_reader_feed(reader, bytes, sizeof(bytes) - 1);
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    large = resp_reader_large(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(large->index, 1);
    assert_ptr_equal(large->data, request.arguments[1].data);
    memory = large->memory;
    memset(large->data - RESP_LARGE_BEFORE, 'h', RESP_LARGE_BEFORE);
    large->memory = NULL;
    assert_string_equal(request.arguments[1].data, "01234567");
    assert_string_equal(request.arguments[2].data, "x");
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_string_equal(request.arguments[0].data, "PING");
    resp_reader_large(reader, &count);
    assert_int_equal(count, 0);
    resp_reader_free(reader);
    free(memory);
}

/* The reader goes on without it, and does not count it any more. */
static void a_whole_request_can_be_taken_over(void **state)
{
    static const char bytes[] = "*3\r\n$3\r\nSET\r\n$8\r\n01234567\r\n$1\r\nx\r\n"
                                "*2\r\n$4\r\nECHO\r\n$9\r\nhello all\r\n";
    struct resp_limits limits = usual;
    struct resp_reader *reader;
    struct request first, second;
    struct resp_given given;
    struct resp_memory memory;

    (void)state;
    limits.large_bytes = 8;
    reader = resp_reader_new(&limits);
    resp_reader_feed(reader, bytes, sizeof(bytes) - 1);
    assert_int_equal(resp_reader_next(reader, &first), RESP_REQUEST);
    assert_true(resp_reader_has(reader, &first));
    resp_reader_give(reader, &given);
    assert_false(resp_reader_has(reader, &first));
    resp_reader_measure(reader, &memory);
    assert_int_equal(memory.arguments, 0);
    assert_int_equal(resp_reader_next(reader, &second), RESP_REQUEST);
    assert_string_equal(second.arguments[1].data, "hello all");
    resp_reader_free(reader);
    assert_string_equal(first.arguments[0].data, "SET");
    assert_string_equal(first.arguments[1].data, "01234567");
    assert_string_equal(first.arguments[2].data, "x");
    assert_ptr_equal(first.arguments, given.arguments);
    assert_int_equal(given.large_count, 1);
    free(given.large[0].memory);
    free(given.large);
    grown_memory_free(given.arguments, given.argument_bytes);
    grown_memory_free(given.block, given.block_bytes);
}

/* What resp_reader_look_ahead finds, at most `most`, as text: "GET a, SET b, ". */
static const char *ahead_of(struct resp_reader *reader, size_t most)
{
    static char shown[1024];
    struct resp_ahead ahead[8];
    size_t count = resp_reader_look_ahead(reader, ahead, most), used = 0;

    shown[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%.*s %.*s, ",
                                 (int)ahead[i].name.size, ahead[i].name.data,
                                 (int)ahead[i].first.size, ahead[i].first.data);
    return shown;
}

static void expect_ahead(const char *bytes, const char *wanted)
{
    struct resp_reader *reader = resp_reader_new(&usual);

    resp_reader_feed(reader, bytes, strlen(bytes));
    assert_string_equal(ahead_of(reader, 8), wanted);
    resp_reader_free(reader);
}

static void requests_are_seen_before_they_are_read(void **state)
{
    static const char bytes[] = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
                                "*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n"
                                "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\n";
    struct resp_reader *reader = resp_reader_new(&usual);
    struct request request;

    (void)state;
    assert_string_equal(ahead_of(reader, 8), "");
    resp_reader_feed(reader, bytes, sizeof(bytes) - 1);
    assert_string_equal(ahead_of(reader, 8), "GET a, SET bc, PING , ");
    assert_string_equal(ahead_of(reader, 1), "GET a, ");
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_string_equal(request.arguments[1].data, "a");
    assert_string_equal(ahead_of(reader, 8), "SET bc, PING , ");
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_int_equal(resp_reader_next(reader, &request), RESP_MORE);
    assert_string_equal(ahead_of(reader, 8), ""); /* it is in the midst of one */
    resp_reader_feed(reader, "z\r\n*1\r\n$4\r\nQUIT\r\n", 18);
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    assert_string_equal(ahead_of(reader, 8), "QUIT , ");
    resp_reader_free(reader);
}

static void nothing_is_seen_in_nonsense(void **state)
{
    (void)state;
    expect_ahead("GET a\r\n", "");
    expect_ahead("*0\r\n", "");
    expect_ahead("*-1\r\n", "");
    expect_ahead("*\r\n$3\r\nGET\r\n", "");
    expect_ahead("*99999999999999999999\r\n$3\r\nGET\r\n", "");
    expect_ahead("*1\r\n$-3\r\nGET\r\n", "");
    expect_ahead("*1\r\n$99999\r\nGET\r\n", "");
    expect_ahead("*1\r\n$18446744073709551615\r\nGET\r\n", "");
    expect_ahead("*1\r\n+3\r\nGET\r\n", "");
    expect_ahead("*1\r", "");
    expect_ahead("*1\r\n$3", "");
    expect_ahead("*1\r\n$3\r\nGET\r", "");
    expect_ahead("*9\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n"
                 "$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n",
                 "");
}

static void an_idle_reader_is_small(void **state)
{
    struct resp_reader *reader = resp_reader_new(&usual);
    struct resp_memory memory;

    (void)state;
    resp_reader_measure(reader, &memory);
    assert_true(memory.total < 2048);
    resp_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read_whole_and_in_pieces),
        cmocka_unit_test(arguments_of_every_size_are_read),
        cmocka_unit_test(nonsense_gets_redis_own_words),
        cmocka_unit_test(what_is_whole_is_read_as_what_comes_in_pieces),
        cmocka_unit_test(many_arguments_are_read),
        cmocka_unit_test(endless_lines_are_cut_off),
        cmocka_unit_test(limits_are_low_before_login),
        cmocka_unit_test(a_huge_argument_arrives_whole_and_its_memory_goes_back),
        cmocka_unit_test(what_is_announced_takes_no_memory_until_it_comes),
        cmocka_unit_test(a_large_argument_counts_by_what_has_come),
        cmocka_unit_test(a_large_argument_can_be_taken_over),
        cmocka_unit_test(a_whole_request_can_be_taken_over),
        cmocka_unit_test(requests_are_seen_before_they_are_read),
        cmocka_unit_test(nothing_is_seen_in_nonsense),
        cmocka_unit_test(an_idle_reader_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
