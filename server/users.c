#include "server/users.h"

#include "server/acl/acl_file.h"
#include "server/inheritance.h"

#include <utlist.h>

static bool define_users(struct server *server, struct buffer *why)
{
    const struct config *config = &server->config;
    enum acl_channels channels = (enum acl_channels)config->acl_pubsub_default;
    const struct config_user *user;
    struct acl *acl;

    DL_FOREACH(config->users, user)
        if (!acl_file_define(server->acl, user->words, user->count, channels, why))
            return false;
    if (config->aclfile[0] == '\0')
        return true;
    acl = acl_file_read(config->aclfile, channels, why);
    if (acl == NULL)
        return false;
    acl_free(server->acl);
    server->acl = acl;
    return true;
}

void server_warn_of_users(const struct server *server)
{
    const struct acl_user *user = acl_default(server->acl);

    if (server->config.requirepass_size > 0 && server->config.aclfile[0] != '\0' &&
        user->enabled && user->no_password)
        log_write(LOG_WARNING, "requirepass has no effect, because aclfile defines the users, "
                               "and its user default has no password: every client may do "
                               "what that user may. Give it a password there, or turn it off");
}

bool users_can_hash(const struct config *config, const char **ret_why)
{
    *ret_why = "this dueq was built without libargon2 (make ARGON2=no)";
    return config->acl_password_hash == PASSWORD_SHA256 || acl_argon_is_there();
}

bool users_open(struct server *server)
{
    const struct config *config = &server->config;
    const char *why_not;
    struct buffer why;
    bool good;

    if (config->users != NULL && config->aclfile[0] != '\0') {
        log_write(LOG_WARNING,
                  "Configuring dueq with users defined in its configuration file and at the "
                  "same setting an ACL file path is invalid: define users in one of them only");
        return false;
    }
    if (!users_can_hash(config, &why_not)) {
        log_write(LOG_WARNING, "acl-password-hash: %s", why_not);
        return false;
    }
    server->acl = acl_new();
    server->hasher = hasher_new(server_wake, server);
    if (server->acl == NULL || server->hasher == NULL ||
        !acl_set_default_password(server->acl,
                                  dueq_slice(config->requirepass, config->requirepass_size)))
        return false;
    buffer_init(&why, SIZE_MAX);
    good = define_users(server, &why);
    if (!good)
        log_write(LOG_WARNING, "Aborting start because of ACL errors: %.*s",
                  (int)buffer_size(&why), buffer_size(&why) > 0 ? buffer_content(&why) : "");
    buffer_release(&why);
    config_release_users(&server->config);
    good = good && inheritance_take_users(server);
    if (good)
        server_warn_of_users(server);
    return good;
}
