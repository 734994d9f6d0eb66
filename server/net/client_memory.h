/* The memory of all clients together: input, output, queued transactions. Beyond
 * maxmemory-clients the largest clients are evicted first, as in Redis. Clients that are not
 * logged in have a smaller limit of their own, and beyond it only they are evicted. O(1) in the
 * number of clients, except that the search for the largest passes clients with CLIENT NO-EVICT
 * of the same or a larger size. */
#ifndef DUEQ_CLIENT_MEMORY_H
#define DUEQ_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct connection_memory;
struct server;

enum {
    CLIENT_SIZES = 24,                            /* up to 1 KiB, 2 KiB, 4 KiB, ... */
    CLIENT_MEMORY_PAST = 8,                       /* seconds that the recent maxima cover */
    UNAUTHENTICATED_MEMORY_MAX = 64 * 1024 * 1024 /* bytes of all that are not logged in */
};

/* The part of one connection. */
struct client_share {
    size_t bytes;
    int size; /* index of its list */
    bool is_counted, is_unauthenticated;
    struct connection *prev, *next; /* in the list of its size (utlist) */
};

struct client_memory {
    size_t total, unauthenticated;               /* bytes; the second is a part of the first */
    struct connection *by_size[2][CLIENT_SIZES]; /* [is_unauthenticated] */
    uint64_t evicted;
    size_t most;         /* total at its most since memory was last given back to the system */
    size_t holes;        /* freed bytes of small blocks that could not be given back then */
    size_t left;         /* bytes of clients that have gone and were not given back yet */
    size_t most_topics;  /* that there were since then */
    int64_t given_back;  /* monotonic ms when memory last was */
    bool gives_the_rest; /* in the next client_memory_tick */
    bool returns;        /* heap_return.h is at work, ... */
    uint64_t returned_from; /* ... which began with so much memory of the process */
    size_t recent_input[CLIENT_MEMORY_PAST], recent_output[CLIENT_MEMORY_PAST];
    size_t second; /* index of the current second in these */
};

/* The connection holds `memory` now. Dooms the largest clients, perhaps this one, while all of
 * them together hold more than the configuration allows. */
void client_memory_note(struct connection *connection, const struct connection_memory *memory);
/* The connection holds nothing any more. May be called again. */
void client_memory_forget(struct connection *connection);

/* In each turn: gives back a part of what clients leave who go in one moment. True: that took
 * some ms. */
bool client_memory_turn(struct server *server);
/* Once a second: gives freed memory back to the system, applies a changed limit, and begins a
 * new second of the recent maxima. */
void client_memory_tick(struct server *server);

/* The limit of all clients together, in bytes; 0: none. */
size_t client_memory_limit(const struct server *server);

/* The most that one client has held in the last CLIENT_MEMORY_PAST seconds, in bytes. */
size_t client_memory_recent_input(const struct client_memory *memory);
size_t client_memory_recent_output(const struct client_memory *memory);

#endif
