/* `dueq import`: reads a server that runs into a dueq that runs. */
#include "server/subcommands.h"
#include "tools/move/lines.h"
#include "tools/move/move_arguments.h"
#include "tools/move/move_beanstalk.h"
#include "tools/move/move_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char import_usage[] =
    "Usage: dueq import redis://[[USER:]PASSWORD@]HOST[:PORT][/DB] [OPTIONS]\n"
    "       dueq import beanstalkd://HOST[:PORT] [OPTIONS]\n"
    "       dueq import FILE|- [OPTIONS]\n"
    "\n"
    "Reads a Redis that runs into a dueq that runs: keys as they are, with their expiry, or\n"
    "with --layout its queues into topics. The Redis keeps what it has. Run it again after it\n"
    "was cut off: what is there is left alone.\n"
    "The jobs of a beanstalkd are deleted there once they are here. A file has the lines of\n"
    "`dueq export` or `dueq dump`.\n"
    "rediss:// is TLS, redis+unix:///PATH a unix socket; a password that is not to be seen in\n"
    "the list of processes may be in DUEQ_OTHER_PASSWORD.\n"
    "\n"
    "  --pattern GLOB              only keys that match\n"
    "  --replace                   overwrite keys that dueq has (else they stay as they are)\n"
    "  --layout NAME               auto, or one of sidekiq, laravel, celery, zset-hash,\n"
    "                              zset-list, zset: jobs with their ids and due times\n"
    "  --names FIRST=SECOND        of zset-hash and zset-list, with * for the topic\n"
    "  --topic NAME                all jobs into this one\n"
    "  --window DURATION           an id stays taken that long after its job (1d; 0: not)\n"
    "  --keep                      a beanstalkd keeps its jobs, too\n"
    "  --dry-run                   count, and change nothing\n"
    "  --verify none|sample|all    what is compared at the end: type and size of each key,\n"
    "                              whether it expires, and values of 1,000 keys (sample) or\n"
    "                              of all, but of none that expires; bodies and due times\n"
    "                              of jobs\n"
    "  --json                      the counts as one JSON object; words go to standard error\n"
    "  --to HOST:PORT              the dueq (127.0.0.1:6379), or a URL as above\n"
    "  --host NAME --port N --unix PATH --user NAME\n"
    "                              the same in parts, or in DUEQ_HOST, DUEQ_PORT, DUEQ_UNIX,\n"
    "                              DUEQ_USER; its password is in DUEQ_PASSWORD or\n"
    "                              REDISCLI_AUTH\n"
    "  --password-file FILE        or its first line\n"
    "  --tls                       with --cacert FILE, --cert FILE, --key FILE, --insecure\n"
    "\n"
    "Exit status: 0 all of it is there; 1 it was cut off: run it again; 2 it was not begun;\n"
    "3 something does not move, changed meanwhile, or differs; 4 a server cannot be reached.\n";

static int import_lines(struct move *move, const char *path)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    int status;

    if (in == NULL) {
        fprintf(stderr, "dueq import: %s: %s\n", path, strerror(errno));
        return MOVE_NOT_BEGUN;
    }
    status = lines_import(move, in);
    if (in != stdin)
        fclose(in);
    return status;
}

static int run(const struct move_arguments *arguments)
{
    struct move move = {.options = NULL};
    int status;

    if (arguments->options.json)
        move_json_begin(&move);
    status = move_open(&move, arguments, true);
    if (status != MOVE_DONE)
        ; /* it is told */
    else if (!arguments->is_url)
        status = import_lines(&move, arguments->place);
    else if (arguments->other.kind == PLACE_BEANSTALKD)
        status = move_beanstalk(&move, &arguments->other);
    else if (arguments->options.layout != NULL)
        status = move_jobs(&move);
    else
        status = move_keys(&move);
    move_close(&move);
    move_json_end(&move, status);
    return status;
}

int import_main(int argc, char **argv)
{
    struct move_arguments arguments = {.options = {.command = "dueq import"}};

    if (argc == 2 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(import_usage, stdout);
        return MOVE_DONE;
    }
    if (!move_arguments_read(&arguments, import_usage, argc, argv))
        return MOVE_NOT_BEGUN;
    if (arguments.options.prefix != NULL || arguments.options.scores != NULL) {
        fprintf(stderr, "dueq import: --prefix and --scores are for `dueq export --layout`\n");
        return MOVE_NOT_BEGUN;
    }
    return run(&arguments);
}
