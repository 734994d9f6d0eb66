#include "tests/support/client/program_process.h"

#include "tests/support/client/server_process.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { ARGUMENTS_MAX = 30 };

static void run(const char *const *arguments)
{
    char *all[ARGUMENTS_MAX + 2] = {(char *)(uintptr_t)server_binary()};

    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i] != NULL; i++)
        all[i + 1] = (char *)(uintptr_t)arguments[i];
    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
        _exit(126);
    execv(all[0], all);
    _exit(127);
}

pid_t program_begin(const char *const *arguments)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        run(arguments);
    assert_true(pid > 0);
    return pid;
}

int program_end(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
