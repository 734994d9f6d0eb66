/* libFuzzer target for specs of recurring jobs. */
#include "tests/fuzz/cron_check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!cron_holds_up(data, size))
        abort();
    return 0;
}
