#include "server/log.h"

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
} log_state = {.level = LOG_NOTICE};

int log_open(const char *path, enum log_level level)
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
        return; /* the old one still takes lines */
    fclose(log_state.file);
    log_state.file = file;
}

void log_write(enum log_level level, const char *format, ...)
{
    FILE *file = log_state.file != NULL ? log_state.file : stdout;
    char moment[64];
    struct timeval now;
    struct tm local;
    va_list arguments;

    if (level < log_state.level)
        return;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &local);
    strftime(moment, sizeof(moment), "%d %b %Y %H:%M:%S", &local);
    fprintf(file, "%d:M %s.%03d %c ", (int)getpid(), moment, (int)(now.tv_usec / 1000),
            ".-*#"[level]);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fflush(file);
}
