/* Reads that need not look at all levels: how many hold what was written since a key came. */
#include "storage/kv/kv.h"
#include "storage/options.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

static struct {
    char *dir;
    struct kv *kv;
} test;

static int open_kv(void **state)
{
    struct dueq_options options;

    (void)state;
    dueq_options_init(&options);
    options.disk_reserve_bytes = 0;
    test.dir = temp_dir_new();
    return kv_open(test.dir, &options, &test.kv, NULL) == DUEQ_OK ? 0 : -1;
}

static int close_kv(void **state)
{
    (void)state;
    kv_abandon(test.kv);
    temp_dir_remove(test.dir);
    return 0;
}

static void put(const char *key, bool absent)
{
    kv_put(test.kv, text(key), text("value"), absent);
}

static void commit(void)
{
    uint64_t lsn;

    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
}

static unsigned levels_of(const char *key)
{
    unsigned levels = KV_ALL_LEVELS;
    struct dueq_slice value;

    assert_int_equal(kv_get_within(test.kv, text(key), &levels, &value), DUEQ_OK);
    return levels;
}

static bool is_within(unsigned levels, const char *key)
{
    struct dueq_slice value;

    return kv_get_within(test.kv, text(key), &levels, &value) == DUEQ_OK;
}

/* A key put as absent says how many levels are newer than it, wherever it goes; one that was
 * perhaps there before says nothing. */
static void a_key_tells_which_levels_are_newer(void **state)
{
    (void)state;
    put("born", true);
    put("known", false);
    assert_int_equal(levels_of("born"), 1);
    assert_int_equal(levels_of("known"), KV_ALL_LEVELS);
    commit();
    kv_checkpoint_start(test.kv);
    assert_int_equal(levels_of("born"), 2);
    put("later", true);
    put("born", false); /* written again: nothing is known of what came with it at first */
    assert_int_equal(levels_of("later"), 1);
    assert_int_equal(levels_of("born"), KV_ALL_LEVELS);
    commit();
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    assert_int_equal(levels_of("later"), KV_ALL_LEVELS);
}

/* Each level is looked into when it is asked for, and a deleted key is in none. */
static void a_read_looks_no_deeper_than_it_is_told(void **state)
{
    (void)state;
    put("low", true);
    commit();
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    put("middle", true);
    commit();
    kv_checkpoint_start(test.kv);
    put("high", true);
    assert_true(is_within(1, "high"));
    assert_true(!is_within(1, "middle") && is_within(2, "middle"));
    assert_true(!is_within(2, "low") && is_within(KV_ALL_LEVELS, "low"));
    kv_del(test.kv, text("low"));
    kv_del(test.kv, text("middle"));
    assert_true(!is_within(KV_ALL_LEVELS, "low") && !is_within(2, "middle"));
    commit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_tells_which_levels_are_newer, open_kv, close_kv),
        cmocka_unit_test_setup_teardown(a_read_looks_no_deeper_than_it_is_told, open_kv,
                                        close_kv),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
