/* The server's log, in Redis' line format. One for the process: what must be said must be said.
 */
#ifndef DUEQ_LOG_H
#define DUEQ_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

/* path "" or NULL: standard output. False: the file cannot be opened (errno). */
int log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);
void log_reopen(void); /* after the file was moved away */
/* One line, at most LOG_LINE_MAX bytes of text; what would not print is written as '?'. */
enum { LOG_LINE_MAX = 1024 };
void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- lines that a client can bring about, as often as it likes
 *
 * Each place that writes such a line has a limit of its own: LOG_LIMIT_LINES in LOG_LIMIT_MS.
 * Further ones are counted, and how many they were is told when that time is over. */
enum { LOG_LIMIT_LINES = 10, LOG_LIMIT_MS = 10000 };

struct log_limit {
    int64_t began; /* monotonic ms: of the time that is running */
    unsigned lines;
    uint64_t left_out;
    enum log_level level;
    const char *format; /* the line's, to tell which it was */
    bool listed;
    struct log_limit *next;
};

#define log_write_limited(level, ...)                                                          \
    do {                                                                                       \
        static struct log_limit log_limit_;                                                    \
        log_write_within(&log_limit_, level, __VA_ARGS__);                                     \
    } while (0)
void log_write_within(struct log_limit *limit, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells what was left out in times that are over; `all`: also in those that are not. Once a
 * second, and at the end. */
void log_report_omitted(bool all);

#endif
