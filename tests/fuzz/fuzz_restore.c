/* libFuzzer target for a restore. */
#include "tests/fuzz/restore_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!restore_holds_up(data, size))
        abort();
    return 0;
}
