/* A thread that gives way is nicer than the others of its process, one that runs at once has a
 * short slice, and each only that. */
#include "storage/scheduling.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
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

/* Of sched_setattr(2). */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static struct attributes own(void)
{
    struct attributes found = {.size = sizeof(found)};

    assert_int_equal(syscall(SYS_sched_getattr, 0, &found, sizeof(found), 0), 0);
    return found;
}

/* Those of the calling thread after it has asked, with that policy. */
static struct attributes ask_as(int policy)
{
    struct sched_param none = {0};

    assert_int_equal(sched_setscheduler(0, policy, &none), 0);
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 7), 0);
    scheduling_run_at_once();
    return own();
}

static void *ask_as_ordinary(void *ret)
{
    *(struct attributes *)ret = ask_as(SCHED_OTHER);
    return NULL;
}

static void *ask_as_batch(void *ret)
{
    *(struct attributes *)ret = ask_as(SCHED_BATCH);
    return NULL;
}

static struct attributes in_thread(void *(*run)(void *))
{
    struct attributes found;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, &found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return found;
}

/* Before Linux 6.12 threads have no slice of their own. */
static bool kernel_knows_slices(void)
{
    struct utsname name;
    char *end;
    long major;

    assert_int_equal(uname(&name), 0);
    major = strtol(name.release, &end, 10);
    return major > 6 || (major == 6 && *end == '.' && strtol(end + 1, NULL, 10) >= 12);
}

static void an_ordinary_thread_gets_a_short_slice_and_stays_as_nice(void **state)
{
    struct attributes found = in_thread(ask_as_ordinary);

    (void)state;
    assert_int_equal(found.policy, SCHED_OTHER);
    assert_int_equal(found.nice, 7);
    if (kernel_knows_slices())
        assert_int_equal(found.runtime, 100 * 1000);
}

static void one_with_another_policy_keeps_its_slice(void **state)
{
    struct attributes found = in_thread(ask_as_batch);

    (void)state;
    assert_int_equal(found.policy, SCHED_BATCH);
    assert_int_equal(found.nice, 7);
    assert_int_not_equal(found.runtime, 100 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_thread_that_gives_way_is_nicer),
        cmocka_unit_test(a_thread_with_another_policy_is_left_alone),
        cmocka_unit_test(an_ordinary_thread_gets_a_short_slice_and_stays_as_nice),
        cmocka_unit_test(one_with_another_policy_keeps_its_slice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
