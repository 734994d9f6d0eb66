#include "server/acl/acl_check.h"

#include "server/dispatch/command_keys.h"
#include "storage/glob.h"

#include <assert.h>
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

/* Such a name would hold up the loop: only a prefix matches it. */
static bool is_huge(const struct text *pattern, struct dueq_slice name)
{
    return pattern->size > 0 && name.size > ACL_MATCH_STEPS / pattern->size;
}

static bool match(const struct text *pattern, struct dueq_slice name)
{
    if (is_huge(pattern, name))
        return is_prefix(pattern, name);
    return glob_match(pattern->bytes, pattern->size, name.data, name.size, false);
}

/* Does the rule match all names that `scope`, a pattern itself, matches? It is the same, or a
 * prefix with a star. */
static bool covers(const struct text *rule, struct dueq_slice scope)
{
    return dueq_slice_equal(text_slice(rule), scope) || is_prefix(rule, scope);
}

/* ---- the names of a request, in slices */

/* What a name is, and what is to be done with it. */
struct name_use {
    enum acl_reason reason; /* of a refusal */
    unsigned rights;
    bool is_pattern;
};

/* One set of rules, and the names that it has allowed in this slice or an earlier one. */
struct name_check {
    const struct acl_rules *rules;
    const struct request *request;
    struct acl_pace *pace;
    struct acl_verdict verdict; /* not ACL_ALLOWED: it ends */
    const char *flags;          /* of the last key, ... */
    struct name_use use;        /* ... and what they say */
};

static bool rule_allows(const struct text *rule, struct dueq_slice name,
                        const struct name_use *use)
{
    if ((rule->number & use->rights) != use->rights)
        return false;
    return use->is_pattern ? covers(rule, name) : match(rule, name);
}

static bool allows_key(const struct acl_rules *rules, struct dueq_slice key, unsigned rights)
{
    const struct name_use use = {.reason = ACL_DENIED_KEY, .rights = rights};

    for (const struct text *at = rules->keys.first; at != NULL; at = text_next(at))
        if (rule_allows(at, key, &use))
            return true;
    return false;
}

/* Does a match end at the first byte? */
static bool differ_at_once(const struct text *rule, struct dueq_slice name)
{
    return rule->size > 0 && name.size > 0 && strchr("*?[\\", rule->bytes[0]) == NULL &&
           rule->bytes[0] != *(const char *)name.data;
}

enum { STEPS_LEAST = 8 }; /* of a rule and a name */

/* About as many as it takes ns, at worst. */
static size_t steps_of(const struct text *rule, struct dueq_slice name)
{
    if (differ_at_once(rule, name))
        return STEPS_LEAST;
    return 16 + (is_huge(rule, name) ? rule->size : rule->size * name.size / 2);
}

static bool spend(struct acl_pace *pace, size_t steps)
{
    if (pace->steps == 0)
        return false;
    pace->steps -= steps < pace->steps ? steps : pace->steps;
    return true;
}

/* Looks for a rule that allows the name, from pace->rule on. ACL_UNDECIDED: pace->rule is the
 * next one. */
static enum acl_reason find_rule(struct acl_pace *pace, const struct text *rules,
                                 struct dueq_slice name, const struct name_use *use)
{
    const struct text *at = pace->rule == NULL ? rules : pace->rule;

    pace->rule = NULL;
    for (; at != NULL; at = text_next(at)) {
        if (!spend(pace, steps_of(at, name))) {
            pace->rule = at;
            return ACL_UNDECIDED;
        }
        if (rule_allows(at, name, use))
            return ACL_ALLOWED;
    }
    return use->reason;
}

static void check_name(struct name_check *check, size_t index, const struct text *rules,
                       const struct name_use *use)
{
    struct argument argument = check->request->arguments[index];
    enum acl_reason reason =
        find_rule(check->pace, rules, dueq_slice(argument.data, argument.size), use);

    if (reason == ACL_ALLOWED)
        check->pace->names++;
    else if (reason == ACL_UNDECIDED)
        check->verdict.reason = reason;
    else
        check->verdict = (struct acl_verdict){reason, index};
}

static void check_key(void *arg, size_t index, const char *flags, size_t size)
{
    struct name_check *check = arg;

    if (check->verdict.reason != ACL_ALLOWED)
        return; /* of another one */
    if (flags != check->flags)
        check->use = (struct name_use){.reason = ACL_DENIED_KEY,
                                       .rights = rights_of(flags, size),
                                       .is_pattern = has_word(flags, size, "pattern")};
    check->flags = flags;
    check_name(check, index, check->rules->keys.first, &check->use);
}

/* ---- channels */

enum { PATTERN_STEPS = 50 }; /* to look for one, and a step for each byte of it */

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

/* A pattern stands among the rules as it is. */
static void check_pattern(struct name_check *check, size_t index)
{
    struct argument argument = check->request->arguments[index];

    if (!spend(check->pace, PATTERN_STEPS + argument.size))
        check->verdict.reason = ACL_UNDECIDED;
    else if (allows_channel(check->rules, dueq_slice(argument.data, argument.size), true))
        check->pace->names++;
    else
        check->verdict = (struct acl_verdict){ACL_DENIED_CHANNEL, index};
}

/* keys: how many names of the request are none. */
static void check_channels(struct name_check *check, const struct command *command, size_t keys)
{
    const struct channel_command *form = channels_of(command);
    size_t end = form == NULL ? 0 : form->several ? check->request->count : 2;
    size_t done = check->pace->names - keys; /* of them: all keys are allowed */
    const struct name_use use = {.reason = ACL_DENIED_CHANNEL};

    for (size_t i = 1 + done; i < end; i++) {
        if (form->are_patterns)
            check_pattern(check, i);
        else
            check_name(check, i, check->rules->channels.first, &use);
        if (check->verdict.reason != ACL_ALLOWED)
            return;
    }
}

/* ---- all of it */

/* Those for which there are steps, and one more; it spends them. Returns how many keys the
 * request has. */
static size_t check_keys(struct name_check *check, const struct command *command)
{
    const struct acl_pace *pace = check->pace;
    struct key_part part = {.from = pace->names, .to = SIZE_MAX};

    if (pace->steps < SIZE_MAX)
        part.to = part.from + pace->steps / STEPS_LEAST + 1;
    command_keys_find_some(command, check->request, check_key, check, &part);
    if (check->verdict.reason == ACL_ALLOWED && part.to < part.count)
        check->verdict.reason = ACL_UNDECIDED;
    return part.count;
}

static struct acl_verdict check(const struct acl_rules *rules, const struct command *command,
                                const struct request *request, struct acl_pace *pace)
{
    struct name_check names = {.rules = rules, .request = request, .pace = pace};
    size_t keys = 0;

    if (!allows_command(rules, command, request))
        return (struct acl_verdict){ACL_DENIED_COMMAND, 0};
    if (!rules->all_keys)
        keys = check_keys(&names, command);
    if (names.verdict.reason == ACL_ALLOWED && !rules->all_channels)
        check_channels(&names, command, keys);
    return names.verdict;
}

static bool allows_all(const struct acl_rules *rules, const struct command *command,
                       const struct request *request)
{
    struct acl_pace pace = {.steps = SIZE_MAX};

    return check(rules, command, request, &pace).reason == ACL_ALLOWED;
}

static bool is_greater(struct acl_verdict one, struct acl_verdict other)
{
    return one.reason > other.reason ||
           (one.reason == other.reason && one.argument > other.argument);
}

static const struct acl_rules *rules_of(const struct acl_user *user, size_t index)
{
    return index == 0 ? &user->root : &user->selectors[index - 1];
}

struct acl_verdict acl_check_some(const struct acl_user *user, const struct command *command,
                                  const struct request *request, struct acl_pace *pace)
{
    struct acl_verdict verdict = {ACL_ALLOWED, 0};

    if (user->unrestricted)
        return verdict;
    if (user->is_dead)
        return (struct acl_verdict){ACL_DENIED_COMMAND, 0};
    for (; pace->sets <= user->selector_count; pace->sets++, pace->names = 0) {
        verdict = check(rules_of(user, pace->sets), command, request, pace);
        if (verdict.reason == ACL_ALLOWED || verdict.reason == ACL_UNDECIDED)
            return verdict;
        if (is_greater(verdict, pace->worst))
            pace->worst = verdict;
    }
    return pace->worst;
}

struct acl_verdict acl_check(const struct acl_user *user, const struct command *command,
                             const struct request *request)
{
    struct acl_pace pace = {.steps = SIZE_MAX};

    return acl_check_some(user, command, request, &pace);
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
    if (has_all(&user->root, access) && allows_all(&user->root, command, request))
        return true;
    for (size_t i = 0; i < user->selector_count; i++)
        if (has_all(&user->selectors[i], access) &&
            allows_all(&user->selectors[i], command, request))
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
    return (rules->all_keys || allows_key(rules, key, rights)) &&
           allows_all(rules, command, request);
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

/* ---- keys within texts */

enum { HEAD_STEPS = 4 }; /* to look at one that is allowed already */

static struct dueq_slice head_of(const struct acl_heads *heads, const struct acl_head *head)
{
    return dueq_slice(heads->text(heads->arg, head->text), head->size);
}

/* Do these rules allow the request itself? */
static enum acl_reason fits(const struct acl_rules *rules, const struct command *command,
                            const struct request *request, struct acl_pace *pace)
{
    enum acl_reason reason = check(rules, command, request, pace).reason;

    if (reason != ACL_UNDECIDED)
        pace->names = 0;
    return reason;
}

/* False: there is more to check. */
static bool check_heads(const struct acl_rules *rules, const struct name_use *use,
                        const struct acl_heads *heads, struct acl_heads_pace *pace)
{
    for (; pace->next < heads->count; pace->next++) {
        struct acl_head *head = &heads->items[pace->next];
        enum acl_reason reason = ACL_ALLOWED;

        if (!spend(&pace->pace, HEAD_STEPS))
            return false;
        if (!head->allowed && !rules->all_keys)
            reason = find_rule(&pace->pace, rules->keys.first, head_of(heads, head), use);
        if (reason == ACL_UNDECIDED)
            return false;
        head->allowed |= reason == ACL_ALLOWED;
    }
    return true;
}

bool acl_check_heads(const struct acl_user *user, const struct command *command,
                     const struct request *request, const char *flags,
                     const struct acl_heads *heads, struct acl_heads_pace *pace)
{
    const struct name_use use = {.reason = ACL_DENIED_KEY,
                                 .rights = rights_of(flags, strlen(flags))};

    for (; !user->is_dead && pace->sets <= user->selector_count; pace->sets++) {
        const struct acl_rules *rules = rules_of(user, pace->sets);
        enum acl_reason reason =
            pace->fits ? ACL_ALLOWED : fits(rules, command, request, &pace->pace);

        pace->fits = reason == ACL_ALLOWED;
        if (reason == ACL_UNDECIDED || (pace->fits && !check_heads(rules, &use, heads, pace)))
            return false;
        pace->fits = false;
        pace->next = 0;
    }
    return true;
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
