/* A thread that gives way is nicer than the others of its process, and only that. */
#include "storage/scheduling.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static int own_nice(void)
{
    return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

static void *give_way(void *found)
{
    scheduling_give_way();
    *(int *)found = own_nice();
    return NULL;
}

static void *give_way_as_batch(void *found)
{
    struct sched_param none = {0};

    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    return give_way(found);
}

/* As the nicest of all. */
static void *give_way_twenty_times(void *found)
{
    for (int i = 0; i < 20; i++)
        give_way(found);
    return NULL;
}

static int nice_after(void *(*run)(void *))
{
    pthread_t thread;
    int found = -100;

    assert_int_equal(pthread_create(&thread, NULL, run, &found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return found;
}

static void only_the_thread_that_gives_way_is_nicer(void **state)
{
    int before = own_nice();

    (void)state;
    assert_int_equal(nice_after(give_way), before + 5 < 19 ? before + 5 : 19);
    assert_int_equal(nice_after(give_way_twenty_times), 19);
    assert_int_equal(own_nice(), before);
}

static void a_thread_with_another_policy_is_left_alone(void **state)
{
    int before = own_nice();

    (void)state;
    assert_int_equal(nice_after(give_way_as_batch), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_thread_that_gives_way_is_nicer),
        cmocka_unit_test(a_thread_with_another_policy_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
