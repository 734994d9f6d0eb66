/* server/commands/wide: commands with many arguments take several slices, are one record, and
 * answer what they would answer in one step. */
#include "server/commands/wide.h"
#include "server/containers/spent.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 5000, WORD = 24 };

/* "COMMAND", the first words, and then for each number from 0 on the words of a pattern. */
struct many {
    struct argument *words;
    size_t count;
    char *bytes;
};

/* '#' in the text stands for the number. */
static void add_word(struct many *many, const char *text, int number)
{
    char *place = many->bytes + many->count * WORD;
    const char *mark = strchr(text, '#');

    if (mark == NULL)
        snprintf(place, WORD, "%s", text);
    else
        snprintf(place, WORD, "%.*s%d", (int)(mark - text), text, number);
    many->words[many->count++] = (struct argument){place, strlen(place)};
}

static void add_words(struct many *many, const char *line, int number)
{
    char copy[64], *rest = copy, *word;

    snprintf(copy, sizeof(copy), "%s", line);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        add_word(many, word, number);
}

static struct many make_many(const char *first, const char *each, int count)
{
    struct many many = {calloc(3 * (size_t)count + 8, sizeof(struct argument)), 0,
                        calloc(3 * (size_t)count + 8, WORD)};

    add_words(&many, first, 0);
    for (int i = 0; i < count; i++)
        add_words(&many, each, i);
    return many;
}

static void free_many(struct many *many)
{
    free(many->words);
    free(many->bytes);
}

/* Returns in how many slices it was done. */
static unsigned run_many(struct command_runner *runner, const char *first, const char *each,
                         int count)
{
    struct many many = make_many(first, each, count);
    struct request request = {many.count, many.words, many.count * 8};
    unsigned slices = 0;

    runner->by_slices = true;
    connection_run(runner->clients[0], &request, NULL, false);
    free_many(&many); /* as the reader does */
    waiters_serve(&runner->server);
    while (runner_slice(runner))
        slices++;
    return slices;
}

static void reply_is(struct command_runner *runner, const char *bytes)
{
    struct buffer *output = &runner->clients[0]->output;

    assert_int_equal(strlen(bytes), buffer_size(output));
    assert_memory_equal(bytes, buffer_content(output), strlen(bytes));
    buffer_clear(output);
}

/* An array of `elements`, which are the text so many times. */
static void array_is(struct command_runner *runner, int elements, const char *each, int count)
{
    size_t size = strlen(each), head;
    char *bytes = malloc(size * (size_t)count + 32);

    head = (size_t)snprintf(bytes, 32, "*%d\r\n", elements);
    for (int i = 0; i < count; i++)
        memcpy(bytes + head + (size_t)i * size, each, size + 1);
    reply_is(runner, bytes);
    free(bytes);
}

/* An array of so many replies. */
static void replies_are(struct command_runner *runner, const char *each, int count)
{
    array_is(runner, count, each, count);
}

static void pairs_are(struct command_runner *runner, const char *each, int count)
{
    array_is(runner, 2 * count, each, count);
}

struct wide_case {
    const char *first, *each, *reply, *each_reply;
    int words; /* of `each` */
};

/* In this order: what one writes the next ones read. */
static const struct wide_case cases[] = {
    {"MSET", "k# v", "+OK\r\n", NULL, 2},        {"MSETNX", "k# w", ":0\r\n", NULL, 0},
    {"EXISTS", "k#", ":5000\r\n", NULL, 1},      {"TOUCH", "k#", ":5000\r\n", NULL, 1},
    {"MGET", "k#", NULL, "$1\r\nv\r\n", 1},      {"DEL", "k#", ":5000\r\n", NULL, 1},
    {"MSETNX", "k# w", ":1\r\n", NULL, 2},       {"UNLINK", "k#", ":5000\r\n", NULL, 1},
    {"SADD s", "m#", ":5000\r\n", NULL, 1},      {"SADD s", "m#", ":0\r\n", NULL, 1},
    {"SMISMEMBER s", "m#", NULL, ":1\r\n", 1},   {"SREM s", "m#", ":5000\r\n", NULL, 1},
    {"HSET h", "f# v", ":5000\r\n", NULL, 2},    {"HMSET h", "f# w", "+OK\r\n", NULL, 2},
    {"HMGET h", "f#", NULL, "$1\r\nw\r\n", 1},   {"HDEL h", "f#", ":5000\r\n", NULL, 1},
    {"ZADD z", "1 m#", ":5000\r\n", NULL, 2},    {"ZADD z XX CH", "2 m#", ":5000\r\n", NULL, 2},
    {"ZADD z NX CH", "3 m#", ":0\r\n", NULL, 2}, {"ZMSCORE z", "m#", NULL, "$1\r\n2\r\n", 1},
    {"ZREM z", "m#", ":5000\r\n", NULL, 1},      {"LPUSHX l", "e#", ":0\r\n", NULL, 0},
    {"RPUSH l", "e#", ":5000\r\n", NULL, 1},     {"LPUSH l", "e#", ":10000\r\n", NULL, 1},
    {"RPUSHX l", "e#", ":15000\r\n", NULL, 1},
};

static void each_takes_slices_and_is_one_record(void **state)
{
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct wide_case *wide = &cases[i];
        uint64_t before = dueq_written_lsn(runner->server.store);
        unsigned slices = run_many(runner, wide->first, wide->each, MANY);

        if (slices != (unsigned)(wide->words * MANY / ALONE_STEPS))
            fail_msg("%s took %u slices", wide->first, slices);
        if (wide->reply != NULL)
            reply_is(runner, wide->reply);
        else
            replies_are(runner, wide->each_reply, MANY);
        runner_commit(runner);
        assert_in_range(dueq_written_lsn(runner->server.store), before, before + 1);
        assert_false(alone_runs(&runner->server));
    }
    runner_expect(runner, "1", "DBSIZE");
    runner_expect(runner, "\"e4999\"", "LINDEX l 0");
    runner_expect(runner, "\"e4999\"", "LINDEX l -1");
}

static void few_arguments_are_one_step(void **state)
{
    struct command_runner *runner = *state;

    assert_int_equal(0, run_many(runner, "MSET", "k# v", ALONE_AFTER / 2));
    reply_is(runner, "+OK\r\n");
    assert_int_equal(0, run_many(runner, "DEL", "k#", ALONE_AFTER));
    reply_is(runner, ":2000\r\n");
}

enum { FEW = 320, LOOK_AFTER = 8 };

/* Arguments, or commands of an EXEC, may cost more than their number says. */
static void in_a_long_turn_few_are_taken(void **state)
{
    struct command_runner *runner = *state;
    unsigned slices;

    turn_watch_begin(&runner->server.turn, 1, 1);
    slices = run_many(runner, "MSET", "k# v", FEW);
    turn_watch_end(&runner->server.turn, 2);
    assert_int_equal(slices, FEW / LOOK_AFTER - 1);
    reply_is(runner, "+OK\r\n");
    runner_expect(runner, "OK", "MULTI");
    for (int i = 0; i < FEW; i++)
        runner_expect(runner, "QUEUED", "INCR n");
    turn_watch_begin(&runner->server.turn, 1, 1);
    runner_run(runner, runner->clients[0], "EXEC");
    assert_int_equal(runner_finish(runner, UINT64_MAX), FEW / LOOK_AFTER - 1);
    turn_watch_end(&runner->server.turn, 2);
    buffer_clear(&runner->clients[0]->output);
    runner_expect(runner, "\"320\"", "GET n");
    runner_expect(runner, "321", "DBSIZE");
}

static void errors_come_as_in_one_step(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "SET s v");
    run_many(runner, "SADD s", "m#", MANY);
    reply_is(runner, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    run_many(runner, "HMGET s", "m#", MANY);
    reply_is(runner, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    assert_int_equal(0, run_many(runner, "ZADD z", "m# 1", MANY));
    reply_is(runner, "-ERR value is not a valid float\r\n");
    assert_int_equal(0, run_many(runner, "MSET odd", "k# v", MANY));
    reply_is(runner, "-ERR wrong number of arguments for 'mset' command\r\n");
    assert_false(alone_runs(&runner->server));
    runner_expect(runner, "1", "DBSIZE");
}

static void the_rest_is_done_when_the_client_goes(void **state)
{
    struct command_runner *runner = *state;
    struct many many = make_many("MSET", "k# v", MANY);
    struct request request = {many.count, many.words, many.count * 8};

    runner->by_slices = true;
    connection_run(runner->clients[0], &request, NULL, false);
    free_many(&many);
    assert_true(runner_slice(runner));
    assert_true(alone_runs(&runner->server));
    waiters_cancel(&runner->server, &runner->clients[0]->session);
    assert_false(alone_runs(&runner->server));
    buffer_clear(&runner->clients[0]->output);
    runner_commit(runner);
    alone_settled(&runner->server);
    runner_expect(runner, "5000", "DBSIZE");
}

static void in_a_transaction_its_slices_are_slices_of_that(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    assert_int_equal(0, run_many(runner, "MSET", "k# v", MANY));
    reply_is(runner, "+QUEUED\r\n");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 2 * (MANY - ALONE_AFTER) / ALONE_STEPS,
                    2 * MANY / ALONE_STEPS);
    runner_expect_reply(runner->clients[0], "[OK]");
    runner_expect(runner, "5000", "DBSIZE");
}

static struct connection *begin_of(struct command_runner *runner, const char *first)
{
    struct connection *client = runner_connect(runner);
    struct many many = make_many(first, "k#", 2 * MANY);
    struct request request = {many.count, many.words, many.count * 8};

    runner->by_slices = true;
    connection_run(client, &request, NULL, false);
    free_many(&many);
    assert_true(runner_slice(runner));
    assert_non_null(client->session.waiter);
    return client;
}

/* What changes no key lets others read and write between its slices. */
static void exec_replies(struct command_runner *runner, struct connection *client,
                         const char *pattern, int slices)
{
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_run(runner, client, "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), slices, 2 * MANY / ALONE_STEPS + 1);
    runner_expect_reply(client, pattern);
}

static void others_go_on_between_the_slices_of_a_watch(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_of(runner, "WATCH");

    assert_false(alone_runs(&runner->server));
    runner_expect(runner, "OK", "SET k9999 v"); /* not watched yet */
    assert_in_range(runner_finish(runner, UINT64_MAX), 7 * MANY / LONG_STEPS,
                    8 * MANY / LONG_STEPS); /* a watch is four steps */
    runner_expect_reply(client, "OK");
    exec_replies(runner, client, "[]", MANY / ALONE_STEPS);
    client = begin_of(runner, "WATCH");
    runner_expect(runner, "OK", "SET k0 v"); /* watched already */
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "OK");
    exec_replies(runner, client, "nil", 1);
}

static struct connection *watch_and_queue(struct command_runner *runner)
{
    struct connection *client = begin_of(runner, "WATCH");

    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "OK");
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "QUEUED", "SET other v");
    return client;
}

/* Who leaves in the middle has executed nothing. */
static void many_watches_are_checked_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "OK", "SET k3 v PX 100");
    client = watch_and_queue(runner);
    runner_pass(runner, 200);
    runner_run(runner, client, "EXEC");
    assert_true(alone_runs(&runner->server));
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "nil");
    runner_expect(runner, "0", "EXISTS other");
    client = watch_and_queue(runner);
    runner_run(runner, client, "EXEC");
    runner_slice(runner);
    session_leave(&runner->server, &client->session);
    assert_false(alone_runs(&runner->server));
    runner_expect(runner, "0", "EXISTS other");
}

static void who_leaves_in_a_watch_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_of(runner, "WATCH");

    session_leave(&runner->server, &client->session);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    runner_expect(runner, "OK", "SET k0 v");
    buffer_clear(&client->output);
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "[]", "EXEC");
}

/* Many watches are dropped at once, and freed later: what is changed then breaks nobody's. */
static void many_watches_are_freed_bit_by_bit(void **state)
{
    struct command_runner *runner = *state;
    struct watches *watches = runner->server.watches;
    struct connection *client = begin_of(runner, "WATCH");
    unsigned turns = 0;

    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "OK");
    runner_expect_of(runner, client, "OK", "UNWATCH");
    assert_true(watches_have_dropped(watches));
    runner_expect_of(runner, client, "OK", "WATCH k1 k9999");
    runner_expect(runner, "OK", "MSET k2 v k9998 v");
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "[]", "EXEC");
    runner_expect_of(runner, client, "OK", "WATCH k1");
    for (; watches_have_dropped(watches); turns++)
        watches_free_some(watches);
    assert_in_range(turns, 5, 10);
    runner_expect(runner, "OK", "SET k1 v");
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "nil", "EXEC");
    begin_of(runner, "WATCH"); /* dropped with the server */
}

/* Messages that come meanwhile come after the confirmations. */
static void channels_are_subscribed_to_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_of(runner, "SUBSCRIBE");
    const char *last = "*3\r\n$7\r\nmessage\r\n$2\r\nk0\r\n$1\r\nm\r\n";
    size_t size;

    runner_expect(runner, "1", "PUBLISH k0 m");
    runner_expect(runner, "0", "PUBLISH k9999 m");
    runner_finish(runner, UINT64_MAX);
    size = buffer_size(&client->output);
    assert_in_range(size, 10000 * strlen("*3$9subscribe$2k0:1"), SIZE_MAX);
    assert_memory_equal(buffer_content(&client->output) + size - strlen(last), last,
                        strlen(last));
    buffer_clear(&client->output);
    runner_expect(runner, "1", "PUBLISH k9999 m");
    buffer_clear(&client->output);
    session_leave(&runner->server, &client->session);
    runner_expect(runner, "0", "PUBLISH k0 m");
}

/* BLPOP k0 ... k9999 0, or another command with words before and after as many names. */
static void begin_each(struct command_runner *runner, struct connection *client,
                       const char *first, const char *each, const char *last)
{
    struct many many = make_many(first, each, 2 * MANY);
    struct request request;

    add_words(&many, last, 0);
    request = (struct request){many.count, many.words, many.count * 8};
    runner->by_slices = true;
    connection_run(client, &request, NULL, false);
    free_many(&many);
}

static void begin_many(struct command_runner *runner, struct connection *client,
                       const char *first, const char *last)
{
    begin_each(runner, client, first, "k#", last);
}

static void what_is_known_of_commands_comes_in_slices(void **state)
{
    struct command_runner *runner = *state;
    char *docs;

    assert_in_range(run_many(runner, "COMMAND INFO", "none#", MANY), 1,
                    8 * MANY / LONG_STEPS + 1);
    replies_are(runner, "$-1\r\n", MANY);
    runner->by_slices = false;
    docs = runner_bytes(runner, "COMMAND DOCS get");
    assert_in_range(run_many(runner, "COMMAND DOCS get", "none#", MANY), 1,
                    8 * MANY / LONG_STEPS + 1);
    reply_is(runner, docs);
    free(docs);
}

/* Nothing of these is in the store. */
static void figures_of_many_names_come_in_slices(void **state)
{
    struct command_runner *runner = *state;
    char *info;

    assert_in_range(run_many(runner, "SCRIPT EXISTS", "x", MANY), 1, MANY / LONG_STEPS + 1);
    replies_are(runner, ":0\r\n", MANY);
    assert_in_range(run_many(runner, "PUBSUB NUMSUB", "x", MANY), 1, MANY / LONG_STEPS + 1);
    pairs_are(runner, "$1\r\nx\r\n:0\r\n", MANY);
    assert_in_range(run_many(runner, "LATENCY RESET", "x", MANY), 1, MANY / LONG_STEPS + 1);
    reply_is(runner, ":0\r\n");
    assert_in_range(run_many(runner, "LATENCY HISTOGRAM", "none#", MANY), 1,
                    8 * MANY / LONG_STEPS + 1);
    reply_is(runner, "*0\r\n");
    runner->by_slices = false;
    info = runner_bytes(runner, "INFO modules cluster");
    assert_in_range(run_many(runner, "INFO cluster", "none#", MANY), 1,
                    16 * MANY / LONG_STEPS + 1);
    buffer_clear(&runner->clients[0]->output);
    run_many(runner, "INFO cluster modules", "none#", MANY);
    reply_is(runner, info);
    free(info);
}

static void keys_are_found_in_slices(void **state)
{
    static const char flags[] = "*2\r\n$1\r\nk\r\n*2\r\n+RM\r\n+delete\r\n";
    struct command_runner *runner = *state;

    assert_in_range(run_many(runner, "COMMAND GETKEYS DEL", "k", 3 * MANY), 5, 12);
    replies_are(runner, "$1\r\nk\r\n", 3 * MANY);
    assert_in_range(run_many(runner, "COMMAND GETKEYSANDFLAGS DEL", "k", 3 * MANY), 5, 12);
    replies_are(runner, flags, 3 * MANY);
    run_many(runner, "COMMAND GETKEYS ZUNION 9000", "k", MANY);
    reply_is(runner, "-ERR Invalid arguments specified for command\r\n");
    runner->by_slices = false;
    runner_expect(runner, "OK", "MULTI");
    run_many(runner, "COMMAND GETKEYS DEL", "k", MANY);
    buffer_clear(&runner->clients[0]->output);
    runner_run(runner, runner->clients[0], "EXEC");
    runner_finish(runner, UINT64_MAX);
    assert_memory_equal("*1\r\n*5000\r\n$1\r\nk\r\n",
                        buffer_content(&runner->clients[0]->output), 18);
    assert_int_equal(4 + 7 + 7 * MANY, buffer_size(&runner->clients[0]->output));
}

/* Ids 0 to 4,999, or others, of which clients have two or three. */
static void clients_are_listed_by_id_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);

    assert_in_range(run_many(runner, "CLIENT LIST ID 2", "#", MANY), 1,
                    8 * MANY / LONG_STEPS + 1);
    runner_expect_reply(runner->clients[0], "\"id=2 *\\nid=1 *\\nid=2 *\\n\"");
    run_many(runner, "CLIENT LIST ID", "9#", MANY);
    runner_expect_reply(runner->clients[0], "\"\"");
    runner->by_slices = false;
    runner_expect(runner, "{*}", "HELLO 3");
    run_many(runner, "CLIENT LIST ID 2", "none#", MANY);
    reply_is(runner, "-ERR Invalid client ID\r\n");
    run_many(runner, "CLIENT LIST ID", "2", MANY);
    runner_expect_reply(runner->clients[0], "txt:\"id=2 *\\nid=2 *\\n\"");
    begin_many(runner, other, "CLIENT LIST ID 1", "wrong");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(other, "!ERR Invalid client ID");
    begin_many(runner, other, "CLIENT LIST ID 1", "7");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(other, "!ERR Invalid client ID");
}

static void clients_that_leave_while_they_are_listed(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner), *client = runner_connect(runner);
    struct many many = make_many("CLIENT LIST ID 1 2", "9#", MANY);
    struct request request;

    add_words(&many, "2 1", 0);
    request = (struct request){many.count, many.words, many.count * 8};
    runner->by_slices = true;
    connection_run(client, &request, NULL, false);
    assert_true(runner_slice(runner));
    runner_expect(runner, "1", "CLIENT KILL ID 2");
    assert_true(other->session.life == SESSION_GONE);
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "\"id=1 *\\nid=2 *\\nid=1 *\\n\"");
    connection_run(client, &request, NULL, false);
    free_many(&many);
    assert_true(runner_slice(runner));
    runner_expect(runner, "1", "CLIENT KILL ID 3");
    runner_finish(runner, UINT64_MAX);
    assert_true(client->session.life == SESSION_GONE && client->session.waiter == NULL);
}

static void clients_are_listed_in_slices_of_a_transaction(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "ECHO before");
    run_many(runner, "CLIENT LIST ID 1", "9#", MANY);
    run_many(runner, "CLIENT LIST ID 1", "none#", MANY);
    buffer_clear(&runner->clients[0]->output);
    runner_expect(runner, "QUEUED", "ECHO after");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 20, 100);
    runner_expect_reply(runner->clients[0],
                        "[\"before\" \"id=1 *\\n\" !ERR Invalid client ID \"after\"]");
}

/* Each ID twice: 10,000 words and more. */
static void clients_are_killed_by_many_ids_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *two = runner_connect(runner), *three = runner_connect(runner);

    assert_in_range(run_many(runner, "CLIENT KILL ID 9", "ID 9#", MANY),
                    (2 * MANY - LONG_ENOUGH) / LONG_STEPS, 2 * MANY / LONG_STEPS);
    reply_is(runner, ":0\r\n");
    run_many(runner, "CLIENT KILL ID 2 ADDR 1.2.3.4:5", "ID 2", MANY);
    reply_is(runner, ":0\r\n");
    run_many(runner, "CLIENT KILL ID 2", "USER default", MANY);
    reply_is(runner, ":1\r\n");
    assert_true(two->session.life == SESSION_GONE && three->session.life == SESSION_OPEN);
    run_many(runner, "CLIENT KILL USER default", "ID 3", MANY);
    reply_is(runner, ":1\r\n");
    assert_true(three->session.life == SESSION_GONE);
    assert_int_equal(0, long_works_count(runner->server.long_works));
}

static void a_wrong_word_behind_many_ids_kills_nobody(void **state)
{
    static const char *const words[][2] = {{"0", "-ERR client-id should be greater than 0\r\n"},
                                           {"x", "-ERR client-id should be greater than 0\r\n"},
                                           {"2 TYPE x", "-ERR Unknown client type 'x'\r\n"},
                                           {"2 USER x", "-ERR No such user 'x'\r\n"},
                                           {"2 NONE x", "-ERR syntax error\r\n"},
                                           {"2 ID", "-ERR syntax error\r\n"}};
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char last[32];

        snprintf(last, sizeof(last), "ID %s", words[i][0]);
        begin_each(runner, runner->clients[0], "CLIENT KILL", "ID 2", last);
        assert_in_range(runner_finish(runner, UINT64_MAX), 2, 4 * MANY / LONG_STEPS);
        reply_is(runner, words[i][1]);
    }
    assert_true(other->session.life == SESSION_OPEN);
}

static void who_leaves_while_its_ids_are_read_kills_nobody(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner), *killer = runner_connect(runner);

    begin_each(runner, killer, "CLIENT KILL", "ID 2", "");
    assert_true(runner_slice(runner));
    runner_expect(runner, "1", "CLIENT KILL ID 3");
    runner_finish(runner, UINT64_MAX);
    assert_true(killer->session.life == SESSION_GONE && other->session.life == SESSION_OPEN);
    assert_int_equal(0, long_works_count(runner->server.long_works));
    killer = runner_connect(runner);
    begin_each(runner, killer, "CLIENT KILL", "ID 2", "");
    connection_doom(other); /* it leaves before it is killed */
    session_leave(&runner->server, &other->session);
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(killer, "0");
}

static void who_kills_himself_by_many_ids_gets_the_reply(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner), *killer = runner_connect(runner);

    begin_each(runner, killer, "CLIENT KILL SKIPME no", "ID #", "");
    runner_finish(runner, UINT64_MAX);
    reply_is(runner, ""); /* of client 1 */
    runner_expect_reply(killer, "!ERR client-id should be greater than 0");
    begin_each(runner, killer, "CLIENT KILL SKIPME no ID 2", "ID 3", "");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(killer, "2");
    assert_true(other->session.life == SESSION_GONE);
    assert_true(killer->session.life != SESSION_OPEN && killer->session.waiter == NULL);
}

static void clients_are_killed_by_many_ids_in_a_transaction(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner), *killer = runner_connect(runner);

    runner_expect_of(runner, killer, "OK", "MULTI");
    begin_each(runner, killer, "CLIENT KILL ID 2", "ID x", "");
    begin_each(runner, killer, "CLIENT KILL SKIPME no ID 2", "ID 3", "");
    buffer_clear(&killer->output);
    runner_expect_of(runner, killer, "QUEUED", "SET k v");
    runner_run(runner, killer, "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 2, 20);
    runner_expect_reply(killer, "[!ERR client-id should be greater than 0 2 OK]");
    assert_true(other->session.life == SESSION_GONE);
    assert_true(killer->session.life != SESSION_OPEN && killer->session.waiter == NULL);
    runner_expect(runner, "\"v\"", "GET k");
}

static void users_are_deleted_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);

    runner_expect(runner, "OK", "ACL SETUSER u7 on nopass +@all ~*");
    runner_expect(runner, "OK", "ACL SETUSER u9999");
    runner_expect_of(runner, other, "OK", "AUTH u7 x");
    assert_in_range(run_many(runner, "ACL DELUSER u7", "u#", MANY), 1, MANY / LONG_STEPS + 1);
    reply_is(runner, ":1\r\n");
    assert_true(other->session.life == SESSION_GONE);
    runner_expect(runner, "[\"default\" \"u9999\"]", "ACL USERS");
    run_many(runner, "ACL DELUSER u9999", "default", MANY);
    reply_is(runner, "-ERR The 'default' user cannot be removed\r\n");
    begin_many(runner, runner->clients[0], "ACL DELUSER", "u9999 default");
    runner_finish(runner, UINT64_MAX);
    reply_is(runner, "-ERR The 'default' user cannot be removed\r\n");
    runner_expect(runner, "[\"default\" \"u9999\"]", "ACL USERS");
    run_many(runner, "ACL DELUSER", "none#", MANY);
    reply_is(runner, ":0\r\n");
}

/* One that comes, and one that goes, after their names have been looked at. */
static void users_that_change_while_some_are_deleted(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner), *leaving = runner_connect(runner);

    runner_expect(runner, "OK", "ACL SETUSER k1");
    runner_expect(runner, "OK", "ACL SETUSER k9999");
    begin_many(runner, leaving, "ACL DELUSER", "k");
    begin_many(runner, client, "ACL DELUSER", "k");
    assert_true(runner_slice(runner));
    runner_expect(runner, "[\"default\" \"k1\" \"k9999\"]", "ACL USERS");
    connection_doom(leaving);
    runner_expect(runner, "1", "ACL DELUSER k1");
    runner_expect(runner, "OK", "ACL SETUSER k2");
    assert_in_range(runner_finish(runner, UINT64_MAX), 10, 14);
    runner_expect_reply(client, "2");
    runner_expect(runner, "[\"default\"]", "ACL USERS");
}

static void a_deletion_ends_while_users_change_again_and_again(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    int slices = 0;

    begin_many(runner, client, "ACL DELUSER", "k");
    for (; client->session.waiter != NULL && slices < 20; slices++) {
        runner_expect(runner, "OK", "ACL SETUSER k1");
        runner_slice(runner);
    }
    assert_in_range(slices, 2, 5);
    runner_expect_reply(client, "1");
    runner_expect(runner, "[\"default\"]", "ACL USERS");
}

static void users_are_deleted_in_a_transaction(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "ACL SETUSER u1");
    run_many(runner, "ACL DELUSER", "u#", MANY);
    buffer_clear(&runner->clients[0]->output);
    runner_expect(runner, "QUEUED", "ACL USERS");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 1, 4);
    runner_expect_reply(runner->clients[0], "[OK 1 [\"default\"]]");
}

static void who_deletes_himself_among_many_gets_the_reply(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    runner_expect(runner, "OK", "ACL SETUSER k3 on nopass +@all ~*");
    runner_expect_of(runner, client, "OK", "AUTH k3 x");
    begin_many(runner, client, "ACL DELUSER", "k");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "1");
    assert_true(client->session.life != SESSION_OPEN);
    runner_expect(runner, "[\"default\"]", "ACL USERS");
}

/* The values are those of one moment: the last slice's. */
static void options_are_found_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    begin_many(runner, client, "CONFIG GET TimeOut", "timeou* maxclients");
    assert_true(runner_slice(runner));
    assert_false(alone_runs(&runner->server));
    runner_expect(runner, "OK", "CONFIG SET timeout 17");
    assert_in_range(runner_finish(runner, UINT64_MAX), 5, 30);
    runner_expect_reply(client, "[\"maxclients\" * \"TimeOut\" \"17\"]");
    runner_expect_of(runner, client, "OK", "MULTI");
    begin_many(runner, client, "CONFIG GET none", "timeou?");
    buffer_clear(&client->output);
    runner_run(runner, client, "EXEC");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "[[\"timeout\" \"17\"]]");
}

/* Each command of it that is long by itself. */
static void a_long_command_of_a_transaction_takes_slices(void **state)
{
    static const char *const commands[][2] = {
        {"SORT l ALPHA STORE to", "5000"},    {"COPY l copy", "1"},
        {"SUNIONSTORE union s", "5000"},      {"LREM l 0 e4999", "1"},
        {"LINSERT l BEFORE e2500 x", "5000"}, {"SPOP s 4500", "[*]"},
        {"SRANDMEMBER s -5000", "[*]"},       {"ZRANGESTORE zto z 0 -1", "5000"},
        {"ZREMRANGEBYRANK z 0 -1", "5000"},
    };
    struct command_runner *runner = *state;
    char expected[512] = "[";

    run_many(runner, "RPUSH l", "e#", MANY);
    run_many(runner, "SADD s", "e#", MANY);
    run_many(runner, "ZADD z", "1 e#", MANY);
    buffer_clear(&runner->clients[0]->output);
    runner_expect(runner, "OK", "MULTI");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        runner_expect(runner, "QUEUED", commands[i][0]);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%s",
                 i > 0 ? " " : "", commands[i][1]);
    }
    strcat(expected, "]");
    uint64_t before = dueq_written_lsn(runner->server.store);
    runner_run(runner, runner->clients[0], "EXEC");
    for (unsigned slices = 0; runner_slice(runner); slices++)
        assert_true(slices < 1000 && (dueq_written_lsn(runner->server.store) == before ||
                                      !alone_runs(&runner->server)));
    assert_int_equal(dueq_written_lsn(runner->server.store), before + 1);
    runner_expect_reply(runner->clients[0], expected);
    runner_expect(runner, "5000", "LLEN to");
    runner_expect(runner, "5000", "LLEN copy");
    runner_expect(runner, "500", "SCARD s");
    runner_expect(runner, "5000", "ZCARD zto");
    runner_expect(runner, "0", "EXISTS z");
}

/* ---- the first of many keys */

struct pop_case {
    const char *fill, *first, *last, *reply, *left;
};

static const struct pop_case pops[] = {
    {"RPUSH k9998 a b", "BLPOP", "0", "[\"k9998\" \"a\"]", "LLEN k9998"},
    {"RPUSH k9998 a b", "BRPOP", "0", "[\"k9998\" \"b\"]", "LLEN k9998"},
    {"RPUSH k9998 a b", "LMPOP 10000", "LEFT", "[\"k9998\" [\"a\"]]", "LLEN k9998"},
    {"RPUSH k9998 a b", "BLMPOP 0 10000", "LEFT", "[\"k9998\" [\"a\"]]", "LLEN k9998"},
    {"ZADD k9998 1 a 2 b", "BZPOPMIN", "0", "[\"k9998\" \"a\" \"1\"]", "ZCARD k9998"},
    {"ZADD k9998 1 a 2 b", "ZMPOP 10000", "MAX", "[\"k9998\" [[\"b\" \"2\"]]]", "ZCARD k9998"},
    {"ZADD k9998 1 a 2 b", "BZMPOP 0 10000", "MIN", "[\"k9998\" [[\"a\" \"1\"]]]",
     "ZCARD k9998"},
};
enum { POPS = sizeof(pops) / sizeof(*pops) };

static void the_first_of_many_keys_is_found_in_slices(void **state)
{
    struct command_runner *runner = *state;

    for (size_t i = 0; i < POPS; i++) {
        struct connection *client = runner_connect(runner);

        runner_expect(runner, "2", pops[i].fill);
        begin_many(runner, client, pops[i].first, pops[i].last);
        assert_true(alone_runs(&runner->server));
        assert_in_range(runner_finish(runner, UINT64_MAX), 10, 14);
        runner_expect_reply(client, pops[i].reply);
        assert_false(alone_runs(&runner->server));
        assert_null(client->session.waiter);
        runner_expect(runner, "1", pops[i].left);
        runner_expect(runner, "1", "DEL k9998");
    }
}

/* They are served in the order in which they came, and the first key that changes counts. */
static void many_keys_are_waited_for_in_slices(void **state)
{
    struct command_runner *runner = *state;

    for (size_t i = 0; i < POPS; i++) {
        struct connection *client = runner_connect(runner), *other = runner_connect(runner);

        if (strchr("LZ", pops[i].first[0]) != NULL)
            continue;
        begin_many(runner, client, pops[i].first, pops[i].last);
        assert_in_range(runner_finish(runner, UINT64_MAX), 30, 36);
        assert_false(alone_runs(&runner->server));
        assert_true(waiters_is_blocked(&client->session));
        assert_int_equal(runner->server.stats.blocked_clients, 1);
        begin_many(runner, other, pops[i].first, pops[i].last);
        runner_finish(runner, UINT64_MAX);
        runner_expect(runner, "1", "SADD k17 of-another-type");
        runner_expect(runner, "2", pops[i].fill);
        runner_expect_reply(client, pops[i].reply);
        runner_expect(runner, "0", "EXISTS k9998"); /* the other one has what was left */
        assert_null(other->session.waiter);
        buffer_clear(&other->output);
        runner_expect(runner, "1", "DEL k17");
        while (spent_any())
            spent_free_some();
        assert_int_equal(waiters_count(runner->server.waiters), 0);
    }
}

/* One that goes leaves its queues later, and is in nobody's way there. */
static void who_waited_for_many_keys_leaves_bit_by_bit(void **state)
{
    struct command_runner *runner = *state;
    struct connection *gone = runner_connect(runner), *waits = runner_connect(runner);
    unsigned calls = 0;

    begin_many(runner, gone, "BLPOP", "0");
    runner_finish(runner, UINT64_MAX);
    begin_many(runner, waits, "BLPOP", "0");
    runner_finish(runner, UINT64_MAX);
    session_leave(&runner->server, &gone->session);
    assert_true(spent_any());
    assert_int_equal(waiters_count(runner->server.waiters), 1);
    runner_expect(runner, "1", "RPUSH k0 a");
    runner_expect_reply(waits, "[\"k0\" \"a\"]");
    for (; spent_any(); calls++)
        spent_free_some();
    assert_in_range(calls, 4, 10);
    runner_expect(runner, "1", "RPUSH k0 a");
    assert_int_equal(buffer_size(&gone->output), 0);
}

static void a_wait_for_many_keys_ends_in_time(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    begin_many(runner, client, "BLPOP", "0.5");
    runner_finish(runner, UINT64_MAX);
    runner_pass(runner, 400);
    assert_true(waiters_is_blocked(&client->session));
    runner_pass(runner, 101);
    runner_expect_reply(client, "nil");
}

/* It takes nothing for a client that has gone. */
static void who_goes_while_keys_are_looked_at_takes_nothing(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "1", "RPUSH k9999 a");
    for (int slices = 0; slices < 12; slices += 4) {
        struct connection *client = runner_connect(runner);

        begin_many(runner, client, "BLPOP", "0");
        for (int i = 0; i < slices; i++)
            assert_true(runner_slice(runner));
        session_leave(&runner->server, &client->session);
        assert_false(alone_runs(&runner->server));
        runner_commit(runner);
        alone_settled(&runner->server);
        runner_expect(runner, "1", "LLEN k9999");
    }
}

static void a_key_of_another_type_is_an_error_only_before_it_waits(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    runner_expect(runner, "OK", "SET k9999 v");
    begin_many(runner, client, "BLPOP", "0");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "!WRONGTYPE *");
    assert_null(client->session.waiter);
}

static void many_keys_in_a_transaction_are_not_waited_for(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    runner_expect(runner, "1", "RPUSH k9999 a");
    runner_expect_of(runner, client, "OK", "MULTI");
    begin_many(runner, client, "BLPOP", "0");
    begin_many(runner, client, "BLPOP", "0");
    buffer_clear(&client->output);
    runner_run(runner, client, "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 20, 50);
    runner_expect_reply(client, "[[\"k9999\" \"a\"] nil]");
}

/* What it takes may be long itself, and is no part of what was alone. */
static void many_elements_of_the_first_of_many_keys(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    run_many(runner, "RPUSH k9999", "e#", 2 * MANY);
    buffer_clear(&runner->clients[0]->output);
    begin_many(runner, client, "LMPOP 10000", "LEFT COUNT 9000");
    while (alone_runs(&runner->server))
        assert_true(runner_slice(runner));
    assert_non_null(client->session.waiter);
    runner_expect(runner, "10000", "LLEN k9999");
    assert_true(runner_finish(runner, UINT64_MAX) > 5);
    runner_expect_reply(client, "[\"k9999\" [\"e0\" *");
    runner_expect(runner, "1000", "LLEN k9999");
    runner_expect_of(runner, client, "OK", "MULTI");
    begin_many(runner, client, "LMPOP 10000", "RIGHT COUNT 9000");
    buffer_clear(&client->output);
    runner_run(runner, client, "EXEC");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "[[\"k9999\" [\"e9999\" *");
    runner_expect(runner, "0", "EXISTS k9999");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(each_takes_slices_and_is_one_record),
        runner_test(few_arguments_are_one_step),
        runner_test(in_a_long_turn_few_are_taken),
        runner_test(errors_come_as_in_one_step),
        runner_test(the_rest_is_done_when_the_client_goes),
        runner_test(in_a_transaction_its_slices_are_slices_of_that),
        runner_test(others_go_on_between_the_slices_of_a_watch),
        runner_test(many_watches_are_checked_in_slices),
        runner_test(who_leaves_in_a_watch_leaves_nothing),
        runner_test(many_watches_are_freed_bit_by_bit),
        runner_test(channels_are_subscribed_to_in_slices),
        runner_test(what_is_known_of_commands_comes_in_slices),
        runner_test(a_long_command_of_a_transaction_takes_slices),
        runner_test(figures_of_many_names_come_in_slices),
        runner_test(keys_are_found_in_slices),
        runner_test(clients_are_listed_by_id_in_slices),
        runner_test(clients_that_leave_while_they_are_listed),
        runner_test(clients_are_listed_in_slices_of_a_transaction),
        runner_test(clients_are_killed_by_many_ids_in_slices),
        runner_test(a_wrong_word_behind_many_ids_kills_nobody),
        runner_test(who_leaves_while_its_ids_are_read_kills_nobody),
        runner_test(who_kills_himself_by_many_ids_gets_the_reply),
        runner_test(clients_are_killed_by_many_ids_in_a_transaction),
        runner_test(users_are_deleted_in_slices),
        runner_test(users_that_change_while_some_are_deleted),
        runner_test(a_deletion_ends_while_users_change_again_and_again),
        runner_test(users_are_deleted_in_a_transaction),
        runner_test(who_deletes_himself_among_many_gets_the_reply),
        runner_test(options_are_found_in_slices),
        runner_test(the_first_of_many_keys_is_found_in_slices),
        runner_test(many_keys_are_waited_for_in_slices),
        runner_test(who_waited_for_many_keys_leaves_bit_by_bit),
        runner_test(a_wait_for_many_keys_ends_in_time),
        runner_test(who_goes_while_keys_are_looked_at_takes_nothing),
        runner_test(a_key_of_another_type_is_an_error_only_before_it_waits),
        runner_test(many_keys_in_a_transaction_are_not_waited_for),
        runner_test(many_elements_of_the_first_of_many_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
