/* libFuzzer target for `dueq load`. */
#include "tests/fuzz/load_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!load_holds_up(data, size))
        abort();
    return 0;
}
