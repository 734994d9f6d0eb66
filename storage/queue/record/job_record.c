#include "storage/queue/record/job_record.h"

#include "storage/bytes.h"

#include <assert.h>
#include <string.h>

enum {
    BODY_PLAIN = 1,    /* version of a body without further options */
    BODY_OPTIONS = 2,  /* with them */
    STATE_VERSION = 2, /* 1 is read too */
    FLAG_TOKEN_VALID = 1,
    FLAG_CANCELLED = 2,
    FLAG_FOLLOWED = 4,
    FLAG_EXPIRES = 8,
    FLAG_TEXTS = 16,
    FLAG_WINDOWED = 32,
    FLAG_GROUPED = 64,
    FLAGS_KNOWN = 127,
    HOLDS = 1, /* of the group */
    THROTTLE = 1,
    STRIPPED = 2,
    GROUPED = 4,
    OPTIONS_KNOWN = THROTTLE | STRIPPED | GROUPED
};

/* ---- body */

static bool has_options(const struct job_body *body)
{
    return body->crashes != DUEQ_DEFAULT || body->jitter != DUEQ_DEFAULT ||
           body->window != DUEQ_DEFAULT || body->step_count > 0 || body->throttle ||
           body->stripped || body->group.size > 0;
}

static uint8_t *write_group(uint8_t *at, const struct job_body *body)
{
    assert(body->group.size <= DUEQ_NAME_MAX);
    at = numbers_write(at, body->weight);
    *at++ = (uint8_t)body->group.size;
    memcpy(at, body->group.data, body->group.size);
    return at + body->group.size;
}

static const uint8_t *read_group(const uint8_t *at, const uint8_t *stop,
                                 struct job_body *ret_body)
{
    at = numbers_read(at, stop, &ret_body->weight);
    if (at == NULL || stop - at < 1 || *at == 0 || stop - at < 1 + *at)
        return NULL;
    ret_body->group = dueq_slice(at + 1, *at);
    return at + 1 + *at;
}

/* Two bytes of size, flags, numbers, the group. */
static uint8_t *write_options(uint8_t *start, const struct job_body *body)
{
    uint8_t *at = start + 2;

    assert(body->step_count <= DUEQ_STEPS_MAX);
    *at++ = (uint8_t)((body->throttle ? THROTTLE : 0) | (body->stripped ? STRIPPED : 0) |
                      (body->group.size > 0 ? GROUPED : 0));
    at = numbers_write(at, body->crashes);
    at = numbers_write(at, body->jitter);
    at = numbers_write(at, body->window);
    at = numbers_write(at, (int64_t)body->step_count);
    for (size_t i = 0; i < body->step_count; i++)
        at = numbers_write(at, body->steps[i]);
    if (body->group.size > 0)
        at = write_group(at, body);
    start[0] = (uint8_t)((size_t)(at - start - 2) >> 8);
    start[1] = (uint8_t)(at - start - 2);
    return at;
}

/* Bytes after those that are known belong to a later version, and are passed over. */
static const uint8_t *read_options(const uint8_t *at, const uint8_t *end,
                                   struct job_body *ret_body)
{
    const uint8_t *stop;
    int64_t count = 0;
    uint8_t flags;

    if (at == NULL || end - at < 3 || end - at < 2 + ((at[0] << 8) | at[1]))
        return NULL;
    stop = at + 2 + ((at[0] << 8) | at[1]);
    if (stop - at < 3 || (at[2] & ~OPTIONS_KNOWN) != 0)
        return NULL;
    flags = at[2];
    ret_body->throttle = (flags & THROTTLE) != 0;
    ret_body->stripped = (flags & STRIPPED) != 0;
    at = numbers_read(at + 3, stop, &ret_body->crashes);
    at = numbers_read(at, stop, &ret_body->jitter);
    at = numbers_read(at, stop, &ret_body->window);
    at = numbers_read(at, stop, &count);
    if (at == NULL || count < 0 || count > DUEQ_STEPS_MAX)
        return NULL;
    ret_body->step_count = (size_t)count;
    for (int64_t i = 0; i < count; i++)
        at = numbers_read(at, stop, &ret_body->steps[i]);
    if (flags & GROUPED)
        at = read_group(at, stop, ret_body);
    return at == NULL ? NULL : stop;
}

size_t job_record_write_head(uint8_t *bytes, const struct job_body *body)
{
    bool options = has_options(body);
    uint8_t *at = bytes;

    *at++ = options ? BODY_OPTIONS : BODY_PLAIN;
    *at++ = body->priority;
    *at++ = body->clock;
    *at++ = (uint8_t)body->id.size;
    at = numbers_write(at, body->lease);
    at = numbers_write(at, body->retries);
    at = numbers_write(at, body->backoff);
    at = numbers_write(at, body->backoff_max);
    at = numbers_write(at, body->ttl);
    at = numbers_write(at, body->pushed);
    at = numbers_write(at, numbers_less(body->stamp, body->pushed));
    at = numbers_write(at, numbers_less(body->due, body->pushed));
    if (options)
        at = write_options(at, body);
    return (size_t)(at - bytes);
}

bool job_record_read_body(struct dueq_slice record, struct job_body *ret_body)
{
    const uint8_t *at = record.data, *end = at + record.size;
    uint8_t version;
    size_t id_size;

    if (record.size < 4 || at[0] < BODY_PLAIN || at[0] > BODY_OPTIONS || at[2] > CLOCK_WALL)
        return false;
    version = at[0];
    ret_body->priority = at[1];
    ret_body->clock = at[2];
    id_size = at[3];
    ret_body->throttle = ret_body->stripped = false;
    ret_body->crashes = ret_body->jitter = ret_body->window = DUEQ_DEFAULT;
    ret_body->step_count = 0;
    ret_body->group = dueq_slice(NULL, 0);
    ret_body->group_id = 0;
    ret_body->weight = 1;
    at = numbers_read(at + 4, end, &ret_body->lease);
    at = numbers_read(at, end, &ret_body->retries);
    at = numbers_read(at, end, &ret_body->backoff);
    at = numbers_read(at, end, &ret_body->backoff_max);
    at = numbers_read(at, end, &ret_body->ttl);
    at = numbers_read(at, end, &ret_body->pushed);
    at = numbers_read(at, end, &ret_body->stamp);
    at = numbers_read(at, end, &ret_body->due);
    if (version == BODY_OPTIONS)
        at = read_options(at, end, ret_body);
    if (at == NULL || (size_t)(end - at) < id_size)
        return false;
    ret_body->stamp = numbers_add(ret_body->stamp, ret_body->pushed);
    ret_body->due = numbers_add(ret_body->due, ret_body->pushed);
    ret_body->id = dueq_slice(at, id_size);
    ret_body->body = dueq_slice(at + id_size, (size_t)(end - at) - id_size);
    return true;
}

struct job_state job_record_first_state(const struct job_body *body)
{
    int64_t due = body->clock == CLOCK_QUEUE
                      ? body->due
                      : numbers_add(numbers_less(body->due, body->pushed), body->stamp);

    return (struct job_state){.state = PHASE_PENDING,
                              .priority = body->priority,
                              .clock = body->clock,
                              .due = body->due,
                              .since = body->due,
                              .size = (int64_t)body->body.size,
                              .group = body->group_id,
                              .weight = body->weight,
                              .expires = job_record_ttl_end(body, due)};
}

int64_t job_record_ttl_end(const struct job_body *body, int64_t due)
{
    return body->ttl == DUEQ_DEFAULT ? DUEQ_NEVER
                                     : safe_time_add(safe_time_clamp(due), body->ttl);
}

/* ---- texts of a state: two bytes of size each */

static uint8_t *write_text(uint8_t *at, struct dueq_slice text, size_t most)
{
    (void)most;
    assert(text.size <= most);
    *at++ = (uint8_t)(text.size >> 8);
    *at++ = (uint8_t)text.size;
    if (text.size > 0)
        memcpy(at, text.data, text.size);
    return at + text.size;
}

static const uint8_t *read_text(const uint8_t *at, const uint8_t *end, size_t most,
                                struct dueq_slice *ret_text)
{
    size_t size;

    if (at == NULL || end - at < 2)
        return NULL;
    size = (size_t)at[0] << 8 | at[1];
    if (size > most || (size_t)(end - at) - 2 < size)
        return NULL;
    *ret_text = dueq_slice(at + 2, size);
    return at + 2 + size;
}

/* ---- state */

static uint8_t state_flags(const struct job_state *state)
{
    bool texts = state->worker.size > 0 || state->progress.size > 0 || state->history.size > 0;

    return (uint8_t)((state->token_valid ? FLAG_TOKEN_VALID : 0) |
                     (state->cancelled ? FLAG_CANCELLED : 0) |
                     (state->followed ? FLAG_FOLLOWED : 0) |
                     (state->windowed ? FLAG_WINDOWED : 0) |
                     (state->expires != DUEQ_NEVER ? FLAG_EXPIRES : 0) |
                     (texts ? FLAG_TEXTS : 0) | (state->group != 0 ? FLAG_GROUPED : 0));
}

static uint8_t *write_waiting(uint8_t *at, const struct job_state *state)
{
    at = numbers_write(at, state->awaits);
    at = numbers_write(at, state->on_dead);
    return numbers_write(at, state->delay);
}

static const uint8_t *read_waiting(const uint8_t *at, const uint8_t *end,
                                   struct job_state *ret_state)
{
    int64_t awaits = 0, on_dead = 0;

    at = numbers_read(at, end, &awaits);
    at = numbers_read(at, end, &on_dead);
    at = numbers_read(at, end, &ret_state->delay);
    ret_state->awaits = (uint32_t)awaits;
    ret_state->on_dead = (uint8_t)on_dead;
    return awaits < 0 || awaits > UINT32_MAX || on_dead < DUEQ_ON_DEAD_FAIL ||
                   on_dead > DUEQ_ON_DEAD_WAIT || ret_state->delay < 0
               ? NULL
               : at;
}

size_t job_record_write_state(uint8_t *bytes, const struct job_state *state)
{
    uint8_t *at = bytes, flags = state_flags(state);

    *at++ = STATE_VERSION;
    *at++ = (uint8_t)state->state;
    *at++ = flags;
    *at++ = state->priority;
    *at++ = state->clock;
    at = numbers_write(at, state->due);
    at = numbers_write(at, state->attempt);
    at = numbers_write(at, state->token);
    at = numbers_write(at, state->failures);
    at = numbers_write(at, state->crashes);
    at = numbers_write(at, numbers_less(state->due, state->since));
    at = numbers_write(at, state->size);
    if (flags & FLAG_EXPIRES)
        at = numbers_write(at, state->expires);
    if (flags & FLAG_GROUPED) {
        *at++ = state->holds ? HOLDS : 0;
        bytes_write_u64(at, state->group);
        at += 8;
    }
    if (AFTERS_KNOWN && state->state == PHASE_WAITING)
        at = write_waiting(at, state);
    if (flags & FLAG_TEXTS) {
        at = write_text(at, state->worker, DUEQ_WORKER_MAX);
        at = write_text(at, state->progress, DUEQ_PROGRESS_MAX);
        at = write_text(at, state->history, JOB_RECORD_HISTORY_MAX);
    }
    if (state->error.size > 0)
        memcpy(at, state->error.data, state->error.size);
    return (size_t)(at - bytes) + state->error.size;
}

static const uint8_t *read_state_group(const uint8_t *at, const uint8_t *end,
                                       struct job_state *ret_state)
{
    if (at == NULL || end - at < 9 || at[0] > HOLDS)
        return NULL;
    ret_state->holds = at[0] == HOLDS;
    ret_state->group = bytes_read_u64(at + 1);
    return ret_state->group == 0 ? NULL : at + 9;
}

/* Version 1 knows claims only: each but one under way has failed. */
static const uint8_t *read_state_1(const uint8_t *at, const uint8_t *end,
                                   struct job_state *ret_state)
{
    at = numbers_read(at, end, &ret_state->due);
    at = numbers_read(at, end, &ret_state->attempt);
    at = numbers_read(at, end, &ret_state->token);
    at = numbers_read(at, end, &ret_state->expires);
    if (at == NULL)
        return NULL;
    ret_state->failures = numbers_less(ret_state->attempt, ret_state->state == PHASE_CLAIMED);
    ret_state->since = ret_state->due;
    ret_state->size = DUEQ_DEFAULT;
    return at;
}

static const uint8_t *read_state_2(const uint8_t *at, const uint8_t *end, uint8_t flags,
                                   struct job_state *ret_state)
{
    at = numbers_read(at, end, &ret_state->due);
    at = numbers_read(at, end, &ret_state->attempt);
    at = numbers_read(at, end, &ret_state->token);
    at = numbers_read(at, end, &ret_state->failures);
    at = numbers_read(at, end, &ret_state->crashes);
    at = numbers_read(at, end, &ret_state->since);
    at = numbers_read(at, end, &ret_state->size);
    ret_state->expires = DUEQ_NEVER;
    if (flags & FLAG_EXPIRES)
        at = numbers_read(at, end, &ret_state->expires);
    if (flags & FLAG_GROUPED)
        at = read_state_group(at, end, ret_state);
    if (AFTERS_KNOWN && ret_state->state == PHASE_WAITING)
        at = read_waiting(at, end, ret_state);
    if (flags & FLAG_TEXTS) {
        at = read_text(at, end, DUEQ_WORKER_MAX, &ret_state->worker);
        at = read_text(at, end, DUEQ_PROGRESS_MAX, &ret_state->progress);
        at = read_text(at, end, JOB_RECORD_HISTORY_MAX, &ret_state->history);
    }
    if (at != NULL)
        ret_state->since = (int64_t)((uint64_t)ret_state->due - (uint64_t)ret_state->since);
    return at;
}

bool job_record_read_state(struct dueq_slice record, struct job_state *ret_state)
{
    const uint8_t *at = record.data, *end = at + record.size;
    uint8_t version;

    if (record.size < 5 || at[0] < 1 || at[0] > STATE_VERSION ||
        at[1] > (AFTERS_KNOWN && at[0] > 1 ? PHASE_WAITING : PHASE_DONE) ||
        (at[2] & ~FLAGS_KNOWN) != 0 || at[4] > CLOCK_WALL)
        return false;
    version = at[0];
    *ret_state = (struct job_state){.state = at[1],
                                    .token_valid = (at[2] & FLAG_TOKEN_VALID) != 0,
                                    .priority = at[3],
                                    .clock = at[4]};
    if (version == 1) {
        at = read_state_1(at + 5, end, ret_state);
    } else {
        ret_state->cancelled = (at[2] & FLAG_CANCELLED) != 0;
        ret_state->followed = (at[2] & FLAG_FOLLOWED) != 0;
        ret_state->windowed = (at[2] & FLAG_WINDOWED) != 0;
        at = read_state_2(at + 5, end, at[2], ret_state);
    }
    if (at == NULL || (size_t)(end - at) > DUEQ_ERROR_MAX)
        return false;
    ret_state->error = dueq_slice(at, (size_t)(end - at));
    return true;
}

/* ---- attempts: when the claim ended and how long it was, numbers; outcome and size of the
 * worker's name, a byte each; the name */

static const uint8_t *read_attempt(const uint8_t *at, const uint8_t *end,
                                   struct dueq_attempt *ret_attempt)
{
    at = numbers_read(at, end, &ret_attempt->ended);
    at = numbers_read(at, end, &ret_attempt->duration);
    if (at == NULL || end - at < 2 || at[0] >= DUEQ_OUTCOMES || at[1] > DUEQ_WORKER_MAX ||
        end - at < 2 + at[1])
        return NULL;
    ret_attempt->outcome = at[0];
    ret_attempt->worker = dueq_slice(at + 2, at[1]);
    return at + 2 + at[1];
}

/* *ret_rest: without the first one. */
static size_t count_attempts(struct dueq_slice history, struct dueq_slice *ret_rest)
{
    const uint8_t *at = history.data, *end;
    struct dueq_attempt attempt;
    size_t count = 0;

    *ret_rest = dueq_slice(NULL, 0);
    if (history.size == 0)
        return 0;
    end = at + history.size;
    while (at != NULL && at < end) {
        at = read_attempt(at, end, &attempt);
        if (count++ == 0 && at != NULL)
            *ret_rest = dueq_slice(at, (size_t)(end - at));
    }
    return count;
}

struct dueq_slice job_record_append_attempt(uint8_t *bytes, struct dueq_slice history,
                                            const struct dueq_attempt *attempt)
{
    struct dueq_slice rest;
    uint8_t *at = bytes;

    assert(attempt->worker.size <= DUEQ_WORKER_MAX);
    if (count_attempts(history, &rest) >= DUEQ_ATTEMPTS_KEPT)
        history = rest;
    if (history.size > 0)
        memcpy(at, history.data, history.size);
    at += history.size;
    at = numbers_write(at, attempt->ended);
    at = numbers_write(at, attempt->duration);
    *at++ = (uint8_t)attempt->outcome;
    *at++ = (uint8_t)attempt->worker.size;
    if (attempt->worker.size > 0)
        memcpy(at, attempt->worker.data, attempt->worker.size);
    return dueq_slice(bytes, (size_t)(at - bytes) + attempt->worker.size);
}

struct dueq_slice job_record_forget_crash(struct dueq_slice history)
{
    const uint8_t *at = history.data, *last = at, *end;
    struct dueq_attempt attempt = {.outcome = DUEQ_FAILED};

    if (history.size == 0)
        return history;
    end = at + history.size;
    while (at != NULL && at < end) {
        last = at;
        at = read_attempt(at, end, &attempt);
    }
    if (attempt.outcome != DUEQ_CRASHED)
        return history;
    return dueq_slice(history.data, (size_t)(last - (const uint8_t *)history.data));
}

size_t dueq_job_attempts(const struct dueq_job *job,
                         struct dueq_attempt ret_attempts[DUEQ_ATTEMPTS_KEPT])
{
    const uint8_t *at = job->history.data, *end;
    size_t count = 0;

    if (job->history.size == 0)
        return 0;
    end = at + job->history.size;
    while (at != NULL && at < end && count < DUEQ_ATTEMPTS_KEPT) {
        at = read_attempt(at, end, &ret_attempts[count]);
        count += at != NULL;
    }
    return count;
}
