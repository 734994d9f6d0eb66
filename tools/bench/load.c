#include "tools/bench/load.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READ_SIZE = 256 * 1024, BUFFER_MAX = 1 << 30 };

enum step { STEP_PREPARE, STEP_PUSH, STEP_CLAIM, STEP_ACK, STEP_WORK };

struct run;

struct connection {
    struct run *run;
    struct online_client *client;
    struct event *readable, *writable;
    struct buffer in, out;
    enum step step;
    unsigned expected;         /* replies not yet received */
    struct bench_push *pushes; /* of one request: load->batch */
    unsigned *pushed;  /* how many each request in flight pushes, in the same order as: */
    uint64_t *sent_at; /* usec; a ring as long as the pipeline */
    unsigned oldest, in_ring;
    struct bench_claimed *claimed;
    unsigned asked; /* jobs that the claim under way asks for */
    unsigned held;  /* jobs in claimed */
    unsigned acked; /* jobs that the request under way acks */
    bool finished;
};

struct run {
    const struct load *load;
    struct load_result *result;
    struct event_base *base;
    struct connection *connections;
    uint64_t issued; /* jobs requested so far */
    uint64_t random;
    unsigned active;
    uint64_t begun, reported; /* usec */
    uint64_t reported_jobs;
    struct event *reporter;
    struct load_part part;
    char *body;
    bool failed;
};

static uint64_t now_usec(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(struct run *run)
{
    uint64_t z = run->random += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* ---- latencies: 64 linear buckets in each power of two, at most 1.6 % off */

static unsigned bucket_of(uint64_t usec)
{
    unsigned shift = 0;

    while (usec >> shift >= 128)
        shift++;
    return shift == 0 ? (unsigned)usec : shift * 64 + (unsigned)(usec >> shift);
}

uint64_t load_bucket_value(unsigned bucket)
{
    return bucket < 128 ? bucket : (uint64_t)(bucket % 64 + 64) << (bucket / 64 - 1);
}

static void count_latency(struct run *run, uint64_t usec)
{
    struct load_result *result = run->result;
    unsigned bucket = bucket_of(usec);

    result->requests++;
    result->latency[bucket < LOAD_BUCKETS ? bucket : LOAD_BUCKETS - 1]++;
    if (usec > result->latency_max)
        result->latency_max = usec;
    if (usec > run->part.latency_max)
        run->part.latency_max = usec;
}

uint64_t load_percentile(const struct load_result *result, double share)
{
    uint64_t wanted = (uint64_t)((double)result->requests * share), seen = 0;

    for (unsigned i = 0; i < LOAD_BUCKETS; i++) {
        seen += result->latency[i];
        if (seen > wanted)
            return load_bucket_value(i);
    }
    return result->latency_max;
}

/* ---- the work of a connection */

static void fail_by(struct run *run, const char *what, const char *why, enum online_blame blame)
{
    if (!run->failed) {
        run->result->failed = what;
        run->result->blame = blame;
        snprintf(run->result->why, sizeof(run->result->why), "%s", why);
    }
    run->failed = true;
    event_base_loopbreak(run->base);
}

static void fail(struct run *run, const char *what, const char *why)
{
    fail_by(run, what, why, ONLINE_REFUSED);
}

/* `done` is what send or recv returned. */
static void lose(struct run *run, const char *what, ssize_t done)
{
    fail_by(run, what, done == 0 ? "the server closed" : strerror(errno), ONLINE_UNREACHABLE);
}

static void finish(struct connection *connection)
{
    if (connection->finished)
        return;
    connection->finished = true;
    if (--connection->run->active == 0)
        event_base_loopbreak(connection->run->base);
}

static void stamp(struct connection *connection)
{
    const struct load *load = connection->run->load;

    connection->sent_at[(connection->oldest + connection->in_ring++) % load->pipeline] =
        now_usec(CLOCK_MONOTONIC);
}

static void unstamp(struct connection *connection)
{
    struct run *run = connection->run;

    count_latency(run, now_usec(CLOCK_MONOTONIC) - connection->sent_at[connection->oldest]);
    connection->oldest = (connection->oldest + 1) % run->load->pipeline;
    connection->in_ring--;
}

static void make_push(struct run *run, struct bench_push *push, int64_t now)
{
    const struct load *load = run->load;

    *push = (struct bench_push){
        .topic = load->topic, .body = run->body, .body_size = load->body_size, .now = now};
    if (!load->no_ids)
        snprintf(push->id, sizeof(push->id), "%016llx-%019llu",
                 (unsigned long long)next_random(run),
                 (unsigned long long)(next_random(run) >> 2));
    if (load->delay_max > 0)
        push->delay = 1 + (int64_t)(next_random(run) % (uint64_t)load->delay_max);
}

static void append_push(struct connection *connection)
{
    struct run *run = connection->run;
    const struct load *load = run->load;
    uint64_t left = load->jobs - run->issued;
    unsigned count = left < load->batch ? (unsigned)left : load->batch;
    int64_t now = (int64_t)(now_usec(CLOCK_REALTIME) / 1000);

    for (unsigned i = 0; i < count; i++)
        make_push(run, &connection->pushes[i], now);
    connection->expected +=
        load->batch == 1 ? load->driver->push(&connection->out, connection->pushes)
                         : load->driver->push_many(&connection->out, connection->pushes, count);
    connection->pushed[(connection->oldest + connection->in_ring) % load->pipeline] = count;
    stamp(connection);
    run->issued += count;
}

static void ask_push(struct connection *connection)
{
    struct run *run = connection->run;

    while (connection->in_ring < run->load->pipeline && run->issued < run->load->jobs)
        append_push(connection);
    if (connection->in_ring == 0)
        finish(connection);
}

static void ask_claim(struct connection *connection)
{
    struct run *run = connection->run;
    const struct load *load = run->load;
    uint64_t left = load->jobs - run->issued;
    unsigned count = left < load->count ? (unsigned)left : load->count;

    if (count == 0) {
        finish(connection);
        return;
    }
    run->issued += count;
    connection->asked = count;
    connection->step = STEP_CLAIM;
    connection->held = 0;
    connection->expected = load->driver->claim(&connection->out, load->topic, count,
                                               (int64_t)(now_usec(CLOCK_REALTIME) / 1000));
    stamp(connection);
}

static void ask_ack(struct connection *connection)
{
    const struct load *load = connection->run->load;

    if (connection->held == 0) { /* no job is due */
        finish(connection);
        return;
    }
    connection->step = STEP_ACK;
    connection->expected =
        load->driver->ack(&connection->out, load->topic, connection->claimed, connection->held);
    stamp(connection);
}

/* What is held at the end is acked alone. */
static void ask_work(struct connection *connection)
{
    struct run *run = connection->run;
    const struct load *load = run->load;
    uint64_t left = load->jobs - run->issued;
    unsigned count = left < load->count ? (unsigned)left : load->count;

    if (count == 0) {
        ask_ack(connection);
        return;
    }
    run->issued += count;
    connection->asked = count;
    connection->step = STEP_WORK;
    connection->expected = load->driver->work(&connection->out, load->topic, count,
                                              (int64_t)(now_usec(CLOCK_REALTIME) / 1000),
                                              connection->claimed, connection->held);
    connection->acked = connection->held;
    connection->held = 0;
    stamp(connection);
}

static void ask(struct connection *connection)
{
    switch (connection->run->load->kind) {
    case LOAD_PUSH:
        connection->step = STEP_PUSH;
        ask_push(connection);
        break;
    case LOAD_CLAIM:
        ask_claim(connection);
        break;
    case LOAD_WORK:
        ask_work(connection);
        break;
    }
}

static void flush(struct connection *connection);

/* A claim may bring less than it asks for, where bodies are large: the rest is to be asked for.
 */
static void give_back(struct connection *connection)
{
    if (connection->asked > connection->held)
        connection->run->issued -= connection->asked - connection->held;
}

/* Handles a complete reply; sends the next requests when all replies of the step are there. */
static void take_reply(struct connection *connection, const struct bench_reply *reply)
{
    struct run *run = connection->run;

    connection->expected--;
    switch (connection->step) {
    case STEP_PREPARE:
        for (unsigned i = 0; i < run->load->connections; i++) {
            ask(&run->connections[i]);
            flush(&run->connections[i]);
        }
        break;
    case STEP_PUSH:
        run->result->jobs += connection->pushed[connection->oldest];
        unstamp(connection);
        ask_push(connection);
        break;
    case STEP_CLAIM:
        connection->held += (unsigned)reply->claimed;
        if (connection->expected > 0)
            break;
        unstamp(connection);
        give_back(connection);
        ask_ack(connection);
        break;
    case STEP_ACK:
        run->result->jobs += reply->acked;
        if (connection->expected > 0)
            break;
        unstamp(connection);
        connection->held = 0;
        ask(connection);
        break;
    case STEP_WORK:
        run->result->jobs += connection->acked;
        connection->held = (unsigned)reply->claimed;
        unstamp(connection);
        give_back(connection);
        if (reply->empty)
            finish(connection);
        else
            ask_work(connection);
        break;
    }
}

static enum bench_outcome parse(struct connection *connection, struct bench_reply *reply)
{
    const struct bench_driver *driver = connection->run->load->driver;
    const char *data = buffer_content(&connection->in);
    size_t size = buffer_size(&connection->in);

    memset(reply, 0, offsetof(struct bench_reply, error));
    switch (connection->step) {
    case STEP_CLAIM:
    case STEP_WORK:
        return driver->claim_reply(data, size, connection->claimed + connection->held, reply);
    case STEP_ACK:
        return driver->ack_reply(data, size, reply);
    case STEP_PREPARE:
    case STEP_PUSH:
        break;
    }
    return driver->push_reply(data, size, reply);
}

/* ---- sockets */

static void flush(struct connection *connection)
{
    while (buffer_size(&connection->out) > 0) {
        ssize_t sent = online_write(connection->client, buffer_content(&connection->out),
                                    buffer_size(&connection->out));

        if (sent < 0 && errno == EAGAIN) {
            event_add(connection->writable, NULL);
            return;
        }
        if (sent <= 0) {
            lose(connection->run, "send", sent);
            return;
        }
        buffer_consume(&connection->out, (size_t)sent);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    flush(arg);
}

/* False: nothing came. */
static bool receive(struct connection *connection)
{
    ssize_t got =
        online_read(connection->client, buffer_reserve(&connection->in, READ_SIZE), READ_SIZE);

    if (got > 0)
        buffer_commit(&connection->in, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        lose(connection->run, "recv", got);
    return got > 0;
}

static void take_replies(struct connection *connection)
{
    struct bench_reply reply;

    while (buffer_size(&connection->in) > 0 && !connection->run->failed) {
        enum bench_outcome outcome = parse(connection, &reply);

        if (outcome == BENCH_PARTIAL)
            break;
        if (outcome == BENCH_FAILED) {
            fail(connection->run, "error reply", reply.error);
            return;
        }
        buffer_consume(&connection->in, reply.used);
        take_reply(connection, &reply);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *connection = arg;

    (void)fd;
    (void)what;
    do {
        if (!receive(connection))
            return;
        take_replies(connection);
    } while (online_has_more(connection->client) && !connection->run->failed);
    if (!connection->run->failed)
        flush(connection);
}

/* Each request leaves at once: TCP waits for no more. */
static void prepare_socket(int fd)
{
    int one = 1;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* a unix socket has none */
}

static bool open_connection(struct run *run, struct connection *connection)
{
    struct online_options where = run->load->where;
    char why[ONLINE_WHY] = "";
    int fd;

    connection->run = run;
    where.like = run->connections[0].client;
    connection->client = online_connect(&where, why);
    if (connection->client == NULL) {
        fail_by(run, "no connection", why, online_blame(why));
        return false;
    }
    fd = online_descriptor(connection->client);
    prepare_socket(fd);
    buffer_init(&connection->in, BUFFER_MAX);
    buffer_init(&connection->out, BUFFER_MAX);
    connection->sent_at = calloc(run->load->pipeline, sizeof(*connection->sent_at));
    connection->pushes = calloc(run->load->batch, sizeof(*connection->pushes));
    connection->pushed = calloc(run->load->pipeline, sizeof(*connection->pushed));
    connection->claimed = calloc(BENCH_COUNT_MAX, sizeof(*connection->claimed));
    connection->readable =
        event_new(run->base, fd, EV_READ | EV_PERSIST, on_readable, connection);
    connection->writable = event_new(run->base, fd, EV_WRITE, on_writable, connection);
    event_add(connection->readable, NULL);
    return true;
}

static void close_connection(struct connection *connection)
{
    if (connection->readable == NULL)
        return;
    event_free(connection->readable);
    event_free(connection->writable);
    online_close(connection->client);
    buffer_release(&connection->in);
    buffer_release(&connection->out);
    free(connection->pushes);
    free(connection->pushed);
    free(connection->sent_at);
    free(connection->claimed);
}

/* Starts the first connection. With a preparation the others start after its reply. */
static void start(struct run *run)
{
    struct connection *first = &run->connections[0];

    if (run->load->driver->prepare != NULL) {
        first->step = STEP_PREPARE;
        first->expected = 1;
        run->load->driver->prepare(&first->out);
    } else {
        for (unsigned i = 0; i < run->load->connections; i++)
            ask(&run->connections[i]);
    }
    for (unsigned i = 0; i < run->load->connections && !run->failed; i++)
        flush(&run->connections[i]);
}

/* ---- reports */

static void report(struct run *run)
{
    uint64_t now = now_usec(CLOCK_MONOTONIC), jobs = run->result->jobs;

    run->part.at = (double)(now - run->begun) / 1e6;
    run->part.seconds = (double)(now - run->reported) / 1e6;
    run->part.jobs = jobs - run->reported_jobs;
    run->load->progress(&run->part);
    run->reported = now;
    run->reported_jobs = jobs;
    run->part = (struct load_part){0};
}

static void on_report(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    report(arg);
}

static bool start_reports(struct run *run)
{
    struct timeval every = {(time_t)run->load->every, 0};

    run->begun = run->reported = now_usec(CLOCK_MONOTONIC);
    if (run->load->every == 0)
        return true;
    run->reporter = event_new(run->base, -1, EV_PERSIST, on_report, run);
    return run->reporter != NULL && event_add(run->reporter, &every) == 0;
}

bool load_run(const struct load *load, struct load_result *ret_result)
{
    struct run run = {.load = load, .result = ret_result, .random = load->seed};

    memset(ret_result, 0, sizeof(*ret_result));
    run.base = event_base_new();
    run.connections = calloc(load->connections, sizeof(*run.connections));
    run.body = malloc(load->body_size + 1);
    run.active = load->connections;
    memset(run.body, 'x', load->body_size);
    for (unsigned i = 0; i < load->connections && !run.failed; i++)
        open_connection(&run, &run.connections[i]);

    if (!start_reports(&run))
        fail(&run, "timer", strerror(errno));
    if (!run.failed)
        start(&run);
    if (!run.failed && run.active > 0)
        event_base_dispatch(run.base);
    ret_result->seconds = (double)(now_usec(CLOCK_MONOTONIC) - run.begun) / 1e6;

    for (unsigned i = 0; i < load->connections; i++)
        close_connection(&run.connections[i]);
    if (run.reporter != NULL)
        event_free(run.reporter);
    free(run.connections);
    free(run.body);
    event_base_free(run.base);
    return !run.failed;
}
