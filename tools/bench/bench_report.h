/* What `dueq bench` tells of a run: lines for programs on standard output, progress and
 * pictures for people. */
#ifndef DUEQ_BENCH_REPORT_H
#define DUEQ_BENCH_REPORT_H

#include "tools/bench/load.h"

#include <stdio.h>

/* A run begins: the next parts are of it. `people`: how far it is, on standard error, which is
 * a terminal; else a line for each part on standard output. */
void bench_report_begin(const struct load *load, bool people, bool json);
void bench_report_part(const struct load_part *part); /* for struct load */
void bench_report_end(void);

/* How many requests took so long, a line for each power of two of microseconds. */
void bench_report_histogram(FILE *to, const struct load_result *result);
/* The rate and the latencies of a run as a part of those of another one; json: as an object. */
void bench_report_ratio(FILE *to, const char *name, const struct load_result *result,
                        const char *base_name, const struct load_result *base, bool json);

#endif
