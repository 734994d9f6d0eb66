/* dueq: the program and its subcommands. */
#include "server/config/config.h"
#include "server/process/handover.h"
#include "server/process/log.h"
#include "server/process/rights.h"
#include "server/server.h"
#include "server/subcommands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: dueq COMMAND ...\n"
    "\n"
    "  dueq server [FILE] [--config FILE] [--port N] [--dir PATH] [--OPTION VALUE ...]\n"
    "  dueq check-config ...              would a server start with these arguments?\n"
    "  dueq bench push|claim|work ...     load on a running server\n"
    "  dueq check DIR                     is the data directory of a stopped server sound?\n"
    "  dueq dump DIR                      all of it as lines of JSON, to standard output\n"
    "  dueq load DIR                      a new directory, from such lines\n"
    "  dueq backup NAME [OPTIONS]         of a running server\n"
    "  dueq export -|URL [OPTIONS]        a running one as lines of JSON, or into a Redis\n"
    "  dueq import URL|FILE [OPTIONS]     what another server has, into a running one\n"
    "  dueq repair DIR NEWDIR             a sound directory of what a damaged one still has\n"
    "  dueq restore BACKUP DIR [OPTIONS]  a new directory, as it was then\n"
    "  dueq version\n"
    "  dueq help [COMMAND]                this text; how COMMAND is used\n";

const char *program_usage(void)
{
    return usage;
}

static void print_all(FILE *to)
{
    fputs(usage, to);
    fputs("\nClients of a running server, each with its help:\n\n", to);
    client_print_list(to);
}

static int fail_usage(const char *why, const char *what)
{
    fprintf(stderr, "dueq: %s%s\n\n", why, what);
    print_all(stderr);
    return 2;
}

/* After the fork of a daemon: the daemons of the log see its pid. */
static void use_log(const struct config *config)
{
    log_set_format((enum log_format)config->log_format);
    if (config->syslog_enabled)
        log_to_syslog(config->syslog_ident, (int)config->syslog_facility);
    if (config->journald_enabled)
        log_to_journald(config->syslog_ident);
}

static bool read_config(struct config *config, int argc, char **argv)
{
    struct config_error error;

    config_init(config);
    if (config_read_all(config, argc, argv, &error))
        return true;
    fprintf(stderr, "dueq: %s\n", error.text);
    config_release(config);
    return false;
}

static int start_server(int argc, char **argv)
{
    struct config config;
    int status = 1;

    if (!read_config(&config, argc, argv))
        return 1;
    rights_set_umask();
    if (!log_open(config.logfile, (enum log_level)config.loglevel))
        fprintf(stderr, "dueq: cannot open the log %s: %s\n", config.logfile, strerror(errno));
    else if (config.daemonize && !handover_is_pending() && daemon(1, 0) != 0)
        fprintf(stderr, "dueq: cannot go to the background: %s\n", strerror(errno));
    else {
        use_log(&config);
        status = server_run(&config);
    }
    config_release(&config);
    return status;
}

/* A program that takes the place of another one and cannot gives it back. */
static int run_server(int argc, char **argv)
{
    int status;

    handover_remember(argc, argv);
    handover_open();
    status = start_server(argc - 2, argv + 2);
    if (status != 0 && handover_go_back())
        fprintf(stderr, "dueq: cannot start the program of before: %s\n", strerror(errno));
    return status;
}

static int check_config(int argc, char **argv)
{
    struct config config;
    int status;

    if (!read_config(&config, argc, argv))
        return 1;
    status = server_check(&config);
    config_release(&config);
    if (status == 0)
        puts("dueq " DUEQ_VERSION ": the configuration is good");
    return status;
}

typedef int (*directory_fn)(const char *dir);

/* The subcommand of that name that takes a data directory; NULL: there is none. */
static directory_fn find_offline(const char *command)
{
    static const struct {
        const char *name;
        directory_fn fn;
    } commands[] = {{"check", check_main}, {"dump", dump_main}, {"load", load_main}};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(command, commands[i].name) == 0)
            return commands[i].fn;
    return NULL;
}

static int run_offline(directory_fn fn, int argc, char **argv)
{
    return argc == 3 ? fn(argv[2]) : fail_usage(argv[1], " takes a directory");
}

/* The lines of `usage` that begin with this command. False: there are none. */
static bool print_usage(const char *command)
{
    static const char margin[] = "\n  ", program[] = "dueq ";
    size_t size = strlen(command);
    bool found = false;

    for (const char *at = strstr(usage, margin); at != NULL; at = strstr(at + 1, margin)) {
        const char *line = at + strlen(margin), *name = line + strlen(program);

        if (strncmp(name, command, size) == 0 && strchr(" \n", name[size]) != NULL) {
            printf("Usage: %.*s\n", (int)strcspn(line, "\n"), line);
            found = true;
        }
    }
    return found;
}

typedef int (*main_fn)(int argc, char **argv);

/* The subcommand of that name that reads its own arguments, of which `help` is one; NULL: there
 * is none. */
static main_fn find_main(const char *command)
{
    static const struct {
        const char *name;
        main_fn fn;
    } commands[] = {{"backup", backup_main},
                    {"bench", bench_main},
                    {"export", export_main},
                    {"import", import_main},
                    {"restore", restore_main}};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(command, commands[i].name) == 0)
            return commands[i].fn;
    if (strcmp(command, "complete") == 0)
        return complete_main;
    return client_has(command) ? client_main : NULL;
}

static int print_help_on(char *command)
{
    static char help[] = "help";

    if (client_help(command))
        return 0;
    if (find_main(command) != NULL)
        return find_main(command)(2, (char *[]){command, help, NULL});
    if (!print_usage(command))
        return fail_usage("unknown command: ", command);
    if (strcmp(command, "server") == 0) {
        puts("\nOptions, here or one a line in FILE (name value):\n");
        config_print_options();
    }
    puts("\nMore: man dueq");
    return 0;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Else a socket or an event would get the number of a standard descriptor that is closed, and
 * messages would be written into it. What takes its place fails like a closed one. */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    static char none[] = "";
    char *command = argc > 1 ? argv[1] : none;

    occupy_standard_descriptors();
    if (argc > 2 && (strcmp(command, "help") == 0 || strcmp(argv[2], "--help") == 0 ||
                     (argc == 3 && asks_for_help(argv[2])))) /* -h NAME: a host */
        return print_help_on(strcmp(command, "help") == 0 ? argv[2] : command);
    if (strcmp(command, "server") == 0)
        return run_server(argc, argv);
    if (strcmp(command, "check-config") == 0)
        return check_config(argc - 2, argv + 2);
    if (find_offline(command) != NULL)
        return run_offline(find_offline(command), argc, argv);
    if (strcmp(command, "repair") == 0)
        return argc == 4 ? repair_main(argv[2], argv[3])
                         : fail_usage(command, " takes two directories");
    if (find_main(command) != NULL)
        return find_main(command)(argc - 1, argv + 1);
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0 ||
        strcmp(command, "-v") == 0) {
        puts("dueq " DUEQ_VERSION);
        return 0;
    }
    if (strcmp(command, "help") == 0 || asks_for_help(command)) {
        print_all(stdout);
        return 0;
    }
    return fail_usage(argc > 1 ? "unknown command: " : "which command?", command);
}
