#include "server/containers/seeded_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void *(*seeded_table_allocate)(size_t size) = malloc;

static uint64_t draw_seed(void)
{
    struct timespec now;
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed))
        return seed;
    clock_gettime(CLOCK_REALTIME, &now); /* a kernel without entropy: better than none */
    return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
}

uint64_t seeded_table_hash(const void *key, size_t size)
{
    static uint64_t seed;
    static bool seeded;

    if (!seeded) {
        seed = draw_seed();
        seeded = true;
    }
    return XXH3_64bits_withSeed(key, size, seed);
}
