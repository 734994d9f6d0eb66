/* libFuzzer target for the file of the dashboard's history. */
#include "tests/fuzz/charts_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!charts_hold_up(data, size))
        abort();
    return 0;
}
