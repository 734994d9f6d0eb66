/* The lines of INFO. */
#ifndef DUEQ_INFO_SECTIONS_H
#define DUEQ_INFO_SECTIONS_H

#include "protocol/buffer.h"

/* Appends one line, "name:value"; a line longer than 511 bytes is cut. */
void info_line(struct buffer *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
