/* libFuzzer target for the request reader. */
#include "tests/fuzz/request_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!request_splits_agree(data, size))
        abort();
    return 0;
}
