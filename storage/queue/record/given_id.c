#include "storage/queue/record/given_id.h"

#include <string.h>

enum { TIME_DIGITS = 10, SEQ_DIGITS = GIVEN_ID_SIZE - TIME_DIGITS };

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void write_base32(char *text, int count, uint64_t number)
{
    while (count-- > 0) {
        text[count] = digits[number & 31];
        number >>= 5;
    }
}

void given_id_write(char *text, int64_t time, uint64_t seq)
{
    write_base32(text, TIME_DIGITS, (uint64_t)time);
    write_base32(text + TIME_DIGITS, SEQ_DIGITS, seq);
}

bool given_id_read(struct dueq_slice text, uint64_t *ret_seq)
{
    const char *at = text.data;
    uint64_t seq = 0; /* the digits of the time are shifted out */

    if (text.size != GIVEN_ID_SIZE)
        return false;
    for (int i = 0; i < GIVEN_ID_SIZE; i++) {
        const char *digit = memchr(digits, at[i], sizeof(digits) - 1);

        if (digit == NULL)
            return false;
        seq = seq << 5 | (uint64_t)(digit - digits);
    }
    *ret_seq = seq;
    return true;
}
