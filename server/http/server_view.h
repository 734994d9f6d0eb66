/* The server in figures, as JSON: what an overview shows of INFO. */
#ifndef DUEQ_SERVER_VIEW_H
#define DUEQ_SERVER_VIEW_H

#include "protocol/buffer.h"
#include "server/server.h"

/* Jobs and commands a second. Zeros: none was measured. */
struct server_rates {
    int64_t at; /* monotonic ms of the last look; 0: there was none */
    uint64_t pushed, claimed, acked, commands; /* so far, then */
    bool is_known;
    double pushed_rate, claimed_rate, acked_rate, commands_rate;
};

/* Reads files of /proc, and else O(1). */
void server_view_write(struct server *server, struct server_rates *rates, struct buffer *out);

#endif
