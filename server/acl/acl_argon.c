#include "server/acl/acl_argon.h"

#include <argon2.h>
#include <string.h>
#include <sys/random.h>

/* What OWASP names as the least for argon2id. */
enum { KIB = 19456, PASSES = 2, SALT_SIZE = 16, HASH_SIZE = 32 };
enum { KIB_MIN = 8, SALT_LEAST = 11, HASH_LEAST = 22 }; /* the last two: digits of base64 */

bool acl_argon_is_there(void)
{
    return true;
}

/* ---- the text */

struct reader {
    const char *at;
    size_t left;
};

static bool read_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);

    if (reader->left < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    reader->left -= size;
    return true;
}

/* Without leading zeros, and of at most six digits. */
static bool read_number(struct reader *reader, unsigned *ret_number)
{
    unsigned number = 0;
    int digits = 0;

    for (; reader->left > 0 && *reader->at >= '0' && *reader->at <= '9'; digits++) {
        if (digits == 6 || (digits == 1 && number == 0))
            return false;
        number = number * 10 + (unsigned)(*reader->at++ - '0');
        reader->left--;
    }
    *ret_number = number;
    return digits > 0;
}

static bool is_digit(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '+' || byte == '/';
}

static bool read_base64(struct reader *reader, size_t least)
{
    size_t size = 0;

    for (; reader->left > 0 && is_digit(*reader->at); size++) {
        reader->at++;
        reader->left--;
    }
    return size >= least && size % 4 != 1;
}

bool acl_argon_is_hash(struct dueq_slice text)
{
    struct reader reader = {text.data, text.size};
    unsigned kib, passes;

    return text.size < ACL_ARGON_SIZE && read_word(&reader, "$argon2id$v=19$m=") &&
           read_number(&reader, &kib) && read_word(&reader, ",t=") &&
           read_number(&reader, &passes) && read_word(&reader, ",p=1$") &&
           read_base64(&reader, SALT_LEAST) && read_word(&reader, "$") &&
           read_base64(&reader, HASH_LEAST) && reader.left == 0 && kib >= KIB_MIN &&
           passes > 0 && kib <= ACL_ARGON_KIB_MAX && passes <= ACL_ARGON_WORK_MAX / kib;
}

const char *acl_argon_nobody(void)
{
    return "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
           "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
}

/* ---- the work */

enum acl_argon_result acl_argon_check(const char *text, struct dueq_slice password)
{
    switch (argon2id_verify(text, password.data, password.size)) {
    case ARGON2_OK:
        return ACL_ARGON_SAME;
    case ARGON2_MEMORY_ALLOCATION_ERROR:
        return ACL_ARGON_FAILED;
    default:
        return ACL_ARGON_OTHER;
    }
}

bool acl_argon_make(struct dueq_slice password, char *text)
{
    unsigned char salt[SALT_SIZE];

    return getrandom(salt, sizeof(salt), 0) == (ssize_t)sizeof(salt) &&
           argon2id_hash_encoded(PASSES, KIB, 1, password.data, password.size, salt,
                                 sizeof(salt), HASH_SIZE, text, ACL_ARGON_SIZE) == ARGON2_OK;
}
