/* A data directory that is made beside its place and renamed when it is whole, so that no half
 * of it is ever taken for all. */
#ifndef DUEQ_NEW_DIRECTORY_H
#define DUEQ_NEW_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct new_directory {
    const char *command;  /* that makes it, for messages */
    char name[PATH_MAX];  /* where it is to be */
    char path[PATH_MAX];  /* where it is made: NAME.COMMANDing */
    bool replaces;        /* an empty directory: */
    struct stat replaced; /* its owner and mode stay */
};

/* Makes the empty directory path. `dir` is missing or empty. False: it said why. */
bool new_directory_begin(struct new_directory *made, const char *dir, const char *command);
/* Gives it its name, owner and mode, and syncs that; what is in it is synced. False: it said
 * why. */
bool new_directory_put(struct new_directory *made);

#endif
