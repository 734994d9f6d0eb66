/* The disk space that checkpoints take while the owner does nothing. */
#include "storage/dueq.h"
#include "storage/kv/kv_internal.h"
#include "storage/kv/memtable/chunk_pool.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { RECORDS = 40000, OTHERS = 20000 };

static struct {
    char *dir;
    struct kv *kv;
    struct dice dice;
} test;

static void set_options(struct dueq_options *options)
{
    dueq_options_init(options);
    options->durability = DUEQ_SYNC_NONE;
    options->disk_reserve_bytes = 0;
    options->map_bytes = 256 << 20;
}

static int set_up(void **state)
{
    struct dueq_options options;
    struct dueq_error error;

    (void)state;
    test.dir = temp_dir_new();
    dice_begin(&test.dice);
    set_options(&options);
    if (kv_open(test.dir, &options, &test.kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    temp_dir_remove(test.dir);
    return 0;
}

/* Puts keys at random positions, so that each changes another page. */
static void put_random(unsigned count)
{
    uint64_t lsn;

    for (unsigned i = 0; i < count; i++) {
        char key[24];
        int size = snprintf(key, sizeof(key), "k%016llx",
                            (unsigned long long)dice_roll(&test.dice, UINT64_MAX));

        kv_put(test.kv, dueq_slice(key, (size_t)size), dueq_slice("0123456789abcdef", 16),
               false);
    }
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
}

/* Puts large values, which have pages of their own; their sizes change with the round. */
static void put_large_ones(unsigned round)
{
    static const char value[64 * 1024];
    uint64_t lsn;

    for (unsigned i = 0; i < 40; i++) {
        char key[16];
        int size = snprintf(key, sizeof(key), "large%u", i);

        kv_put(test.kv, dueq_slice(key, (size_t)size),
               dueq_slice(value, 5000 + (i * 7 + round * 13) % 40 * 1000), false);
    }
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
}

static struct dueq_stats stats(void)
{
    struct dueq_stats now;

    kv_get_stats(test.kv, &now);
    return now;
}

/* A program that embeds the store commits and then sleeps, without kv_maintain. */
static void an_owner_that_sleeps_holds_no_pages(void **state)
{
    uint64_t before;

    (void)state;
    put_random(RECORDS);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    kv_maintain(test.kv, false);
    before = stats().data_file_bytes;
    for (int round = 0; round < 3; round++) {
        put_random(OTHERS);
        kv_checkpoint_start(test.kv);
        while (stats().checkpoint_running)
            usleep(1000);
    }
    assert_true(stats().data_file_bytes < before + before / 4);
    assert_int_equal(kv_status(test.kv), DUEQ_OK);
}

/* Reads during checkpoints return what was written last. */
static void what_is_read_between_naps_is_what_there_is(void **state)
{
    uint64_t lsn;

    (void)state;
    put_random(RECORDS);
    for (unsigned round = 0; round < 200; round++) {
        char text[16];
        int size = snprintf(text, sizeof(text), "%u", round);
        struct dueq_slice value;

        kv_put(test.kv, dueq_slice("same", 4), dueq_slice(text, (size_t)size), false);
        put_random(100);
        assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
        kv_checkpoint_start(test.kv);
        usleep(500);
        assert_int_equal(kv_get(test.kv, dueq_slice("same", 4), &value), DUEQ_OK);
        assert_true(dueq_slice_equal(value, dueq_slice(text, (size_t)size)));
    }
}

/* Pages that were free when the view read the list are in use now, in each of the trees. */
static void a_store_that_was_written_to_checks(void **state)
{
    struct dueq_options options;
    struct dueq_error error;
    uint64_t records;

    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        put_large_ones(round);
        put_random(OTHERS / 4);
        assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
        if (kv_check(test.kv, &records) != DUEQ_OK)
            fail_msg("round %u: %s", round, kv_damage(test.kv));
    }
    assert_int_equal(kv_close(test.kv), DUEQ_OK);
    set_options(&options);
    assert_int_equal(kv_open(test.dir, &options, &test.kv, &error), DUEQ_OK);
    if (kv_check(test.kv, &records) != DUEQ_OK)
        fail_msg("opened again: %s", kv_damage(test.kv));
    assert_true(records > 10 * (OTHERS / 4) / 2);
}

static void be_idle(int turns)
{
    for (int turn = 0; turn < turns; turn++)
        kv_maintain(test.kv, true);
}

/* A chunk may be taken when the store has been idle for long. */
static void memory_that_came_late_is_given_back_too(void **state)
{
    (void)state;
    be_idle(30);
    assert_true(kv_rests(test.kv));
    chunk_pool_give(test.kv->chunks, chunk_pool_take(test.kv->chunks));
    assert_false(kv_rests(test.kv));
    for (int turn = 0; turn < 5000 && !kv_rests(test.kv); turn++) {
        be_idle(1);
        usleep(1000);
    }
    assert_true(kv_rests(test.kv));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_store_that_was_written_to_checks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_came_late_is_given_back_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_owner_that_sleeps_holds_no_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_between_naps_is_what_there_is, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
