#include "storage/queue/record/cron_record.h"

#include <string.h>

enum {
    RULE_VERSION = 1,
    STATE_VERSION = 1,
    CATCHUP_MASK = 3,
    FLAG_SKIP = 4,
    RULE_FLAGS = CATCHUP_MASK | FLAG_SKIP,
    FLAG_PAUSED = 1,
    FLAG_LAST = 2,
    STATE_FLAGS = FLAG_PAUSED | FLAG_LAST,
    STATE_NUMBERS = 8
};

/* ---- the rule */

static uint8_t *write_text(uint8_t *at, struct dueq_slice text)
{
    *at++ = (uint8_t)text.size;
    if (text.size > 0)
        memcpy(at, text.data, text.size);
    return at + text.size;
}

static const uint8_t *read_text(const uint8_t *at, const uint8_t *end, struct dueq_slice *ret)
{
    if (at == NULL || at == end || end - at < 1 + *at)
        return NULL;
    *ret = dueq_slice(at + 1, *at);
    return at + 1 + *at;
}

size_t cron_record_write_rule(uint8_t *bytes, const struct cron_rule *rule)
{
    uint8_t *at = bytes;

    *at++ = RULE_VERSION;
    *at++ = (uint8_t)(rule->catchup | (rule->overlap == DUEQ_OVERLAP_SKIP ? FLAG_SKIP : 0));
    at = numbers_write(at, rule->every);
    at = numbers_write(at, rule->jitter);
    at = write_text(at, rule->spec);
    at = write_text(at, rule->zone);
    at = write_text(at, rule->topic);
    return (size_t)(at - bytes) + job_record_write_head(at, &rule->job);
}

bool cron_record_read_rule(struct dueq_slice record, struct cron_rule *ret_rule)
{
    const uint8_t *at = record.data, *end = at + record.size;
    uint8_t flags;

    if (record.size < 2 || *at++ != RULE_VERSION)
        return false;
    flags = *at++;
    ret_rule->catchup = (enum dueq_catchup)(flags & CATCHUP_MASK);
    ret_rule->overlap = (flags & FLAG_SKIP) ? DUEQ_OVERLAP_SKIP : DUEQ_OVERLAP_QUEUE;
    at = numbers_read(at, end, &ret_rule->every);
    at = numbers_read(at, end, &ret_rule->jitter);
    at = read_text(at, end, &ret_rule->spec);
    at = read_text(at, end, &ret_rule->zone);
    at = read_text(at, end, &ret_rule->topic);
    return at != NULL && (flags & ~RULE_FLAGS) == 0 && ret_rule->catchup <= DUEQ_CATCHUP_ALL &&
           ret_rule->every >= 0 && ret_rule->jitter >= 0 &&
           ret_rule->zone.size <= DUEQ_CRON_ZONE_MAX &&
           (ret_rule->every == 0) == (ret_rule->spec.size > 0) && ret_rule->topic.size > 0 &&
           job_record_read_body(dueq_slice(at, (size_t)(end - at)), &ret_rule->job);
}

/* ---- the state */

size_t cron_record_write_state(uint8_t *bytes, const struct cron_state *state)
{
    const int64_t numbers[STATE_NUMBERS] = {state->base,       state->local, state->seen,
                                            state->made_up,    state->fired, state->missed,
                                            state->overlapped, state->last};
    uint8_t *at = bytes;

    *at++ = STATE_VERSION;
    *at++ = (uint8_t)((state->paused ? FLAG_PAUSED : 0) | (state->has_last ? FLAG_LAST : 0));
    for (size_t i = 0; i < STATE_NUMBERS; i++)
        at = numbers_write(at, numbers[i]);
    if (!state->has_last)
        return (size_t)(at - bytes);
    memcpy(at, state->last_id, GIVEN_ID_SIZE);
    return (size_t)(at - bytes) + GIVEN_ID_SIZE;
}

bool cron_record_read_state(struct dueq_slice record, struct cron_state *ret_state)
{
    int64_t *const numbers[STATE_NUMBERS] = {
        &ret_state->base,  &ret_state->local,  &ret_state->seen,       &ret_state->made_up,
        &ret_state->fired, &ret_state->missed, &ret_state->overlapped, &ret_state->last};
    const uint8_t *at = record.data, *end = at + record.size;
    uint8_t flags;

    if (record.size < 2 || *at++ != STATE_VERSION)
        return false;
    flags = *at++;
    ret_state->paused = (flags & FLAG_PAUSED) != 0;
    ret_state->has_last = (flags & FLAG_LAST) != 0;
    for (size_t i = 0; i < STATE_NUMBERS; i++)
        at = numbers_read(at, end, numbers[i]);
    if (at == NULL || (flags & ~STATE_FLAGS) != 0 ||
        end - at != (ret_state->has_last ? GIVEN_ID_SIZE : 0))
        return false;
    if (ret_state->has_last)
        memcpy(ret_state->last_id, at, GIVEN_ID_SIZE);
    return true;
}
