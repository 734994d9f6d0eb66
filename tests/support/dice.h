/* Repeatable random numbers for tests. Prints its seed; SEED= in the environment repeats it. */
#ifndef DUEQ_DICE_H
#define DUEQ_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/* Takes the seed from SEED or from the clock, and prints it to standard output. */
void dice_begin(struct dice *dice);

uint64_t dice_bits(struct dice *dice);
/* 0 .. sides - 1 */
uint64_t dice_roll(struct dice *dice, uint64_t sides);
/* True with a chance of 1 in `times`. */
bool dice_once_in(struct dice *dice, uint64_t times);

/* A hash of the number: the same input gives the same output. */
uint64_t dice_hash(uint64_t number);

/* An integer from the environment (ROUNDS, STEPS); `otherwise` when it is not set. */
long dice_setting(const char *name, long otherwise);

#endif
