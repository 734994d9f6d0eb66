#include "storage/queue/record/job_record.h"

#include "storage/bytes.h"
#include "storage/queue/record/given_id.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    RECORD_VERSION = 1,
    FLAG_TOKEN_VALID = 1,
    TIME_DIGITS = 10,
    SEQ_DIGITS = GIVEN_ID_SIZE - TIME_DIGITS
};

/* ---- numbers: seven bits a byte, least first; signed ones zigzag */

static uint8_t *write_number(uint8_t *at, int64_t number)
{
    uint64_t left = ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);

    while (left >= 0x80) {
        *at++ = (uint8_t)(left | 0x80);
        left >>= 7;
    }
    *at++ = (uint8_t)left;
    return at;
}

/* NULL: the record ends too early. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, int64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned shift = 0; at != NULL && at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
            return at;
        }
    }
    return NULL;
}

/* A damaged record may hold anything: wraps rather than overflows. */
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- body */

size_t job_record_write_head(uint8_t *bytes, const struct job_body *body)
{
    uint8_t *at = bytes;

    *at++ = RECORD_VERSION;
    *at++ = body->priority;
    *at++ = body->clock;
    *at++ = (uint8_t)body->id.size;
    at = write_number(at, body->lease);
    at = write_number(at, body->retries);
    at = write_number(at, body->backoff);
    at = write_number(at, body->backoff_max);
    at = write_number(at, body->ttl);
    at = write_number(at, body->pushed);
    at = write_number(at, body->stamp - body->pushed);
    at = write_number(at, body->due - body->pushed);
    return (size_t)(at - bytes);
}

bool job_record_read_body(struct dueq_slice record, struct job_body *ret_body)
{
    const uint8_t *at = record.data, *end = at + record.size;
    size_t id_size;

    if (record.size < 4 || at[0] != RECORD_VERSION || at[2] > CLOCK_WALL)
        return false;
    ret_body->priority = at[1];
    ret_body->clock = at[2];
    id_size = at[3];
    at = read_number(at + 4, end, &ret_body->lease);
    at = read_number(at, end, &ret_body->retries);
    at = read_number(at, end, &ret_body->backoff);
    at = read_number(at, end, &ret_body->backoff_max);
    at = read_number(at, end, &ret_body->ttl);
    at = read_number(at, end, &ret_body->pushed);
    at = read_number(at, end, &ret_body->stamp);
    at = read_number(at, end, &ret_body->due);
    if (at == NULL || (size_t)(end - at) < id_size)
        return false;
    ret_body->stamp = add(ret_body->stamp, ret_body->pushed);
    ret_body->due = add(ret_body->due, ret_body->pushed);
    ret_body->id = dueq_slice(at, id_size);
    ret_body->body = dueq_slice(at + id_size, (size_t)(end - at) - id_size);
    return true;
}

struct job_state job_record_first_state(const struct job_body *body)
{
    int64_t due =
        body->clock == CLOCK_QUEUE ? body->due : body->due - body->pushed + body->stamp;

    return (struct job_state){.state = PHASE_PENDING,
                              .priority = body->priority,
                              .clock = body->clock,
                              .due = body->due,
                              .expires = job_record_ttl_end(body, due)};
}

int64_t job_record_ttl_end(const struct job_body *body, int64_t due)
{
    return body->ttl == DUEQ_DEFAULT ? DUEQ_NEVER
                                     : safe_time_add(safe_time_clamp(due), body->ttl);
}

/* ---- state */

size_t job_record_write_state(uint8_t *bytes, const struct job_state *state)
{
    uint8_t *at = bytes;

    *at++ = RECORD_VERSION;
    *at++ = (uint8_t)state->state;
    *at++ = state->token_valid ? FLAG_TOKEN_VALID : 0;
    *at++ = state->priority;
    *at++ = state->clock;
    at = write_number(at, state->due);
    at = write_number(at, state->attempt);
    at = write_number(at, state->token);
    at = write_number(at, state->expires);
    if (state->error.size > 0)
        memcpy(at, state->error.data, state->error.size);
    return (size_t)(at - bytes) + state->error.size;
}

bool job_record_read_state(struct dueq_slice record, struct job_state *ret_state)
{
    const uint8_t *at = record.data, *end = at + record.size;

    if (record.size < 5 || at[0] != RECORD_VERSION || at[1] > PHASE_DEAD || at[4] > CLOCK_WALL)
        return false;
    ret_state->state = at[1];
    ret_state->token_valid = (at[2] & FLAG_TOKEN_VALID) != 0;
    ret_state->priority = at[3];
    ret_state->clock = at[4];
    at = read_number(at + 5, end, &ret_state->due);
    at = read_number(at, end, &ret_state->attempt);
    at = read_number(at, end, &ret_state->token);
    at = read_number(at, end, &ret_state->expires);
    if (at == NULL || (size_t)(end - at) > DUEQ_ERROR_MAX)
        return false;
    ret_state->error = dueq_slice(at, (size_t)(end - at));
    return true;
}
