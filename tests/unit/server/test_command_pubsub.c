/* Publish and subscribe. Expected is what Redis 7.0.15 answers. */
#include "server/session/pubsub.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- subscribing */

static void confirmations_count_channels_and_patterns(void **state)
{
    static const char *const cases[][2] = {
        {"[\"subscribe\" \"a\" 1] [\"subscribe\" \"b\" 2]", "SUBSCRIBE a b"},
        {"[\"subscribe\" \"a\" 2]", "SUBSCRIBE a"},
        {"[\"psubscribe\" \"p*\" 3] [\"psubscribe\" \"q*\" 4]", "PSUBSCRIBE p* q*"},
        {"[\"subscribe\" \"c\" 5]", "SUBSCRIBE c"},
        {"[\"unsubscribe\" \"b\" 4]", "UNSUBSCRIBE b"},
        {"[\"punsubscribe\" \"q*\" 3]", "PUNSUBSCRIBE q*"},
        {"[\"unsubscribe\" \"none\" 3]", "UNSUBSCRIBE none"},
        {"[\"punsubscribe\" \"none\" 3]", "PUNSUBSCRIBE none"},
        {"[\"unsubscribe\" \"c\" 2]", "UNSUBSCRIBE c"},
        {"[\"unsubscribe\" \"a\" 1]", "UNSUBSCRIBE"},
        {"[\"punsubscribe\" \"p*\" 0]", "PUNSUBSCRIBE"},
        {"[\"unsubscribe\" nil 0]", "UNSUBSCRIBE"},
        {"[\"punsubscribe\" nil 0]", "PUNSUBSCRIBE"},
        {"nil", "GET k"},
        {"!ERR wrong number of arguments for 'subscribe' command", "SUBSCRIBE"},
        {"!ERR wrong number of arguments for 'psubscribe' command", "PSUBSCRIBE"},
        {"[\"unsubscribe\" \"x\" 0] [\"unsubscribe\" \"y\" 0]", "UNSUBSCRIBE x y"},
    };

    runner_expect_all(*state, cases);
}

static void messages_reach_who_subscribed(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {'c', "[\"psubscribe\" \"n*s\" 1] [\"psubscribe\" \"x*\" 2]", "PSUBSCRIBE n*s x*"},
        {'d', "[\"subscribe\" \"other\" 1]", "SUBSCRIBE other"},
        {'a', "2", "PUBLISH news hello"},
        {'b', "[\"message\" \"news\" \"hello\"]", NULL},
        {'c', "[\"pmessage\" \"n*s\" \"news\" \"hello\"]", NULL},
        {'d', "", NULL},
        {'a', "0", "PUBLISH none hello"},
        {'a', "1", "PUBLISH other \"\""},
        {'d', "[\"message\" \"other\" \"\"]", NULL},
        {'a', "0", "PUBLISH \"\" \"a\\x00b\""},
        {'b', "[\"subscribe\" \"\" 2]", "SUBSCRIBE \"\""},
        {'a', "1", "PUBLISH \"\" \"a\\x00b\""},
        {'b', "[\"message\" \"\" \"a\\x00b\"]", NULL},
        {'a', "!ERR wrong number of arguments for 'publish' command", "PUBLISH news"},
        {'a', "!ERR wrong number of arguments for 'publish' command", "PUBLISH news a b"},
    };

    runner_follow(*state, steps);
}

static void one_that_matches_twice_is_told_twice(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {'b', "[\"psubscribe\" \"n*\" 2]", "PSUBSCRIBE n*"},
        {'a', "2", "PUBLISH news hello"},
        {'b', "[\"message\" \"news\" \"hello\"] [\"pmessage\" \"n*\" \"news\" \"hello\"]",
         NULL},
        {'b', "[\"punsubscribe\" \"n*\" 1]", "PUNSUBSCRIBE n*"},
        {'a', "1", "PUBLISH news hello"},
        {'b', "[\"message\" \"news\" \"hello\"]", NULL},
    };

    runner_follow(*state, steps);
}

static void messages_reach_other_databases(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "OK", "SELECT 3"},
        {'b', "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {'a', "1", "PUBLISH c hello"},
        {'b', "[\"message\" \"c\" \"hello\"]", NULL},
    };

    runner_follow(*state, steps);
}

/* ---- commands while subscribed */

static void resp2_allows_little(void **state)
{
    static const char *const cases[][2] = {
        {"[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {"[\"pong\" \"\"]", "PING"},
        {"[\"pong\" \"hello\"]", "PING hello"},
        {"!ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
         "RESET are allowed in this context",
         "GET k"},
        {"!ERR Can't execute 'set': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
         "RESET are allowed in this context",
         "SET k v"},
        {"!ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
         "RESET are allowed in this context",
         "MULTI"},
        {"!ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
         "/ RESET are allowed in this context",
         "CLIENT ID"},
        {"!ERR unknown command 'NOSUCH', with args beginning with: ", "NOSUCH"},
        {"!ERR wrong number of arguments for 'get' command", "GET"},
        {"!ERR Can't execute 'publish': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
         "RESET are allowed in this context",
         "PUBLISH c hello"},
        {"[\"subscribe\" \"d\" 2]", "SUBSCRIBE d"},
        {"[\"psubscribe\" \"p\" 3]", "PSUBSCRIBE p"},
        {"[\"unsubscribe\" \"d\" 2]", "UNSUBSCRIBE d"},
        {"[\"punsubscribe\" \"p\" 1]", "PUNSUBSCRIBE p"},
        {"[\"unsubscribe\" \"c\" 0]", "UNSUBSCRIBE"},
        {"nil", "GET k"},
        {"PONG", "PING"},
        {"[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {"RESET", "RESET"},
        {"nil", "GET k"},
        {"[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {"OK", "QUIT"},
    };

    runner_expect_all(*state, cases);
}

static void resp3_allows_everything(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "HELLO 3"},
        {'a', ">[\"subscribe\" \"c\" 1] >[\"subscribe\" \"d\" 2]", "SUBSCRIBE c d"},
        {'a', "PONG", "PING"},
        {'a', "\"hello\"", "PING hello"},
        {'a', "_", "GET k"},
        {'a', "OK", "SET k v"},
        {'a', ">[\"psubscribe\" \"p*\" 3]", "PSUBSCRIBE p*"},
        {'a', ">[\"unsubscribe\" \"c\" 2]", "UNSUBSCRIBE c"},
        {'a', ">[\"unsubscribe\" \"d\" 1]", "UNSUBSCRIBE"},
        {'a', ">[\"unsubscribe\" _ 1]", "UNSUBSCRIBE"},
        {'a', ">[\"punsubscribe\" \"p*\" 0]", "PUNSUBSCRIBE"},
        {'a', ">[\"punsubscribe\" _ 0]", "PUNSUBSCRIBE"},
        {'b', "0", "PUBLISH d x"},
    };

    runner_follow(*state, steps);
}

static void resp3_messages_are_pushes(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "HELLO 3"},
        {'a', ">[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {'a', ">[\"psubscribe\" \"n*\" 2]", "PSUBSCRIBE n*"},
        {'b', "2", "PUBLISH news hello"},
        {'a', ">[\"message\" \"news\" \"hello\"] >[\"pmessage\" \"n*\" \"news\" \"hello\"]",
         NULL},
        {'a', ">[\"message\" \"news\" \"self\"] >[\"pmessage\" \"n*\" \"news\" \"self\"] 2",
         "PUBLISH news self"},
    };

    runner_follow(*state, steps);
}

/* Redis writes it into the array, where a client takes it for a reply. */
static void a_message_to_itself_does_not_come_between_the_replies_of_an_exec(void **state)
{
    static const char *const cases[][2] = {
        {"*", "HELLO 3"},
        {">[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {"OK", "MULTI"},
        {"QUEUED", "PUBLISH news one"},
        {"QUEUED", "PUBLISH news two"},
        {"[1 1] >[\"message\" \"news\" \"one\"] >[\"message\" \"news\" \"two\"]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

static void shard_channels_are_their_own(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "[\"ssubscribe\" \"a\" 1] [\"ssubscribe\" \"b\" 2]", "SSUBSCRIBE a b"},
        {'a', "[\"subscribe\" \"a\" 1]", "SUBSCRIBE a"},
        {'b', "1", "SPUBLISH a shard"},
        {'a', "[\"smessage\" \"a\" \"shard\"]", NULL},
        {'b', "1", "PUBLISH a plain"},
        {'a', "[\"message\" \"a\" \"plain\"]", NULL},
        {'b', "[\"a\"]", "PUBSUB SHARDCHANNELS a"},
        {'b', "[\"a\" 1 \"b\" 1 \"none\" 0]", "PUBSUB SHARDNUMSUB a b none"},
        {'b', "[\"a\"]", "PUBSUB CHANNELS"},
        {'a', "[\"sunsubscribe\" \"a\" 1]", "SUNSUBSCRIBE a"},
        {'a', "[\"unsubscribe\" \"a\" 0]", "UNSUBSCRIBE"},
        {'a',
         "!ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
         "RESET are allowed in this context",
         "GET k"},
        {'a', "[\"sunsubscribe\" \"b\" 0]", "SUNSUBSCRIBE"},
        {'a', "[\"sunsubscribe\" nil 0]", "SUNSUBSCRIBE"},
        {'a', "nil", "GET k"},
        {'b', "0", "SPUBLISH a shard"},
        {'a', "!ERR wrong number of arguments for 'ssubscribe' command", "SSUBSCRIBE"},
    };

    runner_follow(*state, steps);
}

/* ---- PUBSUB */

static void channels_and_subscribers_are_counted(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "[]", "PUBSUB CHANNELS"},
        {'a', "0", "PUBSUB NUMPAT"},
        {'a', "[]", "PUBSUB NUMSUB"},
        {'b', "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {'c', "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news"},
        {'c', "[\"psubscribe\" \"n*\" 2] [\"psubscribe\" \"x*\" 3]", "PSUBSCRIBE n* x*"},
        {'d', "[\"psubscribe\" \"n*\" 1]", "PSUBSCRIBE n*"},
        {'a', "[\"news\"]", "PUBSUB CHANNELS"},
        {'a', "[\"news\"]", "PUBSUB CHANNELS n*"},
        {'a', "[]", "PUBSUB CHANNELS x*"},
        {'a',
         "!ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB "
         "HELP.",
         "PUBSUB CHANNELS a b"},
        {'a', "[\"news\" 2 \"none\" 0 \"news\" 2]", "PUBSUB NUMSUB news none news"},
        {'a', "2", "PUBSUB NUMPAT"},
        {'a', "!ERR wrong number of arguments for 'pubsub|numpat' command", "PUBSUB NUMPAT x"},
        {'a', "!ERR unknown subcommand 'NOSUCH'. Try PUBSUB HELP.", "PUBSUB NOSUCH"},
        {'a', "!ERR wrong number of arguments for 'pubsub' command", "PUBSUB"},
        {'a', "[]", "PUBSUB SHARDCHANNELS"},
        {'a', "[]", "PUBSUB SHARDNUMSUB"},
        {'c', "RESET", "RESET"},
        {'a', "[\"news\" 1]", "PUBSUB NUMSUB news"},
        {'a', "1", "PUBSUB NUMPAT"},
        {'a', "*", "HELLO 3"},
        {'a', "[\"news\" 1]", "PUBSUB NUMSUB news"},
        {'a', "[\"news\"]", "PUBSUB CHANNELS"},
    };

    runner_follow(*state, steps);
}

/* ---- keyspace events */

static void events_say_key_or_event(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events KEA"},
        {'b', "[\"subscribe\" \"__keyspace@0__:k\" 1]", "SUBSCRIBE __keyspace@0__:k"},
        {'c', "[\"psubscribe\" \"__keyevent@*\" 1]", "PSUBSCRIBE __keyevent@*"},
        {'a', "OK", "SET k v"},
        {'b', "[\"message\" \"__keyspace@0__:k\" \"set\"]", NULL},
        {'c', "[\"pmessage\" \"__keyevent@*\" \"__keyevent@0__:set\" \"k\"]", NULL},
        {'a', "OK", "SELECT 3"},
        {'a', "OK", "SET k v"},
        {'b', "", NULL},
        {'c', "[\"pmessage\" \"__keyevent@*\" \"__keyevent@3__:set\" \"k\"]", NULL},
        {'a', "OK", "SELECT 0"},
        {'a', "1", "LPUSH l x"},
        {'b', "", NULL},
        {'c', "[\"pmessage\" \"__keyevent@*\" \"__keyevent@0__:lpush\" \"l\"]", NULL},
        {'a', "\"x\"", "RPOP l"},
        {'c',
         "[\"pmessage\" \"__keyevent@*\" \"__keyevent@0__:rpop\" \"l\"] [\"pmessage\" "
         "\"__keyevent@*\" \"__keyevent@0__:del\" \"l\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

static void patterns_are_globs(void **state)
{
    static const struct runner_step steps[] = {
        {'b',
         "[\"psubscribe\" \"h?llo\" 1] [\"psubscribe\" \"h[ae]y\" 2] [\"psubscribe\" "
         "\"a\\\\*\" 3] [\"psubscribe\" \"x*\" 4]",
         "PSUBSCRIBE h?llo h[ae]y \"a\\\\*\" x*"},
        {'a', "1", "PUBLISH hello 1"},
        {'a', "0", "PUBLISH hllo 1"},
        {'a', "1", "PUBLISH hay 1"},
        {'a', "0", "PUBLISH hoy 1"},
        {'a', "1", "PUBLISH a* 1"},
        {'a', "0", "PUBLISH ab 1"},
        {'a', "1", "PUBLISH x 1"},
        {'a', "1", "PUBLISH \"x\\x00y\" 1"},
        {'b',
         "[\"pmessage\" \"h?llo\" \"hello\" \"1\"] [\"pmessage\" \"h[ae]y\" \"hay\" \"1\"] "
         "[\"pmessage\" \"a\\\\*\" \"a*\" \"1\"] [\"pmessage\" \"x*\" \"x\" \"1\"] "
         "[\"pmessage\" \"x*\" \"x\\x00y\" \"1\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

/* Confirmations are messages, not replies. */
static void confirmations_come_to_who_wants_no_replies(void **state)
{
    static const char *const cases[][2] = {
        {"", "CLIENT REPLY OFF"},
        {"[\"subscribe\" \"a\" 1] [\"subscribe\" \"b\" 2]", "SUBSCRIBE a b"},
        {"[\"psubscribe\" \"p*\" 3]", "PSUBSCRIBE p*"},
        {"", "PING"},
        {"[\"unsubscribe\" \"a\" 2]", "UNSUBSCRIBE a"},
        {"[\"unsubscribe\" \"b\" 1]", "UNSUBSCRIBE"},
        {"[\"punsubscribe\" \"p*\" 0]", "PUNSUBSCRIBE"},
        {"[\"unsubscribe\" nil 0]", "UNSUBSCRIBE"},
        {"OK", "CLIENT REPLY ON"},
        {"", "CLIENT REPLY SKIP"},
        {"[\"subscribe\" \"a\" 1]", "SUBSCRIBE a"},
        {"[\"unsubscribe\" \"a\" 0]", "UNSUBSCRIBE a"},
        {"PONG", "PING"},
    };

    runner_expect_all(*state, cases);
}

static void a_message_to_itself_comes_to_who_wants_no_replies(void **state)
{
    struct command_runner *runner = *state;

    free(runner_bytes(runner, "HELLO 3"));
    free(runner_bytes(runner, "SUBSCRIBE a"));
    runner_expect(runner, "", "CLIENT REPLY OFF");
    runner_expect_bytes(runner, ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n", "PUBLISH a x");
    runner_expect(runner, "", "MULTI");
    runner_expect(runner, "", "PUBLISH a x");
    runner_expect(runner, "", "SUBSCRIBE b");
    runner_expect_bytes(runner,
                        ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
                        ">3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n",
                        "EXEC");
    runner_expect(runner, "OK", "CLIENT REPLY ON");
}

/* ---- what takes several turns */

enum { LISTENERS = 300, SUBSCRIPTIONS = 16, SLICE = 1000, ENDS = 250, LARGE = 50000 };

static void connect_listeners(struct command_runner *runner)
{
    for (int i = 1; i <= LISTENERS; i++) {
        runner_expect_of(runner, runner_connect(runner), "[\"subscribe\" \"c\" 1]",
                         "SUBSCRIBE c");
        runner_expect_of(runner, runner->clients[i], "*",
                         "PSUBSCRIBE * ** *** **** ***** c c* *c* *c ?* *? ?** **? [c]* c**");
    }
    runner->by_slices = true;
}

static void a_message_to_many_is_delivered_in_slices(void **state)
{
    struct command_runner *runner = *state;

    connect_listeners(runner);
    runner_expect(runner, "", "PUBLISH c x");
    assert_int_equal(runner_finish(runner, 0), LISTENERS * SUBSCRIPTIONS / SLICE + 1);
    runner_expect_reply(runner->clients[0], "4800");
    for (int i = 1; i <= LISTENERS; i++)
        runner_expect_reply(runner->clients[i],
                            "[\"message\" \"c\" \"x\"] [\"pmessage\" \"*\" \"c\" \"x\"] *");
}

/* Those that are next, in the channel and the first pattern, and who is the last of a name. */
static void who_leaves_meanwhile_is_passed_over(void **state)
{
    struct command_runner *runner = *state;

    connect_listeners(runner);
    runner_expect_of(runner, runner->clients[7], "*", "PSUBSCRIBE alone ?");
    runner_expect(runner, "", "PUBLISH c x");
    assert_true(runner_slice(runner));
    for (int i = 1; i <= LISTENERS; i++)
        if (i % 3 == 0 || i == 7 || i == 101)
            session_leave(&runner->server, &runner->clients[i]->session);
    runner_finish(runner, 0);
    runner_expect_reply(runner->clients[0], "4801");
    assert_false(pubsub_is_busy(&runner->server));
}

static void all_that_leave_end_a_delivery(void **state)
{
    struct command_runner *runner = *state;

    connect_listeners(runner);
    runner_expect(runner, "", "PUBLISH c x");
    assert_true(runner_slice(runner));
    for (int i = 1; i <= LISTENERS; i++)
        session_leave(&runner->server, &runner->clients[i]->session);
    session_leave(&runner->server, &runner->clients[0]->session);
    runner_finish(runner, 0);
    assert_false(pubsub_is_busy(&runner->server));
}

/* An EXEC does not wait, and does not deliver what others have published. */
static void messages_keep_their_order(void **state)
{
    struct command_runner *runner = *state;

    connect_listeners(runner);
    struct connection *other = runner_connect(runner);
    runner_expect(runner, "", "PUBLISH c first");
    runner_expect_of(runner, other, "", "PUBLISH c second");
    struct connection *third = runner_connect(runner);
    runner_expect_of(runner, third, "OK", "MULTI");
    runner_expect_of(runner, third, "QUEUED", "PUBLISH d third");
    runner_expect_of(runner, third, "[2700]", "EXEC");
    assert_true(pubsub_is_busy(&runner->server));
    assert_in_range(runner_finish(runner, 0), 2 * LISTENERS * SUBSCRIPTIONS / SLICE, 100);
    runner_expect_reply(runner->clients[0], "4800");
    runner_expect_reply(other, "4800");
    runner_expect_reply(runner->clients[LISTENERS],
                        "*\"first\"] *\"second\"] *\"d\" \"third\"]*");
}

/* Publishes so much that it takes turns, and nothing of it is delivered yet. */
static void publish_to_listeners_of_c(struct command_runner *runner)
{
    char line[LARGE + 32];

    for (int i = 1; i <= LISTENERS; i++)
        runner_expect_of(runner, runner_connect(runner), "[\"subscribe\" \"c\" 1]",
                         "SUBSCRIBE c");
    runner->by_slices = true;
    snprintf(line, sizeof(line), "PUBLISH c %0*d", LARGE, 0);
    runner_expect(runner, "", line);
    assert_true(pubsub_is_busy(&runner->server));
}

static void a_message_to_nobody_finishes_no_other(void **state)
{
    struct command_runner *runner = *state;

    publish_to_listeners_of_c(runner);
    struct connection *other = runner_connect(runner);
    runner_expect_of(runner, other, "0", "PUBLISH nobody x");
    runner_expect_of(runner, other, "0", "SPUBLISH nobody x");
    runner_expect_of(runner, other, "OK", "MULTI");
    runner_expect_of(runner, other, "QUEUED", "PUBLISH nobody x");
    runner_expect_of(runner, other, "[0]", "EXEC");
    assert_in_range(runner_finish(runner, 0), LISTENERS / (SLICE / (LARGE / 512) + 1), 100);
    runner_expect_reply(runner->clients[0], "300");
}

/* They would take memory without end. */
static void messages_of_transactions_have_a_limit(void **state)
{
    enum { MESSAGES = 30 };
    struct command_runner *runner = *state;
    char line[LARGE + 32];

    publish_to_listeners_of_c(runner);
    struct connection *other = runner_connect(runner);
    runner_expect_of(runner, runner_connect(runner), "*", "SUBSCRIBE d");
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(line, sizeof(line), "PUBLISH d %0*d", LARGE, i);
        runner_expect_of(runner, other, "OK", "MULTI");
        runner_expect_of(runner, other, "QUEUED", line);
        runner_expect_of(runner, other, "[1]", "EXEC");
    }
    assert_true(pubsub_is_busy(&runner->server)); /* but the first had to end */
    runner_slice(runner);
    runner_expect_reply(runner->clients[0], "300");
    runner_finish(runner, 0);
}

static void a_delivery_ends_with_the_server(void **state)
{
    struct command_runner *runner = *state;

    connect_listeners(runner);
    runner_expect(runner, "", "PUBLISH c x");
    assert_true(runner_slice(runner));
    assert_true(pubsub_is_busy(&runner->server)); /* and nothing is left of it */
}

static void many_channels_are_left_in_slices(void **state)
{
    enum { CHANNELS = 2500 };
    struct command_runner *runner = *state;
    char line[64];

    for (int i = 0; i < CHANNELS; i++) {
        snprintf(line, sizeof(line), "SUBSCRIBE %d", i);
        runner_expect(runner, "[\"subscribe\" *]", line);
    }
    runner->by_slices = true;
    runner_expect(runner, "[\"unsubscribe\" \"2499\" 2499] *", "UNSUBSCRIBE");
    assert_int_equal(runner_finish(runner, 0), CHANNELS / ENDS - 1);
    runner_expect_reply(runner->clients[0], "* [\"unsubscribe\" \"0\" 0]");
    runner_expect(runner, "[\"unsubscribe\" nil 0]", "UNSUBSCRIBE");
}

static void subscribe_to_many(struct command_runner *runner, struct connection *client,
                              const char *command, int count)
{
    char line[64];

    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "%s n%d", command, i);
        runner_expect_of(runner, client, "[*]", line);
    }
}

/* Its patterns end some a turn. Nobody is taken for it, and it gets nothing more. */
static void one_with_many_patterns_leaves_in_slices(void **state)
{
    enum { PATTERNS = 3500 };
    struct command_runner *runner = *state;
    struct connection *leaver = runner_connect(runner), *other = runner_connect(runner);

    subscribe_to_many(runner, leaver, "PSUBSCRIBE", PATTERNS);
    runner->by_slices = true;
    runner_expect_of(runner, leaver, "RESET", "RESET");
    assert_int_equal(session_subscriptions(&leaver->session), 0);
    assert_true(pubsub_is_busy(&runner->server));
    runner_expect(runner, "3250", "PUBSUB NUMPAT");
    runner_expect_of(runner, leaver, "[\"psubscribe\" \"n3400\" 1]", "PSUBSCRIBE n3400");
    runner_expect_of(runner, other, "[\"psubscribe\" \"n3499\" 1]", "PSUBSCRIBE n3499");
    runner_expect(runner, "2", "PUBLISH n3400 x"); /* who left is still counted */
    runner_expect_reply(leaver, "[\"pmessage\" \"n3400\" \"n3400\" \"x\"]");
    assert_int_equal(runner_finish(runner, 0), PATTERNS / ENDS - 1);
    runner_expect(runner, "2", "PUBSUB NUMPAT");
    runner_expect(runner, "1", "PUBLISH n3400 y");
    runner_expect(runner, "1", "PUBLISH n3499 y");
    runner_expect(runner, "0", "PUBLISH n3498 y");
    runner_expect_reply(leaver, "[\"pmessage\" \"n3400\" \"n3400\" \"y\"]");
    subscribe_to_many(runner, leaver, "PSUBSCRIBE", PATTERNS);
    subscribe_to_many(runner, other, "SSUBSCRIBE", PATTERNS);
    session_leave(&runner->server, &leaver->session);
    session_leave(&runner->server, &other->session);
    runner_expect(runner, "1", "PUBLISH n3300 z");
    runner_slice(runner);
    assert_true(pubsub_is_busy(&runner->server)); /* and the server ends in the middle */
}

/* Names that begin with n, in the output. */
static int count_names(const struct connection *client)
{
    const char *bytes = buffer_content(&client->output);
    size_t size = buffer_size(&client->output);
    int names = 0;

    for (size_t i = 1; i < size; i++)
        names += bytes[i - 1] == '\n' && bytes[i] == 'n';
    return names;
}

/* What ends, and what begins, while they are listed changes nothing for the others. */
static void many_channels_are_listed_in_slices(void **state)
{
    enum { CHANNELS = 6000 };
    struct command_runner *runner = *state;
    struct connection *listener = runner_connect(runner), *other = runner_connect(runner);
    char line[64];

    subscribe_to_many(runner, listener, "SUBSCRIBE", CHANNELS);
    runner->by_slices = true;
    runner_expect(runner, "", "PUBSUB CHANNELS n*9");
    runner_expect_of(runner, other, "", "PUBSUB CHANNELS");
    assert_true(runner_slice(runner));
    for (int i = 1000; i < 1100; i++) { /* where the listings are */
        snprintf(line, sizeof(line), "UNSUBSCRIBE n%d", i);
        runner_expect_of(runner, listener, "[*]", line);
    }
    runner_expect_of(runner, listener, "[*]", "SUBSCRIBE n1000"); /* it begins anew */
    assert_in_range(runner_finish(runner, 0), 5, 20);
    assert_int_equal(count_names(runner->clients[0]), CHANNELS / 10 - 10);
    assert_in_range(count_names(other), CHANNELS - 100, CHANNELS + 1);
    buffer_clear(&runner->clients[0]->output);
    buffer_clear(&other->output);
    runner_expect_of(runner, other, "", "PUBSUB CHANNELS");
    assert_true(runner_slice(runner));
    session_leave(&runner->server, &other->session); /* in the middle */
    runner_finish(runner, 0);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "PUBSUB CHANNELS n1");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, 0), 1, 20);
    runner_expect_reply(runner->clients[0], "[[\"n1\"]]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(confirmations_count_channels_and_patterns),
        runner_test(messages_reach_who_subscribed),
        runner_test(one_that_matches_twice_is_told_twice),
        runner_test(messages_reach_other_databases),
        runner_test(resp2_allows_little),
        runner_test(resp3_allows_everything),
        runner_test(resp3_messages_are_pushes),
        runner_test(a_message_to_itself_does_not_come_between_the_replies_of_an_exec),
        runner_test(shard_channels_are_their_own),
        runner_test(channels_and_subscribers_are_counted),
        runner_test(a_message_to_many_is_delivered_in_slices),
        runner_test(who_leaves_meanwhile_is_passed_over),
        runner_test(all_that_leave_end_a_delivery),
        runner_test(messages_keep_their_order),
        runner_test(a_message_to_nobody_finishes_no_other),
        runner_test(messages_of_transactions_have_a_limit),
        runner_test(a_delivery_ends_with_the_server),
        runner_test(many_channels_are_left_in_slices),
        runner_test(one_with_many_patterns_leaves_in_slices),
        runner_test(many_channels_are_listed_in_slices),
        runner_test(events_say_key_or_event),
        runner_test(patterns_are_globs),
        runner_test(confirmations_come_to_who_wants_no_replies),
        runner_test(a_message_to_itself_comes_to_who_wants_no_replies),
    };
    return cmocka_run_group_tests_name("publish and subscribe", tests, NULL, NULL);
}
