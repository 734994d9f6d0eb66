#include "tools/forward/signature.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = SHA256_BLOCK_LENGTH };

/* The key, padded, with each byte changed. */
static void begin(SHA2_CTX *hash, const uint8_t *key, uint8_t with)
{
    uint8_t block[BLOCK];

    for (size_t i = 0; i < BLOCK; i++)
        block[i] = key[i] ^ with;
    SHA256Init(hash);
    SHA256Update(hash, block, BLOCK);
}

static void read_key(struct dueq_slice secret, uint8_t key[BLOCK])
{
    SHA2_CTX hash;

    memset(key, 0, BLOCK);
    if (secret.size <= BLOCK) {
        memcpy(key, secret.data, secret.size);
        return;
    }
    SHA256Init(&hash);
    SHA256Update(&hash, secret.data, secret.size);
    SHA256Final(key, &hash);
}

void signature_write(struct dueq_slice secret, int64_t unix_seconds, struct dueq_slice body,
                     char *text)
{
    uint8_t key[BLOCK], digest[SHA256_DIGEST_LENGTH];
    char head[32];
    size_t size = (size_t)snprintf(head, sizeof(head), "%" PRId64 ".", unix_seconds);
    SHA2_CTX hash;

    read_key(secret, key);
    begin(&hash, key, 0x36);
    SHA256Update(&hash, (const uint8_t *)head, size);
    if (body.size > 0)
        SHA256Update(&hash, body.data, body.size);
    SHA256Final(digest, &hash);
    begin(&hash, key, 0x5c);
    SHA256Update(&hash, digest, sizeof(digest));
    SHA256Final(digest, &hash);
    size = (size_t)snprintf(text, SIGNATURE_TEXT, "t=%" PRId64 ",v1=", unix_seconds);
    for (size_t i = 0; i < sizeof(digest); i++)
        size += (size_t)snprintf(text + size, SIGNATURE_TEXT - size, "%02x", digest[i]);
}
