/* One client's socket: bytes in, requests run, replies out when what they tell of is settled.
 * Three files: connection.c has its life and what it listens to, connection_input.c reads and
 * runs, connection_output.c writes and sends. */
#ifndef DUEQ_CONNECTION_H
#define DUEQ_CONNECTION_H

#include "protocol/resp_reader.h"
#include "protocol/resp_writer.h"
#include "server/dispatch/command.h"
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
    struct resp_reader *reader; /* NULL once it is gone */
    struct buffer output;
    struct resp_writer writer;
    uint64_t written;   /* bytes ever put into output */
    uint64_t released;  /* of these, may leave */
    uint64_t sent;      /* of these, have left */
    struct gate *gates; /* a queue, oldest first */
    size_t gate_count, gate_capacity;
    bool tells;         /* what is not gated yet tells of the store */
    int64_t soft_since; /* monotonic ms: when the output passed the soft limit; 0: it has not */
    bool reads;         /* `readable` is awaited */
    bool writes;        /* `writable` is: the socket is to take more */
    bool has_backlog;   /* there may be a request in the reader, or one is held */
    bool
        is_held; /* `request` waits for the end of a CLIENT PAUSE, a busy key or a busy store */
    struct request request;
    int64_t busy_until; /* monotonic ms: so long it waits for a busy store at most; 0: it does
                           not */
    bool is_running;    /* a command: messages that reach it meanwhile wait in `aside` */
    struct buffer aside;
    bool is_replying;  /* a part of a reply is written: messages wait in `aside` likewise */
    size_t push_mark;  /* where the output ended at push_begin */
    size_t run_mark;   /* and before the running command's reply */
    size_t unfinished; /* bytes at the output's end of a reply that leaves as a whole ... */
    bool is_put_by;    /* ... and behind it, while its command runs */
    struct resp_writer aside_writer;
    /* membership in the server's lists (utlist) */
    bool is_touched, is_gated, is_resumed;
    struct connection *touched_prev, *touched_next;
    struct connection *gated_prev, *gated_next;
    struct connection *resumed_prev, *resumed_next;
    struct connection *held_prev, *held_next;
    struct connection *doomed_next;
    struct client_share share; /* of the memory of all clients */
    size_t counted_output;     /* capacity of its output when that was counted last */
};

static inline struct connection *connection_of(struct session *session)
{
    return (struct connection *)(void *)session;
}

/* Its next request has to wait, or has to no more; who is held still keeps his place. */
void connection_hold(struct connection *connection, bool holds);

/* ---- life */

/* Takes the socket over; closes it when it cannot. */
void connection_accept(struct server *server, int fd, const char *address,
                       const char *local_address);

/* Nothing new is run for it or sent to it: it leaves all waits, subscriptions and watches at
 * once, and closes when what it is owed has left. */
void connection_close(struct connection *connection);
/* It waits no more at once, is sent nothing, and closes at the end of the turn; its memory goes
 * now, or when its running command is over. */
void connection_doom(struct connection *connection);
/* Its command is over in which it was doomed: its memory goes. `waits_on`: its waiter is the
 * caller's to end. */
void connection_release_memory(struct connection *connection, bool waits_on);
void connection_free(struct connection *connection);

/* The peer sends no more: what it sent before is run already, or it waits in a command, which
 * ends, as in Redis. What it is owed is sent. */
void connection_end_input(struct connection *connection);
/* It has been idle: gives back what it keeps for its next request. */
void connection_shrink(struct connection *connection);
/* Once a second, and before each slice of a long command: finds the end of a peer whose socket
 * is not read. A long command ends with its peer when nothing that was sent is left to run. */
void connection_check_peer(struct connection *connection);

/* What it awaits follows from its state: to be called after each change of that (connection.c
 * has the rule). */
void connection_update_events(struct connection *connection);
/* A wait or a pause is over: it goes on in this or the next turn with what it has read. */
void connection_mark_resumed(struct connection *connection);

/* Limits of requests as they are configured, and tighter before login. */
void connection_limit_input(struct connection *connection);

/* ---- memory */

/* What CLIENT LIST tells, in bytes. */
struct connection_memory {
    size_t input, input_free; /* read and not yet run; allocated beyond that */
    size_t arguments;         /* of the request that runs or waits */
    size_t queued;            /* since MULTI */
    size_t output;            /* replies that have not left */
    size_t output_buffer;     /* what they lie in */
    size_t total;
};

void connection_measure(const struct connection *connection,
                        struct connection_memory *ret_memory);
/* Its memory has changed: it is counted, and when all clients have too much the largest go. */
void connection_account(struct connection *connection);

/* ---- input */

/* Runs requests that are already read, up to the limits of a turn. */
void connection_resume(struct connection *connection);

/* Runs a command for the connection, replies going to its output. */
enum outcome connection_run(struct connection *connection, const struct request *request,
                            const struct waiter *waiter, bool timed_out);

/* Reads from the socket: connection_update_events says when. */
void connection_read(struct connection *connection);

/* ---- output */

/* Empty buffers without limits. */
void connection_init_output(struct connection *connection);
void connection_release_output(struct connection *connection);
/* Once a second: the limits of its class, as they are configured now. */
void connection_limit_output(struct connection *connection);
/* Little enough of its output is unsent for more of its requests to be run. */
bool connection_has_room(const struct connection *connection);
bool connection_all_sent(const struct connection *connection);

/* Counts what was written since the output had that size, as something that tells of the store;
 * `is_reply`: takes it back when the client wants no replies. */
void connection_count_output(struct connection *connection, size_t before, bool is_reply);
/* The same for a reply that would be the same whatever the store has: it is not gated. */
void connection_count_storeless(struct connection *connection, size_t before);
/* The same for a part of a reply whose rest comes in later turns. */
void connection_count_part(struct connection *connection, size_t before);
/* The same for one that leaves as a whole: it stays in the output, uncounted, until then; or
 * until it is dropped, for it will have no end. */
void connection_keep_part(struct connection *connection);
void connection_drop_part(struct connection *connection);
/* Out of the way of what is written to the output, and back, if nothing was. */
void connection_put_by(struct connection *connection);
void connection_take_up(struct connection *connection);
/* Messages that reached it while its command ran come behind the reply. */
void connection_append_aside(struct connection *connection);

/* Writes an error that answers a request of the connection. */
void connection_reply_error(struct connection *connection, const char *text);

/* Around what is written to a client without being asked: a message, a line of MONITOR. */
struct resp_writer *connection_push_begin(struct connection *connection);
void connection_push_end(struct connection *connection);

/* The turn's output waits for the LSN, unless it tells nothing of the store. */
void connection_gate(struct connection *connection, uint64_t lsn);
/* Sends what is settled. */
void connection_release(struct connection *connection, uint64_t settled);
/* Sends what may leave, as far as the socket takes it. */
void connection_send(struct connection *connection);

/* The server stops: nothing more is read. True: something is owed that has yet to leave. */
bool connection_drain(struct connection *connection);

#endif
