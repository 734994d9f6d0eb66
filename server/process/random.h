/* Random numbers for commands (RANDOMKEY, SPOP, ...). Not for secrets: seeded_table.c draws its
 * seed itself. */
#ifndef DUEQ_RANDOM_H
#define DUEQ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

uint64_t random_number(void);

/* Chooses `wanted` of `left` items that are seen one after the other, each with the same chance
 * (Knuth, The Art of Computer Programming, vol. 2, algorithm S). */
struct sample {
    uint64_t left, wanted;
};
void random_sample_init(struct sample *sample, uint64_t size, uint64_t wanted);
/* Is the next item chosen? */
bool random_sample_takes(struct sample *sample);

#endif
