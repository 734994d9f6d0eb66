/* A user: may it log in, with which passwords, and what may it do. The rules are those of
 * acl_rules.h and
 *
 *   on off nopass resetpass reset   >password <password #sha256 !sha256
 *   #$argon2id$... !$argon2id$...
 *   (rules of a selector) clearselectors   sanitize-payload skip-sanitize-payload
 *
 * The last two change nothing: there is no RESTORE. Redis has them, so files contain them. */
#ifndef DUEQ_ACL_USER_H
#define DUEQ_ACL_USER_H

#include "server/acl/acl_rules.h"
#include "server/acl/hasher.h"

struct acl_user {
    UT_hash_handle hh; /* by name */
    bool is_dead;      /* deleted: it may do nothing, and goes when its clients have gone */
    uint64_t deletion; /* the last ACL DELUSER that names it (acl.deletions); 0: none */
    bool enabled, no_password;
    enum { PAYLOAD_UNSAID, PAYLOAD_SANITIZED, PAYLOAD_SKIPPED } payload;
    uint64_t credentials;      /* another number for each user, and after each change of whether
                                  and with which passwords it may log in */
    uint64_t steps;            /* what it took to apply its rules: copies begin at 0 */
    bool unrestricted;         /* everything is allowed: the hot path looks at nothing else */
    struct text_set passwords; /* 64 hexadecimal digits each: SHA-256; or as acl_argon.h */
    struct acl_rules root;
    struct acl_rules *selectors;
    size_t selector_count;
    size_t name_size;
    char name[]; /* with a zero after it */
};

/* Limits of a user's rules, so that ACL SETUSER, and a copy of the user, take 3 ms at most. */
enum {
    ACL_TEXTS_MAX = 8192, /* patterns, passwords and rules on commands, of all selectors */
    ACL_SELECTOR_WORDS_MAX = 1024, /* of one selector */
    ACL_RULE_STEPS = 32,           /* of a rule; one on commands also looks at others like it */
    ACL_STEPS_MOST = 1 << 19,      /* of one ACL SETUSER */
    ACL_LINE_STEPS_MOST = 8 << 20  /* of a line of a file: all that a user can have become */
};

/* What a new user gets from acl-pubsub-default, which `reset` gives it again. */
enum acl_channels { ACL_NO_CHANNELS, ACL_ALL_CHANNELS };

/* Off, without passwords and rights. NULL: out of memory. */
struct acl_user *acl_user_new(struct dueq_slice name, enum acl_channels channels);
void acl_user_free(struct acl_user *user); /* NULL is fine */
/* Gives `user` all that `from` has but its name, and leaves `from` without it. */
void acl_user_take(struct acl_user *user, struct acl_user *from);
/* NULL: out of memory. */
struct acl_user *acl_user_copy(const struct acl_user *user);

/* To be called when whether, or with what, it may log in has changed; acl_user_take does it. */
void acl_user_renew(struct acl_user *user);

/* Applies one rule; a selector is one rule, from ( to ). After an error the user may be partly
 * changed: the caller works on a copy. */
enum acl_error acl_user_apply(struct acl_user *user, struct dueq_slice rule,
                              enum acl_channels channels);

/* Is it one of the user's passwords that are kept as SHA-256? Takes as long for a wrong one as
 * for a right one. */
bool acl_user_has_password(const struct acl_user *user, struct dueq_slice password);

/* How many passwords are kept in a form that is slow to check: HASH_ITEMS_MOST at most. */
size_t acl_user_slow_passwords(const struct acl_user *user);
/* For acl.c: adds a check of each of them to the job. False: out of memory. */
bool acl_user_add_checks(const struct acl_user *user, struct dueq_slice password,
                         struct hash_job *job);

/* What follows the name in ACL LIST and in files. */
void acl_user_write(const struct acl_user *user, struct buffer *out);

/* Is that text as short as a line may be, and are its parts few enough? O(rules). */
bool acl_user_fits(const struct acl_user *user);

/* May a user have this name? No spaces, no zero bytes. */
bool acl_user_name_is_good(struct dueq_slice name);

/* ---- selectors that were split at spaces */

/* Does a parenthesis stay open? *ret_open: in which argument. */
bool acl_user_find_open(const struct argument *arguments, size_t count, size_t *ret_open);
/* Calls fn for each rule in order, until it answers false; "(+get" and "~x)" are joined to one
 * rule. False: fn did, or a parenthesis stays open, or there is no memory. */
bool acl_user_each_rule(const struct argument *arguments, size_t count,
                        bool (*fn)(void *arg, struct dueq_slice rule), void *arg);

#endif
