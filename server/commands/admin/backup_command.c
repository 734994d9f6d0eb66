/* BACKUP: a copy of the running store in a directory of its own. */
#include "server/commands/database.h"
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
    default:
        return NULL;
    }
}

static enum outcome begin(struct context *context, const char *path)
{
    enum dueq_status status = dueq_backup(context->store, path);

    if (status == DUEQ_OK) {
        log_write(LOG_NOTICE, "A backup begins: %s", path);
        resp_simple(context->reply, "Background backup started");
        return OUTCOME_DONE;
    }
    if (refusal(status) == NULL)
        return context_status(context, status);
    resp_error(context->reply, refusal(status));
    return OUTCOME_DONE;
}

/* It begins when the turn ends, so it contains what came before it in the pipeline. */
static enum outcome run_backup(struct context *context)
{
    struct argument name = context_argument(context, 1);
    const char *dir = context->server->config.backup_dir;
    char path[PATH_MAX];

    if (dir[0] == '\0') {
        resp_error(context->reply, "ERR backup-dir is not set");
        return OUTCOME_DONE;
    }
    if (!is_name(name)) {
        resp_error(context->reply, "ERR the name of a backup is 1 to 200 letters, digits and "
                                   "-_.: and does not begin with . or end with .partial");
        return OUTCOME_DONE;
    }
    if (snprintf(path, sizeof(path), "%s/%.*s", dir, (int)name.size, (const char *)name.data) >=
        (int)sizeof(path)) {
        resp_error(context->reply, refusal(DUEQ_INVALID));
        return OUTCOME_DONE;
    }
    return begin(context, path);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "backup",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_NO_ASYNC_LOADING,
     .group = "server",
     .since = "1.0.0",
     .summary = "Copies the running store into a directory of backup-dir",
     .complexity = "O(1); the copy, in the background, O(N) where N is the size of the store",
     .syntax = "name",
     .run = run_backup},
    {.name = NULL}};

COMMANDS(backup, entries)
