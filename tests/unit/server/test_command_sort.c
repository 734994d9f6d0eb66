/* SORT and SORT_RO. Expected is what Redis 7.0.15 answers. */
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

/* ---- elements */

static void numbers_are_sorted(void **state)
{
    static const char *const cases[][2] = {
        {"6", "RPUSH l 3 1 2 10 -5 1.5"},
        {"[\"-5\" \"1\" \"1.5\" \"2\" \"3\" \"10\"]", "SORT l"},
        {"[\"10\" \"3\" \"2\" \"1.5\" \"1\" \"-5\"]", "SORT l DESC"},
        {"[\"-5\" \"1\" \"1.5\" \"10\" \"2\" \"3\"]", "SORT l ALPHA"},
        {"[\"3\" \"2\" \"10\" \"1.5\" \"1\" \"-5\"]", "SORT l alpha desc"},
        {"[\"1\" \"1.5\"]", "SORT l LIMIT 1 2"},
        {"[\"-5\" \"1\" \"1.5\" \"2\" \"3\" \"10\"]", "SORT l LIMIT 0 -1"},
        {"[\"-5\" \"1\"]", "SORT l LIMIT -5 2"},
        {"[\"1.5\" \"2\" \"3\" \"10\"]", "SORT l LIMIT 2 100"},
        {"[]", "SORT l LIMIT 100 5"},
        {"[\"10\"]", "SORT l DESC LIMIT 0 1"},
        {"[]", "SORT none"},
        {"[\"10\" \"3\" \"2\" \"1.5\" \"1\" \"-5\"]", "SORT l ASC DESC"},
        {"7", "RPUSH l abc"},
        {"!ERR One or more scores can't be converted into double", "SORT l"},
        {"[\"-5\" \"1\" \"1.5\" \"10\" \"2\" \"3\" \"abc\"]", "SORT l ALPHA"},
        {"2", "RPUSH m 1 \" 2\""},
        {"[\"1\" \" 2\"]", "SORT m"},
        {"5", "RPUSH inf inf -inf 5 1e3 0x10"},
        {"[\"-inf\" \"5\" \"0x10\" \"1e3\" \"inf\"]", "SORT inf"},
        {"2", "RPUSH empty \"\" 1"},
        {"[\"\" \"1\"]", "SORT empty"},
        {"!ERR syntax error", "SORT l LIMIT 1"},
        {"!ERR value is not an integer or out of range", "SORT l LIMIT x 1"},
        {"!ERR value is not an integer or out of range", "SORT l LIMIT 1 x"},
        {"!ERR syntax error", "SORT l BY"},
        {"!ERR syntax error", "SORT l GET"},
        {"!ERR syntax error", "SORT l STORE"},
        {"!ERR syntax error", "SORT l NONSENSE"},
        {"!ERR wrong number of arguments for 'sort' command", "SORT"},
        {"OK", "SET s v"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "SORT s"},
        {"!ERR syntax error", "SORT s NONSENSE"},
        {"1", "HSET h a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "SORT h"},
    };

    runner_expect_all(*state, cases);
}

static void sets_and_sorted_sets_are_sorted(void **state)
{
    static const char *const cases[][2] = {
        {"3", "SADD s 3 1 2"},
        {"[\"1\" \"2\" \"3\"]", "SORT s"},
        {"[\"3\" \"2\"]", "SORT s DESC LIMIT 0 2"},
        {"3", "SADD t c a b"},
        {"[\"a\" \"b\" \"c\"]", "SORT t ALPHA"},
        {"3", "ZADD z 3 a 2 b 1 c"},
        {"[\"a\" \"b\" \"c\"]", "SORT z ALPHA"},
        {"[\"c\" \"b\" \"a\"]", "SORT z ALPHA DESC"},
        {"[\"c\" \"b\" \"a\"]", "SORT z BY nosort"},
        {"[\"a\" \"b\" \"c\"]", "SORT z BY nosort DESC"},
        {"[\"b\"]", "SORT z BY nosort LIMIT 1 1"},
        {"[\"a\" \"b\"]", "SORT z BY nosort DESC LIMIT 0 2"},
        {"[]", "SORT z BY nosort LIMIT 5 1"},
        {"[\"c\" \"b\" \"a\"]", "SORT z BY nosort GET #"},
        {"!ERR One or more scores can't be converted into double", "SORT z"},
    };

    runner_expect_all(*state, cases);
}

/* ---- other keys */

static void weights_come_from_other_keys(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH l 1 2 3"},
        {"OK", "MSET w_1 30 w_2 10 w_3 20"},
        {"[\"2\" \"3\" \"1\"]", "SORT l BY w_*"},
        {"[\"1\" \"3\" \"2\"]", "SORT l BY w_* DESC"},
        {"OK", "MSET o_1 one o_2 two o_3 three"},
        {"[\"two\" \"three\" \"one\"]", "SORT l BY w_* GET o_*"},
        {"[\"2\" \"two\" nil \"3\" \"three\" nil \"1\" \"one\" nil]",
         "SORT l BY w_* GET # GET o_* GET none_*"},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY nosort"},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY nosort BY w_*"},
        {"[\"3\" \"2\" \"1\"]", "SORT l BY nosort DESC"},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY none_*"},
        {"[\"3\"]", "SORT l BY w_* LIMIT 1 1"},
        {"[\"one\" \"two\" \"three\"]", "SORT l GET o_*"},
        {"[nil nil nil]", "SORT l GET nostar"},
        {"[\"1\" \"3\" \"2\"]", "SORT l BY o_* ALPHA"},
        {"!ERR One or more scores can't be converted into double", "SORT l BY o_*"},
        {"2", "HSET h_1 w 3 n one"},
        {"2", "HSET h_2 w 1 n two"},
        {"2", "HSET h_3 w 2 n three"},
        {"[\"2\" \"3\" \"1\"]", "SORT l BY h_*->w"},
        {"[\"two\" \"three\" \"one\"]", "SORT l BY h_*->w GET h_*->n"},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY h_*->none"},
        {"[nil nil nil]", "SORT l GET h_*->none"},
        {"[nil nil nil]", "SORT l GET w_*->x"},
        {"[nil nil nil]", "SORT l GET o_*->"},
        {"[nil nil nil]", "SORT l GET h_*->n->x"},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY \"*\""},
        {"[\"1\" \"2\" \"3\"]", "SORT l BY \"*->w\""},
        {"1", "RPUSH w_9 x"},
        {"4", "RPUSH l 9"},
        {"[\"9\" \"2\" \"3\" \"1\"]", "SORT l BY w_*"},
        {"[\"30\" \"10\" \"20\" nil]", "SORT l GET w_*"},
        {"*", "HELLO 3"},
        {"[_ _]", "SORT l GET none_* LIMIT 0 2"},
    };

    runner_expect_all(*state, cases);
}

/* ---- storing */

static void results_are_stored(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH l 3 1 2"},
        {"3", "SORT l STORE d"},
        {"[\"1\" \"2\" \"3\"]", "LRANGE d 0 -1"},
        {"list", "TYPE d"},
        {"3", "SORT l DESC STORE d"},
        {"[\"3\" \"2\" \"1\"]", "LRANGE d 0 -1"},
        {"6", "SORT l BY nosort GET # GET none_* STORE d"},
        {"[\"3\" \"\" \"1\" \"\" \"2\" \"\"]", "LRANGE d 0 -1"},
        {"0", "SORT none STORE d"},
        {"0", "EXISTS d"},
        {"OK", "SET d v EX 100"},
        {"3", "SORT l STORE d"},
        {"-1", "TTL d"},
        {"3", "SORT l STORE l"},
        {"[\"1\" \"2\" \"3\"]", "LRANGE l 0 -1"},
        {"0", "SORT l LIMIT 5 5 STORE d"},
        {"0", "EXISTS d"},
        {"[\"3\" \"2\" \"1\"]", "SORT_RO l DESC"},
        {"!ERR syntax error", "SORT_RO l STORE d"},
        {"[\"1\" \"2\" \"3\"]", "SORT_RO l BY nosort GET #"},
        {"[]", "SORT_RO none"},
        {"!ERR wrong number of arguments for 'sort_ro' command", "SORT_RO"},
    };

    runner_expect_all(*state, cases);
}

static void a_list_that_is_not_sorted_keeps_its_order_or_turns_it(void **state)
{
    static const char *const cases[][2] = {
        {"5", "RPUSH l 3 1 2 5 4"},
        {"[\"3\" \"1\" \"2\" \"5\" \"4\"]", "SORT l BY nosort"},
        {"[\"4\" \"5\" \"2\" \"1\" \"3\"]", "SORT l BY nosort DESC"},
        {"[\"1\" \"2\"]", "SORT l BY nosort LIMIT 1 2"},
        {"[\"5\" \"2\"]", "SORT l BY nosort DESC LIMIT 1 2"},
        {"[\"4\" \"5\" \"2\" \"1\" \"3\"]", "SORT l BY nosort DESC LIMIT 0 100"},
        {"[\"3\"]", "SORT l BY nosort DESC LIMIT 4 -1"},
        {"5", "SORT l BY nosort DESC STORE d"},
        {"[\"4\" \"5\" \"2\" \"1\" \"3\"]", "LRANGE d 0 -1"},
    };

    runner_expect_all(*state, cases);
}

static void a_set_that_is_stored_is_sorted_at_least_by_its_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"3", "SADD s c a b"},
        {"3", "SORT s BY nosort STORE d"},
        {"[\"a\" \"b\" \"c\"]", "LRANGE d 0 -1"},
        {"3", "SORT s BY nosort DESC STORE d"},
        {"[\"c\" \"b\" \"a\"]", "LRANGE d 0 -1"},
    };

    runner_expect_all(*state, cases);
}

static void what_is_stored_is_read_before_the_target_goes(void **state)
{
    static const char *const cases[][2] = {
        {"2", "RPUSH l 1 2"},
        {"OK", "MSET o_1 one o_2 two"},
        {"2", "SORT l GET o_* STORE o_1"},
        {"[\"one\" \"two\"]", "LRANGE o_1 0 -1"},
        {"OK", "SET w_1 2"},
        {"OK", "SET w_2 1"},
        {"2", "SORT l BY w_* GET # STORE w_2"},
        {"[\"2\" \"1\"]", "LRANGE w_2 0 -1"},
    };

    runner_expect_all(*state, cases);
}

static void bytes_behind_a_nul_count_when_the_result_is_stored(void **state)
{
    static const char *const cases[][2] = {
        {"4", "RPUSH l \"a\\x00c\" \"a\\x00a\" \"a\\x00b\" \"a\""},
        {"4", "SORT l ALPHA STORE d"},
        {"[\"a\" \"a\\x00a\" \"a\\x00b\" \"a\\x00c\"]", "LRANGE d 0 -1"},
    };

    runner_expect_all(*state, cases);
}

static void ties_are_broken_by_the_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH l b a c"},
        {"[\"a\" \"b\" \"c\"]", "SORT l BY none_*"},
        {"[\"c\" \"b\" \"a\"]", "SORT l BY none_* DESC"},
        {"OK", "MSET w_a 1 w_b 1 w_c 1"},
        {"[\"a\" \"b\" \"c\"]", "SORT l BY w_*"},
        {"[\"c\" \"b\" \"a\"]", "SORT l BY w_* DESC"},
        {"[\"b\" \"a\" \"c\"]", "SORT l BY w_* ALPHA"},
        {"[\"b\" \"a\" \"c\"]", "SORT l BY w_* ALPHA DESC"},
    };

    runner_expect_all(*state, cases);
}

static void storing_is_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events Elg"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "2", "RPUSH l 2 1"},
        {'a', "[\"1\" \"2\"]", "SORT l"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:rpush\" \"l\"]", NULL},
        {'a', "2", "SORT l STORE d"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:sortstore\" \"d\"]", NULL},
        {'a', "0", "SORT none STORE d"},
        {'a', "0", "SORT none STORE d"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:del\" \"d\"]", NULL},
    };

    runner_follow(*state, steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(numbers_are_sorted),
        runner_test(sets_and_sorted_sets_are_sorted),
        runner_test(weights_come_from_other_keys),
        runner_test(results_are_stored),
        runner_test(a_list_that_is_not_sorted_keeps_its_order_or_turns_it),
        runner_test(a_set_that_is_stored_is_sorted_at_least_by_its_bytes),
        runner_test(what_is_stored_is_read_before_the_target_goes),
        runner_test(bytes_behind_a_nul_count_when_the_result_is_stored),
        runner_test(ties_are_broken_by_the_bytes),
        runner_test(storing_is_published),
    };
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
