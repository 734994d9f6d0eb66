/* A checkpoint that takes for ever: growth waits in order, work goes on, and nothing is lost
 * when the checkpoint ends at last. */
#include "tests/support/client/raw_client.h"
#include "tests/support/faults/faulty_disk.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { FULL = 1000, MOST = 2000, PARKED = 10, BODY = 2000 };

static char body[BODY + 1];

/* With small memtables, so that few pushes fill them. */
static struct server_process *start(const char *memtable)
{
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_option(server, "memtable-size", memtable);
    server_process_run(server);
    memset(body, 'b', BODY);
    return server;
}

static const char *number(int value)
{
    static char text[16];
    snprintf(text, sizeof(text), "%d", value);
    return text;
}

static int64_t pressure(redisContext *client)
{
    return ask_info(client, "journal", "pressure");
}

static void await_info(redisContext *client, const char *name, int64_t least)
{
    for (int waited = 0; waited < 60000; waited++) {
        if (ask_info(client, "journal", name) >= least)
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "%s never reached %lld", name, (long long)least);
}

/* From now on the checkpoint that runs, or the next one, does not end. */
static void hold_checkpoint(const struct server_process *server, redisContext *client)
{
    faulty_disk_break(server, "datasync HOLD");
    expect(client, "*", "Q.PUSH filler %s", body);
    expect(client, "*", "BGSAVE");
    await_info(client, "checkpoint_running", 1);
}

/* Fills the memtable with jobs of a client that waits from then on. Returns the number of its
 * pushes; the replies to come are of these. */
static int fill(redisContext *client, redisContext *filler)
{
    int count = 64 * 1024 / BODY * 2;
    for (int i = 0; i < count; i++)
        say(filler, "Q.PUSH filler %s", body);
    await_info(client, "pressure", FULL);
    return count;
}

/* Clients that push a job each, one after the other. */
static void park(const struct server_process *server, redisContext *client,
                 redisContext **clients, int64_t before)
{
    for (int i = 0; i < PARKED; i++) {
        clients[i] = client_open(server);
        say(clients[i], "Q.PUSH parked %s ID %d", body, i);
        await_info(client, "throttled_clients", before + i + 1);
    }
}

static void expect_pushed(redisContext *filler, int count)
{
    for (int i = 0; i < count; i++)
        expect_reply(filler, "*");
}

static void work_goes_on_while_growth_is_parked(void **state)
{
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *filler = client_open(server), *parked[PARKED];
    for (int i = 0; i < 20; i++)
        expect(client, "*", "Q.PUSH work body ID %d", i);
    hold_checkpoint(server, client);
    int count = fill(client, filler);
    park(server, client, parked, 1);

    redisContext *transaction = client_open(server), *setter = client_open(server);
    expect(transaction, "OK", "MULTI");
    expect(transaction, "QUEUED", "SET key value");
    say(transaction, "EXEC");
    say(setter, "SET key other");
    say(setter, "PING"); /* in its own order */
    expect_silence(transaction, 20);
    expect_silence(setter, 20);
    for (int i = 0; i < PARKED; i++)
        expect_silence(parked[i], 1);

    expect(client, "PONG", "PING");
    for (int i = 0; i < 10; i++)
        expect(client, "1", "Q.ACK work %d %lld", i,
               (long long)claim(client, "work", number(i)));
    int64_t token = claim(client, "work", "10");
    expect(client, "*", "Q.ACK work 10 %lld THEN PUSH work next ID next", (long long)token);
    expect(client, "1", "Q.DEL work 19");
    expect(client, "nil", "GET key");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.DEL work 18");
    expect(client, "[1]", "EXEC");
    assert_in_range(pressure(client), FULL, MOST - 1);
    assert_int_equal(ask_info(client, "journal", "commit_stalls"), 0);

    faulty_disk_repair(server);
    expect_pushed(filler, count);
    for (int i = 0; i < PARKED; i++)
        expect_reply(parked[i], "*");
    expect_reply(transaction, "[OK]");
    expect_reply(setter, "OK");
    expect_reply(setter, "PONG");
    expect(client, "\"other\"", "GET key"); /* it came after the EXEC */
    for (int i = 0; i < PARKED; i++)
        claim(client, "parked", number(i));
    assert_int_equal(ask_info(client, "journal", "throttled_clients"), 0);
    assert_int_equal(ask_info(client, "journal", "commit_stalls"), 0);
    assert_int_equal(ask_integer(client, "Q.LEN filler"), count + 1);
}

/* What does not grow has an end, too, and reads have none. */
static void reads_go_on_when_the_reserve_is_used_up(void **state)
{
    enum { JOBS = 2000 };
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *filler = client_open(server),
                 *worker = client_open(server), *blocked = client_open(server);
    for (int i = 0; i < JOBS; i++)
        say(client, "Q.PUSH work body ID %d", i);
    expect_pushed(client, JOBS);
    hold_checkpoint(server, client);
    int count = fill(client, filler), claims = 0;
    say(blocked, "Q.CLAIM later BLOCK 0");
    await_blocked(client, 1);
    while (pressure(client) < MOST)
        claim(client, "work", number(claims++));
    assert_true(claims > 50);
    say(worker, "Q.CLAIM work");
    await_info(client, "throttled_clients", 2);
    expect_silence(worker, 20);
    expect(client, "PONG", "PING");
    expect(client, "2000", "Q.LEN work");
    faulty_disk_repair(server);
    expect_reply(worker, "*");
    expect_pushed(filler, count);
    expect(client, "*", "Q.PUSH later body ID b");
    expect_reply(blocked, "*");
}

/* The others do not lose their turn; what was sent runs, as it does in Redis. */
static void a_client_that_goes_away_while_parked_stops_nobody(void **state)
{
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *filler = client_open(server), *parked[PARKED];
    hold_checkpoint(server, client);
    int count = fill(client, filler);
    park(server, client, parked, 1);
    for (int i = 0; i < PARKED; i += 2)
        client_close(parked[i]);
    faulty_disk_repair(server);
    for (int i = 1; i < PARKED; i += 2)
        expect_reply(parked[i], "*");
    expect_pushed(filler, count);
    expect(client, "PONG", "PING");
}

static void a_stop_does_not_wait_for_those_who_are_parked(void **state)
{
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *filler = client_open(server), *parked[PARKED];
    hold_checkpoint(server, client);
    fill(client, filler);
    park(server, client, parked, 1);
    int64_t accepted = ask_integer(client, "Q.LEN filler");
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    for (int i = 0; i < PARKED; i++)
        expect_closed(parked[i]);
    faulty_disk_repair(server);
    assert_int_equal(server_process_wait(server), 0);
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_integer(client, "Q.LEN filler"), accepted);
    assert_int_equal(ask_integer(client, "Q.LEN parked"), 0);
}

/* They are refused or accepted, and what was accepted is there. */
static void a_disk_that_fills_meanwhile_answers_them_all(void **state)
{
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *filler = client_open(server), *parked[PARKED];
    hold_checkpoint(server, client);
    int count = fill(client, filler);
    park(server, client, parked, 1);
    faulty_disk_break(server, "grow ENOSPC\ndatasync HOLD");
    sleep_ms(300); /* the room is looked at five times a second */
    expect(client, "PONG", "PING");
    faulty_disk_break(server, "grow ENOSPC");
    for (int i = 0; i < count; i++)
        expect_reply(filler, "*");
    for (int i = 0; i < PARKED; i++) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(parked[i], (void **)&reply), REDIS_OK);
        bool accepted = reply->type != REDIS_REPLY_ERROR;
        if (!accepted)
            assert_int_equal(strncmp(reply->str, "FULL ", 5), 0);
        freeReplyObject(reply);
        expect(client, accepted ? "*" : "nil", "Q.GET parked %d", i);
    }
    faulty_disk_repair(server);
}

/* Larger than a memtable and its reserve, while others keep the checkpoints busy. */
static void a_large_body_gets_through(void **state)
{
    enum { LARGE = 8 << 20, MANY = 700 };
    (void)state;
    struct server_process *server = start("1mb");
    redisContext *client = client_open(server), *filler = client_open(server),
                 *sender = client_open(server);
    char *large = calloc(1, LARGE);
    assert_non_null(large);
    hold_checkpoint(server, client);
    for (int i = 0; i < MANY; i++)
        say(filler, "Q.PUSH filler %s", body);
    say(sender, "Q.PUSH large %b ID large", large, (size_t)LARGE);
    faulty_disk_repair(server);
    for (int i = 0; i < 4 * MANY; i++) { /* a memtable full, again and again */
        expect_reply(filler, "*");
        say(filler, "Q.PUSH filler %s", body);
    }
    expect_reply(sender, "*");
    expect_pushed(filler, MANY);
    expect(client, "1", "Q.LEN large");
    assert_int_equal(ask_info(client, "journal", "commit_stalls"), 0);
    free(large);
}

enum { NAMES = 2000, PATTERNS = 5000 };

/* The user u, whose last pattern allows k*. */
static void set_user(redisContext *client)
{
    static char space[PATTERNS][16];
    const char *words[PATTERNS + 7] = {"ACL", "SETUSER", "u", "on", "nopass", "+@all"};

    for (int i = 0; i < PATTERNS; i++) {
        snprintf(space[i], sizeof(space[i]), "~p%d*", i);
        words[i + 6] = space[i];
    }
    words[PATTERNS + 6] = "~k*";
    redisAppendCommandArgv(client, PATTERNS + 7, words, NULL);
    expect_reply(client, "OK");
}

/* An MSET that is refused for its last key. */
static void say_forbidden(redisContext *client)
{
    const char *words[1 + 2 * NAMES] = {"MSET"};

    for (int i = 1; i < 1 + 2 * NAMES; i++)
        words[i] = "k";
    words[2 * NAMES - 1] = "other";
    redisAppendCommandArgv(client, 1 + 2 * NAMES, words, NULL);
}

/* Its rights take many turns. None of them adds to the pause of those that grow, which would be
 * some seconds here, and for which its own next turn would wait as well. */
static void a_check_in_slices_is_not_counted_as_growth(void **state)
{
    enum { HALF_AND_MORE = 48 * 1024 };
    (void)state;
    struct server_process *server = start("64kb");
    redisContext *client = client_open(server), *user = client_open(server);
    char *large = calloc(1, HALF_AND_MORE);
    assert_non_null(large);
    set_user(client);
    expect(user, "OK", "AUTH u x");
    hold_checkpoint(server, client);
    expect(client, "*", "Q.PUSH filler %b", large, (size_t)HALF_AND_MORE);
    assert_in_range(pressure(client), FULL / 4, FULL - 1);
    say_forbidden(user);
    expect_reply(user, "!NOPERM *keys*");
    assert_int_equal(ask_info(client, "journal", "throttled_requests"), 0);
    say(user, "SET k v");
    await_info(client, "throttled_clients", 1); /* the refusal was one request */
    faulty_disk_repair(server);
    expect_reply(user, "OK");
    free(large);
}

static void await_log(const struct server_process *server, const char *words)
{
    for (;;) {
        char *log = server_process_log(server);
        bool found = strstr(log, words) != NULL;
        free(log);
        if (found)
            return;
        sleep_ms(1);
    }
}

/* An upgrade waits for its checkpoint, and a signal to stop comes. */
static void a_sigterm_meanwhile_ends_an_upgrade(void **state)
{
    (void)state;
    if (getenv("DUEQ_SANDBOX")) /* it can start no program */
        return;
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_option(server, "shutdown-timeout", "3600");
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH work body");
    faulty_disk_break(server, "datasync HOLD");
    assert_int_equal(kill(server->pid, SIGUSR2), 0);
    await_log(server, "takes the place of this program");
    redisContext *queued = client_open(server); /* in the backlog */
    say(queued, "INFO server");
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    expect_reply(queued, "*");
    faulty_disk_repair(server);
    assert_int_equal(server_process_wait(server), 0);
    char *log = server_process_log(server);
    assert_null(strstr(strstr(log, "starting, pid") + 1, "starting, pid"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(work_goes_on_while_growth_is_parked),
        serving_test(reads_go_on_when_the_reserve_is_used_up),
        serving_test(a_client_that_goes_away_while_parked_stops_nobody),
        serving_test(a_stop_does_not_wait_for_those_who_are_parked),
        serving_test(a_disk_that_fills_meanwhile_answers_them_all),
        serving_test(a_large_body_gets_through),
        serving_test(a_check_in_slices_is_not_counted_as_growth),
        serving_test(a_sigterm_meanwhile_ends_an_upgrade),
    };
    return cmocka_run_group_tests_name("held checkpoint", tests, NULL, NULL);
}
