#include "tests/support/client/terminal_process.h"

#include "tests/support/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

enum { PATIENCE_MS = 60000, OUTPUT_MAX = 8 << 20 };

static struct {
    pid_t pid;    /* 0: none */
    int fd, held; /* the terminal; its other end, so that its state outlives the program */
    char *output;
    size_t size, seen;
    struct termios before;
} terminal = {.fd = -1, .held = -1};

static void run(const char *line)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    login_tty(dup(terminal.held)); /* closes what it was given */
    fcntl(terminal.held, F_SETFD, FD_CLOEXEC);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    /* libedit and ncurses never free some of what they allocate: no leaks of ours. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

void terminal_begin(int rows, int columns, const char *format, ...)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    char line[4096];
    va_list arguments;

    terminal_cleanup();
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    terminal.output = calloc(1, OUTPUT_MAX);
    if (terminal.output == NULL ||
        openpty(&terminal.fd, &terminal.held, NULL, NULL, &size) != 0 ||
        tcgetattr(terminal.held, &terminal.before) != 0) /* before the program changes it */
        fail_at(__FILE__, __LINE__, "openpty: %s", strerror(errno));
    fcntl(terminal.fd, F_SETFD, FD_CLOEXEC);
    terminal.pid = fork();
    if (terminal.pid < 0)
        fail_at(__FILE__, __LINE__, "fork: %s", strerror(errno));
    if (terminal.pid == 0)
        run(line);
}

/* Takes what has come. False: nothing came for so long, or nothing will. */
static bool hear(int timeout_ms)
{
    struct pollfd ready = {terminal.fd, POLLIN, 0};
    ssize_t got = 0;

    if (poll(&ready, 1, timeout_ms) > 0)
        got =
            read(terminal.fd, terminal.output + terminal.size, OUTPUT_MAX - 1 - terminal.size);
    if (got <= 0)
        return false;
    terminal.size += (size_t)got;
    terminal.output[terminal.size] = '\0';
    return true;
}

void terminal_type(const char *keys)
{
    if (write(terminal.fd, keys, strlen(keys)) != (ssize_t)strlen(keys))
        fail_at(__FILE__, __LINE__, "cannot type: %s", strerror(errno));
}

void terminal_await(const char *text)
{
    int64_t deadline = unix_ms() + PATIENCE_MS;

    for (;;) {
        char *found = memmem(terminal.output + terminal.seen, terminal.size - terminal.seen,
                             text, strlen(text));

        if (found != NULL) {
            terminal.seen = (size_t)(found - terminal.output) + strlen(text);
            return;
        }
        if (unix_ms() > deadline)
            fail_at(__FILE__, __LINE__, "the terminal does not show \"%s\": %.4000s", text,
                    terminal.output + terminal.seen);
        hear(100);
    }
}

const char *terminal_output(size_t *ret_size)
{
    while (hear(0))
        continue;
    *ret_size = terminal.size;
    return terminal.output;
}

void terminal_resize(int rows, int columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

    ioctl(terminal.fd, TIOCSWINSZ, &size); /* its programs get SIGWINCH */
}

void terminal_signal(int signal_number)
{
    kill(terminal.pid, signal_number);
}

bool terminal_is_restored(void)
{
    struct termios now;
    tcflag_t flags = ICANON | ECHO | ISIG;

    return tcgetattr(terminal.held, &now) == 0 &&
           (now.c_lflag & flags) == (terminal.before.c_lflag & flags);
}

int terminal_end(void)
{
    int64_t deadline = unix_ms() + PATIENCE_MS;
    int status;

    while (waitpid(terminal.pid, &status, WNOHANG) == 0) {
        if (unix_ms() > deadline)
            fail_at(__FILE__, __LINE__, "the program does not end: %.4000s",
                    terminal.output + terminal.seen);
        hear(10);
    }
    terminal.pid = 0;
    while (hear(0))
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void terminal_cleanup(void)
{
    if (terminal.pid > 0) {
        kill(terminal.pid, SIGKILL);
        waitpid(terminal.pid, NULL, 0);
    }
    if (terminal.fd >= 0)
        close(terminal.fd);
    if (terminal.held >= 0)
        close(terminal.held);
    free(terminal.output);
    memset(&terminal, 0, sizeof(terminal));
    terminal.fd = terminal.held = -1;
}
