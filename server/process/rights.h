/* What the process may do to the machine, and others to its data. To be used before there are
 * threads. An error is a sentence for the log, which says what to do. */
#ifndef DUEQ_RIGHTS_H
#define DUEQ_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

struct rights_error {
    char text[512];
};

/* Files are made without any rights for others, whatever umask the process was given. */
void rights_set_umask(void);

/* Refuses a directory in which every user of the machine may write: with a file of their own
 * there they could lose or forge jobs. One that does not exist is made later, for its owner
 * only. */
bool rights_check_directory(const char *dir, struct rights_error *error);

struct rights {
    const char *name; /* of the user, as in the configuration; not owned */
    uid_t user;
    gid_t group;
    bool changes; /* false: the process is that user */
};

/* Looks up "USER" or "USER:GROUP", names or numbers. Only root can become another user. `who`
 * must live as long as *ret_rights, whose `name` has `space` (64 bytes) for it. */
bool rights_find(const char *who, char *space, struct rights *ret_rights,
                 struct rights_error *error);
/* Makes the directory, if it is missing, and gives it and the log (NULL: none) to the user. A
 * log that is no file, like /dev/null, stays whose it is. */
bool rights_hand_over(const struct rights *rights, const char *dir, const char *log,
                      struct rights_error *error);
/* Becomes the user, for good: with its groups, without capabilities, and no program that it
 * starts gets more. */
bool rights_drop(const struct rights *rights, struct rights_error *error);

#endif
