/* Failed logins by network. */
#include "server/acl/login_failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define TIME INT64_C(1000000)

static void fail_times(struct login_failures *failures, const char *address, int times)
{
    for (int i = 0; i < times; i++)
        login_failures_note(failures, address, TIME);
}

static void the_first_ones_are_free(void **state)
{
    static struct login_failures failures;
    (void)state;
    for (int i = 0; i < LOGIN_FAILURES_FREE; i++)
        assert_false(login_failures_note(&failures, "1.2.3.4:5", TIME));
    assert_true(login_failures_note(&failures, "1.2.3.4:6", TIME));
    assert_false(login_failures_note(&failures, "1.2.3.5:5", TIME));
}

static void a_network_is_an_address_or_its_first_half(void **state)
{
    static const struct {
        const char *failed, *next;
        bool same;
    } cases[] = {{"1.2.3.4:5", "1.2.3.4:6", true},
                 {"1.2.3.4:5", "1.2.3.40:5", false},
                 {"[2001:db8::1]:5", "[2001:db8::ffff:2]:5", true},
                 {"[2001:db8::1]:5", "[2001:db8:0:1::1]:5", false},
                 {"/run/dueq.sock:0", "/run/dueq.sock:0", true},
                 {"/run/a:0", "/run/b:0", false},
                 {"", "", true},
                 {"[", "[", true},
                 {"[]:1", "[]:2", true}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct login_failures failures = {0};
        fail_times(&failures, cases[i].failed, LOGIN_FAILURES_FREE);
        assert_int_equal(login_failures_note(&failures, cases[i].next, TIME), cases[i].same);
    }
}

static void they_are_forgotten(void **state)
{
    static struct login_failures failures;
    int64_t now = TIME;
    (void)state;
    fail_times(&failures, "1.2.3.4:5", LOGIN_FAILURES_FREE);
    now += LOGIN_FAILURES_MEMORY;
    assert_true(login_failures_note(&failures, "1.2.3.4:5", now));
    now += LOGIN_FAILURES_MEMORY + 1;
    assert_false(login_failures_note(&failures, "1.2.3.4:5", now));
}

static void of_many_networks_the_last_ones_are_known(void **state)
{
    static struct login_failures failures;
    char address[32];
    (void)state;
    fail_times(&failures, "1.2.3.4:5", LOGIN_FAILURES_FREE);
    for (int i = 0; i < LOGIN_FAILURES_NETWORKS - 1; i++) {
        snprintf(address, sizeof(address), "9.9.%d.%d:1", i / 256, i % 256);
        login_failures_note(&failures, address, TIME + 1);
    }
    assert_true(login_failures_note(&failures, "1.2.3.4:5", TIME + 2));
    login_failures_note(&failures, "8.8.8.8:1", TIME + 3); /* instead of an older one */
    assert_true(login_failures_note(&failures, "1.2.3.4:5", TIME + 3));
    for (int i = 0; i < LOGIN_FAILURES_NETWORKS; i++) {
        snprintf(address, sizeof(address), "9.8.%d.%d:1", i / 256, i % 256);
        login_failures_note(&failures, address, TIME + 4);
    }
    assert_false(login_failures_note(&failures, "1.2.3.4:5", TIME + 5));
}

/* However many connections ask at the same time: each place is later than the one before. */
static void many_at_once_wait_for_places(void **state)
{
    static struct login_failures failures;
    int64_t delay = 100, now = TIME, wait = 0;
    int at_once = 0, put_off = 0;
    (void)state;
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:5", now, delay), 0);
    fail_times(&failures, "1.2.3.4:5", LOGIN_FAILURES_FREE);
    for (int i = 0; i < 100000; i++) {
        int64_t next = login_failures_take_place(&failures, "1.2.3.4:6", now, delay);
        assert_true(next >= wait);
        wait = next;
        at_once += next == 0;
        put_off += next > 0 && next <= LOGIN_PUT_OFF_MOST;
    }
    assert_int_equal(at_once, LOGIN_AT_ONCE);
    assert_int_equal(put_off, LOGIN_PUT_OFF_MOST / delay * LOGIN_AT_ONCE);
    assert_true(wait > LOGIN_PUT_OFF_MOST);
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.5:6", now, delay), 0);
    now += LOGIN_PUT_OFF_MOST / 2;
    wait = login_failures_take_place(&failures, "1.2.3.4:6", now, delay);
    assert_in_range(wait, LOGIN_PUT_OFF_MOST / 2 - delay, LOGIN_PUT_OFF_MOST / 2 + delay);
    now += LOGIN_FAILURES_MEMORY + 1;
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:6", now, delay), 0);
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:6", now, 0), 0);
}

static void who_succeeds_takes_no_place(void **state)
{
    static struct login_failures failures;
    (void)state;
    fail_times(&failures, "1.2.3.4:5", LOGIN_FAILURES_FREE);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:5", TIME, 60000), 0);
        login_failures_give_back(&failures, "1.2.3.4:5", 60000);
    }
    login_failures_give_back(&failures, "1.2.3.5:5", 60000);
    for (int i = 0; i < LOGIN_AT_ONCE; i++)
        assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:5", TIME, 60000), 0);
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:5", TIME, 60000),
                     60000 / LOGIN_AT_ONCE);
    assert_int_equal(login_failures_take_place(&failures, "1.2.3.4:5", TIME, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ones_are_free),
        cmocka_unit_test(a_network_is_an_address_or_its_first_half),
        cmocka_unit_test(they_are_forgotten),
        cmocka_unit_test(of_many_networks_the_last_ones_are_known),
        cmocka_unit_test(many_at_once_wait_for_places),
        cmocka_unit_test(who_succeeds_takes_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
