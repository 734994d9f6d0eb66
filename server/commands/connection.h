/* Parts of the connection commands; their table is in connection.c. */
#ifndef DUEQ_SERVER_COMMANDS_CONNECTION_H
#define DUEQ_SERVER_COMMANDS_CONNECTION_H

#include "server/command.h"

extern const struct command client_commands[]; /* client.c: subcommands of CLIENT */

enum outcome connection_auth(struct context *context); /* login.c */
enum outcome connection_hello(struct context *context);

/* Gives the session a name, "" for none. False: the error is written. */
bool connection_set_name(struct context *context, struct argument name);
/* A name as Redis allows it: printable, without spaces. */
bool connection_name_valid(struct argument name);
/* Replaces an allocated text by a copy; NULL for an empty one. False: out of memory. */
bool connection_set_text(char **text, struct argument given);

#endif
