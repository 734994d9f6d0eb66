#include "protocol/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static void integers_are_read_as_redis_does(void **state)
{
    static const char *const bad[] = {"",   "-",  "+1",  "01",  " 1",
                                      "1 ", "-0", "1.0", "0x1", "9223372036854775808"};
    int64_t number;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(number_parse_integer(bad[i], strlen(bad[i]), &number));
    assert_true(number_parse_integer("-9223372036854775808", 20, &number));
    assert_true(number == INT64_MIN);
    assert_true(number_parse_integer("9223372036854775807", 19, &number));
    assert_true(number == INT64_MAX);
}

/* Short integers are read without strtod. */
static void doubles_are_what_strtod_reads(void **state)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "+0",
                                        "00",
                                        "7",
                                        "-7",
                                        "+7",
                                        "007",
                                        "-007",
                                        "1.5",
                                        "1e3",
                                        "0x10",
                                        "inf",
                                        "-inf",
                                        "999999999999999",
                                        "-999999999999999",
                                        "1000000000000000",
                                        "9007199254740993",
                                        "-9007199254740993",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "123456789012345678901234567890"};
    static const char *const bad[] = {"", "-", "+", " 1", "1 ", "1a", "--1", "nan", "1e999"};
    double number;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double expected = strtod(texts[i], NULL);

        assert_true(number_parse_double(texts[i], strlen(texts[i]), &number));
        assert_true(number == expected && signbit(number) == signbit(expected));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(number_parse_double(bad[i], strlen(bad[i]), &number));
    assert_false(number_parse_double("1\0002", 3, &number));
}

static void doubles_print_as_redis_does(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{2.5, "2.5"},
                 {0.1 + 2, "2.1000000000000001"},
                 {3, "3"},
                 {1e17, "1e+17"},
                 {-0.0, "-0"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {1795230826.0690765, "1795230826.0690765"},
                 {1e300, "1.0000000000000001e+300"}};
    char text[NUMBER_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(number_format_double(text, cases[i].number), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

static void durations_take_suffixes(void **state)
{
    int64_t ms;

    (void)state;
    assert_true(number_parse_duration("1500", 4, &ms) && ms == 1500);
    assert_true(number_parse_duration("10ms", 4, &ms) && ms == 10);
    assert_true(number_parse_duration("30s", 3, &ms) && ms == 30000);
    assert_true(number_parse_duration("2h", 2, &ms) && ms == 7200000);
    assert_true(number_parse_duration("7d", 2, &ms) && ms == 604800000);
    assert_true(number_parse_duration("0", 1, &ms) && ms == 0);
    assert_true(number_parse_duration("3162240000000", 13, &ms) && ms == 3162240000000);
    assert_false(number_parse_duration("3162240000001", 13, &ms));
    assert_false(number_parse_duration("007", 3, &ms));
    assert_false(number_parse_duration("-7", 2, &ms));
    assert_false(number_parse_duration("s7", 2, &ms));
    assert_false(number_parse_duration("", 0, &ms));
    assert_false(number_parse_duration("s", 1, &ms));
    assert_false(number_parse_duration("-1s", 3, &ms));
    assert_false(number_parse_duration("1.5s", 4, &ms));
    assert_false(number_parse_duration("999999999d", 10, &ms));
}

/* Around each power of ten, and the ends. */
static void integers_come_back_as_they_were_written(void **state)
{
    const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX};
    char text[NUMBER_TEXT_MAX], expected[NUMBER_TEXT_MAX];
    int64_t power = 1, number;

    (void)state;
    for (unsigned digits = 1; digits <= 19; digits++) {
        for (int sign = -1; sign <= 1; sign += 2)
            for (int64_t near = -1; near <= 1; near++) {
                size_t size = number_format_integer(text, sign * power + near);

                sprintf(expected, "%" PRId64, sign * power + near);
                assert_string_equal(text, expected);
                assert_int_equal(size, strlen(expected));
                assert_true(number_parse_integer(text, size, &number));
                assert_int_equal(number, sign * power + near);
            }
        if (digits < 19)
            power *= 10;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t size = number_format_integer(text, ends[i]);

        sprintf(expected, "%" PRId64, ends[i]);
        assert_string_equal(text, expected);
        assert_true(number_parse_integer(text, size, &number) && number == ends[i]);
    }
    assert_false(number_parse_integer("9223372036854775808", 19, &number));
    assert_false(number_parse_integer("-9223372036854775809", 20, &number));
    assert_false(number_parse_integer("99999999999999999999", 20, &number));
    assert_false(number_parse_integer("18446744073709551617", 20, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_as_redis_does),
        cmocka_unit_test(integers_come_back_as_they_were_written),
        cmocka_unit_test(doubles_are_what_strtod_reads),
        cmocka_unit_test(doubles_print_as_redis_does),
        cmocka_unit_test(durations_take_suffixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
