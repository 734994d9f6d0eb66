/* The configuration: read from a file in the form of redis.conf, from the command line and from
 * CONFIG SET. config_options.c contains the table of all options. */
#ifndef DUEQ_CONFIG_H
#define DUEQ_CONFIG_H

#include "protocol/buffer.h"
#include "protocol/request.h"
#include "server/config/keyspace_events.h"
#include "server/config/output_limits.h"
#include "server/process/log.h"
#include "storage/dueq.h"

#include <stdbool.h>
#include <stdint.h>

enum { CONFIG_TEXT_MAX = 4096, CONFIG_OPTIONS_MOST = 160 };

/* What the HTTP/JSON API serves: nothing, everything, what changes nothing. */
enum http_api { HTTP_API_NO, HTTP_API_YES, HTTP_API_READ };

/* Must a client that comes by TLS have a certificate? SAME, of http-tls-auth-clients only: as
 * tls-auth-clients says. */
enum tls_clients { TLS_CLIENTS_NO, TLS_CLIENTS_YES, TLS_CLIENTS_OPTIONAL, TLS_CLIENTS_SAME };

/* What ACL SETUSER makes of a password (server/acl/acl_hash.h, acl_argon.h). */
enum password_hash { PASSWORD_SHA256, PASSWORD_ARGON2ID };

/* The values of all options. The texts belong to it. Yes and no are 1 and 0. */
struct config {
    char *bind; /* addresses, separated by spaces */
    int64_t port;
    char *unixsocket;
    int64_t unixsocketperm;
    char *unixsocketgroup;
    int64_t tls_port;
    char *tls_cert_file, *tls_key_file, *tls_key_file_pass;
    char *tls_ca_cert_file, *tls_ca_cert_dir;
    int64_t tls_auth_clients;                             /* enum tls_clients */
    char *tls_protocols, *tls_ciphers, *tls_ciphersuites; /* "": the default */
    int64_t tls_prefer_server_ciphers;
    int64_t tls_session_caching, tls_session_cache_size;
    int64_t tls_session_cache_timeout; /* seconds */
    char *tls_dh_params_file;
    char *dir;
    int64_t sandbox;
    char *run_as;            /* USER or USER:GROUP; "": as it was started */
    char *requirepass;       /* any bytes, with a zero after them */
    size_t requirepass_size; /* 0: none */
    int64_t protected_mode;
    int64_t maxclients;
    int64_t timeout; /* seconds; 0: none */
    int64_t tcp_backlog, tcp_keepalive;
    int64_t loglevel; /* enum log_level */
    char *logfile;
    int64_t log_format; /* enum log_format */
    int64_t syslog_enabled, journald_enabled;
    char *syslog_ident;
    int64_t syslog_facility; /* of syslog(3) */
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
    int64_t cron_max;            /* entries of Q.CRON */
    int64_t latency_threshold;   /* ms; 0: nothing */
    int64_t http_port;           /* 0: none */
    char *http_bind;             /* as bind */
    int64_t http_tls;
    int64_t http_tls_auth_clients; /* enum tls_clients */
    int64_t http_api;              /* enum http_api */
    char *http_hosts;              /* names that a Host may have, with spaces between them */
    int64_t http_metrics_topics;
    int64_t dashboard, dashboard_history;
    int64_t enable_debug_command;
    int64_t notify_keyspace_events; /* set of enum keyspace_event */
    int64_t durability;             /* enum dueq_durability */
    int64_t durability_interval;    /* ms */
    int64_t memtable_size, segment_size, journal_size, map_size, disk_reserve;
    int64_t high_water_percent;
    int64_t auto_compact_percentage, auto_compact_min_size;
    int64_t queue_lease, queue_retries, queue_crashes, queue_backoff, queue_backoff_max;
    /* The limits of Redis' small encodings. OBJECT ENCODING, DEBUG OBJECT and the scores of
     * ZSCAN follow them. A list with more elements than its limit is also not packed on
     * disk. */
    int64_t list_max_listpack_size;
    int64_t hash_max_listpack_entries, hash_max_listpack_value;
    int64_t set_max_intset_entries;
    int64_t zset_max_listpack_entries, zset_max_listpack_value;
    int64_t drop_pages;
    int64_t profile;                     /* index of a name in config_profile.c */
    uint8_t chosen[CONFIG_OPTIONS_MOST]; /* by option: a value was given, so that the profile
                                            does not say it */
    char *aclfile;                       /* path; empty: none */
    char *archive_dir;                   /* path; empty: none */
    int64_t archive_max_lag;             /* bytes */
    int64_t archive_interval;            /* s */
    char *backup_dir;                    /* path; empty: BACKUP is refused */
    int64_t acllog_max_len;              /* entries */
    int64_t acl_pubsub_default;          /* enum acl_channels */
    int64_t acl_password_hash;           /* enum password_hash */
    int64_t auth_delay;                  /* ms; 0: off */
    char *file;                          /* the file that was read; NULL: none */
    bool is_from_stdin;                  /* a part of it: it cannot be read again */
    int argc;                            /* the command line; not owned, it stays */
    char **argv;
    char *credentials; /* what they said, as lines of a file; NULL: nothing */
    /* The lines that define users, in order: rules for server/acl/, which takes them at the
     * start. A copy of the configuration has none. */
    struct config_user *users;
    uint64_t users_hash; /* of these lines: stays when they are gone */
};

/* "user NAME RULE ..."; one allocation. */
struct config_user {
    struct config_user *prev, *next; /* utlist */
    size_t count;                    /* of words: the name and the rules */
    struct argument words[];
};

struct config_error {
    char text[512];
};

/* Fills in the defaults. */
void config_init(struct config *config);
void config_release(struct config *config);
void config_release_users(struct config *config);

/* Makes *ret_copy a copy that shares nothing; the caller releases it. False: out of memory. */
bool config_copy(const struct config *config, struct config *ret_copy);

/* Reads a file, or standard input for "-". False: *error says where and why; options that were
 * read before the error are set. */
bool config_read_file(struct config *config, const char *path, struct config_error *error);

/* Reads what the service manager keeps for the server in a directory of its own: files with the
 * names of options. requirepass and tls-key-file-pass are what the file contains, without a
 * line end; tls-cert-file, tls-key-file and tls-ca-cert-file are the file itself. dir NULL:
 * no-op. False: *error says why. */
bool config_read_credentials(struct config *config, const char *dir,
                             struct config_error *error);

/* Reads all that says how the server is configured: credentials of the service manager, then
 * the command line after "dueq server", with the files that it names; what comes later wins.
 * argv must stay. False: *error is a sentence for the user. */
bool config_read_all(struct config *config, int argc, char **argv, struct config_error *error);

/* Writes the configuration into the file that was read, in one step. A changed option stays
 * where it was, a new one is added at the end, comments stay. What is as a credential says is
 * not added. False: *error says why, and the file has not changed. users: whole lines that take
 * the place of all lines that define users. Blocks for two fsync. */
bool config_rewrite(const struct config *config, const char *users, struct config_error *error);

/* Writes a line "name value" for each option that may change while the server runs and has
 * another value in `other`. False: out of memory. */
bool config_write_changes(const struct config *config, const struct config *other,
                          struct buffer *out);
/* Sets what such lines say; `name` is for errors. False: *error says why; lines before the
 * error are set. */
bool config_read_lines(struct config *config, char *lines, size_t size, const char *name,
                       struct config_error *error);

/* Sets one option from its values, as a line of a file contains them. False: *error says why,
 * and nothing has changed. */
bool config_set(struct config *config, const char *name, const struct argument *values,
                size_t count, struct config_error *error);

/* ---- the table, for CONFIG GET and SET */

size_t config_count(void);
const char *config_name(size_t index);
/* Is it another name of an option? Has it a value that a log must not show? */
bool config_is_alias(size_t index);
bool config_is_secret(size_t index);
/* -1: no such option. */
int config_find(struct argument name);

/* Sets one option from one argument, which contains several values separated by spaces where
 * the option takes several. False: as config_set. `index`: less than config_count. */
bool config_set_value(struct config *config, size_t index, struct argument value,
                      struct config_error *error);
/* May the option be set to this value while the server runs? Some options accept only the value
 * that they have. */
bool config_may_change(const struct config *config, size_t index, struct argument value);

/* Writes the value as text, at most CONFIG_TEXT_MAX bytes with the zero after it. Returns the
 * size without the zero. */
size_t config_get(const struct config *config, size_t index, char *text);

/* The options with which the store is opened. */
void config_store_options(const struct config *config, struct dueq_options *options);

/* Does a port speak TLS? */
bool config_wants_tls(const struct config *config);

/* Prints "--name value (default)  what it is" for every option. */
void config_print_options(void);

#endif
