/* The users of a server. There is always the user "default". The address of a user does not
 * change; ACL LOAD makes all of them anew. */
#ifndef DUEQ_ACL_H
#define DUEQ_ACL_H

#include "server/acl/acl_log.h"
#include "server/acl/acl_user.h"
#include "server/acl/login_failures.h"

struct acl {
    struct acl_user *users; /* by name (uthash), the default one as well */
    struct acl_user *standard;
    struct acl_user *dead;    /* buried, not freed yet (hh.next) */
    uint64_t version;         /* another one after each change, and for each struct acl */
    uint64_t deletions;       /* ACL DELUSERs that have marked users (acl_user.deletion) */
    bool is_sorted;           /* `users` are in order */
    bool standard_is_defined; /* by a line of the configuration */
    bool has_slow;            /* a user has, or had, a password that is slow to check */
    struct acl_log log;
    uint64_t denied[ACL_REASONS]; /* since the start, by enum acl_reason */
    struct login_failures failures;
    uint64_t delayed;   /* of these, replies that came late */
    uint64_t file_hash; /* of the file from which they were read, or into which they were
                           written; 0: none */
};

/* With the default user, who may do everything without a password. NULL: out of memory. */
struct acl *acl_new(void);
void acl_free(struct acl *acl); /* NULL is fine */
/* For acl_file.c: adds the default user, which is missing. False: out of memory. */
bool acl_add_default(struct acl *acl);

static inline struct acl_user *acl_default(const struct acl *acl)
{
    return acl->standard;
}
/* Must clients log in? */
static inline bool acl_wants_login(const struct acl *acl)
{
    return !acl->standard->no_password || !acl->standard->enabled;
}

/* NULL: there is none. O(1). */
struct acl_user *acl_find(const struct acl *acl, struct dueq_slice name);
size_t acl_count(const struct acl *acl);
/* The users in the order of their names; goes on with acl_next. O(1), or O(n * log(n)) after
 * one was added that does not come last. */
struct acl_user *acl_first(struct acl *acl);
static inline struct acl_user *acl_next(const struct acl_user *user)
{
    return user->hh.next;
}

/* Moves log, counters and the dead to `next`, which takes the place of `acl`. */
void acl_hand_over(struct acl *acl, struct acl *next);

/* Adds a user whose name nobody has, and owns it. False: out of memory, the user is freed. */
bool acl_add(struct acl *acl, struct acl_user *user);
/* Takes a user out and frees it. Nobody must be logged in as it any more. */
void acl_remove(struct acl *acl, struct acl_user *user);
/* Takes a user out, who may do nothing any more. It is freed later: clients may be logged in as
 * it still. */
void acl_bury(struct acl *acl, struct acl_user *user);
/* The same for all whose `deletion` this is; returns how many. O(users). */
size_t acl_bury_marked(struct acl *acl, uint64_t deletion);
/* The same for all but the default user. O(users). */
void acl_bury_all(struct acl *acl);
/* Frees `from`: its users, whom no client has, go with the dead of `acl`, some a turn. O(1). */
void acl_discard(struct acl *acl, struct acl *from);
/* Frees some of those, as whom nobody must be logged in. False: none are left. */
bool acl_free_dead(struct acl *acl, size_t most);

/* requirepass: the default user's only password; size 0: none is needed. False: out of
 * memory. */
bool acl_set_default_password(struct acl *acl, struct dueq_slice password);

/* The user whom these names let in; NULL: wrong, or the user is off, or only the slow hashes of
 * acl_log_in_later know. Takes as long for a user that does not exist. */
struct acl_user *acl_log_in(const struct acl *acl, struct dueq_slice name,
                            struct dueq_slice password);

/* While acl->has_slow, for who was not let in: what is to be computed, which takes time also
 * for a user that does not exist, that is off, or that has no slow password. NULL: out of
 * memory. The caller owns it. */
struct hash_job *acl_log_in_later(const struct acl *acl, struct dueq_slice name,
                                  struct dueq_slice password, void *owner);
/* The user whom the job, which is done, lets in: it must still have the password. NULL: none.
 */
struct acl_user *acl_end_log_in(const struct acl *acl, struct dueq_slice name,
                                const struct hash_job *job);
/* To be called when a user has changed. */
void acl_note_change(struct acl *acl, const struct acl_user *user);

/* Writes "user NAME RULES" and a newline, as an ACL file has it; the second one for each user.
 * `quoted`: as lines of a configuration, where a word with a quotation mark stands in quotation
 * marks. */
void acl_write_user(const struct acl_user *user, bool quoted, struct buffer *out);
void acl_write(struct acl *acl, bool quoted, struct buffer *out);

/* Is there nobody but the default user, with all rights and the password of requirepass? */
bool acl_is_plain(const struct acl *acl, struct dueq_slice password);

#endif
