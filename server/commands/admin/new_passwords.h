/* ACL SETUSER with acl-password-hash argon2id: each rule ">password" becomes a slow hash, which
 * takes tens of ms, on a thread (server/session/hashing.h). Meanwhile the command waits. */
#ifndef DUEQ_NEW_PASSWORDS_H
#define DUEQ_NEW_PASSWORDS_H

#include "server/dispatch/context.h"

/* True: the rules, which are the arguments from `first` on, can be applied. False: the command
 * ends with *ret_outcome: it waits, or the error is written. */
bool new_passwords_are_ready(struct context *context, size_t first, enum outcome *ret_outcome);

/* The rule that takes the place of ">password", the `number`-th of them, in `text`, which has
 * ACL_ARGON_SIZE + 1 bytes. False: there is none, the rule stays. */
bool new_passwords_rule(const struct context *context, size_t number, char *text);

static inline bool new_passwords_is_one(struct dueq_slice rule)
{
    return rule.size > 0 && *(const char *)rule.data == '>';
}

#endif
