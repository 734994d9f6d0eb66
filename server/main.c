/* dueq: the program and its subcommands. */
#include "server/config/config.h"
#include "server/process/log.h"
#include "server/process/rights.h"
#include "server/server.h"
#include "server/subcommands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: dueq COMMAND ...\n"
    "\n"
    "  dueq server [FILE] [--config FILE] [--port N] [--dir PATH] [--OPTION VALUE ...]\n"
    "  dueq bench push|claim [OPTIONS]    load on a running server (dueq bench help)\n"
    "  dueq check DIR                     is the data directory of a stopped server sound?\n"
    "  dueq dump DIR                      all of it as lines of JSON, to standard output\n"
    "  dueq load DIR                      a new directory, from such lines\n"
    "  dueq version\n"
    "  dueq help [server]                 this text; the options of the server\n";

static int fail_usage(const char *why, const char *what)
{
    fprintf(stderr, "dueq: %s%s\n\n%s", why, what, usage);
    return 2;
}

/* An option takes the values up to the next option; "--save ''" has one empty value. */
static int option_values(int argc, char **argv, int at, struct argument *values, int maximum)
{
    int count = 0;

    while (at + count < argc && count < maximum && strncmp(argv[at + count], "--", 2) != 0) {
        values[count] = (struct argument){argv[at + count], strlen(argv[at + count])};
        count++;
    }
    return count;
}

static bool take_option(struct config *config, const char *name, const struct argument *values,
                        size_t count)
{
    struct config_error error;

    if (strcmp(name, "config") == 0) {
        if (count == 1 && config_read_file(config, values[0].data, &error))
            return true;
        fprintf(stderr, "dueq: %s\n", count == 1 ? error.text : "--config takes one file");
        return false;
    }
    if (config_set(config, name, values, count, &error))
        return true;
    fprintf(stderr, "dueq: *** command line: '--%s%s%s': %s\n", name, count > 0 ? " " : "",
            count > 0 ? values[0].data : "", error.text);
    return false;
}

static bool read_arguments(struct config *config, int argc, char **argv)
{
    struct config_error error;
    struct argument values[32];
    int at = 0;

    if (argc > 0 && (strncmp(argv[0], "--", 2) != 0)) {
        if (!config_read_file(config, argv[0], &error)) {
            fprintf(stderr, "dueq: %s\n", error.text);
            return false;
        }
        at = 1;
    }
    while (at < argc) {
        int count = option_values(argc, argv, at + 1, values, 32);

        if (strncmp(argv[at], "--", 2) != 0) {
            fprintf(stderr, "dueq: *** command line: '%s' is not an option\n", argv[at]);
            return false;
        }
        if (!take_option(config, argv[at] + 2, values, (size_t)count))
            return false;
        at += 1 + count;
    }
    return true;
}

/* File and command line come after it, and win. */
static bool read_credentials(struct config *config)
{
    struct config_error error;

    if (config_read_credentials(config, getenv("CREDENTIALS_DIRECTORY"), &error))
        return true;
    fprintf(stderr, "dueq: credentials: %s\n", error.text);
    return false;
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

static int start_server(int argc, char **argv)
{
    struct config config;
    int status = 1;

    config_init(&config);
    if (!read_credentials(&config) || !read_arguments(&config, argc, argv)) {
        config_release(&config);
        return 1;
    }
    rights_set_umask();
    if (!log_open(config.logfile, (enum log_level)config.loglevel))
        fprintf(stderr, "dueq: cannot open the log %s: %s\n", config.logfile, strerror(errno));
    else if (config.daemonize && daemon(1, 0) != 0)
        fprintf(stderr, "dueq: cannot go to the background: %s\n", strerror(errno));
    else {
        use_log(&config);
        status = server_run(&config);
    }
    config_release(&config);
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

static int print_help(int argc, char **argv)
{
    fputs(usage, stdout);
    if (argc > 0 && strcmp(argv[0], "server") == 0) {
        puts("\nOptions, here or one a line in FILE (name value):\n");
        config_print_options();
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";

    if (strcmp(command, "server") == 0)
        return start_server(argc - 2, argv + 2);
    if (find_offline(command) != NULL)
        return run_offline(find_offline(command), argc, argv);
    if (strcmp(command, "bench") == 0)
        return bench_main(argc - 1, argv + 1);
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0 ||
        strcmp(command, "-v") == 0) {
        puts("dueq " DUEQ_VERSION);
        return 0;
    }
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 ||
        strcmp(command, "-h") == 0)
        return print_help(argc - 2, argv + 2);
    return fail_usage(argc > 1 ? "unknown command: " : "which command?", command);
}
