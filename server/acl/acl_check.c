#include "server/acl/acl_check.h"

#include "server/dispatch/command_keys.h"
#include "storage/glob.h"

#include <string.h>
#include <strings.h>

/* ---- commands */

static bool is_named(const struct text *text, const char *name, struct argument first)
{
    size_t head = strlen(name);

    return text->size == head + 1 + first.size && memcmp(text->bytes, name, head) == 0 &&
           text->bytes[head] == '|' &&
           strncasecmp(text->bytes + head + 1, first.data, first.size) == 0;
}

/* +select|0 */
static bool allows_first(const struct acl_rules *rules, const struct command *command,
                         const struct request *request)
{
    if (request->count < 2)
        return false;
    for (const struct text *at = rules->firsts.first; at != NULL; at = text_next(at))
        if (is_named(at, command->name, request->arguments[1]))
            return true;
    return false;
}

static bool allows_command(const struct acl_rules *rules, const struct command *command,
                           const struct request *request)
{
    return rules->all_commands || (command->flags & COMMAND_NO_AUTH) ||
           acl_rules_have(rules, command_number(command)) ||
           (rules->firsts.first != NULL && allows_first(rules, command, request));
}

/* ---- keys */

static bool has_word(const char *flags, size_t size, const char *word)
{
    return memmem(flags, size, word, strlen(word)) != NULL;
}

static unsigned rights_of(const char *flags, size_t size)
{
    unsigned rights = has_word(flags, size, "access") ? ACL_READ : 0;

    if (has_word(flags, size, "insert") || has_word(flags, size, "delete") ||
        has_word(flags, size, "update"))
        rights |= ACL_WRITE;
    return rights;
}

/* Is the rule a beginning of the name, and a star? */
static bool is_prefix(const struct text *rule, struct dueq_slice name)
{
    size_t head = strcspn(rule->bytes, "*?[\\");

    return head + 1 == rule->size && rule->bytes[head] == '*' && name.size >= head &&
           memcmp(rule->bytes, name.data, head) == 0;
}

/* A huge name would hold up the loop: only a prefix matches it. */
static bool match(const struct text *pattern, struct dueq_slice name)
{
    if (pattern->size > 0 && name.size > ACL_MATCH_STEPS / pattern->size)
        return is_prefix(pattern, name);
    return glob_match(pattern->bytes, pattern->size, name.data, name.size, false);
}

/* Does the rule match all names that `scope`, a pattern itself, matches? It is the same, or a
 * prefix with a star. */
static bool covers(const struct text *rule, struct dueq_slice scope)
{
    return dueq_slice_equal(text_slice(rule), scope) || is_prefix(rule, scope);
}

static bool allows_key(const struct acl_rules *rules, struct dueq_slice key, unsigned rights,
                       bool is_pattern)
{
    for (const struct text *at = rules->keys.first; at != NULL; at = text_next(at))
        if ((at->number & rights) == rights && (is_pattern ? covers(at, key) : match(at, key)))
            return true;
    return false;
}

struct key_check {
    const struct acl_rules *rules;
    const struct request *request;
    bool refused;
    size_t argument; /* the first that is refused */
};

static void check_key(void *arg, size_t index, const char *flags, size_t size)
{
    struct key_check *check = arg;
    struct argument key = check->request->arguments[index];

    if (check->refused)
        return;
    check->refused = !allows_key(check->rules, dueq_slice(key.data, key.size),
                                 rights_of(flags, size), has_word(flags, size, "pattern"));
    check->argument = index;
}

/* ---- channels */

/* Commands that subscribe and publish. The others that have channels only leave them. */
static const struct channel_command {
    const char *name;
    bool several, are_patterns;
} channel_commands[] = {{"publish", false, false},
                        {"spublish", false, false},
                        {"subscribe", true, false},
                        {"ssubscribe", true, false},
                        {"psubscribe", true, true}};

static const struct channel_command *channels_of(const struct command *command)
{
    if (command->flags & COMMAND_PUBSUB)
        for (size_t i = 0; i < sizeof(channel_commands) / sizeof(channel_commands[0]); i++)
            if (strcmp(channel_commands[i].name, command->name) == 0)
                return &channel_commands[i];
    return NULL;
}

static bool allows_channel(const struct acl_rules *rules, struct dueq_slice channel,
                           bool is_pattern)
{
    if (rules->all_channels)
        return true;
    if (is_pattern)
        return text_set_find(&rules->channels, channel) != NULL;
    for (const struct text *at = rules->channels.first; at != NULL; at = text_next(at))
        if (match(at, channel))
            return true;
    return false;
}

bool acl_check_channel(const struct acl_user *user, struct dueq_slice channel, bool is_pattern)
{
    bool good = !user->is_dead && allows_channel(&user->root, channel, is_pattern);

    for (size_t i = 0; !user->is_dead && !good && i < user->selector_count; i++)
        good = allows_channel(&user->selectors[i], channel, is_pattern);
    return good;
}

static struct acl_verdict check_channels(const struct acl_rules *rules,
                                         const struct command *command,
                                         const struct request *request)
{
    const struct channel_command *form = channels_of(command);
    size_t end = form == NULL ? 0 : form->several ? request->count : 2;

    for (size_t i = 1; i < end; i++) {
        struct argument channel = request->arguments[i];

        if (!allows_channel(rules, dueq_slice(channel.data, channel.size), form->are_patterns))
            return (struct acl_verdict){ACL_DENIED_CHANNEL, i};
    }
    return (struct acl_verdict){ACL_ALLOWED, 0};
}

/* ---- all of it */

static struct acl_verdict check(const struct acl_rules *rules, const struct command *command,
                                const struct request *request)
{
    struct key_check keys = {.rules = rules, .request = request};

    if (!allows_command(rules, command, request))
        return (struct acl_verdict){ACL_DENIED_COMMAND, 0};
    if (!rules->all_keys) {
        command_keys_find(command, request, check_key, &keys);
        if (keys.refused)
            return (struct acl_verdict){ACL_DENIED_KEY, keys.argument};
    }
    if (rules->all_channels)
        return (struct acl_verdict){ACL_ALLOWED, 0};
    return check_channels(rules, command, request);
}

static bool is_greater(struct acl_verdict one, struct acl_verdict other)
{
    return one.reason > other.reason ||
           (one.reason == other.reason && one.argument > other.argument);
}

struct acl_verdict acl_check(const struct acl_user *user, const struct command *command,
                             const struct request *request)
{
    struct acl_verdict worst, verdict = {ACL_ALLOWED, 0};

    if (user->unrestricted)
        return verdict;
    if (user->is_dead)
        return (struct acl_verdict){ACL_DENIED_COMMAND, 0};
    worst = verdict = check(&user->root, command, request);
    for (size_t i = 0; verdict.reason != ACL_ALLOWED && i < user->selector_count; i++) {
        verdict = check(&user->selectors[i], command, request);
        if (is_greater(verdict, worst))
            worst = verdict;
    }
    return verdict.reason == ACL_ALLOWED ? verdict : worst;
}

static bool has_all(const struct acl_rules *rules, unsigned access)
{
    const struct text *star = text_set_find(&rules->keys, dueq_slice("*", 1));

    return rules->all_keys || (star != NULL && (star->number & access) == access);
}

static bool check_all(const struct acl_user *user, const struct command *command,
                      const struct request *request, unsigned access)
{
    if (user->is_dead)
        return false;
    if (has_all(&user->root, access) &&
        check(&user->root, command, request).reason == ACL_ALLOWED)
        return true;
    for (size_t i = 0; i < user->selector_count; i++)
        if (has_all(&user->selectors[i], access) &&
            check(&user->selectors[i], command, request).reason == ACL_ALLOWED)
            return true;
    return false;
}

bool acl_check_reads_all(const struct acl_user *user, const struct command *command,
                         const struct request *request)
{
    return check_all(user, command, request, ACL_READ);
}

bool acl_check_changes_all(const struct acl_user *user, const struct command *command,
                           const struct request *request)
{
    return check_all(user, command, request, ACL_READ | ACL_WRITE);
}

static bool allows(const struct acl_rules *rules, const struct command *command,
                   const struct request *request, struct dueq_slice key, unsigned rights)
{
    return (rules->all_keys || allows_key(rules, key, rights, false)) &&
           check(rules, command, request).reason == ACL_ALLOWED;
}

bool acl_check_key(const struct acl_user *user, const struct command *command,
                   const struct request *request, struct dueq_slice key, const char *flags)
{
    unsigned rights = rights_of(flags, strlen(flags));
    bool good = user->unrestricted ||
                (!user->is_dead && allows(&user->root, command, request, key, rights));

    for (size_t i = 0; !user->is_dead && !good && i < user->selector_count; i++)
        good = allows(&user->selectors[i], command, request, key, rights);
    return good;
}

/* ---- any key */

static bool has_key(const struct acl_rules *rules, const struct command *command)
{
    unsigned wanted = command->flags & COMMAND_WRITE ? ACL_WRITE : ACL_READ;

    if (rules->all_keys || (command->key_specs == NULL && wanted == ACL_READ))
        return true; /* a write without keys finds them in the data */
    for (const struct text *at = rules->keys.first; at != NULL; at = text_next(at))
        if (at->number & wanted)
            return true;
    return false;
}

static bool may_run(const struct acl_rules *rules, const struct command *command)
{
    return (rules->all_commands || acl_rules_have(rules, command_number(command))) &&
           has_key(rules, command);
}

bool acl_may_run(const struct acl_user *user, const struct command *command)
{
    bool may = user->enabled && (user->unrestricted || may_run(&user->root, command));

    for (size_t i = 0; user->enabled && !may && i < user->selector_count; i++)
        may = may_run(&user->selectors[i], command);
    return may;
}
