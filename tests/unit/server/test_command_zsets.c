/* The commands of sorted sets: forms, replies, errors, waiting, events, random members. */
#include "tests/support/client/event_listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define WRONGTYPE   "!WRONGTYPE Operation against a key holding the wrong kind of value"
#define NOT_INTEGER "!ERR value is not an integer or out of range"
#define NOT_FLOAT   "!ERR value is not a valid float"
#define NO_RANGE    "!ERR min or max is not a float"
#define NO_LEX      "!ERR min or max not valid string range item"
#define SYNTAX      "!ERR syntax error"

/* ---- ZADD, ZINCRBY */

static void members_get_scores(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD z 1 a 2.5 b inf c"},
        {"0", "ZADD z 1 a 3 b"},
        {"2", "ZADD z CH -inf a 3 b 0 d"},
        {"[\"a\" \"-inf\" \"d\" \"0\" \"b\" \"3\" \"c\" \"inf\"]", "ZRANGE z 0 -1 WITHSCORES"},
        {"4", "ZCARD z"},
        {"1", "ZADD y 1 a 2 a 3 a"},
        {"\"3\"", "ZSCORE y a"},
        {"1", "ZADD y 0.1 \"\""},
        {"\"0.10000000000000001\"", "ZSCORE y \"\""},
        {"1", "ZADD y 1e20 big"},
        {"\"1e+20\"", "ZSCORE y big"},
    };

    runner_expect_all(*state, cases);
}

static void options_choose_what_is_set(void **state)
{
    static const char *const cases[][2] = {
        {"0", "ZADD z XX 1 a"},
        {"0", "EXISTS z"},
        {"1", "ZADD z NX 5 a"},
        {"0", "ZADD z NX CH 9 a"},
        {"1", "ZADD z XX CH 6 a 1 b"},
        {"0", "ZADD z GT CH 5 a"},
        {"1", "ZADD z gt ch 7 a"},
        {"0", "ZADD z LT CH 7 a"},
        {"1", "ZADD z LT CH 6 a"},
        {"1", "ZADD z LT 100 c"},
        {"0", "ZADD z XX LT CH 100 d"},
        {"[\"a\" \"6\" \"c\" \"100\"]", "ZRANGE z 0 -1 WITHSCORES"},
    };

    runner_expect_all(*state, cases);
}

static void scores_are_counted_up(void **state)
{
    static const char *const cases[][2] = {
        {"\"1.5\"", "ZINCRBY z 1.5 a"},
        {"\"1\"", "ZADD z INCR -0.5 a"},
        {"nil", "ZADD z NX INCR 1 a"},
        {"nil", "ZADD z XX INCR 1 b"},
        {"nil", "ZADD z GT INCR -1 a"},
        {"\"2\"", "ZADD z GT INCR 1 a"},
        {"\"inf\"", "ZINCRBY z inf a"},
        {"!ERR resulting score is not a number (NaN)", "ZINCRBY z -inf a"},
        {"\"inf\"", "ZSCORE z a"},
        {NOT_FLOAT, "ZINCRBY z x a"},
        {SYNTAX, "ZINCRBY z nx a"},
    };

    runner_expect_all(*state, cases);
}

static void bad_additions_change_nothing(void **state)
{
    static const char *const cases[][2] = {
        {SYNTAX, "ZADD z 1 a 2"},
        {SYNTAX, "ZADD z NX CH"},
        {NOT_FLOAT, "ZADD z 1 a x b"},
        {NOT_FLOAT, "ZADD z nan a"},
        {NOT_FLOAT, "ZADD z \" 1\" a"},
        {NOT_FLOAT, "ZADD z 1e999 a"},
        {"!ERR XX and NX options at the same time are not compatible", "ZADD z NX XX 1 a"},
        {"!ERR GT, LT, and/or NX options at the same time are not compatible",
         "ZADD z GT LT 1 a"},
        {"!ERR GT, LT, and/or NX options at the same time are not compatible",
         "ZADD z NX GT 1 a"},
        {"!ERR INCR option supports a single increment-element pair", "ZADD z INCR 1 a 2 b"},
        {"!ERR wrong number of arguments for 'zadd' command", "ZADD z 1"},
        {"0", "EXISTS z"},
    };

    runner_expect_all(*state, cases);
}

/* ---- reading */

static void members_are_asked_for(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD z 1 a 2 b 2 c"},
        {"nil", "ZSCORE z x"},
        {"nil", "ZSCORE none a"},
        {"[\"1\" nil \"2\"]", "ZMSCORE z a x c"},
        {"[nil nil]", "ZMSCORE none a b"},
        {"0", "ZRANK z a"},
        {"2", "ZRANK z c"},
        {"0", "ZREVRANK z c"},
        {"2", "ZREVRANK z a"},
        {"nil", "ZRANK z x"},
        {"nil", "ZREVRANK none a"},
        {"0", "ZCARD none"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_are_counted(void **state)
{
    static const char *const cases[][2] = {
        {"4", "ZADD z 1 a 2 b 2 c 3 d"}, {"4", "ZCOUNT z -inf +inf"},
        {"2", "ZCOUNT z 2 2"},           {"1", "ZCOUNT z (2 3"},
        {"2", "ZCOUNT z (1 (3"},         {"0", "ZCOUNT z 3 1"},
        {"0", "ZCOUNT z (2 2"},          {"0", "ZCOUNT none 0 1"},
        {"0", "ZCOUNT z \"\" \" 0\""},   {NO_RANGE, "ZCOUNT z x 1"},
        {NO_RANGE, "ZCOUNT z 1 ((1"},    {NO_RANGE, "ZCOUNT z nan 1"},
        {"4", "ZADD l 0 a 0 b 0 c 0 d"}, {"4", "ZLEXCOUNT l - +"},
        {"2", "ZLEXCOUNT l [b (d"},      {"1", "ZLEXCOUNT l (c +"},
        {"0", "ZLEXCOUNT l + -"},        {"0", "ZLEXCOUNT l + +"},
        {"0", "ZLEXCOUNT l (b (b"},      {"0", "ZLEXCOUNT none - +"},
        {NO_LEX, "ZLEXCOUNT l a +"},     {NO_LEX, "ZLEXCOUNT l - +x"},
        {NO_LEX, "ZLEXCOUNT l \"\" +"},
    };

    runner_expect_all(*state, cases);
}

/* ---- ranges */

static void ranges_by_rank(void **state)
{
    static const char *const cases[][2] = {
        {"4", "ZADD z 1 a 2 b 3 c 4 d"},
        {"[\"a\" \"b\"]", "ZRANGE z 0 1"},
        {"[\"c\" \"d\"]", "ZRANGE z -2 -1"},
        {"[\"d\" \"c\" \"b\" \"a\"]", "ZRANGE z 0 99 REV"},
        {"[\"d\"]", "ZRANGE z -99 0 rev"},
        {"[\"b\" \"2\" \"a\" \"1\"]", "ZREVRANGE z 2 3 WITHSCORES"},
        {"[]", "ZRANGE z 2 1"},
        {"[]", "ZRANGE z 4 9"},
        {"[]", "ZRANGE none 0 -1"},
        {"[\"a\"]", "ZRANGE z 0 0 LIMIT 0 -1"},
        {NOT_INTEGER, "ZRANGE z x 1"},
        {NOT_INTEGER, "ZRANGE z 0 1.5"},
        {SYNTAX, "ZREVRANGE z 0 1 REV"},
        {SYNTAX, "ZREVRANGE z 0 1 BYSCORE"},
        {SYNTAX, "ZRANGE z 0 1 FOO"},
        {SYNTAX, "ZRANGE z 0 1 LIMIT 0"},
        {"!ERR syntax error, LIMIT is only supported in combination with either BYSCORE or "
         "BYLEX",
         "ZRANGE z 0 1 LIMIT 0 1"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_by_score(void **state)
{
    static const char *const cases[][2] = {
        {"4", "ZADD z 1 a 2 b 3 c 4 d"},
        {"[\"b\" \"c\"]", "ZRANGEBYSCORE z (1 (4"},
        {"[\"c\" \"b\"]", "ZREVRANGEBYSCORE z (4 (1"},
        {"[\"c\" \"b\"]", "ZRANGE z (4 (1 BYSCORE REV"},
        {"[\"b\" \"2\"]", "ZRANGEBYSCORE z -inf +inf LIMIT 1 1 WITHSCORES"},
        {"[\"b\" \"c\" \"d\"]", "ZRANGEBYSCORE z -inf inf limit 1 -1"},
        {"[]", "ZRANGEBYSCORE z -inf +inf LIMIT 0 0"},
        {"[]", "ZRANGEBYSCORE z -inf +inf LIMIT -1 5"},
        {"[]", "ZRANGEBYSCORE z 4 1"},
        {"[]", "ZREVRANGEBYSCORE z 1 4"},
        {"[]", "ZRANGEBYSCORE none 0 1"},
        {"[\"a\" \"1\"]", "ZRANGE z 1 1 BYSCORE WITHSCORES WITHSCORES"},
        {"[\"d\"]", "ZRANGE z +inf 0 LIMIT 0 9 LIMIT 0 1 BYSCORE REV"},
        {NO_RANGE, "ZRANGEBYSCORE z a b"},
        {NOT_INTEGER, "ZRANGEBYSCORE z 0 1 LIMIT x 1"},
        {SYNTAX, "ZRANGEBYSCORE z 0 1 LIMIT 1"},
        {SYNTAX, "ZRANGEBYSCORE z 0 1 REV"},
        {SYNTAX, "ZRANGE z 0 1 BYSCORE BYSCORE"},
        {SYNTAX, "ZRANGE z 0 1 BYSCORE BYLEX"},
        {SYNTAX, "ZRANGE z 0 1 REV REV"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_by_name(void **state)
{
    static const char *const cases[][2] = {
        {"5", "ZADD z 0 a 0 b 0 ba 0 c 0 \"\""},
        {"[\"\" \"a\" \"b\" \"ba\" \"c\"]", "ZRANGEBYLEX z - +"},
        {"[\"b\" \"ba\"]", "ZRANGEBYLEX z [b (c"},
        {"[\"c\" \"ba\"]", "ZREVRANGEBYLEX z [c (b"},
        {"[\"ba\" \"b\"]", "ZRANGE z (c [b BYLEX REV"},
        {"[\"a\"]", "ZRANGEBYLEX z [\"\" + LIMIT 1 1"},
        {"[]", "ZRANGEBYLEX z + -"},
        {"[]", "ZREVRANGEBYLEX z - +"},
        {"[]", "ZRANGEBYLEX none - +"},
        {NO_LEX, "ZRANGEBYLEX z a b"},
        {SYNTAX, "ZRANGEBYLEX z - + LIMIT 1"},
        {"!ERR syntax error, WITHSCORES not supported in combination with BYLEX",
         "ZRANGEBYLEX z - + WITHSCORES"},
    };

    runner_expect_all(*state, cases);
}

static void a_range_is_stored(void **state)
{
    static const char *const cases[][2] = {
        {"4", "ZADD z 1 a 2 b 3 c 4 d"},
        {"OK", "SET d text"},
        {"2", "ZRANGESTORE d z 1 2"},
        {"[\"b\" \"2\" \"c\" \"3\"]", "ZRANGE d 0 -1 WITHSCORES"},
        {"1", "ZRANGESTORE d z (4 (1 BYSCORE REV LIMIT 1 9"},
        {"[\"b\"]", "ZRANGE d 0 -1"},
        {"2", "ZRANGESTORE z z 0 1"},
        {"[\"a\" \"b\"]", "ZRANGE z 0 -1"},
        {"0", "ZRANGESTORE d none 0 -1"},
        {"0", "EXISTS d"},
        {SYNTAX, "ZRANGESTORE d z 0 1 WITHSCORES"},
        {NOT_INTEGER, "ZRANGESTORE d z - +"},
        {"2", "ZRANGESTORE d z - + BYLEX"},
    };

    runner_expect_all(*state, cases);
}

/* ---- taking out */

static void members_are_removed(void **state)
{
    static const char *const cases[][2] = {
        {"5", "ZADD z 1 a 2 b 3 c 4 d 5 e"},
        {"2", "ZREM z a x b a"},
        {"0", "ZREM none a"},
        {"3", "ZREM z c d e f"},
        {"0", "EXISTS z"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_are_removed(void **state)
{
    static const char *const cases[][2] = {
        {"6", "ZADD z 1 a 2 b 3 c 4 d 5 e 6 f"}, {"2", "ZREMRANGEBYRANK z -2 -1"},
        {"0", "ZREMRANGEBYRANK z 4 9"},          {"0", "ZREMRANGEBYRANK none 0 -1"},
        {"1", "ZREMRANGEBYSCORE z (1 2"},        {"0", "ZREMRANGEBYSCORE z 9 1"},
        {"0", "ZREMRANGEBYSCORE none 0 1"},      {"[\"a\" \"c\" \"d\"]", "ZRANGE z 0 -1"},
        {"3", "ZREMRANGEBYSCORE z -inf +inf"},   {"0", "EXISTS z"},
        {"4", "ZADD l 0 a 0 b 0 c 0 d"},         {"2", "ZREMRANGEBYLEX l [b (d"},
        {"[\"a\" \"d\"]", "ZRANGE l 0 -1"},      {"2", "ZREMRANGEBYLEX l - +"},
        {"0", "ZREMRANGEBYLEX l - +"},           {NOT_INTEGER, "ZREMRANGEBYRANK z a b"},
        {NO_RANGE, "ZREMRANGEBYSCORE z a b"},    {NO_LEX, "ZREMRANGEBYLEX z a b"},
    };

    runner_expect_all(*state, cases);
}

static void the_least_and_the_greatest_are_popped(void **state)
{
    static const char *const cases[][2] = {
        {"5", "ZADD z 1 a 2 b 3 c 4 d 5 e"},
        {"[\"a\" \"1\"]", "ZPOPMIN z"},
        {"[\"e\" \"5\" \"d\" \"4\"]", "ZPOPMAX z 2"},
        {"[]", "ZPOPMIN z 0"},
        {"[]", "ZPOPMIN none"},
        {"[\"b\" \"2\" \"c\" \"3\"]", "ZPOPMIN z 9"},
        {"0", "EXISTS z"},
        {"!ERR value is out of range, must be positive", "ZPOPMIN z -1"},
        {"!ERR value is out of range, must be positive", "ZPOPMAX z x"},
        {SYNTAX, "ZPOPMIN z 1 2"},
    };

    runner_expect_all(*state, cases);
}

static void the_first_of_several_keys_is_popped(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD z 1 a 2 b 3 c"},
        {"[\"z\" [[\"a\" \"1\"]]]", "ZMPOP 2 none z MIN"},
        {"[\"z\" [[\"c\" \"3\"] [\"b\" \"2\"]]]", "ZMPOP 1 z MAX COUNT 9"},
        {"nil", "ZMPOP 2 none z min"},
        {"!ERR numkeys should be greater than 0", "ZMPOP 0 z MIN"},
        {"!ERR numkeys should be greater than 0", "ZMPOP x z MIN"},
        {"!ERR count should be greater than 0", "ZMPOP 1 z MIN COUNT 0"},
        {SYNTAX, "ZMPOP 2 z MIN"},
        {SYNTAX, "ZMPOP 1 z MID"},
        {SYNTAX, "ZMPOP 1 z MIN COUNT"},
        {SYNTAX, "ZMPOP 1 z MIN COUNT 1 COUNT 1"},
        {SYNTAX, "ZMPOP 1 z MIN FOO 1"},
        {SYNTAX, "ZMPOP 9223372036854775807 z MIN"},
    };

    runner_expect_all(*state, cases);
}

/* ---- waiting */

static void blocking_pops_take_what_is_there(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD z 1 a 2 b 3 c"},
        {"[\"z\" \"a\" \"1\"]", "BZPOPMIN none z 0"},
        {"[\"z\" \"c\" \"3\"]", "BZPOPMAX z none 0"},
        {"[\"z\" [[\"b\" \"2\"]]]", "BZMPOP 0 1 z MIN COUNT 5"},
        {"!ERR timeout is not a float or out of range", "BZPOPMIN z x"},
        {"!ERR timeout is negative", "BZPOPMAX z -1"},
        {"!ERR timeout is negative", "BZMPOP -1 1 z MIN"},
        {"!ERR numkeys should be greater than 0", "BZMPOP x 0 z MIN"},
        {SYNTAX, "BZMPOP 0 1 z FOO"},
    };

    runner_expect_all(*state, cases);
}

static void who_waits_gets_what_comes(void **state)
{
    struct command_runner *runner = *state;
    struct connection *least = runner_waiting(runner, "BZPOPMIN y z 0");
    struct connection *greatest = runner_waiting(runner, "BZPOPMAX z 0");
    struct connection *many = runner_waiting(runner, "BZMPOP 0 2 x z MIN COUNT 2");

    runner_expect(runner, "4", "ZADD z 1 a 2 b 3 c 4 d");
    runner_expect_reply(least, "[\"z\" \"a\" \"1\"]");
    runner_expect_reply(greatest, "[\"z\" \"d\" \"4\"]");
    runner_expect_reply(many, "[\"z\" [[\"b\" \"2\"] [\"c\" \"3\"]]]");
    runner_expect(runner, "0", "EXISTS z");
}

static void results_that_are_stored_wake_who_waits(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "BZPOPMIN d 0");

    runner_expect(runner, "1", "ZADD z 1 a");
    runner_expect(runner, "1", "ZUNIONSTORE d 1 z");
    runner_expect_reply(client, "[\"d\" \"a\" \"1\"]");
    client = runner_waiting(runner, "BZPOPMIN d 0");
    runner_expect(runner, "1", "ZRANGESTORE d z 0 -1");
    runner_expect_reply(client, "[\"d\" \"a\" \"1\"]");
}

static void another_type_does_not_end_the_wait(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "BZPOPMIN z 0");

    runner_expect(runner, "OK", "SET z text");
    runner_expect_reply(client, "");
    runner_expect(runner, "1", "DEL z");
    runner_expect(runner, "1", "ZADD z 1 a");
    runner_expect_reply(client, "[\"z\" \"a\" \"1\"]");
}

static void a_wait_ends_in_time(void **state)
{
    struct command_runner *runner = *state;
    struct connection *one = runner_waiting(runner, "BZPOPMIN z 1.5");
    struct connection *many = runner_waiting(runner, "BZMPOP 1.5 1 z MAX");

    runner_pass(runner, 1499);
    runner_expect_reply(one, "");
    runner_pass(runner, 1);
    runner_expect_reply(one, "nil");
    runner_expect_reply(many, "nil");
    runner_expect(runner, "1", "ZADD z 1 a");
    runner_expect_reply(one, "");
}

static void nobody_waits_in_a_transaction(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "BZPOPMIN z 0"},
        {"QUEUED", "BZMPOP 0 1 z MIN"},
        {"[nil nil]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

/* ---- combining */

static void sorted_sets_and_sets_are_united(void **state)
{
    static const char *const cases[][2] = {
        {"2", "ZADD x 1 a 2 b"},
        {"2", "ZADD y 10 b 20 c"},
        {"2", "SADD s c d"},
        {"[\"a\" \"1\" \"b\" \"12\" \"c\" \"20\"]", "ZUNION 2 x y WITHSCORES"},
        {"[\"a\" \"d\" \"b\" \"c\"]", "ZUNION 4 x y s none"},
        {"[\"a\" \"2\" \"b\" \"34\" \"c\" \"60\"]", "ZUNION 2 x y WEIGHTS 2 3 WITHSCORES"},
        {"[\"a\" \"1\" \"b\" \"2\" \"c\" \"20\"]", "ZUNION 2 x y AGGREGATE min WITHSCORES"},
        {"[\"a\" \"1\" \"b\" \"10\" \"c\" \"20\"]", "ZUNION 2 x y aggregate MAX withscores"},
        {"[]", "ZUNION 1 none"},
        {"4", "ZUNIONSTORE x 3 x y s WEIGHTS 1 1 -1 AGGREGATE SUM"},
        {"[\"d\" \"-1\" \"a\" \"1\" \"b\" \"12\" \"c\" \"19\"]", "ZRANGE x 0 -1 WITHSCORES"},
        {"0", "ZUNIONSTORE x 1 none"},
        {"0", "EXISTS x"},
    };

    runner_expect_all(*state, cases);
}

static void sorted_sets_and_sets_are_intersected(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD x 1 a 2 b 3 c"},
        {"2", "ZADD y 10 b 20 c"},
        {"2", "SADD s c d"},
        {"[\"b\" \"12\" \"c\" \"23\"]", "ZINTER 2 x y WITHSCORES"},
        {"[\"c\" \"24\"]", "ZINTER 3 x y s WITHSCORES"},
        {"[]", "ZINTER 2 x none"},
        {"[\"b\" \"2\" \"c\" \"3\"]", "ZINTER 2 x y AGGREGATE MIN WITHSCORES"},
        {"[\"a\" \"1.5\" \"b\" \"3\" \"c\" \"4.5\"]", "ZINTER 2 x x WEIGHTS 0.5 1 WITHSCORES"},
        {"2", "ZINTERCARD 2 x y"},
        {"1", "ZINTERCARD 2 x y LIMIT 1"},
        {"2", "ZINTERCARD 2 x y limit 0"},
        {"0", "ZINTERCARD 2 x none"},
        {"2", "ZINTERSTORE y 2 x y WEIGHTS 1 0.1"},
        {"[\"b\" \"3\" \"c\" \"5\"]", "ZRANGE y 0 -1 WITHSCORES"},
        {"0", "ZINTERSTORE y 2 y none"},
        {"0", "EXISTS y"},
    };

    runner_expect_all(*state, cases);
}

static void sorted_sets_and_sets_are_subtracted(void **state)
{
    static const char *const cases[][2] = {
        {"3", "ZADD x 1 a 2 b 3 c"},
        {"1", "ZADD y 10 b"},
        {"2", "SADD s c d"},
        {"[\"a\" \"c\"]", "ZDIFF 2 x y"},
        {"[\"a\" \"1\"]", "ZDIFF 3 x y s WITHSCORES"},
        {"[\"d\" \"1\"]", "ZDIFF 2 s x WITHSCORES"},
        {"[]", "ZDIFF 2 x x"},
        {"[]", "ZDIFF 2 none x"},
        {"2", "ZDIFFSTORE d 2 x y"},
        {"[\"a\" \"1\" \"c\" \"3\"]", "ZRANGE d 0 -1 WITHSCORES"},
        {"0", "ZDIFFSTORE d 2 x x"},
        {"0", "EXISTS d"},
    };

    runner_expect_all(*state, cases);
}

/* inf - inf and inf * 0 are no scores: the result is 0. */
static void sums_that_are_none_are_zero(void **state)
{
    static const char *const cases[][2] = {
        {"1", "ZADD x inf a"},
        {"1", "ZADD y -inf a"},
        {"[\"a\" \"0\"]", "ZUNION 2 x y WITHSCORES"},
        {"[\"a\" \"0\"]", "ZINTER 2 x y WITHSCORES"},
        {"[\"a\" \"0\"]", "ZUNION 1 x WEIGHTS 0 WITHSCORES"},
        {"[\"a\" \"0\"]", "ZINTER 2 y x WEIGHTS 1 0 WITHSCORES"},
    };

    runner_expect_all(*state, cases);
}

static void bad_combinations_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"1", "ZADD z 1 a"},
        {NOT_INTEGER, "ZUNION x z"},
        {"!ERR at least 1 input key is needed for 'zunion' command", "ZUNION 0 z"},
        {"!ERR at least 1 input key is needed for 'zdiffstore' command", "ZDIFFSTORE d -1 z"},
        {SYNTAX, "ZINTER 2 z"},
        {SYNTAX, "ZINTER 9223372036854775807 z"},
        {SYNTAX, "ZUNION 1 z WEIGHTS"},
        {SYNTAX, "ZUNION 2 z z WEIGHTS 1"},
        {"!ERR weight value is not a float", "ZUNION 1 z WEIGHTS x"},
        {"!ERR weight value is not a float", "ZUNION 1 z WEIGHTS nan"},
        {SYNTAX, "ZUNION 1 z AGGREGATE AVG"},
        {SYNTAX, "ZUNION 1 z AGGREGATE"},
        {SYNTAX, "ZUNION 1 z LIMIT 1"},
        {SYNTAX, "ZDIFF 1 z WEIGHTS 1"},
        {SYNTAX, "ZDIFF 1 z AGGREGATE SUM"},
        {SYNTAX, "ZUNIONSTORE d 1 z WITHSCORES"},
        {SYNTAX, "ZINTERCARD 1 z WITHSCORES"},
        {SYNTAX, "ZINTERCARD 1 z WEIGHTS 1"},
        {SYNTAX, "ZINTERCARD 1 z LIMIT"},
        {"!ERR LIMIT can't be negative", "ZINTERCARD 1 z LIMIT -1"},
        {"!ERR LIMIT can't be negative", "ZINTERCARD 1 z LIMIT x"},
        {"0", "EXISTS d"},
    };

    runner_expect_all(*state, cases);
}

/* ---- types */

static void keys_of_other_types_are_refused(void **state)
{
    static const char *const lines[] = {
        "ZADD s 1 a",
        "ZADD s XX 1 a",
        "ZINCRBY s 1 a",
        "ZREM s a",
        "ZSCORE s a",
        "ZMSCORE s a",
        "ZCARD s",
        "ZCOUNT s 0 1",
        "ZLEXCOUNT s - +",
        "ZRANK s a",
        "ZREVRANK s a",
        "ZRANGE s 0 1",
        "ZRANGEBYSCORE s 0 1",
        "ZRANGEBYLEX s - +",
        "ZREVRANGE s 0 1",
        "ZRANGESTORE d s 0 1",
        "ZREMRANGEBYRANK s 0 1",
        "ZREMRANGEBYSCORE s 0 1",
        "ZREMRANGEBYLEX s - +",
        "ZPOPMIN s",
        "ZPOPMAX s 2",
        "ZMPOP 2 none s MIN",
        "BZPOPMIN none s 0",
        "BZPOPMAX s z 0",
        "BZMPOP 0 1 s MIN",
        "ZRANDMEMBER s",
        "ZRANDMEMBER s 2",
        "ZUNION 2 z s",
        "ZINTER 1 s FOO",
        "ZINTERCARD 1 s",
        "ZDIFF 1 s",
        "ZUNIONSTORE d 1 s",
        "ZINTERSTORE d 1 s",
        "ZDIFFSTORE d 1 s",
        "ZSCAN s 0",
    };
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "SET s value");
    runner_expect(runner, "1", "ZADD z 1 a");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        runner_expect(runner, WRONGTYPE, lines[i]);
    runner_expect(runner, "!WRONGTYPE*", "ZPOPMIN s 0"); /* as in Redis */
}

static void long_members_are_members(void **state)
{
    struct command_runner *runner = *state;
    char member[701], line[4096], pattern[4096];

    memset(member, 'x', sizeof(member) - 1);
    member[sizeof(member) - 1] = '\0';
    snprintf(line, sizeof(line), "ZADD z 1 %sb 1 %s 1 %sc 1 %sa 1 x", member, member, member,
             member);
    runner_expect(runner, "5", line);
    snprintf(pattern, sizeof(pattern), "[\"x\" \"%s\" \"%sa\" \"%sb\" \"%sc\"]", member, member,
             member, member);
    runner_expect(runner, pattern, "ZRANGE z 0 -1");
    snprintf(line, sizeof(line), "ZRANK z %sb", member);
    runner_expect(runner, "3", line);
    snprintf(line, sizeof(line), "ZRANGEBYLEX z (%sa [%sb", member, member);
    snprintf(pattern, sizeof(pattern), "[\"%sb\"]", member);
    runner_expect(runner, pattern, line);
    snprintf(pattern, sizeof(pattern), "[\"%sc\" \"1\"]", member);
    runner_expect(runner, pattern, "ZPOPMAX z");
    runner_expect(runner, "4", "ZUNIONSTORE y 1 z");
    snprintf(line, sizeof(line), "ZREM y %s", member);
    runner_expect(runner, "1", line);
}

/* ---- RESP3 */

static void expect_bytes(struct command_runner *runner, const char *expected, const char *line)
{
    char *bytes = runner_bytes(runner, line);

    assert_string_equal(bytes, expected);
    free(bytes);
}

static void scores_are_doubles_in_resp3(void **state)
{
    static const char *const cases[][2] = {
        {":3\r\n", "ZADD z 1 a 2.5 b inf c"},
        {",2.5\r\n", "ZSCORE z b"},
        {"_\r\n", "ZSCORE z x"},
        {"*2\r\n,inf\r\n_\r\n", "ZMSCORE z c x"},
        {",2\r\n", "ZINCRBY z 1 a"},
        {"_\r\n", "ZADD z NX INCR 1 a"},
        {"_\r\n", "ZRANK z x"},
        {"*1\r\n$1\r\na\r\n", "ZRANGE z 0 0"},
        {"*1\r\n*2\r\n$1\r\na\r\n,2\r\n", "ZRANGE z 0 0 WITHSCORES"},
        {"*1\r\n*2\r\n$1\r\nc\r\n,inf\r\n", "ZREVRANGEBYSCORE z +inf 3 WITHSCORES"},
        {"*1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n", "ZRANGE z (2 3 BYSCORE WITHSCORES"},
        {"*0\r\n", "ZDIFF 2 z z WITHSCORES"},
        {"*3\r\n*2\r\n$1\r\na\r\n,4\r\n*2\r\n$1\r\nb\r\n,5\r\n*2\r\n$1\r\nc\r\n,inf\r\n",
         "ZUNION 2 z z WITHSCORES"},
        {"*1\r\n*2\r\n$1\r\na\r\n,2\r\n", "ZRANDMEMBER one 1 WITHSCORES"},
        {"*2\r\n$1\r\na\r\n,2\r\n", "ZPOPMIN z"},
        {"*1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n", "ZPOPMIN z 1"},
        {"*3\r\n$1\r\nz\r\n$1\r\nc\r\n,inf\r\n", "BZPOPMIN z 0"},
        {"*0\r\n", "ZPOPMIN z 1"},
        {"_\r\n", "ZMPOP 1 z MIN"},
        {":1\r\n", "ZADD z 1 a"},
        {"*2\r\n$1\r\nz\r\n*1\r\n*2\r\n$1\r\na\r\n,1\r\n", "ZMPOP 1 z MIN"},
    };
    struct command_runner *runner = *state;

    runner_expect(runner, "1", "ZADD one 2 a");
    free(runner_bytes(runner, "HELLO 3"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_bytes(runner, cases[i][0], cases[i][1]);
}

/* ---- random members */

static void a_member_is_picked(void **state)
{
    static const char *const cases[][2] = {
        {"1", "ZADD z 1 a"},
        {"\"a\"", "ZRANDMEMBER z"},
        {"[\"a\"]", "ZRANDMEMBER z 5"},
        {"[\"a\" \"1\"]", "ZRANDMEMBER z 5 WITHSCORES"},
        {"[\"a\" \"1\" \"a\" \"1\"]", "ZRANDMEMBER z -2 withscores"},
        {"[]", "ZRANDMEMBER z 0"},
        {"nil", "ZRANDMEMBER none"},
        {"[]", "ZRANDMEMBER none -5"},
        {NOT_INTEGER, "ZRANDMEMBER z x"},
        {SYNTAX, "ZRANDMEMBER z 1 FOO"},
        {SYNTAX, "ZRANDMEMBER z 1 WITHSCORES FOO"},
        {"!ERR value is out of range, value must between -9223372036854775807 and "
         "9223372036854775807",
         "ZRANDMEMBER z -9223372036854775808"},
        {"!ERR value is out of range", "ZRANDMEMBER z 9223372036854775807 WITHSCORES"},
    };

    runner_expect_all(*state, cases);
}

/* All members, in any order, when the count is at least theirs. */
static void different_members_are_picked(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "3", "ZADD z 1 a 2 b 3 c");
    for (int i = 0; i < 20; i++) {
        char *picked = runner_bytes(runner, "ZRANDMEMBER z 2");

        assert_memory_equal(picked, "*2\r\n$1\r\n", 8);
        assert_memory_not_equal(picked + 8, picked + 15, 1);
        free(picked);
    }
    runner_expect(runner, "3", "ZCARD z");
}

static void a_reply_without_end_is_cut_short(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0];

    runner_expect(runner, "1", "ZADD z 1 a");
    client->output.maximum = 1024; /* less than a slice writes */
    free(runner_bytes(runner, "ZRANDMEMBER z -4611686018427387903"));
    assert_true(client->session.life == SESSION_GONE);
}

/* ---- scanning */

static void a_scan_hands_out_members_and_scores(void **state)
{
    static const char *const cases[][2] = {
        {"2", "ZADD z 1.5 a 1e17 ab"},
        {"[\"0\" [\"ab\" \"100000000000000000\"]]", "ZSCAN z 0 MATCH ?b"},
        {"[\"0\" [\"a\" \"1.5\"]]", "ZSCAN z 0 MATCH a COUNT 1"},
        {"[\"0\" []]", "ZSCAN none 0"},
        {"!ERR invalid cursor", "ZSCAN z x"},
        {SYNTAX, "ZSCAN z 0 COUNT 0"},
        {SYNTAX, "ZSCAN z 0 FOO"},
    };

    runner_expect_all(*state, cases);
}

/* ---- events */

static void every_change_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h", "zadd z"},
        {"ZADD z 1 a", ""},
        {"ZADD z XX 1 x", ""},
        {"ZADD z INCR 0 a", ""},
        {"ZADD z INCR -1 a", "zincr z"},
        {"ZINCRBY z 1 a", "zincr z"},
        {"ZREM z x", ""},
        {"ZREM z h", "zrem z"},
        {"ZREMRANGEBYRANK z -1 -1", "zremrangebyrank z"},
        {"ZREMRANGEBYSCORE z 6 6", "zremrangebyscore z"},
        {"ZREMRANGEBYSCORE z 6 6", ""},
        {"ZPOPMIN z", "zpopmin z"},
        {"ZPOPMAX z", "zpopmax z"},
        {"ZUNIONSTORE d 1 z", "zunionstore d"},
        {"ZINTERSTORE d 1 z", "zinterstore d"},
        {"ZDIFFSTORE d 1 z", "zdiffstore d"},
        {"ZRANGESTORE d z 0 -1", "zrangestore d"},
        {"ZDIFFSTORE d 2 z z", "del d"},
        {"ZRANGESTORE d none 0 -1", ""},
        {"ZMPOP 1 z MAX COUNT 2", "zpopmax z"},
        {"BZPOPMIN z 0", "zpopmin z, del z"},
        {"ZADD z 0 a 0 b", "zadd z"},
        {"ZREMRANGEBYLEX z [a [a", "zremrangebylex z"},
        {"ZREM z b", "zrem z, del z"},
    };
    struct command_runner *runner = *state;
    struct connection *listener = event_listener_new(runner);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free(runner_bytes(runner, cases[i][0]));
        event_listener_expect(listener, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(members_get_scores),
        runner_test(options_choose_what_is_set),
        runner_test(scores_are_counted_up),
        runner_test(bad_additions_change_nothing),
        runner_test(members_are_asked_for),
        runner_test(ranges_are_counted),
        runner_test(ranges_by_rank),
        runner_test(ranges_by_score),
        runner_test(ranges_by_name),
        runner_test(a_range_is_stored),
        runner_test(members_are_removed),
        runner_test(ranges_are_removed),
        runner_test(the_least_and_the_greatest_are_popped),
        runner_test(the_first_of_several_keys_is_popped),
        runner_test(blocking_pops_take_what_is_there),
        runner_test(who_waits_gets_what_comes),
        runner_test(results_that_are_stored_wake_who_waits),
        runner_test(another_type_does_not_end_the_wait),
        runner_test(a_wait_ends_in_time),
        runner_test(nobody_waits_in_a_transaction),
        runner_test(sorted_sets_and_sets_are_united),
        runner_test(sorted_sets_and_sets_are_intersected),
        runner_test(sorted_sets_and_sets_are_subtracted),
        runner_test(sums_that_are_none_are_zero),
        runner_test(bad_combinations_are_refused),
        runner_test(keys_of_other_types_are_refused),
        runner_test(long_members_are_members),
        runner_test(scores_are_doubles_in_resp3),
        runner_test(a_member_is_picked),
        runner_test(different_members_are_picked),
        runner_test(a_reply_without_end_is_cut_short),
        runner_test(a_scan_hands_out_members_and_scores),
        runner_test(every_change_is_told),
    };
    return cmocka_run_group_tests_name("sorted set commands", tests, NULL, NULL);
}
