#include "server/live_config.h"

#include "server/acl/acl.h"
#include "server/http/dashboard.h"
#include "server/http/http.h"
#include "server/net/listener.h"
#include "server/net/tls.h"
#include "server/process/zones.h"
#include "server/net/user_sessions.h"
#include "server/users.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

enum { SPARE_DESCRIPTORS = 64 };

/* ---- the store */

static void set_limits(struct server *server)
{
    const struct config *config = &server->config;
    struct keys_limits limits = {.hash_entries = (uint64_t)config->hash_max_listpack_entries,
                                 .hash_value = (uint64_t)config->hash_max_listpack_value,
                                 .intset_entries = (uint64_t)config->set_max_intset_entries,
                                 .zset_entries = (uint64_t)config->zset_max_listpack_entries,
                                 .zset_value = (uint64_t)config->zset_max_listpack_value,
                                 .list_entries = UINT64_MAX};

    /* Below 0 it means 4 KiB and more, which no packed list reaches here. */
    if (config->list_max_listpack_size >= 0)
        limits.list_entries = (uint64_t)config->list_max_listpack_size;

    keys_set_limits(store_keys(server->store), &limits);
}

static void set_defaults(struct server *server)
{
    struct dueq_defaults defaults = {.lease = server->config.queue_lease,
                                     .retries = server->config.queue_retries,
                                     .crashes = server->config.queue_crashes,
                                     .backoff = server->config.queue_backoff,
                                     .backoff_max = server->config.queue_backoff_max};

    dueq_set_defaults(server->store, &defaults);
    dueq_set_zones(server->store, zones_offset, NULL);
    dueq_set_cron_limit(server->store, (uint64_t)server->config.cron_max);
    set_limits(server);
}

void server_apply_config(struct server *server)
{
    acl_log_trim(&server->acl->log, (uint64_t)server->config.acllog_max_len);
    log_set_level((enum log_level)server->config.loglevel);
    log_set_format((enum log_format)server->config.log_format);
    if (server->store == NULL)
        return;
    set_defaults(server);
    dueq_set_durability(server->store, (enum dueq_durability)server->config.durability,
                        (unsigned)server->config.durability_interval);
    dueq_set_auto_compact(server->store, (unsigned)server->config.auto_compact_percentage,
                          (uint64_t)server->config.auto_compact_min_size);
}

bool live_config_use_certificates(struct server *server, const struct config *config)
{
    struct config_error error;
    struct tls_context *made = tls_context_new(config, &error);

    if (made == NULL) {
        log_write(LOG_WARNING, "Failed to configure TLS: %s%s", error.text,
                  server->tls == NULL ? "" : " (the certificates of before stay in use)");
        return false;
    }
    tls_context_free(server->tls);
    server->tls = made;
    return true;
}

/* As in Redis, requirepass is the password of the default user when it changes. False: out of
 * memory. */
static bool take_password(struct server *server, const struct config *changed)
{
    const struct config *config = &server->config;
    struct dueq_slice before = dueq_slice(config->requirepass, config->requirepass_size);
    struct dueq_slice after = dueq_slice(changed->requirepass, changed->requirepass_size);

    if (dueq_slice_equal(before, after))
        return true;
    if (!acl_set_default_password(server->acl, after))
        return false;
    user_sessions_admit(server);
    return true;
}

bool server_take_config(struct server *server, const struct config *changed)
{
    if (!take_password(server, changed))
        return false;
    config_release(&server->config);
    server->config = *changed;
    server_apply_config(server);
    if (!dashboard_follow(server))
        log_write(LOG_WARNING, "No memory for the dashboard: it is off");
    return true;
}

/* ---- network and limits */

/* Of the HTTP port, besides a descriptor for each client. A client may be a session of the API:
 * then it needs two more. */
static rlim_t http_descriptors(const struct config *config)
{
    int64_t sessions =
        config->maxclients < HTTP_SESSIONS_MAX ? config->maxclients : HTTP_SESSIONS_MAX;

    return http_has_sessions(config) ? HTTP_FRESH_MAX + 2 * (rlim_t)sessions : 0;
}

/* How many clients so few descriptors allow. */
static int64_t clients_within(const struct config *config, rlim_t descriptors)
{
    rlim_t http = http_descriptors(config);
    rlim_t spare = SPARE_DESCRIPTORS + (http > 0 ? HTTP_FRESH_MAX : 0);
    rlim_t left = descriptors > spare ? descriptors - spare : 0;

    if (http > 0)
        left = left < 3 * HTTP_SESSIONS_MAX ? left / 3 : left - 2 * HTTP_SESSIONS_MAX;
    return left > 0 ? (int64_t)left : 1;
}

/* Raises the limit of descriptors for so many clients. Returns how many clients it allows. */
static int64_t raise_descriptors(const struct config *config)
{
    rlim_t wanted = (rlim_t)config->maxclients + SPARE_DESCRIPTORS + http_descriptors(config);
    struct rlimit limit, raised;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return config->maxclients;
    raised = limit;
    raised.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur >= wanted ? config->maxclients
                                    : clients_within(config, limit.rlim_cur);
}

void live_config_limit_clients(struct config *config)
{
    int64_t most = raise_descriptors(config);

    if (most >= config->maxclients)
        return;
    config->maxclients = most;
    log_write(LOG_WARNING, "maxclients is %" PRId64 ": the system allows no more (ulimit -n)",
              config->maxclients);
}

/* The ports come last: when one cannot be opened, certificates that are newer do no harm. */
static const char *follow_network(struct server *server, const struct config *changed,
                                  bool reload, struct config_error *error)
{
    if (!config_wants_tls(changed) || (server->tls != NULL && !reload) ||
        live_config_use_certificates(server, changed))
        return listeners_change(server, changed, error);
    snprintf(error->text, sizeof(error->text),
             "Unable to update TLS configuration. Check server logs.");
    return "tls";
}

const char *server_check_config(struct server *server, const struct config *changed,
                                bool reload, struct config_error *error)
{
    int64_t most = INT64_MAX;
    const char *why;

    if (!users_can_hash(changed, &why)) {
        snprintf(error->text, sizeof(error->text), "%s", why);
        return "acl-password-hash";
    }
    if (changed->maxclients != server->config.maxclients)
        most = raise_descriptors(changed);
    else if (http_has_sessions(changed) != http_has_sessions(&server->config))
        (void)raise_descriptors(changed); /* the clients were counted without the API */
    if (most >= changed->maxclients)
        return follow_network(server, changed, reload, error);
    snprintf(error->text, sizeof(error->text),
             "The operating system is not able to handle the specified number of clients, try "
             "with %" PRId64,
             most);
    return "maxclients";
}
