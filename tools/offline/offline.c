#include "tools/offline/offline.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool has_format(const char *dir)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/FORMAT", dir) >= (int)sizeof(path))
        errno = ENAMETOOLONG;
    else if (access(path, F_OK) == 0)
        return true;
    return false;
}

/* A start makes a store where there is none. A check must not: the new one would be sound. */
static bool is_wanted(const char *dir, bool is_new)
{
    if (has_format(dir) != is_new)
        return true;
    if (is_new)
        fprintf(stderr, "dueq: %s holds a store already\n", dir);
    else
        fprintf(stderr, "dueq: %s holds no store: FORMAT: %s\n", dir, strerror(errno));
    return false;
}

struct dueq_time offline_time(void)
{
    int64_t now = (int64_t)time(NULL) * 1000;

    return (struct dueq_time){now, now, now};
}

int offline_open(const char *dir, bool is_new, const struct dueq_options *options,
                 struct dueq_time time, struct dueq **ret_store)
{
    struct dueq_error error = {""};
    enum dueq_status status;

    if (!is_wanted(dir, is_new))
        return OFFLINE_FAILED;
    status = dueq_open(dir, options, time, ret_store, &error);
    if (status == DUEQ_OK)
        return OFFLINE_DONE;
    fprintf(stderr, "dueq: %s\n", error.text);
    return status == DUEQ_CORRUPT ? OFFLINE_DAMAGED : OFFLINE_FAILED;
}

const char *offline_reason(const struct dueq *store, enum dueq_status status)
{
    return dueq_damage(store)[0] == '\0' ? dueq_status_text(status) : dueq_damage(store);
}

void offline_show(const char *what, unsigned long long records)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (records == 0)
        fputs("\r\033[K", stderr);
    else
        fprintf(stderr, "\r%s: %llu records", what, records);
}
