/* The server's log: in Redis' line format or as JSON, to a file or the standard output, and to
 * syslog and journald if wanted. One for the process. */
#ifndef DUEQ_LOG_H
#define DUEQ_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

enum log_format { LOG_TEXT, LOG_JSON };

/* path "" or NULL: standard output; "/dev/stderr": standard error. False: the file cannot be
 * opened (errno). */
bool log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);
/* Of the file and the standard output. JSON: one object a line, with "time" (UTC), "level",
 * "pid" and "message". */
void log_set_format(enum log_format format);
/* Each line also goes to these, under the name `ident`; facility: of syslog(3), 1 for user, 16
 * for local0. It lives as long as the process. A daemon that does not take a line at once
 * misses it. journald gets fields; when it reads the standard output, lines go to it once. */
void log_to_syslog(const char *ident, int facility);
void log_to_journald(const char *ident);
/* After the file was moved away. When that fails, the old one stays, and a line in it says why.
 */
void log_reopen(void);
/* Writes one line of at most LOG_LINE_MAX bytes. Bytes that are not printable become '?', in
 * JSON their escapes; there, what is not UTF-8 becomes U+FFFD. */
enum { LOG_LINE_MAX = 1024 };
void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- lines that a client can cause as often as it likes
 *
 * Each call site has a limit of its own: LOG_LIMIT_LINES lines in LOG_LIMIT_MS. Further lines
 * are counted, and a line says how many they were when the time is over. */
enum { LOG_LIMIT_LINES = 10, LOG_LIMIT_MS = 10000 };

struct log_limit {
    int64_t began; /* monotonic ms: the start of the present period */
    unsigned lines;
    uint64_t left_out;
    enum log_level level;
    const char *format; /* of the line, to name it in the report */
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

/* Logs how many lines were left out in periods that are over; `all`: also in present ones. Once
 * a second, and at the end. */
void log_report_omitted(bool all);
/* Has it yet something to log? */
bool log_has_omitted(void);

#endif
