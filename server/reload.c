#include "server/reload.h"

#include "server/acl/acl_file.h"
#include "server/acl/hasher.h"
#include "server/net/user_sessions.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_ROOM = 512 };

static struct {
    struct config config; /* as it was read last */
    bool is_known;
} last_read;

void reload_begin(const struct config *config)
{
    last_read.is_known = config_copy(config, &last_read.config);
}

const struct config *reload_last_read(void)
{
    return last_read.is_known ? &last_read.config : NULL;
}

/* ---- options */

struct reading {
    struct server *server;
    struct config fresh;      /* as it is read now */
    struct config changed;    /* of the server, with what has changed in the files */
    bool is_fresh;            /* it could be read */
    char waiting[NAMES_ROOM]; /* names of options that need a restart */
};

static bool is_same(const struct config *one, const struct config *other, size_t index)
{
    char text[CONFIG_TEXT_MAX], other_text[CONFIG_TEXT_MAX];
    size_t size = config_get(one, index, text);

    return config_get(other, index, other_text) == size && memcmp(text, other_text, size) == 0;
}

static void add_waiting(struct reading *reading, const char *name)
{
    size_t used = strlen(reading->waiting);

    snprintf(reading->waiting + used, sizeof(reading->waiting) - used, "%s%s",
             used > 0 ? ", " : "", name);
}

/* False: the log says why. An option that has an error in it was refused before. */
static bool take_option(struct reading *reading, size_t index)
{
    char text[CONFIG_TEXT_MAX];
    struct argument value = {text, config_get(&reading->fresh, index, text)};
    struct config_error error;

    if (!config_may_change(&reading->server->config, index, value))
        add_waiting(reading, config_name(index));
    else if (!config_set_value(&reading->changed, index, value, &error)) {
        log_write(LOG_WARNING, "Nothing of the configuration is taken over: %s: %s",
                  config_name(index), error.text);
        return false;
    }
    return true;
}

static bool take_options(struct reading *reading)
{
    for (size_t i = 0; i < config_count(); i++)
        if (!config_is_alias(i) && !is_same(&reading->fresh, &last_read.config, i) &&
            !is_same(&reading->fresh, &reading->server->config, i) && !take_option(reading, i))
            return false;
    if (reading->fresh.users_hash != last_read.config.users_hash)
        add_waiting(reading, "user");
    return true;
}

/* Before the server has them. A password is not written. */
static void log_changes(const struct reading *reading)
{
    const struct config *before = &reading->server->config, *after = &reading->changed;
    char text[CONFIG_TEXT_MAX], other[CONFIG_TEXT_MAX];

    for (size_t i = 0; i < config_count(); i++) {
        if (config_is_alias(i) || is_same(before, after, i))
            continue;
        config_get(before, i, text);
        config_get(after, i, other);
        if (config_is_secret(i))
            log_write(LOG_NOTICE, "Changed by the configuration: %s", config_name(i));
        else
            log_write(LOG_NOTICE, "Changed by the configuration: %s '%.200s' -> '%.200s'",
                      config_name(i), text, other);
    }
    if (reading->waiting[0] != '\0')
        log_write(LOG_WARNING,
                  "Changed in the configuration, but to be read at a start only: %s",
                  reading->waiting);
}

/* False: the log says why, and it is released. */
static bool read_files(struct config *fresh, const struct config *config)
{
    struct config_error error;

    config_init(fresh);
    if (config->is_from_stdin)
        snprintf(error.text, sizeof(error.text), "it came from standard input");
    else if (config_read_all(fresh, config->argc, config->argv, &error))
        return true;
    log_write(LOG_WARNING, "The configuration is not read again: %s", error.text);
    config_release(fresh);
    return false;
}

void server_config_saved(struct server *server)
{
    struct config fresh;

    if (!last_read.is_known || !read_files(&fresh, &server->config))
        return;
    config_release(&last_read.config);
    last_read.config = fresh;
}

/* reading->changed has what changed in the files; after an error there nothing. False: no
 * memory. */
static bool read_changes(struct reading *reading, const struct config *config)
{
    if (!config_copy(config, &reading->changed))
        return false;
    reading->is_fresh = last_read.is_known && read_files(&reading->fresh, config);
    if (!reading->is_fresh || take_options(reading))
        return true;
    config_release(&reading->fresh);
    config_release(&reading->changed);
    *reading = (struct reading){.server = reading->server};
    return config_copy(config, &reading->changed);
}

/* Certificates are read also when nothing else has changed. False: the log says why not. */
static bool use_changes(struct reading *reading)
{
    struct server *server = reading->server;
    struct config_error error;
    const char *refused = server_check_config(server, &reading->changed, true, &error);

    if (refused != NULL) {
        log_write(LOG_WARNING, "Nothing of the configuration is taken over: %s: %s", refused,
                  error.text);
        return false;
    }
    log_changes(reading);
    if (config_wants_tls(&reading->changed))
        log_write(LOG_NOTICE, "The certificates for TLS were read again");
    return server_take_config(server, &reading->changed);
}

static void reload_config(struct server *server)
{
    struct reading reading = {.server = server};
    bool used;

    if (!read_changes(&reading, &server->config)) {
        log_write(LOG_WARNING, "The configuration is not read again: out of memory");
        return;
    }
    used = use_changes(&reading);
    if (!used)
        config_release(&reading.changed);
    if (!reading.is_fresh)
        return;
    config_release(used ? &last_read.config : &reading.fresh);
    if (used)
        last_read.config = reading.fresh;
}

/* ---- users */

enum { LINES_AT_ONCE = 100 }; /* as of ACL LOAD */

static struct acl_reading *users; /* NULL: none are read */
static uint64_t files;            /* hasher_files, when that began */

/* A file that has not changed does not undo ACL SETUSER, and cuts off no client. */
static void take_users(struct server *server, struct acl *loaded)
{
    if (loaded->file_hash == server->acl->file_hash) {
        acl_discard(server->acl, loaded);
        return;
    }
    user_sessions_replace(server, loaded, NULL, true);
    server_warn_of_users(server);
    log_write(LOG_NOTICE, "The users were read again");
}

static void end_users(struct server *server, struct acl *loaded, const struct buffer *why)
{
    if (loaded != NULL)
        take_users(server, loaded);
    else
        log_write(LOG_WARNING, "The users are not read again: %.*s", (int)buffer_size(why),
                  buffer_size(why) > 0 ? buffer_content(why) : "");
}

static void abandon_users(void)
{
    if (users != NULL)
        acl_file_abandon(users);
    users = NULL;
}

/* False: there are none to read; the log says why, if there should be. */
static bool begin_users(const struct server *server)
{
    const struct config *config = &server->config;
    struct buffer why;

    abandon_users();
    if (config->aclfile[0] == '\0')
        return false;
    buffer_init(&why, SIZE_MAX);
    files = hasher_files(server->hasher);
    users = acl_file_open(config->aclfile, (enum acl_channels)config->acl_pubsub_default, &why);
    if (users == NULL)
        end_users(NULL, NULL, &why);
    buffer_release(&why);
    return users != NULL;
}

static void log_end(void)
{
    log_write(LOG_NOTICE, "SIGHUP: all is read again that may change");
}

/* What was read may be older than a file that ACL SAVE has written since: it is read again. */
void reload_turn(struct server *server)
{
    struct acl_reading *reading = users;
    struct buffer why;

    if (!reload_is_busy(server) || !acl_file_read_on(users, LINES_AT_ONCE))
        return;
    if (hasher_has_written(server->hasher, files)) {
        if (!begin_users(server))
            log_end();
        return;
    }
    users = NULL;
    buffer_init(&why, SIZE_MAX);
    end_users(server, acl_file_end(reading, &why), &why);
    buffer_release(&why);
    log_end();
}

bool reload_is_busy(const struct server *server)
{
    return users != NULL && !hasher_is_writing(server->hasher);
}

void reload_run(struct server *server)
{
    log_reopen();
    reload_config(server);
    if (!begin_users(server))
        log_end();
}

void reload_end(void)
{
    abandon_users();
    if (last_read.is_known)
        config_release(&last_read.config);
    last_read.is_known = false;
}
