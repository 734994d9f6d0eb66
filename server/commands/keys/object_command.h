/* DEBUG OBJECT, which says what OBJECT does and more. */
#ifndef DUEQ_OBJECT_COMMAND_H
#define DUEQ_OBJECT_COMMAND_H

#include "server/dispatch/command.h"

enum outcome reply_debug_object(struct context *context);

#endif
