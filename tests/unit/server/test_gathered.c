/* server/containers/gathered: what a command gathers is given back piece by piece. */
#include "server/containers/gathered.h"

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

static unsigned free_all(void)
{
    unsigned freed = 0;

    while (gathered_free_one())
        freed++;
    return freed;
}

static void few_elements_are_freed_at_once(void **state)
{
    struct gathered gathered = {.slots = NULL};

    (void)state;
    gather(&gathered, 1000);
    gathered_release(&gathered);
    assert_false(gathered_has_released());
    assert_int_equal(0, gathered.count);
    assert_null(gathered_find(&gathered, dueq_slice("element:1", 9)));
}

/* A chunk is 128 KiB, so a step of the loop frees no more than that, or one array. */
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
        cmocka_unit_test(a_text_alone_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
