/* A full disk and the commands on jobs: what would grow is refused with FULL and changes
 * nothing, what drains goes on, and the end of it is an empty store with room. What the server
 * shows is compared as a whole, before and after, and after a kill. */
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/faults/full_disk.h"
#include "tests/support/client/reply_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

/* ---- all that is known of the topics but their ages */

static const char *const topics[] = {"t", "u", "dying", "new", "kept"};
enum { TOPICS = sizeof(topics) / sizeof(*topics) };

/* A field that time changes without any command, or that is of one run of the server. */
static bool is_passing(const char *name)
{
    static const char *const names[] = {
        "oldest-ready-age", "next-due",       "due", "wait", "run",
        "lateness",         "measured-since", NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void write_fields(FILE *out, const redisReply *reply)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        char *text = reply_text(reply->element[i + 1]);
        if (!is_passing(reply->element[i]->str))
            fprintf(out, "%s=%s ", reply->element[i]->str, text);
        free(text);
    }
    fprintf(out, "\n");
}

static void write_asked(FILE *out, redisContext *client, const char *topic, const char *id)
{
    redisReply *reply =
        id ? ask(client, "Q.GET %s %s", topic, id) : ask(client, "Q.STATS %s", topic);
    write_fields(out, reply);
    freeReplyObject(reply);
}

static void write_topic(FILE *out, redisContext *client, const char *topic)
{
    redisReply *scan = ask(client, "Q.SCAN %s 0 COUNT 1000", topic);
    const redisReply *jobs = scan->element[1];
    assert_string_equal(scan->element[0]->str, "0");
    fprintf(out, "%s: ", topic);
    write_asked(out, client, topic, NULL);
    for (size_t i = 0; i < jobs->elements; i++)
        write_asked(out, client, topic, reply_field(jobs->element[i], "id")->str);
    freeReplyObject(scan);
}

/* The caller frees it. */
static char *state_of(redisContext *client)
{
    char *text = NULL, *names = ask_text(client, "Q.TOPICS"),
         *settings = ask_text(client, "Q.CONFIG LIST"),
         *values = ask_text(client, "Q.CONFIG GET t"), *crons = ask_text(client, "Q.CRON LIST");
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "%s\n%s\n%s\n%s\n", names, settings, values, crons);
    for (int i = 0; i < TOPICS; i++)
        write_topic(out, client, topics[i]);
    fclose(out);
    free(names);
    free(settings);
    free(values);
    free(crons);
    return text;
}

static void expect_state(redisContext *client, const char *expected, const char *after)
{
    char *now = state_of(client);
    if (strcmp(now, expected) != 0)
        fail_at(__FILE__, __LINE__, "%s has changed\n%s\n---- to\n%s", after, expected, now);
    free(now);
}

/* ---- what is there before the disk is full */

static const char *const before[] = {
    "Q.CONFIG SET t retries 7",
    "Q.CONFIG SET dying dead-topic u",
    "Q.CONFIG SET kept keep 1h",
    "Q.MPUSH t EACH 5 a  10 one b  20 two c  30 three d  40 four e  50 five",
    "Q.MPUSH t EACH 4 f  60 six g  70 seven h  80 eight i  90 nine",
    "Q.MPUSH t EACH 4 later 1h  x later2 1h  x later3 1h  x later4 1h  x",
    "Q.MPUSH u EACH 3 p   x q   x later4   y",
    "Q.MPUSH dying EACH 2 m   x n   x",
    "Q.MPUSH kept EACH 1 k   x",
    "Q.CLAIM t COUNT 3 LEASE 1h", /* a, b, c: tokens 1, 2, 3 */
    "Q.NACK t c 3 FATAL ERROR why",
    "Q.CLAIM kept LEASE 1h",
    "Q.CLAIM dying COUNT 2 LEASE 1h",
    "Q.CRON SET cron t x EVERY 1000h"};

/* A command with the words of a line; two spaces are an empty word. */
static redisReply *run(redisContext *client, const char *line)
{
    const char *words[64];
    char *copy = strdup(line), *rest = copy, *word;
    int count = 0;
    while ((word = strsep(&rest, " ")) != NULL && count < 64)
        words[count++] = word;
    redisReply *reply = redisCommandArgv(client, count, words, NULL);
    if (!reply)
        fail_at(__FILE__, __LINE__, "%s: %s", line, client->errstr);
    free(copy);
    return reply;
}

static void expect_line(redisContext *client, const char *pattern, const char *line)
{
    redisReply *reply = run(client, line);
    char *text = reply_text(reply);
    if (!reply_text_matches(pattern, text))
        fail_at(__FILE__, __LINE__, "%s: expected %s\n     got %.2000s", line, pattern, text);
    free(text);
    freeReplyObject(reply);
}

/* ---- on a full disk */

static const char *const growing[] = {
    "Q.PUSH t x",
    "Q.PUSH new x",
    "Q.PUSH t x ID later ONDUP REPLACE",
    "Q.PUSH t x ID later ONDUP DEBOUNCE",
    "Q.PUSH t x ID a ONDUP REPLACE",
    "Q.PUSH t x ID c IGNOREDEAD",
    "Q.MPUSH t 3 x y z",
    "Q.MPUSH new EACH 2 one   x two   y",
    "Q.ACK t a 1 RESULT 42 KEEP 1h",
    "Q.ACK t a 1 KEEP 1h",
    "Q.ACK t a 1 THEN PUSH u x THEN PUSH t y ID a",
    "Q.ACK t a 1 RESULT 42 THEN PUSH new x",
    "Q.PUSH t x AFTER d u:p",
    "Q.MPUSH new 2 x y ON-DEAD WAIT AFTER t:d",
    "Q.ACK t a 1 THEN PUSH new x ID n AFTER t:d THEN PUSH t x AFTER new:n",
    "Q.MOVE t d u",
    "Q.MOVE t d new",
    "Q.UPDATE t d BODY longer",
    "Q.UPDATE t d PRIORITY 3",
    "Q.UPDATE t a RETRIES 3",
    "Q.DEAD t REDRIVE",
    "Q.DEAD t REDRIVE TO u",
    "Q.DEAD t REDRIVE TO new",
    "Q.CONFIG SET t retries 8",
    "Q.CONFIG SET new retries 8",
    "Q.PAUSE new",
    "Q.CRON SET cron t longer EVERY 1000h",
    "Q.CRON SET other new x EVERY 1000h",
    "Q.CRON RUN cron"};

static void growth_changes_nothing(redisContext *client, const char *state)
{
    for (size_t i = 0; i < sizeof(growing) / sizeof(*growing); i++) {
        expect_line(client, "!FULL *", growing[i]);
        expect_state(client, state, growing[i]);
    }
    expect(client, "OK", "MULTI");
    expect_line(client, "QUEUED", "Q.ACK t a 1");
    expect_line(client, "!FULL *", "Q.PUSH t x");
    expect_line(client, "!EXECABORT *", "EXEC");
    expect_state(client, state, "EXEC");
}

static const char *const draining[][2] = {
    {"1", "Q.ACK t a 1"},
    {"[[\"d\" 4 *] [\"e\" 5 *]]", "Q.CLAIM t COUNT 2 LEASE 1h ACK b 2"},
    {"*", "Q.EXTEND t d 4 2h PROGRESS half"},
    {"\"delayed\"", "Q.NACK t d 4 DELAY 1h ERROR error PROGRESS more"},
    {"\"claimed\"", "Q.CANCEL t e"},
    {"!CANCELLED *", "Q.ACK t e 5"},
    {"[[\"f\" \"six\"]]", "Q.POP t"},
    {"*", "Q.RESCHEDULE t g DELAY 2h"},
    {"3", "Q.RUN t later g later2 nothing"},
    {"\"cancelled\"", "Q.CANCEL t h"},
    {"OK", "Q.PAUSE t OUT"},
    {"[]", "Q.CLAIM t"},
    {"OK", "Q.RESUME t"},
    {"1", "Q.ACK kept k 1"},
    {"1", "Q.CRON PAUSE cron"},
    {"1", "Q.CRON RESUME cron"},
    {"1", "Q.CRON DEL cron"},
    {"\"dead\"", "Q.NACK dying m 1 FATAL ERROR why"}, /* no room in u: it stays */
    {"1", "Q.LEN dying dead"},
    {"1", "Q.DEAD t PURGE"},
    {"1", "Q.DEL t i"},
    {"1", "Q.PURGE t STATE delayed MATCH later3"},
    {"[1 [[*]] 1]", ""},
    {"OK", "Q.CONFIG RESET t"},
    {"1", "Q.PURGE kept STATE done"},
    {"1", "Q.DROP u"},
    {"1", "Q.DROP dying"}};

static void what_drains_goes_on(redisContext *client)
{
    for (size_t i = 0; i < sizeof(draining) / sizeof(*draining); i++) {
        const char *line = draining[i][1];
        if (line[0] == '\0') {
            expect(client, "OK", "MULTI");
            expect_line(client, "QUEUED", "Q.DEL t later4");
            expect_line(client, "QUEUED", "Q.POP t");
            expect_line(client, "QUEUED", "Q.PURGE t STATE delayed");
            line = "EXEC";
        }
        expect_line(client, draining[i][0], line);
    }
}

static redisContext *again(struct server_process *server)
{
    server_process_kill(server);
    client_cleanup();
    server_process_run(server);
    return client_open(server);
}

static redisContext *prepare(struct server_process *server)
{
    redisContext *client = client_open(server);
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
        expect_line(client, i == 10 ? "\"dead\"" : "*", before[i]);
    return client;
}

/* Room comes back while checkpoints end: what is merged takes less than what was counted for
 * it. A full store makes one by itself a second later, so none is left for it to make. */
static void fill(redisContext *client)
{
    int first = (int)ask_integer(client, "Q.LEN mail"), quiet = 0;
    while (quiet < 3) {
        int pushed = push_until_full(client, first);
        first += pushed;
        quiet = pushed > 0 ? 0 : quiet + 1;
        freeReplyObject(run(client, "SAVE")); /* FULL on a full disk */
        sleep_ms(250); /* longer than the server goes without a look at the disk */
    }
}

static void use_full(struct server_process *server, redisContext *client)
{
    fill(client);
    char *state = state_of(client);
    growth_changes_nothing(client, state);
    client = again(server);
    expect_state(client, state, "a kill");
    free(state);
    fill(client);
    what_drains_goes_on(client);
    state = state_of(client);
    client = again(server);
    expect_state(client, state, "a kill");
    free(state);
    expect(client, "1", "Q.DROP mail");
    faulty_disk_repair(server);
    await_room(client);
    expect_line(client, "*", "Q.ACK t a 1 THEN PUSH u x");
}

static void commands_on_jobs_on_a_full_disk(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_run(server);
    redisContext *client = prepare(server);
    await_spare(server);
    faulty_disk_break(server, "grow ENOSPC");
    use_full(server, client);
}

static void commands_on_jobs_in_a_full_map(void **state)
{
    (void)state;
    struct server_process *server =
        server_process_start("map-size 16mb, memtable-size 1mb, journal-size 4mb");
    use_full(server, prepare(server));
}

/* ---- the end of a job that many wait for */

enum { WAITERS = 30000 };

static void push_waiters(redisContext *client)
{
    static const char *const words[] = {"FAIL", "RUN", "WAIT"};
    expect(client, "\"first\"", "Q.PUSH w x ID first");
    for (int i = 0; i < WAITERS; i++)
        say(client, "Q.PUSH w x ID %d ON-DEAD %s AFTER first", i, words[i % 3]);
    for (int i = 0; i < WAITERS; i++)
        expect_reply(client, "*");
    expect(client, "[[\"first\" 1 \"x\" 1]]", "Q.CLAIM w LEASE 1h");
}

/* What the end has not reached waits for room, through a kill, and none is lost. */
static void end_in_a_full_map(const char *end, const char *reply, int ready, int dead)
{
    struct server_process *server =
        server_process_start("map-size 32mb, memtable-size 1mb, journal-size 4mb");
    redisContext *client = client_open(server);
    push_waiters(client);
    fill(client);
    expect_line(client, reply, end);
    sleep_ms(300);
    client = again(server);
    assert_in_range(ask_integer(client, "Q.LEN w"), WAITERS, WAITERS + 1);
    expect(client, "1", "Q.DROP mail");
    await_room(client);
    for (int tries = 0; tries < 1000 && (ask_integer(client, "Q.LEN w ready") < ready ||
                                         ask_integer(client, "Q.LEN w dead") < dead);
         tries++)
        sleep_ms(10);
    assert_int_equal(ask_integer(client, "Q.LEN w ready"), ready);
    assert_int_equal(ask_integer(client, "Q.LEN w dead"), dead);
    client_close(client);
    server_process_stop(server);
    server_process_check(server);
    server_process_cleanup();
}

static void an_end_in_a_full_map_is_told_to_all(void **state)
{
    (void)state;
    end_in_a_full_map("Q.ACK w first 1", "1", WAITERS, 0);
    end_in_a_full_map("Q.NACK w first 1 FATAL", "\"dead\"", WAITERS / 3, WAITERS / 3 + 1);
}

/* ---- small jobs, which grow most when they are worked on */

enum { SMALL = 200 };

static bool push_small(redisContext *client, bool pushes)
{
    bool all = true;
    for (int i = 0; i < SMALL; i++)
        redisAppendCommand(client, pushes ? "Q.PUSH mail x" : "Q.POP mail");
    for (int i = 0; i < SMALL; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(client, (void **)&reply) != REDIS_OK)
            fail_at(__FILE__, __LINE__, "no reply: %s", client->errstr);
        all &= reply->type != REDIS_REPLY_ERROR;
        if (!pushes)
            assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
    }
    return all;
}

/* Until no job is ready, or a claim finds no room. Returns how many were claimed. */
static size_t claim_and_nack_all(redisContext *client)
{
    static char why[1000];
    size_t claimed = 0;
    memset(why, 'w', sizeof(why));
    for (;;) {
        redisReply *reply = run(client, "Q.CLAIM mail COUNT 20 LEASE 1h");
        size_t count = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0;
        if (reply->type == REDIS_REPLY_ERROR)
            assert_true(strncmp(reply->str, "FULL ", 5) == 0);
        for (size_t i = 0; i < count; i++)
            expect(client, "\"delayed\"", "Q.NACK mail %s %lld DELAY 1h ERROR %b",
                   reply->element[i]->element[0]->str, reply->element[i]->element[1]->integer,
                   why, sizeof(why));
        freeReplyObject(reply);
        claimed += count;
        if (count == 0)
            return claimed;
    }
}

/* Errors of workers use up what is set aside, and still all of it can be removed. */
static void small_jobs_that_fail_on_a_full_store_can_be_removed(void **state)
{
    (void)state;
    struct server_process *server =
        server_process_start("map-size 8mb, memtable-size 256kb, journal-size 2mb");
    redisContext *client = client_open(server);
    while (push_small(client, true))
        continue;
    assert_true(claim_and_nack_all(client) > 500);
    expect(client, "!FULL *", "Q.CLAIM mail");
    push_small(client, false);
    client = again(server);
    assert_true(ask_integer(client, "Q.PURGE mail") > 1000);
    await_room(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(commands_on_jobs_on_a_full_disk),
        serving_test(commands_on_jobs_in_a_full_map),
        serving_test(an_end_in_a_full_map_is_told_to_all),
        serving_test(small_jobs_that_fail_on_a_full_store_can_be_removed),
    };
    return cmocka_run_group_tests_name("full disk: jobs", tests, NULL, NULL);
}
