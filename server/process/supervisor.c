#include "server/process/supervisor.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCKETS_MOST = 64, NAMES_SIZE = 1024 };

static char socket_names[NAMES_SIZE]; /* separated by colons */

static struct {
    struct sockaddr_un address;
    socklen_t address_size; /* 0: nobody listens */
    int64_t interval;       /* ms between signs of life; 0: nobody wants any */
    int64_t next;
} supervisor;

static void read_address(const char *path)
{
    struct sockaddr_un *address = &supervisor.address;
    size_t length = path == NULL ? 0 : strlen(path);

    supervisor.address_size = 0;
    if (length < 2 || length >= sizeof(address->sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    if (path[0] == '@') /* an abstract name: it has no file */
        address->sun_path[0] = '\0';
    supervisor.address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* WATCHDOG_PID, if it is set, says which process is meant. */
static void read_watchdog(const char *usec, const char *pid)
{
    supervisor.interval = supervisor.next = 0;
    if (usec == NULL || (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid()))
        return;
    supervisor.interval = strtoll(usec, NULL, 10) / 2000;
    if (supervisor.interval <= 0)
        supervisor.interval = strtoll(usec, NULL, 10) > 0;
}

void supervisor_open(void)
{
    read_address(getenv("NOTIFY_SOCKET"));
    read_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
}

static void tell(const char *what, int flags)
{
    int fd;

    if (supervisor.address_size == 0)
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, what, strlen(what), MSG_NOSIGNAL | flags,
                 (const struct sockaddr *)&supervisor.address, supervisor.address_size);
    close(fd);
}

void supervisor_ready(void)
{
    tell("READY=1", 0);
}

void supervisor_stopping(void)
{
    tell("STOPPING=1", MSG_DONTWAIT);
}

void supervisor_reloading(int64_t monotonic_usec)
{
    char text[80];

    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)monotonic_usec);
    tell(text, 0);
}

void supervisor_alive(int64_t now)
{
    if (supervisor.interval == 0 || now < supervisor.next)
        return;
    supervisor.next = now + supervisor.interval;
    tell("WATCHDOG=1", MSG_DONTWAIT);
}

int64_t supervisor_next(int64_t now)
{
    if (supervisor.interval == 0)
        return INT64_MAX;
    return supervisor.next > now ? supervisor.next - now : 0;
}

int supervisor_sockets(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    long long found = 0;

    if (pid != NULL && count != NULL && strtoll(pid, NULL, 10) == (long long)getpid())
        found = strtoll(count, NULL, 10);
    snprintf(socket_names, sizeof(socket_names), "%s", names == NULL ? "" : names);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (found < 0)
        return 0;
    return found > SOCKETS_MOST ? SOCKETS_MOST : (int)found;
}

const char *supervisor_socket_name(int index)
{
    static char name[NAMES_SIZE];
    const char *at = socket_names;

    while (index > 0 && *at != '\0')
        index -= *at++ == ':';
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ":"), at);
    return name;
}
