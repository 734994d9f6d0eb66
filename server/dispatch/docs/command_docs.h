/* What COMMAND, COMMAND DOCS and ACL CAT say about an entry of the table. */
#ifndef DUEQ_COMMAND_DOCS_H
#define DUEQ_COMMAND_DOCS_H

#include "protocol/resp_writer.h"
#include "server/dispatch/command.h"

/* The ten elements of COMMAND INFO. */
void command_docs_write_info(struct resp_writer *reply, const struct command *command);

/* The name and the map of documentation; the arguments are parsed from the entry's syntax. */
void command_docs_write(struct resp_writer *reply, const struct command *command);

/* ACL categories without the @, in Redis' order; NULL: `index` is after the last. */
const char *command_docs_category(size_t index);
/* False also for an unknown category. */
bool command_docs_in_category(const struct command *command, struct argument category);

#endif
