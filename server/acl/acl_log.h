/* ACL LOG: what was refused, newest first. Equal refusals within a minute are one entry, which
 * counts them. */
#ifndef DUEQ_ACL_LOG_H
#define DUEQ_ACL_LOG_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* In the order in which they count: the greatest of several selectors' is told. */
enum acl_reason {
    ACL_ALLOWED,
    ACL_DENIED_COMMAND,
    ACL_DENIED_KEY,
    ACL_DENIED_LOGIN,
    ACL_DENIED_CHANNEL,
    ACL_REASONS,
    ACL_UNDECIDED = ACL_REASONS /* of acl_check_some: no reason */
};
/* "command", "key", "auth", "channel" */
const char *acl_reason_name(enum acl_reason reason);

struct acl_entry {
    uint64_t count;
    enum acl_reason reason;
    bool in_multi;
    int64_t time;                           /* wall, ms: of the last one */
    struct dueq_slice object, user, client; /* copies */
    struct acl_entry *prev, *next;          /* utlist */
};

struct acl_log {
    struct acl_entry *newest;
    size_t count;
};

/* Texts are cut to this: a client chooses them. */
enum { ACL_LOG_TEXT_MAX = 1024 };

/* Copies what the entry points to; keeps `most` entries. Without memory there is no entry. */
void acl_log_add(struct acl_log *log, const struct acl_entry *entry, uint64_t most);
void acl_log_trim(struct acl_log *log, uint64_t most);
void acl_log_reset(struct acl_log *log);

#endif
