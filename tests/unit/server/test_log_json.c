/* Texts of any bytes inside of JSON. */
#include "protocol/utf8.h"
#include "server/process/log_json.h"
#include "tests/support/dice.h"

#include <stdint.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { ROUNDS = 20000, BYTES = 64 };

static void expect(const char *text, size_t size, const char *wanted)
{
    char escaped[LOG_JSON_ROOM(BYTES)];

    log_json_escape(text, size, escaped);
    assert_string_equal(escaped, wanted);
}

static void bytes_are_escaped(void **state)
{
    (void)state;
    expect("", 0, "");
    expect("plain /text'", 12, "plain /text'");
    expect("a\"b\\c", 5, "a\\\"b\\\\c");
    expect("\n\r\t\b\f", 5, "\\n\\r\\t\\b\\f");
    expect("\0\x1f\x7f", 3, "\\u0000\\u001f\\u007f");
    expect("\xc3\xa9\xf0\x9f\x90\x87", 6, "\xc3\xa9\xf0\x9f\x90\x87");
    expect("\xff\xc3", 2, "\\ufffd\\ufffd");
    expect("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd");
}

/* Whatever comes, it stays inside of the quotes, on one line, and is UTF-8. */
static void any_bytes_stay_within_the_quotes(void **state)
{
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    for (int round = 0; round < ROUNDS; round++) {
        char bytes[BYTES], escaped[LOG_JSON_ROOM(BYTES)];
        size_t size = dice_roll(&dice, BYTES + 1), length;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)dice_roll(&dice, 256);
        log_json_escape(bytes, size, escaped);
        length = strlen(escaped);
        assert_true(length < sizeof(escaped));
        for (size_t at = 0; at < length;) {
            size_t character = utf8_character((uint8_t *)escaped + at, length - at);

            assert_true(character > 0);
            assert_true((uint8_t)escaped[at] >= ' ' && escaped[at] != '"');
            at += escaped[at] == '\\' ? 2 : character;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_escaped),
                                       cmocka_unit_test(any_bytes_stay_within_the_quotes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
