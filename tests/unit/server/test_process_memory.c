/* server/process/process_memory: what the kernel says of our memory. */
#include "server/process/process_memory.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MUCH = 64 << 20 };

static void the_peak_stays_when_memory_goes(void **state)
{
    uint64_t before = process_memory_read().own, peak;
    char *much = malloc(MUCH);
    (void)state;

    assert_non_null(much);
    memset(much, 1, MUCH);
    assert_int_equal(much[MUCH / 2], 1);
    peak = process_memory_read().peak;
    assert_true(peak >= before + MUCH);
    free(much);
    assert_true(process_memory_read().own < before + MUCH);
    assert_true(process_memory_read().peak >= peak);
    assert_true(process_memory_read().peak < before + 2 * (uint64_t)MUCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_peak_stays_when_memory_goes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
