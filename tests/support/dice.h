/* Repeatable randomness for tests: prints its seed, SEED= in the environment repeats a run. */
#ifndef DUEQ_DICE_H
#define DUEQ_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/* Seeds from SEED or from the clock, and says so on standard output. */
void dice_begin(struct dice *dice);

uint64_t dice_bits(struct dice *dice);
/* 0 .. sides - 1 */
uint64_t dice_roll(struct dice *dice, uint64_t sides);
/* True once in so many. */
bool dice_once_in(struct dice *dice, uint64_t times);

/* A number that is a function of another, and looks random. */
uint64_t dice_hash(uint64_t number);

/* An integer from the environment (ROUNDS, STEPS), or what to take without it. */
long dice_setting(const char *name, long otherwise);

#endif
