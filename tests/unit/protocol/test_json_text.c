#include "protocol/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static void expect(void (*write)(struct buffer *, const char *, size_t), const char *bytes,
                   size_t size, const char *text)
{
    struct buffer out;

    buffer_init(&out, SIZE_MAX / 2);
    write(&out, bytes, size);
    assert_false(out.overflowed);
    assert_int_equal(buffer_size(&out), strlen(text));
    assert_memory_equal(buffer_content(&out), text, strlen(text));
    buffer_release(&out);
}

static void text_is_a_string(void **state)
{
    (void)state;
    expect(json_write_bytes, "", 0, "\"\"");
    expect(json_write_bytes, "a\"b\\c/\n\t\x01\0\x7f", 11,
           "\"a\\\"b\\\\c/\\n\\t\\u0001\\u0000\x7f\"");
    expect(json_write_bytes, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
           "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

static void other_bytes_are_base64(void **state)
{
    (void)state;
    expect(json_write_bytes, "\xff", 1, "{\"base64\":\"/w==\"}");
    expect(json_write_bytes, "\0\xff", 2, "{\"base64\":\"AP8=\"}");
    expect(json_write_bytes, "abc\xff\xfe\xfd", 6, "{\"base64\":\"YWJj//79\"}");
    expect(json_write_text, "a\xff\"", 3, "\"a\\\"\"");
}

static void only_utf8_is_utf8(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xc3",         "\xc0\x80",         "\xc1\xbf",
        "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf8\x88\x80", "\xff",         "\xe2\x82",         "12345678\xc3"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(json_is_utf8(bad[i], strlen(bad[i])));
    assert_true(json_is_utf8("12345678\xc3\xa4\xf4\x8f\xbf\xbf\xed\x9f\xbf", 17));
    assert_true(json_is_utf8("", 0));
}

static void what_is_long_is_base64(void **state)
{
    size_t size = JSON_STRING_MAX + 1;
    char *bytes = malloc(size);
    struct buffer out;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', size);
    buffer_init(&out, SIZE_MAX / 2);
    json_write_bytes(&out, bytes, size);
    assert_memory_equal(buffer_content(&out), "{\"base64\":\"eHh4", 15);
    buffer_clear(&out);
    json_write_bytes(&out, bytes, size - 1);
    assert_memory_equal(buffer_content(&out), "\"xxx", 4);
    buffer_release(&out);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_a_string), cmocka_unit_test(other_bytes_are_base64),
        cmocka_unit_test(only_utf8_is_utf8), cmocka_unit_test(what_is_long_is_base64)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
