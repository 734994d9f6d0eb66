/* What the server's COMMAND DOCS says of its commands: for hints, completion and help. */
#ifndef DUEQ_COMMAND_HINTS_H
#define DUEQ_COMMAND_HINTS_H

#include "tools/cli/words.h"

#include "tools/cli/resp3_reply.h"

struct command_hints;

/* From the reply, of RESP2 or RESP3; NULL: there are none. */
struct command_hints *command_hints_new(const redisReply *reply);
void command_hints_free(struct command_hints *hints); /* NULL is fine */

/* The arguments that may still follow on a line, in `room` bytes, as far as they fit. */
void command_hints_show(const struct command_hints *hints, const char *line, size_t size,
                        char *text, size_t room);
/* What the last word of a line, to which it has come, may become: name by name, in the order of
 * the alphabet. */
typedef void (*command_hints_fn)(void *context, const char *name);
void command_hints_complete(const struct command_hints *hints, const char *line, size_t size,
                            command_hints_fn tell, void *context);
/* Prints help on commands with these words, or on a @group. False: there are none. */
bool command_hints_help(const struct command_hints *hints, const struct words *words, int from);

#endif
