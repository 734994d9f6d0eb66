#include "tests/support/models/job_load.h"

#include <stdlib.h>
#include <string.h>

void job_load_open(struct job_load *load, const struct server_process *server)
{
    for (int i = 0; i < LOAD_CLIENTS; i++)
        load->clients[i] = (struct load_client){.connection = client_open(server)};
}

/* ---- sending */

static const char *topic_name(const struct job_load *load, int topic)
{
    return load->model->topics[topic].name;
}

static struct load_request *enqueue(struct job_load *load, struct load_client *client,
                                    enum job_request kind, int topic)
{
    size_t slot = (client->first + client->pending++) % LOAD_PIPELINE;
    client->queue[slot] =
        (struct load_request){.kind = kind, .topic = topic, .sent = ++load->model->clock};
    return &client->queue[slot];
}

static void push(struct job_load *load, struct load_client *client, int topic)
{
    static const struct {
        const char *words;
        enum job_state state;
        bool loose;
    } delays[] = {{"0", JOB_READY, false},
                  {"0", JOB_READY, false},
                  {"1h", JOB_DELAYED, false},
                  {"15", JOB_DELAYED, true}};
    size_t size, kind = dice_roll(load->dice, sizeof(delays) / sizeof(delays[0]));
    struct load_request *request = enqueue(load, client, REQUEST_PUSH, topic);
    char id[MODEL_ID_MAX] = "";
    if (dice_once_in(load->dice, 2))
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)dice_bits(load->dice));
    request->serial = job_model_add(load->model, topic, delays[kind].state, id);
    load->model->jobs[request->serial].loose = delays[kind].loose;
    memcpy(request->floor_id, load->model->topics[topic].last_id, MODEL_ID_MAX);
    char *body = job_model_body(request->serial, &size);
    if (*id)
        redisAppendCommand(client->connection,
                           "Q.PUSH %s %b ID %s DELAY %s RETRIES 1000000 CRASHES 1000000",
                           topic_name(load, topic), body, size, id, delays[kind].words);
    else
        redisAppendCommand(client->connection,
                           "Q.PUSH %s %b DELAY %s RETRIES 1000000 CRASHES 1000000",
                           topic_name(load, topic), body, size, delays[kind].words);
    free(body);
}

static void claim_some(struct job_load *load, struct load_client *client, int topic)
{
    struct load_request *request = enqueue(load, client, REQUEST_CLAIM, topic);
    request->count = 1 + (unsigned)dice_roll(load->dice, 5);
    request->loose = dice_once_in(load->dice, 8);
    request->token = load->model->topics[topic].token;
    redisAppendCommand(client->connection, "Q.CLAIM %s COUNT %d LEASE %s",
                       topic_name(load, topic), (int)request->count,
                       request->loose ? "15" : "1h");
}

static void nack(struct job_load *load, struct load_client *client, struct known_job *job)
{
    static const struct {
        const char *format;
        enum job_state state;
    } ways[] = {{"Q.NACK %s %s %lld DELAY 0", JOB_READY},
                {"Q.NACK %s %s %lld DELAY 1h ERROR because", JOB_DELAYED},
                {"Q.NACK %s %s %lld DEAD", JOB_DEAD}};
    size_t way = dice_roll(load->dice, 3);
    job->wanted = ways[way].state;
    redisAppendCommand(client->connection, ways[way].format, topic_name(load, job->topic),
                       job->id, (long long)job->token);
}

static enum job_request choose(struct job_load *load, const struct known_job *job)
{
    uint64_t roll = dice_roll(load->dice, 10);
    if (job->state != JOB_CLAIMED)
        return roll < 4 ? REQUEST_DEL : REQUEST_GET;
    if (roll < 6)
        return REQUEST_ACK;
    if (roll < 8)
        return REQUEST_NACK;
    return roll < 9 ? REQUEST_EXTEND : REQUEST_DEL;
}

/* Pushes an id that certainly exists. */
static void push_again(struct job_load *load, struct load_client *client, size_t serial)
{
    struct known_job *job = &load->model->jobs[serial];
    struct load_request *request = enqueue(load, client, REQUEST_PUSH, job->topic);
    request->serial = serial;
    request->duplicate = true;
    job->pending = REQUEST_GET; /* until the reply, no request changes the job */
    redisAppendCommand(client->connection, "Q.PUSH %s intruder ID %s",
                       topic_name(load, job->topic), job->id);
}

static void touch(struct job_load *load, struct load_client *client, size_t serial)
{
    struct known_job *job = &load->model->jobs[serial];
    const char *topic = topic_name(load, job->topic);
    if (job->pending != REQUEST_NONE || !*job->id)
        return;
    if (dice_once_in(load->dice, 20)) {
        push_again(load, client, serial);
        return;
    }
    struct load_request *request = enqueue(load, client, choose(load, job), job->topic);
    request->serial = serial;
    request->token = job->token;
    job->pending = request->kind;
    if (request->kind == REQUEST_ACK)
        redisAppendCommand(client->connection, "Q.ACK %s %s %lld", topic, job->id,
                           (long long)job->token);
    else if (request->kind == REQUEST_NACK)
        nack(load, client, job);
    else if (request->kind == REQUEST_EXTEND)
        redisAppendCommand(client->connection, "Q.EXTEND %s %s %lld 1h", topic, job->id,
                           (long long)job->token);
    else
        redisAppendCommand(client->connection, "%s %s %s",
                           request->kind == REQUEST_DEL ? "Q.DEL" : "Q.GET", topic, job->id);
}

static void send_one(struct job_load *load, struct load_client *client)
{
    struct job_model *model = load->model;
    uint64_t roll = dice_roll(load->dice, 10);
    int topic = (int)dice_roll(load->dice, MODEL_TOPICS);
    if (roll < 3 && model->live_count < load->population)
        push(load, client, topic);
    else if (roll < 5)
        claim_some(load, client, topic);
    else if (model->live_count > 0)
        touch(load, client, model->live[dice_roll(load->dice, model->live_count)]);
}

/* ---- replies */

static void violation(const struct job_load *load, size_t serial, const char *what,
                      const redisReply *reply)
{
    const struct known_job *job = &load->model->jobs[serial];
    fail_at(__FILE__, __LINE__, "job %zu '%s' of %s (state %d, token %lld): %s; reply %s",
            serial, job->id, load->model->topics[job->topic].name, (int)job->state,
            (long long)job->token, what, reply->str ? reply->str : "(no text)");
}

static void pushed(struct job_load *load, const struct load_request *request,
                   const redisReply *reply)
{
    struct known_job *job = &load->model->jobs[request->serial];
    char *last_id = load->model->topics[request->topic].last_id;
    if (reply->type != REDIS_REPLY_STRING || reply->len >= MODEL_ID_MAX)
        violation(load, request->serial, "a push failed", reply);
    if (!*job->id) {
        if (strcmp(reply->str, request->floor_id) <= 0)
            violation(load, request->serial, "an id before one given earlier", reply);
        memcpy(job->id, reply->str, (size_t)reply->len + 1);
        if (strcmp(job->id, last_id) > 0)
            memcpy(last_id, job->id, MODEL_ID_MAX);
    } else if (strcmp(job->id, reply->str) != 0) {
        violation(load, request->serial, "a push replied another id", reply);
    }
    if (job->pending == REQUEST_PUSH)
        job->pending = REQUEST_NONE;
}

/* The test reads replies of different connections in another order than the server sent them:
 * it may read a claim before the push, nack or del of the same job, or after a later claim. */
static void claimed_job(struct job_load *load, const struct load_request *request,
                        const redisReply *job_reply)
{
    struct job_model *model = load->model;
    const redisReply *id = job_reply->element[0], *body = job_reply->element[2];
    int64_t token = job_reply->element[1]->integer;
    size_t serial = job_model_serial(model, body->str, (size_t)body->len);
    struct known_job *job = &model->jobs[serial];
    bool fixed =
        job->state == JOB_CLAIMED || job->state == JOB_DELAYED || job->state == JOB_DEAD;
    if (token <= request->token || (token <= job->token && request->sent > job->token_at))
        violation(load, serial, "a token went backward", id);
    if (job->state == JOB_GONE) {
        if (request->sent > job->gone_at)
            violation(load, serial, "a job that was gone is given out", id);
        return; /* claimed, then deleted */
    }
    if (token < job->token)
        return; /* claimed again since */
    if (fixed && !job->loose && job->pending != REQUEST_NACK)
        violation(load, serial, "a job is given out that nobody may have", id);
    if (*job->id && strcmp(job->id, id->str) != 0)
        violation(load, serial, "a job has changed its id", id);
    memcpy(job->id, id->str, (size_t)id->len + 1);
    if (job->pending == REQUEST_PUSH)
        job->pending = REQUEST_NONE; /* the claim shows that it was pushed */
    job->state = JOB_CLAIMED;
    job->loose = request->loose;
    job->token = token;
    job->token_at = model->clock;
    if (token > model->topics[job->topic].token)
        model->topics[job->topic].token = token;
}

static void claimed(struct job_load *load, const struct load_request *request,
                    const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements > request->count)
        fail_at(__FILE__, __LINE__, "a claim failed: %s", reply->str ? reply->str : "too many");
    for (size_t i = 0; i < reply->elements; i++)
        claimed_job(load, request, reply->element[i]);
}

static bool is_stale(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "STALE", 5) == 0;
}

/* A reply to a request with a token: it must succeed, unless the lease was short. */
static void settled(struct job_load *load, const struct load_request *request,
                    const redisReply *reply)
{
    struct known_job *job = &load->model->jobs[request->serial];
    bool done = request->kind == REQUEST_NACK ? reply->type == REDIS_REPLY_STRING
                                              : reply->type == REDIS_REPLY_INTEGER;
    bool claimed_since = job->token != request->token;
    job->pending = REQUEST_NONE;
    if (!done && !((job->loose || claimed_since) && is_stale(reply)))
        violation(load, request->serial, "a good token was refused", reply);
    if (done && claimed_since && request->kind != REQUEST_NACK)
        violation(load, request->serial, "a stale token was accepted", reply);
    if (!done || claimed_since)
        return;
    if (request->kind == REQUEST_ACK) {
        if (reply->integer != 1)
            violation(load, request->serial, "an ack did not find its job", reply);
        job_model_gone(load->model, request->serial);
    } else if (request->kind == REQUEST_NACK) {
        job->state = job->wanted;
        job->loose = false;
    } else {
        job->loose = false; /* the lease is an hour */
    }
}

static void answered(struct job_load *load, const struct load_request *request,
                     const redisReply *reply)
{
    struct known_job *job = &load->model->jobs[request->serial];
    job->pending = REQUEST_NONE;
    if (request->duplicate) {
        if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "DUPLICATE", 9) != 0)
            violation(load, request->serial, "a duplicate was let in", reply);
    } else if (request->kind == REQUEST_DEL) {
        if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
            violation(load, request->serial, "a del did not find its job", reply);
        job_model_gone(load->model, request->serial);
    } else if (reply->type != REDIS_REPLY_ARRAY) {
        violation(load, request->serial, "a job is not there", reply);
    }
}

/* True: the server refused the request, and may. */
static bool refused(struct job_load *load, const struct load_request *request,
                    const redisReply *reply)
{
    bool full = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "FULL", 4) == 0;
    bool failed = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "MISCONF", 7) == 0;
    if (!load->refusals || (!full && !failed) || (full && request->kind != REQUEST_PUSH))
        return false;
    ++*(request->kind == REQUEST_PUSH ? &load->refused_pushes : &load->refused_others);
    if (request->kind == REQUEST_PUSH && !request->duplicate)
        job_model_gone(load->model, request->serial);
    else if (request->kind != REQUEST_CLAIM)
        load->model->jobs[request->serial].pending = REQUEST_NONE;
    return true;
}

static bool receive(struct job_load *load, struct load_client *client)
{
    void *reply = NULL;
    if (redisGetReply(client->connection, &reply) != REDIS_OK)
        return false;
    struct load_request request = client->queue[client->first];
    client->first = (client->first + 1) % LOAD_PIPELINE;
    client->pending--;
    load->model->clock++;
    load->replies++;
    if (refused(load, &request, reply))
        ;
    else if (request.kind == REQUEST_CLAIM)
        claimed(load, &request, reply);
    else if (request.kind == REQUEST_PUSH && !request.duplicate)
        pushed(load, &request, reply);
    else if (request.kind == REQUEST_ACK || request.kind == REQUEST_NACK ||
             request.kind == REQUEST_EXTEND)
        settled(load, &request, reply);
    else
        answered(load, &request, reply);
    freeReplyObject(reply);
    return true;
}

/* ---- steps */

static bool flush_requests(struct load_client *client)
{
    int done = 0;
    while (!done) {
        if (redisBufferWrite(client->connection, &done) != REDIS_OK)
            return false;
    }
    return true;
}

bool job_load_step(struct job_load *load)
{
    for (int i = 0; i < LOAD_CLIENTS; i++) {
        struct load_client *client = &load->clients[i];
        size_t wanted = 1 + dice_roll(load->dice, LOAD_PIPELINE);
        while (client->pending < wanted)
            send_one(load, client);
        if (!flush_requests(client))
            return false;
    }
    for (int i = 0; i < LOAD_CLIENTS; i++) {
        struct load_client *client = &load->clients[i];
        for (size_t n = dice_roll(load->dice, client->pending + 1); n > 0; n--) {
            if (!receive(load, client))
                return false;
        }
    }
    return true;
}

void job_load_finish(struct job_load *load)
{
    for (int i = 0; i < LOAD_CLIENTS; i++) {
        struct load_client *client = &load->clients[i];
        while (client->pending > 0 && receive(load, client))
            ;
        for (; client->pending > 0; client->pending--) {
            const struct load_request *lost = &client->queue[client->first];
            client->first = (client->first + 1) % LOAD_PIPELINE;
            if (lost->kind == REQUEST_CLAIM)
                load->model->topics[lost->topic].lost_claims += lost->count;
        }
        client_close(client->connection);
        client->connection = NULL;
    }
}
