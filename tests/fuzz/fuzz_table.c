/* libFuzzer target for records in a store. */
#include "tests/fuzz/table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!table_holds_up(data, size))
        abort();
    return 0;
}
