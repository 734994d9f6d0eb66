#include "server/http/web_rights.h"

#include "protocol/json_text.h"
#include "server/acl/acl_check.h"
#include "server/http/api_routes.h"

#include <string.h>

/* What is asked for without a route of its own. */
static const char *const others[] = {"INFO", "CLIENT LIST", "SLOWLOG GET"};

enum { WORDS_MOST = 2 };

struct listing {
    const struct acl_user *user;
    bool read_only, may_write;
    uint64_t seen[COMMANDS_MAX / 64]; /* by command_number */
    size_t denied;
    struct buffer *out;
};

/* Of "Q.DEAD {topic} LIST" the command or subcommand. */
static const struct command *command_of(const char *text)
{
    struct argument words[WORDS_MOST];
    struct request request = {.arguments = words, .count = 0};

    while (request.count < WORDS_MOST && *(text += strspn(text, " ")) != '\0') {
        words[request.count] = (struct argument){text, strcspn(text, " ")};
        text += words[request.count++].size;
    }
    return command_find_request(&request);
}

static bool is_new(struct listing *listing, const struct command *command)
{
    size_t number = command_number(command);
    uint64_t bit = (uint64_t)1 << (number % 64);
    bool is_new = (listing->seen[number / 64] & bit) == 0;

    listing->seen[number / 64] |= bit;
    return is_new;
}

static void look(struct listing *listing, const char *text, bool is_change)
{
    const struct command *command = command_of(text);
    const char *name;

    if (command == NULL)
        return;
    if (acl_may_run(listing->user, command) && !(is_change && listing->read_only)) {
        listing->may_write |= is_change;
        return;
    }
    if (!is_new(listing, command))
        return;
    name = command_full_name(command);
    if (listing->denied++ > 0)
        buffer_append(listing->out, ",", 1);
    json_write_text(listing->out, name, strlen(name));
}

void web_rights_write(const struct acl_user *user, bool read_only, struct buffer *out)
{
    struct listing listing = {.user = user, .read_only = read_only, .out = out};
    const char *write;
    size_t count;
    const struct route *routes = api_routes(&count);

    buffer_append(out, "{\"denied\":[", 11);
    for (size_t i = 0; i < count; i++)
        look(&listing, routes[i].command, routes[i].method != HTTP_GET);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        look(&listing, others[i], false);
    write = listing.may_write ? "],\"write\":true}" : "],\"write\":false}";
    buffer_append(out, write, strlen(write));
}

bool web_rights_allow(const struct acl_user *user, const char *command)
{
    return acl_may_run(user, command_of(command));
}

bool web_rights_allow_topic(const struct acl_user *user, struct dueq_slice topic)
{
    const struct argument words[] = {{"q.stats", 7}, {topic.data, topic.size}};
    const struct request request = {.arguments = words, .count = 2};

    return user->unrestricted ||
           acl_check(user, command_of("Q.STATS"), &request).reason == ACL_ALLOWED;
}
