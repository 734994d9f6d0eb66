/* Memory that grows: by malloc, as a mapping, out of what was kept. */
#include "protocol/grown_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/support/cmocka.h"

static void fill(uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
}

static void expect_filled(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], (uint8_t)(i * 31 >> 3));
}

static bool is_mapped(void *memory)
{
    unsigned char resident;

    return mincore(memory, 1, &resident) == 0 || errno != ENOMEM;
}

static void its_bytes_stay_while_it_grows(void **state)
{
    static const size_t sizes[] = {1,
                                   1000,
                                   GROWN_MAPPED - 1,
                                   GROWN_MAPPED,
                                   2 * GROWN_MAPPED,
                                   3 * GROWN_MAPPED + 5,
                                   GROWN_SPARE_MOST,
                                   GROWN_SPARE_MOST + 1,
                                   3 * GROWN_SPARE_MOST + 7};
    size_t size = 0;
    uint8_t *memory = NULL;
    (void)state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        memory = grown_memory_resize(memory, size, sizes[i]);
        assert_non_null(memory);
        expect_filled(memory, size);
        fill(memory, size, sizes[i]);
        size = sizes[i];
    }
    grown_memory_free(memory, size);
    grown_memory_free(NULL, size);
    grown_memory_give_back();
}

static void what_was_freed_is_used_again(void **state)
{
    (void)state;
    for (size_t size = GROWN_MAPPED; size <= GROWN_SPARE_MOST; size *= 2) {
        void *first = grown_memory_resize(NULL, 0, size);

        grown_memory_free(first, size);
        assert_ptr_equal(grown_memory_resize(NULL, 0, size), first);
        grown_memory_free(first, size);
        assert_ptr_equal(grown_memory_resize(malloc(10), 10, size), first);
        grown_memory_free(first, size);
    }
    grown_memory_give_back();
}

static int count_mapped(void *const *memory, size_t count)
{
    int mapped = 0;

    for (size_t i = 0; i < count; i++)
        mapped += is_mapped(memory[i]);
    return mapped;
}

static void no_more_are_kept_than_is_said(void **state)
{
    enum { LARGEST = GROWN_KEPT_MOST / GROWN_SPARE_MOST, MORE = LARGEST + 3 };
    void *memory[MORE], *small = grown_memory_resize(NULL, 0, GROWN_MAPPED);
    (void)state;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MORE; i++)
            memory[i] = grown_memory_resize(NULL, 0, GROWN_SPARE_MOST);
        for (int i = 0; i < MORE; i++)
            grown_memory_free(memory[i], GROWN_SPARE_MOST);
        assert_int_equal(count_mapped(memory, MORE), LARGEST);
    }
    grown_memory_free(small, GROWN_MAPPED);
    assert_false(is_mapped(small));
    grown_memory_give_back();
    assert_int_equal(count_mapped(memory, MORE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_bytes_stay_while_it_grows),
        cmocka_unit_test(what_was_freed_is_used_again),
        cmocka_unit_test(no_more_are_kept_than_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
