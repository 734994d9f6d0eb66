/* Growth is held back while a checkpoint is late, so that nothing else has to wait for it.
 *
 * From DUEQ_PRESSURE 1 on, requests that make the store grow are delayed in proportion to the
 * pressure; from DUEQ_PRESSURE_FULL on they are parked. Both are held as they are read, and run
 * in order of arrival when their time has come. What is not growth goes on and has a reserve;
 * when that is used up (DUEQ_PRESSURE_MOST), other writes are parked as well. Reads never are.
 * No commit of the server waits for a checkpoint, unless the disk is full. */
#ifndef DUEQ_THROTTLE_H
#define DUEQ_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct request;
struct server;

struct throttle {
    int64_t next;     /* monotonic usec before which no request grows */
    bool is_growing;  /* a request that is to be counted is about to run */
    bool has_more;    /* the last turn had no time for all that may run */
    uint64_t delayed; /* requests that had to wait; CONFIG RESETSTAT sets it to 0 */
};

/* Why the next request of a connection is held back. */
enum hold {
    HOLD_NONE,
    HOLD_EVENT,  /* until a pause has ended, a key is free, the store is less busy, or a check
                    has gone on */
    HOLD_GROWTH, /* it grows */
    HOLD_WORK,   /* it writes and does not grow */
    HOLDS
};

/* Must the request, which is the next one of the connection, wait? HOLD_NONE: it runs now. */
enum hold throttle_hold(struct connection *connection, const struct request *request);
/* To be called after a request has run, and does not run again: counts what it has added. */
void throttle_count(struct server *server);
/* Once a turn: runs requests that have waited, in their order, some hundred at most. */
void throttle_turn(struct server *server);
/* ms until there is something to do in a turn; DUEQ_NEVER: a notice of the store comes first.
 */
int64_t throttle_next(const struct server *server);

#endif
