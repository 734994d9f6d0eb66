/* Passwords: kept as SHA-256 in hexadecimal, as in Redis, and compared in constant time.
 * libmd does it: 8 KB, also where a device is built without OpenSSL. */
#ifndef DUEQ_ACL_HASH_H
#define DUEQ_ACL_HASH_H

#include "storage/slice.h"

#include <stdbool.h>

enum { ACL_HASH_SIZE = 64 };

/* Writes ACL_HASH_SIZE lower-case digits. O(password). */
void acl_hash(struct dueq_slice password, char *digits);
/* Takes the same time whatever they are. */
bool acl_hash_is_same(const char *digits, const char *other);
/* Random digits for a secret, at most ACL_RANDOM_MAX. False: the system has none. */
enum { ACL_RANDOM_MAX = 1024 };
bool acl_hash_random(char *digits, size_t count);
/* Overwrites a secret that is about to be freed. */
void acl_hash_forget(void *secret, size_t size);

#endif
