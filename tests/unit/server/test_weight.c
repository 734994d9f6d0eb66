/* Which clients are read after the others. */
#include "server/net/weight.h"

#include "tests/support/cmocka.h"

static const struct weight_read pings = {.size = 240, .run = 40, .usec = 15},
                                pushes = {.size = 4000, .run = 16, .usec = 40};

static void note(struct weight *weight, struct weights *all, struct weight_read read, int times)
{
    for (int i = 0; i < times; i++)
        weight_note(weight, all, &read);
}

static void a_pipeline_is_much_from_the_second_time_on(void **state)
{
    struct weight weight = {0};
    struct weights all = {0};

    (void)state;
    note(&weight, &all, pushes, 1);
    assert_false(weight.is_heavy);
    note(&weight, &all, pushes, 1);
    assert_true(weight.is_heavy);
    note(&weight, &all, pings, 1);
    assert_false(weight.is_heavy);
    note(&weight, &all, pushes, 1);
    assert_false(weight.is_heavy);
}

static void many_small_requests_that_had_to_wait_are_little(void **state)
{
    struct weight weight = {0};
    struct weights all = {0};

    (void)state;
    note(&weight, &all, pings, 3);
    assert_false(weight.is_heavy);
}

static void a_few_requests_are_little_however_long_they_take(void **state)
{
    struct weight weight = {0};
    struct weights all = {0};

    (void)state;
    note(&weight, &all, (struct weight_read){.size = 200, .run = 4, .usec = 100000}, 3);
    assert_false(weight.is_heavy);
}

static void bytes_and_what_is_left_are_much(void **state)
{
    const struct weight_read reads[] = {{.size = 9000, .run = 1},
                                        {.size = 10, .run = 1, .unsent = 9000},
                                        {.size = 10, .run = 1, .more = true}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct weight weight = {0};
        struct weights all = {0};

        note(&weight, &all, reads[i], 2);
        assert_true(weight.is_heavy);
    }
}

/* When all takes ten times as long. */
static void what_is_little_follows_what_much_takes(void **state)
{
    struct weight heavy = {0}, light = {0};
    struct weights all = {0};
    struct weight_read slow_pushes = pushes, slow_pings = pings;

    (void)state;
    slow_pushes.usec *= 20;
    slow_pings.usec *= 10;
    note(&light, &all, slow_pings, 2);
    assert_true(light.is_heavy);
    note(&heavy, &all, slow_pushes, 100);
    note(&light, &all, slow_pings, 2);
    assert_false(light.is_heavy);
    slow_pings.usec = 201; /* but not without end */
    slow_pushes.usec = 1000000;
    note(&heavy, &all, slow_pushes, 100);
    note(&light, &all, slow_pings, 2);
    assert_true(light.is_heavy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_is_much_from_the_second_time_on),
        cmocka_unit_test(many_small_requests_that_had_to_wait_are_little),
        cmocka_unit_test(a_few_requests_are_little_however_long_they_take),
        cmocka_unit_test(bytes_and_what_is_left_are_much),
        cmocka_unit_test(what_is_little_follows_what_much_takes),
    };

    return cmocka_run_group_tests_name("weight", tests, NULL, NULL);
}
