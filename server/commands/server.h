/* Parts of the server commands; their table is in server.c. */
#ifndef DUEQ_SERVER_COMMANDS_SERVER_H
#define DUEQ_SERVER_COMMANDS_SERVER_H

#include "server/command.h"

extern const struct command config_commands[];  /* config.c: subcommands of CONFIG */
extern const struct command command_commands[]; /* command.c: subcommands of COMMAND */

enum outcome server_run_command(struct context *context); /* command.c: COMMAND alone */

#endif
