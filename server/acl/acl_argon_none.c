/* A build without libargon2: no hash has its form. */
#include "server/acl/acl_argon.h"

bool acl_argon_is_there(void)
{
    return false;
}

bool acl_argon_is_hash(struct dueq_slice text)
{
    (void)text;
    return false;
}

enum acl_argon_result acl_argon_check(const char *text, struct dueq_slice password)
{
    (void)text;
    (void)password;
    return ACL_ARGON_OTHER;
}

bool acl_argon_make(struct dueq_slice password, char *text)
{
    (void)password;
    (void)text;
    return false;
}

const char *acl_argon_nobody(void)
{
    return "";
}
