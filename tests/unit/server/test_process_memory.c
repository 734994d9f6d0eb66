/* server/process/process_memory: what the kernel says of our memory. */
#include "server/process/process_memory.h"

#include <string.h>
#include <sys/mman.h>

#include "tests/support/cmocka.h"

enum { MUCH = 64 << 20 };

static void the_peak_stays_when_memory_goes(void **state)
{
    uint64_t before = process_memory_read().own, peak;
    char *much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;

    assert_true(much != MAP_FAILED);
    memset(much, 1, MUCH);
    assert_int_equal(much[MUCH / 2], 1);
    peak = process_memory_read().peak;
    assert_true(peak >= before + MUCH);
    munmap(much, MUCH);
    assert_true(process_memory_read().own < before + MUCH);
    assert_true(process_memory_read().peak >= peak);
    assert_true(process_memory_read().peak < before + 2 * (uint64_t)MUCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_peak_stays_when_memory_goes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
