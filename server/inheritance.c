#include "server/inheritance.h"

#include "server/acl/acl_file.h"
#include "server/process/handover.h"
#include "server/reload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Options, as lines of a configuration: as they were read, and as they have become since. */
#define READ  "options-read"
#define SINCE "options-since"
/* All users; before them a line that says of which files they are. */
#define USERS "users"

/* Of what the users that were read depend on. */
struct origin {
    uint64_t lines;    /* of the configuration */
    uint64_t file;     /* aclfile */
    uint64_t password; /* requirepass */
};

static struct origin origin_of(const struct server *server)
{
    const struct config *config = &server->config, *read = reload_last_read();

    return (struct origin){.lines = read == NULL ? 0 : read->users_hash,
                           .file = config->aclfile[0] == '\0' ? 0 : server->acl->file_hash,
                           .password =
                               XXH3_64bits(config->requirepass, config->requirepass_size)};
}

/* ---- leaving */

static bool leave(const char *kind, const struct buffer *text)
{
    return !text->overflowed &&
           handover_leave(kind, buffer_size(text) == 0 ? "" : buffer_content(text),
                          buffer_size(text));
}

static bool keep_changes(const char *kind, const struct config *config,
                         const struct config *other)
{
    struct buffer text;
    bool good;

    buffer_init(&text, SIZE_MAX);
    good = config_write_changes(config, other, &text) && leave(kind, &text);
    buffer_release(&text);
    return good;
}

static bool keep_users(const struct server *server)
{
    struct origin origin = origin_of(server);
    struct buffer text;
    char line[80];
    bool good;

    buffer_init(&text, SIZE_MAX);
    snprintf(line, sizeof(line), "%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", origin.lines,
             origin.file, origin.password);
    buffer_append(&text, line, strlen(line));
    acl_write(server->acl, false, &text);
    good = leave(USERS, &text);
    buffer_release(&text);
    return good;
}

bool inheritance_leave(const struct server *server)
{
    const struct config *read = reload_last_read();

    return read != NULL && keep_changes(READ, read, &server->config) &&
           keep_changes(SINCE, &server->config, read) && keep_users(server);
}

/* ---- taking over: options */

/* *ret_config: the configuration with what the lines say. False: the log says why. */
static bool read_options(const char *kind, const struct config *config,
                         struct config *ret_config)
{
    struct config_error error = {"out of memory"};
    bool failed, good = config_copy(config, ret_config);
    size_t size = 0;
    char *lines = handover_read(kind, &size, &failed);

    if (good && lines != NULL)
        good = config_read_lines(ret_config, lines, size, "CONFIG SET", &error);
    free(lines);
    if (good && !failed)
        return true;
    log_write(LOG_WARNING, "The options of the program of before cannot be kept: %s",
              error.text);
    return false;
}

static bool is_same(const struct config *one, const struct config *other, size_t index)
{
    char text[CONFIG_TEXT_MAX], other_text[CONFIG_TEXT_MAX];
    size_t size = config_get(one, index, text);

    return config_get(other, index, other_text) == size && memcmp(text, other_text, size) == 0;
}

/* False: the log says why. */
static bool take(struct config *config, const struct config *since, size_t index)
{
    char text[CONFIG_TEXT_MAX];
    struct argument value = {text, config_get(since, index, text)};
    struct config_error error;

    if (!config_set_value(config, index, value, &error)) {
        log_write(LOG_WARNING, "%s of the program of before cannot be kept: %s",
                  config_name(index), error.text);
        return false;
    }
    log_write(LOG_NOTICE, "Kept from the program of before: %s", config_name(index));
    return true;
}

/* What the files say differently from before, they have been made to say since. */
static bool take_all(struct config *config, const struct config *read,
                     const struct config *since)
{
    bool good = true;

    for (size_t i = 0; good && i < config_count(); i++)
        if (!config_is_alias(i) && is_same(config, read, i) && !is_same(config, since, i))
            good = take(config, since, i);
    return good;
}

bool inheritance_take_options(struct server *server)
{
    struct config read, since;
    bool good;

    if (!handover_is_pending())
        return true;
    if (!read_options(READ, &server->config, &read))
        return false;
    if (!read_options(SINCE, &server->config, &since)) {
        config_release(&read);
        return false;
    }
    good = take_all(&server->config, &read, &since);
    config_release(&read);
    config_release(&since);
    return good;
}

/* ---- taking over: users */

/* False: they are not of the files that were read now, or the log says why they cannot be read:
 * *ret_failed. */
static bool read_users(struct server *server, char *text, size_t size, bool *ret_failed)
{
    struct origin before = {0}, now = origin_of(server);
    struct dueq_slice password =
        dueq_slice(server->config.requirepass, server->config.requirepass_size);
    char *end = strchr(text, '\n');
    struct buffer why;
    struct acl *acl;

    *ret_failed = end == NULL || sscanf(text, "%" SCNx64 " %" SCNx64 " %" SCNx64, &before.lines,
                                        &before.file, &before.password) != 3;
    if (*ret_failed || before.lines != now.lines || before.file != now.file)
        return false;
    buffer_init(&why, SIZE_MAX);
    acl = acl_file_read_text(end + 1, size - (size_t)(end + 1 - text), &why);
    *ret_failed = acl == NULL ||
                  (before.password != now.password && !acl_set_default_password(acl, password));
    if (*ret_failed)
        log_write(LOG_WARNING, "The users of the program of before cannot be kept: %.*s",
                  (int)buffer_size(&why), buffer_size(&why) > 0 ? buffer_content(&why) : "");
    buffer_release(&why);
    if (*ret_failed) {
        acl_free(acl);
        return false;
    }
    acl->file_hash = server->acl->file_hash;
    acl_free(server->acl);
    server->acl = acl;
    return true;
}

bool inheritance_take_users(struct server *server)
{
    bool failed;
    size_t size;
    char *text = handover_read(USERS, &size, &failed);

    if (text == NULL)
        return !failed;
    if (!read_users(server, text, size, &failed) && !failed)
        log_write(LOG_NOTICE, "The users are those of the files, which have changed");
    free(text);
    return !failed;
}
