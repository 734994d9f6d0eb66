/* libFuzzer target for HTTP requests. */
#include "tests/fuzz/http_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!http_holds_up(data, size))
        abort();
    return 0;
}
