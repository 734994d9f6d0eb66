/* Texts of any bytes inside of JSON. */
#ifndef DUEQ_LOG_JSON_H
#define DUEQ_LOG_JSON_H

#include <stddef.h>

/* Bytes that a text of so many may become, with the zero after it. */
#define LOG_JSON_ROOM(size) (6 * (size) + 1)

/* Writes what comes between the quotes. A byte that is part of no character becomes U+FFFD. */
void log_json_escape(const char *text, size_t size, char *ret_escaped);

#endif
