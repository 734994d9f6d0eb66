#include "server/config/config_options.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(struct config, field)
#define MIB       ((int64_t)1 << 20)
#define GIB       ((int64_t)1 << 30)
#define TIB       ((int64_t)1 << 40)

#define TEXT(name, field, initial, change, what)                                               \
    {                                                                                          \
        name, NULL, &config_kind_text, AT(field), initial, 0, 0, change, what                  \
    }
#define OF_KIND(kind, name, field, initial, change, what)                                      \
    {                                                                                          \
        name, NULL, &(kind), AT(field), initial, 0, 0, change, what                            \
    }
#define NUMBER(name, field, initial, least, most, change, what)                                \
    {                                                                                          \
        name, NULL, &config_kind_number, AT(field), initial, least, most, change, what         \
    }
#define BYTES(name, field, initial, least, most, change, what)                                 \
    {                                                                                          \
        name, NULL, &config_kind_bytes, AT(field), initial, least, most, change, what          \
    }
/* Options of Redis for which dueq has one value only. */
#define FIXED(name, value)                                                                     \
    {                                                                                          \
        name, NULL, &config_kind_fixed, 0, value, 0, 0, CHANGE_TO_SAME, NULL                   \
    }
#define FIXED_FROM_START(name, value)                                                          \
    {                                                                                          \
        name, NULL, &config_kind_fixed, 0, value, 0, 0, CHANGE_NEVER, NULL                     \
    }
#define ENCODING(kind, name, field, initial, least, most)                                      \
    {                                                                                          \
        name, NULL, &(kind), AT(field), initial, least, most, CHANGE_FREELY, NULL              \
    }
#define ALIAS(name, of)                                                                        \
    {                                                                                          \
        name, of, NULL, 0, NULL, 0, 0, CHANGE_NEVER, NULL                                      \
    }

const struct option config_options[] = {
    {"bind", NULL, &config_kind_words, AT(bind), "127.0.0.1 -::1", 0, 16, CHANGE_FREELY,
     "addresses; *: all of IPv4; ::*: all of IPv6; - before: may be missing"},
    NUMBER("port", port, "6379", 0, 65535, CHANGE_FREELY, "TCP port; 0: none"),
    TEXT("unixsocket", unixsocket, "", CHANGE_NEVER, "path of a unix socket"),
    {"unixsocketperm", NULL, &config_kind_octal, AT(unixsocketperm), "0", 0, 0777, CHANGE_NEVER,
     "its mode, octal"},
    TEXT("unixsocketgroup", unixsocketgroup, "", CHANGE_NEVER, "its group, name or number"),
    NUMBER("tls-port", tls_port, "0", 0, 65535, CHANGE_FREELY, "port for TLS; 0: none"),
    TEXT("tls-cert-file", tls_cert_file, "", CHANGE_FREELY, "certificate and its chain, PEM"),
    TEXT("tls-key-file", tls_key_file, "", CHANGE_FREELY, "its key, PEM"),
    TEXT("tls-key-file-pass", tls_key_file_pass, "", CHANGE_FREELY, "password of the key"),
    TEXT("tls-ca-cert-file", tls_ca_cert_file, "", CHANGE_FREELY,
         "authorities of the clients' certificates, PEM"),
    TEXT("tls-ca-cert-dir", tls_ca_cert_dir, "", CHANGE_FREELY,
         "the same as a directory of openssl rehash"),
    OF_KIND(config_kind_tls_clients, "tls-auth-clients", tls_auth_clients, "yes", CHANGE_FREELY,
            "must clients have a certificate: no yes optional"),
    TEXT("tls-protocols", tls_protocols, "", CHANGE_FREELY,
         "of TLSv1 TLSv1.1 TLSv1.2 TLSv1.3; empty: the last two"),
    TEXT("tls-ciphers", tls_ciphers, "", CHANGE_FREELY, "up to TLS 1.2; empty: OpenSSL's"),
    TEXT("tls-ciphersuites", tls_ciphersuites, "", CHANGE_FREELY, "of TLS 1.3"),
    OF_KIND(config_kind_yesno, "tls-prefer-server-ciphers", tls_prefer_server_ciphers, "no",
            CHANGE_FREELY, "the server's order counts, not the client's"),
    OF_KIND(config_kind_yesno, "tls-session-caching", tls_session_caching, "yes", CHANGE_FREELY,
            "clients may resume sessions"),
    NUMBER("tls-session-cache-size", tls_session_cache_size, "20480", 0, INT_MAX, CHANGE_FREELY,
           "sessions; 0: no bound"),
    NUMBER("tls-session-cache-timeout", tls_session_cache_timeout, "300", 0, INT_MAX,
           CHANGE_FREELY, "s"),
    TEXT("tls-dh-params-file", tls_dh_params_file, "", CHANGE_FREELY,
         "for DH ciphers up to TLS 1.2; empty: OpenSSL's"),
    TEXT("dir", dir, "./data", CHANGE_TO_SAME, "data directory"),
    TEXT("run-as", run_as, "", CHANGE_NEVER,
         "USER or USER:GROUP to become, from root, when the ports are open"),
    TEXT("backup-dir", backup_dir, "", CHANGE_NEVER,
         "where BACKUP makes backups; empty: nowhere"),
    TEXT("archive-dir", archive_dir, "", CHANGE_NEVER,
         "where segments of the journal are kept for restores; empty: nowhere"),
    BYTES("archive-max-lag", archive_max_lag, "1gb", 0, INT64_MAX, CHANGE_NEVER,
          "segments that wait for the archive before the oldest are given up; 0: no limit"),
    NUMBER("archive-interval", archive_interval, "60", 0, 86400, CHANGE_NEVER,
           "s after which a segment that is not full is archived, too; 0: never"),
    OF_KIND(config_kind_yesno, "sandbox", sandbox, "no", CHANGE_NEVER,
            "give up system calls that a server has no use for"),
    OF_KIND(config_kind_secret, "requirepass", requirepass, "", CHANGE_FREELY,
            "password of the default user"),
    TEXT("aclfile", aclfile, "", CHANGE_NEVER, "file of users, for ACL LOAD and ACL SAVE"),
    NUMBER("acllog-max-len", acllog_max_len, "128", 0, INT64_MAX, CHANGE_FREELY,
           "entries of ACL LOG"),
    OF_KIND(config_kind_channels, "acl-pubsub-default", acl_pubsub_default, "resetchannels",
            CHANGE_FREELY, "channels of a new user: allchannels | resetchannels"),
    OF_KIND(config_kind_password_hash, "acl-password-hash", acl_password_hash, "sha256",
            CHANGE_FREELY, "what ACL SETUSER makes of a password: sha256 | argon2id"),
    NUMBER("auth-delay", auth_delay, "100", 0, 60000, CHANGE_FREELY,
           "ms that the reply to a failed login is late, from the fourth of an address on; 0: "
           "off"),
    OF_KIND(config_kind_yesno, "protected-mode", protected_mode, "yes", CHANGE_FREELY,
            "without a password: serve this machine only"),
    NUMBER("maxclients", maxclients, "10000", 1, UINT32_MAX, CHANGE_FREELY, "connections"),
    NUMBER("timeout", timeout, "0", 0, INT_MAX, CHANGE_FREELY, "s of idleness; 0: for ever"),
    NUMBER("tcp-backlog", tcp_backlog, "511", 0, INT_MAX, CHANGE_NEVER, "of listen(2)"),
    NUMBER("tcp-keepalive", tcp_keepalive, "300", 0, INT_MAX, CHANGE_FREELY, "s; 0: off"),
    OF_KIND(config_kind_level, "loglevel", loglevel, "notice", CHANGE_FREELY,
            "debug verbose notice warning"),
    TEXT("logfile", logfile, "", CHANGE_NEVER, "path; empty: standard output"),
    OF_KIND(config_kind_log_format, "log-format", log_format, "text", CHANGE_FREELY,
            "text | json, of logfile and standard output"),
    OF_KIND(config_kind_yesno, "syslog-enabled", syslog_enabled, "no", CHANGE_NEVER,
            "the log goes to syslog, too"),
    TEXT("syslog-ident", syslog_ident, "dueq", CHANGE_NEVER, "name of the server there"),
    OF_KIND(config_kind_facility, "syslog-facility", syslog_facility, "local0", CHANGE_NEVER,
            "user | local0 .. local7"),
    OF_KIND(config_kind_yesno, "journald-enabled", journald_enabled, "no", CHANGE_NEVER,
            "the log goes to systemd-journald, with fields"),
    OF_KIND(config_kind_yesno, "daemonize", daemonize, "no", CHANGE_NEVER,
            "go to the background"),
    TEXT("pidfile", pidfile, "", CHANGE_NEVER, "path"),
    BYTES("proto-max-bulk-len", proto_max_bulk_len, "512mb", MIB, INT64_MAX, CHANGE_FREELY,
          "largest argument"),
    BYTES("client-query-buffer-limit", client_query_buffer_limit, "1gb", MIB, INT64_MAX,
          CHANGE_FREELY, "largest request"),
    OF_KIND(config_kind_output_limits, "client-output-buffer-limit", output_limits,
            "normal 1gb 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60", CHANGE_FREELY,
            "unread replies at which a client is closed, by class"),
    OF_KIND(config_kind_share, "maxmemory-clients", maxmemory_clients, "1gb", CHANGE_FREELY,
            "all input and output of clients together, or N% of the machine's memory; 0: no "
            "bound"),
    NUMBER("pipeline-limit", pipeline_limit, "1000", 1, 1000000, CHANGE_FREELY,
           "requests of one client in one turn"),
    NUMBER("shutdown-timeout", shutdown_timeout, "10", 0, INT_MAX, CHANGE_FREELY,
           "s that a stop waits for replies and the checkpoint"),
    NUMBER("slowlog-log-slower-than", slowlog_slower_than, "10000", -1, INT64_MAX,
           CHANGE_FREELY, "usec; -1: nothing"),
    NUMBER("slowlog-max-len", slowlog_max_len, "128", 0, INT64_MAX, CHANGE_FREELY, "entries"),
    NUMBER("latency-monitor-threshold", latency_threshold, "0", 0, INT64_MAX, CHANGE_FREELY,
           "ms; 0: nothing"),
    NUMBER("http-port", http_port, "0", 0, 65535, CHANGE_NEVER,
           "of /metrics, /healthz, /readyz and the API; 0: none"),
    {"http-bind", NULL, &config_kind_words, AT(http_bind), "127.0.0.1 -::1", 0, 16,
     CHANGE_NEVER, "its addresses, as of bind; /metrics asks for no password"},
    OF_KIND(config_kind_yesno, "http-tls", http_tls, "no", CHANGE_NEVER,
            "it speaks TLS only, with the certificates and rules of the tls- options"),
    OF_KIND(
        config_kind_http_tls_clients, "http-tls-auth-clients", http_tls_auth_clients, "same",
        CHANGE_FREELY,
        "yes | no | optional: must its clients have certificates; same: as tls-auth-clients"),
    OF_KIND(config_kind_http_api, "http-api", http_api, "no", CHANGE_FREELY,
            "no | read | yes: the HTTP/JSON API there, for reading, or for all"),
    {"http-hosts", NULL, &config_kind_words, AT(http_hosts), "", 0, 16, CHANGE_FREELY,
     "names that its clients may use for the server, besides localhost and addresses; *: any"},
    OF_KIND(config_kind_yesno, "dashboard", dashboard, "no", CHANGE_FREELY,
            "a web page there, under /ui/, with logins of its own"),
    OF_KIND(config_kind_yesno, "dashboard-history", dashboard_history, "yes", CHANGE_FREELY,
            "what it shows of the last day, also after a restart"),
    NUMBER("http-metrics-topics", http_metrics_topics, "100", 0, 1000, CHANGE_FREELY,
           "topics with series of their own in /metrics: those used last"),
    OF_KIND(config_kind_yesno, "enable-debug-command", enable_debug_command, "no", CHANGE_NEVER,
            "allow DEBUG SLEEP"),
    OF_KIND(config_kind_events, "notify-keyspace-events", notify_keyspace_events, "",
            CHANGE_FREELY, "of Ag$lshzxeKEtmdn, as in Redis"),
    OF_KIND(config_kind_profile, "profile", profile, "default", CHANGE_NEVER,
            "default | edge: values of other options, for a small device"),
    OF_KIND(config_kind_yesno, "drop-pages", drop_pages, "no", CHANGE_NEVER,
            "pages of data.mdb leave the process's memory when they were read"),
    OF_KIND(config_kind_durability, "durability", durability, "always", CHANGE_FREELY,
            "always | interval MS | none"),
    BYTES("memtable-size", memtable_size, "40mb", 64 * 1024, DUEQ_MEMTABLE_MAX, CHANGE_NEVER,
          "changes held in RAM before a checkpoint; as a rule 3 times that at most is used, "
          "with the filter of ids; 4 times while one is late"),
    BYTES("segment-size", segment_size, "64mb", MIB, GIB, CHANGE_NEVER,
          "of the journal's files"),
    BYTES("journal-size", journal_size, "512mb", 2 * MIB, TIB, CHANGE_NEVER,
          "journal length that brings a checkpoint"),
    BYTES("map-size", map_size, sizeof(void *) == 8 ? "1tb" : "512mb", 8 * MIB, DUEQ_MAP_MAX,
          CHANGE_NEVER, "most that data.mdb can grow to"),
    BYTES("disk-reserve", disk_reserve, "256mb", 0, TIB, CHANGE_NEVER,
          "free disk below which pushes are refused"),
    NUMBER("high-water-percent", high_water_percent, "90", 10, 99, CHANGE_NEVER,
           "of the map, above which pushes are refused"),
    NUMBER("auto-compact-percentage", auto_compact_percentage, "100", 0, 1000000, CHANGE_FREELY,
           "free pages of data.mdb, of those in use, that bring a compaction; 0: none"),
    BYTES("auto-compact-min-size", auto_compact_min_size, "64mb", 0, TIB, CHANGE_FREELY,
          "of data.mdb, from which it is compacted"),
    OF_KIND(config_kind_duration, "queue-lease", queue_lease, "60s", CHANGE_FREELY,
            "default LEASE"),
    NUMBER("queue-retries", queue_retries, "20", 0, INT_MAX, CHANGE_FREELY, "default RETRIES"),
    NUMBER("queue-crashes", queue_crashes, "3", 0, INT_MAX, CHANGE_FREELY, "default CRASHES"),
    OF_KIND(config_kind_duration, "queue-backoff", queue_backoff, "1s", CHANGE_FREELY,
            "default BACKOFF"),
    OF_KIND(config_kind_duration, "queue-backoff-max", queue_backoff_max, "1h", CHANGE_FREELY,
            "and its limit"),
    NUMBER("cron-max", cron_max, "10000", 0, 100000, CHANGE_FREELY,
           "entries of Q.CRON that there may be"),

    /* Options that clients ask for, with the value that is true here. appendfsync follows
     * durability. */
    NUMBER("databases", databases, "16", 16, 16, CHANGE_NEVER, NULL),
    OF_KIND(config_kind_appendfsync, "appendfsync", durability, "always", CHANGE_FREELY, NULL),
    FIXED("appendonly", "yes"),
    FIXED("save", ""),
    FIXED("no-appendfsync-on-rewrite", "no"),
    FIXED("stop-writes-on-bgsave-error", "yes"),
    FIXED("maxmemory", "0"),
    FIXED("maxmemory-policy", "noeviction"),
    FIXED("maxmemory-samples", "5"),
    FIXED("maxmemory-eviction-tenacity", "10"),
    FIXED("lfu-log-factor", "10"),
    FIXED("lfu-decay-time", "1"),
    FIXED("lazyfree-lazy-eviction", "yes"),
    FIXED("lazyfree-lazy-expire", "yes"),
    FIXED("lazyfree-lazy-server-del", "yes"),
    FIXED("lazyfree-lazy-user-del", "yes"),
    FIXED("lazyfree-lazy-user-flush", "yes"),
    FIXED("activedefrag", "no"),
    FIXED("tls-cluster", "no"),
    FIXED("tls-replication", "no"),
    FIXED("tls-client-cert-file", ""),
    FIXED("tls-client-key-file", ""),
    FIXED("tls-client-key-file-pass", ""),
    FIXED("list-compress-depth", "0"),
    FIXED("min-replicas-to-write", "0"),
    ALIAS("min-slaves-to-write", "min-replicas-to-write"),
    FIXED("replica-read-only", "yes"),
    ALIAS("slave-read-only", "replica-read-only"),
    FIXED("replica-serve-stale-data", "yes"),
    ALIAS("slave-serve-stale-data", "replica-serve-stale-data"),
    FIXED_FROM_START("replicaof", ""),
    ALIAS("slaveof", "replicaof"),
    FIXED_FROM_START("cluster-enabled", "no"),
    FIXED_FROM_START("io-threads", "1"),
    FIXED_FROM_START("dbfilename", "data.mdb"),
    FIXED_FROM_START("appenddirname", "journal"),

    /* The limits of Redis' small encodings (keys_set_limits). */
    ENCODING(config_kind_number, "list-max-listpack-size", list_max_listpack_size, "-2",
             INT_MIN, INT_MAX),
    ALIAS("list-max-ziplist-size", "list-max-listpack-size"),
    ENCODING(config_kind_number, "hash-max-listpack-entries", hash_max_listpack_entries, "512",
             0, INT64_MAX),
    ALIAS("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    ENCODING(config_kind_bytes, "hash-max-listpack-value", hash_max_listpack_value, "64", 0,
             INT64_MAX),
    ALIAS("hash-max-ziplist-value", "hash-max-listpack-value"),
    ENCODING(config_kind_number, "set-max-intset-entries", set_max_intset_entries, "512", 0,
             INT64_MAX),
    ENCODING(config_kind_number, "zset-max-listpack-entries", zset_max_listpack_entries, "128",
             0, INT64_MAX),
    ALIAS("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    ENCODING(config_kind_bytes, "zset-max-listpack-value", zset_max_listpack_value, "64", 0,
             INT64_MAX),
    ALIAS("zset-max-ziplist-value", "zset-max-listpack-value"),
};

const size_t config_option_count = sizeof(config_options) / sizeof(config_options[0]);

size_t config_count(void)
{
    return config_option_count;
}

const char *config_name(size_t index)
{
    return config_options[index].name;
}

bool config_is_alias(size_t index)
{
    return config_options[index].alias_of != NULL ||
           config_options[index].kind == &config_kind_appendfsync;
}

bool config_is_secret(size_t index)
{
    return config_options[index].kind == &config_kind_secret ||
           config_options[index].offset == AT(tls_key_file_pass);
}

int config_find(struct argument name)
{
    for (size_t i = 0; i < config_option_count; i++)
        if (argument_is(name, config_options[i].name))
            return (int)i;
    return -1;
}

const struct option *config_option_at(size_t index)
{
    const char *name = config_options[index].alias_of;

    if (name == NULL)
        return &config_options[index];
    return &config_options[config_find((struct argument){name, strlen(name)})];
}
