/* What a store takes and refuses: what does not fit is refused before it changes anything, and
 * a store that failed answers no OK and does not grow. */
#include "storage/dueq.h"
#include "storage/queue/queue.h"
#include "tests/support/fake_disk.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

#define MIB ((size_t)1 << 20)

static const struct dueq_time time = {.now = 1000000, .wall = 1000000};

static struct {
    char *dir;
    struct fake_disk *disk;
    struct kv_options options;
    struct dueq *store;
    char *body; /* 16 MiB */
} test;

static void open_store(void)
{
    struct dueq_error error;

    if (dueq_open(test.dir, &test.options, time, &test.store, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

static int set_up(void **state)
{
    (void)state;
    test.dir = temp_dir_new();
    test.disk = fake_disk_new();
    test.body = calloc(16, MIB);
    dueq_options_init(&test.options);
    test.options.io = fake_disk_io(test.disk);
    test.options.segment_bytes = MIB;
    test.options.disk_reserve_bytes = 0;
    return test.body == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    dueq_abandon(test.store);
    test.store = NULL;
    fake_disk_free(test.disk);
    temp_dir_remove(test.dir);
    free(test.body);
    return 0;
}

static enum dueq_status push(size_t size)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.body = dueq_slice(test.body, size);
    return dueq_push(test.store, &push, time, &id);
}

static enum dueq_status commit(void)
{
    uint64_t lsn;
    enum dueq_status status = dueq_commit(test.store, time, &lsn);

    return status == DUEQ_OK ? dueq_wait(test.store, lsn) : status;
}

static struct kv_stats stats(void)
{
    struct kv_stats stats;

    kv_get_stats(dueq_kv(test.store), &stats);
    return stats;
}

static void a_failed_store_answers_no_ok_and_does_not_grow(void **state)
{
    struct dueq_job job;
    size_t held;

    (void)state;
    open_store();
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_fail(test.disk, DISK_SYNC, 0, FAKE_DISK_ALWAYS, EIO);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_IO);
    while (dueq_status(test.store) == DUEQ_OK) /* the sync thread tells a little later */
        continue;
    held = stats().memtable_bytes;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(push(10000), DUEQ_IO);
    assert_int_equal(dueq_claim(test.store, dueq_slice("topic", 5), -1, time, &job), DUEQ_IO);
    assert_int_equal(dueq_del(test.store, dueq_slice("topic", 5), dueq_slice("x", 1), time),
                     DUEQ_IO);
    assert_int_equal(commit(), DUEQ_IO);
    assert_int_equal(stats().memtable_bytes, held);
    assert_false(stats().full);
}

static void what_one_record_cannot_hold_is_refused(void **state)
{
    (void)state;
    test.options.record_bytes = 16 * MIB;
    open_store();
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_TOOBIG);
    assert_int_equal(push(MIB), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_of(a_failed_store_answers_no_ok_and_does_not_grow),
        test_of(what_one_record_cannot_hold_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
