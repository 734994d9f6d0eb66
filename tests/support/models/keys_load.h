/* Several clients that change keys of Redis' types, pipelined: each its own keys, and some that
 * all share. What a client does depends only on its number and a serial number, so the serial
 * it has reached determines its replies and its keys.
 *
 * All clients run in one thread. It sends the requests of all connections before it reads
 * replies, so that the server has them together. */
#ifndef DUEQ_KEYS_LOAD_H
#define DUEQ_KEYS_LOAD_H

#include "tests/support/client/client.h"
#include "tests/support/dice.h"

enum { KEYS_LOAD_CLIENTS = 6, KEYS_LOAD_SLOTS = 6, KEYS_LOAD_LIST = 30 };

/* The values of a client's own keys. */
struct keys_state {
    bool counted, expires; /* there is a counter; it has an expiry */
    int64_t counter;
    int64_t twins;               /* of two counters that only transactions change */
    int fields[KEYS_LOAD_SLOTS]; /* of a hash; 0: there is none */
    int scores[KEYS_LOAD_SLOTS]; /* of a sorted set; 0: there is none */
    bool members[KEYS_LOAD_SLOTS];
    uint64_t lists[2][KEYS_LOAD_LIST]; /* from the head */
    size_t counts[2];
};

struct keys_client {
    redisContext *connection; /* NULL: lost */
    struct keys_state state;  /* after all that was replied */
    uint64_t replied, sent;   /* serial of the next reply, and of the next request */
};

struct keys_load {
    struct dice *dice;
    struct keys_client clients[KEYS_LOAD_CLIENTS];
    int64_t shared; /* the least that the shared counters may be */
    uint64_t pushes, pushes_sent,
        steps; /* of a list that all clients share: replied and sent */
};

void keys_load_open(struct keys_load *load, const struct server_process *server);

/* Sends a pipeline on each connection, reads some of the replies, and checks them. False: the
 * server has ended. */
bool keys_load_step(struct keys_load *load);

/* Reads the remaining replies and closes the connections. */
void keys_load_finish(struct keys_load *load);

/* Checks that the server has everything that was replied and, of the requests without a reply,
 * for each client a first part; a transaction whole or not at all. The load continues from
 * what the server has. */
void keys_load_check(struct keys_load *load, redisContext *checker);

#endif
