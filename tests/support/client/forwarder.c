#include "tests/support/client/forwarder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { PATIENCE = 6000 /* times 10 ms */ };

static char output[1 << 20];
static pid_t forwarder;

static const char *find_server(const struct server_process *server)
{
    static char text[600];

    snprintf(text, sizeof(text), "export DUEQ_PORT=%d; [ ! -S %s ] || export DUEQ_UNIX=%s",
             server->port, server->unixsocket, server->unixsocket);
    return text;
}

void forwarder_begin(const struct server_process *server, const char *words)
{
    char line[4096], *binary = realpath(server_binary(), NULL);

    assert_int_equal(forwarder, 0);
    snprintf(line, sizeof(line), "cd %s; %s; exec %s forward %s 2>>forward", server->directory,
             find_server(server), binary, words);
    free(binary);
    forwarder = fork();
    if (forwarder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    assert_true(forwarder > 0);
}

pid_t forwarder_pid(void)
{
    return forwarder;
}

void forwarder_signal(int signal_number)
{
    assert_true(forwarder > 0);
    kill(forwarder, signal_number);
}

int forwarder_end(int signal_number)
{
    int status;

    forwarder_signal(signal_number);
    assert_int_equal(waitpid(forwarder, &status, 0), forwarder);
    forwarder = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void forwarder_cleanup(void)
{
    if (forwarder > 0)
        forwarder_end(SIGKILL);
}

int forwarder_said(const struct server_process *server, const char *text)
{
    char *path = server_process_path(server, "forward");
    FILE *file = fopen(path, "re");
    size_t size = file == NULL ? 0 : fread(output, 1, sizeof(output) - 1, file);
    int count = 0;

    if (file != NULL)
        fclose(file);
    free(path);
    output[size] = '\0';
    for (const char *at = strstr(output, text); at != NULL; at = strstr(at + 1, text))
        count++;
    return count;
}

void forwarder_await(const struct server_process *server, const char *text, int times)
{
    for (int i = 0; i < PATIENCE && forwarder_said(server, text) < times; i++)
        sleep_ms(10);
    if (forwarder_said(server, text) < times)
        fail_msg("\"%s\" was not said %d times: %s", text, times, output);
}

int forwarder_run(const struct server_process *server, const char *words,
                  const char **ret_output)
{
    char *binary = realpath(server_binary(), NULL);
    int status = run_shell(output, sizeof(output), "cd %s; %s; exec %s forward %s",
                           server->directory, find_server(server), binary, words);

    free(binary);
    if (ret_output != NULL)
        *ret_output = output;
    return status;
}

void await_number(redisContext *client, const char *field, int64_t wanted, const char *command)
{
    for (int i = 0; i < PATIENCE && ask_field(client, field, command) != wanted; i++)
        sleep_ms(10);
    assert_int_equal(ask_field(client, field, command), wanted);
}
