/* The keys and topics that a request names: by the key specifications of its command, or, where
 * those cannot say it exactly, by a function of the command. Rights are checked on them. */
#ifndef DUEQ_COMMAND_KEYS_H
#define DUEQ_COMMAND_KEYS_H

#include "server/dispatch/command.h"
#include "server/dispatch/key_specs.h"

/* As key_specs_find. A name that is a pattern over topics has the flag "pattern". */
bool command_keys_find(const struct command *command, const struct request *request,
                       command_key_fn fn, void *arg);
/* As key_specs_find_some; O(keys) where a function of the command finds them. */
bool command_keys_find_some(const struct command *command, const struct request *request,
                            command_key_fn fn, void *arg, struct key_part *part);

#endif
