/* The clients that CLIENT LIST prints and CLIENT KILL ends. */
#ifndef DUEQ_CLIENT_FILTER_H
#define DUEQ_CLIENT_FILTER_H

#include "server/containers/gathered.h"
#include "server/dispatch/context.h"
#include "server/session/session.h"

struct client_filter {
    size_t read; /* arguments that are read */
    bool has_ids;
    struct gathered ids;                 /* those that a client has: uint64_t, each once */
    size_t address, local_address, user; /* arguments; 0: any */
    enum {
        FILTER_ANY,
        FILTER_NORMAL,
        FILTER_PUBSUB,
        FILTER_NOTHING /* replicas and masters, which do not exist here */
    } type;
    bool skip_me;
};

/* CLIENT LIST [TYPE t]. The caller releases the filter. False: the error is written. */
bool client_filter_read_list(struct context *context, struct client_filter *filter);
/* CLIENT KILL filters, which may be half a million: reads about `most` of its arguments from
 * filter->read on. The rest as above. */
bool client_filter_read_kill(struct context *context, struct client_filter *filter,
                             size_t most);
void client_filter_release(struct client_filter *filter);

/* O(1). */
bool client_filter_passes(const struct context *context, const struct client_filter *filter,
                          const struct session *session);

#endif
