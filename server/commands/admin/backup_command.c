/* BACKUP: a copy of the running store in a directory of its own. */
#include "server/commands/database.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/process/log.h"
#include "server/server.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 200 };

/* A client gives a name and no path: it must not write where it likes. */
static bool is_name(struct argument argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_.:";
    const size_t end = strlen(DUEQ_BACKUP_PARTIAL);
    const char *name = (const char *)argument.data;

    if (argument.size == 0 || argument.size > NAME_MOST || name[0] == '.')
        return false;
    for (size_t i = 0; i < argument.size; i++)
        if (name[i] == '\0' || strchr(plain, name[i]) == NULL)
            return false;
    return argument.size < end ||
           memcmp(name + argument.size - end, DUEQ_BACKUP_PARTIAL, end) != 0;
}

/* For those that are not an accident of the store. */
static const char *refusal(enum dueq_status status)
{
    switch (status) {
    case DUEQ_BUSY:
        return "ERR a backup is in progress";
    case DUEQ_DUPLICATE:
        return "ERR backup-dir has something of that name already";
    case DUEQ_INVALID:
        return "ERR the path of the backup is too long";
    case DUEQ_WRONGSTATE:
        return "ERR archive-dir is not set: an increment is made of archived segments";
    case DUEQ_NOTFOUND:
        return "ERR backup-dir has no backup of that name to go on from";
    case DUEQ_STALE:
        return "ERR that backup is one of another store, or of one that went on from a copy";
    default:
        return NULL;
    }
}

/* base: NULL, or the path of what an increment goes on from. */
static enum outcome begin(struct context *context, const char *path, const char *base)
{
    enum dueq_status status = base == NULL ? dueq_backup(context->store, path)
                                           : dueq_backup_from(context->store, path, base);

    if (status == DUEQ_OK) {
        log_write(LOG_NOTICE, "%s begins: %s", base == NULL ? "A backup" : "An increment",
                  path);
        resp_simple(context->reply, "Background backup started");
        return OUTCOME_DONE;
    }
    if (refusal(status) == NULL)
        return context_status(context, status);
    resp_error(context->reply, refusal(status));
    return OUTCOME_DONE;
}

static bool path_of(struct context *context, struct argument name, char *path)
{
    return snprintf(path, PATH_MAX, "%s/%.*s", context->server->config.backup_dir,
                    (int)name.size, (const char *)name.data) < PATH_MAX;
}

static const char *check_names(struct context *context)
{
    bool increment = context_count(context) == 4;

    if (context->server->config.backup_dir[0] == '\0')
        return "ERR backup-dir is not set";
    if (increment && !arguments_is(context, 2, "from"))
        return "ERR syntax error";
    if (!is_name(context_argument(context, 1)) ||
        (increment && !is_name(context_argument(context, 3))))
        return "ERR the name of a backup is 1 to 200 letters, digits and "
               "-_.: and does not begin with . or end with .partial";
    return NULL;
}

/* It begins when the turn ends, so it contains what came before it in the pipeline. */
static enum outcome run_backup(struct context *context)
{
    bool increment = context_count(context) == 4;
    const char *wrong =
        context_count(context) != 2 && !increment ? "ERR syntax error" : check_names(context);
    char path[PATH_MAX], base[PATH_MAX];

    if (wrong == NULL && (!path_of(context, context_argument(context, 1), path) ||
                          (increment && !path_of(context, context_argument(context, 3), base))))
        wrong = refusal(DUEQ_INVALID);
    if (wrong == NULL)
        return begin(context, path, increment ? base : NULL);
    resp_error(context->reply, wrong);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "backup",
     .arity = -2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_NO_ASYNC_LOADING,
     .group = "server",
     .since = "1.0.0",
     .summary = "Copies the running store, or what came since a backup, into backup-dir",
     .complexity = "O(1); the copy, in the background, O(N) where N is the size of the store",
     .syntax = "name [FROM base]",
     .run = run_backup},
    {.name = NULL}};

COMMANDS(backup, entries)
