#include "server/acl/acl_rules.h"

#include "server/dispatch/docs/command_docs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_MINUS, RULE_PLUS }; /* numbers of `given` */
enum { NAME_SIZE = 80 };        /* more than any command's full name with a zero */

const char *acl_error_text(enum acl_error error)
{
    static const char *const texts[] = {
        [ACL_GOOD] = "",
        [ACL_UNKNOWN] = "Unknown command or category name in ACL",
        [ACL_SYNTAX] = "Syntax error",
        [ACL_AFTER_ALL_KEYS] =
            "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and "
            "does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
        [ACL_AFTER_ALL_CHANNELS] =
            "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and "
            "does not have any effect. Try 'resetchannels' to start with an empty list of "
            "channels",
        [ACL_NO_SUCH_PASSWORD] =
            "The password you are trying to remove from the user does not exist",
        [ACL_BAD_HASH] = "The password hash must be exactly 64 characters and contain only "
                         "lowercase hexadecimal characters",
        [ACL_DUPLICATE_USER] =
            "Duplicate user found. A user can only be defined once in config files",
        [ACL_FIRST_OF_SUBCOMMAND] = "Allowing first-arg of a subcommand is not supported",
        [ACL_TOO_MUCH] = "The rules of a user are too long or too many",
        [ACL_NO_MEMORY] = "Out of memory"};

    return texts[error];
}

/* ---- life */

void acl_rules_init(struct acl_rules *rules, bool all_channels)
{
    memset(rules, 0, sizeof(*rules));
    rules->all_channels = all_channels;
}

void acl_rules_release(struct acl_rules *rules)
{
    text_set_clear(&rules->firsts);
    text_set_clear(&rules->keys);
    text_set_clear(&rules->channels);
    text_set_clear(&rules->given);
}

bool acl_rules_copy(const struct acl_rules *rules, struct acl_rules *copy)
{
    *copy = *rules;
    copy->firsts = copy->keys = copy->channels = copy->given = (struct text_set){NULL};
    if (text_set_copy(&rules->firsts, &copy->firsts) &&
        text_set_copy(&rules->keys, &copy->keys) &&
        text_set_copy(&rules->channels, &copy->channels) &&
        text_set_copy(&rules->given, &copy->given))
        return true;
    acl_rules_release(copy);
    return false;
}

/* ---- commands */

/* Exact, unlike argument_is: "~*" is no letter away from anything else. */
static bool is_word(struct dueq_slice rule, const char *word)
{
    return rule.size == strlen(word) && strncasecmp(rule.data, word, rule.size) == 0;
}

static struct dueq_slice slice_from(struct dueq_slice slice, size_t offset)
{
    return dueq_slice((const char *)slice.data + offset, slice.size - offset);
}

static struct argument argument_of(struct dueq_slice slice)
{
    return (struct argument){(const char *)slice.data, slice.size};
}

static const char *last_bar(struct dueq_slice slice)
{
    return slice.size == 0 ? NULL : memrchr(slice.data, '|', slice.size);
}

/* "get", "config|get"; NULL: there is none. */
static const struct command *find_command(struct dueq_slice name)
{
    const char *bar = name.size == 0 ? NULL : memchr(name.data, '|', name.size);
    const struct command *command;
    size_t head;

    if (bar == NULL)
        return command_find(argument_of(name));
    head = (size_t)(bar - (const char *)name.data);
    command = command_find(argument_of(dueq_slice(name.data, head)));
    return command == NULL ? NULL
                           : command_find_sub(command, argument_of(slice_from(name, head + 1)));
}

static void set_bit(struct acl_rules *rules, const struct command *command, bool allowed)
{
    size_t number = command_number(command);
    uint64_t bit = (uint64_t)1 << (number % 64);

    if (allowed)
        rules->commands[number / 64] |= bit;
    else
        rules->commands[number / 64] &= ~bit;
}

static bool begins_with(const struct text *text, const char *name)
{
    size_t size = strlen(name);

    return text->size > size && memcmp(text->bytes, name, size) == 0 &&
           text->bytes[size] == '|';
}

/* Forgets "name|..." in the set, and "name" itself. */
static void forget(struct text_set *set, const char *name)
{
    struct text *text, *next;

    for (text = set->first; text != NULL; text = next) {
        next = text_next(text);
        if (begins_with(text, name) || strcmp(text->bytes, name) == 0)
            text_set_remove(set, text);
    }
}

/* With all its subcommands. First arguments of it mean nothing more. */
static void set_command(struct acl_rules *rules, const struct command *command, bool allowed)
{
    const struct command *sub = command->subcommands;

    set_bit(rules, command, allowed);
    if (rules->firsts.first != NULL)
        forget(&rules->firsts, command_full_name(command));
    for (; sub != NULL && sub->name != NULL; sub++)
        set_command(rules, sub, allowed);
}

/* A rule that says what the beginning says already is left out, as Redis does; not when another
 * rule stands between. */
static bool is_said(const struct acl_rules *rules, const struct command *command, bool allowed)
{
    const struct command *container = command_container(command);

    return !rules->has_categories && allowed == rules->from_all &&
           (container == NULL ||
            text_set_find(&rules->given,
                          dueq_slice(container->name, strlen(container->name))) == NULL);
}

static enum acl_error note_rule(struct acl_rules *rules, struct dueq_slice name, bool allowed)
{
    struct text *text = text_set_find(&rules->given, name);

    if (text != NULL)
        text_set_remove(&rules->given, text); /* the new one comes after all others */
    else if (text_set_count(&rules->given) >= ACL_GIVEN_MAX)
        return ACL_TOO_MUCH;
    text = text_set_add(&rules->given, name);
    if (text == NULL)
        return ACL_NO_MEMORY;
    text->number = allowed ? RULE_PLUS : RULE_MINUS;
    return ACL_GOOD;
}

/* As the rules say as text: +@all, and nothing is taken. What was taken and given back is no
 * rule any more. */
static bool have_all(const struct acl_rules *rules)
{
    const struct text *text = rules->given.first;

    while (text != NULL && text->number != RULE_MINUS)
        text = text_next(text);
    return rules->from_all && text == NULL;
}

static enum acl_error apply_command(struct acl_rules *rules, const struct command *command,
                                    bool allowed)
{
    const char *name = command_full_name(command);
    enum acl_error error = ACL_GOOD;

    forget(&rules->given, name);
    if (!is_said(rules, command, allowed))
        error = note_rule(rules, dueq_slice(name, strlen(name)), allowed);
    if (error != ACL_GOOD)
        return error;
    set_command(rules, command, allowed);
    rules->all_commands = have_all(rules);
    return ACL_GOOD;
}

static bool has_spaces(struct dueq_slice text)
{
    const unsigned char *bytes = text.data;

    for (size_t i = 0; i < text.size; i++)
        if (isspace(bytes[i]) || bytes[i] == '\0')
            return true;
    return false;
}

/* rule: "select|0" */
static enum acl_error add_first(struct acl_rules *rules, const struct command *command,
                                struct dueq_slice rule)
{
    if (text_set_count(&rules->firsts) >= ACL_FIRSTS_MAX &&
        text_set_find(&rules->firsts, rule) == NULL)
        return ACL_TOO_MUCH;
    if (text_set_add(&rules->firsts, rule) == NULL)
        return ACL_NO_MEMORY;
    return acl_rules_have(rules, command_number(command)) ? ACL_GOOD
                                                          : note_rule(rules, rule, true);
}

/* "select|0": the bytes after the bar are a first argument. */
static enum acl_error apply_first(struct acl_rules *rules, struct dueq_slice rule)
{
    const char *bar = last_bar(rule);
    size_t head = bar == NULL ? 0 : (size_t)(bar - (const char *)rule.data);
    const struct command *command =
        bar == NULL ? NULL : find_command(dueq_slice(rule.data, head));
    struct dueq_slice first = bar == NULL ? rule : slice_from(rule, head + 1);
    struct buffer name;
    enum acl_error error;

    if (command == NULL)
        return ACL_UNKNOWN;
    if (command_container(command) != NULL)
        return ACL_FIRST_OF_SUBCOMMAND;
    if (first.size == 0 || has_spaces(first))
        return ACL_SYNTAX;
    if (command->subcommands != NULL)
        return ACL_UNKNOWN;
    buffer_init(&name, SIZE_MAX);
    buffer_append(&name, command->name, head);
    buffer_append(&name, "|", 1);
    buffer_append(&name, first.data, first.size);
    error = name.overflowed ? ACL_NO_MEMORY
                            : add_first(rules, command,
                                        dueq_slice(buffer_content(&name), buffer_size(&name)));
    buffer_release(&name);
    return error;
}

/* ---- categories */

static void set_all(struct acl_rules *rules, bool allowed)
{
    memset(rules->commands, allowed ? 0xff : 0, sizeof(rules->commands));
    rules->all_commands = rules->from_all = allowed;
    rules->has_categories = false;
    text_set_clear(&rules->firsts);
    text_set_clear(&rules->given);
}

/* The commands of a category, by command_number; found once. */
static const uint64_t *members_of(size_t category)
{
    static struct {
        bool known;
        uint64_t commands[COMMANDS_MAX / 64];
    } all[64];
    struct argument name = {command_docs_category(category), 0};
    struct acl_rules rules;

    name.size = strlen(name.data);
    if (all[category].known)
        return all[category].commands;
    acl_rules_init(&rules, false);
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        if (command_docs_in_category(command, name))
            set_bit(&rules, command, true);
        for (; sub != NULL && sub->name != NULL; sub++)
            if (command_docs_in_category(sub, name))
                set_bit(&rules, sub, true);
    }
    memcpy(all[category].commands, rules.commands, sizeof(rules.commands));
    all[category].known = true;
    return all[category].commands;
}

static bool find_category(struct dueq_slice name, size_t *ret_category)
{
    for (size_t i = 0; command_docs_category(i) != NULL; i++)
        if (is_word(name, command_docs_category(i))) {
            *ret_category = i;
            return true;
        }
    return false;
}

/* First arguments of a member mean nothing more. */
static void forget_firsts(struct acl_rules *rules, const uint64_t *members)
{
    struct text *text, *next;

    for (text = rules->firsts.first; text != NULL; text = next) {
        size_t head = (size_t)((char *)memchr(text->bytes, '|', text->size) - text->bytes);
        const struct command *command = find_command(dueq_slice(text->bytes, head));
        size_t number = command_number(command);

        next = text_next(text);
        if ((members[number / 64] >> (number % 64) & 1) != 0)
            text_set_remove(&rules->firsts, text);
    }
}

/* rule: "@read" */
static enum acl_error apply_category(struct acl_rules *rules, struct dueq_slice rule,
                                     bool allowed)
{
    char name[NAME_SIZE];
    const uint64_t *members;
    size_t category;
    enum acl_error error;

    if (is_word(slice_from(rule, 1), "all")) {
        set_all(rules, allowed);
        return ACL_GOOD;
    }
    if (!find_category(slice_from(rule, 1), &category))
        return ACL_UNKNOWN;
    for (size_t i = 0; i < rule.size; i++)
        name[i] = (char)tolower(((const unsigned char *)rule.data)[i]);
    error = note_rule(rules, dueq_slice(name, rule.size), allowed);
    if (error != ACL_GOOD)
        return error;
    members = members_of(category);
    forget_firsts(rules, members);
    for (size_t i = 0; i < COMMANDS_MAX / 64; i++)
        rules->commands[i] =
            allowed ? rules->commands[i] | members[i] : rules->commands[i] & ~members[i];
    rules->has_categories = true;
    rules->all_commands = have_all(rules);
    return ACL_GOOD;
}

/* ---- keys and channels */

static void set_all_keys(struct acl_rules *rules, bool allowed)
{
    rules->all_keys = allowed;
    text_set_clear(&rules->keys);
}

static void set_all_channels(struct acl_rules *rules, bool allowed)
{
    rules->all_channels = allowed;
    text_set_clear(&rules->channels);
}

/* Reads "R", "W" or "RW" up to the tilde; *ret_at is the first byte of the pattern. As in Redis
 * the tilde may be missing when nothing follows. */
static bool read_rights(struct dueq_slice rule, unsigned *ret_rights, size_t *ret_at)
{
    const char *bytes = rule.data;
    unsigned rights = 0;
    size_t at;

    for (at = 1; at < rule.size; at++) {
        int letter = toupper((unsigned char)bytes[at]);

        if (letter == 'R' && !(rights & ACL_READ))
            rights |= ACL_READ;
        else if (letter == 'W' && !(rights & ACL_WRITE))
            rights |= ACL_WRITE;
        else if (letter == '~' && rights != 0)
            break;
        else
            return false;
    }
    *ret_rights = rights;
    *ret_at = at < rule.size ? at + 1 : at;
    return rights != 0;
}

static enum acl_error apply_keys(struct acl_rules *rules, struct dueq_slice rule)
{
    unsigned rights = ACL_READ | ACL_WRITE;
    size_t at = 1;
    struct text *text;

    if (rules->all_keys)
        return ACL_AFTER_ALL_KEYS;
    if ((*(const char *)rule.data == '%' && !read_rights(rule, &rights, &at)) ||
        has_spaces(slice_from(rule, at)))
        return ACL_SYNTAX;
    if (rule.size - at > ACL_PATTERN_MAX)
        return ACL_TOO_MUCH;
    text = text_set_add(&rules->keys, slice_from(rule, at));
    if (text == NULL)
        return ACL_NO_MEMORY;
    text->number |= rights;
    if (text->number == (ACL_READ | ACL_WRITE) && is_word(text_slice(text), "*"))
        set_all_keys(rules, true); /* %RW~*: as text it is ~* */
    return ACL_GOOD;
}

static enum acl_error apply_channels(struct acl_rules *rules, struct dueq_slice rule)
{
    struct dueq_slice pattern = slice_from(rule, 1);

    if (rules->all_channels)
        return ACL_AFTER_ALL_CHANNELS;
    if (has_spaces(pattern))
        return ACL_SYNTAX;
    if (pattern.size > ACL_PATTERN_MAX)
        return ACL_TOO_MUCH;
    return text_set_add(&rules->channels, pattern) == NULL ? ACL_NO_MEMORY : ACL_GOOD;
}

/* ---- one rule */

/* False: it is none of the words that stand alone. */
static bool apply_word(struct acl_rules *rules, struct dueq_slice rule)
{
    static const struct {
        const char *word;
        void (*set)(struct acl_rules *rules, bool allowed);
        bool allowed;
    } words[] = {{"allkeys", set_all_keys, true},    {"~*", set_all_keys, true},
                 {"resetkeys", set_all_keys, false}, {"allchannels", set_all_channels, true},
                 {"&*", set_all_channels, true},     {"resetchannels", set_all_channels, false},
                 {"allcommands", set_all, true},     {"nocommands", set_all, false}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(rule, words[i].word)) {
            words[i].set(rules, words[i].allowed);
            return true;
        }
    return false;
}

static enum acl_error apply_to_commands(struct acl_rules *rules, struct dueq_slice rule)
{
    bool allowed = *(const char *)rule.data == '+';
    struct dueq_slice name = slice_from(rule, 1);
    const struct command *command;

    if (name.size > 0 && *(const char *)name.data == '@')
        return apply_category(rules, name, allowed);
    command = find_command(name);
    if (command != NULL)
        return apply_command(rules, command, allowed);
    return allowed ? apply_first(rules, name) : ACL_UNKNOWN;
}

enum acl_error acl_rules_apply(struct acl_rules *rules, struct dueq_slice rule)
{
    if (rule.size == 0 || apply_word(rules, rule))
        return ACL_GOOD;
    switch (*(const char *)rule.data) {
    case '~':
    case '%':
        return apply_keys(rules, rule);
    case '&':
        return apply_channels(rules, rule);
    case '+':
    case '-':
        return apply_to_commands(rules, rule);
    default:
        return ACL_SYNTAX;
    }
}

/* ---- as text */

static void write_text(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

void acl_rules_write_commands(const struct acl_rules *rules, struct buffer *out)
{
    write_text(out, rules->from_all ? "+@all" : "-@all");
    for (const struct text *at = rules->given.first; at != NULL; at = text_next(at)) {
        write_text(out, at->number == RULE_PLUS ? " +" : " -");
        buffer_append(out, at->bytes, at->size);
    }
}

void acl_rules_write_keys(const struct acl_rules *rules, struct buffer *out)
{
    static const char *const heads[] = {"", "%R~", "%W~", "~"};

    if (rules->all_keys)
        write_text(out, "~*");
    for (const struct text *at = rules->keys.first; at != NULL; at = text_next(at)) {
        write_text(out, heads[at->number]);
        buffer_append(out, at->bytes, at->size);
        if (text_next(at) != NULL)
            write_text(out, " ");
    }
}

void acl_rules_write_channels(const struct acl_rules *rules, bool marked, struct buffer *out)
{
    if (rules->all_channels)
        write_text(out, "&*");
    else if (marked)
        write_text(out, rules->channels.first == NULL ? "resetchannels" : "resetchannels ");
    for (const struct text *at = rules->channels.first; at != NULL; at = text_next(at)) {
        write_text(out, "&");
        buffer_append(out, at->bytes, at->size);
        if (text_next(at) != NULL)
            write_text(out, " ");
    }
}

void acl_rules_write(const struct acl_rules *rules, struct buffer *out)
{
    if (rules->all_keys || rules->keys.first != NULL) {
        acl_rules_write_keys(rules, out);
        write_text(out, " ");
    }
    acl_rules_write_channels(rules, true, out);
    write_text(out, " ");
    acl_rules_write_commands(rules, out);
}
