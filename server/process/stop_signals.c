#include "server/process/stop_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int told_fd = -1;

/* Calls async-signal-safe functions only. */
static void on_signal(int number)
{
    uint64_t one = 1;
    int error = errno;

    if (caught != 0 && number == SIGINT)
        _exit(1);
    caught = number;
    while (write(told_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    errno = error;
}

static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

int stop_signals_open(void)
{
    caught = 0;
    told_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (told_fd >= 0)
        set_handlers(on_signal);
    return told_fd;
}

void stop_signals_close(void)
{
    set_handlers(SIG_DFL);
    if (told_fd >= 0)
        close(told_fd);
    told_fd = -1;
}

void stop_signals_forget(void)
{
    caught = 0;
}

int stop_signals_caught(void)
{
    return caught;
}
