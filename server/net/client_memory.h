/* The memory that clients' input, output and queues take, all together, and who goes when it is
 * too much: maxmemory-clients, as in Redis the largest first. Those that are not logged in have
 * a small bound of their own beside it. Everything here is O(1) in the number of clients. */
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
    CLIENT_MEMORY_PAST = 8,                       /* seconds that the recent maxima tell of */
    UNAUTHENTICATED_MEMORY_MAX = 64 * 1024 * 1024 /* all that are not logged in, together */
};

/* A connection's part of it. */
struct client_share {
    size_t bytes;
    int size; /* which list it is in */
    bool is_counted, is_stranger;
    struct connection *prev, *next; /* those of that size (utlist) */
};

struct client_memory {
    size_t total, strangers;
    struct connection *by_size[2][CLIENT_SIZES]; /* [is_stranger] */
    uint64_t evicted;
    size_t most; /* total at its most since memory was last given back to the system */
    size_t recent_input[CLIENT_MEMORY_PAST], recent_output[CLIENT_MEMORY_PAST];
    size_t second; /* the one of these that is running */
};

/* The connection has this much now. Dooms the largest (this one, perhaps) while all of them
 * together have more than the configuration allows. */
void client_memory_note(struct connection *connection, const struct connection_memory *memory);
/* It has nothing any more. */
void client_memory_forget(struct connection *connection);

/* Once a second: what was freed goes back to the system, and a new second begins. */
void client_memory_tick(struct server *server);

/* The bound of all together; 0: none. */
size_t client_memory_limit(const struct server *server);

size_t client_memory_recent_input(const struct client_memory *memory);
size_t client_memory_recent_output(const struct client_memory *memory);

#endif
