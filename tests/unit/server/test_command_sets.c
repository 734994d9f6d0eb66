/* The commands of sets: forms, replies, errors, events, random members. */
#include "tests/support/client/event_listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define WRONGTYPE   "!WRONGTYPE Operation against a key holding the wrong kind of value"
#define NOT_INTEGER "!ERR value is not an integer or out of range"

enum { MANY = 1000 };

/* Adds the members 0, 1, ... to the key. */
static void fill(struct command_runner *runner, const char *key, int count)
{
    char line[64];

    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "SADD %s %d", key, i);
        runner_expect(runner, "1", line);
    }
}

/* Runs a command whose reply is some of the members of `fill`, marks them in `seen`, and
 * returns their number; *ret_twice: how many were marked already. */
static int take_members(struct command_runner *runner, const char *line, bool *seen,
                        int *ret_twice)
{
    char *bytes = runner_bytes(runner, line), *end;
    long count = strtol(bytes + 1, &end, 10);

    *ret_twice = 0;
    for (long i = 0; i < count; i++) {
        long member;

        end = strstr(end, "\r\n$");
        assert_non_null(end);
        member = strtol(strstr(end + 3, "\r\n") + 2, &end, 10);
        assert_in_range(member, 0, MANY - 1);
        *ret_twice += seen[member];
        seen[member] = true;
    }
    free(bytes);
    return (int)count;
}

/* ---- members */

static void members_are_there_once(void **state)
{
    static const char *const cases[][2] = {
        {"2", "SADD k a b a"},
        {"0", "SADD k a b"},
        {"2", "SCARD k"},
        {"1", "SISMEMBER k a"},
        {"0", "SISMEMBER k c"},
        {"0", "SISMEMBER none a"},
        {"[1 0 1]", "SMISMEMBER k a c b"},
        {"[0 0]", "SMISMEMBER none a b"},
        {"1", "SREM k a c"},
        {"[\"b\"]", "SMEMBERS k"},
        {"1", "SREM k b b"},
        {"0", "EXISTS k"},
        {"0", "SREM k a"},
        {"0", "SCARD k"},
        {"[]", "SMEMBERS k"},
        {"!ERR wrong number of arguments for 'sadd' command", "SADD k"},
    };

    runner_expect_all(*state, cases);
}

static void members_are_a_set_in_resp3(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "1", "SADD k a");
    runner_expect_bytes(runner, "*1\r\n$1\r\na\r\n", "SMEMBERS k");
    free(runner_bytes(runner, "HELLO 3"));
    runner_expect_bytes(runner, "~1\r\n$1\r\na\r\n", "SMEMBERS k");
    runner_expect_bytes(runner, "~1\r\n$1\r\na\r\n", "SINTER k k");
    runner_expect_bytes(runner, "~1\r\n$1\r\na\r\n", "SUNION k none");
    runner_expect_bytes(runner, "~0\r\n", "SDIFF k k");
    runner_expect_bytes(runner, "*1\r\n$1\r\na\r\n", "SRANDMEMBER k 5");
    runner_expect_bytes(runner, "*2\r\n$1\r\na\r\n$1\r\na\r\n", "SRANDMEMBER k -2");
    runner_expect_bytes(runner, "*0\r\n", "SRANDMEMBER none 5");
    runner_expect_bytes(runner, "~0\r\n", "SPOP k 0");
    runner_expect_bytes(runner, "~1\r\n$1\r\na\r\n", "SPOP k 1");
    runner_expect_bytes(runner, "~0\r\n", "SPOP k 1");
    runner_expect_bytes(runner, "_\r\n", "SPOP k");
    runner_expect_bytes(runner, "_\r\n", "SRANDMEMBER k");
}

static void a_member_moves_to_another_set(void **state)
{
    static const char *const cases[][2] = {
        {"2", "SADD a x y"},     {"1", "SADD b y"},       {"1", "SMOVE a b x"},
        {"1", "SMOVE a b y"},    {"0", "EXISTS a"},       {"2", "SCARD b"},
        {"0", "SMOVE b c none"}, {"0", "SMOVE none c x"}, {"0", "EXISTS c"},
        {"1", "SMOVE b b x"},    {"0", "SMOVE b b none"},
    };

    runner_expect_all(*state, cases);
}

static void keys_of_other_types_are_refused(void **state)
{
    static const char *const lines[] = {
        "SADD s a",        "SREM s a",          "SCARD s",          "SISMEMBER s a",
        "SMISMEMBER s a",  "SMEMBERS s",        "SPOP s",           "SPOP s 0",
        "SRANDMEMBER s",   "SRANDMEMBER s 0",   "SMOVE s k a",      "SMOVE k s a",
        "SINTER none s",   "SUNION k s",        "SDIFF none s",     "SINTERCARD 2 none s",
        "SINTERSTORE d s", "SUNIONSTORE d k s", "SDIFFSTORE d k s", "SSCAN s 0",
        "SSCAN s 0 FOO",
    };
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "SET s value");
    runner_expect(runner, "1", "SADD k a");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        runner_expect(runner, WRONGTYPE, lines[i]);
    runner_expect(runner, "0", "SMOVE none s a");
}

static void long_members_are_members(void **state)
{
    struct command_runner *runner = *state;
    char member[1001], line[4096], pattern[4096];

    memset(member, 'x', sizeof(member) - 1);
    member[sizeof(member) - 1] = '\0';
    snprintf(line, sizeof(line), "SADD k %s %sy \"\"", member, member);
    runner_expect(runner, "3", line);
    snprintf(line, sizeof(line), "SMISMEMBER k %s %sy %sz \"\"", member, member, member);
    runner_expect(runner, "[1 1 0 1]", line);
    snprintf(line, sizeof(line), "SMOVE k l %sy", member);
    runner_expect(runner, "1", line);
    snprintf(pattern, sizeof(pattern), "[\"%sy\"]", member);
    runner_expect(runner, pattern, "SMEMBERS l");
    runner_expect(runner, pattern, "SDIFF l k");
    runner_expect(runner, "2", "SDIFFSTORE m k l");
    snprintf(line, sizeof(line), "SREM m %s", member);
    runner_expect(runner, "1", line);
    runner_expect(runner, "[\"\"]", "SPOP m 9");
}

/* ---- algebra */

static void sets_are_combined(void **state)
{
    static const char *const cases[][2] = {
        {"4", "SADD a 1 2 3 4"},
        {"3", "SADD b 3 4 5"},
        {"1", "SADD c 4"},
        {"[\"4\"]", "SINTER a b c"},
        {"[]", "SINTER a b none"},
        {"2", "SINTERSTORE d b a"},
        {"2", "SINTERCARD 2 d a"},
        {"0", "SDIFFSTORE e d b"},
        {"[\"5\"]", "SDIFF b a none"},
        {"[]", "SDIFF none a"},
        {"5", "SUNIONSTORE e a b c none a"},
        {"5", "SINTERCARD 2 e e"},
        {"[]", "SUNION none none"},
        {"[\"4\"]", "SUNION c c"},
    };

    runner_expect_all(*state, cases);
}

static void an_intersection_is_counted_up_to_a_limit(void **state)
{
    static const char *const cases[][2] = {
        {"4", "SADD a 1 2 3 4"},
        {"3", "SADD b 2 3 4"},
        {"3", "SINTERCARD 2 a b"},
        {"2", "SINTERCARD 2 a b LIMIT 2"},
        {"3", "SINTERCARD 2 a b limit 0"},
        {"3", "SINTERCARD 2 a b LIMIT 9"},
        {"1", "SINTERCARD 2 a b LIMIT 9 LIMIT 1"},
        {"0", "SINTERCARD 2 a none LIMIT 1"},
        {"!ERR numkeys should be greater than 0", "SINTERCARD 0 a"},
        {"!ERR numkeys should be greater than 0", "SINTERCARD x a"},
        {"!ERR Number of keys can't be greater than number of args", "SINTERCARD 2 a"},
        {"!ERR LIMIT can't be negative", "SINTERCARD 1 a LIMIT -1"},
        {"!ERR LIMIT can't be negative", "SINTERCARD 1 a LIMIT x"},
        {"!ERR syntax error", "SINTERCARD 1 a LIMIT"},
        {"!ERR syntax error", "SINTERCARD 1 a FOO 1"},
    };

    runner_expect_all(*state, cases);
}

static void a_result_replaces_whatever_was_there(void **state)
{
    static const char *const cases[][2] = {
        {"3", "SADD a 1 2 3"},
        {"OK", "SET d value EX 100"},
        {"3", "SUNIONSTORE d a"},
        {"set", "TYPE d"},
        {"-1", "TTL d"},
        {"0", "SINTERSTORE d a none"},
        {"0", "EXISTS d"},
        {"1", "SADD b 2"},
        {"2", "SDIFFSTORE a a b"},
        {"[0 1]", "SMISMEMBER a 2 3"},
        {"3", "SUNIONSTORE a a b"},
        {"1", "SINTERSTORE a b a"},
        {"[\"2\"]", "SMEMBERS a"},
    };

    runner_expect_all(*state, cases);
}

/* ---- random members */

static void spop_takes_what_it_replies(void **state)
{
    static const char *const lines[] = {"SPOP k 3", "SPOP k 400", "SPOP k 50", "SPOP k 545"};
    static const int counts[] = {3, 400, 50, 545};
    struct command_runner *runner = *state;
    bool seen[MANY] = {false};
    int twice;

    fill(runner, "k", MANY);
    runner_expect(runner, "\"*\"", "SPOP k");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(take_members(runner, lines[i], seen, &twice), counts[i]);
        assert_int_equal(twice, 0);
    }
    runner_expect(runner, "1", "SCARD k");
    assert_int_equal(take_members(runner, "SPOP k 9", seen, &twice), 1);
    runner_expect(runner, "0", "EXISTS k");
}

static void srandmember_picks_different_ones(void **state)
{
    static const char *const lines[] = {"SRANDMEMBER k 3", "SRANDMEMBER k 400",
                                        "SRANDMEMBER k 1000", "SRANDMEMBER k 2000"};
    static const int counts[] = {3, 400, MANY, MANY};
    struct command_runner *runner = *state;
    int twice;

    fill(runner, "k", MANY);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        bool seen[MANY] = {false};

        assert_int_equal(take_members(runner, lines[i], seen, &twice), counts[i]);
        assert_int_equal(twice, 0);
    }
    runner_expect(runner, "1000", "SCARD k");
}

static void a_negative_count_may_repeat(void **state)
{
    struct command_runner *runner = *state;
    bool seen[MANY] = {false};
    int twice;

    fill(runner, "k", 3);
    assert_int_equal(take_members(runner, "SRANDMEMBER k -100", seen, &twice), 100);
    assert_true(twice >= 97);
    assert_true(seen[0] && seen[1] && seen[2]); /* one in 10^17 runs misses one */
}

static void bad_counts_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR value is out of range, must be positive", "SPOP none -1"},
        {"!ERR value is out of range, must be positive", "SPOP none x"},
        {"!ERR syntax error", "SPOP none 1 2"},
        {NOT_INTEGER, "SRANDMEMBER none x"},
        {"!ERR value is out of range, value must between -9223372036854775807 and "
         "9223372036854775807",
         "SRANDMEMBER none -9223372036854775808"},
        {"!ERR syntax error", "SRANDMEMBER none 1 2"},
        {"nil", "SPOP none"},
        {"[]", "SPOP none 1"},
        {"nil", "SRANDMEMBER none"},
        {"[]", "SRANDMEMBER none -5"},
    };

    runner_expect_all(*state, cases);
}

/* ---- SSCAN */

static void a_scan_hands_out_every_member(void **state)
{
    struct command_runner *runner = *state;
    bool seen[MANY] = {false};
    char line[64], cursor[32] = "0";
    int calls = 0;

    fill(runner, "k", MANY);
    do {
        char *bytes, *at;

        snprintf(line, sizeof(line), "SSCAN k %s COUNT 50", cursor);
        bytes = runner_bytes(runner, line);
        assert_int_equal(sscanf(bytes, "*2\r\n$%*d\r\n%31[0-9]", cursor), 1);
        at = strstr(bytes + 4, "*");
        while ((at = strstr(at, "\r\n$")) != NULL) {
            at = strstr(at + 3, "\r\n");
            seen[strtol(at + 2, NULL, 10)] = true;
        }
        free(bytes);
        calls++;
    } while (strcmp(cursor, "0") != 0);
    assert_true(calls > 10);
    for (int i = 0; i < MANY; i++)
        assert_true(seen[i]);
}

static void cursors_are_read_as_redis_reads_them(void **state)
{
    static const char *const cases[][2] = {
        {"2", "SADD k a b"},
        {"[\"0\" [\"a\"]]", "SSCAN k 0 MATCH a"},
        {"[\"0\" [*\"a\"*]]", "SSCAN k \"\" COUNT 1"},
        {"[\"0\" [*\"b\"*]]", "SSCAN k -1"},
        {"[\"0\" []]", "SSCAN none +5 FOO"},
        {"!ERR invalid cursor", "SSCAN none x"},
        {"!ERR invalid cursor", "SSCAN none \" 1\""},
        {"!ERR invalid cursor", "SSCAN none 18446744073709551616"},
        {"!ERR syntax error", "SSCAN k 0 COUNT 0"},
        {NOT_INTEGER, "SSCAN k 0 COUNT x"},
        {"!ERR syntax error", "SSCAN k 0 MATCH"},
        {"!ERR syntax error", "SSCAN k 0 TYPE set"},
    };

    runner_expect_all(*state, cases);
}

/* ---- events */

static void every_change_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"SADD k a b c d", "sadd k"},
        {"SADD k a", ""},
        {"SREM k none", ""},
        {"SREM k a", "srem k"},
        {"SMOVE k l b", "srem k, sadd l"},
        {"SMOVE l l b", ""},
        {"SMOVE l k b", "srem l, del l, sadd k"},
        {"SPOP k", "spop k"},
        {"SPOP k 0", ""},
        {"SPOP k 1", "spop k"},
        {"SPOP k 9", "spop k, del k"},
        {"SADD k a", "sadd k"},
        {"SPOP k", "spop k, del k"},
        {"SADD k a b", "sadd k"},
        {"SINTERSTORE d k k", "sinterstore d"},
        {"SUNIONSTORE d k d", "sunionstore d"},
        {"SDIFFSTORE e d none", "sdiffstore e"},
        {"SDIFFSTORE e d k", "del e"},
        {"SDIFFSTORE e d k", ""},
        {"SREM k a b", "srem k, del k"},
    };
    struct command_runner *runner = *state;
    struct connection *listener = event_listener_new(runner);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free(runner_bytes(runner, cases[i][0]));
        event_listener_expect(listener, cases[i][1]);
    }
}

static void integers_come_in_their_order(void **state)
{
    static const char *const cases[][2] = {
        {"5", "SADD a 30 -4 100 5 0"},
        {"3", "SADD b 31 -5 5"},
        {"[\"-4\" \"0\" \"5\" \"30\" \"100\"]", "SMEMBERS a"},
        {"[\"0\" [\"-4\" \"0\" \"5\" \"30\" \"100\"]]", "SSCAN a 0 COUNT 1"},
        {"[\"-4\" \"0\" \"5\" \"30\" \"100\"]", "SRANDMEMBER a 5"},
        {"[\"-5\" \"-4\" \"0\" \"5\" \"30\" \"31\" \"100\"]", "SUNION a none b"},
        {"[\"-4\" \"0\" \"30\" \"100\"]", "SDIFF a b"},
        {"[\"5\"]", "SINTER a b"},
        {"7", "SUNIONSTORE c a b"},
        {"[\"-5\" \"-4\" \"0\" \"5\" \"30\" \"31\" \"100\"]", "SMEMBERS c"},
        {"2", "SREM c 0 31"},
        {"1", "SMOVE b c 31"},
        {"[\"-5\" \"-4\" \"5\" \"30\" \"31\" \"100\"]", "SMEMBERS c"},
        {"[\"-4\" \"0\" \"5\" \"30\" \"100\"]", "SPOP a 9"},
    };

    runner_expect_all(*state, cases);
}

/* As in Redis, when SPOP leaves few members, the set is made anew. */
static void what_a_pop_leaves_of_a_set_may_be_integers(void **state)
{
    static const char *const cases[][2] = {
        {"7", "SADD s a b c d e f 1"},
        {"6", "SREM s a b c d e f"},
        {"5", "SADD s 2 3 4 5 6"},
        {"\"hashtable\"", "OBJECT ENCODING s"},
        {"1", "EXPIRE s 100"},
        {"*", "SPOP s 4"},
        {"\"hashtable\"", "OBJECT ENCODING s"},
        {"4", "SADD s 11 12 13 14"},
        {"*", "SPOP s 5"},
        {"1", "SCARD s"},
        {"\"intset\"", "OBJECT ENCODING s"},
        {"100", "TTL s"},
    };

    runner_expect_all(*state, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(members_are_there_once),
        runner_test(members_are_a_set_in_resp3),
        runner_test(a_member_moves_to_another_set),
        runner_test(keys_of_other_types_are_refused),
        runner_test(long_members_are_members),
        runner_test(sets_are_combined),
        runner_test(an_intersection_is_counted_up_to_a_limit),
        runner_test(a_result_replaces_whatever_was_there),
        runner_test(spop_takes_what_it_replies),
        runner_test(srandmember_picks_different_ones),
        runner_test(a_negative_count_may_repeat),
        runner_test(bad_counts_are_refused),
        runner_test(a_scan_hands_out_every_member),
        runner_test(cursors_are_read_as_redis_reads_them),
        runner_test(every_change_is_told),
        runner_test(integers_come_in_their_order),
        runner_test(what_a_pop_leaves_of_a_set_may_be_integers),
    };
    return cmocka_run_group_tests_name("set commands", tests, NULL, NULL);
}
