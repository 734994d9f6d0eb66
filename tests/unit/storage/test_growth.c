/* Who makes data.mdb longer: the checkpoint thread, ahead, and the owner in small pieces. */
#include "storage/io.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { BODY = 100 * 1000, PUSHES = 1000 };
#define OWN_MOST ((off_t)4 << 20) /* bytes that the owner allocates at once */

static struct store_fixture test;
static struct dueq_io io;
static pthread_t owner;
static off_t largest;               /* of the owner's allocations */
static _Atomic(unsigned) by_thread; /* allocations of more than that */
static char *body;

/* Or are there holes that get blocks? */
static bool is_growth(int fd, off_t end)
{
    struct stat stats;

    return fstat(fd, &stats) == 0 && end > stats.st_size;
}

static int allocate(void *arg, int fd, off_t offset, off_t size)
{
    if (!pthread_equal(pthread_self(), owner))
        atomic_fetch_add(&by_thread,
                         offset > 0 && size > OWN_MOST && is_growth(fd, offset + size));
    else if (size > largest)
        largest = size;
    return io_system.fallocate(arg, fd, offset, size);
}

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    io = io_system;
    io.fallocate = allocate;
    test.options.io = &io;
    test.options.memtable_bytes = 4 << 20;
    owner = pthread_self();
    store_fixture_open(&test);
    largest = 0;
    atomic_store(&by_thread, 0);
    body = calloc(1, BODY);
    return body == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    free(body);
    return store_fixture_tear_down(state);
}

static void push_one(void)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.body = dueq_slice(body, BODY);
    /* A checkpoint that gets no processor for a while leaves no room for so long. */
    for (int i = 0; i < 30000 && dueq_room(test.store, BODY) != DUEQ_OK; i++) {
        dueq_maintain(test.store, false);
        usleep(1000);
    }
    assert_int_equal(dueq_room(test.store, BODY), DUEQ_OK);
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_commit(&test);
    dueq_maintain(test.store, false);
}

/* Where the kernel writes zeros into new blocks, 32 MiB took the owner 14 ms. */
static void the_owner_allocates_little_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < PUSHES; i++)
        push_one();
    assert_in_range(largest, 1, OWN_MOST);
}

static void the_thread_allocates_ahead(void **state)
{
    (void)state;
    for (int i = 0; i < PUSHES; i++)
        push_one();
    for (int i = 0; i < 10000 && atomic_load(&by_thread) == 0; i++) {
        push_one();
        usleep(1000);
    }
    assert_true(atomic_load(&by_thread) > 0);
}

static void what_rests_does_not_grow(void **state)
{
    uint64_t size;

    (void)state;
    for (int i = 0; i < PUSHES; i++)
        push_one();
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    dueq_maintain(test.store, true);
    size = store_fixture_stats(&test).data_file_bytes;
    for (int i = 0; i < 10; i++) {
        usleep(5000);
        dueq_maintain(test.store, true);
    }
    assert_int_equal(store_fixture_stats(&test).data_file_bytes, size);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_of(the_owner_allocates_little_at_once),
        test_of(the_thread_allocates_ahead),
        test_of(what_rests_does_not_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
