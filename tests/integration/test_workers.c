/* A work queue in use: threads that claim, finish, fail and disconnect until all jobs are
 * done. */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <setjmp.h>
#include <cmocka.h>

enum { WORKERS = 16, JOBS = 2000 };

struct crew {
    int port;
    atomic_int acked[JOBS];
    atomic_int done, claims, errors;
};

struct worker {
    struct crew *crew;
    struct dice dice;
    redisContext *connection;
    pthread_t thread;
};

static bool replied_integer(redisReply *reply, long long wanted)
{
    bool so = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == wanted;
    freeReplyObject(reply);
    return so;
}

/* Acks most jobs, gives some back. An ack after the lease may be refused. */
static void work_on(struct worker *worker, const redisReply *job)
{
    const char *id = job->element[0]->str;
    long long token = job->element[1]->integer;
    worker->crew->claims++;
    if (dice_once_in(&worker->dice, 6)) {
        freeReplyObject(redisCommand(worker->connection, "Q.NACK work %s %lld DELAY %d", id,
                                     token, (int)dice_roll(&worker->dice, 10)));
    } else if (replied_integer(
                   redisCommand(worker->connection, "Q.ACK work %s %lld", id, token), 1)) {
        worker->crew->acked[atoi(id)]++;
        worker->crew->done++;
    }
}

static void connect_worker(struct worker *worker)
{
    struct timeval patience = {.tv_sec = 120};
    worker->connection = redisConnect("127.0.0.1", worker->crew->port);
    redisSetTimeout(worker->connection, patience);
}

/* Disconnects with unfinished jobs, whose leases then end. */
static void vanish(struct worker *worker)
{
    redisFree(worker->connection);
    connect_worker(worker);
}

static void claim_and_work(struct worker *worker)
{
    redisReply *reply =
        redisCommand(worker->connection, "Q.CLAIM work COUNT %d LEASE 200 BLOCK 50",
                     1 + (int)dice_roll(&worker->dice, 4));
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        worker->crew->errors++;
    for (size_t i = 0; reply && reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        if (dice_once_in(&worker->dice, 20)) {
            vanish(worker);
            break;
        }
        work_on(worker, reply->element[i]);
    }
    freeReplyObject(reply);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    connect_worker(worker);
    while (worker->crew->done < JOBS && worker->crew->errors == 0)
        claim_and_work(worker);
    redisFree(worker->connection);
    return NULL;
}

static void every_job_is_finished_exactly_once(void **state)
{
    static struct crew crew;
    struct worker workers[WORKERS];
    redisContext *client = served_client(state);
    struct dice dice;
    dice_begin(&dice);
    crew.port = served_server(state)->port;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.crew = &crew, .dice = {dice_bits(&dice)}};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < JOBS; i++)
        expect(client, "*",
               "Q.PUSH work body ID %d DELAY %d PRIORITY %d RETRIES 100000 CRASHES 100000", i,
               (int)dice_roll(&dice, 100), (int)dice_roll(&dice, 3));
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    assert_int_equal(crew.errors, 0);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(crew.acked[i], 1);
    assert_true(crew.claims >= JOBS);
    expect(client, "0", "Q.LEN work");
    expect_field(client, "total-acked", "2000", "Q.STATS work");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(every_job_is_finished_exactly_once),
    };
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
