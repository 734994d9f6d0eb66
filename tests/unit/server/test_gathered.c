/* server/containers/gathered: what a command gathers is given back piece by piece. */
#include "server/containers/gathered.h"
#include "server/containers/spent.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

static void gather(struct gathered *gathered, unsigned count)
{
    char bytes[32];

    for (unsigned i = 0; i < count; i++) {
        snprintf(bytes, sizeof(bytes), "element:%u", i);
        assert_non_null(
            gathered_add(gathered, dueq_slice(bytes, strlen(bytes)), (double)i, true));
    }
}

static unsigned free_spent(void)
{
    unsigned parts = 0;

    for (; spent_any(); parts++)
        spent_free_some();
    return parts;
}

static unsigned free_all(void)
{
    unsigned freed = 0;

    free_spent();
    while (gathered_free_one())
        freed++;
    return freed;
}

static int compare(const struct gathered_slot *a, const struct gathered_slot *b,
                   const void *arg)
{
    (void)arg;
    return (a->score < b->score) - (a->score > b->score);
}

static void sort_all(struct gathered *gathered, struct gathered_sort *sort)
{
    *sort = (struct gathered_sort){.compare = compare};
    while (!gathered_sort_step(gathered, sort, 1000))
        ;
    assert_true(gathered->slots[0].score == (double)(gathered->count - 1));
}

static void few_elements_are_freed_at_once(void **state)
{
    struct gathered gathered = {.slots = NULL};
    struct gathered_sort sort;

    (void)state;
    gather(&gathered, 1000);
    sort_all(&gathered, &sort);
    gathered_release(&gathered);
    gathered_sort_release(&sort);
    assert_false(gathered_has_released());
    assert_false(spent_any());
    assert_int_equal(0, gathered.count);
    assert_null(gathered_find(&gathered, dueq_slice("element:1", 9)));
}

/* A chunk is 128 KiB, so a step of the loop frees no more than that. */
static void many_elements_are_freed_a_block_at_a_time(void **state)
{
    struct gathered gathered = {.slots = NULL};
    size_t memory;

    (void)state;
    gather(&gathered, 200000);
    memory = gathered.memory;
    gathered_release(&gathered);
    assert_int_equal(0, gathered.memory);
    assert_true(gathered_has_released());
    assert_true(gathered_free_one());
    assert_true(gathered_has_released());
    assert_true(free_all() > memory / (128 * 1024) / 2);
    assert_false(gathered_has_released());
    assert_false(gathered_free_one());
}

static void what_two_have_released_is_freed(void **state)
{
    struct gathered one = {.slots = NULL}, other = {.slots = NULL};
    unsigned blocks;

    (void)state;
    gather(&one, 100000);
    gathered_release(&one);
    blocks = free_all();
    gather(&one, 100000);
    gather(&other, 100000);
    gathered_release(&one);
    gathered_release(&other);
    assert_int_equal(2 * blocks, free_all());
}

/* 5 and 8 MiB of slots after a sort, and 4 of buckets. */
static void long_arrays_are_freed_in_parts(void **state)
{
    struct gathered gathered = {.slots = NULL};
    struct gathered_sort sort;

    (void)state;
    gather(&gathered, 300000);
    sort_all(&gathered, &sort);
    assert_false(spent_any());
    gathered_sort_release(&sort);
    assert_in_range(free_spent(), 2, 5);
    gathered_release(&gathered);
    assert_in_range(free_spent(), 4, 8);
    free_all();
}

/* Only what is beside the elements was kept. */
static void a_text_alone_is_freed(void **state)
{
    struct gathered gathered = {.slots = NULL};

    (void)state;
    assert_non_null(gathered_keep(&gathered, dueq_slice("text", 4)));
    gathered_release(&gathered);
    assert_false(gathered_has_released());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_elements_are_freed_at_once),
        cmocka_unit_test(many_elements_are_freed_a_block_at_a_time),
        cmocka_unit_test(what_two_have_released_is_freed),
        cmocka_unit_test(long_arrays_are_freed_in_parts),
        cmocka_unit_test(a_text_alone_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
