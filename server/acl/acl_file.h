/* Users from lines: of an ACL file, or of the configuration. */
#ifndef DUEQ_ACL_FILE_H
#define DUEQ_ACL_FILE_H

#include "server/acl/acl.h"

/* The users of a file, in Redis' format: a line "user NAME RULE ..." for each; empty lines are
 * skipped. NULL: nothing of it counts, and `why` gets Redis' text, which names every line that
 * is wrong. O(file). */
struct acl *acl_file_read(const char *path, enum acl_channels channels, struct buffer *why);

/* The same in several steps. NULL: `why` says so, or is empty when there is no memory. */
struct acl_reading;
struct acl_reading *acl_file_open(const char *path, enum acl_channels channels,
                                  struct buffer *why);
/* Reads up to `most` lines, or some 32 KB. True: the file is at its end. */
bool acl_file_read_on(struct acl_reading *reading, size_t most);
/* After that: frees the reading, and returns what acl_file_read does. */
struct acl *acl_file_end(struct acl_reading *reading, struct buffer *why);
void acl_file_abandon(struct acl_reading *reading);

/* The same from what acl_write has written. */
struct acl *acl_file_read_text(const char *text, size_t size, struct buffer *why);

/* Begins a check: would acl_file_read take the text, which is to become that file, and must
 * stay? Then acl_file_read_on and acl_file_end. NULL: no memory. */
struct acl_reading *acl_file_check(const struct buffer *text, const char *path);

/* Defines one user, as a line of the configuration does: words[0] is the name. False: `why`
 * gets Redis' text. */
bool acl_file_define(struct acl *acl, const struct argument *words, size_t count,
                     enum acl_channels channels, struct buffer *why);

#endif
