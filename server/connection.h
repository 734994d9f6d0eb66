/* One client's socket: bytes in, requests run, replies out when what they tell of is settled.
 */
#ifndef DUEQ_SERVER_CONNECTION_H
#define DUEQ_SERVER_CONNECTION_H

#include "protocol/resp_reader.h"
#include "protocol/resp_writer.h"
#include "server/command.h"
#include "server/server.h"

/* Output up to `upto` (counted from the connection's first byte) may leave once the LSN is
 * settled. */
struct gate {
    uint64_t upto, lsn;
};

struct connection {
    struct session session; /* first: a session's connection is found by its address */
    struct server *server;
    struct event *readable, *writable;
    struct resp_reader *reader;
    struct buffer output;
    struct resp_writer writer;
    uint64_t written;   /* bytes ever put into output */
    uint64_t released;  /* of these, may leave */
    uint64_t sent;      /* of these, have left */
    struct gate *gates; /* a queue, oldest first */
    size_t gate_count, gate_capacity;
    int64_t soft_since; /* monotonic ms: when the output passed the soft limit; 0: it has not */
    bool writing;       /* waits for the socket to take more */
    bool peer_closed;
    /* membership in the server's lists (utlist) */
    bool is_touched, is_gated, is_resumed, is_doomed;
    bool is_held; /* `request` waits for the end of a CLIENT PAUSE */
    struct request request;
    bool is_running; /* a command: messages that reach it meanwhile wait in `aside` */
    struct buffer aside;
    size_t push_mark; /* where the output ended at push_begin */
    size_t run_mark;  /* and before the running command's reply */
    struct resp_writer aside_writer;
    struct connection *touched_prev, *touched_next;
    struct connection *gated_prev, *gated_next;
    struct connection *resumed_prev, *resumed_next;
    struct connection *doomed_next;
};

static inline struct connection *connection_of(struct session *session)
{
    return (struct connection *)(void *)session;
}

/* Takes the socket over; closes it when it cannot. */
void connection_accept(struct server *server, int fd, const char *address,
                       const char *local_address);

/* Empty buffers without limits. */
void connection_init_output(struct connection *connection);
/* Once a second: the limits of its class, as they are configured now. */
void connection_limit_output(struct connection *connection);

/* Runs requests that are already read, up to the limits of a turn. */
void connection_resume(struct connection *connection);
/* Has input and may go on in this or the next turn. */
void connection_mark_resumed(struct connection *connection);

/* Runs a command for the connection, replies going to its output. */
enum outcome connection_run(struct connection *connection, const struct request *request,
                            const struct waiter *waiter, bool timed_out);

/* Writes an error that answers a request of the connection. */
void connection_reply_error(struct connection *connection, const char *text);

/* Around what is written to a client without being asked: a message, a line of MONITOR. */
struct resp_writer *connection_push_begin(struct connection *connection);
void connection_push_end(struct connection *connection);

/* The turn's output waits for the LSN. */
void connection_gate(struct connection *connection, uint64_t lsn);
/* Sends what is settled. */
void connection_release(struct connection *connection, uint64_t settled);

/* The server stops: nothing more is read. True: something is owed that has yet to leave. */
bool connection_drain(struct connection *connection);

/* To be closed at the end of the turn. */
void connection_doom(struct connection *connection);
void connection_free(struct connection *connection);

#endif
