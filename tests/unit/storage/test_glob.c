#include "storage/glob.h"

#include <math.h>
#include <string.h>
#include "tests/support/cmocka.h"

static bool matches(const char *pattern, const char *text)
{
    return glob_match(pattern, strlen(pattern), text, strlen(text), false);
}

static void globs_match_as_redis_does(void **state)
{
    (void)state;
    assert_true(matches("", ""));
    assert_false(matches("*", "")); /* in Redis no pattern matches an empty text */
    assert_true(matches("a*", "a"));
    assert_true(matches("h?llo", "hello"));
    assert_true(matches("h[ae]llo", "hallo"));
    assert_false(matches("h[^e]llo", "hello"));
    assert_true(matches("h[a-c]llo", "hbllo"));
    assert_true(matches("a\\*b", "a*b"));
    assert_false(matches("a\\*b", "axb"));
    assert_true(matches("*:*:z", "topic:1:z"));
}

static void a_spiteful_glob_does_not_take_for_ever(void **state)
{
    char pattern[201], text[20001];

    (void)state;
    for (size_t i = 0; i < 200; i += 2)
        memcpy(pattern + i, "a*", 2);
    pattern[199] = 'b';
    pattern[200] = '\0';
    memset(text, 'a', 20000);
    text[20000] = '\0';
    assert_false(matches(pattern, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_as_redis_does),
        cmocka_unit_test(a_spiteful_glob_does_not_take_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
