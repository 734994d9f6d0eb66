/* kill -9, and syncs that fail, in the middle of COPY of large values and of the unions of
 * large sets, which take many turns (ROUNDS): what they make is there as a whole or not at all,
 * and what was replied is there. */
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/faults/sigkill.h"
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum {
    STEP = 1000,
    MANY = 30000,           /* elements of a value */
    STRING_BYTES = 6 << 20, /* more than COPY takes at once */
    CHAIN = 20              /* rounds on one directory */
};

/* A command that makes d; `source` is what that should be, and `of` has made it if it is none
 * of the filled values. `read` and `all` are around the key in the command that reads one. */
struct work {
    const char *command, *source, *read, *all, *of;
};

static const struct work works[] = {
    {"COPY string d REPLACE", "string", "GET", "", NULL},
    {"COPY list d REPLACE", "list", "LRANGE", " 0 -1", NULL},
    {"COPY set d REPLACE", "set", "SMEMBERS", "", NULL},
    {"COPY hash d REPLACE", "hash", "HGETALL", "", NULL},
    {"COPY zset d REPLACE", "zset", "ZRANGE", " 0 -1 WITHSCORES", NULL},
    {"SUNIONSTORE d set more", "union", "SMEMBERS", "", "SUNIONSTORE union set more"},
    {"ZUNIONSTORE d 2 zset zmore", "zunion", "ZRANGE", " 0 -1 WITHSCORES",
     "ZUNIONSTORE zunion 2 zset zmore"},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

static char *wanted[WORKS]; /* what `read` answers of the source */

/* ---- commands that may find the server gone */

static void say_line(redisContext *client, const char *line)
{
    char copy[128], *rest = copy;
    const char *words[8];
    int count = 0, done = 0;

    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        words[count++] = word;
    redisAppendCommandArgv(client, count, words, NULL);
    while (done == 0 && redisBufferWrite(client, &done) == REDIS_OK)
        continue;
}

/* 'y': it is done; 'n': an error; 'c': the connection is closed, or the reply is cut off. */
static char outcome_of(redisContext *client)
{
    redisReply *reply = NULL;
    char outcome = 'c';

    if (redisGetReply(client, (void **)&reply) == REDIS_OK)
        outcome = reply->type == REDIS_REPLY_ERROR ? 'n' : 'y';
    freeReplyObject(reply);
    return outcome;
}

/* ---- values */

/* Elements from number `from` on; each has its number as score, value or name. */
static void fill(redisContext *client, const char *command, const char *key, int from)
{
    int pairs = strcmp(command, "ZADD") == 0 || strcmp(command, "HSET") == 0;
    static char texts[2 * STEP][24];
    const char *words[2 * STEP + 2] = {command, key};

    for (int i = from; i < from + MANY; i += STEP) {
        int count = 2;

        for (int j = 0; j < STEP; j++) {
            if (pairs) {
                snprintf(texts[STEP + j], sizeof(texts[0]), "%d", (i + j) % 777);
                words[count++] = texts[STEP + j];
            }
            snprintf(texts[j], sizeof(texts[0]), "%d", (i + j) * 7919 % 1000003);
            words[count++] = texts[j];
        }
        redisAppendCommandArgv(client, count, words, NULL);
    }
    for (int i = 0; i < MANY / STEP; i++)
        expect_reply(client, "*");
}

static void fill_string(redisContext *client)
{
    char *bytes = malloc(STRING_BYTES);

    assert_non_null(bytes);
    for (int i = 0; i < STRING_BYTES; i++)
        bytes[i] = (char)('a' + i / 1000 % 26);
    expect(client, "OK", "SET string %b", bytes, (size_t)STRING_BYTES);
    free(bytes);
}

static char *read_value(redisContext *client, const struct work *work, const char *key)
{
    char line[128];

    snprintf(line, sizeof(line), "%s %s%s", work->read, key, work->all);
    say_line(client, line);
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    char *text = malloc(STRING_BYTES + 1), *at = text;
    assert_non_null(text);
    *at = '\0';
    if (reply->type == REDIS_REPLY_STRING)
        memcpy(text, reply->str, reply->len + 1);
    for (size_t i = 0; i < reply->elements; i++)
        at += sprintf(at, "%s ", reply->element[i]->str);
    freeReplyObject(reply);
    return text;
}

static void fill_all(redisContext *client)
{
    fill_string(client);
    fill(client, "RPUSH", "list", 0);
    fill(client, "SADD", "set", 0);
    fill(client, "SADD", "more", MANY / 2);
    fill(client, "HSET", "hash", 0);
    fill(client, "ZADD", "zset", 0);
    fill(client, "ZADD", "zmore", MANY / 2);
    expect(client, "OK", "SET n 0");
    for (int i = 0; i < WORKS; i++) {
        if (works[i].of != NULL) {
            say_line(client, works[i].of);
            expect_reply(client, "*");
        }
        free(wanted[i]);
        wanted[i] = read_value(client, &works[i], works[i].source);
    }
}

/* ---- a work, and what it left */

struct round {
    const struct work *work;
    long number;             /* d is "old-NUMBER" before it */
    bool in_exec;            /* with SET marker NUMBER */
    char outcome;            /* what the client of the work was told */
    long long sent, replied; /* of INCR n */
};

static void begin(redisContext *worker, const struct round *round)
{
    char line[64];

    if (!round->in_exec) {
        say_line(worker, round->work->command);
        return;
    }
    say_line(worker, "MULTI");
    snprintf(line, sizeof(line), "SET marker %ld", round->number);
    say_line(worker, line);
    say_line(worker, round->work->command);
    say_line(worker, "EXEC");
}

static void end(redisContext *worker, struct round *round)
{
    for (int i = round->in_exec ? 4 : 1; i > 0; i--)
        round->outcome = outcome_of(worker);
}

/* Another client is served meanwhile, until the server is gone. */
static void count_on(redisContext *client, struct round *round)
{
    char outcome = 'y';

    while (outcome == 'y') {
        round->sent++;
        say_line(client, "INCR n");
        outcome = outcome_of(client);
        round->replied += outcome == 'y';
    }
}

static bool is_old(redisContext *client, const struct round *round)
{
    char *type = ask_string(client, "TYPE d"), old[32], *found;
    bool is_old;

    snprintf(old, sizeof(old), "old-%ld", round->number);
    is_old = strcmp(type, "string") == 0;
    if (is_old) {
        found = ask_string(client, "GET d");
        is_old = strcmp(found, old) == 0;
        free(found);
    }
    free(type);
    return is_old;
}

static void expect_whole_or_nothing(redisContext *client, const struct round *round)
{
    bool is_new = !is_old(client, round), is_marked;
    long long counted;
    char *value, *marker, number[32];

    if (is_new) {
        value = read_value(client, round->work, "d");
        assert_true(strcmp(value, wanted[round->work - works]) == 0);
        free(value);
    }
    assert_true(is_new || round->outcome != 'y');
    snprintf(number, sizeof(number), "%ld", round->number);
    marker = ask_string(client, "GET marker");
    is_marked = strcmp(marker, number) == 0;
    assert_int_equal(is_marked, is_new && round->in_exec);
    free(marker);
    marker = ask_string(client, "GET n");
    counted = atoll(marker);
    free(marker);
    assert_in_range(counted, round->replied, round->sent);
    expect(client, "12", "DBSIZE"); /* nothing else, as of a work that was not ended */
}

static void put_old(redisContext *client, const struct round *round)
{
    expect(client, "OK", "MSET d old-%ld n 0 marker none", round->number);
}

/* ---- kills */

static int64_t work_ms(redisContext *client, const struct work *work)
{
    int64_t since = unix_ms();

    say_line(client, work->command);
    expect_reply(client, "*");
    return unix_ms() - since;
}

static char live_and_die(struct server_process *server, struct dice *dice, long number)
{
    struct round round = {.work = &works[dice_roll(dice, WORKS)],
                          .number = number,
                          .in_exec = dice_once_in(dice, 3)};
    redisContext *client = client_open(server), *worker = client_open(server);
    unsigned most = (unsigned)work_ms(client, round.work) * 5 / 4 + 1;

    put_old(client, &round);
    sigkill_within(server, dice, most);
    begin(worker, &round);
    count_on(client, &round);
    end(worker, &round);
    sigkill_await(server);
    client_close(client);
    client_close(worker);
    sigkill_choose_sizes(server, dice);
    sigkill_recovery(server, dice);
    server_process_run(server);
    client = client_open(server);
    expect_whole_or_nothing(client, &round);
    char result = is_old(client, &round) ? 'o' : round.outcome;
    client_close(client);
    return result;
}

static void a_kill_leaves_a_long_work_whole_or_not_begun(void **state)
{
    long rounds = dice_setting("ROUNDS", 100), old = 0, replied = 0;
    struct server_process *server = NULL;
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    for (long i = 0; i < rounds; i++) {
        if (i % CHAIN == 0) {
            server_process_cleanup();
            server = server_process_start("");
            redisContext *client = client_open(server);
            fill_all(client);
            client_close(client);
        }
        char result = live_and_die(server, &dice, i);
        old += result == 'o';
        replied += result == 'y';
        if (i % CHAIN == CHAIN - 1) {
            server_process_kill(server);
            server_process_check(server);
        }
    }
    print_message("%ld rounds: %ld not done, %ld done and replied\n", rounds, old, replied);
}

/* ---- a sync that fails */

static void await(const struct server_process *server, char outcome)
{
    redisContext *client = client_open(server);

    do {
        say_line(client, "GET n");
    } while (outcome_of(client) != outcome);
    client_close(client);
}

/* A sync hangs, and the work goes on and ends; its reply waits for the sync, which then fails.
 * Returns whether it was so: on a busy machine it may have ended before. */
static bool fail_during(const struct work *work, long number)
{
    struct round round = {.work = work, .number = number, .in_exec = number % 2 == 1};
    struct server_process *server = server_process_new();

    faulty_disk_prepare(server, 0);
    server_process_run(server);
    redisContext *client = client_open(server), *worker = client_open(server);
    fill_all(client);
    put_old(client, &round);
    begin(worker, &round);
    expect(client, "PONG", "PING");
    faulty_disk_break(server, "fdatasync HOLD");
    sleep_ms(100);
    faulty_disk_break(server, "fdatasync EIO");
    end(worker, &round);
    count_on(client, &round);
    await(server, 'n');
    faulty_disk_repair(server);
    await(server, 'y');
    expect_whole_or_nothing(client_open(server), &round);
    client_cleanup();
    server_process_stop(server);
    server_process_check(server);
    server_process_run(server);
    expect_whole_or_nothing(client_open(server), &round);
    client_cleanup();
    server_process_cleanup();
    return round.outcome != 'y';
}

static void a_sync_that_fails_in_a_long_work_is_not_acknowledged(void **state)
{
    int failed = 0;

    (void)state;
    for (int i = 0; i < 2 * WORKS; i++)
        failed += fail_during(&works[i / 2], i);
    print_message("%d of %d failed before the reply\n", failed, 2 * WORKS);
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(a_kill_leaves_a_long_work_whole_or_not_begun),
        serving_test(a_sync_that_fails_in_a_long_work_is_not_acknowledged),
    };
    return cmocka_run_group_tests_name("sigkill of long works", tests, NULL, NULL);
}
