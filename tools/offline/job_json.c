#include "tools/offline/job_json.h"

#include "tools/offline/json_bytes.h"

#include <string.h>

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* ---- topics */

static const struct json_field topic_fields[] = {
    JSON_FIELD(whole_topic, next_seq, JSON_UINT64, 1),
    JSON_FIELD(whole_topic, next_token, JSON_UINT64, 1),
    JSON_FIELD(whole_topic, paused, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, paused_until, JSON_INT64, 0),
    JSON_FIELD(whole_topic, bucket.full, JSON_INT64, 0),
    JSON_FIELD(whole_topic, bucket.part, JSON_INT64, 0),
    JSON_FIELD(whole_topic, totals.pushed, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.claimed, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.acked, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.nacked, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.deleted, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.leases_expired, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.jobs_expired, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.dead, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.cancelled, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.dead_removed, JSON_UINT64, 0),
    JSON_FIELD(whole_topic, totals.dropped, JSON_UINT64, 0),
};

bool job_json_write_topic(json_t *object, const struct whole_topic *topic)
{
    return json_set_fields(object, topic_fields, COUNT(topic_fields), topic);
}

bool job_json_read_topic(const json_t *object, struct whole_topic *ret_topic)
{
    memset(ret_topic, 0, sizeof(*ret_topic));
    return json_get_fields(object, topic_fields, COUNT(topic_fields), ret_topic);
}

static const struct json_field bucket_fields[] = {
    JSON_FIELD(whole_bucket, group, JSON_INT64, 0),
    JSON_FIELD(whole_bucket, bucket.full, JSON_INT64, 0),
    JSON_FIELD(whole_bucket, bucket.part, JSON_INT64, 0),
};

bool job_json_write_bucket(json_t *object, const struct whole_bucket *bucket)
{
    return json_set_fields(object, bucket_fields, COUNT(bucket_fields), bucket);
}

bool job_json_read_bucket(const json_t *object, struct whole_bucket *ret_bucket)
{
    memset(ret_bucket, 0, sizeof(*ret_bucket));
    return json_get_fields(object, bucket_fields, COUNT(bucket_fields), ret_bucket);
}

static const char *const ends[] = {"none", "done", "dead", "cancelled", "gone"};

static const struct json_field edge_fields[] = {
    JSON_FIELD(whole_edge, seq, JSON_INT64, 0),
    JSON_FIELD(whole_edge, of, JSON_SLICE, 0),
    JSON_FIELD(whole_edge, of_seq, JSON_INT64, 0),
};

bool job_json_write_edge(json_t *object, const struct whole_edge *edge)
{
    return json_set_fields(object, edge_fields, COUNT(edge_fields), edge) &&
           (edge->end == DUEQ_END_NONE ||
            json_object_set_new(object, "end", json_string(ends[edge->end])) == 0);
}

bool job_json_read_edge(const json_t *object, struct whole_edge *ret_edge)
{
    const json_t *end = json_object_get(object, "end");

    memset(ret_edge, 0, sizeof(*ret_edge));
    for (size_t i = 0; json_is_string(end) && i < COUNT(ends); i++)
        if (strcmp(json_string_value(end), ends[i]) == 0)
            ret_edge->end = (enum dueq_end)i;
    return json_get_fields(object, edge_fields, COUNT(edge_fields), ret_edge) &&
           (end == NULL || ret_edge->end != DUEQ_END_NONE);
}

/* ---- bodies */

static const struct json_field body_fields[] = {
    JSON_FIELD(job_body, id, JSON_SLICE, 0),
    JSON_FIELD(job_body, body, JSON_SLICE, 0),
    JSON_FIELD(job_body, priority, JSON_BYTE, 128),
    JSON_FIELD(job_body, clock, JSON_BYTE, CLOCK_QUEUE),
    JSON_FIELD(job_body, due, JSON_INT64, 0),
    JSON_FIELD(job_body, pushed, JSON_INT64, 0),
    JSON_FIELD(job_body, stamp, JSON_INT64, 0),
    JSON_FIELD(job_body, throttle, JSON_BOOL, 0),
    JSON_FIELD(job_body, stripped, JSON_BOOL, 0),
    JSON_FIELD(job_body, lease, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, retries, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, crashes, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, backoff, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, backoff_max, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, jitter, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, ttl, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, window, JSON_INT64, DUEQ_DEFAULT),
    JSON_FIELD(job_body, group, JSON_SLICE, 0),
    JSON_FIELD(job_body, weight, JSON_INT64, 1),
};

static bool write_steps(json_t *object, const int64_t *steps, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_integer(steps[i])) != 0) {
            json_decref(array);
            return false;
        }
    if (count > 0)
        return json_object_set_new(object, "steps", array) == 0;
    json_decref(array);
    return true;
}

static bool read_steps(const json_t *object, int64_t *steps, size_t *ret_count)
{
    const json_t *array = json_object_get(object, "steps");

    *ret_count = json_array_size(array);
    if (*ret_count > DUEQ_STEPS_MAX || (array != NULL && !json_is_array(array)))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        if (!json_is_integer(json_array_get(array, i)))
            return false;
        steps[i] = json_integer_value(json_array_get(array, i));
    }
    return true;
}

static bool write_body(json_t *object, const struct job_body *body)
{
    return json_set_fields(object, body_fields, COUNT(body_fields), body) &&
           write_steps(object, body->steps, body->step_count);
}

static bool read_body(const json_t *object, struct job_body *ret_body)
{
    memset(ret_body, 0, sizeof(*ret_body));
    return json_get_fields(object, body_fields, COUNT(body_fields), ret_body) &&
           read_steps(object, ret_body->steps, &ret_body->step_count);
}

/* ---- states */

static const char *const phases[] = {"pending", "claimed", "dead", "done", "waiting"};

static const struct json_field state_fields[] = {
    JSON_FIELD(job_state, token_valid, JSON_BOOL, 0),
    JSON_FIELD(job_state, cancelled, JSON_BOOL, 0),
    JSON_FIELD(job_state, windowed, JSON_BOOL, 0),
    JSON_FIELD(job_state, holds, JSON_BOOL, 0),
    JSON_FIELD(job_state, priority, JSON_BYTE, 128),
    JSON_FIELD(job_state, clock, JSON_BYTE, CLOCK_QUEUE),
    JSON_FIELD(job_state, due, JSON_INT64, 0),
    JSON_FIELD(job_state, since, JSON_INT64, 0),
    JSON_FIELD(job_state, attempt, JSON_INT64, 0),
    JSON_FIELD(job_state, token, JSON_INT64, 0),
    JSON_FIELD(job_state, failures, JSON_INT64, 0),
    JSON_FIELD(job_state, crashes, JSON_INT64, 0),
    JSON_FIELD(job_state, expires, JSON_INT64, DUEQ_NEVER),
    JSON_FIELD(job_state, on_dead, JSON_BYTE, 0),
    JSON_FIELD(job_state, delay, JSON_INT64, 0),
    JSON_FIELD(job_state, worker, JSON_SLICE, 0),
    JSON_FIELD(job_state, progress, JSON_SLICE, 0),
    JSON_FIELD(job_state, error, JSON_SLICE, 0),
};

static const struct json_field attempt_fields[] = {
    JSON_FIELD(dueq_attempt, ended, JSON_INT64, 0),
    JSON_FIELD(dueq_attempt, duration, JSON_INT64, 0),
    JSON_FIELD(dueq_attempt, worker, JSON_SLICE, 0),
};

static json_t *attempt_of(const struct dueq_attempt *attempt)
{
    json_t *object = json_pack("{s:s}", "outcome", dueq_outcome_name(attempt->outcome));

    if (object == NULL ||
        json_set_fields(object, attempt_fields, COUNT(attempt_fields), attempt))
        return object;
    json_decref(object);
    return NULL;
}

static bool write_history(json_t *object, struct dueq_slice history)
{
    struct dueq_job job = {.history = history};
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    size_t count = dueq_job_attempts(&job, attempts);
    json_t *array = json_array();

    if (count == 0) {
        json_decref(array);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, attempt_of(&attempts[i])) != 0) {
            json_decref(array);
            return false;
        }
    return json_object_set_new(object, "attempts", array) == 0;
}

static bool is_safe(int64_t time)
{
    return time >= SAFE_TIME_MIN && time <= SAFE_TIME_MAX;
}

static bool read_attempt(const json_t *object, struct dueq_attempt *ret_attempt)
{
    const char *outcome = json_string_value(json_object_get(object, "outcome"));

    *ret_attempt = (struct dueq_attempt){.outcome = (enum dueq_outcome)DUEQ_OUTCOMES};
    for (int i = 0; outcome != NULL && i < DUEQ_OUTCOMES; i++)
        if (strcmp(outcome, dueq_outcome_name((enum dueq_outcome)i)) == 0)
            ret_attempt->outcome = (enum dueq_outcome)i;
    return (int)ret_attempt->outcome < DUEQ_OUTCOMES &&
           json_get_fields(object, attempt_fields, COUNT(attempt_fields), ret_attempt) &&
           ret_attempt->worker.size <= DUEQ_WORKER_MAX && is_safe(ret_attempt->ended) &&
           is_safe(ret_attempt->duration);
}

static bool read_history(const json_t *object, uint8_t *bytes, struct dueq_slice *ret_history)
{
    const json_t *array = json_object_get(object, "attempts");
    static uint8_t before[JOB_RECORD_HISTORY_MAX];

    *ret_history = dueq_slice(bytes, 0);
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct dueq_attempt attempt;

        if (i >= DUEQ_ATTEMPTS_KEPT || !read_attempt(json_array_get(array, i), &attempt))
            return false;
        memcpy(before, bytes, ret_history->size);
        *ret_history =
            job_record_append_attempt(bytes, dueq_slice(before, ret_history->size), &attempt);
    }
    return true;
}

static json_t *state_of(const struct job_state *state)
{
    json_t *object = json_pack("{s:s}", "phase", phases[state->state]);

    if (object == NULL || (json_set_fields(object, state_fields, COUNT(state_fields), state) &&
                           write_history(object, state->history)))
        return object;
    json_decref(object);
    return NULL;
}

static bool read_state(const json_t *object, uint8_t *history, struct job_state *ret_state)
{
    const char *phase = json_string_value(json_object_get(object, "phase"));

    for (size_t i = 0; phase != NULL && i < COUNT(phases); i++)
        if (strcmp(phase, phases[i]) == 0) {
            *ret_state = (struct job_state){.state = (enum job_phase)i};
            return json_get_fields(object, state_fields, COUNT(state_fields), ret_state) &&
                   read_history(object, history, &ret_state->history);
        }
    return false;
}

/* ---- jobs */

static bool write_follow_up(json_t *object, const struct job_body *body)
{
    json_t *follow = json_object();

    return json_object_set_new(object, "follow", follow) == 0 && write_body(follow, body);
}

bool job_json_write_job(json_t *object, const struct whole_job *job)
{
    return json_object_set_new(object, "seq", json_integer((json_int_t)job->seq)) == 0 &&
           write_body(object, &job->body) &&
           (!job->moved || json_object_set_new(object, "state", state_of(&job->state)) == 0) &&
           (!job->state.followed || write_follow_up(object, &job->follow)) &&
           (!job->has_result ||
            json_object_set_new(object, "result", json_bytes(job->result)) == 0);
}

bool job_json_read_job(const json_t *object, uint8_t *history, struct whole_job *ret_job)
{
    json_t *seq = json_object_get(object, "seq"), *state = json_object_get(object, "state"),
           *follow = json_object_get(object, "follow"),
           *result = json_object_get(object, "result");

    memset(ret_job, 0, sizeof(*ret_job));
    ret_job->seq = (uint64_t)json_integer_value(seq);
    ret_job->has_result = result != NULL;
    ret_job->moved = state != NULL;
    if (!json_is_integer(seq) || !read_body(object, &ret_job->body) ||
        (follow != NULL && !read_body(follow, &ret_job->follow)) ||
        (result != NULL && !json_read_bytes(result, &ret_job->result)))
        return false;
    if (state != NULL && !read_state(state, history, &ret_job->state))
        return false;
    ret_job->state.followed = follow != NULL;
    ret_job->state.size = (int64_t)ret_job->body.body.size;
    return true;
}

/* ---- recurring jobs */

static const struct json_field cron_fields[] = {
    JSON_FIELD(cron, rule.every, JSON_INT64, 0),
    JSON_FIELD(cron, rule.spec, JSON_SLICE, 0),
    JSON_FIELD(cron, rule.zone, JSON_SLICE, 0),
    JSON_FIELD(cron, rule.jitter, JSON_INT64, 0),
    JSON_FIELD(cron, rule.topic, JSON_SLICE, 0),
    JSON_FIELD(cron, state.paused, JSON_BOOL, 0),
    JSON_FIELD(cron, state.base, JSON_INT64, 0),
    JSON_FIELD(cron, state.local, JSON_INT64, 0),
    JSON_FIELD(cron, state.seen, JSON_INT64, 0),
    JSON_FIELD(cron, state.made_up, JSON_INT64, 0),
    JSON_FIELD(cron, state.fired, JSON_INT64, 0),
    JSON_FIELD(cron, state.missed, JSON_INT64, 0),
    JSON_FIELD(cron, state.overlapped, JSON_INT64, 0),
    JSON_FIELD(cron, state.last, JSON_INT64, 0),
};

bool job_json_write_cron(json_t *object, const struct cron *cron)
{
    struct dueq_slice last = dueq_slice(cron->state.last_id, GIVEN_ID_SIZE);
    json_t *job = json_object();

    return json_object_set_new(object, "job", job) == 0 && write_body(job, &cron->rule.job) &&
           json_set_fields(object, cron_fields, COUNT(cron_fields), cron) &&
           json_object_set_new(object, "catchup",
                               json_string(dueq_catchup_name(cron->rule.catchup))) == 0 &&
           json_object_set_new(object, "overlap",
                               json_string(dueq_overlap_name(cron->rule.overlap))) == 0 &&
           (!cron->state.has_last ||
            json_object_set_new(object, "last_id", json_bytes(last)) == 0);
}

static bool read_policies(const json_t *object, struct cron_rule *rule)
{
    const char *catchup = json_string_value(json_object_get(object, "catchup")),
               *overlap = json_string_value(json_object_get(object, "overlap"));

    for (int i = 0; catchup != NULL && overlap != NULL && i <= DUEQ_CATCHUP_ALL; i++)
        if (strcmp(catchup, dueq_catchup_name((enum dueq_catchup)i)) == 0) {
            rule->catchup = (enum dueq_catchup)i;
            rule->overlap = strcmp(overlap, dueq_overlap_name(DUEQ_OVERLAP_SKIP)) == 0
                                ? DUEQ_OVERLAP_SKIP
                                : DUEQ_OVERLAP_QUEUE;
            return strcmp(overlap, dueq_overlap_name(rule->overlap)) == 0;
        }
    return false;
}

bool job_json_read_cron(const json_t *object, struct cron *ret_cron)
{
    json_t *id = json_object_get(object, "last_id");
    struct dueq_slice last;

    memset(ret_cron, 0, sizeof(*ret_cron));
    if (!json_get_fields(object, cron_fields, COUNT(cron_fields), ret_cron) ||
        !read_policies(object, &ret_cron->rule) ||
        !read_body(json_object_get(object, "job"), &ret_cron->rule.job))
        return false;
    if (id == NULL)
        return true;
    if (!json_read_bytes(id, &last) || last.size != GIVEN_ID_SIZE)
        return false;
    ret_cron->state.has_last = true;
    memcpy(ret_cron->state.last_id, last.data, GIVEN_ID_SIZE);
    return true;
}

/* ---- settings, time line */

static const char *const setting_names[DUEQ_SETTINGS] = {
    "lease",       "retries",           "crashes",
    "backoff",     "backoff_max",       "jitter",
    "ttl",         "ttl_action",        "keep",
    "dead_keep",   "dead_max",          "max_length",
    "max_bytes",   "overflow",          "max_body",
    "durability",  "group_mode",        "group_on_failure",
    "concurrency", "group_concurrency", "age_after",
    "rate",        "rate_period",       "rate_burst",
    "group_rate",  "group_rate_period", "group_rate_burst",
    "events"};

bool job_json_write_settings(json_t *object, const struct dueq_settings *settings)
{
    struct dueq_slice dead = {settings->dead_topic, settings->dead_topic_size};

    for (size_t i = 0; i < DUEQ_SETTINGS; i++)
        if (settings->numbers[i] != DUEQ_DEFAULT &&
            json_object_set_new(object, setting_names[i], json_integer(settings->numbers[i])) !=
                0)
            return false;
    return write_steps(object, settings->steps, settings->step_count) &&
           (dead.size == 0 || json_object_set_new(object, "dead_topic", json_bytes(dead)) == 0);
}

bool job_json_read_settings(json_t *object, struct dueq_settings *ret_settings)
{
    json_t *dead = json_object_get(object, "dead_topic");
    struct dueq_slice name = {"", 0};

    dueq_settings_init(ret_settings);
    for (size_t i = 0; i < DUEQ_SETTINGS; i++) {
        const json_t *number = json_object_get(object, setting_names[i]);

        if (number != NULL && !json_is_integer(number))
            return false;
        if (number != NULL)
            ret_settings->numbers[i] = json_integer_value(number);
    }
    if (dead != NULL && (!json_read_bytes(dead, &name) || name.size > DUEQ_NAME_MAX))
        return false;
    ret_settings->dead_topic_size = name.size;
    memcpy(ret_settings->dead_topic, name.data, name.size);
    return read_steps(object, ret_settings->steps, &ret_settings->step_count);
}

bool job_json_write_timeline(json_t *object, const struct dueq_timeline *line)
{
    return json_object_set_new(object, "ahead", json_integer(line->ahead)) == 0 &&
           json_object_set_new(object, "since_boot", json_integer(line->since_boot)) == 0 &&
           json_object_set_new(object, "boot",
                               json_bytes(dueq_slice(line->boot, DUEQ_BOOT_SIZE))) == 0;
}

bool job_json_read_timeline(json_t *object, struct dueq_timeline *ret_line)
{
    struct dueq_slice boot;

    if (!json_read_bytes(json_object_get(object, "boot"), &boot) ||
        boot.size != DUEQ_BOOT_SIZE || !json_is_integer(json_object_get(object, "ahead")) ||
        !json_is_integer(json_object_get(object, "since_boot")))
        return false;
    ret_line->ahead = json_integer_value(json_object_get(object, "ahead"));
    ret_line->since_boot = json_integer_value(json_object_get(object, "since_boot"));
    memcpy(ret_line->boot, boot.data, DUEQ_BOOT_SIZE);
    return is_safe(ret_line->ahead) && is_safe(ret_line->since_boot);
}
