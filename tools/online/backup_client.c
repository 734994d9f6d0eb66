/* `dueq backup`: asks a running server for a backup, and waits for its end. */
#include "server/subcommands.h"
#include "tools/online/online_advice.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    DONE = 0,
    FAILED = 1, /* or refused */
    USAGE = 2,
    UNREACHABLE = 4,
    ASK_MS = 100
};

const char backup_usage[] =
    "Usage: dueq backup NAME [OPTIONS]\n"
    "\n"
    "Asks a running server for a backup in its backup-dir, waits for it, and tells whether it "
    "is\n"
    "complete. The server has read and checked all of it then. NAME may be a path, if its\n"
    "directory is the server's backup-dir.\n"
    "\n"
    "  --from NAME                 only what came since that backup or increment\n"
    "  --host NAME --port N        where the server is (127.0.0.1, 6379)\n"
    "  --unix PATH                 its unix socket\n"
    "  --user NAME                 who logs in; the password is that in DUEQ_PASSWORD or\n"
    "                              REDISCLI_AUTH, or the first line of --password-file FILE\n"
    "  --tls                       with --cacert FILE, --cert FILE, --key FILE, and "
    "--insecure:\n"
    "                              whatever certificate the server has\n"
    "  --json                      how it ended as one JSON object; why it was not begun goes "
    "to\n"
    "                              standard error\n"
    "\n"
    "Exit status: 0 it is complete; 1 it has failed, or the server has refused it; 2 the\n"
    "command line is wrong; 4 the server cannot be reached, or the connection was lost.\n";

struct arguments {
    struct online_options where;
    const char *name, *from;
    bool json;
};

/* ---- arguments */

static bool take_flag(struct arguments *arguments, const char *name)
{
    if (strcmp(name, "--json") != 0)
        return online_take_flag(&arguments->where, name + 2);
    arguments->json = true;
    return true;
}

static bool take_value(struct arguments *arguments, const char *name, const char *value)
{
    if (strcmp(name, "--from") != 0)
        return online_take_text(&arguments->where, name + 2, value);
    arguments->from = value;
    return true;
}

static int fail_usage(const char *what, const char *why)
{
    fprintf(stderr, "dueq backup: %s: %s\n\n%s", what, why, backup_usage);
    return USAGE;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
    for (int at = 1; at < argc; at++) {
        if (strncmp(argv[at], "--", 2) != 0) {
            if (arguments->name != NULL)
                return fail_usage(argv[at], "one name is enough");
            arguments->name = argv[at];
        } else if (!take_flag(arguments, argv[at])) {
            if (at + 1 == argc)
                return fail_usage(argv[at], "its value is missing, or there is no such option");
            if (!take_value(arguments, argv[at], argv[at + 1]))
                return fail_usage(argv[at], "there is no such option");
            at++;
        }
    }
    return arguments->name != NULL ? DONE : fail_usage("backup", "say its name");
}

/* ---- talking to the server */

struct state {
    bool running;
    uint64_t done, failed, copied, bytes, lsn, usec;
    char status[128];
};

/* Copies the value of a line of INFO. */
static bool find_field(const char *info, const char *name, char *value, size_t size)
{
    const char *at = info;
    size_t length = strlen(name);

    while (at != NULL && (strncmp(at, name, length) != 0 || at[length] != ':')) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL)
        return false;
    snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, "\r\n"), at + length + 1);
    return true;
}

static uint64_t number_in(const char *info, const char *name)
{
    char value[32];

    return find_field(info, name, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

static bool read_state(struct online_client *client, struct state *ret_state, char *why)
{
    const char *arguments[] = {"INFO", "journal"};
    redisReply *reply = online_ask(client, 2, arguments, why);
    const char *info = reply == NULL ? "" : reply->str;
    char running[8];
    bool read = reply != NULL && reply->type == REDIS_REPLY_STRING &&
                find_field(info, "backup_in_progress", running, sizeof(running));

    if (read) {
        *ret_state = (struct state){.running = running[0] == '1',
                                    .done = number_in(info, "backups"),
                                    .failed = number_in(info, "backup_failures"),
                                    .copied = number_in(info, "backup_copied_bytes"),
                                    .bytes = number_in(info, "backup_last_bytes"),
                                    .lsn = number_in(info, "backup_last_lsn"),
                                    .usec = number_in(info, "backup_last_usec")};
        find_field(info, "backup_last_status", ret_state->status, sizeof(ret_state->status));
    } else if (reply != NULL) {
        snprintf(why, ONLINE_WHY, "%.200s",
                 reply->type == REDIS_REPLY_ERROR ? reply->str : "the store is not open");
    }
    if (reply != NULL)
        freeReplyObject(reply);
    return read;
}

/* Is a path in the directory in which the server makes backups? */
static bool is_in_backup_dir(struct online_client *client, const char *path, size_t size,
                             char *why)
{
    const char *arguments[] = {"CONFIG", "GET", "backup-dir"};
    redisReply *reply = online_ask(client, 3, arguments, why);
    char here[4096], there[4096];
    bool same = false;

    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        snprintf(here, sizeof(here), "%.*s/.", (int)size, path);
        snprintf(there, sizeof(there), "%s/.", reply->element[1]->str);
        same = strcmp(here, there) == 0;
        snprintf(why, ONLINE_WHY, "the server makes backups in %.180s", reply->element[1]->str);
    } else if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        snprintf(why, ONLINE_WHY, "%.200s", reply->str);
    }
    if (reply != NULL)
        freeReplyObject(reply);
    return same;
}

/* The name of a backup as the server knows it. NULL: *why. */
static const char *plain_name(struct online_client *client, const char *name, char *why)
{
    const char *slash = strrchr(name, '/');

    if (slash == NULL)
        return name;
    return is_in_backup_dir(client, name, (size_t)(slash - name), why) ? slash + 1 : NULL;
}

static bool begin(struct online_client *client, const struct arguments *arguments, char *why)
{
    const char *name = plain_name(client, arguments->name, why), *from = arguments->from;
    const char *words[] = {"BACKUP", name, "FROM", from};
    redisReply *reply;
    bool begun;

    if (name == NULL)
        return false;
    if (from != NULL)
        words[3] = plain_name(client, from, why);
    if (from != NULL && words[3] == NULL)
        return false;
    reply = online_ask(client, from == NULL ? 2 : 4, words, why);
    if (reply == NULL)
        return false;
    begun = reply->type != REDIS_REPLY_ERROR;
    if (!begun)
        snprintf(why, ONLINE_WHY, "%.200s", reply->str);
    freeReplyObject(reply);
    return begun;
}

/* ---- waiting */

static void show(const struct state *state)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (state == NULL)
        fputs("\r\033[K", stderr);
    else
        fprintf(stderr, "\rbackup: %" PRIu64 " MB copied", state->copied >> 20);
}

/* A name that is no UTF-8 no server takes. */
static int print_json(json_t *object)
{
    bool printed = object != NULL && json_dumpf(object, stdout, JSON_COMPACT) == 0 &&
                   putchar('\n') != EOF && fflush(stdout) == 0;

    json_decref(object);
    return printed ? DONE : FAILED;
}

static int say_done(const struct arguments *arguments, const struct state *state)
{
    if (arguments->json)
        return print_json(json_pack("{s:s, s:b, s:I, s:I, s:I}", "name", arguments->name,
                                    "complete", 1, "bytes", (json_int_t)state->bytes, "lsn",
                                    (json_int_t)state->lsn, "ms",
                                    (json_int_t)(state->usec / 1000)));
    printf("%s is complete and checked: %" PRIu64 " bytes, up to record %" PRIu64
           ", in %" PRIu64 " ms\n",
           arguments->name, state->bytes, state->lsn, state->usec / 1000);
    return DONE;
}

static void say_failed(const struct arguments *arguments, const char *why)
{
    if (arguments->json)
        print_json(
            json_pack("{s:s, s:b, s:s}", "name", arguments->name, "complete", 0, "error", why));
}

static int await_end(struct online_client *client, const struct arguments *arguments,
                     const struct state *before, char *why)
{
    const struct timespec pause = {0, ASK_MS * 1000000L};
    struct state state;

    do {
        nanosleep(&pause, NULL);
        if (!read_state(client, &state, why))
            return FAILED;
        show(&state);
    } while (state.running);
    show(NULL);
    if (state.done == before->done + 1)
        return say_done(arguments, &state);
    if (state.failed == before->failed + 1)
        snprintf(why, ONLINE_WHY, "the backup has failed: %s", state.status);
    else
        snprintf(why, ONLINE_WHY, "the server's store was opened anew: the backup is given up");
    return FAILED;
}

static void tell(const char *why)
{
    const char *advice = online_advice(why);

    fprintf(stderr, "dueq backup: %s\n", why);
    if (advice != NULL)
        fprintf(stderr, "%s\n", advice);
}

static int tell_no_connection(const struct online_options *where, const char *why)
{
    enum online_blame blame = online_blame(why);

    tell(why);
    if (blame == ONLINE_UNREACHABLE)
        fputs(online_where_to_look(where), stderr);
    return blame == ONLINE_MISUSED ? USAGE : blame == ONLINE_REFUSED ? FAILED : UNREACHABLE;
}

static int run(const struct arguments *arguments)
{
    char why[ONLINE_WHY] = "";
    struct online_client *client = online_connect(&arguments->where, why);
    struct state before;
    int status = FAILED;
    bool lost;

    if (client == NULL)
        return tell_no_connection(&arguments->where, why);
    if (read_state(client, &before, why) && begin(client, arguments, why)) {
        status = await_end(client, arguments, &before, why);
        if (status != DONE)
            say_failed(arguments, why);
    }
    lost = online_is_lost(client);
    online_close(client);
    if (status == DONE)
        return DONE;
    tell(why);
    if (lost)
        fputs("Nobody knows how far it came: backup_last_status in INFO journal says it.\n",
              stderr);
    return lost ? UNREACHABLE : FAILED;
}

int backup_main(int argc, char **argv)
{
    struct arguments arguments = {.name = NULL};
    int status;

    online_take_environment(&arguments.where);
    if (argc == 2 && (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) {
        fputs(backup_usage, stdout);
        return DONE;
    }
    status = parse(argc, argv, &arguments);
    return status == DONE ? run(&arguments) : status;
}
