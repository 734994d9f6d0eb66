/* Users from lines: of an ACL file, or of the configuration. */
#ifndef DUEQ_ACL_FILE_H
#define DUEQ_ACL_FILE_H

#include "server/acl/acl.h"

/* The users of a file, in Redis' format: a line "user NAME RULE ..." for each; empty lines are
 * skipped. NULL: nothing of it counts, and `why` gets Redis' text, which names every line that
 * is wrong. O(file). */
struct acl *acl_file_read(const char *path, enum acl_channels channels, struct buffer *why);
/* Writes all users into the file, in one step, when the text reads back. False: errno says why;
 * EILSEQ: acl_file_read would refuse the text, and the file stays. Blocks for two fsync. */
bool acl_file_write(struct acl *acl, const char *path);

/* Defines one user, as a line of the configuration does: words[0] is the name. False: `why`
 * gets Redis' text. */
bool acl_file_define(struct acl *acl, const struct argument *words, size_t count,
                     enum acl_channels channels, struct buffer *why);

#endif
