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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ones_are_free),
        cmocka_unit_test(a_network_is_an_address_or_its_first_half),
        cmocka_unit_test(they_are_forgotten),
        cmocka_unit_test(of_many_networks_the_last_ones_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
