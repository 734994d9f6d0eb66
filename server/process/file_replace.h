/* Replaces a file in one step. */
#ifndef DUEQ_FILE_REPLACE_H
#define DUEQ_FILE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>

/* At any time, also after a power cut, the path names the whole old file or the whole new one.
 * The new one gets the mode of the old one and, where that is permitted, its owner; without an
 * old one only its owner may read it. False: errno says why, and the old file is there; the new
 * one may be when only the sync of the directory failed. Blocks for two fsync. */
bool file_replace(const char *path, const char *content, size_t size);

#endif
