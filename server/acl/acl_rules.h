/* What one set of rules allows: which commands, on which keys (topics are keys) and channels. A
 * user has one of them, and one more for each selector. The rules are those of Redis 7.0:
 *
 *   +command -command +container|sub +command|firstarg +@category -@category
 *   allcommands nocommands    ~pattern %R~pattern %W~pattern allkeys resetkeys
 *   &pattern allchannels resetchannels
 *
 * Words in upper or lower case. */
#ifndef DUEQ_ACL_RULES_H
#define DUEQ_ACL_RULES_H

#include "protocol/buffer.h"
#include "server/acl/text_set.h"
#include "server/dispatch/command.h"

enum acl_error {
    ACL_GOOD,
    ACL_UNKNOWN, /* no such command or category */
    ACL_SYNTAX,
    ACL_AFTER_ALL_KEYS,     /* a pattern after ~*, which would change nothing */
    ACL_AFTER_ALL_CHANNELS, /* the same after &* */
    ACL_NO_SUCH_PASSWORD,
    ACL_BAD_HASH,
    ACL_DUPLICATE_USER,
    ACL_FIRST_OF_SUBCOMMAND, /* +config|get|x */
    ACL_TOO_MUCH,            /* more than the limits below */
    ACL_NO_MEMORY
};

/* Redis' text, without "ERR". */
const char *acl_error_text(enum acl_error error);

enum {
    ACL_RULES_BYTES = 1 << 20, /* of a command, of a line, and of a user as text */
    ACL_PATTERN_MAX = 4096,    /* bytes of a pattern: matching takes that times the key */
    ACL_FIRSTS_MAX = 128,      /* first arguments: a rule on a command looks at each */
    ACL_GIVEN_MAX = 1024,      /* rules on commands, with those: the same */
    ACL_SELECTORS_MAX = 128,   /* of a user */
    ACL_PASSWORDS_MAX = 128    /* of a user: a login may look at each */
};

enum acl_right { ACL_READ = 1, ACL_WRITE = 2 };

struct acl_rules {
    bool all_commands, all_keys, all_channels;
    bool from_all;                        /* the rules begin with +@all */
    bool has_categories;                  /* and contain one of them */
    uint64_t commands[COMMANDS_MAX / 64]; /* by command_number */
    struct text_set firsts;               /* "command|argument": +select|0 */
    struct text_set keys;                 /* patterns; number: sum of enum acl_right */
    struct text_set channels;             /* patterns */
    struct text_set given;                /* rules on commands: "get", number RULE_... */
};

/* Allows nothing. */
void acl_rules_init(struct acl_rules *rules, bool all_channels);
void acl_rules_release(struct acl_rules *rules);
/* False: out of memory, *copy is released. */
bool acl_rules_copy(const struct acl_rules *rules, struct acl_rules *copy);

/* Applies one rule. After an error the rules may be partly changed: the caller works on a copy.
 * O(rule + rules on the same command). */
enum acl_error acl_rules_apply(struct acl_rules *rules, struct dueq_slice rule);

/* ---- as text: parts of what ACL LIST shows */

void acl_rules_write_commands(const struct acl_rules *rules, struct buffer *out);
void acl_rules_write_keys(const struct acl_rules *rules, struct buffer *out);
/* `marked`: with "resetchannels " before them, as a line of a file needs it. */
void acl_rules_write_channels(const struct acl_rules *rules, bool marked, struct buffer *out);
/* All of it. */
void acl_rules_write(const struct acl_rules *rules, struct buffer *out);

static inline bool acl_rules_have(const struct acl_rules *rules, size_t number)
{
    return (rules->commands[number / 64] >> (number % 64) & 1) != 0;
}

static inline bool acl_rules_allow_all(const struct acl_rules *rules)
{
    return rules->all_commands && rules->all_keys && rules->all_channels;
}

#endif
