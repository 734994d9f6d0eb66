/* Redis' glob patterns, which match bytes: * ? [abc] [^a] [a-z] \x. */
#ifndef DUEQ_GLOB_H
#define DUEQ_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does the whole text match the pattern? ignore_case: for ASCII letters. O(pattern * text) at
 * most, whatever the pattern. */
bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size,
                bool ignore_case);

#endif
