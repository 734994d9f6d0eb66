/* What is true for any text as an ACL file: it is taken, or refused with words. The users that
 * were taken are written as a text that gives the same users, with the same rights, as a file
 * and as lines of the configuration. The fuzzer and the test that replays the corpus share
 * this. */
#ifndef DUEQ_USERS_CHECK_H
#define DUEQ_USERS_CHECK_H

#include "protocol/tokens.h"
#include "server/acl/acl_check.h"
#include "server/acl/acl_file.h"
#include "server/process/file_replace.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS_WORDS = 8 };

/* What the user may do of some requests and channels, a bit for each. */
static inline uint64_t users_rights(const struct acl_user *user)
{
    static const char *const lines[] = {"get k1",
                                        "set k1 v",
                                        "get other",
                                        "mget k1 k2",
                                        "rename k1 k2",
                                        "config get *",
                                        "config set a b",
                                        "select 0",
                                        "select 1",
                                        "q.push t1 body",
                                        "q.claim t1 t2",
                                        "q.move t1 t2 id",
                                        "sort k1 by k*",
                                        "publish c1 x",
                                        "subscribe c1 c2",
                                        "psubscribe c*",
                                        "ping",
                                        "acl list",
                                        "xyz",
                                        "zrangestore k1 k2 0 1",
                                        "eval x 0"};
    uint64_t rights = 0;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct argument words[USERS_WORDS];
        char space[256];
        int count = tokens_split(lines[i], strlen(lines[i]), space, words, USERS_WORDS);
        struct request request = {(size_t)count, words, strlen(lines[i])};
        const struct command *command = command_find_request(&request);

        rights = rights << 1;
        if (command != NULL && command_arity_fits(command, request.count))
            rights |= acl_check(user, command, &request).reason == ACL_ALLOWED;
    }
    rights = rights << 2 | acl_check_channel(user, dueq_slice("c1", 2), false);
    return rights | (uint64_t)acl_check_channel(user, dueq_slice("c*", 2), true) << 1;
}

/* The caller releases it. */
static inline struct buffer users_patterns(const struct acl_rules *rules)
{
    struct buffer text;

    buffer_init(&text, SIZE_MAX / 2);
    acl_rules_write_keys(rules, &text);
    acl_rules_write_channels(rules, false, &text);
    return text;
}

/* Who has all commands is asked for none of them. */
static inline bool users_have_what_they_skip(const struct acl_rules *rules)
{
    bool good = true;

    for (size_t i = 0; rules->all_commands && i < COMMANDS_MAX; i++)
        good = good && acl_rules_have(rules, i);
    return good;
}

static inline bool users_have_rules(const struct acl_rules *one, const struct acl_rules *other)
{
    struct buffer left = users_patterns(one), right = users_patterns(other);
    bool same =
        one->all_commands == other->all_commands && users_have_what_they_skip(one) &&
        memcmp(one->commands, other->commands, sizeof(one->commands)) == 0 &&
        buffer_size(&left) == buffer_size(&right) &&
        (buffer_size(&left) == 0 ||
         memcmp(buffer_content(&left), buffer_content(&right), buffer_size(&left)) == 0);

    buffer_release(&left);
    buffer_release(&right);
    return same;
}

static inline bool users_have_selectors(const struct acl_user *one,
                                        const struct acl_user *other)
{
    if (one->selector_count != other->selector_count ||
        !users_have_rules(&one->root, &other->root))
        return false;
    for (size_t i = 0; i < one->selector_count; i++)
        if (!users_have_rules(&one->selectors[i], &other->selectors[i]))
            return false;
    return true;
}

static inline bool users_are_same(struct acl *one, struct acl *other)
{
    struct acl_user *left = acl_first(one), *right = acl_first(other);

    for (; left != NULL && right != NULL; left = acl_next(left), right = acl_next(right))
        if (strcmp(left->name, right->name) != 0 || left->enabled != right->enabled ||
            left->no_password != right->no_password ||
            users_rights(left) != users_rights(right) || !users_have_selectors(left, right)) {
            fprintf(stderr, "user %s is another one\n", left->name);
            return false;
        }
    return left == NULL && right == NULL;
}

/* The caller releases it. */
static inline struct buffer users_text(struct acl *acl, bool quoted)
{
    struct buffer text;

    buffer_init(&text, SIZE_MAX / 2);
    acl_write(acl, quoted, &text);
    return text;
}

/* ---- as a file */

static inline bool users_survive_file(struct acl *acl, const char *path)
{
    struct buffer text = users_text(acl, false), why;
    struct acl *again = NULL;
    bool good = file_replace(path, buffer_content(&text), buffer_size(&text));

    buffer_init(&why, SIZE_MAX / 2);
    if (good)
        again = acl_file_read(path, ACL_NO_CHANNELS, &why);
    if (again == NULL)
        fprintf(stderr, "%.*s: %.*s\n", (int)buffer_size(&text), buffer_content(&text),
                (int)buffer_size(&why), buffer_size(&why) == 0 ? "" : buffer_content(&why));
    good = again != NULL && users_are_same(acl, again);
    acl_free(again);
    buffer_release(&text);
    buffer_release(&why);
    return good;
}

/* ---- as lines of the configuration */

static inline bool users_define(struct acl *acl, const char *line, size_t size)
{
    struct argument *words = malloc((size / 2 + 1) * sizeof(*words));
    char *space = malloc(size * 2 + 1);
    struct buffer why;
    bool good;
    int count;

    if (words == NULL || space == NULL)
        abort();
    buffer_init(&why, SIZE_MAX / 2);
    count = tokens_split(line, size, space, words, size / 2 + 1);
    good =
        count > 1 && acl_file_define(acl, words + 1, (size_t)count - 1, ACL_NO_CHANNELS, &why);
    if (!good)
        fprintf(stderr, "%.*s: %.*s\n", (int)size, line, (int)buffer_size(&why),
                buffer_size(&why) == 0 ? "" : buffer_content(&why));
    buffer_release(&why);
    free(space);
    free(words);
    return good;
}

static inline bool users_survive_lines(struct acl *acl)
{
    struct buffer text = users_text(acl, true);
    const char *at = buffer_content(&text), *end = at + buffer_size(&text);
    struct acl *again = acl_new();
    bool good = again != NULL;

    while (good && at < end) {
        size_t size = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);

        good = users_define(again, at, size);
        at += size + 1;
    }
    good = good && users_are_same(acl, again);
    acl_free(again);
    buffer_release(&text);
    return good;
}

/* ---- any text */

static inline bool users_check(const char *path, enum acl_channels channels)
{
    struct buffer why;
    struct acl *acl;
    bool good;

    buffer_init(&why, SIZE_MAX / 2);
    acl = acl_file_read(path, channels, &why);
    good = acl == NULL ? buffer_size(&why) > 0
                       : users_survive_file(acl, path) && users_survive_lines(acl);
    acl_free(acl);
    buffer_release(&why);
    return good;
}

static inline bool users_hold_up(const uint8_t *data, size_t size)
{
    char path[PATH_MAX], *dir = temp_dir_new();
    FILE *file;
    bool good;

    snprintf(path, sizeof(path), "%s/users", dir);
    file = fopen(path, "w");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    good = users_check(path, size % 2 == 0 ? ACL_NO_CHANNELS : ACL_ALL_CHANNELS);
    temp_dir_remove(dir);
    return good;
}

#endif
