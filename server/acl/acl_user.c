#include "server/acl/acl_user.h"

#include "protocol/tokens.h"
#include "server/acl/acl_argon.h"
#include "server/acl/acl_hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

/* ---- life */

void acl_user_renew(struct acl_user *user)
{
    static uint64_t last;

    user->credentials = ++last;
}

struct acl_user *acl_user_new(struct dueq_slice name, enum acl_channels channels)
{
    struct acl_user *user = calloc(1, sizeof(*user) + name.size + 1);

    if (user == NULL)
        return NULL;
    user->name_size = name.size;
    if (name.size > 0)
        memcpy(user->name, name.data, name.size);
    acl_rules_init(&user->root, channels == ACL_ALL_CHANNELS);
    acl_user_renew(user);
    return user;
}

static void clear_selectors(struct acl_user *user)
{
    for (size_t i = 0; i < user->selector_count; i++)
        acl_rules_release(&user->selectors[i]);
    free(user->selectors);
    user->selectors = NULL;
    user->selector_count = 0;
}

static void release(struct acl_user *user)
{
    clear_selectors(user);
    acl_rules_release(&user->root);
    text_set_clear(&user->passwords);
}

void acl_user_free(struct acl_user *user)
{
    if (user != NULL)
        release(user);
    free(user);
}

static bool has_same_passwords(const struct acl_user *user, const struct acl_user *other)
{
    if (text_set_count(&user->passwords) != text_set_count(&other->passwords))
        return false;
    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at))
        if (text_set_find(&other->passwords, text_slice(at)) == NULL)
            return false;
    return true;
}

void acl_user_take(struct acl_user *user, struct acl_user *from)
{
    if (user->enabled != from->enabled || user->no_password != from->no_password ||
        !has_same_passwords(user, from))
        acl_user_renew(user);
    release(user);
    user->enabled = from->enabled;
    user->no_password = from->no_password;
    user->payload = from->payload;
    user->unrestricted = from->unrestricted;
    user->passwords = from->passwords;
    user->root = from->root;
    user->selectors = from->selectors;
    user->selector_count = from->selector_count;
    from->passwords = (struct text_set){NULL};
    acl_rules_init(&from->root, false);
    from->selectors = NULL;
    from->selector_count = 0;
}

static bool copy_selectors(const struct acl_user *user, struct acl_user *copy)
{
    if (user->selector_count == 0)
        return true;
    copy->selectors = calloc(user->selector_count, sizeof(*copy->selectors));
    if (copy->selectors == NULL)
        return false;
    for (; copy->selector_count < user->selector_count; copy->selector_count++)
        if (!acl_rules_copy(&user->selectors[copy->selector_count],
                            &copy->selectors[copy->selector_count]))
            return false;
    return true;
}

struct acl_user *acl_user_copy(const struct acl_user *user)
{
    struct acl_user *copy =
        acl_user_new(dueq_slice(user->name, user->name_size), ACL_NO_CHANNELS);

    if (copy == NULL)
        return NULL;
    copy->enabled = user->enabled;
    copy->no_password = user->no_password;
    copy->payload = user->payload;
    copy->unrestricted = user->unrestricted;
    if (text_set_copy(&user->passwords, &copy->passwords) &&
        acl_rules_copy(&user->root, &copy->root) && copy_selectors(user, copy))
        return copy;
    acl_user_free(copy);
    return NULL;
}

bool acl_user_name_is_good(struct dueq_slice name)
{
    const unsigned char *bytes = name.data;

    for (size_t i = 0; i < name.size; i++)
        if (isspace(bytes[i]) || bytes[i] == '\0')
            return false;
    return true;
}

/* ---- passwords */

static struct dueq_slice after_mark(struct dueq_slice rule)
{
    return dueq_slice((const char *)rule.data + 1, rule.size - 1);
}

static bool is_hash(struct dueq_slice hash)
{
    const char *digits = hash.data;

    if (hash.size != ACL_HASH_SIZE)
        return false;
    for (size_t i = 0; i < hash.size; i++)
        if (!(digits[i] >= '0' && digits[i] <= '9') && !(digits[i] >= 'a' && digits[i] <= 'f'))
            return false;
    return true;
}

static bool is_slow(const struct text *text)
{
    return text->bytes[0] == '$';
}

size_t acl_user_slow_passwords(const struct acl_user *user)
{
    size_t count = 0;

    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at))
        count += is_slow(at);
    return count;
}

static enum acl_error add_hash(struct acl_user *user, struct dueq_slice hash)
{
    if (hash.size != ACL_HASH_SIZE && acl_user_slow_passwords(user) == HASH_ITEMS_MOST &&
        text_set_find(&user->passwords, hash) == NULL)
        return ACL_TOO_MUCH;
    if (text_set_count(&user->passwords) == ACL_PASSWORDS_MAX &&
        text_set_find(&user->passwords, hash) == NULL)
        return ACL_TOO_MUCH;
    if (text_set_add(&user->passwords, hash) == NULL)
        return ACL_NO_MEMORY;
    user->no_password = false;
    return ACL_GOOD;
}

static enum acl_error remove_hash(struct acl_user *user, struct dueq_slice hash)
{
    struct text *text = text_set_find(&user->passwords, hash);

    if (text == NULL)
        return ACL_NO_SUCH_PASSWORD;
    text_set_remove(&user->passwords, text);
    return ACL_GOOD;
}

/* >password <password #hash !hash */
static enum acl_error apply_password(struct acl_user *user, struct dueq_slice rule)
{
    char mark = *(const char *)rule.data, digits[ACL_HASH_SIZE];
    struct dueq_slice hash = after_mark(rule);

    if (mark == '>' || mark == '<') {
        acl_hash(hash, digits);
        hash = dueq_slice(digits, ACL_HASH_SIZE);
    } else if (!is_hash(hash) && !acl_argon_is_hash(hash)) {
        return ACL_BAD_HASH;
    }
    return mark == '>' || mark == '#' ? add_hash(user, hash) : remove_hash(user, hash);
}

bool acl_user_has_password(const struct acl_user *user, struct dueq_slice password)
{
    char digits[ACL_HASH_SIZE];
    bool found = false;

    acl_hash(password, digits);
    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at))
        if (!is_slow(at))
            found |= acl_hash_is_same(at->bytes, digits);
    return found;
}

bool acl_user_add_checks(const struct acl_user *user, struct dueq_slice password,
                         struct hash_job *job)
{
    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at))
        if (is_slow(at) && !hash_job_add(job, password, at->bytes))
            return false;
    return true;
}

/* ---- selectors */

/* As text the selector would end here, or be split elsewhere: a file could not give it back. */
static bool is_unclear(struct argument word)
{
    return word.size > 0 &&
           (word.data[word.size - 1] == ')' || memchr(word.data, '"', word.size) != NULL ||
            memchr(word.data, '\'', word.size) != NULL);
}

static enum acl_error apply_each(struct acl_rules *rules, const struct argument *words,
                                 int count)
{
    enum acl_error error = ACL_GOOD;

    for (int i = 0; error == ACL_GOOD && i < count; i++)
        error = is_unclear(words[i])
                    ? ACL_SYNTAX
                    : acl_rules_apply(rules, dueq_slice(words[i].data, words[i].size));
    return error;
}

/* What another rule on commands costs. */
static uint64_t steps_of(const struct acl_rules *rules)
{
    return ACL_RULE_STEPS + text_set_count(&rules->given) + text_set_count(&rules->firsts);
}

/* inside: what stands between the parentheses, split as a line of redis.conf. */
static enum acl_error read_selector(struct acl_rules *rules, struct dueq_slice inside,
                                    uint64_t *ret_words)
{
    size_t most = inside.size / 2 + 1;
    struct argument *words = malloc(most * sizeof(*words));
    char *space = malloc(inside.size * 2 + 1);
    enum acl_error error = ACL_NO_MEMORY;
    int count;

    if (words != NULL && space != NULL) {
        count = tokens_split(inside.data, inside.size, space, words, most);
        error = count < 0                        ? ACL_SYNTAX
                : count > ACL_SELECTOR_WORDS_MAX ? ACL_TOO_MUCH
                                                 : apply_each(rules, words, count);
        *ret_words = count < 0 ? 0 : (uint64_t)count;
    }
    free(words);
    free(space);
    return error;
}

static enum acl_error add_selector(struct acl_user *user, struct dueq_slice rule,
                                   enum acl_channels channels)
{
    struct acl_rules *grown;
    enum acl_error error;
    uint64_t words = 0;

    if (user->selector_count == ACL_SELECTORS_MAX)
        return ACL_TOO_MUCH;
    grown = realloc(user->selectors, (user->selector_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return ACL_NO_MEMORY;
    user->selectors = grown;
    acl_rules_init(&grown[user->selector_count], channels == ACL_ALL_CHANNELS);
    error = read_selector(&grown[user->selector_count],
                          dueq_slice((const char *)rule.data + 1, rule.size - 2), &words);
    user->steps += words * steps_of(&grown[user->selector_count]);
    if (error == ACL_GOOD)
        user->selector_count++;
    else
        acl_rules_release(&grown[user->selector_count]);
    return error;
}

/* ---- words */

static void reset_passwords(struct acl_user *user)
{
    user->no_password = false;
    text_set_clear(&user->passwords);
}

static void reset(struct acl_user *user, enum acl_channels channels)
{
    release(user);
    user->no_password = user->enabled = false;
    user->payload = PAYLOAD_SANITIZED;
    acl_rules_init(&user->root, channels == ACL_ALL_CHANNELS);
}

enum word { ON, OFF, NOPASS, RESETPASS, RESET, CLEARSELECTORS, SANITIZE, SKIP, NO_WORD };

static enum word word_of(struct dueq_slice rule)
{
    static const char *const words[] = {"on",
                                        "off",
                                        "nopass",
                                        "resetpass",
                                        "reset",
                                        "clearselectors",
                                        "sanitize-payload",
                                        "skip-sanitize-payload"};

    for (unsigned i = 0; i < NO_WORD; i++)
        if (rule.size == strlen(words[i]) && strncasecmp(rule.data, words[i], rule.size) == 0)
            return (enum word)i;
    return NO_WORD;
}

/* False: it is none of the words. */
static bool apply_word(struct acl_user *user, struct dueq_slice rule,
                       enum acl_channels channels)
{
    switch (word_of(rule)) {
    case ON:
        user->enabled = true;
        return true;
    case OFF:
        user->enabled = false;
        return true;
    case NOPASS:
        reset_passwords(user);
        user->no_password = true;
        return true;
    case RESETPASS:
        reset_passwords(user);
        return true;
    case RESET:
        reset(user, channels);
        return true;
    case CLEARSELECTORS:
        clear_selectors(user);
        return true;
    case SANITIZE:
        user->payload = PAYLOAD_SANITIZED;
        return true;
    case SKIP:
        user->payload = PAYLOAD_SKIPPED;
        return true;
    case NO_WORD:
        break;
    }
    return false;
}

static enum acl_error apply(struct acl_user *user, struct dueq_slice rule,
                            enum acl_channels channels)
{
    const char *bytes = rule.data;

    user->steps += rule.size > 0 && strchr("+-", bytes[0]) != NULL ? steps_of(&user->root)
                                                                   : ACL_RULE_STEPS;
    if (rule.size == 0 || apply_word(user, rule, channels))
        return ACL_GOOD;
    if (strchr("><#!", bytes[0]) != NULL && bytes[0] != '\0')
        return apply_password(user, rule);
    if (bytes[0] == '(' && bytes[rule.size - 1] == ')' && rule.size > 1)
        return add_selector(user, rule, channels);
    return acl_rules_apply(&user->root, rule);
}

enum acl_error acl_user_apply(struct acl_user *user, struct dueq_slice rule,
                              enum acl_channels channels)
{
    enum acl_error error = apply(user, rule, channels);

    user->unrestricted = acl_rules_allow_all(&user->root);
    return error;
}

bool acl_user_find_open(const struct argument *arguments, size_t count, size_t *ret_open)
{
    bool open = false;

    for (size_t i = 0; i < count; i++) {
        struct argument rule = arguments[i];

        if (!open && rule.size > 0 && rule.data[0] == '(') {
            open = true;
            *ret_open = i;
        }
        open = open && rule.data[rule.size == 0 ? 0 : rule.size - 1] != ')';
    }
    return open;
}

bool acl_user_each_rule(const struct argument *arguments, size_t count,
                        bool (*fn)(void *arg, struct dueq_slice rule), void *arg)
{
    struct buffer joined;
    bool open = false, good = true;

    buffer_init(&joined, SIZE_MAX);
    for (size_t i = 0; good && i < count; i++) {
        struct argument rule = arguments[i];
        bool ends = rule.size > 0 && rule.data[rule.size - 1] == ')';

        if (!open && (rule.size == 0 || rule.data[0] != '(' || ends)) {
            good = fn(arg, dueq_slice(rule.data, rule.size));
            continue;
        }
        if (open)
            buffer_append(&joined, " ", 1);
        buffer_append(&joined, rule.data, rule.size);
        open = !ends;
        if (open)
            continue;
        good = !joined.overflowed &&
               fn(arg, dueq_slice(buffer_content(&joined), buffer_size(&joined)));
        buffer_clear(&joined);
    }
    buffer_release(&joined);
    return good && !open;
}

/* ---- as text */

static void write_text(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

void acl_user_write(const struct acl_user *user, struct buffer *out)
{
    static const char *const payloads[] = {"", "sanitize-payload ", "skip-sanitize-payload "};

    write_text(out, user->enabled ? "on " : "off ");
    if (user->no_password)
        write_text(out, "nopass ");
    write_text(out, payloads[user->payload]);
    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at)) {
        write_text(out, "#");
        buffer_append(out, at->bytes, at->size);
        write_text(out, " ");
    }
    acl_rules_write(&user->root, out);
    for (size_t i = 0; i < user->selector_count; i++) {
        write_text(out, " (");
        acl_rules_write(&user->selectors[i], out);
        write_text(out, ")");
    }
}

static size_t texts_of(const struct acl_rules *rules)
{
    return text_set_count(&rules->given) + text_set_count(&rules->firsts) +
           text_set_count(&rules->keys) + text_set_count(&rules->channels);
}

static size_t count_texts(const struct acl_user *user)
{
    size_t count = text_set_count(&user->passwords) + texts_of(&user->root);

    for (size_t i = 0; i < user->selector_count; i++)
        count += texts_of(&user->selectors[i]);
    return count;
}

bool acl_user_fits(const struct acl_user *user)
{
    size_t room = ACL_RULES_BYTES - user->name_size - strlen("user  ");
    struct buffer text;
    bool fits;

    if (count_texts(user) > ACL_TEXTS_MAX)
        return false;
    buffer_init(&text, room);
    acl_user_write(user, &text);
    fits = !text.overflowed;
    buffer_release(&text);
    return fits;
}
