/* The keys and topics that a request names: by the key specifications of its command, or, where
 * those cannot say it exactly, by a function of the command. Rights are checked on them. */
#ifndef DUEQ_COMMAND_KEYS_H
#define DUEQ_COMMAND_KEYS_H

#include "server/dispatch/command.h"

/* As key_specs_find. A name that is a pattern over topics has the flag "pattern". */
bool command_keys_find(const struct command *command, const struct request *request,
                       command_key_fn fn, void *arg);

#endif
