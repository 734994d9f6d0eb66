/* The rate of `dueq forward`, on a clock that the test moves, and URLs of its targets. */
#include "tools/forward/pace.h"
#include "tools/forward/target_url.h"

#include "tests/support/cmocka.h"

static void so_many_go_at_once_and_then_evenly(void **state)
{
    struct pace pace;

    (void)state;
    assert_true(pace_parse(&pace, "3/1s"));
    assert_int_equal(pace_left(&pace, 1000, 100), 3);
    for (int i = 0; i < 3; i++)
        pace_take(&pace);
    assert_int_equal(pace_left(&pace, 1000, 100), 0);
    assert_int_equal(pace_wait(&pace, 1000), 334);
    assert_int_equal(pace_left(&pace, 1333, 100), 0);
    assert_int_equal(pace_left(&pace, 1334, 100), 1);
    pace_take(&pace);
    assert_int_equal(pace_left(&pace, 2000, 100), 2); /* nothing is rounded */
    assert_int_equal(pace_left(&pace, 900000, 100), 3);
    assert_int_equal(pace_left(&pace, 900000, 2), 2);
}

static void the_largest_rates_do_not_overflow(void **state)
{
    struct pace pace;

    (void)state;
    assert_true(pace_parse(&pace, "1000000/1d"));
    assert_int_equal(pace_left(&pace, INT64_MAX / 2, INT64_MAX), 1000000);
    pace_take(&pace);
    assert_int_equal(pace_left(&pace, INT64_MAX, INT64_MAX), 1000000);
    assert_true(pace_parse(&pace, "1/1d"));
    pace_take(&pace);
    assert_int_equal(pace_wait(&pace, 0), 86400000);
}

static void without_a_rate_there_is_no_limit(void **state)
{
    struct pace pace = {.count = 0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        pace_take(&pace);
    assert_int_equal(pace_left(&pace, 5, 77), 77);
    assert_int_equal(pace_wait(&pace, 5), 0);
}

static void what_is_no_rate_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "5",
                                        "/",
                                        "/1s",
                                        "5/",
                                        "0/1s",
                                        "-1/1s",
                                        "1/0",
                                        "1000001/1s",
                                        "1/25h",
                                        "1/1s/1",
                                        "1.5/1s",
                                        "x/1s",
                                        "1/s",
                                        " 1/1s",
                                        "1 /1s",
                                        "+1/1s",
                                        "01/1s",
                                        "99999999999999999999/1s"};
    struct pace pace;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (pace_parse(&pace, wrong[i]))
            fail_msg("%s is taken", wrong[i]);
}

static void a_url_is_read_in_parts(void **state)
{
    static const char *const known[] = {"list", "once", NULL};
    static struct target_url url;
    const char *why;
    int64_t ms;

    (void)state;
    assert_true(
        target_url_parse(&url, "redis://u:p/w@h:1/2/3?list=a%20b&once=5m", known, &why));
    assert_string_equal(url.scheme, "redis");
    assert_string_equal(url.place, "u:p/w@h:1");
    assert_string_equal(url.path, "2/3");
    assert_string_equal(target_url_option(&url, "list"), "a b");
    assert_null(target_url_option(&url, "lis"));
    assert_true(target_url_duration(&url, "once", 0, &ms, &why));
    assert_int_equal(ms, 300000);
    assert_true(target_url_duration(&url, "window", 7, &ms, &why));
    assert_int_equal(ms, 7);
    assert_false(target_url_duration(&url, "list", 7, &ms, &why));
    assert_true(target_url_parse(&url, "dueq+unix:///run/a/b?", known, &why));
    assert_string_equal(url.place, "/run/a/b");
    assert_string_equal(url.path, "");
    assert_false(target_url_parse(&url, "x://h?other=1", known, &why));
    assert_false(target_url_parse(&url, "x://h?list=%4", known, &why));
    assert_false(target_url_parse(
        &url, "x://h?list&list&list&list&list&list&list&list&list&list", known, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_go_at_once_and_then_evenly),
        cmocka_unit_test(the_largest_rates_do_not_overflow),
        cmocka_unit_test(without_a_rate_there_is_no_limit),
        cmocka_unit_test(what_is_no_rate_is_refused),
        cmocka_unit_test(a_url_is_read_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
