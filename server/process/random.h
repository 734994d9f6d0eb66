/* Chance for commands that are asked for it (RANDOMKEY, SPOP, ...): the only source of it in
 * the server. Not for secrets. */
#ifndef DUEQ_RANDOM_H
#define DUEQ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

uint64_t random_number(void);

/* Chooses `wanted` of `left` things that pass by one after the other, each with the same chance
 * (Knuth, The Art of Computer Programming, vol. 2, algorithm S). */
struct sample {
    uint64_t left, wanted;
};
void random_sample_init(struct sample *sample, uint64_t size, uint64_t wanted);
bool random_sample_takes(struct sample *sample);

#endif
