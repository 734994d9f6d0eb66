/* XXH3 for all callers in libdueq-small, which does not export it. */
#define XXH_IMPLEMENTATION
#include "storage/xxh3.h"
