#include "tests/support/models/job_model.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 24, GONE_LOOKED_AT = 300, PIPELINE = 200 };

void job_model_init(struct job_model *model)
{
    *model = (struct job_model){.jobs = NULL};
    for (int i = 0; i < MODEL_TOPICS; i++)
        snprintf(model->topics[i].name, sizeof(model->topics[i].name), "topic-%d", i);
}

void job_model_release(struct job_model *model)
{
    free(model->jobs);
    free(model->live);
}

static void make_room(struct job_model *model)
{
    if (model->count < model->capacity)
        return;
    model->capacity = model->capacity ? 2 * model->capacity : 1024;
    model->jobs = realloc(model->jobs, model->capacity * sizeof(*model->jobs));
    model->live = realloc(model->live, model->capacity * sizeof(*model->live));
    if (!model->jobs || !model->live)
        abort();
}

size_t job_model_add(struct job_model *model, int topic, enum job_state state, const char *id)
{
    make_room(model);
    size_t serial = model->count++;
    model->jobs[serial] = (struct known_job){
        .topic = topic, .state = state, .pending = REQUEST_PUSH, .place = model->live_count};
    snprintf(model->jobs[serial].id, MODEL_ID_MAX, "%s", id);
    model->live[model->live_count++] = serial;
    return serial;
}

void job_model_gone(struct job_model *model, size_t serial)
{
    struct known_job *job = &model->jobs[serial];
    if (job->state == JOB_GONE)
        return;
    size_t last = model->live[--model->live_count];
    model->live[job->place] = last;
    model->jobs[last].place = job->place;
    job->state = JOB_GONE;
    job->pending = REQUEST_NONE;
    job->gone_at = ++model->clock;
}

/* ---- bodies */

/* Mostly small, some of a page, few large: the server handles each in another way. */
static size_t body_size(size_t serial)
{
    uint64_t hash = dice_hash(serial + 1);
    if (hash % 500 == 0)
        return HEADER_BYTES + hash / 500 % 300000;
    if (hash % 20 == 0)
        return HEADER_BYTES + hash / 20 % 9000;
    return HEADER_BYTES + hash / 20 % 300;
}

char *job_model_body(size_t serial, size_t *ret_size)
{
    size_t size = body_size(serial);
    char *body = calloc(1, size + 1);
    if (!body)
        abort();
    uint64_t bits = dice_hash(~(uint64_t)serial);
    for (size_t i = 0; i < size; i++) {
        body[i] = (char)(bits >> (i % 8 * 8));
        if (i % 8 == 7)
            bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    snprintf(body, HEADER_BYTES, "%zu", serial); /* ends with a NUL */
    *ret_size = size;
    return body;
}

size_t job_model_serial(const struct job_model *model, const char *body, size_t size)
{
    size_t expected_size;
    size_t serial = (size_t)strtoull(body, NULL, 10);
    if (serial >= model->count)
        fail_at(__FILE__, __LINE__, "a body that was never pushed: %.40s", body);
    char *expected = job_model_body(serial, &expected_size);
    if (size != expected_size || memcmp(body, expected, size) != 0)
        fail_at(__FILE__, __LINE__, "the body of job %zu has changed", serial);
    free(expected);
    return serial;
}

/* ---- check after a start */

static const char *const state_names[] = {"ready", "delayed", "claimed", "dead", "gone"};

static enum job_state state_of(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL)
        return JOB_GONE;
    const redisReply *state = reply_field(reply, "state");
    for (int i = 0; state && i < JOB_GONE; i++) {
        if (strcmp(state->str, state_names[i]) == 0)
            return (enum job_state)i;
    }
    fail_at(__FILE__, __LINE__, "not a reply of Q.GET, type %d", reply->type);
}

static bool may_be(const struct job_model *model, const struct known_job *job,
                   enum job_state state)
{
    bool claimable = job->state == JOB_READY || job->loose ||
                     (job->pending == REQUEST_NACK && job->wanted == JOB_READY);
    if (state == job->state && job->pending != REQUEST_PUSH)
        return true;
    if (job->pending == REQUEST_PUSH && (state == job->state || state == JOB_GONE))
        return true;
    if (state == JOB_GONE)
        return job->pending == REQUEST_ACK || job->pending == REQUEST_DEL;
    if (job->pending == REQUEST_NACK && state == job->wanted)
        return true;
    if (state == JOB_CLAIMED && claimable)
        return model->topics[job->topic].lost_claims > 0;
    return job->loose && state != JOB_DEAD;
}

static void check_token(const struct known_job *job, enum job_state state, int64_t token)
{
    if (token < job->token)
        fail_at(__FILE__, __LINE__, "the token of '%s' went back from %lld to %lld", job->id,
                (long long)job->token, (long long)token);
    bool untouched = state == JOB_CLAIMED && job->state == JOB_CLAIMED && !job->loose &&
                     job->pending != REQUEST_NACK;
    if (untouched && token != job->token)
        fail_at(__FILE__, __LINE__, "'%s' was claimed by somebody else under a lease", job->id);
}

/* Sets the model from the reply to Q.GET. */
static void learn(struct job_model *model, size_t serial, const redisReply *reply)
{
    struct known_job *job = &model->jobs[serial];
    enum job_state state = state_of(reply);
    if (!may_be(model, job, state))
        fail_at(__FILE__, __LINE__, "job %zu '%s' in %s is %s, but was %s (pending %d)", serial,
                job->id, model->topics[job->topic].name, state_names[state],
                state_names[job->state], (int)job->pending);
    if (state == JOB_GONE) {
        job_model_gone(model, serial);
        return;
    }
    const redisReply *body = reply_field(reply, "body");
    int64_t token = reply_field(reply, "token")->integer;
    if (job_model_serial(model, body->str, (size_t)body->len) != serial)
        fail_at(__FILE__, __LINE__, "'%s' has the body of another job", job->id);
    check_token(job, state, token);
    if (state == JOB_CLAIMED && token != job->token)
        job->loose = true; /* by a claim without a reply, so its end is not known */
    if (token > model->topics[job->topic].token)
        model->topics[job->topic].token = token;
    job->state = state;
    job->token = token;
    job->token_at = ++model->clock;
    job->pending = REQUEST_NONE;
    if (state == JOB_READY)
        job->loose = false;
}

static void ask_for(struct job_model *model, redisContext *client, const struct known_job *job)
{
    redisAppendCommand(client, "Q.GET %s %b", model->topics[job->topic].name, job->id,
                       strlen(job->id));
}

static redisReply *next(redisContext *client)
{
    void *reply = NULL;
    if (redisGetReply(client, &reply) != REDIS_OK)
        fail_at(__FILE__, __LINE__, "no reply to a check: %s", client->errstr);
    return reply;
}

/* Checks so many of the live jobs, from the end of the list: a job that is gone leaves the
 * list, and the one that moves to its index was checked before. */
static void check_some_live(struct job_model *model, redisContext *client, size_t end, size_t n)
{
    size_t *serials = calloc(n + 1, sizeof(*serials));
    if (!serials)
        abort();
    for (size_t i = 0; i < n; i++) {
        serials[i] = model->live[end - 1 - i];
        if (*model->jobs[serials[i]].id)
            ask_for(model, client, &model->jobs[serials[i]]);
    }
    for (size_t i = 0; i < n; i++) {
        if (!*model->jobs[serials[i]].id)
            continue;
        redisReply *reply = next(client);
        learn(model, serials[i], reply);
        freeReplyObject(reply);
    }
    free(serials);
}

static void check_live(struct job_model *model, redisContext *client)
{
    for (size_t end = model->live_count; end > 0;) {
        size_t n = end < PIPELINE ? end : PIPELINE;
        check_some_live(model, client, end, n);
        end -= n;
    }
}

/* Checks the jobs that were removed last, which a crash would most likely bring back. */
static void check_gone(struct job_model *model, redisContext *client)
{
    size_t looked_at = 0;
    for (size_t serial = model->count; serial > 0 && looked_at < GONE_LOOKED_AT; serial--) {
        const struct known_job *job = &model->jobs[serial - 1];
        if (job->state != JOB_GONE || !*job->id)
            continue;
        ask_for(model, client, job);
        looked_at++;
    }
    while (looked_at-- > 0) {
        redisReply *reply = next(client);
        if (reply->type != REDIS_REPLY_NIL)
            fail_at(__FILE__, __LINE__, "a job that was gone is back: %s",
                    reply_field(reply, "id")->str);
        freeReplyObject(reply);
    }
}

/* Counts the jobs that are known to exist, and those whose id was in a lost reply. */
static void count_topic(const struct job_model *model, int topic, int64_t *ret_known,
                        int64_t *ret_lost)
{
    *ret_known = *ret_lost = 0;
    for (size_t i = 0; i < model->live_count; i++) {
        const struct known_job *job = &model->jobs[model->live[i]];
        if (job->topic == topic)
            ++*(*job->id ? ret_known : ret_lost);
    }
}

static int64_t number(const redisReply *stats, const char *name)
{
    const redisReply *field = reply_field(stats, name);
    if (!field || field->type != REDIS_REPLY_INTEGER)
        fail_at(__FILE__, __LINE__, "no number '%s' in Q.STATS", name);
    return field->integer;
}

static void check_topic_counts(const struct job_model *model, redisContext *client, int topic)
{
    const char *name = model->topics[topic].name;
    int64_t known, lost, states = 0, total = ask_integer(client, "Q.LEN %s", name);
    redisReply *stats = ask(client, "Q.STATS %s", name);
    count_topic(model, topic, &known, &lost);
    if (total < known || total > known + lost)
        fail_at(__FILE__, __LINE__, "%s has %lld jobs; %lld are known, %lld may be", name,
                (long long)total, (long long)known, (long long)lost);
    for (int state = 0; state < JOB_GONE; state++)
        states += number(stats, state_names[state]);
    int64_t sums = number(stats, "total-pushed") - number(stats, "total-acked") -
                   number(stats, "total-deleted");
    if (states != total || sums != total)
        fail_at(__FILE__, __LINE__, "%s: %lld jobs, %lld by state, %lld by totals", name,
                (long long)total, (long long)states, (long long)sums);
    freeReplyObject(stats);
}

void job_model_check(struct job_model *model, redisContext *client)
{
    check_live(model, client);
    check_gone(model, client);
    for (int i = 0; i < MODEL_TOPICS; i++) {
        check_topic_counts(model, client, i);
        model->topics[i].lost_claims = 0;
    }
}
