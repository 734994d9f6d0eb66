/* What COMMAND and COMMAND DOCS say of a table entry. */
#ifndef DUEQ_COMMAND_DOCS_H
#define DUEQ_COMMAND_DOCS_H

#include "server/dispatch/command.h"

/* The ten elements of COMMAND INFO. */
void command_docs_write_info(struct resp_writer *reply, const struct command *command);

/* Name and documentation map, arguments parsed from the entry's syntax. */
void command_docs_write(struct resp_writer *reply, const struct command *command);

/* ACL categories without the @, in Redis' order; NULL behind the last. */
const char *command_categories_name(size_t index);
bool command_categories_contain(const struct command *command, struct argument category);

#endif
