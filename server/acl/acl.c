#include "server/acl/acl.h"

#include "server/acl/acl_hash.h"

#include <stdlib.h>

static const struct dueq_slice default_name = {"default", 7};
static uint64_t made; /* how many were */

static struct dueq_slice name_of(const struct acl_user *user)
{
    return dueq_slice(user->name, user->name_size);
}

static bool give(struct acl_user *user, const char *const *rules)
{
    bool good = true;

    for (; *rules != NULL; rules++)
        good &= acl_user_apply(user, dueq_slice(*rules, strlen(*rules)), ACL_NO_CHANNELS) ==
                ACL_GOOD;
    return good;
}

bool acl_add_default(struct acl *acl)
{
    static const char *const rules[] = {"+@all", "~*", "&*", "on", "nopass", NULL};

    acl->standard = acl_user_new(default_name, ACL_NO_CHANNELS);
    return acl->standard != NULL && give(acl->standard, rules) && acl_add(acl, acl->standard);
}

struct acl *acl_new(void)
{
    struct acl *acl = calloc(1, sizeof(*acl));

    if (acl == NULL)
        return NULL;
    acl->version = ++made << 32;
    if (acl_add_default(acl))
        return acl;
    acl_free(acl);
    return NULL;
}

void acl_free(struct acl *acl)
{
    struct acl_user *user, *next;

    if (acl == NULL)
        return;
    HASH_ITER(hh, acl->users, user, next)
        acl_remove(acl, user);
    acl_free_dead(acl, SIZE_MAX);
    acl_log_reset(&acl->log);
    free(acl);
}

struct acl_user *acl_find(const struct acl *acl, struct dueq_slice name)
{
    struct acl_user *user;

    HASH_FIND(hh, acl->users, name.data, name.size, user);
    return user;
}

size_t acl_count(const struct acl *acl)
{
    return HASH_COUNT(acl->users);
}

static int by_name(const struct acl_user *one, const struct acl_user *other)
{
    return dueq_slice_compare(name_of(one), name_of(other));
}

struct acl_user *acl_first(struct acl *acl)
{
    if (!acl->is_sorted)
        HASH_SORT(acl->users, by_name);
    acl->is_sorted = true;
    return acl->users;
}

static bool comes_last(const struct acl *acl, const struct acl_user *user)
{
    const struct UT_hash_table *table = acl->users == NULL ? NULL : acl->users->hh.tbl;

    return table == NULL || by_name(ELMT_FROM_HH(table, table->tail), user) < 0;
}

bool acl_add(struct acl *acl, struct acl_user *user)
{
    acl->is_sorted = comes_last(acl, user) && (acl->is_sorted || acl->users == NULL);
    HASH_ADD_KEYPTR(hh, acl->users, user->name, user->name_size, user);
    acl_note_change(acl, user);
    if (seeded_table_holds(user))
        return true;
    acl_user_free(user);
    return false;
}

void acl_remove(struct acl *acl, struct acl_user *user)
{
    HASH_DEL(acl->users, user);
    acl->version++;
    acl_user_free(user);
}

void acl_bury(struct acl *acl, struct acl_user *user)
{
    HASH_DEL(acl->users, user);
    acl->version++;
    user->is_dead = true;
    user->unrestricted = user->enabled = false;
    user->hh.next = acl->dead;
    acl->dead = user;
}

size_t acl_bury_marked(struct acl *acl, uint64_t deletion)
{
    struct acl_user *user, *next;
    size_t count = 0;

    HASH_ITER(hh, acl->users, user, next)
        if (user->deletion == deletion) {
            acl_bury(acl, user);
            count++;
        }
    return count;
}

void acl_bury_all(struct acl *acl)
{
    struct acl_user *user, *next;

    HASH_ITER(hh, acl->users, user, next)
        if (user != acl->standard)
            acl_bury(acl, user);
}

void acl_discard(struct acl *acl, struct acl *from)
{
    struct acl_user *first = from->users, *last;

    if (first != NULL) {
        last = ELMT_FROM_HH(first->hh.tbl, first->hh.tbl->tail);
        HASH_CLEAR(hh, from->users);
        last->hh.next = acl->dead;
        acl->dead = first;
    }
    acl_free(from);
}

bool acl_free_dead(struct acl *acl, size_t most)
{
    for (; acl->dead != NULL && most > 0; most--) {
        struct acl_user *first = acl->dead;

        acl->dead = acl_next(first);
        acl_user_free(first);
    }
    return acl->dead != NULL;
}

void acl_hand_over(struct acl *acl, struct acl *next)
{
    next->dead = acl->dead;
    acl->dead = NULL;
    next->log = acl->log;
    memcpy(next->denied, acl->denied, sizeof(acl->denied));
    next->failures = acl->failures;
    next->delayed = acl->delayed;
    acl->log = (struct acl_log){NULL, 0};
}

static bool set_password(struct acl_user *user, struct dueq_slice password)
{
    struct buffer rule;
    bool good;

    if (password.size == 0)
        return acl_user_apply(user, dueq_slice("nopass", 6), ACL_NO_CHANNELS) == ACL_GOOD;
    buffer_init(&rule, SIZE_MAX);
    buffer_append(&rule, ">", 1);
    buffer_append(&rule, password.data, password.size);
    good = !rule.overflowed &&
           acl_user_apply(user, dueq_slice(buffer_content(&rule), buffer_size(&rule)),
                          ACL_NO_CHANNELS) == ACL_GOOD;
    if (!rule.overflowed)
        acl_hash_forget(buffer_content(&rule), buffer_size(&rule));
    buffer_release(&rule);
    return good;
}

bool acl_set_default_password(struct acl *acl, struct dueq_slice password)
{
    acl->version++;
    acl_user_renew(acl->standard);
    return acl_user_apply(acl->standard, dueq_slice("resetpass", 9), ACL_NO_CHANNELS) ==
               ACL_GOOD &&
           set_password(acl->standard, password);
}

struct acl_user *acl_log_in(const struct acl *acl, struct dueq_slice name,
                            struct dueq_slice password)
{
    struct acl_user *user = acl_find(acl, name);
    bool good = acl_user_has_password(user == NULL ? acl->standard : user, password);

    if (user == NULL || !user->enabled)
        return NULL;
    return good || user->no_password ? user : NULL;
}

void acl_note_change(struct acl *acl, const struct acl_user *user)
{
    acl->version++;
    acl->has_slow = acl->has_slow || acl_user_slow_passwords(user) > 0;
}

struct hash_job *acl_log_in_later(const struct acl *acl, struct dueq_slice name,
                                  struct dueq_slice password, void *owner)
{
    const struct acl_user *user = acl_find(acl, name);
    struct hash_job *job = hash_job_new(HASH_CHECK, owner);
    bool good = job != NULL;

    if (password.size > ACL_ARGON_PASSWORD_MAX) { /* nobody has such a one */
        password.size = 0;
        user = NULL;
    }
    if (good && user != NULL && user->enabled)
        good = acl_user_add_checks(user, password, job);
    if (good && job->count == 0)
        good = hash_job_add(job, password, acl_argon_nobody());
    if (good)
        return job;
    hash_job_free(job);
    return NULL;
}

struct acl_user *acl_end_log_in(const struct acl *acl, struct dueq_slice name,
                                const struct hash_job *job)
{
    struct acl_user *user = acl_find(acl, name);

    for (size_t i = 0; user != NULL && user->enabled && i < job->count; i++) {
        const struct hash_item *item = &job->items[i];

        if (item->result == ACL_ARGON_SAME &&
            text_set_find(&user->passwords, dueq_slice(item->text, strlen(item->text))) != NULL)
            return user;
    }
    return NULL;
}

/* ---- as text */

static void write_line(const struct acl_user *user, struct buffer *out)
{
    buffer_append(out, "user ", 5);
    buffer_append(out, user->name, user->name_size);
    buffer_append(out, " ", 1);
    acl_user_write(user, out);
}

static void quote(const char *word, size_t size, struct buffer *out)
{
    buffer_append(out, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        if (word[i] == '"' || word[i] == '\\')
            buffer_append(out, "\\", 1);
        buffer_append(out, word + i, 1);
    }
    buffer_append(out, "\"", 1);
}

/* Words contain no spaces. An empty name stands between two. */
static void quote_words(const char *line, size_t size, struct buffer *out)
{
    const char *end = line + size;

    for (;;) {
        const char *space = memchr(line, ' ', (size_t)(end - line));
        size_t word = (size_t)((space == NULL ? end : space) - line);

        if (word == 0 || memchr(line, '"', word) != NULL || memchr(line, '\'', word) != NULL)
            quote(line, word, out);
        else
            buffer_append(out, line, word);
        if (space == NULL)
            break;
        buffer_append(out, " ", 1);
        line = space + 1;
    }
}

static void write_quoted(const struct acl_user *user, struct buffer *out)
{
    struct buffer line;

    buffer_init(&line, SIZE_MAX);
    write_line(user, &line);
    if (line.overflowed)
        out->overflowed = true;
    else
        quote_words(buffer_content(&line), buffer_size(&line), out);
    buffer_release(&line);
}

void acl_write_user(const struct acl_user *user, bool quoted, struct buffer *out)
{
    if (quoted)
        write_quoted(user, out);
    else
        write_line(user, out);
    buffer_append(out, "\n", 1);
}

void acl_write(struct acl *acl, bool quoted, struct buffer *out)
{
    for (const struct acl_user *user = acl_first(acl); user != NULL; user = acl_next(user))
        acl_write_user(user, quoted, out);
}

bool acl_is_plain(const struct acl *acl, struct dueq_slice password)
{
    const struct acl_user *user = acl->standard;

    if (acl_count(acl) > 1 || !user->unrestricted || !user->enabled ||
        user->selector_count > 0 || user->no_password != (password.size == 0))
        return false;
    return password.size == 0 ||
           (text_set_count(&user->passwords) == 1 && acl_user_has_password(user, password));
}
