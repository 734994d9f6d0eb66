/* libFuzzer target for the decoders of records. */
#include "tests/fuzz/record_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!record_holds_up(data, size))
        abort();
    return 0;
}
