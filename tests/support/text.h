/* Slices of string literals. */
#ifndef DUEQ_TEXT_H
#define DUEQ_TEXT_H

#include "storage/slice.h"

static inline struct dueq_slice text(const char *string)
{
    return dueq_slice(string, strlen(string));
}

#endif
