#include "tools/terminal/end_signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static const struct {
    int number;
    enum signals_heard means;
} caught[] = {{SIGINT, HEARD_INTERRUPT}, {SIGWINCH, HEARD_RESIZE}, {SIGCONT, HEARD_CONTINUE},
              {SIGTERM, HEARD_END},      {SIGHUP, HEARD_END},      {SIGQUIT, HEARD_END}};
enum { CAUGHT = sizeof(caught) / sizeof(caught[0]) };

static volatile sig_atomic_t heard[HEARD_END + 1], ended_by;

static void hear(int number)
{
    for (int i = 0; i < CAUGHT; i++)
        if (caught[i].number == number)
            heard[caught[i].means] = 1;
    if (number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        ended_by = number;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = hear};

    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i].number, &action, NULL);
}

enum signals_heard signals_take(void)
{
    if (heard[HEARD_END])
        return HEARD_END;
    for (int i = HEARD_INTERRUPT; i < HEARD_END; i++)
        if (heard[i]) {
            heard[i] = 0;
            return (enum signals_heard)i;
        }
    return HEARD_NOTHING;
}

bool signals_are_there(bool urgent)
{
    return heard[HEARD_END] || heard[HEARD_INTERRUPT] ||
           (!urgent && (heard[HEARD_RESIZE] || heard[HEARD_CONTINUE]));
}

int signals_end(void)
{
    return ended_by;
}

int signals_poll(struct pollfd *fds, nfds_t count, int timeout_ms, bool urgent)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    sigset_t block, before;
    int ready = -1;

    sigemptyset(&block);
    for (int i = 0; i < CAUGHT; i++)
        sigaddset(&block, caught[i].number);
    sigprocmask(SIG_BLOCK, &block, &before);
    if (signals_are_there(urgent))
        errno = EINTR;
    else
        ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, &before);
    block = before;
    sigprocmask(SIG_SETMASK, &block, NULL);
    return ready;
}
