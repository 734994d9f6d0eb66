/* libFuzzer target for a repair. */
#include "tests/fuzz/repair_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!repair_holds_up(data, size))
        abort();
    return 0;
}
