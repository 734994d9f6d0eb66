/* The files of a data directory, kept in memory, so that a test can damage the directory and
 * put it back. Nothing has them open. A failure fails the running test. */
#ifndef DUEQ_KEPT_FILES_H
#define DUEQ_KEPT_FILES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { KEPT_FILES_MOST = 32 };

struct kept_files {
    const char *dir; /* the caller's */
    struct kept_file {
        char name[PATH_MAX]; /* in the directory: data.mdb, journal/... */
        uint8_t *bytes;
        size_t size;
    } files[KEPT_FILES_MOST];
    size_t count;
};

/* kept: zeroed, or taken before. */
void kept_files_take(struct kept_files *kept, const char *dir);
/* Likewise of an open store, once it has noted in the journal what is durable: without a note
 * the last record may be damaged unnoticed, since it could be one that was cut short. */
void kept_files_take_at_rest(struct kept_files *kept, const char *dir);
/* Removes what is there, and writes the files. */
void kept_files_put_back(const struct kept_files *kept);
void kept_files_release(struct kept_files *kept);

/* NULL: there is no such file. */
struct kept_file *kept_files_find(struct kept_files *kept, const char *name);

#endif
