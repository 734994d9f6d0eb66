/* The commands of hashes. Expected is what Redis 7.0.15 answers. */
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <float.h>

/* ---- fields */

static void fields_are_set_and_got(void **state)
{
    static const char *const cases[][2] = {
        {"2", "HSET h a 1 b 2"},
        {"1", "HSET h a 3 c 4"},
        {"\"3\"", "HGET h a"},
        {"nil", "HGET h none"},
        {"nil", "HGET none a"},
        {"[\"3\" nil \"2\" \"3\"]", "HMGET h a none b a"},
        {"[nil nil]", "HMGET none a b"},
        {"0", "HSETNX h a 5"},
        {"1", "HSETNX h d 5"},
        {"OK", "HMSET h e 6 f 7"},
        {"6", "HLEN h"},
        {"0", "HLEN none"},
        {"1", "HEXISTS h a"},
        {"0", "HEXISTS h none"},
        {"0", "HEXISTS none a"},
        {"1", "HSTRLEN h a"},
        {"0", "HSTRLEN h none"},
        {"0", "HSTRLEN none a"},
        {"2", "HDEL h a none b a"},
        {"4", "HLEN h"},
        {"4", "HDEL h c d e f"},
        {"0", "EXISTS h"},
        {"0", "HDEL none a"},
        {"!ERR wrong number of arguments for 'hset' command", "HSET h"},
        {"!ERR wrong number of arguments for 'hset' command", "HSET h a"},
        {"!ERR wrong number of arguments for 'hset' command", "HSET h a 1 b"},
        {"!ERR wrong number of arguments for 'hmset' command", "HMSET h a"},
        {"!ERR wrong number of arguments for 'hmset' command", "HMSET h a 1 b"},
        {"!ERR wrong number of arguments for 'hmget' command", "HMGET h"},
        {"!ERR wrong number of arguments for 'hdel' command", "HDEL h"},
        {"!ERR wrong number of arguments for 'hget' command", "HGET h"},
        {"!ERR wrong number of arguments for 'hsetnx' command", "HSETNX h a"},
    };

    runner_expect_all(*state, cases);
}

static void fields_may_be_empty_or_binary(void **state)
{
    static const char *const cases[][2] = {
        {"2", "HSET h \"\" empty \"a\\x00b\" zero"},
        {"\"empty\"", "HGET h \"\""},
        {"\"zero\"", "HGET h \"a\\x00b\""},
        {"nil", "HGET h a"},
        {"1", "HSET h x \"\""},
        {"\"\"", "HGET h x"},
        {"0", "HSTRLEN h x"},
        {"1", "HDEL h \"\""},
        {"2", "HLEN h"},
    };

    runner_expect_all(*state, cases);
}

static void a_whole_hash_is_read(void **state)
{
    static const char *const cases[][2] = {
        {"1", "HSET h a 1"},
        {"[\"a\" \"1\"]", "HGETALL h"},
        {"[\"a\"]", "HKEYS h"},
        {"[\"1\"]", "HVALS h"},
        {"[]", "HGETALL none"},
        {"[]", "HKEYS none"},
        {"[]", "HVALS none"},
        {"!ERR wrong number of arguments for 'hgetall' command", "HGETALL"},
        {"!ERR wrong number of arguments for 'hkeys' command", "HKEYS h x"},
        {"*", "HELLO 3"},
        {"{\"a\": \"1\"}", "HGETALL h"},
        {"{}", "HGETALL none"},
        {"[\"a\"]", "HKEYS h"},
        {"[\"1\" _]", "HMGET h a none"},
        {"_", "HGET h none"},
    };

    runner_expect_all(*state, cases);
}

static void hashes_are_scanned(void **state)
{
    static const char *const cases[][2] = {
        {"1", "HSET h a 1"},
        {"[\"0\" [\"a\" \"1\"]]", "HSCAN h 0"},
        {"[\"0\" [\"a\" \"1\"]]", "HSCAN h 0 MATCH a* COUNT 10"},
        {"[\"0\" []]", "HSCAN h 0 MATCH b*"},
        {"[\"0\" []]", "HSCAN none 0"},
        {"[\"0\" []]", "HSCAN none 5"},
        {"!ERR invalid cursor", "HSCAN h x"},
        {"!ERR invalid cursor", "HSCAN none x"},
        {"!ERR syntax error", "HSCAN h 0 COUNT 0"},
        {"!ERR value is not an integer or out of range", "HSCAN h 0 COUNT x"},
        {"!ERR syntax error", "HSCAN h 0 TYPE hash"},
        {"!ERR syntax error", "HSCAN h 0 NONSENSE 1"},
        {"!ERR syntax error", "HSCAN h 0 MATCH"},
        {"!ERR wrong number of arguments for 'hscan' command", "HSCAN h"},
        {"OK", "SET s v"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HSCAN s 0"},
    };

    runner_expect_all(*state, cases);
}

static void fields_are_picked_by_chance(void **state)
{
    static const char *const cases[][2] = {
        {"1", "HSET h a 1"},
        {"\"a\"", "HRANDFIELD h"},
        {"[\"a\"]", "HRANDFIELD h 1"},
        {"[\"a\"]", "HRANDFIELD h 5"},
        {"[\"a\" \"a\" \"a\"]", "HRANDFIELD h -3"},
        {"[]", "HRANDFIELD h 0"},
        {"[\"a\" \"1\"]", "HRANDFIELD h 2 WITHVALUES"},
        {"[\"a\" \"1\" \"a\" \"1\"]", "HRANDFIELD h -2 WITHVALUES"},
        {"nil", "HRANDFIELD none"},
        {"[]", "HRANDFIELD none 1"},
        {"[]", "HRANDFIELD none -1 WITHVALUES"},
        {"!ERR value is not an integer or out of range", "HRANDFIELD h x"},
        {"!ERR syntax error", "HRANDFIELD h 1 NONSENSE"},
        {"!ERR syntax error", "HRANDFIELD h 1 WITHVALUES x"},
        {"!ERR value is out of range, value must between -9223372036854775807 and "
         "9223372036854775807",
         "HRANDFIELD h -9223372036854775808"},
        {"!ERR value is out of range, value must between -9223372036854775807 and "
         "9223372036854775807",
         "HRANDFIELD h -9223372036854775808 WITHVALUES"},
        {"!ERR value is out of range", "HRANDFIELD h -4611686018427387905 WITHVALUES"},
        {"OK", "SET s v"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HRANDFIELD s"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "HRANDFIELD s 1"},
        {"*", "HELLO 3"},
        {"\"a\"", "HRANDFIELD h"},
        {"_", "HRANDFIELD none"},
        {"[[\"a\" \"1\"]]", "HRANDFIELD h 2 WITHVALUES"},
        {"[[\"a\" \"1\"] [\"a\" \"1\"]]", "HRANDFIELD h -2 WITHVALUES"},
        {"[]", "HRANDFIELD none 1 WITHVALUES"},
    };

    runner_expect_all(*state, cases);
}

/* ---- numbers */

static void fields_are_counted(void **state)
{
    static const char *const cases[][2] = {
        {"5", "HINCRBY h n 5"},
        {"-2", "HINCRBY h n -7"},
        {"\"-2\"", "HGET h n"},
        {"!ERR value is not an integer or out of range", "HINCRBY h n x"},
        {"!ERR value is not an integer or out of range", "HINCRBY h n 1.5"},
        {"0", "HSET h n abc"},
        {"!ERR hash value is not an integer", "HINCRBY h n 1"},
        {"0", "HSET h n 9223372036854775807"},
        {"!ERR increment or decrement would overflow", "HINCRBY h n 1"},
        {"0", "HSET h n -9223372036854775808"},
        {"!ERR increment or decrement would overflow", "HINCRBY h n -1"},
        {"0", "HSET h n \"\""},
        {"!ERR hash value is not an integer", "HINCRBY h n 1"},
        {"0", "HSET h n \" 1\""},
        {"!ERR hash value is not an integer", "HINCRBY h n 1"},
        {"OK", "SET s v"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HINCRBY s n 1"},
        {"!ERR value is not an integer or out of range", "HINCRBY s n x"},
#if LDBL_MANT_DIG >= 64
        {"\"0.1\"", "HINCRBYFLOAT h f 0.1"},
        {"\"0.3\"", "HINCRBYFLOAT h f 0.2"},
#endif
#if LDBL_MANT_DIG == 64 /* x86; elsewhere there are more digits, or fewer */
        {"\"5000.29999999999999982\"", "HINCRBYFLOAT h f 5.0e3"},
#endif
        {"!ERR value is not a valid float", "HINCRBYFLOAT h f x"},
        {"!ERR value is not a valid float", "HINCRBYFLOAT h f nan"},
        {"!ERR value is NaN or Infinity", "HINCRBYFLOAT h f inf"},
        {"*", "HSET h f abc"},
        {"!ERR hash value is not a float", "HINCRBYFLOAT h f 1"},
#if LDBL_MANT_DIG >= 64
        {"0", "HSET h f 1.7e4932"},
        {"!ERR value is not a valid float", "HINCRBYFLOAT h f 1.7e4932"},
#endif
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "HINCRBYFLOAT s f 1"},
        {"*", "HELLO 3"},
        {"\"1.5\"", "HINCRBYFLOAT h g 1.5"},
        {"1", "HINCRBY h i 1"},
    };

    runner_expect_all(*state, cases);
}

/* ---- types and events */

static void other_types_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET s v"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HSET s a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HMSET s a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HSETNX s a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HGET s a"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HMGET s a"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HDEL s a"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HLEN s"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HEXISTS s a"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HSTRLEN s a"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HGETALL s"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HKEYS s"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HVALS s"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "HINCRBY s a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "HINCRBYFLOAT s a 1"},
        {"1", "HSET h a 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GET h"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "LPUSH h x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "INCR h"},
    };

    runner_expect_all(*state, cases);
}

static void changes_of_hashes_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events Ehg"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "2", "HSET h a 1 b 2"},
        {'a', "0", "HSET h a 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:hset\" \"h\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:hset\" \"h\"]",
         NULL},
        {'a', "OK", "HMSET h c 3"},
        {'a', "0", "HSETNX h a 1"},
        {'a', "1", "HSETNX h d 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:hset\" \"h\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:hset\" \"h\"]",
         NULL},
        {'a', "1", "HINCRBY h n 1"},
        {'a', "\"2\"", "HINCRBYFLOAT h n 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:hincrby\" \"h\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:hincrbyfloat\" \"h\"]",
         NULL},
        {'a', "0", "HDEL h none"},
        {'a', "1", "HDEL h a"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:hdel\" \"h\"]", NULL},
        {'a', "4", "HDEL h b c d n"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:hdel\" \"h\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:del\" \"h\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

static void a_hash_keeps_its_expiry(void **state)
{
    static const char *const cases[][2] = {
        {"1", "HSET h a 1"}, {"1", "EXPIRE h 100"},  {"1", "HSET h b 2"},
        {"1", "HDEL h a"},   {"1", "HINCRBY h n 1"}, {"100", "TTL h"},
        {"2", "HDEL h b n"}, {"1", "HSET h a 1"},    {"-1", "TTL h"},
    };

    runner_expect_all(*state, cases);
}

static void a_small_hash_lists_fields_as_they_came(void **state)
{
    static const char *const cases[][2] = {
        {"5", "HSET h zulu 1 alpha 2 \"\" 3 mike 4 bravo 5"},
        {"1", "HDEL h alpha"},
        {"1", "HSET h mike 6 alpha 7"},
        {"[\"zulu\" \"\" \"mike\" \"bravo\" \"alpha\"]", "HKEYS h"},
        {"[\"1\" \"3\" \"6\" \"5\" \"7\"]", "HVALS h"},
        {"[\"zulu\" \"1\" \"\" \"3\" \"mike\" \"6\" \"bravo\" \"5\" \"alpha\" \"7\"]",
         "HGETALL h"},
        {"[\"0\" [\"zulu\" \"1\" \"\" \"3\" \"mike\" \"6\" \"bravo\" \"5\" \"alpha\" "
         "\"7\"]]",
         "HSCAN h 0 COUNT 1"},
        {"[\"0\" [\"mike\" \"6\"]]", "HSCAN h 12345 MATCH m*"},
        {"[\"zulu\" \"\" \"mike\" \"bravo\" \"alpha\"]", "HRANDFIELD h 10"},
    };

    runner_expect_all(*state, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(fields_are_set_and_got),
        runner_test(fields_may_be_empty_or_binary),
        runner_test(a_whole_hash_is_read),
        runner_test(hashes_are_scanned),
        runner_test(fields_are_picked_by_chance),
        runner_test(fields_are_counted),
        runner_test(other_types_are_refused),
        runner_test(changes_of_hashes_are_published),
        runner_test(a_hash_keeps_its_expiry),
        runner_test(a_small_hash_lists_fields_as_they_came),
    };
    return cmocka_run_group_tests_name("hash commands", tests, NULL, NULL);
}
