/* A thread that asks for a short slice keeps what else the scheduler knows of it. */
#include "storage/kv/journal/short_slice.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

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
    short_slice_ask();
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

static void a_thread_with_another_policy_is_left_alone(void **state)
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
        cmocka_unit_test(an_ordinary_thread_gets_a_short_slice_and_stays_as_nice),
        cmocka_unit_test(a_thread_with_another_policy_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
