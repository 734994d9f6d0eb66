#include "server/process/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct rights_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct rights_error *error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return false;
}

void rights_set_umask(void)
{
    mode_t given = umask(S_IRWXG | S_IRWXO);

    umask(given | S_IRWXO);
}

bool rights_check_directory(const char *dir, struct rights_error *error)
{
    struct stat found;

    if (stat(dir, &found) != 0 || !S_ISDIR(found.st_mode) || !(found.st_mode & S_IWOTH))
        return true;
    return fail(error,
                "Every user of this machine may write in the data directory %s (mode %o), and "
                "could lose or forge jobs. Do: chmod o-w %s, or set dir to a directory in it, "
                "which dueq makes for itself",
                dir, (unsigned)(found.st_mode & 07777), dir);
}

/* ---- another user */

/* -1: no number. */
static int64_t number_of(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    return text[0] < '0' || text[0] > '9' || *end != '\0' || number >= UINT32_MAX
               ? -1
               : (int64_t)number;
}

static bool find_user(const char *name, struct rights *rights, struct rights_error *error)
{
    const struct passwd *user = getpwnam(name);
    int64_t number = number_of(name);

    if (user == NULL && number >= 0)
        user = getpwuid((uid_t)number);
    if (user == NULL && number < 0)
        return fail(error, "run-as: there is no user %s", name);
    rights->user = user == NULL ? (uid_t)number : user->pw_uid;
    rights->group = user == NULL ? (gid_t)number : user->pw_gid;
    return true;
}

static bool find_group(const char *name, struct rights *rights, struct rights_error *error)
{
    const struct group *group = getgrnam(name);
    int64_t number = number_of(name);

    if (group == NULL && number < 0)
        return fail(error, "run-as: there is no group %s", name);
    rights->group = group == NULL ? (gid_t)number : group->gr_gid;
    return true;
}

bool rights_find(const char *who, char *space, struct rights *ret_rights,
                 struct rights_error *error)
{
    const char *colon = strchr(who, ':');
    size_t size = colon == NULL ? strlen(who) : (size_t)(colon - who);

    if (size >= 64)
        return fail(error, "run-as: the name is too long");
    memcpy(space, who, size);
    space[size] = '\0';
    *ret_rights = (struct rights){.name = space};
    if (!find_user(space, ret_rights, error) ||
        (colon != NULL && !find_group(colon + 1, ret_rights, error)))
        return false;
    ret_rights->changes = ret_rights->user != geteuid() || ret_rights->group != getegid();
    if (ret_rights->changes && geteuid() != 0)
        return fail(error, "run-as: only root can become %s: start dueq as root, or as %s", who,
                    space);
    return true;
}

/* A link that somebody else put there is not followed. */
static bool give(const char *path, const struct rights *rights, struct rights_error *error)
{
    if (lchown(path, rights->user, rights->group) == 0)
        return true;
    return fail(error, "Cannot give %s to %s: %s", path, rights->name, strerror(errno));
}

/* Nor is what is no file given away: a device, a pipe and a terminal have users of their own.
 */
static bool give_log(const char *path, const struct rights *rights, struct rights_error *error)
{
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat found;
    bool good = fd >= 0 && fstat(fd, &found) == 0 &&
                (!S_ISREG(found.st_mode) ||
                 fchownat(fd, "", rights->user, rights->group, AT_EMPTY_PATH) == 0);

    if (!good)
        fail(error, "Cannot give %s to %s: %s", path, rights->name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

/* What is in a directory that exists is not touched: it may belong to somebody. */
bool rights_hand_over(const struct rights *rights, const char *dir, const char *log,
                      struct rights_error *error)
{
    if (!rights->changes)
        return true;
    if (mkdir(dir, S_IRWXU) == 0 && !give(dir, rights, error))
        return false;
    return log == NULL || give_log(log, rights, error);
}

/* Once more than asked for: the promise is that there is no way back. */
static bool has_dropped(const struct rights *rights)
{
    uid_t user, effective, saved;

    return getresuid(&user, &effective, &saved) == 0 && user == rights->user &&
           effective == rights->user && saved == rights->user && getegid() == rights->group &&
           (rights->user == 0 || setuid(0) != 0);
}

bool rights_drop(const struct rights *rights, struct rights_error *error)
{
    const gid_t group = rights->group;
    int groups;

    if (!rights->changes)
        return true;
    groups =
        getpwnam(rights->name) == NULL ? setgroups(1, &group) : initgroups(rights->name, group);
    if (groups != 0 || setresgid(group, group, group) != 0 ||
        setresuid(rights->user, rights->user, rights->user) != 0 || !has_dropped(rights))
        return fail(error, "Cannot become %s: %s", rights->name, strerror(errno));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* /proc/self stays readable */
    return true;
}
