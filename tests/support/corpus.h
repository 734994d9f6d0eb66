/* What fuzzing has kept in tests/fuzz/corpus, given to the checks that the fuzzers make. */
#ifndef DUEQ_CORPUS_H
#define DUEQ_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads every file of tests/fuzz/corpus/NAME and fails the running test for one of which the
 * check says false, and when there are fewer files than `least`: then they were not found. */
void corpus_replay(const char *name, bool (*check)(const uint8_t *data, size_t size),
                   int least);

#endif
