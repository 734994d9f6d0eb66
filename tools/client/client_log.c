#include "tools/client/client_log.h"

#include "tools/client/client_call.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOG_PATIENCE_MS = 100, LOG_LINE = 1024 };

int64_t client_monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- standard error, which nobody may read */

static const char *log_name = "client";
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

void client_log_as(const char *name)
{
    log_name = name;
}

/* A pipe is opened anew, so that a write never waits in it; the flag of the old one is shared
 * with others. */
static int log_descriptor(void)
{
    static int fd = -1;
    struct stat found;

    if (fd >= 0)
        return fd;
    if (fstat(STDERR_FILENO, &found) == 0 && S_ISFIFO(found.st_mode))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        fd = STDERR_FILENO;
    return fd;
}

void client_pass_on(const char *bytes, size_t size)
{
    pthread_mutex_lock(&log_mutex);
    while (size > 0) {
        struct pollfd ready = {.fd = log_descriptor(), .events = POLLOUT};
        size_t part = size < PIPE_BUF ? size : PIPE_BUF;
        ssize_t put = poll(&ready, 1, LOG_PATIENCE_MS) == 1 ? write(ready.fd, bytes, part) : -1;

        if (put <= 0) /* nobody reads: it is not worth the work */
            break;
        bytes += put;
        size -= (size_t)put;
    }
    pthread_mutex_unlock(&log_mutex);
}

void client_log(const char *format, ...)
{
    char line[LOG_LINE];
    size_t size = (size_t)snprintf(line, sizeof(line), "dueq %s: ", log_name);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line + size, sizeof(line) - size - 1, format, arguments);
    va_end(arguments);
    for (char *at = line; *at != '\0'; at++) /* ids are any bytes */
        memset(at, '?', client_control_size(at));
    size = strlen(line);
    line[size++] = '\n';
    client_pass_on(line, size);
}
