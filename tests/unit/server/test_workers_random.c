/* Workers under random claims, ends of connections and leases, against a plain table: what
 * Q.WORKERS tells of each, how many leases Q.RELEASE ends, and which jobs go back with their
 * connection (BOUND). SEED= reproduces, STEPS= scales. */
#include "server/session/bound_jobs.h"
#include "server/session/session.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/dice.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum {
    CLIENTS = 5,
    WORKERS = 4,
    TOPICS = 2,
    JOBS = 40,
    PERIOD_MS = 10 * 1000, /* of a rate, which is of the period that runs and 6 before */
    PERIODS = 7,
    CLAIMS_MOST = 100000
};

struct job {
    int topic; /* -1: there is no such job */
    int id, worker /* that has it; -1: none */, client /* to which it is bound; -1: none */;
    int64_t token, claimed_at, lease_end;
};

struct client {
    struct connection *connection;
    int name;   /* the worker of CLIENT SETNAME; -1: it has none */
    int worker; /* as which it claimed last; -1: none */
};

struct worker {
    bool known; /* it has claimed */
    char address[64];
    int64_t seen; /* the last request of a connection that has left it */
};

struct claims {
    int worker;
    int64_t period;
    size_t jobs;
};

static struct {
    struct command_runner *runner;
    struct dice dice;
    struct job jobs[JOBS];
    struct client clients[CLIENTS];
    struct worker workers[WORKERS];
    struct claims claims[CLAIMS_MOST];
    size_t claim_count;
    int last_id;
} test;

static int roll(int sides)
{
    return (int)dice_roll(&test.dice, (uint64_t)sides);
}

static int64_t now(void)
{
    return test.runner->server.now.now;
}

/* ---- requests */

/* The caller frees it. */
static redisReply *ask_of(struct connection *connection, const char *line)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    connection->session.active = test.runner->server.clock.last.monotonic;
    runner_run(test.runner, connection, line);
    redisReaderFeed(reader, buffer_content(&connection->output),
                    buffer_size(&connection->output));
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    buffer_clear(&connection->output);
    redisReaderFree(reader);
    return reply;
}

static redisReply *ask(const char *line)
{
    return ask_of(test.runner->clients[0], line);
}

static long long ask_number(const char *line)
{
    redisReply *reply = ask(line);
    long long number = reply->integer;

    if (reply->type != REDIS_REPLY_INTEGER)
        fail_msg("%s: %s", line, reply->str);
    freeReplyObject(reply);
    return number;
}

/* ---- the model */

static struct job *find_job(int topic, int id)
{
    for (int i = 0; i < JOBS; i++)
        if (test.jobs[i].topic == topic && test.jobs[i].id == id)
            return &test.jobs[i];
    fail_msg("job %d of topic %d is unknown", id, topic);
    return NULL;
}

static size_t ready_jobs(int topic)
{
    size_t count = 0;

    for (int i = 0; i < JOBS; i++)
        count += test.jobs[i].topic == topic && test.jobs[i].worker < 0;
    return count;
}

static void give_back(struct job *job)
{
    job->worker = job->client = -1;
}

static void leave_worker(const struct client *client)
{
    struct worker *worker = &test.workers[client->worker];

    if (client->connection->session.active > worker->seen)
        worker->seen = client->connection->session.active;
}

static void note_claim(struct client *client, int worker, size_t jobs)
{
    if (client->worker >= 0 && client->worker != worker)
        leave_worker(client);
    client->worker = worker;
    test.workers[worker].known = true;
    strcpy(test.workers[worker].address, client->connection->session.address);
    assert_true(test.claim_count < CLAIMS_MOST);
    test.claims[test.claim_count++] =
        (struct claims){worker, test.runner->server.clock.last.monotonic / PERIOD_MS, jobs};
}

/* ---- steps */

static void push(void)
{
    int topic = roll(TOPICS);
    char line[100];

    for (int i = 0; i < JOBS; i++) {
        struct job *job = &test.jobs[i];

        if (job->topic >= 0)
            continue;
        *job = (struct job){.topic = topic, .id = ++test.last_id, .worker = -1, .client = -1};
        snprintf(line, sizeof(line), "Q.PUSH t%d body ID %d CRASHES 1000000 RETRIES 1000000",
                 topic, job->id);
        freeReplyObject(ask(line));
        return;
    }
}

/* A worker, or a client that has its name. *ret_words: what the claim says of that. */
static int choose_worker(const struct client *client, char *words, size_t size)
{
    int worker = client->name >= 0 && roll(2) == 0 ? client->name : roll(WORKERS);

    words[0] = '\0';
    if (worker != client->name)
        snprintf(words, size, "WORKER w%d", worker);
    return worker;
}

static void claim(void)
{
    int at = roll(CLIENTS), topic = roll(TOPICS), count = 1 + roll(4), lease = roll(30000);
    struct client *client = &test.clients[at];
    bool binds = roll(2) == 0;
    size_t ready = ready_jobs(topic);
    char words[32], line[200];
    int worker = choose_worker(client, words, sizeof(words));
    redisReply *reply;

    snprintf(line, sizeof(line), "Q.CLAIM t%d COUNT %d LEASE %d %s %s", topic, count, lease + 1,
             words, binds ? "BOUND" : "");
    reply = ask_of(client->connection, line);
    assert_int_equal(reply->elements, ready < (size_t)count ? ready : (size_t)count);
    for (size_t i = 0; i < reply->elements; i++) {
        redisReply **parts = reply->element[i]->element;
        struct job *job = find_job(topic, atoi(parts[0]->str));

        assert_int_equal(job->worker, -1);
        job->worker = worker;
        job->client = binds ? at : -1;
        job->token = parts[1]->integer;
        job->claimed_at = now();
        job->lease_end = now() + lease + 1;
    }
    note_claim(client, worker, reply->elements);
    freeReplyObject(reply);
}

static void pop(void)
{
    struct client *client = &test.clients[roll(CLIENTS)];
    int topic = roll(TOPICS);
    char line[100];
    redisReply *reply;

    snprintf(line, sizeof(line), "Q.POP t%d COUNT 2", topic);
    reply = ask_of(client->connection, line);
    for (size_t i = 0; i < reply->elements; i++)
        find_job(topic, atoi(reply->element[i]->element[0]->str))->topic = -1;
    if (client->name >= 0)
        note_claim(client, client->name, reply->elements);
    freeReplyObject(reply);
}

static struct job *choose_claimed(void)
{
    int start = roll(JOBS);

    for (int i = 0; i < JOBS; i++) {
        struct job *job = &test.jobs[(start + i) % JOBS];

        if (job->topic >= 0 && job->worker >= 0)
            return job;
    }
    return NULL;
}

static void settle(void)
{
    struct job *job = choose_claimed();
    int how = roll(3);
    char line[100];

    if (job == NULL)
        return;
    snprintf(line, sizeof(line), "%s t%d %d %" PRId64 " %s",
             how == 0   ? "Q.ACK"
             : how == 1 ? "Q.NACK"
                        : "Q.EXTEND",
             job->topic, job->id, job->token,
             how == 0   ? ""
             : how == 1 ? "DELAY 0"
                        : "20000");
    freeReplyObject(ask(line));
    if (how == 0)
        job->topic = -1;
    else if (how == 1)
        give_back(job);
    else
        job->lease_end = now() + 20000;
}

/* All claimed jobs of the worker in the topic; -1: in any. */
static void release(void)
{
    int worker = roll(WORKERS), topic = roll(TOPICS + 1) - 1;
    long long wanted = 0;
    char line[100], place[32] = "";

    if (topic >= 0)
        snprintf(place, sizeof(place), "TOPIC t%d", topic);
    snprintf(line, sizeof(line), "Q.RELEASE WORKER w%d %s", worker, place);
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &test.jobs[i];

        if (job->topic < 0 || job->worker != worker || (topic >= 0 && job->topic != topic))
            continue;
        wanted++;
        give_back(job);
    }
    assert_int_equal(ask_number(line), wanted);
}

static void connect_client(struct client *client)
{
    char line[50];

    client->connection = runner_connect(test.runner);
    client->worker = -1;
    client->name = roll(3) > 0 ? -1 : roll(WORKERS);
    if (client->name < 0)
        return;
    snprintf(line, sizeof(line), "CLIENT SETNAME w%d", client->name);
    freeReplyObject(ask_of(client->connection, line));
}

static void reconnect(void)
{
    struct server *server = &test.runner->server;
    int at = roll(CLIENTS);

    if (test.runner->client_count == RUNNER_CLIENTS)
        return;
    if (test.clients[at].worker >= 0)
        leave_worker(&test.clients[at]);
    session_leave(server, &test.clients[at].connection->session);
    while (bound_jobs_is_busy(&server->bound_jobs))
        bound_jobs_turn(server);
    for (int i = 0; i < JOBS; i++)
        if (test.jobs[i].topic >= 0 && test.jobs[i].client == at)
            give_back(&test.jobs[i]);
    connect_client(&test.clients[at]);
}

static void pass(void)
{
    runner_pass(test.runner, roll(roll(20) == 0 ? 90000 : 3000));
    for (int i = 0; i < JOBS; i++)
        if (test.jobs[i].worker >= 0 && test.jobs[i].lease_end <= now())
            give_back(&test.jobs[i]);
}

/* ---- Q.WORKERS */

static const redisReply *field(const redisReply *map, const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0)
            return map->element[i + 1];
    fail_msg("no %s", name);
    return NULL;
}

static int64_t rate_of(int worker)
{
    int64_t period = test.runner->server.clock.last.monotonic / PERIOD_MS, jobs = 0;

    for (size_t i = 0; i < test.claim_count; i++)
        if (test.claims[i].worker == worker && test.claims[i].period > period - PERIODS)
            jobs += (int64_t)test.claims[i].jobs;
    return jobs;
}

static void check_connections(const redisReply *map, int worker)
{
    const struct server *server = &test.runner->server;
    int64_t seen = test.workers[worker].seen;
    int count = 0;

    for (int i = 0; i < CLIENTS; i++) {
        const struct client *client = &test.clients[i];

        if (client->worker != worker)
            continue;
        count++;
        if (client->connection->session.active > seen)
            seen = client->connection->session.active;
    }
    assert_string_equal(field(map, "address")->str, test.workers[worker].address);
    assert_int_equal(field(map, "connections")->integer, count);
    assert_int_equal(field(map, "last-seen")->integer,
                     server->now.wall - (server->clock.last.monotonic - seen));
    assert_int_equal(field(map, "rate")->integer, rate_of(worker));
}

/* Its jobs; topic -1: in all. Returns how many there are. */
static int check_held(const redisReply *map, int worker, int topic)
{
    int64_t oldest = -1;
    int held = 0;

    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &test.jobs[i];

        if (job->topic < 0 || job->worker != worker || (topic >= 0 && job->topic != topic))
            continue;
        held++;
        if (now() - job->claimed_at > oldest)
            oldest = now() - job->claimed_at;
    }
    if (map == NULL)
        return held;
    assert_int_equal(field(map, "held")->integer, held);
    if (held > 0)
        assert_int_equal(field(map, "oldest-lease")->integer, oldest);
    else
        assert_int_equal(field(map, "oldest-lease")->type, REDIS_REPLY_NIL);
    return held;
}

static const redisReply *find_worker(const redisReply *workers, int worker)
{
    char name[16];

    snprintf(name, sizeof(name), "w%d", worker);
    for (size_t i = 0; i < workers->elements; i++)
        if (strcmp(field(workers->element[i], "name")->str, name) == 0)
            return workers->element[i];
    return NULL;
}

static void check(void)
{
    int topic = roll(TOPICS + 1) - 1;
    size_t listed = 0;
    char line[50] = "Q.WORKERS";
    redisReply *workers;

    if (topic >= 0)
        snprintf(line, sizeof(line), "Q.WORKERS t%d", topic);
    workers = ask(line);
    for (int worker = 0; worker < WORKERS; worker++) {
        const redisReply *map = find_worker(workers, worker);
        int held = check_held(map, worker, topic);

        assert_int_equal(map != NULL, held > 0 || (topic < 0 && test.workers[worker].known));
        if (map == NULL)
            continue;
        check_connections(map, worker);
        listed++;
    }
    assert_int_equal(workers->elements, listed);
    freeReplyObject(workers);
}

/* ---- the walk */

static void workers_are_what_their_claims_say(void **state)
{
    static void (*const moves[])(void) = {push, push, push,   push,   claim, claim,  claim,
                                          pop,  pass, settle, settle, pass,  release};
    long steps = dice_setting("STEPS", 3000);

    test.runner = *state;
    dice_begin(&test.dice);
    for (int i = 0; i < JOBS; i++)
        test.jobs[i].topic = -1;
    for (int i = 0; i < CLIENTS; i++)
        connect_client(&test.clients[i]);
    while (steps-- > 0) {
        moves[roll(sizeof(moves) / sizeof(moves[0]))]();
        if (roll(30) == 0)
            reconnect();
        check();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {runner_test(workers_are_what_their_claims_say)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
