#include "server/acl/acl_hash.h"

#include <sha2.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

static void write_digits(const unsigned char *bytes, size_t count, char *digits)
{
    static const char names[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++)
        digits[i] = names[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15];
}

void acl_hash(struct dueq_slice password, char *digits)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA2_CTX state;

    SHA256Init(&state);
    SHA256Update(&state, password.data, password.size);
    SHA256Final(hash, &state);
    explicit_bzero(&state, sizeof(state));
    write_digits(hash, ACL_HASH_SIZE, digits);
    explicit_bzero(hash, sizeof(hash));
}

bool acl_hash_is_same(const char *digits, const char *other)
{
    unsigned difference = 0;

    for (size_t i = 0; i < ACL_HASH_SIZE; i++)
        difference |= (unsigned char)(digits[i] ^ other[i]);
    return difference == 0;
}

bool acl_hash_random(char *digits, size_t count)
{
    unsigned char bytes[ACL_RANDOM_MAX / 2];

    if (getrandom(bytes, (count + 1) / 2, 0) != (ssize_t)((count + 1) / 2))
        return false;
    write_digits(bytes, count, digits);
    explicit_bzero(bytes, sizeof(bytes));
    return true;
}

void acl_hash_forget(void *secret, size_t size)
{
    explicit_bzero(secret, size);
}
