/* `dueq export`: what a dueq that runs has, as lines of JSON, or its keys into a Redis. */
#include "server/subcommands.h"
#include "tools/move/lines.h"
#include "tools/move/move_arguments.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: dueq export - [OPTIONS]\n"
    "       dueq export redis://[[USER:]PASSWORD@]HOST[:PORT][/DB] [OPTIONS]\n"
    "\n"
    "Writes the jobs and keys of a dueq that runs to standard output, as lines of JSON that\n"
    "`dueq import FILE` reads; or its keys into a Redis that runs.\n"
    "\n"
    "  --topic NAME                only the jobs of this topic, and no keys\n"
    "  --pattern GLOB              only keys that match\n"
    "  --replace                   overwrite keys that the Redis has\n"
    "  --dry-run                   of a Redis: count, and change nothing\n"
    "  --verify none|sample|all    of a Redis: what is compared at the end\n"
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
    "not move, changed meanwhile, or differs.\n";

static int run(const struct move_arguments *arguments)
{
    struct move move = {.options = NULL};
    int status = MOVE_NOT_BEGUN;

    if (move_open(&move, arguments, false))
        status = arguments->is_url ? move_keys(&move) : lines_export(&move, stdout);
    move_close(&move);
    return status;
}

int export_main(int argc, char **argv)
{
    struct move_arguments arguments = {.options = {.command = "dueq export"}};
    bool redis, lines;

    if (argc == 2 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(usage, stdout);
        return MOVE_DONE;
    }
    if (!move_arguments_read(&arguments, usage, argc, argv))
        return MOVE_NOT_BEGUN;
    redis = arguments.is_url && arguments.other.kind == PLACE_REDIS;
    lines = strcmp(arguments.place, "-") == 0;
    if ((!redis && !lines) || arguments.options.layout != NULL ||
        (redis && arguments.options.topic != NULL)) {
        fprintf(stderr,
                "dueq export: it is - or a redis:// URL, without --layout; --topic is "
                "for -\n\n%s",
                usage);
        return MOVE_NOT_BEGUN;
    }
    return run(&arguments);
}
