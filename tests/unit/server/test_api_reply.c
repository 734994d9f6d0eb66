#include "server/http/api_reply.h"

#include "protocol/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static const char *const fields[] = {"id", "token", NULL};
static const char *const long_fields[] = {"number", "event", "time", NULL};
static const char *const gap_fields[] = {"number", "count", NULL};
static const struct reply_shape as_is = {.wrap = NULL}, under = {.wrap = "jobs"},
                                named = {.fields = fields},
                                list = {"jobs", fields, NULL, 1, true},
                                events = {"events", long_fields, gap_fields, 1, true};

/* The bytes come in pieces of that size. */
static enum reply_step convert(const struct reply_shape *shape, const char *bytes, size_t size,
                               size_t piece, struct buffer *out)
{
    struct api_reply json;
    size_t begin = 0, end = 0;
    enum reply_step step = REPLY_MORE;

    api_reply_init(&json, shape);
    while (step == REPLY_AGAIN || (step == REPLY_MORE && end < size)) {
        size_t used, wanted;

        if (step == REPLY_MORE)
            end = end + piece < size ? end + piece : size;
        step = api_reply_run(&json, bytes + begin, end - begin, out, &used, &wanted);
        assert_true(used <= end - begin);
        begin += used;
    }
    return step;
}

static void expect(const struct reply_shape *shape, const char *bytes, const char *text)
{
    for (size_t piece = 1; piece <= strlen(bytes); piece++) {
        struct buffer out;

        buffer_init(&out, SIZE_MAX / 2);
        assert_int_equal(convert(shape, bytes, strlen(bytes), piece, &out), REPLY_DONE);
        buffer_append(&out, "", 1);
        assert_string_equal(buffer_content(&out), text);
        buffer_release(&out);
    }
}

static void values_become_json(void **state)
{
    (void)state;
    expect(&as_is, "+OK\r\n", "\"OK\"");
    expect(&as_is, ":-17\r\n", "-17");
    expect(&as_is, "$5\r\na\"b\r\n\r\n", "\"a\\\"b\\r\\n\"");
    expect(&as_is, "$0\r\n\r\n", "\"\"");
    expect(&as_is, "$1\r\n\xff\r\n", "{\"base64\":\"/w==\"}");
    expect(&as_is, "_\r\n", "null");
    expect(&as_is, "$-1\r\n", "null");
    expect(&as_is, "*-1\r\n", "null");
    expect(&as_is, "#t\r\n", "true");
    expect(&as_is, ",1.5\r\n", "1.5");
    expect(&as_is, ",-1e+300\r\n", "-1e+300");
    expect(&as_is, ",inf\r\n", "\"inf\"");
    expect(&as_is, ",.5\r\n", "\".5\"");
    expect(&as_is, "*0\r\n", "[]");
    expect(&as_is, "%0\r\n", "{}");
    expect(&as_is, "*2\r\n:1\r\n*1\r\n*0\r\n", "[1,[[]]]");
    expect(&as_is, "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n%1\r\n+c\r\n_\r\n",
           "{\"a\":1,\"b\":{\"c\":null}}");
}

static void a_shape_gives_names(void **state)
{
    (void)state;
    expect(&under, ":3\r\n", "{\"jobs\":3}");
    expect(&under, "*0\r\n", "{\"jobs\":[]}");
    expect(&named, "*2\r\n$1\r\na\r\n:7\r\n", "{\"id\":\"a\",\"token\":7}");
    expect(&named, "*3\r\n$1\r\na\r\n:7\r\n:8\r\n", "{\"id\":\"a\",\"token\":7,\"2\":8}");
    expect(&list, "_\r\n", "{\"jobs\":[]}");
    expect(&list, "*2\r\n*2\r\n$1\r\na\r\n:7\r\n*2\r\n$1\r\nb\r\n_\r\n",
           "{\"jobs\":[{\"id\":\"a\",\"token\":7},{\"id\":\"b\",\"token\":null}]}");
    expect(&events, "*2\r\n*2\r\n:7\r\n:3\r\n*3\r\n:8\r\n+acked\r\n:9\r\n",
           "{\"events\":[{\"number\":7,\"count\":3},"
           "{\"number\":8,\"event\":\"acked\",\"time\":9}]}");
}

static void what_is_no_reply_is_refused(void **state)
{
    static const char *const bad[] = {
        "\r\n",
        "x\r\n",
        ":x\r\n",
        "$x\r\n",
        "$-2\r\n",
        "+OK\n",
        "*9999999999\r\n",
        "%1\r\n*0\r\n:1\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"};
    struct buffer out;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        buffer_init(&out, SIZE_MAX / 2);
        assert_int_equal(convert(&as_is, bad[i], strlen(bad[i]), 100, &out), REPLY_BROKEN);
        buffer_release(&out);
    }
}

/* It is not held as a whole. */
static void a_long_string_is_written_in_parts(void **state)
{
    size_t size = JSON_STRING_MAX + 5, head;
    char *bytes = malloc(size + 64);
    struct buffer out, whole;

    (void)state;
    assert_non_null(bytes);
    head = (size_t)sprintf(bytes, "*2\r\n$%zu\r\n", size);
    for (size_t i = 0; i < size; i++)
        bytes[head + i] = (char)(i * 7);
    memcpy(bytes + head + size, "\r\n:1\r\n", 6);
    buffer_init(&whole, SIZE_MAX / 2);
    buffer_append(&whole, "[", 1);
    json_write_bytes(&whole, bytes + head, size);
    buffer_append(&whole, ",1]", 3);
    for (size_t piece = 1000; piece < 100000; piece += 33333) {
        buffer_init(&out, SIZE_MAX / 2);
        assert_int_equal(convert(&as_is, bytes, head + size + 6, piece, &out), REPLY_DONE);
        assert_int_equal(buffer_size(&out), buffer_size(&whole));
        assert_memory_equal(buffer_content(&out), buffer_content(&whole), buffer_size(&whole));
        buffer_release(&out);
    }
    buffer_release(&whole);
    free(bytes);
}

static void nothing_and_zero_are_noted(void **state)
{
    struct api_reply json;
    size_t used, wanted;
    struct buffer out;

    (void)state;
    buffer_init(&out, SIZE_MAX / 2);
    api_reply_init(&json, &as_is);
    assert_int_equal(api_reply_run(&json, "_\r\n", 3, &out, &used, &wanted), REPLY_DONE);
    assert_true(json.is_null && !json.is_zero);
    api_reply_init(&json, &as_is);
    assert_int_equal(api_reply_run(&json, ":0\r\n", 4, &out, &used, &wanted), REPLY_DONE);
    assert_true(!json.is_null && json.is_zero);
    api_reply_init(&json, &as_is);
    assert_int_equal(api_reply_run(&json, "*2\r\n:0\r\n_\r\n", 11, &out, &used, &wanted),
                     REPLY_DONE);
    assert_false(json.is_null || json.is_zero);
    buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_become_json),
                                       cmocka_unit_test(a_shape_gives_names),
                                       cmocka_unit_test(what_is_no_reply_is_refused),
                                       cmocka_unit_test(a_long_string_is_written_in_parts),
                                       cmocka_unit_test(nothing_and_zero_are_noted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
