#include "tools/bench/resp_driver.h"

static unsigned dueq_push_request(struct buffer *out, const struct bench_push *push)
{
    bool has_id = push->id[0] != '\0', has_delay = push->delay > 0;

    resp_request(out, 3 + (has_id ? 2 : 0) + (has_delay ? 2 : 0));
    resp_text(out, "Q.PUSH");
    resp_text(out, push->topic);
    resp_argument(out, push->body, push->body_size);
    if (has_id) {
        resp_text(out, "ID");
        resp_argument(out, push->id, BENCH_ID_SIZE);
    }
    if (has_delay) {
        resp_text(out, "DELAY");
        resp_number(out, push->delay);
    }
    return 1;
}

static void put_each(struct buffer *out, const struct bench_push *push)
{
    resp_text(out, push->id);
    resp_number(out, push->delay);
    resp_text(out, "");
    resp_argument(out, push->body, push->body_size);
}

/* Jobs that differ in their bodies only have a shorter form. */
static unsigned dueq_push_many_request(struct buffer *out, const struct bench_push *pushes,
                                       unsigned count)
{
    bool each = pushes->id[0] != '\0' || pushes->delay > 0;

    resp_request(out, each ? 4 + 4 * (size_t)count : 3 + (size_t)count);
    resp_text(out, "Q.MPUSH");
    resp_text(out, pushes->topic);
    if (each)
        resp_text(out, "EACH");
    resp_number(out, count);
    for (unsigned i = 0; i < count; i++)
        if (each)
            put_each(out, &pushes[i]);
        else
            resp_argument(out, pushes[i].body, pushes[i].body_size);
    return 1;
}

static unsigned dueq_claim_request(struct buffer *out, const char *topic, unsigned count,
                                   int64_t now)
{
    (void)now;
    resp_request(out, 4);
    resp_text(out, "Q.CLAIM");
    resp_text(out, topic);
    resp_text(out, "COUNT");
    resp_number(out, count);
    return 1;
}

static void put_pairs(struct buffer *out, const struct bench_claimed *jobs, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        resp_text(out, jobs[i].id);
        resp_number(out, jobs[i].token);
    }
}

static unsigned dueq_ack_request(struct buffer *out, const char *topic,
                                 const struct bench_claimed *jobs, unsigned count)
{
    resp_request(out, 2 + 2 * (size_t)count);
    resp_text(out, "Q.ACK");
    resp_text(out, topic);
    put_pairs(out, jobs, count);
    return 1;
}

static unsigned dueq_work_request(struct buffer *out, const char *topic, unsigned count,
                                  int64_t now, const struct bench_claimed *jobs, unsigned done)
{
    (void)now;
    resp_request(out, done == 0 ? 4 : 5 + 2 * (size_t)done);
    resp_text(out, "Q.CLAIM");
    resp_text(out, topic);
    resp_text(out, "COUNT");
    resp_number(out, count);
    if (done > 0)
        resp_text(out, "ACK");
    put_pairs(out, jobs, done);
    return 1;
}

/* The reply is an array of [id, token, body, attempt]. */
static enum bench_outcome dueq_claim_reply(const char *data, size_t size,
                                           struct bench_claimed *jobs, struct bench_reply *ret)
{
    struct resp_token tokens[RESP_DRIVER_TOKENS];
    size_t count;
    enum bench_outcome outcome = resp_reply(data, size, tokens, &count, ret);

    if (outcome != BENCH_DONE)
        return outcome;
    for (size_t at = 1; at + 4 < count; at += 5)
        resp_claimed(&jobs[ret->claimed++], &tokens[at + 1], tokens[at + 2].number);
    ret->empty = ret->claimed == 0;
    return BENCH_DONE;
}

const struct bench_driver bench_dueq = {
    .name = "dueq",
    .port = "6379",
    .push = dueq_push_request,
    .push_many = dueq_push_many_request,
    .claim = dueq_claim_request,
    .ack = dueq_ack_request,
    .work = dueq_work_request,
    .push_reply = resp_plain_reply,
    .claim_reply = dueq_claim_reply,
    .ack_reply = resp_plain_reply,
};
