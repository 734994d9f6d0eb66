/* Options: in a file of redis.conf's form, on the command line, by CONFIG SET. One table
 * (config_options.c) has them all. */
#ifndef DUEQ_CONFIG_H
#define DUEQ_CONFIG_H

#include "protocol/request.h"
#include "server/config/keyspace_events.h"
#include "server/process/log.h"
#include "server/config/output_limits.h"
#include "storage/kv/kv.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONFIG_TEXT_MAX = 4096 };

struct config {
    char *bind; /* addresses, separated by spaces */
    int64_t port;
    char *unixsocket;
    int64_t unixsocketperm;
    char *dir;
    char *requirepass;       /* of any bytes, and a zero behind them */
    size_t requirepass_size; /* 0: none */
    int64_t protected_mode;
    int64_t maxclients;
    int64_t timeout; /* seconds; 0: none */
    int64_t tcp_backlog, tcp_keepalive;
    int64_t loglevel; /* enum log_level */
    char *logfile;
    int64_t daemonize;
    char *pidfile;
    int64_t databases;
    int64_t proto_max_bulk_len, client_query_buffer_limit;
    struct output_limits output_limits;
    int64_t maxmemory_clients; /* bytes; negative: percent of the machine's; 0: no bound */
    int64_t pipeline_limit;
    int64_t shutdown_timeout;    /* seconds */
    int64_t slowlog_slower_than; /* usec; 0: everything, -1: nothing */
    int64_t slowlog_max_len;     /* entries */
    int64_t latency_threshold;   /* ms; 0: nothing */
    int64_t enable_debug_command;
    int64_t notify_keyspace_events; /* set of enum keyspace_event */
    int64_t durability;             /* enum dueq_durability */
    int64_t durability_interval;    /* ms */
    int64_t memtable_size, segment_size, journal_size, map_size, disk_reserve;
    int64_t high_water_percent;
    int64_t queue_lease, queue_retries, queue_backoff, queue_backoff_max;
    /* Only OBJECT ENCODING looks at these: there is one encoding of each type on disk. */
    int64_t list_max_listpack_size;
    int64_t hash_max_listpack_entries, hash_max_listpack_value;
    int64_t set_max_intset_entries;
    int64_t zset_max_listpack_entries, zset_max_listpack_value;
    char *file; /* read from; NULL: none */
};

struct config_error {
    char text[512];
};

/* Is there a password that clients must give? */
static inline bool config_wants_login(const struct config *config)
{
    return config->requirepass_size > 0;
}

/* Fills in the defaults. */
void config_init(struct config *config);
void config_release(struct config *config);

/* Makes *ret_copy a second configuration, to be released. False: out of memory. */
bool config_copy(const struct config *config, struct config *ret_copy);

/* Reads a file, "-" for standard input. False: error says where and why. */
bool config_read_file(struct config *config, const char *path, struct config_error *error);

/* Writes the configuration into the file it was read from, in one step: what was changed stands
 * where it stood, what is new stands at the end, and comments stay. False: error says why, and
 * the file is as it was. */
bool config_rewrite(const struct config *config, struct config_error *error);

/* Sets one option from its words, as a line of a file has them. On failure nothing is changed.
 */
bool config_set(struct config *config, const char *name, const struct argument *words,
                size_t count, struct config_error *error);

/* ---- the table, for CONFIG GET and SET */

size_t config_count(void);
const char *config_name(size_t index);
/* -1: no such option. */
int config_find(struct argument name);

/* Sets one option from one argument, in which several words are separated by spaces. */
bool config_set_value(struct config *config, size_t index, struct argument value,
                      struct config_error *error);
/* May it be set to this value while the server runs? Some options can only be set to what they
 * are. */
bool config_may_change(const struct config *config, size_t index, struct argument value);

/* Writes the value's text, CONFIG_TEXT_MAX bytes at most with the zero behind it; its size. */
size_t config_get(const struct config *config, size_t index, char *text);

/* What the store is opened with. */
void config_store_options(const struct config *config, struct dueq_options *options);

/* Prints "--name value (default)  what it is" for every option. */
void config_print_options(void);

#endif
