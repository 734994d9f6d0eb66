#include "server/process/random.h"

#include <assert.h>
#include <sys/random.h>

/* splitmix64 (Steele, Lea and Flood, 2014), seeded by the kernel. */
uint64_t random_number(void)
{
    static uint64_t state;
    static bool seeded;
    uint64_t z;

    if (!seeded)
        seeded = getrandom(&state, sizeof(state), 0) == (ssize_t)sizeof(state);
    z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void random_sample_init(struct sample *sample, uint64_t size, uint64_t wanted)
{
    sample->left = size;
    sample->wanted = wanted < size ? wanted : size;
}

bool random_sample_takes(struct sample *sample)
{
    bool taken;

    assert(sample->wanted <= sample->left);
    taken = sample->left > 0 && random_number() % sample->left < sample->wanted;

    sample->left -= sample->left > 0;
    sample->wanted -= taken;
    return taken;
}
