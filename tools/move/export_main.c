/* `dueq export`: what a dueq that runs has, as lines of JSON, or its keys into a Redis. */
#include "server/subcommands.h"
#include "tools/move/lines.h"
#include "tools/move/move_arguments.h"
#include "tools/move/move_json.h"

#include <stdio.h>
#include <string.h>

const char export_usage[] =
    "Usage: dueq export - [OPTIONS]\n"
    "       dueq export redis://[[USER:]PASSWORD@]HOST[:PORT][/DB] [--layout NAME] [OPTIONS]\n"
    "\n"
    "Writes the jobs and keys of a dueq that runs to standard output, as lines of JSON that\n"
    "`dueq import FILE` reads; or its keys into a Redis that runs; or with --layout its jobs\n"
    "into queues there, as `dueq import --layout` reads them. dueq keeps what it has. Run it\n"
    "again after it was cut off: nothing comes twice.\n"
    "\n"
    "  --topic NAME                only the jobs of this topic, and no keys\n"
    "  --pattern GLOB              only keys that match; with --layout topics\n"
    "  --layout NAME               sidekiq, laravel, celery, zset-hash, zset-list or zset\n"
    "  --prefix TEXT               of a layout: before the name of each key\n"
    "  --names FIRST=SECOND        of zset-hash (*:z=*:h) and zset-list (*:delay=*:ready),\n"
    "                              with * for the topic\n"
    "  --scores s|ms|us|ns         of zset-hash, zset-list and zset: what scores count (s)\n"
    "  --window DURATION           of a layout: how long the Redis remembers which jobs it\n"
    "                              has been given (1d; 0: not after the end)\n"
    "  --replace                   overwrite keys that the Redis has\n"
    "  --dry-run                   of a Redis: count, and change nothing\n"
    "  --verify none|sample|all    of a Redis: what is compared at the end\n"
    "  --json                      of a Redis: the counts as one JSON object; words go to\n"
    "                              standard error\n"
    "  --from HOST:PORT            the dueq (127.0.0.1:6379), or a URL as above\n"
    "  --host NAME --port N --unix PATH --user NAME\n"
    "                              the same in parts, or in DUEQ_HOST, DUEQ_PORT, DUEQ_UNIX,\n"
    "                              DUEQ_USER; its password is in DUEQ_PASSWORD or\n"
    "                              REDISCLI_AUTH\n"
    "  --password-file FILE        or its first line\n"
    "  --tls                       with --cacert FILE, --cert FILE, --key FILE, --insecure\n"
    "\n"
    "Exit status: 0 all of it is there; 1 it was cut off; 2 it was not begun; 3 something "
    "does\n"
    "not move, changed meanwhile, or differs; 4 a server cannot be reached.\n";

static int run(const struct move_arguments *arguments)
{
    struct move move = {.options = NULL};
    int status;

    if (arguments->options.json)
        move_json_begin(&move);
    status = move_open(&move, arguments, false);
    if (status != MOVE_DONE)
        ; /* it is told */
    else if (!arguments->is_url)
        status = lines_export(&move, stdout);
    else if (arguments->options.layout != NULL)
        status = export_jobs(&move);
    else
        status = move_keys(&move);
    move_close(&move);
    move_json_end(&move, status);
    return status;
}

/* NULL: the arguments fit each other. */
static const char *find_fault(const struct move_arguments *arguments)
{
    const struct move_options *options = &arguments->options;
    bool redis = arguments->is_url && arguments->other.kind == PLACE_REDIS;

    if (!redis && strcmp(arguments->place, "-") != 0)
        return "it is - or a redis:// URL";
    if (options->json && !redis)
        return "--json is for a Redis: the lines of - are JSON";
    if (options->layout != NULL)
        return export_jobs_check(options);
    if (options->prefix != NULL || options->scores != NULL)
        return "--prefix and --scores belong to a --layout";
    return redis && options->topic != NULL ? "--topic is for -, and for a --layout" : NULL;
}

int export_main(int argc, char **argv)
{
    struct move_arguments arguments = {.options = {.command = "dueq export"}};
    const char *fault;

    if (argc == 2 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(export_usage, stdout);
        return MOVE_DONE;
    }
    if (!move_arguments_read(&arguments, export_usage, argc, argv))
        return MOVE_NOT_BEGUN;
    fault = find_fault(&arguments);
    if (fault != NULL) {
        fprintf(stderr, "dueq export: %s\n\n%s", fault, export_usage);
        return MOVE_NOT_BEGUN;
    }
    return run(&arguments);
}
