/* `dueq repair`: makes a sound directory of what can be read of a damaged one, and says what
 * could not. */
#include "server/subcommands.h"
#include "storage/salvage.h"
#include "tools/offline/new_directory.h"
#include "tools/offline/offline.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MOST = 1000 /* findings of a kind; a damaged directory may have millions */ };

static void show_finding(void *arg, enum salvage_finding finding, const char *text)
{
    static const char *const kinds[] = {
        [SALVAGE_DAMAGE] = "damaged", [SALVAGE_LOST] = "lost", [SALVAGE_DOUBTFUL] = "in doubt"};
    const struct salvage *salvage = arg;

    if (salvage->findings[finding] > SHOWN_MOST)
        return;
    offline_show("", 0);
    printf("%s: %s\n", kinds[finding], text);
    if (salvage->findings[finding] == SHOWN_MOST)
        printf("%s: what follows is counted only\n", kinds[finding]);
}

static bool show_progress(void *arg, uint64_t records)
{
    (void)arg;
    offline_show("repair", records);
    return true;
}

/* ---- directories */

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *at)
{
    (void)found;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_all(const char *path)
{
    if (nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        fprintf(stderr, "dueq: %s is not needed any more and cannot be removed: %s\n", path,
                strerror(errno));
}

/* Nothing is written into the damaged directory. */
static bool is_beside(const char *from, const struct new_directory *made)
{
    char path[PATH_MAX];
    size_t size;

    if (realpath(from, path) == NULL) {
        fprintf(stderr, "dueq: %s: %s\n", from, strerror(errno));
        return false;
    }
    size = strlen(path);
    if (strncmp(made->path, path, size) != 0 || made->path[size] != '/')
        return true;
    fprintf(stderr, "dueq: repair does not write into the directory that it reads: %s\n", path);
    return false;
}

/* Sets scratch, of PATH_MAX bytes. */
static bool make_scratch(const struct new_directory *made, char *scratch)
{
    if (snprintf(scratch, PATH_MAX, "%s.read", made->path) >= PATH_MAX)
        errno = ENAMETOOLONG;
    else if (mkdir(scratch, 0700) == 0)
        return true;
    if (errno == EEXIST)
        fprintf(stderr, "dueq: %s is left over from another repair: remove it\n", scratch);
    else
        fprintf(stderr, "dueq: repair makes the directory %s: %s\n", scratch, strerror(errno));
    return false;
}

/* ---- the work */

static int report(const char *from, const char *to, const struct salvage *salvage)
{
    const uint64_t *findings = salvage->findings;
    bool sound =
        findings[SALVAGE_DAMAGE] + findings[SALVAGE_LOST] + findings[SALVAGE_DOUBTFUL] == 0;

    offline_show("", 0);
    printf("%s has what could be read of %s: %" PRIu64 " topics, %" PRIu64 " jobs, %" PRIu64
           " keys\n",
           to, from, salvage->topics, salvage->jobs, salvage->keys);
    if (sound)
        printf("%s is not damaged: nothing is lost\n", from);
    else
        printf("places damaged: %" PRIu64 ", lost: %" PRIu64 ", in doubt: %" PRIu64 "\n",
               findings[SALVAGE_DAMAGE], findings[SALVAGE_LOST], findings[SALVAGE_DOUBTFUL]);
    return sound ? OFFLINE_DONE : OFFLINE_DAMAGED;
}

/* True: made->path has the new store. */
static bool repair(const char *from, const char *scratch, struct new_directory *made,
                   struct salvage *salvage, int *ret_result)
{
    struct dueq_error error = {""};
    enum dueq_status status = salvage_store(from, scratch, made->path, salvage, &error);

    offline_show("", 0);
    if (status == DUEQ_OK)
        return true;
    fprintf(stderr, "dueq: %s\n", error.text);
    *ret_result = status == DUEQ_CORRUPT ? OFFLINE_DAMAGED : OFFLINE_FAILED;
    return false;
}

static int repair_into(const char *from, const char *to, struct new_directory *made)
{
    struct salvage salvage = {.on_finding = show_finding, .on_progress = show_progress};
    char scratch[PATH_MAX];
    int result = OFFLINE_FAILED;
    bool repaired;

    if (!is_beside(from, made) || !make_scratch(made, scratch)) {
        rmdir(made->path);
        return OFFLINE_FAILED;
    }
    salvage.arg = &salvage;
    repaired = repair(from, scratch, made, &salvage, &result);
    remove_all(scratch);
    if (!repaired) {
        remove_all(made->path);
        return result;
    }
    if (new_directory_put(made))
        return report(from, to, &salvage);
    fprintf(stderr, "dueq: what was repaired is in %s\n", made->path);
    return OFFLINE_FAILED;
}

int repair_main(const char *from, const char *to)
{
    struct new_directory made;

    return new_directory_begin(&made, to, "repair") ? repair_into(from, to, &made)
                                                    : OFFLINE_FAILED;
}
