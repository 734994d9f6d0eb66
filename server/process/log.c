#include "server/process/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct {
    FILE *file; /* NULL: standard output */
    char *path;
    enum log_level level;
    struct log_limit *limits; /* all that have been used */
} log_state = {.level = LOG_NOTICE};

bool log_open(const char *path, enum log_level level)
{
    log_state.level = level;
    if (path == NULL || path[0] == '\0')
        return 1;
    free(log_state.path);
    log_state.path = strdup(path);
    log_state.file = fopen(path, "ae");
    return log_state.file != NULL;
}

void log_set_level(enum log_level level)
{
    log_state.level = level;
}

void log_reopen(void)
{
    FILE *file = log_state.path == NULL ? NULL : fopen(log_state.path, "ae");

    if (file == NULL)
        return; /* lines go to the old file */
    fclose(log_state.file);
    log_state.file = file;
}

/* ---- writing */

static void write_line(enum log_level level, const char *text)
{
    FILE *file = log_state.file != NULL ? log_state.file : stdout;
    char moment[64];
    struct timeval now;
    struct tm local;

    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &local);
    strftime(moment, sizeof(moment), "%d %b %Y %H:%M:%S", &local);
    fprintf(file, "%d:M %s.%03d %c %s\n", (int)getpid(), moment, (int)(now.tv_usec / 1000),
            ".-*#"[level], text);
    fflush(file);
}

/* A line may contain bytes that a client sent: they must not look like another line. */
static void write_text(enum log_level level, const char *format, va_list arguments)
{
    char text[LOG_LINE_MAX];

    vsnprintf(text, sizeof(text), format, arguments);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    write_line(level, text);
}

void log_write(enum log_level level, const char *format, ...)
{
    va_list arguments;

    if (level < log_state.level)
        return;
    va_start(arguments, format);
    write_text(level, format, arguments);
    va_end(arguments);
}

/* ---- limits */

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void tell_left_out(struct log_limit *limit)
{
    if (limit->left_out > 0)
        log_write(limit->level, "%" PRIu64 " more lines like this were left out: \"%.200s\"",
                  limit->left_out, limit->format);
    limit->left_out = 0;
}

void log_report_omitted(bool all)
{
    int64_t now = monotonic_ms();

    for (struct log_limit *limit = log_state.limits; limit != NULL; limit = limit->next)
        if (limit->left_out > 0 && (all || now - limit->began >= LOG_LIMIT_MS))
            tell_left_out(limit);
}

/* The first line after a period begins a new one. */
static void begin_time(struct log_limit *limit, int64_t now)
{
    tell_left_out(limit);
    limit->began = now;
    limit->lines = 0;
    if (limit->listed)
        return;
    limit->listed = true;
    limit->next = log_state.limits;
    log_state.limits = limit;
}

void log_write_within(struct log_limit *limit, enum log_level level, const char *format, ...)
{
    int64_t now = monotonic_ms();
    va_list arguments;

    if (level < log_state.level)
        return;
    limit->level = level;
    limit->format = format;
    if (!limit->listed || now - limit->began >= LOG_LIMIT_MS)
        begin_time(limit, now);
    if (limit->lines++ >= LOG_LIMIT_LINES) {
        limit->left_out++;
        return;
    }
    va_start(arguments, format);
    write_text(level, format, arguments);
    va_end(arguments);
}
