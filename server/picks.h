/* Members chosen by chance: the whole of SRANDMEMBER, HRANDFIELD and ZRANDMEMBER. With a
 * negative count, which may be a billion, each is chosen from all that are there when it is
 * written, as the client reads; once the key is gone, from what was there at first. */
#ifndef DUEQ_SERVER_PICKS_H
#define DUEQ_SERVER_PICKS_H

#include "server/keyspace.h"

struct picks_type {
    enum keys_type type;
    /* The word behind the count that asks for what belongs to each as well; NULL: none. */
    const char *option;
    /* Writes one of all. DUEQ_NOTFOUND: there is no such key any more. */
    enum dueq_status (*write_any)(struct context *context, struct resp_writer *writer);
    /* Writes the whole reply: `count` that differ, of `size`; 1 <= count <= size. */
    void (*write_distinct)(struct context *context, uint64_t size, uint64_t count);
};

enum outcome picks_run(struct context *context, const struct picks_type *type);

/* For write_any and write_distinct: is the option given? */
bool picks_with_option(const struct context *context);
/* The head of a reply of so many; with the option RESP2 has two elements for each. */
void picks_head(struct context *context, uint64_t count);

#endif
