/* Single promises of the queue, each at its edge. Random lives of topics:
 * tests/model/test_queue.c.
 */
#include "storage/kv/kv.h"
#include "storage/queue/queue.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { MANY = 1000 };
#define THEN INT64_C(1700000000000)

static struct {
    char *dir;
    struct dueq *store;
    struct dueq_time time;
} test;

static int open_store(void)
{
    struct kv_options options;

    kv_options_init(&options);
    options.durability = KV_SYNC_NONE;
    options.disk_reserve_bytes = 0;
    return dueq_open(test.dir, &options, test.time, &test.store, NULL) == DUEQ_OK ? 0 : -1;
}

static int set_up(void **state)
{
    (void)state;
    test.dir = temp_dir_new();
    test.time = (struct dueq_time){.now = THEN, .wall = THEN};
    return open_store();
}

static int tear_down(void **state)
{
    (void)state;
    dueq_abandon(test.store);
    temp_dir_remove(test.dir);
    return 0;
}

static void reopen(void)
{
    assert_int_equal(dueq_close(test.store), DUEQ_OK);
    assert_int_equal(open_store(), 0);
}

static void wait_ms(int64_t ms)
{
    test.time.now += ms;
    test.time.wall += ms;
}

static struct dueq_slice text(const char *string)
{
    return dueq_slice(string, strlen(string));
}

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "topic-%d", number));
}

static void push(struct dueq_slice topic, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = topic;
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

static void commit(void)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(test.store, test.time, &lsn), DUEQ_OK);
}

static void tick_all(void)
{
    while (dueq_tick(test.store, test.time, 100))
        continue;
}

/* ---- what is written */

static void falling_due_writes_nothing(void **state)
{
    uint64_t lsn;

    (void)state;
    for (int i = 0; i < MANY; i++)
        push(text("t"), i + 1);
    commit();
    lsn = kv_lsn(dueq_kv(test.store));
    for (int i = 0; i < MANY; i++) {
        wait_ms(1);
        tick_all();
        commit();
    }
    assert_int_equal(kv_lsn(dueq_kv(test.store)), lsn);
}

static void opening_writes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        push(numbered(i), 1000);
    commit();
    reopen();
    tick_all();
    commit();
    wait_ms(2000);
    tick_all();
    commit();
    reopen();
    tick_all();
    commit();
    assert_int_equal(kv_lsn(dueq_kv(test.store)), 1);
}

#define queue_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        queue_test(falling_due_writes_nothing),
        queue_test(opening_writes_nothing),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
