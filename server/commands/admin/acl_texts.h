/* ACL LIST and ACL SAVE: the lines of all users, some in a turn. */
#ifndef DUEQ_ACL_TEXTS_H
#define DUEQ_ACL_TEXTS_H

#include "server/dispatch/context.h"

enum outcome run_acl_list(struct context *context);
/* aclfile is set. Within EXEC the whole at once. */
enum outcome run_acl_save_file(struct context *context);

#endif
