/* The clients that CLIENT LIST prints and CLIENT KILL ends. */
#ifndef DUEQ_CLIENT_FILTER_H
#define DUEQ_CLIENT_FILTER_H

#include "server/dispatch/context.h"
#include "server/session/session.h"

struct client_filter {
    int64_t *ids; /* NULL: any; sorted once the filter is read */
    size_t id_count, id_capacity;
    struct dueq_slice address, local_address, user; /* data NULL: any */
    enum {
        FILTER_ANY,
        FILTER_NORMAL,
        FILTER_PUBSUB,
        FILTER_NOTHING /* replicas and masters, which do not exist here */
    } type;
    bool skip_me;
};

/* CLIENT LIST [TYPE t], CLIENT KILL filters. True: the caller releases the filter.
 * False: the error is written and nothing is to be released. */
bool client_filter_read_list(struct context *context, struct client_filter *filter);
bool client_filter_read_kill(struct context *context, struct client_filter *filter);
void client_filter_release(struct client_filter *filter);

/* O(log ids). */
bool client_filter_passes(const struct client_filter *filter, const struct session *session);

#endif
