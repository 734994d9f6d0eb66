/* The commands of bits in strings. Expected is what Redis 7.0.15 answers. */
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/kv/kv.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

/* ---- single bits */

static void bits_are_set_and_got(void **state)
{
    static const char *const cases[][2] = {
        {"0", "SETBIT k 7 1"},
        {"1", "GETBIT k 7"},
        {"0", "GETBIT k 6"},
        {"0", "GETBIT k 1000"},
        {"\"\\x01\"", "GET k"},
        {"1", "SETBIT k 7 0"},
        {"0", "SETBIT k 7 0"},
        {"\"\\x00\"", "GET k"},
        {"0", "SETBIT k 23 1"},
        {"\"\\x00\\x00\\x01\"", "GET k"},
        {"3", "STRLEN k"},
        {"0", "GETBIT none 0"},
        {"!ERR bit offset is not an integer or out of range", "SETBIT k -1 1"},
        {"!ERR bit offset is not an integer or out of range", "SETBIT k x 1"},
        {"!ERR bit offset is not an integer or out of range", "SETBIT k 4294967296 1"},
        {"!ERR bit is not an integer or out of range", "SETBIT k 0 2"},
        {"!ERR bit is not an integer or out of range", "SETBIT k 0 x"},
        {"!ERR bit is not an integer or out of range", "SETBIT k 0 -1"},
        {"!ERR bit offset is not an integer or out of range", "GETBIT k -1"},
        {"!ERR bit offset is not an integer or out of range", "GETBIT k x"},
        {"!ERR bit offset is not an integer or out of range", "GETBIT k 4294967296"},
        {"0", "SETBIT none 10 0"},
        {"\"\\x00\\x00\"", "GET none"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "SETBIT l 0 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GETBIT l 0"},
        {"!ERR wrong number of arguments for 'setbit' command", "SETBIT k 0"},
        {"1", "EXPIRE k 100"},
        {"0", "SETBIT k 1 1"},
        {"100", "TTL k"},
        {"OK", "SET n 123"},
        {"1", "GETBIT n 3"},
        {"0", "SETBIT n 6 1"},
        {"\"323\"", "GET n"},
    };

    runner_expect_all(*state, cases);
}

/* ---- counting and searching */

static void bits_are_counted(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k foobar"},
        {"26", "BITCOUNT k"},
        {"4", "BITCOUNT k 0 0"},
        {"6", "BITCOUNT k 1 1"},
        {"26", "BITCOUNT k 0 -1"},
        {"7", "BITCOUNT k -2 -1"},
        {"0", "BITCOUNT k 5 1"},
        {"0", "BITCOUNT k -1 -2"},
        {"0", "BITCOUNT k 100 200"},
        {"17", "BITCOUNT k 5 30 BIT"},
        {"4", "BITCOUNT k 5 30 byte"},
        {"5", "BITCOUNT k -10 -1 BIT"},
        {"4", "BITCOUNT k 0 -100"},
        {"!ERR syntax error", "BITCOUNT k 0"},
        {"!ERR syntax error", "BITCOUNT k 0 1 NONSENSE"},
        {"!ERR syntax error", "BITCOUNT k 0 1 BIT x"},
        {"!ERR value is not an integer or out of range", "BITCOUNT k x 1"},
        {"!ERR value is not an integer or out of range", "BITCOUNT k 0 x"},
        {"0", "BITCOUNT none"},
        {"0", "BITCOUNT none 0 1"},
        {"0", "BITCOUNT none 0"},
        {"0", "BITCOUNT none x 1"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "BITCOUNT l"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "BITCOUNT l x 1"},
        {"OK", "SET n 7"},
        {"5", "BITCOUNT n"},
    };

    runner_expect_all(*state, cases);
}

static void the_first_bit_is_found(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k \"\\xff\\xf0\\x00\""},
        {"12", "BITPOS k 0"},
        {"0", "BITPOS k 1"},
        {"-1", "BITPOS k 1 2"},
        {"-1", "BITPOS k 0 0 0"},
        {"16", "BITPOS k 0 2"},
        {"0", "BITPOS k 1 0 -1"},
        {"12", "BITPOS k 0 0 -2"},
        {"-1", "BITPOS k 1 2 -1 BYTE"},
        {"7", "BITPOS k 1 7 15 BIT"},
        {"12", "BITPOS k 0 7 15 BIT"},
        {"12", "BITPOS k 0 7 -3 bit"},
        {"-1", "BITPOS k 0 0 11 BIT"},
        {"-1", "BITPOS k 1 -1 -5"},
        {"OK", "SET k \"\\xff\\xff\""},
        {"16", "BITPOS k 0"},
        {"16", "BITPOS k 0 0"},
        {"-1", "BITPOS k 0 0 -1"},
        {"16", "BITPOS k 0 1"},
        {"-1", "BITPOS k 0 5"},
        {"OK", "SET k \"\\x00\\x00\""},
        {"-1", "BITPOS k 1"},
        {"-1", "BITPOS k 1 0 -1"},
        {"0", "BITPOS none 0"},
        {"-1", "BITPOS none 1"},
        {"-1", "BITPOS none 1 0 5"},
        {"!ERR The bit argument must be 1 or 0.", "BITPOS k 2"},
        {"!ERR value is not an integer or out of range", "BITPOS k x"},
        {"!ERR value is not an integer or out of range", "BITPOS k 1 x"},
        {"!ERR value is not an integer or out of range", "BITPOS k 1 0 x"},
        {"!ERR syntax error", "BITPOS k 1 0 1 NONSENSE"},
        {"!ERR syntax error", "BITPOS k 1 0 1 BIT x"},
        {"!ERR wrong number of arguments for 'bitpos' command", "BITPOS k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "BITPOS l 1"},
    };

    runner_expect_all(*state, cases);
}

/* ---- BITOP */

static void strings_are_combined(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET a \"\\xff\\x0f\""},
        {"OK", "SET b \"\\x0f\""},
        {"2", "BITOP AND d a b"},
        {"\"\\x0f\\x00\"", "GET d"},
        {"2", "BITOP OR d a b"},
        {"\"\\xff\\x0f\"", "GET d"},
        {"2", "BITOP XOR d a b"},
        {"\"\\xf0\\x0f\"", "GET d"},
        {"2", "BITOP NOT d a"},
        {"\"\\x00\\xf0\"", "GET d"},
        {"2", "BITOP and d a none"},
        {"\"\\x00\\x00\"", "GET d"},
        {"0", "BITOP OR d none none2"},
        {"0", "EXISTS d"},
        {"!ERR BITOP NOT must be called with a single source key.", "BITOP NOT d a b"},
        {"!ERR syntax error", "BITOP NONSENSE d a"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "BITOP AND d a l"},
        {"2", "BITOP OR l a b"},
        {"string", "TYPE l"},
        {"OK", "SET d x EX 100"},
        {"2", "BITOP OR d a"},
        {"-1", "TTL d"},
        {"!ERR wrong number of arguments for 'bitop' command", "BITOP AND d"},
        {"OK", "SET n 12"},
        {"2", "BITOP OR d n a"},
        {"\"\\xff?\"", "GET d"},
        {"2", "BITOP OR long a b none n a b a b a b a b a b a b a b"},
        {"\"\\xff?\"", "GET long"},
    };

    runner_expect_all(*state, cases);
}

/* ---- events */

static void changes_of_bits_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events E$g"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "0", "SETBIT k 0 1"},
        {'a', "1", "SETBIT k 0 1"},
        {'a', "1", "GETBIT k 0"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:setbit\" \"k\"]", NULL},
        {'b', "", NULL},
        {'b', "", NULL},
        {'a', "1", "BITOP OR d k"},
        {'a', "0", "BITOP AND d none"},
        {'a', "0", "BITOP AND d none"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"d\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:del\" \"d\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

/* ---- long strings: a part in each slice */

/* Begins the command, in slices, and returns its client. */
static struct connection *begin(struct command_runner *runner, const char *line)
{
    struct connection *client = runner_connect(runner);

    runner->by_slices = true;
    runner_expect_of(runner, client, "", line);
    assert_true(runner_slice(runner));
    assert_non_null(client->session.waiter);
    return client;
}

static void long_strings_are_made_in_slices(void **state)
{
    static const char *const cases[][3] = {
        {"SETRANGE k 5000000 end", "5000003", "\"nd\""},
        {"APPEND k more", "5000007", "\"ndmore\""},
        {"SETBIT k 8 1", "0", "\"ndmore\""},
        {"BITOP OR d k k", "5000007", "\"ndmore\""},
        {"BITOP NOT k d", "5000007", "\"\\x91\\x9b\\x92\\x90\\x8d\\x9a\""},
        {"BITOP AND k d k", "5000007", "\"\\x00\\x00\\x00\\x00\\x00\\x00\""},
        {"BITOP XOR k d k", "5000007", "\"ndmore\""},
    };
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct connection *client = begin(runner, cases[i][0]);

        runner_finish(runner, UINT64_MAX);
        runner_expect_reply(client, cases[i][1]);
        runner_expect(runner, cases[i][2], "GETRANGE k 5000001 5000006");
    }
    runner->by_slices = false;
    runner_expect(runner, "27", "BITCOUNT k 5000001 -1");
    runner_expect(runner, "8", "BITPOS k 1");
    runner_expect(runner, "40000001", "BITPOS k 1 2");
    runner_expect(runner, "\"raw\"", "OBJECT ENCODING k");
}

/* Others read the old value meanwhile, and what would write it waits; a flush begins it anew.
 */
static void a_long_string_shows_no_part(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "5000003", "SETRANGE k 5000000 end");
    client = begin(runner, "APPEND k more");
    runner_expect(runner, "5000003", "STRLEN k");
    runner_expect(runner, "\"end\"", "GETRANGE k -3 -1");
    assert_true(long_works_count(runner->server.long_works) == 1);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "4");
    runner_expect(runner, "\"more\"", "GET k");
}

/* The result is that of one moment: when the key was there, or when it was reclaimed. */
static void a_source_that_expires_meanwhile_is_there_or_not(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;
    int slices;

    runner_expect(runner, "0", "SETBIT there 39999999 1");
    runner_expect(runner, "5000000", "BITOP NOT all there");
    client = begin(runner, "BITOP OR to there all");
    slices = runner_finish(runner, UINT64_MAX);
    buffer_clear(&client->output);
    runner_expect(runner, "1", "PEXPIRE all 10");
    client = begin(runner, "BITOP OR to there all");
    for (int slice = 1; slice < slices; slice++)
        runner_slice(runner);
    runner_move_clock(runner, 20); /* before a tick comes to it */
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "5000000");
    runner->by_slices = false;
    runner_expect(runner, "40000000", "BITCOUNT to");
}

static void who_leaves_has_changed_nothing(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin(runner, "SETRANGE k 5000000 end");

    waiters_cancel(&runner->server, &client->session);
    assert_false(runner_slice(runner));
    runner_expect(runner, "0", "EXISTS k");
    runner_expect(runner, "OK", "SET k short");
}

static void in_a_transaction_it_is_a_part_of_that(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "SETBIT k 40000000 1");
    runner_expect(runner, "QUEUED", "BITOP NOT d k");
    runner_expect(runner, "QUEUED", "BITCOUNT d");
    runner_expect(runner, "[0 5000001 40000007]", "EXEC");
}

/* ---- long strings: looked at, a part in each slice */

/* Must a request of this command, whose key is k, wait? */
static bool is_held(struct command_runner *runner, const char *command)
{
    struct argument arguments[] = {{command, strlen(command)}, {"k", 1}, {"0", 1}, {"1", 1}};
    struct request request = {4, arguments, 0};

    return long_works_hold(&runner->server, &runner->clients[0]->session, &request);
}

static void long_strings_are_looked_at_in_slices(void **state)
{
    static const char *const cases[][2] = {
        {"BITCOUNT k", "3"},
        {"BITCOUNT k 1 -2", "1"},
        {"BITCOUNT k 5 -1 BIT", "3"},
        {"BITCOUNT k 8 60000000 BIT", "1"},
        {"BITPOS k 1 1", "60000000"},
        {"BITPOS k 1 20000001 -1 BIT", "60000000"},
        {"BITPOS k 1 1 7000000", "-1"},
        {"BITPOS ones 0", "80000008"},
        {"BITPOS ones 0 0 -1", "-1"},
        {"BITPOS ones 0 3 79999999 BIT", "-1"},
    };
    struct command_runner *runner = *state;

    runner_expect(runner, "0", "SETBIT k 80000007 1");
    runner_expect(runner, "10000001", "BITOP NOT ones k");
    runner_expect(runner, "0", "SETBIT k 7 1");
    runner_expect(runner, "0", "SETBIT k 60000000 1");
    runner_expect(runner, "0", "SETBIT ones 80000007 1");
    runner_expect(runner, "7", "BITPOS k 1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct connection *client = begin(runner, cases[i][0]);

        assert_in_range(runner_finish(runner, UINT64_MAX), 1, 5);
        runner_expect_reply(client, cases[i][1]);
    }
}

/* What would write the key waits. A flush does not: the walk begins anew. */
static void what_is_looked_at_does_not_change(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "0", "SETBIT k 80000007 1");
    client = begin(runner, "BITCOUNT k");
    assert_true(is_held(runner, "SETBIT"));
    assert_false(is_held(runner, "GETRANGE"));
    runner_expect(runner, "OK", "FLUSHALL");
    runner_expect(runner, "OK", "SET k a");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "3");
    assert_false(is_held(runner, "SETBIT"));
}

/* In the middle a checkpoint moves the string to the disk: each slice checks a part of it,
 * until all is checked. */
static void what_moves_to_the_disk_is_checked_in_slices(void **state)
{
    static const char *const cases[][2] = {
        {"BITCOUNT k", "1"},           {"BITPOS k 1", "160000007"},
        {"APPEND k more", "20000005"}, {"SETRANGE k 2 more", "20000001"},
        {"SETBIT k 8 1", "0"},         {"BITOP NOT to k", "20000001"}};
    enum { PARTS = 20000001 / KV_CHECK_BYTES };
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct server *server = &runner->server;
        struct connection *client;
        int slices;

        runner->by_slices = false;
        runner_expect(runner, "OK", "FLUSHALL");
        runner_expect(runner, "0", "SETBIT k 160000007 1");
        client = begin(runner, cases[i][0]);
        assert_int_equal(dueq_checkpoint(server->store, server->now), DUEQ_OK);
        dueq_maintain(server->store, false);
        slices = runner_finish(runner, UINT64_MAX);
        runner_expect_reply(client, cases[i][1]);
        assert_in_range(slices, i < 2 ? 2 * PARTS - 3 : 3 * PARTS - 3, 4 * PARTS);
    }
}

/* The same of LCS, which takes 200,000 pairs of bytes a slice. */
static void what_moves_to_the_disk_is_checked_while_it_is_compared(void **state)
{
    enum { SIZE = 20000001, PARTS = SIZE / KV_CHECK_BYTES, SLICES = SIZE / 200000 };
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "0", "SETBIT k 160000007 1");
    client = begin(runner, "LCS k none LEN");
    assert_int_equal(dueq_checkpoint(runner->server.store, runner->server.now), DUEQ_OK);
    dueq_maintain(runner->server.store, false);
    assert_in_range(runner_finish(runner, UINT64_MAX), SLICES + PARTS - 3, SLICES + 2 * PARTS);
    runner_expect_reply(client, "0");
}

static void who_leaves_looks_no_further(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "0", "SETBIT k 80000007 1");
    client = begin(runner, "BITPOS k 1");
    waiters_cancel(&runner->server, &client->session);
    assert_false(runner_slice(runner));
    runner_expect(runner, "OK", "SET k short");
}

static void a_transaction_looks_at_long_strings(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "0", "SETBIT k 80000007 1");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "BITCOUNT k");
    runner_expect(runner, "QUEUED", "BITPOS k 1");
    runner_expect(runner, "QUEUED", "SET k a");
    runner_expect(runner, "QUEUED", "BITCOUNT k");
    runner_expect(runner, "[1 80000007 OK 3]", "EXEC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(bits_are_set_and_got),
        runner_test(bits_are_counted),
        runner_test(the_first_bit_is_found),
        runner_test(strings_are_combined),
        runner_test(changes_of_bits_are_published),
        runner_test(long_strings_are_made_in_slices),
        runner_test(a_long_string_shows_no_part),
        runner_test(a_source_that_expires_meanwhile_is_there_or_not),
        runner_test(who_leaves_has_changed_nothing),
        runner_test(in_a_transaction_it_is_a_part_of_that),
        runner_test(long_strings_are_looked_at_in_slices),
        runner_test(what_is_looked_at_does_not_change),
        runner_test(what_moves_to_the_disk_is_checked_in_slices),
        runner_test(what_moves_to_the_disk_is_checked_while_it_is_compared),
        runner_test(who_leaves_looks_no_further),
        runner_test(a_transaction_looks_at_long_strings),
    };
    return cmocka_run_group_tests_name("bit commands", tests, NULL, NULL);
}
