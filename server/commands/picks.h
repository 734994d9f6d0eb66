/* SRANDMEMBER, HRANDFIELD and ZRANDMEMBER: random elements of a key.
 *
 * A negative count (up to INT64_MAX elements) may repeat elements. Each is chosen from the key
 * as it is when it is written, while the client reads; once the key is gone, from a sample that
 * was taken at the start. A positive count gives different elements, all of one moment: few of
 * many are picked one by one, more are chosen by one walk over the key, both in slices. */
#ifndef DUEQ_PICKS_H
#define DUEQ_PICKS_H

#include "server/commands/long_read.h"

struct picks_type {
    enum keys_type type;
    enum long_read_source source;
    /* The option after the count that asks for values or scores as well; NULL: none. */
    const char *option;
    /* Writes a random element. DUEQ_NOTFOUND: there is no such key. */
    enum dueq_status (*write_any)(struct context *context, struct resp_writer *writer);
    /* Writes the given element. */
    void (*write)(struct context *context, struct resp_writer *writer,
                  const struct long_read_element *element);
};

/* The whole command; also for its later turns. */
enum outcome picks_run(struct context *context, const struct picks_type *type);

/* Is the option given? For `write_any` and `write`. */
bool picks_with_option(const struct context *context);

#endif
