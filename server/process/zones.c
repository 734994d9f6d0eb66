#include "server/process/zones.h"

#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 64, TEXT_MAX = PATH_MAX + 8 };

/* The last one is what the library takes when nothing is set. */
static const char files[] = "/usr/share/zoneinfo", system_zone[] = ":/etc/localtime";
static const char magic[] = {'T', 'Z', 'i', 'f'};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The environment keeps `text`, so that a change of zone changes no pointer in it. */
static struct {
    bool begun;
    bool had_own;                  /* TZ was set when the program started ... */
    char own[TEXT_MAX - 3];        /* ... to this */
    char zone[NAME_MAX_BYTES + 1]; /* that is set; empty: that of the process */
    char text[TEXT_MAX];           /* TZ=... */
} state;

static void begin(void)
{
    const char *own = getenv("TZ"); /* NOLINT(concurrency-mt-unsafe): under the lock */

    if (state.begun)
        return;
    state.begun = true;
    state.had_own = own != NULL && strlen(own) < sizeof(state.own);
    if (state.had_own)
        strcpy(state.own, own);
}

static void set(const char *value)
{
    size_t size = strlen(value);

    assert(size < TEXT_MAX - 3);
    memcpy(state.text, "TZ=", 3);
    memcpy(state.text + 3, value, size + 1);
    putenv(state.text); /* NOLINT(concurrency-mt-unsafe): it is there already */
    tzset();
}

static void set_own(void)
{
    if (!state.begun || state.zone[0] == '\0')
        return;
    state.zone[0] = '\0';
    set(state.had_own ? state.own : system_zone);
}

void zones_leave(void)
{
    pthread_mutex_lock(&lock);
    if (state.begun) {
        set_own();
        if (!state.had_own)
            unsetenv("TZ"); /* NOLINT(concurrency-mt-unsafe) */
    }
    pthread_mutex_unlock(&lock);
}

void zones_local(time_t time, struct tm *ret_local)
{
    pthread_mutex_lock(&lock);
    set_own();
    localtime_r(&time, ret_local);
    pthread_mutex_unlock(&lock);
}

/* Names of files below the folder, none of which is hidden. Those with leap seconds count
 * otherwise than the clock does. */
static bool is_name(const char *zone)
{
    size_t size = strlen(zone);

    if (size == 0 || size > NAME_MAX_BYTES || !isalpha((unsigned char)zone[0]) ||
        strncmp(zone, "right/", 6) == 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)zone[i]) && strchr("/_+-", zone[i]) == NULL)
            return false;
    return true;
}

static bool is_zone_file(const char *path)
{
    char head[sizeof(magic)];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool good = file >= 0 && read(file, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                memcmp(head, magic, sizeof(magic)) == 0;

    if (file >= 0)
        close(file);
    return good;
}

static bool set_zone(const char *zone)
{
    const char *folder = getenv("TZDIR"); /* NOLINT(concurrency-mt-unsafe) */
    char value[TEXT_MAX - 3];
    int size = snprintf(value, sizeof(value), ":%s/%s",
                        folder == NULL || *folder == '\0' ? files : folder, zone);

    if (size < 0 || (size_t)size >= sizeof(value) || !is_zone_file(value + 1))
        return false;
    set(value);
    strcpy(state.zone, zone);
    return true;
}

bool zones_offset(void *arg, const char *zone, int64_t time, int32_t *ret_offset)
{
    time_t seconds = (time_t)time;
    struct tm local;
    bool good;

    (void)arg;
    if (!is_name(zone))
        return false;
    pthread_mutex_lock(&lock);
    begin();
    good = strcmp(zone, state.zone) == 0 || set_zone(zone);
    good = good && seconds == time && localtime_r(&seconds, &local) != NULL;
    pthread_mutex_unlock(&lock);
    if (good)
        *ret_offset = (int32_t)local.tm_gmtoff;
    return good;
}
