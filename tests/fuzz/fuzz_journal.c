/* libFuzzer target for the opening of a journal. */
#include "tests/fuzz/journal_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!journal_holds_up(data, size))
        abort();
    return 0;
}
