/* Runs the checks of the fuzzers on the inputs in tests/fuzz/corpus. */
#ifndef DUEQ_CORPUS_H
#define DUEQ_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads every file of tests/fuzz/corpus/NAME. Fails the running test when the check returns
 * false for one, or when there are fewer than `least` files: then the folder is wrong. */
void corpus_replay(const char *name, bool (*check)(const uint8_t *data, size_t size),
                   int least);

#endif
