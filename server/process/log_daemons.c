#include "server/process/log_daemons.h"

#include "server/process/zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

/* Of syslog, by enum log_level: debug, info, notice, warning. */
static const int severities[] = {7, 6, 5, 4};

static struct {
    char *ident; /* NULL: syslog is not used */
    int facility;
    struct sockaddr_un address;
} syslog_daemon;

static struct {
    char *ident; /* NULL: journald is not used */
    struct sockaddr_un address;
    bool reads_output;
} journald;

static int daemons_fd = -1;

static void set_address(struct sockaddr_un *address, const char *variable,
                        const char *otherwise)
{
    const char *path = getenv(variable);

    if (path == NULL || strlen(path) >= sizeof(address->sun_path))
        path = otherwise;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof(address->sun_path), "%s", path);
}

static void open_socket(void)
{
    if (daemons_fd < 0)
        daemons_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void log_daemons_use_syslog(const char *ident, int facility)
{
    syslog_daemon.ident = strdup(ident);
    syslog_daemon.facility = facility;
    set_address(&syslog_daemon.address, "DUEQ_SYSLOG_SOCKET", "/dev/log");
    open_socket();
}

/* systemd names the device and inode of the stream that it reads. */
static bool output_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat output;
    char wanted[64];

    if (stream == NULL || fstat(STDOUT_FILENO, &output) != 0)
        return false;
    snprintf(wanted, sizeof(wanted), "%llu:%llu", (unsigned long long)output.st_dev,
             (unsigned long long)output.st_ino);
    return strcmp(stream, wanted) == 0;
}

void log_daemons_use_journald(const char *ident)
{
    journald.ident = strdup(ident);
    set_address(&journald.address, "DUEQ_JOURNALD_SOCKET", "/run/systemd/journal/socket");
    open_socket();
    journald.reads_output = journald.ident != NULL && output_is_journal() &&
                            access(journald.address.sun_path, W_OK) == 0;
}

bool log_daemons_read_output(void)
{
    return journald.reads_output;
}

/* ---- lines */

static void tell(const struct sockaddr_un *address, const char *line, int size)
{
    if (size > 0 && daemons_fd >= 0)
        (void)sendto(
            daemons_fd, line, size < LINE_MAX_BYTES ? (size_t)size : LINE_MAX_BYTES - 1,
            MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)address, sizeof(*address));
}

static void tell_syslog(int level, const char *text, time_t now)
{
    char line[LINE_MAX_BYTES], moment[32];
    struct tm local;

    zones_local(now, &local);
    strftime(moment, sizeof(moment), "%b %e %H:%M:%S", &local);
    tell(&syslog_daemon.address, line,
         snprintf(line, sizeof(line), "<%d>%s %.200s[%d]: %s",
                  8 * syslog_daemon.facility + severities[level], moment, syslog_daemon.ident,
                  (int)getpid(), text));
}

static void tell_journald(int level, const char *text)
{
    char line[LINE_MAX_BYTES];

    tell(&journald.address, line,
         snprintf(line, sizeof(line),
                  "MESSAGE=%s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=%.200s\nSYSLOG_PID=%d\n"
                  "DUEQ_VERSION=" DUEQ_VERSION "\n",
                  text, severities[level], journald.ident, (int)getpid()));
}

void log_daemons_tell(int level, const char *text, time_t now)
{
    if (syslog_daemon.ident != NULL)
        tell_syslog(level, text, now);
    if (journald.ident != NULL)
        tell_journald(level, text);
}
