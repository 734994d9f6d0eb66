/* May a user do what a request asks for? Keys are found as the commands say it
 * (server/dispatch/command_keys.h); topics are keys. */
#ifndef DUEQ_ACL_CHECK_H
#define DUEQ_ACL_CHECK_H

#include "server/acl/acl_log.h"
#include "server/acl/acl_user.h"

#include <stdint.h>

/* A name whose bytes times those of a pattern are more does not match it, unless the pattern is
 * a prefix and a star. */
enum { ACL_MATCH_STEPS = 2 * 1024 * 1024 };

struct acl_verdict {
    enum acl_reason reason;
    size_t argument; /* the key or channel that is refused; of a command 0 */
};

enum { ACL_SLICE_STEPS = 2 * 1000 * 1000 }; /* some 1 ms */

/* How far acl_check_some is. Zero at first; to be begun anew when a rule of the user changes.
 */
struct acl_pace {
    size_t sets;              /* sets of rules that refuse: the root, then the selectors */
    size_t names;             /* keys, then channels, that the next set allows */
    const struct text *rule;  /* the next for the name after these; NULL: the first */
    struct acl_verdict worst; /* of the sets */
    size_t steps;             /* the caller sets it before each slice: how many it may take */
};

/* What is known of one request: that `user` may do it, or how far the check is, under the rules
 * of a version of the users (acl.h). Zero: nothing. */
struct acl_memo {
    const struct acl_user *user;
    uint64_t version;
    bool allowed;
    struct acl_pace pace;
};

/* The request fits the command's arity. A request whose keys cannot be found is not refused for
 * them: the command fails with an error of its own. O(keys * patterns), for a user without
 * restrictions O(1). */
struct acl_verdict acl_check(const struct acl_user *user, const struct command *command,
                             const struct request *request);
/* A slice of it. ACL_UNDECIDED: there is more to check, and *pace says where. */
struct acl_verdict acl_check_some(const struct acl_user *user, const struct command *command,
                                  const struct request *request, struct acl_pace *pace);

/* The same, and all keys may be read: for commands that find keys in the data, as SORT BY. */
bool acl_check_reads_all(const struct acl_user *user, const struct command *command,
                         const struct request *request);
/* The same, and all keys may be read and written. */
bool acl_check_changes_all(const struct acl_user *user, const struct command *command,
                           const struct request *request);

/* The same, and this key may be used too: for commands that find a key in the data. flags: what
 * they do with it, as in key_specs.h. */
bool acl_check_key(const struct acl_user *user, const struct command *command,
                   const struct request *request, struct dueq_slice key, const char *flags);

/* A key that stands at the beginning of a text. */
struct acl_head {
    uint32_t text; /* number */
    uint16_t size;
    bool allowed; /* false at first */
};
struct acl_heads {
    struct acl_head *items;
    size_t count;
    const char *(*text)(const void *arg, size_t number);
    const void *arg;
};
/* How far acl_check_heads is. Zero at first, as acl_pace. */
struct acl_heads_pace {
    size_t sets, next; /* sets of rules, and keys that the next set has seen */
    bool fits;         /* that set allows the request itself */
    struct acl_pace pace;
};

/* The same as acl_check_key of each of them, a slice of pace->pace.steps: `allowed` says
 * it. False: there is more to check, and *pace says where. The user is not unrestricted. */
bool acl_check_heads(const struct acl_user *user, const struct command *command,
                     const struct request *request, const char *flags,
                     const struct acl_heads *heads, struct acl_heads_pace *pace);

/* May the user run it on any key at all, and if it is a write, on one that it may write? First
 * arguments that are allowed alone do not count. O(patterns). */
bool acl_may_run(const struct acl_user *user, const struct command *command);

/* May the user subscribe to it? A pattern must stand among the rules as it is. */
bool acl_check_channel(const struct acl_user *user, struct dueq_slice channel, bool is_pattern);

#endif
