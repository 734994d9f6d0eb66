/* `dueq restore`: a data directory as it was at a moment, from a backup and archived
 * segments. */
#include "protocol/number.h"
#include "server/subcommands.h"
#include "storage/recovery.h"
#include "tools/offline/moment.h"
#include "tools/offline/offline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char restore_usage[] =
    "Usage: dueq restore BACKUP DIR [OPTIONS]\n"
    "\n"
    "  BACKUP             a backup, an increment, or the directory of a stopped server\n"
    "  DIR                the directory that is made; it may be there if it is empty\n"
    "\n"
    "  --archive PATH     segments that were written since: an archive-dir, or a journal/ "
    "that\n"
    "                     is left of a server; several times, if need be\n"
    "  --to MOMENT        2026-11-22T18:30:00Z, 2026-11-22T19:30:00.250+01:00, @UNIX-SECONDS,\n"
    "                     or the number (LSN) of the last record; else all there is\n"
    "  --history ID       which store's records, when several went on from one backup\n"
    "\n"
    "Exit status: 0, 1 the backup or a segment is damaged or missing, 2 it could not be "
    "done.\n";

enum { ARCHIVES_MOST = 64 };

struct arguments {
    const char *paths[2];
    const char *archives[ARCHIVES_MOST];
    size_t path_count, archive_count;
    uint64_t lsn, history;
    int64_t time;
};

static bool parse_history(const char *text, uint64_t *ret_history)
{
    char *end;

    *ret_history = strtoull(text, &end, 16);
    return strlen(text) == 16 && *end == '\0' && *ret_history != 0;
}

static bool parse_lsn(const char *text, uint64_t *ret_lsn)
{
    int64_t number;

    if (!number_parse_integer(text, strlen(text), &number) || number < 0)
        return false;
    *ret_lsn = (uint64_t)number;
    return true;
}

/* NULL, or what is wrong with it. */
static const char *take_option(struct arguments *arguments, const char *name, const char *value)
{
    if (strcmp(name, "--archive") == 0) {
        if (arguments->archive_count == ARCHIVES_MOST)
            return "there are too many archives";
        arguments->archives[arguments->archive_count++] = value;
        return NULL;
    }
    if (strcmp(name, "--to") == 0)
        return parse_lsn(value, &arguments->lsn) || moment_parse(value, &arguments->time)
                   ? NULL
                   : "it is no moment: 2026-11-22T18:30:00Z, with the time zone, or a number";
    if (strcmp(name, "--history") == 0)
        return parse_history(value, &arguments->history) ? NULL : "it has 16 digits";
    return "there is no such option";
}

static int fail_usage(const char *what, const char *why)
{
    fprintf(stderr, "dueq restore: %s: %s\n\n%s", what, why, restore_usage);
    return OFFLINE_FAILED;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
    for (int at = 1; at < argc; at++) {
        const char *why;

        if (strncmp(argv[at], "--", 2) != 0) {
            if (arguments->path_count == 2)
                return fail_usage(argv[at], "a backup and a directory are enough");
            arguments->paths[arguments->path_count++] = argv[at];
            continue;
        }
        if (at + 1 == argc)
            return fail_usage(argv[at], "its value is missing");
        why = take_option(arguments, argv[at], argv[at + 1]);
        if (why != NULL)
            return fail_usage(argv[at], why);
        at++;
    }
    return arguments->path_count == 2 ? OFFLINE_DONE
                                      : fail_usage("restore", "say a backup and a directory");
}

static void show_progress(void *arg, uint64_t records)
{
    (void)arg;
    offline_show("restore", records);
}

static void report(const struct dueq_recovery *recovery, const struct arguments *arguments)
{
    char base[MOMENT_TEXT], last[MOMENT_TEXT];

    printf("%s: the backup ends with record %" PRIu64 " (%s)", recovery->dir,
           recovery->base_lsn, moment_format(recovery->base_time, base));
    printf("; with %" PRIu64 " records of %" PRIu64 " segments it ends with record %" PRIu64
           " (%s)\n",
           recovery->records, recovery->segments, recovery->lsn,
           moment_format(recovery->time, last));
    if (arguments->time != INT64_MAX && !recovery->moment_reached)
        printf("no later record was found: what was not archived is not in it\n");
}

static int restore(const struct arguments *arguments)
{
    struct dueq_recovery recovery = {.backup = arguments->paths[0],
                                     .dir = arguments->paths[1],
                                     .archives = arguments->archives,
                                     .archive_count = arguments->archive_count,
                                     .to_lsn = arguments->lsn,
                                     .to_time = arguments->time,
                                     .history = arguments->history,
                                     .on_progress = show_progress};
    struct dueq_error error = {""};
    char base[MOMENT_TEXT], last[MOMENT_TEXT];
    enum dueq_status status = recovery_run(&recovery, &error);

    offline_show("", 0);
    if (status == DUEQ_OK) {
        report(&recovery, arguments);
        return OFFLINE_DONE;
    }
    fprintf(stderr, "dueq: %s\n", error.text);
    if (recovery.base_lsn > 0)
        fprintf(stderr,
                "dueq: the backup ends with record %" PRIu64
                " (%s); a restore can come to record %" PRIu64 " (%s)\n",
                recovery.base_lsn, moment_format(recovery.base_time, base), recovery.lsn,
                moment_format(recovery.time, last));
    return status == DUEQ_CORRUPT ? OFFLINE_DAMAGED : OFFLINE_FAILED;
}

int restore_main(int argc, char **argv)
{
    struct arguments arguments = {.lsn = UINT64_MAX, .time = INT64_MAX};
    int status;

    if (argc == 2 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(restore_usage, stdout);
        return 0;
    }
    status = parse(argc, argv, &arguments);
    return status == OFFLINE_DONE ? restore(&arguments) : status;
}
