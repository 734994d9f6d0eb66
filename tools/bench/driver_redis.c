/* The delay queue that teams often write on Redis: a zset of due times, a hash of bodies, three
 * Lua functions. They are loaded as a function library, so a request only names a function. */
#include "tools/bench/resp_driver.h"

#define LEASE_MS "60000"

static const char library[] =
    "#!lua name=bench\n"
    "redis.register_function('bpush', function(k, a)\n"
    "  if redis.call('ZADD', k[1], 'NX', a[1], a[2]) == 0 then return 0 end\n"
    "  redis.call('HSET', k[2], a[2], a[3])\n"
    "  return 1\n"
    "end)\n"
    "redis.register_function('bpushmany', function(k, a)\n"
    "  for i = 1, #a, 3 do\n"
    "    if redis.call('ZADD', k[1], 'NX', a[i], a[i + 1]) == 1 then\n"
    "      redis.call('HSET', k[2], a[i + 1], a[i + 2])\n"
    "    end\n"
    "  end\n"
    "  return #a / 3\n"
    "end)\n"
    "local function claim(k, a)\n"
    "  local ids = redis.call('ZRANGEBYSCORE', k[1], '-inf', a[1], 'LIMIT', 0, a[2])\n"
    "  local out = {}\n"
    "  for i, id in ipairs(ids) do\n"
    "    redis.call('ZADD', k[1], a[1] + " LEASE_MS ", id)\n"
    "    out[2 * i - 1] = id\n"
    "    out[2 * i] = redis.call('HGET', k[2], id)\n"
    "  end\n"
    "  return out\n"
    "end\n"
    "redis.register_function('bclaim', claim)\n"
    "redis.register_function('bwork', function(k, a)\n"
    "  for i = 3, #a do\n"
    "    redis.call('ZREM', k[1], a[i])\n"
    "    redis.call('HDEL', k[2], a[i])\n"
    "  end\n"
    "  return claim(k, a)\n"
    "end)\n"
    "redis.register_function('back', function(k, a)\n"
    "  local n = 0\n"
    "  for i, id in ipairs(a) do\n"
    "    n = n + redis.call('ZREM', k[1], id)\n"
    "    redis.call('HDEL', k[2], id)\n"
    "  end\n"
    "  return n\n"
    "end)\n";

static void redis_prepare(struct buffer *out)
{
    resp_request(out, 4);
    resp_text(out, "FUNCTION");
    resp_text(out, "LOAD");
    resp_text(out, "REPLACE");
    resp_argument(out, library, sizeof(library) - 1);
}

static void call(struct buffer *out, const char *function, const char *topic, size_t arguments)
{
    resp_request(out, 5 + arguments);
    resp_text(out, "FCALL");
    resp_text(out, function);
    resp_text(out, "2");
    resp_text(out, topic);
    resp_text(out, "bench:bodies");
}

static unsigned redis_push_request(struct buffer *out, const struct bench_push *push)
{
    call(out, "bpush", push->topic, 3);
    resp_number(out, push->now + push->delay);
    resp_argument(out, push->id, BENCH_ID_SIZE);
    resp_argument(out, push->body, push->body_size);
    return 1;
}

static unsigned redis_push_many_request(struct buffer *out, const struct bench_push *pushes,
                                        unsigned count)
{
    call(out, "bpushmany", pushes->topic, 3 * (size_t)count);
    for (unsigned i = 0; i < count; i++) {
        resp_number(out, pushes[i].now + pushes[i].delay);
        resp_argument(out, pushes[i].id, BENCH_ID_SIZE);
        resp_argument(out, pushes[i].body, pushes[i].body_size);
    }
    return 1;
}

static unsigned redis_claim_request(struct buffer *out, const char *topic, unsigned count,
                                    int64_t now)
{
    call(out, "bclaim", topic, 2);
    resp_number(out, now);
    resp_number(out, count);
    return 1;
}

static unsigned redis_ack_request(struct buffer *out, const char *topic,
                                  const struct bench_claimed *jobs, unsigned count)
{
    call(out, "back", topic, count);
    for (unsigned i = 0; i < count; i++)
        resp_text(out, jobs[i].id);
    return 1;
}

static unsigned redis_work_request(struct buffer *out, const char *topic, unsigned count,
                                   int64_t now, const struct bench_claimed *jobs, unsigned done)
{
    call(out, "bwork", topic, 2 + (size_t)done);
    resp_number(out, now);
    resp_number(out, count);
    for (unsigned i = 0; i < done; i++)
        resp_text(out, jobs[i].id);
    return 1;
}

/* The reply is a flat array: id, body, id, body, ... */
static enum bench_outcome redis_claim_reply(const char *data, size_t size,
                                            struct bench_claimed *jobs, struct bench_reply *ret)
{
    struct resp_token tokens[RESP_DRIVER_TOKENS];
    size_t count;
    enum bench_outcome outcome = resp_reply(data, size, tokens, &count, ret);

    if (outcome != BENCH_DONE)
        return outcome;
    for (size_t at = 1; at + 1 < count; at += 2)
        resp_claimed(&jobs[ret->claimed++], &tokens[at], 0);
    ret->empty = ret->claimed == 0;
    return BENCH_DONE;
}

const struct bench_driver bench_redis = {
    .name = "redis",
    .port = "6379",
    .prepare = redis_prepare,
    .push = redis_push_request,
    .push_many = redis_push_many_request,
    .claim = redis_claim_request,
    .ack = redis_ack_request,
    .work = redis_work_request,
    .push_reply = resp_plain_reply,
    .claim_reply = redis_claim_reply,
    .ack_reply = resp_plain_reply,
};
