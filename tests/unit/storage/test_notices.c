/* What the checkpoint thread tells is told without its lock: the function that is told may ask
 * the checkpoint, and may wait for a thread that does. */
#include "storage/kv/checkpoint.h"
#include "storage/kv/memtable/memtable.h"
#include "tests/support/store/journal_rig.h"
#include "tests/support/faults/lmdb_disk.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/support/cmocka.h"

enum { MAP_BYTES = 64 << 20, PATIENCE = 10 /* s; only a failing test waits so long */ };

static struct {
    struct journal_rig rig;
    struct lmdb_store *lmdb;
    struct memtable *table;
    struct checkpoint *checkpoint;
    pthread_mutex_t lock;
    pthread_cond_t told;
    unsigned notices, blocked; /* under the lock */
} test;

/* ---- being told */

static void *ask(void *arg)
{
    struct checkpoint_stats stats;

    checkpoint_get_stats(arg, &stats); /* takes the checkpoint's lock */
    return NULL;
}

/* False: another thread cannot ask while this one is told. */
static bool can_ask(void)
{
    struct timespec until;
    pthread_t thread;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    if (pthread_create(&thread, NULL, ask, test.checkpoint) != 0)
        return false;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

static void on_notice(void *arg)
{
    bool asked;

    (void)arg;
    pthread_mutex_lock(&test.lock); /* until checkpoint_new has returned */
    pthread_mutex_unlock(&test.lock);
    asked = can_ask();
    pthread_mutex_lock(&test.lock);
    test.notices++;
    test.blocked += !asked;
    pthread_cond_signal(&test.told);
    pthread_mutex_unlock(&test.lock);
}

static void await_notice(unsigned number)
{
    pthread_mutex_lock(&test.lock);
    while (test.notices < number)
        pthread_cond_wait(&test.told, &test.lock);
    pthread_mutex_unlock(&test.lock);
    assert_int_equal(test.blocked, 0);
}

/* ---- the checkpoint */

static int set_up(void **state)
{
    struct checkpoint_mark mark = {.seed = 1};
    struct dueq_error error;

    (void)state;
    memset(&test, 0, sizeof(test));
    pthread_mutex_init(&test.lock, NULL);
    pthread_cond_init(&test.told, NULL);
    rig_init(&test.rig);
    assert_int_equal(mark_create(test.rig.dir, test.rig.options.io, &mark, &error), DUEQ_OK);
    assert_int_equal(
        lmdb_store_open(test.rig.dir, MAP_BYTES, test.rig.options.io, &test.lmdb, &error),
        DUEQ_OK);
    rig_reopen(&test.rig);
    test.table = memtable_new(NULL);
    assert_non_null(test.table);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmdb_disk_attach(NULL);
    checkpoint_free(test.checkpoint);
    memtable_free(test.table);
    lmdb_store_close(test.lmdb);
    rig_release(&test.rig);
    pthread_cond_destroy(&test.told);
    pthread_mutex_destroy(&test.lock);
    return 0;
}

static void start_thread(void)
{
    pthread_mutex_lock(&test.lock);
    assert_int_equal(checkpoint_new(test.lmdb, test.rig.journal, NULL, test.rig.options.io,
                                    on_notice, NULL, &test.checkpoint),
                     DUEQ_OK);
    pthread_mutex_unlock(&test.lock);
}

static void start_checkpoint(void)
{
    struct dueq_slice value = dueq_slice("value", 5);
    struct checkpoint_mark mark = {.lsn = rig_append(&test.rig, 100), .seed = 1};

    assert_int_equal(memtable_put(test.table, dueq_slice("key", 3), &value, 1, true, NULL),
                     DUEQ_OK);
    checkpoint_start(test.checkpoint, test.table, &mark);
}

static void the_end_of_a_checkpoint(void **state)
{
    (void)state;
    start_thread();
    start_checkpoint();
    await_notice(1);
    assert_false(checkpoint_running(test.checkpoint));
}

static void room_for_the_checkpoint(void **state)
{
    (void)state;
    journal_prepare(test.rig.journal); /* or the thread does, and tells */
    lmdb_disk_attach(test.rig.disk);
    start_thread();
    fake_disk_fail(test.rig.disk, DISK_DATA_WRITE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    start_checkpoint();
    await_notice(1);
    assert_false(checkpoint_has_room(test.checkpoint));
    fake_disk_fail(test.rig.disk, DISK_DATA_WRITE, 0, 0, 0);
    await_notice(2);
    assert_true(checkpoint_has_room(test.checkpoint));
    await_notice(3);
    assert_false(checkpoint_running(test.checkpoint));
}

static void room_for_the_journal(void **state)
{
    (void)state;
    fake_disk_fail(test.rig.disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    start_thread();
    await_notice(1);
    assert_false(journal_has_room(test.rig.journal));
    fake_disk_fail(test.rig.disk, DISK_ALLOCATE, 0, 0, 0);
    checkpoint_wake(test.checkpoint);
    await_notice(2);
    assert_true(journal_has_room(test.rig.journal));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_end_of_a_checkpoint),
        TEST(room_for_the_checkpoint),
        TEST(room_for_the_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
