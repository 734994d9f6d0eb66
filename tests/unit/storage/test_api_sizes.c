/* Programs and libdueq of different versions: structs have a size. */
#include "storage/dueq.h"
#include "tests/support/store/store_fixture.h"

#include <string.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

static int set_up(void **state)
{
    (void)state;
    store_fixture_init(&test);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_fixture_release(&test);
    return 0;
}

static enum dueq_status open_with(const struct dueq_options *options)
{
    struct dueq *store;
    struct dueq_error error;
    enum dueq_status status =
        dueq_open(test.dir, options, (struct dueq_time){.now = 1}, &store, &error);

    if (status == DUEQ_OK)
        dueq_abandon(store);
    return status;
}

static void options_without_a_size_are_refused(void **state)
{
    struct dueq_options options = test.options;

    (void)state;
    assert_int_equal(options.size, sizeof(options));
    assert_int_equal(open_with(&options), DUEQ_OK);
    options.size = 0;
    assert_int_equal(open_with(&options), DUEQ_INVALID);
    options.size = offsetof(struct dueq_options, notify_arg);
    assert_int_equal(open_with(&options), DUEQ_INVALID);
}

/* A program compiled with a later version has fields that this library does not know. */
static void larger_options_are_read_as_far_as_they_are_known(void **state)
{
    struct {
        struct dueq_options known;
        uint64_t unknown;
    } later;

    (void)state;
    dueq_options_init_sized(&later.known, sizeof(later));
    assert_int_equal(later.known.size, sizeof(later));
    assert_int_equal(later.unknown, 0);
    assert_int_equal(open_with(&later.known), DUEQ_OK);
}

static void no_byte_after_the_given_size_is_written(void **state)
{
    struct dueq_options options;
    struct dueq_stats stats;

    (void)state;
    memset(&options, 0x5a, sizeof(options));
    dueq_options_init_sized(&options, offsetof(struct dueq_options, notify_arg));
    assert_memory_equal(&options.notify_arg, "ZZZZZZZZ", sizeof(options.notify_arg));

    store_fixture_open(&test);
    memset(&stats, 0x5a, sizeof(stats));
    dueq_get_stats_sized(test.store, &stats, offsetof(struct dueq_stats, stalls));
    assert_memory_equal(&stats.stalls, "ZZZZZZZZ", sizeof(stats.stalls));
    assert_true(stats.map_bytes > 0);
    dueq_get_stats(test.store, &stats);
    assert_int_equal(stats.stalls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_without_a_size_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(larger_options_are_read_as_far_as_they_are_known,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_byte_after_the_given_size_is_written, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
