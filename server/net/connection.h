/* One client's socket: bytes come in, requests run, and replies leave when the records that
 * they depend on are durable. Four files: connection.c has the life of a connection, the
 * events that it awaits and its memory; connection_input.c reads and runs; connection_output.c
 * writes and sends; connection_tls.c does that by TLS. Everything belongs to the loop's thread.
 */
#ifndef DUEQ_CONNECTION_H
#define DUEQ_CONNECTION_H

#include "protocol/resp_reader.h"
#include "protocol/resp_writer.h"
#include "server/dispatch/context.h"
#include "server/dispatch/lookahead.h"
#include "server/net/weight.h"
#include "server/server.h"

#include <sys/types.h>

/* Output up to `upto` (counted from the connection's first byte) may leave once the LSN is
 * durable, or, if that is enough for what it tells, written. */
struct gate {
    uint64_t upto, lsn;
    bool durable;
};

struct connection {
    struct session session; /* first: a session's connection is found by its address */
    struct server *server;
    struct event *readable, *writable;
    struct tls *tls;            /* NULL: it is not secure */
    bool is_shaking_hands;      /* of TLS: nothing is read or sent before that has ended */
    bool input_awaits_output;   /* TLS has to send something before it can read on */
    struct resp_reader *reader; /* NULL: its memory was released */
    struct buffer output;
    struct resp_writer writer;
    struct resp_lender lender;
    uint64_t written;   /* bytes ever put into output */
    uint64_t released;  /* of these, those that may leave */
    uint64_t sent;      /* of these, those that have left */
    struct gate *gates; /* a queue, oldest first */
    size_t gate_count, gate_capacity;
    unsigned asks;       /* by output that has no gate yet: sum of enum asks; 0: nothing */
    unsigned reply_asks; /* by the reply that is not finished yet */
    uint64_t prompt;    /* of the output that has no gate yet, `written` up to here waits for no
                           sync, though the rest does; 0: there is no such part */
    int64_t soft_since; /* monotonic ms: when the output passed the soft limit; 0: it has not */
    size_t input_left; /* bytes that are still read: SIZE_MAX, or the server is about to stop */
    bool is_handed;    /* its socket is the next program's */
    int peer_fd;       /* of a session that is inside: the socket of its client */
    struct front *front; /* of such a session; NULL: none, or no longer */
    bool has_ended;      /* it told the peer so, after the last reply */
    bool awaits_input;   /* `readable` is added to the loop */
    bool awaits_output;  /* `writable` is: the socket was full */
    bool has_backlog;    /* there may be a request in the reader, or one is held */
    struct weight weight;
    struct lookahead lookahead;
    bool reads_later; /* it is in `resumed` to be read */
    enum hold hold;   /* why `request`, which is read, does not run yet */
    bool runs_again;  /* `request` has run without effect: OUTCOME_AGAIN */
    struct request request;
    /* Monotonic ms: the latest end of its wait for a busy store; 0: it does not wait for it. */
    int64_t busy_until;
    bool is_running; /* a command runs: messages for the client go to `deferred` */
    struct buffer deferred;
    bool is_replying; /* a part of a reply is written: messages go to `deferred`, too */
    size_t push_mark; /* size of the output before the message that is being written */
    size_t run_mark;  /* size of the output before the reply of the running command */
    /* Bytes of an unfinished reply that leaves as a whole: the end of the output, or, while the
     * reply is set aside, the bytes after it in the buffer. */
    size_t unfinished;
    bool reply_is_aside;
    struct resp_writer deferred_writer;
    /* membership in the server's lists (utlist) */
    bool is_touched, is_gated, is_resumed, is_filling, is_killed;
    struct connection *touched_prev, *touched_next;
    struct connection *gated_prev, *gated_next;
    struct connection *resumed_prev, *resumed_next;
    struct connection *filling_prev, *filling_next;
    struct connection *held_prev, *held_next;
    struct connection *killed_prev, *killed_next;
    struct connection *doomed_prev, *doomed_next;
    struct connection *shaking_prev, *shaking_next;
    struct client_share share; /* of the memory of all clients */
    size_t counted_output;     /* capacity of its output when that was counted last */
};

static inline struct connection *connection_of(struct session *session)
{
    return (struct connection *)(void *)session;
}

/* Holds back the next request, which is already read, or no longer. A connection that is held
 * already for that reason keeps its position among those. */
void connection_hold(struct connection *connection, enum hold hold);
/* False: the connection closes, waits, or has too much output that is unsent. */
bool connection_may_run(const struct connection *connection);

/* ---- life */

/* What serves the client of a session that is inside, in front of it: its memory counts with
 * the session's. The front is the caller's; each may end first, and tells the other. */
struct front {
    struct connection *connection; /* NULL: there is none, or no longer */
    size_t bytes;
};

/* A socket that was accepted. */
struct accepted {
    int fd;
    bool is_unix;
    bool secure; /* its client begins with a handshake of TLS */
    /* The other end is in this process, and serves the client of the socket `peer_fd`, which is
     * open for as long as that end is. */
    bool is_inside;
    int peer_fd;
    struct acl_user *user; /* as whom it is logged in, and speaks RESP3; NULL: as all others */
    struct front *front;   /* NULL: none */
    char address[64], local_address[64];
};

/* Takes the socket over, and closes it when the client cannot be served. */
void connection_accept(struct server *server, const struct accepted *accepted);
/* Does protected-mode refuse a client by TCP with that address? Then it counts and logs it, and
 * *ret_why is what the client is told. */
bool connection_is_refused(struct server *server, const char *address, const char **ret_why);

/* Runs and sends nothing new for the client: ends its waits, subscriptions and watches at once,
 * and closes when the replies that are written have left. */
void connection_close(struct connection *connection);
/* Sends nothing more, ends the client's wait at once, and closes at the end of this turn or a
 * later one. Its buffers are freed now, or when its running command has ended. May be called
 * again. */
void connection_doom(struct connection *connection);
/* Runs no more requests of the client, and dooms it in this turn or a later one: ten thousand
 * take 50 ms. May be called again. */
void connection_kill(struct connection *connection);
/* Dooms the first of those. There must be one. */
void connection_doom_killed(struct server *server);
/* Frees the buffers of a doomed connection, whose command has ended. `waits_on`: the caller
 * ends the client's wait; else it ends here. */
void connection_release_memory(struct connection *connection, bool waits_on);
void connection_free(struct connection *connection);

/* The peer has closed its side: everything that it sent has run, or a command in which it waits
 * ends, as in Redis. The replies that are written are sent. */
void connection_end_input(struct connection *connection);
/* Frees what an idle connection keeps for its next request. */
void connection_shrink(struct connection *connection);
/* Once a second, and before each slice of a long command: notices that a peer has closed whose
 * socket is not read meanwhile. A long command then ends, unless more requests are unread. */
void connection_check_peer(struct connection *connection);
/* Ends the wait of a peer that has closed its side, which the loop may not have read yet. */
void connection_check_blocked_peer(struct connection *connection);

/* To be called after each change of the connection's state: the events that it awaits follow
 * from that (the rule is in connection.c). Dooms the connection when there is no memory. */
void connection_update_events(struct connection *connection);
/* A wait or a pause is over: the connection goes on, in this turn or the next one, with the
 * requests that are already read. */
void connection_mark_resumed(struct connection *connection);

/* Takes over the configured limits of requests; before login they are tighter. */
void connection_limit_input(struct connection *connection);

/* ---- memory */

/* What CLIENT LIST shows, in bytes. */
struct connection_memory {
    size_t input, input_free; /* read and not yet run; allocated beyond that */
    size_t arguments;         /* of the request that runs or waits */
    size_t queued;            /* since MULTI */
    size_t output;            /* replies and messages that have not left */
    size_t output_buffer;     /* allocated for these */
    size_t total;
};

void connection_measure(const struct connection *connection,
                        struct connection_memory *ret_memory);
/* Counts the connection's memory anew, after a change: dooms the largest clients when all of
 * them together hold too much (client_memory.h). */
void connection_account(struct connection *connection);
/* The same after a change of what is in front of it. */
void connection_account_front(struct front *front, size_t bytes);
/* The front ends. */
void connection_leave_front(struct front *front);

/* ---- input */

/* Runs requests that are already read, up to pipeline-limit of them. */
void connection_resume(struct connection *connection);
/* Goes on with a connection that was in the server's list `resumed`: reads it, too, when it is
 * there for that. */
void connection_go_on(struct connection *connection);

/* Runs a command for the client; replies go to the output. `waiter`: the client waits in this
 * command, whose request is the waiter's. Returns what the handler returned, OUTCOME_DONE when
 * the connection was doomed meanwhile. */
enum outcome connection_run(struct connection *connection, const struct request *request,
                            const struct waiter *waiter, bool timed_out);

/* Reads from the socket: connection_update_events says when. */
void connection_read(struct connection *connection);

/* ---- TLS (connection_tls.c)
 *
 * OpenSSL reads from and writes to the socket; the connection's buffers and events are those of
 * a plain one. */

/* Handshakes that have not ended are few and short: a peer that goes beyond either bound costs
 * the oldest of them, or itself, the connection. */
enum { HANDSHAKES_MOST = 1000, HANDSHAKE_MS = 10 * 1000 };

/* The connection was made: its handshake begins. False: no memory. */
bool connection_secure(struct connection *connection);
/* Goes on with the handshake, after the event that it awaits. */
void connection_shake_hands(struct connection *connection);
/* Once a second: ends the connections whose handshakes have taken too long. */
void connections_end_handshakes(struct server *server);
/* The connection closes: leaves the list of handshakes, says goodbye. */
void connection_leave_tls(struct connection *connection);
/* As recv(2) and send(2) on a socket that does not block, on both kinds of connections; at
 * least TLS_READ_LEAST bytes of room. What TLS awaits is noted in the connection. */
ssize_t connection_receive(struct connection *connection, void *bytes, size_t size);
ssize_t connection_transmit(struct connection *connection, const void *bytes, size_t size);

/* ---- output */

/* Empty buffers without limits. */
void connection_init_output(struct connection *connection);
void connection_release_output(struct connection *connection);
/* Takes over the limits of the client's class, as they are configured now, and cuts the client
 * off when its output is beyond them. Once a second, and when the output grows. */
void connection_limit_output(struct connection *connection);
/* Is so little of the output unsent that more requests may run? */
bool connection_has_room(const struct connection *connection);
bool connection_all_sent(const struct connection *connection);
/* Has all of its output no gate, and is it copied? */
bool connection_is_settled(const struct connection *connection);
/* Makes what is in the file the output, which may leave. False: it has written something
 * already, or there is no memory. */
bool connection_restore_output(struct connection *connection, int fd, off_t offset,
                               size_t size);

/* Counts what was written since the output had `before` bytes as a reply, or removes it when
 * the client wants none. asks: what it waits for, a sum of enum asks; 0: it does not depend on
 * the store and is not gated. */
void connection_count_reply(struct connection *connection, size_t before, unsigned asks);
/* The same for a part of a reply: further parts come in later turns. */
void connection_count_part(struct connection *connection, size_t before, unsigned asks);
/* The same for a part of a reply that leaves as a whole: it stays at the end of the output,
 * uncounted, until the reply is finished or connection_drop_part removes it. */
void connection_keep_part(struct connection *connection);
void connection_drop_part(struct connection *connection);
/* Hides the unfinished reply while its command runs, so that something else can be written; and
 * shows it again, before anything is written. */
void connection_set_reply_aside(struct connection *connection);
void connection_restore_reply(struct connection *connection);
/* Appends the messages that were deferred while the command ran. */
void connection_append_deferred(struct connection *connection);

/* Large values in replies are copied in later turns, a part in each: the first connection of
 * server->filling gets some MiB of its output copied, and sends what is ready. No-op when there
 * is none. */
void connections_fill(struct server *server);
/* Copies all of that at once, before the store is closed or abandoned. */
void connections_fill_all(struct server *server);
/* To be called after a command has run: its reply may contain such values. */
void connection_note_large(struct connection *connection);

/* Writes an error that answers a request of the connection. */
void connection_reply_error(struct connection *connection, const char *text);

/* Around a message that the client did not ask for: a publication, a line of MONITOR. The
 * writer is valid until connection_push_end. */
struct resp_writer *connection_push_begin(struct connection *connection);
void connection_push_end(struct connection *connection);

/* At the end of a turn: its output leaves once the LSN is durable, or written if it asks for no
 * more, or at once if it does not depend on the store; but not before earlier output. Dooms the
 * connection when there is no memory. */
void connection_gate(struct connection *connection, uint64_t lsn);
/* None of its output waits any longer, or it closes. No-op if none did. */
void connection_leave_gated(struct connection *connection);
/* Sends the output whose LSNs are written or durable, as it needs. False: there is none. */
bool connection_release(struct connection *connection, uint64_t written_lsn,
                        uint64_t durable_lsn);
/* In the midst of a turn: sends output that does not depend on the store, if nothing is before
 * it that does. */
void connection_send_early(struct connection *connection);
/* The socket is full: sends, or goes on with the handshake, when it takes something again. */
void connection_await_room(struct connection *connection);
/* Sends output that may leave, as much as the socket takes. */
void connection_send(struct connection *connection);

/* ---- another program takes over (connection_handover.c) */

/* May the connection stay open while the program is replaced? And is it so far: has it nothing
 * under way but replies that its peer has yet to read? The next program sends these. */
bool connection_may_stay(const struct connection *connection);
bool connection_is_portable(const struct connection *connection);
/* Leaves the socket to the next program; without memory it closes with the connection. */
void connection_hand_over(struct connection *connection);
/* Goes on with the clients that the program of before has left. */
void connections_adopt(struct server *server);
/* The greatest number of a client there; 0: none. */
uint64_t connections_last_id(void);

/* ---- the server is about to stop */

/* Of what the client sends, only what has reached this machine by now is read; or all again. */
void connection_cut_input(struct connection *connection);
/* Nothing more is read, until connection_restore_input. */
void connection_rest(struct connection *connection);
void connection_restore_input(struct connection *connection);
/* Has the client requests that are yet to be read or run, or output that is yet to leave or to
 * reach the peer? */
bool connection_is_owed(struct connection *connection);
/* Of one that is owed something: does all of it wait for the peer to read? */
bool connection_is_unread(const struct connection *connection);
/* Is the output that may leave the end of all that the client is owed? Then it is told with it
 * that the connection ends: so it does not send a request that nobody would read. */
bool connection_is_last(const struct connection *connection);
/* Before that output is sent, and after it. */
void connection_begin_last(struct connection *connection);
void connection_end_last(struct connection *connection);

#endif
