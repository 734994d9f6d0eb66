/* Members chosen by chance: the whole of SRANDMEMBER, HRANDFIELD and ZRANDMEMBER. With a
 * negative count, which may be a billion, each is chosen from all that are there when it is
 * written, as the client reads; once the key is gone, from what was there at first. A positive
 * one gets as many that differ: few of many are picked, more are taken by a walk over all. */
#ifndef DUEQ_PICKS_H
#define DUEQ_PICKS_H

#include "server/commands/long_reads.h"

struct picks_type {
    enum keys_type type;
    enum long_source source;
    /* The word behind the count that asks for what belongs to each as well; NULL: none. */
    const char *option;
    /* Writes one of all. DUEQ_NOTFOUND: there is no such key any more. */
    enum dueq_status (*write_any)(struct context *context, struct resp_writer *writer);
    /* Writes this one. */
    void (*write)(struct context *context, struct resp_writer *writer,
                  const struct long_element *element);
};

enum outcome picks_run(struct context *context, const struct picks_type *type);

/* For both: is the option given? */
bool picks_with_option(const struct context *context);

#endif
