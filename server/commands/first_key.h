/* The first of several keys that has elements: of LMPOP, BLPOP and their kin. Of thousands of
 * keys some are looked at in each slice; meanwhile the command is alone with the store
 * (server/dispatch/alone.h), so what it finds was so in one moment. */
#ifndef DUEQ_FIRST_KEY_H
#define DUEQ_FIRST_KEY_H

#include "server/commands/database.h"

enum first_key {
    FIRST_KEY_FOUND,
    FIRST_KEY_NONE,  /* a command that blocks then calls waiters_wait_for_keys, in each slice */
    FIRST_KEY_ERROR, /* it is written */
    FIRST_KEY_LATER  /* the command answers OUTCOME_WAIT, and calls again in its next slice */
};

/* `count` arguments from `first` on name the keys; a session that was woken by one of them
 * looks at that only. After FIRST_KEY_FOUND the command may begin a long work. */
enum first_key first_key_find(struct context *context, enum keys_type type, size_t first,
                              size_t count, size_t *ret_key, uint64_t *ret_size);

#endif
