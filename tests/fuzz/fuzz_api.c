/* libFuzzer target for requests of the API, and replies on their way to it. */
#include "tests/fuzz/api_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!api_holds_up(data, size))
        abort();
    return 0;
}
