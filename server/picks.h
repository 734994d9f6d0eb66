/* Members chosen by chance with replacement: SRANDMEMBER, HRANDFIELD and ZRANDMEMBER with a
 * negative count, which may be a billion. They are written as the client reads them, each
 * chosen from what is there then; once the key is gone, from what was there at first. */
#ifndef DUEQ_SERVER_PICKS_H
#define DUEQ_SERVER_PICKS_H

#include "server/command.h"

/* Writes one; false: there is no such key any more. */
typedef bool (*pick_fn)(struct context *context, struct resp_writer *writer);

/* The reply: `elements` in its header, `count` picks from a key that is there. */
enum outcome picks_write(struct context *context, uint64_t elements, uint64_t count,
                         pick_fn fn);
/* Of a command that runs again; context_state is set. */
enum outcome picks_go_on(struct context *context, pick_fn fn);

#endif
