/* libFuzzer target for the pages of data.mdb. */
#include "tests/fuzz/pages_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!pages_hold_up(data, size))
        abort();
    return 0;
}
