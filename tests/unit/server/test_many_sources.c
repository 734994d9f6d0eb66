/* SUNION and its like, and BITOP, of thousands of keys: no slice is long, the result is that of
 * one step, and who goes away in the middle leaves nothing. */
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/string.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 5000, LINE = 32 * MANY, BITS = 700 };

/* `first`, the words of `each` for the numbers from 0 on ('#' stands for it), and `last`. The
 * caller frees it. */
static char *line_of(const char *first, const char *each, int count, const char *last)
{
    const char *mark = strchr(each, '#');
    char *line = malloc(LINE);
    size_t size = (size_t)snprintf(line, LINE, "%s", first);

    for (int i = 0; i < count; i++)
        size += mark == NULL ? (size_t)snprintf(line + size, LINE - size, " %s", each)
                             : (size_t)snprintf(line + size, LINE - size, " %.*s%d",
                                                (int)(mark - each), each, i);
    snprintf(line + size, LINE - size, " %s", last);
    return line;
}

static unsigned slices(struct command_runner *runner)
{
    unsigned count = 0;

    while (runner_slice(runner))
        count++;
    return count;
}

static void begin(struct command_runner *runner, const char *first, const char *each, int count,
                  const char *last)
{
    char *line = line_of(first, each, count, last);

    runner->by_slices = true;
    runner_run(runner, runner->clients[0], line);
    free(line);
}

#define expect(runner, pattern, ...)                                                           \
    do {                                                                                       \
        begin(runner, __VA_ARGS__);                                                            \
        assert_true(alone_runs(&(runner)->server));                                            \
        assert_in_range(slices(runner), MANY / ALONE_STEPS, 10 * (MANY / ALONE_STEPS));        \
        runner_expect_reply((runner)->clients[0], pattern);                                    \
        assert_int_equal(0, long_works_count((runner)->server.long_works));                    \
    } while (0)

/* Each set has a member of its own, m<n>, and "all"; k7 is a sorted set, k9 is not there. */
static void fill(struct command_runner *runner)
{
    char line[64];

    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), i == 7 ? "ZADD k%d 2 all 5 m%d" : "SADD k%d all m%d", i,
                 i);
        if (i != 9)
            runner_run(runner, runner->clients[0], line);
    }
    buffer_clear(&runner->clients[0]->output);
}

static void they_are_combined_in_slices(void **state)
{
    struct command_runner *runner = *state;

    fill(runner);
    begin(runner, "SUNION", "k#", MANY, "");
    assert_int_equal(1, slices(runner));
    runner_expect_reply(runner->clients[0], "!WRONGTYPE *");
    expect(runner, "5000", "ZUNIONSTORE to 5000", "k#", MANY, "");
    runner_expect(runner, "\"5000\"", "ZSCORE to all"); /* 4,998 sets and one that has 2 */
    runner_expect(runner, "\"5\"", "ZSCORE to m7");
    runner_expect(runner, "1", "DEL k7");
    expect(runner, "4999", "SUNIONSTORE to", "k#", MANY, "");
    expect(runner, "0", "SINTERCARD 5000", "k#", MANY, "");
    runner_expect(runner, "2", "SADD k7 all m7");
    runner_expect(runner, "1", "SADD k9 all");
    expect(runner, "[\"all\"]", "SINTER", "k#", MANY, "");
    expect(runner, "1", "SINTERCARD 5000", "k#", MANY, "LIMIT 3");
    expect(runner, "1", "ZINTERSTORE to 5000", "k#", MANY, "");
    runner_expect(runner, "\"5000\"", "ZSCORE to all");
    expect(runner, "0", "SDIFFSTORE to k0", "k#", MANY, "");
    runner_expect(runner, "0", "EXISTS to");
    runner_expect(runner, "1", "SADD first m1");
    expect(runner, "0", "SDIFFSTORE to first", "k#", MANY, "");
    expect(runner, "1", "SDIFFSTORE to first", "none#", MANY, "");
}

/* An error of a key comes before one of the options, as in Redis. */
static void errors_come_in_order(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "1", "RPUSH k4999 e");
    begin(runner, "ZUNION 5000", "k#", MANY, "WEIGHTS x");
    slices(runner);
    runner_expect_reply(runner->clients[0], "!WRONGTYPE *");
    begin(runner, "ZUNION 4999", "k#", MANY - 1, "WEIGHTS x");
    slices(runner);
    runner_expect_reply(runner->clients[0], "!ERR syntax error");
    assert_int_equal(0, long_works_count(runner->server.long_works));
}

/* Weights belong to the keys as they were named; the smallest key is added first. */
static void weights_stay_with_their_keys(void **state)
{
    struct command_runner *runner = *state;
    char *weights = line_of("WEIGHTS", "#", MANY, "");

    fill(runner);
    runner_run(runner, runner->clients[0], "SADD k3 a b c d e f");
    buffer_clear(&runner->clients[0]->output);
    begin(runner, "ZUNIONSTORE to 5000", "k#", MANY, weights);
    slices(runner);
    runner_expect_reply(runner->clients[0], "5006");
    runner_expect(runner, "\"3\"", "ZSCORE to a");
    runner_expect(runner, "\"35\"", "ZSCORE to m7"); /* 5, 7 times */
    runner_expect(runner, "\"4999\"", "ZSCORE to m4999");
    runner_expect(runner, "\"12497498\"", "ZSCORE to all"); /* 0 + ... + 4999, 7 twice, no 9 */
    free(weights);
}

/* Also when the keys are few. The last of several WEIGHTS counts. */
static void options_of_many_words_are_read_in_slices(void **state)
{
    struct command_runner *runner = *state;
    char *weights = line_of("WEIGHTS", "#", MANY, "WITHSCORES");

    runner_expect(runner, "1", "ZADD k2 10 m");
    begin(runner, "ZUNION 5000", "k#", MANY, weights);
    assert_in_range(slices(runner), 4 * (MANY / ALONE_STEPS), 5 * (MANY / ALONE_STEPS));
    runner_expect_reply(runner->clients[0], "[\"m\" \"20\"]");
    expect(runner, "[\"m\" \"40\"]", "ZINTER 1 k2 WITHSCORES", "WEIGHTS #", MANY,
           "AGGREGATE MIN WEIGHTS 4");
    free(weights);
}

/* An error of SINTERCARD's options comes before one of a key, as in Redis. */
static void a_limit_given_again_and_again_is_read_in_slices(void **state)
{
    static const char *const lasts[][2] = {{"LIMIT -1 NONE", "!ERR LIMIT can't be negative"},
                                           {"LIMIT x", "!ERR LIMIT can't be negative"},
                                           {"LIMIT", "!ERR syntax error"},
                                           {"NONE 1", "!ERR syntax error"},
                                           {"LIMIT 1", "!WRONGTYPE *"}};
    struct command_runner *runner = *state;

    runner_expect(runner, "3", "SADD s a b c");
    runner_expect(runner, "1", "RPUSH l e");
    begin(runner, "SINTERCARD 1 s", "LIMIT 1", MANY, "LIMIT 2");
    assert_in_range(slices(runner), 2 * MANY / ALONE_STEPS, 2 * MANY / ALONE_STEPS + 2);
    runner_expect_reply(runner->clients[0], "2");
    for (int i = 0; i < 5; i++) {
        begin(runner, "SINTERCARD 2 s l", "LIMIT 1", MANY, lasts[i][0]);
        assert_in_range(slices(runner), 2 * MANY / ALONE_STEPS, 2 * MANY / ALONE_STEPS + 2);
        runner_expect_reply(runner->clients[0], lasts[i][1]);
        assert_int_equal(0, long_works_count(runner->server.long_works));
    }
}

static void a_wrong_weight_comes_before_what_follows(void **state)
{
    static const char *const lasts[] = {"x NONE", "x", "NONE"};
    struct command_runner *runner = *state;
    char *keys = line_of("ZUNIONSTORE to 5000", "k#", MANY, "WEIGHTS");

    for (int i = 0; i < 3; i++) {
        begin(runner, keys, "1", i == 2 ? MANY : MANY - 1, lasts[i]);
        assert_in_range(slices(runner), 2 * (MANY / ALONE_STEPS), 3 * (MANY / ALONE_STEPS));
        runner_expect_reply(runner->clients[0],
                            i == 2 ? "!ERR syntax error" : "!ERR weight value is not a float");
    }
    begin(runner, keys, "1", MANY - 1, "");
    slices(runner);
    runner_expect_reply(runner->clients[0], "!ERR syntax error");
    free(keys);
}

static void weights_are_read_in_an_exec_too(void **state)
{
    struct command_runner *runner = *state;
    char *keys = line_of("ZUNIONSTORE to 5000", "k#", MANY, "WEIGHTS");

    runner_expect(runner, "1", "ZADD k4999 10 m");
    runner_expect(runner, "OK", "MULTI");
    begin(runner, keys, "#", MANY, "");
    begin(runner, keys, "x", MANY, "");
    buffer_clear(&runner->clients[0]->output);
    runner_expect(runner, "QUEUED", "ZSCORE to m");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(slices(runner), 5 * (MANY / ALONE_STEPS), 8 * (MANY / ALONE_STEPS));
    runner_expect_reply(runner->clients[0], "[1 !ERR weight value is not a float \"49990\"]");
    free(keys);
}

static void in_an_exec_it_is_the_same(void **state)
{
    struct command_runner *runner = *state;

    fill(runner);
    runner_expect(runner, "OK", "MULTI");
    begin(runner, "ZUNIONSTORE to 5000", "k#", MANY, "");
    begin(runner, "SUNION", "k#", MANY, "");
    runner_run(runner, runner->clients[0], "ZCARD to");
    buffer_clear(&runner->clients[0]->output);
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(slices(runner), 2 * (MANY / ALONE_STEPS), 20 * (MANY / ALONE_STEPS));
    runner_expect_reply(runner->clients[0], "[5000 !WRONGTYPE * 5000]");
}

/* ---- what has too much to do to be alone */

static void a_very_long_one_lets_others_work(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    char *members = line_of("SADD s", "m#", 300, "");

    runner_run(runner, other, members);
    buffer_clear(&other->output);
    free(members);
    begin(runner, "SINTER", "s", MANY, "");
    for (int i = 0; i < MANY / ALONE_STEPS; i++) {
        assert_true(alone_runs(&runner->server));
        assert_true(runner_slice(runner));
    }
    assert_false(alone_runs(&runner->server));
    assert_int_equal(1, long_works_count(runner->server.long_works));
    runner_expect_of(runner, other, "OK", "SET k v");
    runner_expect_of(runner, other, "300", "SCARD s");
    assert_in_range(slices(runner), 300, 300 * MANY / LONG_STEPS + 10);
    assert_int_equal(0, long_works_count(runner->server.long_works));
    assert_in_range(buffer_size(&runner->clients[0]->output), 300 * 8, 300 * 12);
}

/* ---- ends in the middle */

static void leave_in_the_middle(struct command_runner *runner, const char *first,
                                const char *each)
{
    struct connection *gone = runner_connect(runner);
    char *line = line_of(first, each, MANY, "");

    runner->by_slices = true;
    runner_run(runner, gone, line);
    free(line);
    for (int i = 0; i < MANY / ALONE_STEPS + 1; i++)
        runner_slice(runner);
    assert_true(alone_runs(&runner->server));
    session_leave(&runner->server, &gone->session);
    assert_false(alone_runs(&runner->server));
    assert_int_equal(0, long_works_count(runner->server.long_works));
    assert_int_equal(0, slices(runner));
}

static void who_leaves_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;

    fill(runner);
    runner_expect(runner, "1", "DEL k7");
    leave_in_the_middle(runner, "SUNION", "k#");
    leave_in_the_middle(runner, "SUNIONSTORE to", "k#");
    leave_in_the_middle(runner, "ZUNIONSTORE to 5000", "k#");
    leave_in_the_middle(runner, "ZUNIONSTORE to 1 k1", "WEIGHTS #");
    runner_expect(runner, "0", "EXISTS to");
    runner_expect(runner, "OK", "FLUSHALL");
    leave_in_the_middle(runner, "BITOP OR to", "k#");
    runner_expect(runner, "0", "EXISTS to");
}

static void a_server_that_stops_says_so(void **state)
{
    struct command_runner *runner = *state;

    fill(runner);
    runner_expect(runner, "1", "DEL k7");
    begin(runner, "SUNIONSTORE to", "k#", MANY, "");
    runner_slice(runner);
    alone_finish_all(&runner->server);
    runner_expect_reply(runner->clients[0], "!ERR the server is about to stop, *");
    runner_expect_of(runner, runner_connect(runner), "0", "EXISTS to");
}

/* ---- BITOP */

static unsigned char byte_of(int string, int at)
{
    return (unsigned char)(string * 31 + at * 7 + 1);
}

/* String n has n % 40 bytes; the command names them from n = 0, 1 or 39 on. */
static void fill_strings(struct command_runner *runner)
{
    char line[256];

    for (int i = 0; i < BITS; i++) {
        int size = snprintf(line, sizeof(line), "SET b%d \"", i);

        for (int at = 0; at < i % 40; at++)
            size +=
                snprintf(line + size, sizeof(line) - (size_t)size, "\\x%02x", byte_of(i, at));
        snprintf(line + size, sizeof(line) - (size_t)size, "\"");
        runner_expect(runner, "OK", line);
    }
}

static unsigned char byte_or_zero(int string, int at)
{
    return at < string % 40 ? byte_of(string, at) : 0;
}

/* As Redis does it: what is shorter ends with zeros. */
static void is_result(struct command_runner *runner, char operation)
{
    unsigned char wanted[39];
    struct dueq_slice value;
    struct keys_view view = {store_keys(runner->server.store), 0, runner->server.now};

    for (int at = 0; at < 39; at++) {
        wanted[at] = byte_or_zero(0, at);
        for (int i = 1; i < BITS; i++) {
            unsigned char byte = byte_or_zero(i, at);

            wanted[at] = (unsigned char)(operation == 'A'   ? wanted[at] & byte
                                         : operation == 'O' ? wanted[at] | byte
                                                            : wanted[at] ^ byte);
        }
    }
    assert_int_equal(DUEQ_OK, string_get(&view, dueq_slice("to", 2), &value));
    assert_int_equal(39, value.size);
    assert_memory_equal(wanted, value.data, 39);
}

static void many_strings_are_combined_in_slices(void **state)
{
    static const char *const operations[] = {"AND", "OR", "XOR"};
    struct command_runner *runner = *state;

    fill_strings(runner);
    for (int i = 0; i < 3; i++) {
        char first[32];

        snprintf(first, sizeof(first), "BITOP %s to", operations[i]);
        begin(runner, first, "b#", BITS, "");
        assert_true(alone_runs(&runner->server));
        assert_in_range(slices(runner), 3, 6);
        runner_expect_reply(runner->clients[0], "39");
        is_result(runner, *operations[i]);
    }
    begin(runner, "BITOP OR to", "none#", BITS, "");
    slices(runner);
    runner_expect_reply(runner->clients[0], "0");
    runner_expect(runner, "0", "EXISTS to");
    runner_expect(runner, "2", "DEL b698 b699");
    runner_expect(runner, "1", "RPUSH b699 e");
    begin(runner, "BITOP OR to", "b#", BITS - 1, "b699");
    slices(runner);
    runner_expect_reply(runner->clients[0], "!WRONGTYPE *");
}

/* Nothing is reclaimed while one is alone: it sees the keys of its first moment to the end. */
static void what_expires_meanwhile_is_there_to_the_end(void **state)
{
    struct command_runner *runner = *state;

    fill_strings(runner);
    runner_expect(runner, "1", "PEXPIRE b699 10");
    begin(runner, "BITOP XOR to", "b#", BITS, "");
    runner_slice(runner);
    runner_move_clock(runner, 20);
    slices(runner);
    runner_expect_reply(runner->clients[0], "39");
    is_result(runner, 'X');
    fill(runner);
    runner_expect(runner, "1", "DEL k7");
    runner_expect(runner, "1", "PEXPIRE k4998 10");
    begin(runner, "SUNIONSTORE to", "k#", MANY, "");
    runner_slice(runner);
    runner_move_clock(runner, 20);
    slices(runner);
    runner_expect_reply(runner->clients[0], "4999");
}

/* 600 times 3 MB: a slice does not combine all of a string. */
static void long_strings_take_several_slices_each(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "0", "SETBIT long 23999999 1");
    runner_expect(runner, "0", "SETBIT long 5 1");
    begin(runner, "BITOP XOR to", "long", 601, "");
    assert_in_range(slices(runner), 1200, 2400);
    runner_expect_reply(runner->clients[0], "3000000");
    runner->by_slices = false;
    runner_expect(runner, "2", "BITCOUNT to");
    begin(runner, "BITOP XOR to", "long", 602, "");
    slices(runner);
    runner_expect_reply(runner->clients[0], "3000000");
    runner->by_slices = false;
    runner_expect(runner, "0", "BITCOUNT to");
}

static void in_an_exec_bits_are_the_same(void **state)
{
    struct command_runner *runner = *state;

    fill_strings(runner);
    runner->by_slices = false;
    runner_expect(runner, "OK", "MULTI");
    begin(runner, "BITOP XOR to", "b#", BITS, "");
    buffer_clear(&runner->clients[0]->output);
    runner->by_slices = false;
    runner_expect(runner, "[39]", "EXEC");
    is_result(runner, 'X');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(they_are_combined_in_slices),
        runner_test(errors_come_in_order),
        runner_test(weights_stay_with_their_keys),
        runner_test(options_of_many_words_are_read_in_slices),
        runner_test(a_limit_given_again_and_again_is_read_in_slices),
        runner_test(a_wrong_weight_comes_before_what_follows),
        runner_test(weights_are_read_in_an_exec_too),
        runner_test(in_an_exec_it_is_the_same),
        runner_test(a_very_long_one_lets_others_work),
        runner_test(who_leaves_leaves_nothing),
        runner_test(a_server_that_stops_says_so),
        runner_test(many_strings_are_combined_in_slices),
        runner_test(what_expires_meanwhile_is_there_to_the_end),
        runner_test(long_strings_take_several_slices_each),
        runner_test(in_an_exec_bits_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
