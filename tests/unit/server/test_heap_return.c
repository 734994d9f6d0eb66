/* server/containers/heap_return: what is free in the heap goes back in many short steps, and
 * nothing else does. */
#include "server/containers/heap_return.h"
#include "server/containers/spent.h"
#include "server/process/process_memory.h"

#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* As a MULTI of many values has them: below M_MMAP_THRESHOLD, so they are in the heap. */
enum { BLOCKS = 1000, SIZE = 60 * 1024, STAYS = 50, BYTES = BLOCKS * SIZE };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
enum { HAS_HEAP = 0 }; /* malloc is another one: it only has to end */
#else
enum { HAS_HEAP = 1 };
#endif

static uint8_t *blocks[BLOCKS];

static void fill_and_free(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], i, SIZE);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (i % STAYS != 0) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
}

static void expect_the_others(void)
{
    for (int i = 0; i < BLOCKS; i += STAYS)
        for (int at = 0; at < SIZE; at++)
            assert_int_equal(blocks[i][at], (uint8_t)i);
}

static unsigned run(void)
{
    unsigned steps = 0;

    heap_return_begin(BYTES * 2);
    heap_return_begin(0); /* it runs already */
    for (; heap_return_runs(); steps++)
        spent_free_some();
    assert_false(spent_any());
    return steps;
}

static void free_blocks_go_back_in_steps(void **state)
{
    uint64_t before = process_memory_read().own, after;
    unsigned steps;

    (void)state;
    fill_and_free();
    if (HAS_HEAP)
        assert_true(process_memory_read().own > before + BYTES / 2);
    steps = run();
    expect_the_others();
    after = process_memory_read().own;
    if (HAS_HEAP) {
        assert_in_range(steps, 50, 1000);
        assert_true(after < before + BYTES / 10);
    }
    for (int i = 0; i < BLOCKS; i += STAYS)
        free(blocks[i]);
}

static void without_free_blocks_it_ends_at_once(void **state)
{
    (void)state;
    run();
    assert_in_range(run(), 1, 20);
}

/* What is allocated meanwhile stays. */
static void others_allocate_meanwhile(void **state)
{
    uint8_t *more[20];
    int count = 0;

    (void)state;
    fill_and_free();
    heap_return_begin(BYTES * 2);
    while (heap_return_runs()) {
        spent_free_some();
        if (count < 20) {
            more[count] = malloc(SIZE);
            memset(more[count], count, SIZE);
            count++;
        }
    }
    expect_the_others();
    for (int i = 0; i < count; i++) {
        for (int at = 0; at < SIZE; at++)
            assert_int_equal(more[i][at], (uint8_t)i);
        free(more[i]);
    }
    for (int i = 0; i < BLOCKS; i += STAYS)
        free(blocks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_blocks_go_back_in_steps),
        cmocka_unit_test(without_free_blocks_it_ends_at_once),
        cmocka_unit_test(others_allocate_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
