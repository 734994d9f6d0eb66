/* Passwords that take long to try: argon2id, by libargon2, in the library's text form
 * "$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH". One who has the file of users tries some dozens a
 * second, not billions as with SHA-256. `make ARGON2=no` builds without: acl_argon_none.c. */
#ifndef DUEQ_ACL_ARGON_H
#define DUEQ_ACL_ARGON_H

#include "storage/slice.h"

#include <stdbool.h>

enum {
    ACL_ARGON_SIZE = 256,            /* of a text, with a zero after it */
    ACL_ARGON_KIB_MAX = 64 * 1024,   /* m: memory of one check */
    ACL_ARGON_WORK_MAX = 256 * 1024, /* m times t: half a second */
    ACL_ARGON_PASSWORD_MAX = 4096    /* bytes */
};

/* What acl_argon_check says. */
enum acl_argon_result { ACL_ARGON_SAME, ACL_ARGON_OTHER, ACL_ARGON_FAILED /* no memory */ };

/* False: this program was built without libargon2. */
bool acl_argon_is_there(void);
/* Has the text the form of a hash, within the limits? `p` must be 1: no threads. O(text). */
bool acl_argon_is_hash(struct dueq_slice text);
/* Is `text`, which is such a hash with a zero after it, that of the password? Takes as long as
 * m and t say: 20 ms as acl_argon_make makes it. Any thread. */
enum acl_argon_result acl_argon_check(const char *text, struct dueq_slice password);
/* Makes a hash with a random salt (m=19456, t=2) in `text`, ACL_ARGON_SIZE bytes. 20 ms. False:
 * no memory, or the system has no random numbers. Any thread. */
bool acl_argon_make(struct dueq_slice password, char *text);
/* A hash of no password, which takes as long to check. Static. */
const char *acl_argon_nobody(void);

#endif
