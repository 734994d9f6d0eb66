/* DEBUG OBJECT, which shares its values with OBJECT. */
#ifndef DUEQ_OBJECT_COMMAND_H
#define DUEQ_OBJECT_COMMAND_H

#include "server/dispatch/command.h"

/* Replies for the key at argument 2, or the error. */
enum outcome reply_debug_object(struct context *context);

#endif
