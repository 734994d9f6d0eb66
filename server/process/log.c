#include "server/process/log.h"

#include "server/process/log_daemons.h"
#include "server/process/log_json.h"
#include "server/process/zones.h"

#include <errno.h>
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
    enum log_format format;
    struct log_limit *limits; /* all that have been used */
} log_state = {.level = LOG_NOTICE};

bool log_open(const char *path, enum log_level level)
{
    log_state.level = level;
    if (path == NULL || path[0] == '\0')
        return 1;
    free(log_state.path);
    log_state.path = NULL;
    if (strcmp(path, "/dev/stderr") == 0) { /* may be a socket, which open() refuses */
        log_state.file = stderr;
        return true;
    }
    log_state.path = strdup(path);
    log_state.file = fopen(path, "ae");
    return log_state.file != NULL;
}

void log_set_level(enum log_level level)
{
    log_state.level = level;
}

void log_set_format(enum log_format format)
{
    log_state.format = format;
}

void log_to_syslog(const char *ident, int facility)
{
    log_daemons_use_syslog(ident, facility);
}

void log_to_journald(const char *ident)
{
    log_daemons_use_journald(ident);
}

void log_reopen(void)
{
    FILE *file;

    if (log_state.path == NULL)
        return;
    file = fopen(log_state.path, "ae");
    if (file == NULL) {
        log_write(LOG_WARNING, "Cannot open the log %s: %s. Lines go on to the old file",
                  log_state.path, strerror(errno));
        return;
    }
    fclose(log_state.file);
    log_state.file = file;
}

/* ---- writing */

static void write_plain(FILE *file, enum log_level level, const char *text,
                        const struct timeval *now)
{
    char moment[64];
    struct tm local;

    zones_local(now->tv_sec, &local);
    strftime(moment, sizeof(moment), "%d %b %Y %H:%M:%S", &local);
    fprintf(file, "%d:M %s.%03d %c %s\n", (int)getpid(), moment, (int)(now->tv_usec / 1000),
            ".-*#"[level], text);
}

static void write_json(FILE *file, enum log_level level, const char *text,
                       const struct timeval *now)
{
    static const char *const levels[] = {"debug", "verbose", "notice", "warning"};
    char moment[64], message[LOG_JSON_ROOM(LOG_LINE_MAX)];
    struct tm utc;

    gmtime_r(&now->tv_sec, &utc);
    strftime(moment, sizeof(moment), "%Y-%m-%dT%H:%M:%S", &utc);
    log_json_escape(text, strlen(text), message);
    fprintf(file, "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"pid\":%d,\"message\":\"%s\"}\n",
            moment, (int)(now->tv_usec / 1000), levels[level], (int)getpid(), message);
}

/* A line may contain bytes that a client sent: they must not look like another line. */
static void hide_controls(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

static void write_text(enum log_level level, const char *format, va_list arguments)
{
    FILE *file = log_state.file != NULL ? log_state.file : stdout;
    char text[LOG_LINE_MAX];
    struct timeval now;
    bool is_told;

    gettimeofday(&now, NULL);
    vsnprintf(text, sizeof(text), format, arguments);
    is_told = log_state.file == NULL && log_daemons_read_output();
    if (!is_told && log_state.format == LOG_JSON)
        write_json(file, level, text, &now);
    hide_controls(text);
    if (!is_told && log_state.format == LOG_TEXT)
        write_plain(file, level, text, &now);
    fflush(file);
    log_daemons_tell((int)level, text, now.tv_sec);
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

bool log_has_omitted(void)
{
    for (const struct log_limit *limit = log_state.limits; limit != NULL; limit = limit->next)
        if (limit->left_out > 0)
            return true;
    return false;
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
