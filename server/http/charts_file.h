/* The history of before a restart: a file in the data directory, `dashboard.history`. Every ten
 * minutes a point of each series is added to it (2 KB at most), and when the server stops it is
 * written anew. It is not synced: a power cut may lose the end of it, and what is damaged is
 * cut off. */
#ifndef DUEQ_CHARTS_FILE_H
#define DUEQ_CHARTS_FILE_H

#include "server/http/charts.h"

enum { CHARTS_FILE_MAX = 4 << 20 /* bytes: what is longer is not read, and is begun anew */ };

/* Adds what the file has to the history. */
void charts_file_read(struct charts *charts, const char *dir);
/* Replaces the file. False: errno says why. */
bool charts_file_write(const struct charts *charts, const char *dir);
/* Adds the points of that slot of the longest range. */
bool charts_file_add(const struct charts *charts, const char *dir, uint32_t slot);

#endif
