#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t dice_hash(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

long dice_setting(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtol(value, NULL, 10) : otherwise;
}

void dice_begin(struct dice *dice)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long seed = dice_setting("SEED", (long)(now.tv_sec * 1000 + now.tv_nsec / 1000000));
    printf("SEED=%ld\n", seed);
    fflush(stdout);
    dice->state = (uint64_t)seed;
}

uint64_t dice_bits(struct dice *dice)
{
    dice->state += UINT64_C(0x9e3779b97f4a7c15);
    return dice_hash(dice->state);
}

uint64_t dice_roll(struct dice *dice, uint64_t sides)
{
    return dice_bits(dice) % sides;
}

bool dice_once_in(struct dice *dice, uint64_t times)
{
    return dice_roll(dice, times) == 0;
}
