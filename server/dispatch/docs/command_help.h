/* HELP of a container such as CLIENT, from the table of commands. */
#ifndef DUEQ_COMMAND_HELP_H
#define DUEQ_COMMAND_HELP_H

#include "server/dispatch/context.h"

/* The handler of every subcommand `help`: replies the forms and summaries of its container's
 * other subcommands. O(subcommands). */
enum outcome run_container_help(struct context *context);

#endif
