#include "tools/offline/offline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT_LEAST = 64 << 10, SEGMENT_MOST = 1 << 30 }; /* of dueq_options */

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
    else if (errno == EACCES)
        fprintf(stderr, "dueq: cannot open %s/FORMAT: %s\n", dir, strerror(errno));
    else
        fprintf(stderr, "dueq: %s holds no store: FORMAT: %s\n", dir, strerror(errno));
    return false;
}

struct dueq_time offline_time(void)
{
    int64_t now = (int64_t)time(NULL) * 1000;

    return (struct dueq_time){now, now, now};
}

/* The size of the smallest segment: larger ones may have one large record each. 0: none. */
static size_t find_segment_size(const char *dir)
{
    char path[PATH_MAX];
    DIR *journal = snprintf(path, sizeof(path), "%s/journal", dir) < (int)sizeof(path)
                       ? opendir(path)
                       : NULL;
    const struct dirent *entry;
    size_t least = 0;

    while (journal != NULL && (entry = readdir(journal)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');
        struct stat found;

        if (end != NULL && strcmp(end, ".seg") == 0 &&
            fstatat(dirfd(journal), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
            found.st_size >= SEGMENT_LEAST && found.st_size <= SEGMENT_MOST &&
            (least == 0 || (size_t)found.st_size < least))
            least = (size_t)found.st_size;
    }
    if (journal != NULL)
        closedir(journal);
    return least;
}

/* What the server of the directory has: it would need its spares anew. */
static void follow_server(const char *dir, struct dueq_options *options)
{
    size_t segment = find_segment_size(dir);

    dueq_options_init(options);
    if (segment > 0)
        options->segment_bytes = segment;
}

int offline_open(const char *dir, bool is_new, const struct dueq_options *options,
                 struct dueq_time time, struct dueq **ret_store)
{
    struct dueq_error error = {""};
    struct dueq_options followed;
    enum dueq_status status;

    if (!is_wanted(dir, is_new))
        return OFFLINE_FAILED;
    if (options == NULL) {
        follow_server(dir, &followed);
        options = &followed;
    }
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
