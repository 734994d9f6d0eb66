/* Signals of subcommands that run for long. */
#include "tools/client/client_call.h"

#include <signal.h>
#include <sys/signalfd.h>

int client_open_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction old;
    sigset_t signals;

    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &old) != 0 || old.sa_handler != SIG_IGN)
            sigaddset(&signals, numbers[i]);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who started us may ignore it: then no child leaves a status */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}
