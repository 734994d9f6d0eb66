/* Counters of the whole server, for INFO. The code that does a thing counts it; CONFIG
 * RESETSTAT sets the first six to 0. */
#ifndef DUEQ_SERVER_STATS_H
#define DUEQ_SERVER_STATS_H

#include <stdint.h>

struct server_stats {
    uint64_t connections_received, connections_rejected;
    uint64_t commands_processed;
    uint64_t errors; /* error replies */
    uint64_t input_bytes, output_bytes;
    uint64_t expired_keys;
    uint64_t store_failures;     /* how often the store was dropped, to be opened again */
    uint64_t turns, reply_parts; /* reply_parts: in which large values were copied */
    uint64_t blocked_clients;    /* now */
    int64_t start_wall, start_monotonic; /* ms */
    uint64_t start_memory;               /* bytes, before the store was opened */
};

#endif
