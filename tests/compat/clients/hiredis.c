/* A round of hiredis; ../README.md explains the checks and what runs this. */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYS 500

static int port, locked_port;
static const char *password;
static char failure[512];

static redisContext *client_new(int to)
{
    redisContext *client = redisConnect("127.0.0.1", to);
    if (client == NULL || client->err) {
        fprintf(stderr, "cannot connect to port %d\n", to);
        exit(1);
    }
    return client;
}

/* Runs one command and tells whether its reply, as text, is `wanted`. */
static bool replies(redisContext *client, const char *wanted, const char *format, ...)
{
    char got[256];
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(client, format, arguments);
    va_end(arguments);
    if (reply == NULL)
        snprintf(got, sizeof(got), "no reply");
    else if (reply->type == REDIS_REPLY_INTEGER)
        snprintf(got, sizeof(got), "%lld", reply->integer);
    else if (reply->type == REDIS_REPLY_NIL)
        snprintf(got, sizeof(got), "nil");
    else if (reply->type == REDIS_REPLY_ARRAY)
        snprintf(got, sizeof(got), "array of %zu", reply->elements);
    else
        snprintf(got, sizeof(got), "%.*s", (int)strcspn(reply->str, " \r\n"), reply->str);
    freeReplyObject(reply);
    if (strcmp(got, wanted) == 0)
        return true;
    snprintf(failure, sizeof(failure), "%.100s: wanted %.100s, got %.200s", format, wanted,
             got);
    return false;
}

static bool check_plain(void)
{
    redisContext *client = client_new(port);
    redisReply *stored = redisCommand(client, "SET plain %b", "a\0b\r\n", (size_t)5);
    redisReply *read = redisCommand(client, "GET plain");
    bool same = read->len == 5 && memcmp(read->str, "a\0b\r\n", 5) == 0;
    freeReplyObject(stored);
    freeReplyObject(read);
    bool fine = same && replies(client, "PONG", "PING");
    redisFree(client);
    return fine;
}

static bool check_password(void)
{
    redisContext *client = client_new(locked_port);
    bool fine = replies(client, "NOAUTH", "PING") &&
                replies(client, "WRONGPASS", "AUTH wrong") &&
                replies(client, "OK", "AUTH %s", password) && replies(client, "PONG", "PING");
    redisFree(client);
    return fine;
}

static bool check_user(void)
{
    redisContext *client = client_new(locked_port);
    bool fine = replies(client, "WRONGPASS", "AUTH nobody %s", password) &&
                replies(client, "OK", "AUTH default %s", password) &&
                replies(client, "PONG", "PING");
    redisFree(client);
    return fine;
}

static bool check_database(void)
{
    redisContext *client = client_new(port);
    bool fine = replies(client, "OK", "SELECT 5") &&
                replies(client, "OK", "SET database five") &&
                replies(client, "OK", "SELECT 0") && replies(client, "nil", "GET database") &&
                replies(client, "ERR", "SELECT 99");
    redisFree(client);
    return fine;
}

static bool check_name(void)
{
    redisContext *client = client_new(port);
    bool fine = replies(client, "OK", "CLIENT SETNAME worker-7") &&
                replies(client, "worker-7", "CLIENT GETNAME");
    redisReply *list = redisCommand(client, "CLIENT LIST");
    fine = fine && strstr(list->str, "name=worker-7 ") != NULL;
    freeReplyObject(list);
    redisFree(client);
    return fine;
}

static bool check_pipeline(void)
{
    redisContext *client = client_new(port);
    bool fine = true;
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(client, "INCR pipeline");
    for (int i = 1; i <= 1000 && fine; i++) {
        redisReply *reply = NULL;
        fine = redisGetReply(client, (void **)&reply) == REDIS_OK && reply->integer == i;
        freeReplyObject(reply);
    }
    redisFree(client);
    return fine;
}

static bool check_transaction(void)
{
    redisContext *client = client_new(port), *other = client_new(port);
    bool fine =
        replies(client, "OK", "MULTI") &&
        replies(client, "QUEUED", "ZADD transaction 2.5 job") &&
        replies(client, "QUEUED", "ZSCORE transaction job") &&
        replies(client, "array of 2", "EXEC") && replies(client, "OK", "WATCH transaction") &&
        replies(other, "0", "ZADD transaction 3 job") && replies(client, "OK", "MULTI") &&
        replies(client, "QUEUED", "DEL transaction") && replies(client, "nil", "EXEC") &&
        replies(client, "3", "ZSCORE transaction job");
    redisFree(client);
    redisFree(other);
    return fine;
}

static bool blocked_clients_become(redisContext *client, int wanted)
{
    char line[32];
    snprintf(line, sizeof(line), "blocked_clients:%d\r", wanted);
    for (int i = 0; i < 1000; i++) {
        redisReply *info = redisCommand(client, "INFO clients");
        bool there = info != NULL && info->str != NULL && strstr(info->str, line) != NULL;
        freeReplyObject(info);
        if (there)
            return true;
        usleep(10000);
    }
    snprintf(failure, sizeof(failure), "no %s", line);
    return false;
}

static void send_without_waiting(redisContext *client, const char *command)
{
    int done = 0;
    redisAppendCommand(client, command);
    while (!done && redisBufferWrite(client, &done) == REDIS_OK)
        continue;
}

static bool check_blocking(void)
{
    redisContext *client = client_new(port), *waiter = client_new(port);
    bool fine = replies(client, "nil", "BLPOP blocking 0.05");
    send_without_waiting(waiter, "BRPOP blocking other 0");
    fine =
        fine && blocked_clients_become(client, 1) && replies(client, "1", "LPUSH blocking job");
    redisReply *taken = NULL;
    fine = fine && redisGetReply(waiter, (void **)&taken) == REDIS_OK && taken->elements == 2 &&
           strcmp(taken->element[1]->str, "job") == 0;
    freeReplyObject(taken);
    send_without_waiting(waiter, "BLPOP blocking 0");
    fine = fine && blocked_clients_become(client, 1);
    redisFree(waiter);
    fine = fine && blocked_clients_become(client, 0) &&
           replies(client, "1", "RPUSH blocking kept") &&
           replies(client, "kept", "LPOP blocking");
    redisFree(client);
    return fine;
}

static bool hears(redisContext *listener, const char *kind)
{
    redisReply *message = NULL;
    bool fine = redisGetReply(listener, (void **)&message) == REDIS_OK &&
                message->elements >= 3 && strcmp(message->element[0]->str, kind) == 0 &&
                strcmp(message->element[message->elements - 1]->str, "hello") == 0;
    freeReplyObject(message);
    return fine;
}

static bool check_pubsub(void)
{
    redisContext *client = client_new(port), *listener = client_new(port);
    bool fine = replies(listener, "array of 3", "SUBSCRIBE news") &&
                replies(listener, "array of 3", "PSUBSCRIBE n*") &&
                replies(client, "2", "PUBLISH news hello") && hears(listener, "message") &&
                hears(listener, "pmessage") && replies(listener, "array of 3", "UNSUBSCRIBE") &&
                replies(listener, "array of 3", "PUNSUBSCRIBE") &&
                replies(listener, "PONG", "PING");
    redisFree(client);
    redisFree(listener);
    return fine;
}

/* Marks what a batch of a scan brought; `width` elements belong to one name. */
static void mark_batch(const redisReply *batch, size_t width, bool found[KEYS])
{
    for (size_t i = 0; i < batch->elements; i += width) {
        unsigned number;
        if (sscanf(batch->element[i]->str, "scan:%u", &number) == 1 && number < KEYS)
            found[number] = true;
    }
}

static bool scan_finds_all(redisContext *client, const char *command, const char *rest,
                           size_t width)
{
    bool found[KEYS] = {false};
    char cursor[32] = "0";
    do {
        char line[128];
        snprintf(line, sizeof(line), "%s %s %s", command, cursor, rest);
        redisReply *reply = redisCommand(client, line);
        if (reply == NULL || reply->elements != 2) {
            snprintf(failure, sizeof(failure), "%s: no scan", line);
            freeReplyObject(reply);
            return false;
        }
        snprintf(cursor, sizeof(cursor), "%s", reply->element[0]->str);
        mark_batch(reply->element[1], width, found);
        freeReplyObject(reply);
    } while (strcmp(cursor, "0") != 0);
    for (int i = 0; i < KEYS; i++) {
        if (!found[i]) {
            snprintf(failure, sizeof(failure), "%s: %d is missing", command, i);
            return false;
        }
    }
    return true;
}

static bool check_scan(void)
{
    redisContext *client = client_new(port);
    for (int i = 0; i < KEYS; i++) {
        redisAppendCommand(client, "SET scan:%d 1", i);
        redisAppendCommand(client, "HSET scan-hash scan:%d 1", i);
        redisAppendCommand(client, "SADD scan-set scan:%d", i);
        redisAppendCommand(client, "ZADD scan-zset %d scan:%d", i, i);
    }
    for (int i = 0; i < 4 * KEYS; i++) {
        redisReply *reply = NULL;
        redisGetReply(client, (void **)&reply);
        freeReplyObject(reply);
    }
    bool fine = scan_finds_all(client, "SCAN", "MATCH scan:* COUNT 50", 1) &&
                scan_finds_all(client, "SSCAN scan-set", "", 1) &&
                scan_finds_all(client, "HSCAN scan-hash", "", 2) &&
                scan_finds_all(client, "ZSCAN scan-zset", "", 2);
    redisFree(client);
    return fine;
}

/* ---- what only dueq has */

static const char *setting(const char *name)
{
    const char *value = getenv(name);

    return value == NULL ? "" : value;
}

static bool is_dueq(void)
{
    return setting("UPGRADE_PID")[0] != '\0';
}

/* This job was claimed, that often; it is acked. */
static bool is_job(redisContext *client, redisReply *reply, const char *name, int attempts)
{
    bool fine = reply != NULL && reply->elements == 1 && reply->element[0]->elements == 4;
    if (fine) {
        redisReply **job = reply->element[0]->element;
        fine = strcmp(job[0]->str, name) == 0 && strcmp(job[2]->str, "job") == 0 &&
               job[3]->integer == attempts &&
               replies(client, "1", "Q.ACK jobs %s %lld", name, job[1]->integer);
    }
    freeReplyObject(reply);
    return fine;
}

static bool is_nothing(redisReply *reply)
{
    bool nothing = reply != NULL && reply->type == REDIS_REPLY_NIL;

    freeReplyObject(reply);
    return nothing;
}

static redisReply *reply_of(redisContext *client)
{
    redisReply *reply = NULL;

    return redisGetReply(client, (void **)&reply) == REDIS_OK ? reply : NULL;
}

static void run_of(redisContext *client, char run[64])
{
    redisReply *info = redisCommand(client, "INFO server");
    const char *at = info == NULL || info->str == NULL ? NULL : strstr(info->str, "run_id:");
    snprintf(run, 64, "%.*s", at == NULL ? 0 : (int)strcspn(at, "\r"), at == NULL ? "" : at);
    freeReplyObject(info);
}

/* A claim that waits is answered as if its time were over. */
static bool check_upgrade(void)
{
    redisContext *client = client_new(atoi(setting("UPGRADE_PORT")));
    redisContext *waiter = client_new(atoi(setting("UPGRADE_PORT")));
    char before[64], now[64], wanted[32];
    int pushed = 0;
    bool fine = true;
    for (int i = 0; i < 3 && fine; i++) {
        run_of(client, before);
        send_without_waiting(waiter, "Q.CLAIM jobs BLOCK 10m");
        fine = blocked_clients_become(client, 1);
        kill(atoi(setting("UPGRADE_PID")), SIGUSR2);
        for (run_of(client, now); fine && strcmp(now, before) == 0; run_of(client, now)) {
            snprintf(wanted, sizeof(wanted), "%d", ++pushed);
            fine = replies(client, wanted, "RPUSH upgraded x");
        }
        fine = fine && now[0] != '\0' && is_nothing(reply_of(waiter));
    }
    snprintf(wanted, sizeof(wanted), "%d", pushed);
    fine = fine && replies(client, wanted, "LLEN upgraded") &&
           replies(client, "a", "Q.PUSH jobs job ID a") &&
           is_job(client, redisCommand(waiter, "Q.CLAIM jobs BLOCK 10m"), "a", 1);
    redisFree(client);
    redisFree(waiter);
    return fine;
}

/* No limit as delivered; who sets one has a shorter BLOCK. A job arrives during a wait. */
static bool check_claim(void)
{
    redisContext *client = client_new(port), *worker = client_new(port);
    redisSetTimeout(client, (struct timeval){1, 0});
    bool fine = replies(worker, "nil", "Q.CLAIM jobs BLOCK 6s") &&
                replies(client, "nil", "Q.CLAIM jobs BLOCK 500ms");
    send_without_waiting(worker, "Q.CLAIM jobs BLOCK 60s");
    fine = fine && blocked_clients_become(client, 1) &&
           replies(client, "a", "Q.PUSH jobs job ID a") &&
           is_job(client, reply_of(worker), "a", 1);
    redisFree(client);
    redisFree(worker);
    return fine;
}

/* redisSetTimeout says how long it waits for any reply. Then the context is of no use, but its
   connection, and the claim, last until it is freed or connects again. */
static bool check_cut(void)
{
    redisContext *client = client_new(port), *hasty = client_new(port);
    redisSetTimeout(hasty, (struct timeval){1, 0});
    redisReply *reply = redisCommand(hasty, "Q.CLAIM jobs BLOCK 60s");
    bool fine = reply == NULL && hasty->err == REDIS_ERR_IO &&
                blocked_clients_become(client, 1) && redisReconnect(hasty) == REDIS_OK &&
                blocked_clients_become(client, 0) &&
                replies(client, "b", "Q.PUSH jobs job ID b") &&
                is_job(client, redisCommand(hasty, "Q.CLAIM jobs BLOCK 500ms"), "b", 1);
    redisFree(client);
    redisFree(hasty);
    return fine;
}

/* A connection that ends: the wait has no reply, redisReconnect makes a new one. A job that was
   held comes back when its lease ends. */
static bool check_lease(void)
{
    redisContext *client = client_new(port), *worker = client_new(port);
    bool fine = replies(client, "c", "Q.PUSH jobs job ID c LEASE 500ms") &&
                replies(worker, "array of 1", "Q.CLAIM jobs");
    send_without_waiting(worker, "Q.CLAIM nothing BLOCK 60s");
    fine = fine && blocked_clients_become(client, 1) &&
           replies(client, "1", "CLIENT KILL TYPE normal") && reply_of(worker) == NULL &&
           redisReconnect(worker) == REDIS_OK &&
           is_job(worker, redisCommand(worker, "Q.CLAIM jobs BLOCK 60s"), "c", 2);
    redisFree(client);
    redisFree(worker);
    return fine;
}

static const struct {
    const char *name;
    bool (*run)(void);
} checks[] = {{"plain", check_plain},       {"password", check_password},
              {"user", check_user},         {"database", check_database},
              {"name", check_name},         {"pipeline", check_pipeline},
              {"blocking", check_blocking}, {"transaction", check_transaction},
              {"pubsub", check_pubsub},     {"scan", check_scan},
              {"upgrade", check_upgrade},   {"claim", check_claim},
              {"cut", check_cut},           {"lease", check_lease}};

static bool is_own(const char *name)
{
    static const char *const own[] = {"upgrade", "claim", "cut", "lease"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return false;
}

int main(void)
{
    port = atoi(setting("PORT"));
    locked_port = atoi(setting("LOCKED_PORT"));
    password = setting("PASSWORD");
    printf("version %d.%d.%d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        snprintf(failure, sizeof(failure), "not as expected");
        if (!is_dueq() && is_own(checks[i].name))
            printf("skip %s\n", checks[i].name);
        else if (checks[i].run())
            printf("ok %s\n", checks[i].name);
        else
            printf("FAIL %s %s\n", checks[i].name, failure);
        fflush(stdout);
    }
    return 0;
}
