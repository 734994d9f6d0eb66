#include "tests/support/faults/sync_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Several threads sync and rename. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[1000];
static size_t left = SIZE_MAX; /* so many syncs until one fails */

void sync_log_begin(void)
{
    pthread_mutex_lock(&lock);
    calls[0] = '\0';
    left = SIZE_MAX;
    pthread_mutex_unlock(&lock);
}

const char *sync_log_text(void)
{
    return calls;
}

void sync_log_fail(size_t passing)
{
    pthread_mutex_lock(&lock);
    left = passing;
    pthread_mutex_unlock(&lock);
}

static void note(const char *word)
{
    size_t size;

    pthread_mutex_lock(&lock);
    size = strlen(calls);
    snprintf(calls + size, sizeof(calls) - size, " %s", word);
    pthread_mutex_unlock(&lock);
}

/* Is it the turn of this one? */
static bool fails(void)
{
    bool now;

    pthread_mutex_lock(&lock);
    now = left != SIZE_MAX && left-- == 0;
    if (now)
        left = SIZE_MAX;
    pthread_mutex_unlock(&lock);
    return now;
}

/* A call that fails is in the log, too. */
static int sync_with(long call, int fd)
{
    if (fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(call, fd);
}

int fsync(int fd)
{
    char word[64] = "?";
    struct stat found;

    if (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode))
        snprintf(word, sizeof(word), "directory");
    else if (fstat(fd, &found) == 0)
        snprintf(word, sizeof(word), "file:%lld", (long long)found.st_size);
    note(word);
    return sync_with(SYS_fsync, fd);
}

int syncfs(int fd)
{
    note("all");
    return sync_with(SYS_syncfs, fd);
}

int rename(const char *from, const char *to)
{
    note("rename");
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
