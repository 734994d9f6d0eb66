/* Mutations of inputs that are lines of words: whole lines come, go and are repeated, words are
 * replaced. A fuzzer says how a new line and a new word look. */
#ifndef DUEQ_LINE_MUTATOR_H
#define DUEQ_LINE_MUTATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MUTATOR_LINE = 1024 }; /* bytes of a line at most, with the newline */

struct line_mutator {
    uint64_t dice;
    void (*write_line)(struct line_mutator *mutator, char *line); /* MUTATOR_LINE bytes */
    const char *(*choose_word)(struct line_mutator *mutator);
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* 0 .. sides - 1 */
static inline size_t mutator_roll(struct line_mutator *mutator, size_t sides)
{
    mutator->dice = mutator->dice * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(mutator->dice >> 33) % sides;
}

/* Adds a word and a space before it, while there is room. */
static inline void mutator_add(char *line, const char *word, size_t size)
{
    size_t used = strlen(line);

    if (used + size + 3 < MUTATOR_LINE)
        sprintf(line + used, " %.*s", (int)size, word);
}

/* The start of some line. */
static inline size_t mutator_line(struct line_mutator *mutator, const uint8_t *data,
                                  size_t size)
{
    size_t at = mutator_roll(mutator, size + 1);

    while (at > 0 && data[at - 1] != '\n')
        at--;
    return at;
}

static inline size_t mutator_insert(uint8_t *data, size_t size, size_t most, size_t at,
                                    const char *text)
{
    size_t more = strlen(text);

    if (size + more > most)
        return size;
    memmove(data + at + more, data + at, size - at);
    memcpy(data + at, text, more);
    return size + more;
}

/* Removes what is before the next of these bytes. */
static inline size_t mutator_remove(uint8_t *data, size_t size, size_t at, const char *ends)
{
    size_t end = at;

    while (end < size && strchr(ends, data[end]) == NULL)
        end++;
    memmove(data + at, data + end, size - end);
    return size - (end - at);
}

static inline size_t mutator_repeat(struct line_mutator *mutator, uint8_t *data, size_t size,
                                    size_t most)
{
    char line[MUTATOR_LINE];
    size_t from = mutator_line(mutator, data, size), end = from;

    while (end < size && data[end] != '\n' && end - from < sizeof(line) - 2)
        end++;
    snprintf(line, sizeof(line), "%.*s\n", (int)(end - from), (const char *)data + from);
    return mutator_insert(data, size, most, mutator_line(mutator, data, size), line);
}

/* Never the first word of a line. */
static inline size_t mutator_replace(struct line_mutator *mutator, uint8_t *data, size_t size,
                                     size_t most)
{
    size_t at = mutator_roll(mutator, size + 1);

    while (at > 0 && data[at - 1] != ' ' && data[at - 1] != '\n')
        at--;
    if (at == 0 || data[at - 1] == '\n')
        return size;
    return mutator_insert(data, mutator_remove(data, size, at, " \n"), most, at,
                          mutator->choose_word(mutator));
}

/* Returns the new size. */
static inline size_t mutator_mutate(struct line_mutator *mutator, uint8_t *data, size_t size,
                                    size_t most)
{
    char line[MUTATOR_LINE];

    switch (mutator_roll(mutator, 12)) {
    case 0:
        return LLVMFuzzerMutate(data, size, most);
    case 1:
        return mutator_remove(data, size, mutator_line(mutator, data, size), "\n");
    case 2:
        return mutator_repeat(mutator, data, size, most);
    case 3:
    case 4:
    case 5:
    case 6:
        return mutator_replace(mutator, data, size, most);
    default:
        mutator->write_line(mutator, line);
        strcat(line, "\n");
        return mutator_insert(data, size, most, mutator_line(mutator, data, size), line);
    }
}

#endif
