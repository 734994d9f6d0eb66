/* The filter of ids: it never denies an id that was added, and denies most others. */
#include "storage/queue/core/id_filter.h"
#include "tests/support/dice.h"

#include <sys/mman.h>

#include "tests/support/cmocka.h"

enum { IDS = 20000, LEAST = 4096, MOST = 1 << 20 };

static struct id_filter filter;

static int tear_down(void **state)
{
    (void)state;
    id_filter_release(&filter);
    return 0;
}

static void no_filter_denies_nothing(void **state)
{
    struct id_filter none = {0};

    (void)state;
    id_filter_add(&none, 1);
    assert_true(id_filter_may_have(&none, 2));
    id_filter_release(&none);
}

static void an_empty_filter_denies_everything(void **state)
{
    (void)state;
    assert_true(id_filter_init(&filter, IDS, LEAST, MOST));
    for (uint64_t id = 0; id < IDS; id++)
        assert_false(id_filter_may_have(&filter, dice_hash(id)));
}

static void what_was_added_is_never_denied(void **state)
{
    (void)state;
    assert_true(id_filter_init(&filter, 0, LEAST, LEAST)); /* IDS is five times as many */
    for (uint64_t id = 0; id < IDS; id++)
        id_filter_add(&filter, dice_hash(id));
    for (uint64_t id = 0; id < IDS; id++)
        assert_true(id_filter_may_have(&filter, dice_hash(id)));
    assert_int_equal(filter.ids, IDS);
}

static void a_full_filter_denies_all_but_one_in_25_of_the_others(void **state)
{
    unsigned maybe = 0;

    (void)state;
    assert_true(id_filter_init(&filter, IDS, LEAST, MOST));
    for (uint64_t id = 0; id < filter.capacity; id++)
        id_filter_add(&filter, dice_hash(id));
    for (uint64_t id = 0; id < IDS; id++)
        maybe += id_filter_may_have(&filter, dice_hash(filter.capacity + id));
    assert_in_range(maybe, IDS / 100, IDS / 25);
}

static void it_is_as_large_as_its_ids_want_within_limits(void **state)
{
    static const struct {
        uint64_t ids;
        size_t least, most;
        uint64_t capacity;
    } cases[] = {{0, 4096, 1 << 20, 4096},          {4096, 4096, 1 << 20, 4096},
                 {4097, 4096, 1 << 20, 4160},       {100000, 4096, 1 << 20, 100032},
                 {100000, 4096, 5000, 4992},        {0, 5000, 1 << 20, 5056},
                 {UINT64_MAX, 0, 1 << 20, 1 << 20}, {0, 0, 0, 64}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(id_filter_init(&filter, cases[i].ids, cases[i].least, cases[i].most));
        assert_int_equal(filter.capacity, cases[i].capacity);
        id_filter_release(&filter);
    }
}

/* To clear 16 MiB at once takes milliseconds, which a client would wait for. */
static void a_new_filter_touches_no_memory(void **state)
{
    enum { LARGE = 32 << 20, PAGE = 4096, PAGES = LARGE / PAGE };
    unsigned char there[PAGES - 1];
    unsigned touched = 0;

    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its allocator clears what it gives out */
#endif
    assert_true(id_filter_init(&filter, 0, LARGE, LARGE));
    assert_int_equal(mincore((void *)(((uintptr_t)filter.words + PAGE - 1) / PAGE * PAGE),
                             LARGE - PAGE, there),
                     0);
    for (int i = 0; i < PAGES - 1; i++)
        touched += there[i] & 1;
    assert_in_range(touched, 0, PAGES / 4); /* a huge page or two */
    assert_int_equal((uintptr_t)filter.words % 64, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_filter_denies_nothing),
        TEST(an_empty_filter_denies_everything),
        TEST(what_was_added_is_never_denied),
        TEST(a_full_filter_denies_all_but_one_in_25_of_the_others),
        TEST(it_is_as_large_as_its_ids_want_within_limits),
        TEST(a_new_filter_touches_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
