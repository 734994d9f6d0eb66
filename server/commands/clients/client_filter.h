/* The clients that CLIENT LIST prints and CLIENT KILL ends. */
#ifndef DUEQ_CLIENT_FILTER_H
#define DUEQ_CLIENT_FILTER_H

#include "protocol/buffer.h"
#include "server/dispatch/context.h"
#include "server/session/session.h"

struct client_filter {
    int64_t *ids; /* NULL: any; sorted once the filter is read */
    size_t id_count, id_capacity;
    struct argument address, local_address, user; /* data NULL: any */
    enum {
        FILTER_ANY,
        FILTER_NORMAL,
        FILTER_PUBSUB,
        FILTER_NOTHING
    } type; /* FILTER_NOTHING: replicas and masters, which do not exist here */
    bool skip_me;
};

/* CLIENT LIST [TYPE t] [ID id ...], CLIENT KILL filters. False: the error is written. */
bool client_filter_read_list(struct context *context, struct client_filter *filter);
bool client_filter_read_kill(struct context *context, struct client_filter *filter);
void client_filter_release(struct client_filter *filter);

void write_client_list(struct context *context, const struct client_filter *filter);
int64_t kill_clients(struct context *context, const struct client_filter *filter);

/* HELP of the container whose subcommand is running: from the table. */
enum outcome run_container_help(struct context *context);

#endif
