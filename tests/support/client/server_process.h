/* The real server as a child process, on a free port of 127.0.0.1 and a directory of its own.
 * The binary is DUEQ_BINARY, or build/dueq.
 *
 * An error fails the running test and prints the end of the server's log.
 * server_process_cleanup kills every server and removes its directory. It also runs when the
 * test program ends (the kernel kills the servers if the program is killed), so a test needs no
 * clean-up of its own. */
#ifndef DUEQ_SERVER_PROCESS_H
#define DUEQ_SERVER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SERVER_SETTINGS_MAX = 24 };

struct server_setting {
    char *name, *value; /* NULL: unused */
};

struct server_process {
    pid_t pid; /* 0: not running */
    int port;
    char *directory;  /* holds data/, log and what the test puts there */
    char *data;       /* --dir */
    char *log;        /* standard output and error of every run */
    char *unixsocket; /* path for a socket, for tests that want one */
    struct server_setting options[SERVER_SETTINGS_MAX];     /* --name value */
    struct server_setting environment[SERVER_SETTINGS_MAX]; /* NAME=value */
    struct server_process *next;                            /* all that exist */
};

/* Makes a server that does not run yet, with small files (1 MiB segments), so that tests
 * include checkpoints and recycled segments. */
struct server_process *server_process_new(void);

/* Sets an option for the next run; replaces an earlier value of that name. value may contain
 * several words. */
void server_process_option(struct server_process *server, const char *name, const char *value);
void server_process_environment(struct server_process *server, const char *name,
                                const char *value);

/* Starts the server and returns when its data is loaded. It may have run before. */
void server_process_run(struct server_process *server);

/* Starts the server and does not wait. */
void server_process_launch(struct server_process *server);

/* server_process_new + run with options as text: "maxclients 3, durability none", or "". */
struct server_process *server_process_start(const char *options);

/* SIGTERM; the exit status must be 0. */
void server_process_stop(struct server_process *server);
/* SIGKILL. */
void server_process_kill(struct server_process *server);
/* Waits for a server that ends by itself; its exit status (128 + signal when killed). */
int server_process_wait(struct server_process *server);
/* `dueq check` finds no fault in the directory of a server that does not run. */
void server_process_check(const struct server_process *server);
/* True while it runs; reaps it when it has ended. */
bool server_process_alive(struct server_process *server);

/* The path of a file in the server's directory; the caller frees it. */
char *server_process_path(const struct server_process *server, const char *name);

/* The log so far; the caller frees it. */
char *server_process_log(const struct server_process *server);

/* Kills and forgets all servers; for cmocka teardowns and loops. */
void server_process_cleanup(void);

/* Prints the end of the logs of all servers, for a failing test. */
void server_process_explain(void);

/* A port of 127.0.0.1 that is free at this moment. */
int free_port(void);
/* Sets the option to such a port for the next run, and returns it. */
int server_process_port(struct server_process *server, const char *option);

const char *server_binary(void);
/* Does it run in an emulator of another processor (DUEQ_EMULATED, of `make check-cross`)? Then
 * its process in /proc is the emulator's, and it has no filter of system calls. */
bool server_is_emulated(void);
/* Can it start a program, as an upgrade does? Not in a sandbox (DUEQ_SANDBOX), and not
 * emulated: this machine's system would be asked to run the other processor's program. */
bool server_starts_programs(void);

/* Runs a shell command (a printf format) and writes its standard output and error to ret_output
 * (at most `size` bytes, NUL-terminated). Returns the exit status. */
int run_shell(char *ret_output, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The output has this text. */
void expect_said(const char *output, const char *text);

#endif
