/* The commands of strings, LCS among them. Expected is what Redis 7.0.15 answers. */
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <float.h>

/* ---- GET and SET */

static void what_is_set_is_got(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"\"v\"", "GET k"},
        {"OK", "SET k \"\""},
        {"\"\"", "GET k"},
        {"0", "STRLEN k"},
        {"OK", "SET k \"a\\x00b\\r\\n\""},
        {"\"a\\x00b\\r\\n\"", "GET k"},
        {"nil", "GET none"},
        {"!ERR wrong number of arguments for 'get' command", "GET"},
        {"!ERR wrong number of arguments for 'get' command", "GET a b"},
        {"!ERR wrong number of arguments for 'set' command", "SET k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GET l"},
        {"OK", "SET l v"},
        {"string", "TYPE l"},
    };

    runner_expect_all(*state, cases);
}

static void set_takes_options_in_any_order(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k 1 NX"},
        {"nil", "SET k 2 NX"},
        {"OK", "SET k 3 XX"},
        {"nil", "SET none 3 XX"},
        {"\"3\"", "GET k"},
        {"0", "EXISTS none"},
        {"\"3\"", "SET k 4 GET"},
        {"nil", "SET none2 5 GET"},
        {"\"5\"", "GET none2"},
        {"\"4\"", "SET k 5 NX GET"},
        {"\"4\"", "GET k"},
        {"nil", "SET n 5 NX GET"},
        {"\"5\"", "GET n"},
        {"nil", "SET none3 6 XX GET"},
        {"\"4\"", "SET k 6 xx get"},
        {"OK", "SET k 7 EX 100"},
        {"100", "TTL k"},
        {"OK", "SET k 8"},
        {"-1", "TTL k"},
        {"nil", "SET k 9 PX 100000 NX"},
        {"OK", "SET k 9 px 100000 xx"},
        {"100", "TTL k"},
        {"OK", "SET k 10 KEEPTTL"},
        {"100", "TTL k"},
        {"\"10\"", "SET k 11 XX KEEPTTL GET"},
        {"100", "TTL k"},
        {"1", "HSET h f v"},
        {"OK", "SET h 1 KEEPTTL"},
        {"-1", "TTL h"},
        {"1", "DEL h"},
        {"1", "HSET h f v"},
        {"1", "EXPIRE h 100"},
        {"OK", "SET h 1 KEEPTTL"},
        {"100", "TTL h"},
        {"OK", "SET k 12 EXAT 4000000000"},
        {"4000000000", "EXPIRETIME k"},
        {"OK", "SET k 13 EX 10 EX 20"},
        {"20", "TTL k"},
        {"OK", "SET k 13 PXAT 4000000000123"},
        {"4000000000123", "PEXPIRETIME k"},
        {"!ERR syntax error", "SET k 14 NX XX"},
        {"!ERR syntax error", "SET k 14 EX 10 PX 10"},
        {"!ERR syntax error", "SET k 14 EX 10 KEEPTTL"},
        {"!ERR syntax error", "SET k 14 PERSIST"},
        {"!ERR syntax error", "SET k 14 EX"},
        {"!ERR syntax error", "SET k 14 FOO"},
        {"!ERR value is not an integer or out of range", "SET k 14 EX x"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 EX 0"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 EX -1"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 PX 0"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 EXAT 0"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 EX 9223372036854775807"},
        {"!ERR invalid expire time in 'set' command", "SET k 14 PX 9223372036854775807"},
        {"!ERR value is not an integer or out of range", "SET k 14 EX 1.5"},
        {"\"13\"", "GET k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "SET l v GET"},
        {"nil", "SET l v NX"},
        {"list", "TYPE l"},
        {"OK", "SET gone v EXAT 1"},
        {"0", "EXISTS gone"},
        {"\"13\"", "GETSET k 20"},
        {"-1", "TTL k"},
        {"nil", "GETSET new 1"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GETSET l 1"},
        {"list", "TYPE l"},
    };

    runner_expect_all(*state, cases);
}

static void older_forms_of_set(void **state)
{
    static const char *const cases[][2] = {
        {"1", "SETNX k 1"},
        {"0", "SETNX k 2"},
        {"\"1\"", "GET k"},
        {"OK", "SETEX k 100 3"},
        {"100", "TTL k"},
        {"OK", "PSETEX k 100000 4"},
        {"100", "TTL k"},
        {"\"4\"", "GET k"},
        {"!ERR invalid expire time in 'setex' command", "SETEX k 0 v"},
        {"!ERR invalid expire time in 'setex' command", "SETEX k -1 v"},
        {"!ERR value is not an integer or out of range", "SETEX k x v"},
        {"!ERR invalid expire time in 'psetex' command", "PSETEX k 0 v"},
        {"!ERR invalid expire time in 'psetex' command", "PSETEX k 9223372036854775807 v"},
        {"!ERR invalid expire time in 'setex' command", "SETEX k 9223372036854775807 v"},
        {"!ERR wrong number of arguments for 'setex' command", "SETEX k 10"},
        {"!ERR wrong number of arguments for 'setnx' command", "SETNX k"},
        {"1", "RPUSH l x"},
        {"0", "SETNX l v"},
        {"OK", "SETEX l 10 v"},
        {"string", "TYPE l"},
    };

    runner_expect_all(*state, cases);
}

static void a_value_is_taken_out(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"\"v\"", "GETDEL k"},
        {"0", "EXISTS k"},
        {"nil", "GETDEL k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GETDEL l"},
        {"!ERR wrong number of arguments for 'getdel' command", "GETDEL"},
    };

    runner_expect_all(*state, cases);
}

static void a_value_is_got_and_its_expiry_changed(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"\"v\"", "GETEX k"},
        {"-1", "TTL k"},
        {"\"v\"", "GETEX k EX 100"},
        {"100", "TTL k"},
        {"\"v\"", "GETEX k PX 200000"},
        {"200", "TTL k"},
        {"\"v\"", "GETEX k EXAT 4000000000"},
        {"4000000000", "EXPIRETIME k"},
        {"\"v\"", "GETEX k PXAT 4000000000123"},
        {"4000000000123", "PEXPIRETIME k"},
        {"\"v\"", "GETEX k PERSIST"},
        {"-1", "TTL k"},
        {"!ERR syntax error", "GETEX k PERSIST EX 10"},
        {"\"v\"", "GETEX k PERSIST PERSIST"},
        {"\"v\"", "GETEX k EX 10 EX 20"},
        {"20", "TTL k"},
        {"\"v\"", "GETEX k PERSIST"},
        {"!ERR syntax error", "GETEX k EX 10 PX 10"},
        {"!ERR syntax error", "GETEX k EX"},
        {"!ERR invalid expire time in 'getex' command", "GETEX k EX 0"},
        {"!ERR value is not an integer or out of range", "GETEX k EX x"},
        {"!ERR syntax error", "GETEX k KEEPTTL"},
        {"!ERR syntax error", "GETEX k NX"},
        {"!ERR syntax error", "GETEX k GET"},
        {"nil", "GETEX none EX 10"},
        {"\"v\"", "GETEX k EXAT 1"},
        {"0", "EXISTS k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GETEX l"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "GETEX l EX 10"},
    };

    runner_expect_all(*state, cases);
}

/* ---- many at a time */

static void several_are_set_and_got(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MSET a 1 b 2 a 3"},
        {"[\"3\" \"2\" nil \"3\"]", "MGET a b none a"},
        {"1", "RPUSH l x"},
        {"[\"3\" nil \"2\"]", "MGET a l b"},
        {"!ERR wrong number of arguments for 'mset' command", "MSET a"},
        {"!ERR wrong number of arguments for 'mset' command", "MSET a 1 b"},
        {"OK", "MSET l v"},
        {"string", "TYPE l"},
        {"OK", "SET a v EX 100"},
        {"OK", "MSET a 1"},
        {"-1", "TTL a"},
        {"!ERR wrong number of arguments for 'mget' command", "MGET"},
        {"0", "MSETNX a 1 new 2"},
        {"0", "EXISTS new"},
        {"1", "MSETNX x 1 y 2 x 3"},
        {"[\"3\" \"2\"]", "MGET x y"},
        {"!ERR wrong number of arguments for 'msetnx' command", "MSETNX x"},
        {"!ERR wrong number of arguments for 'msetnx' command", "MSETNX x 1 y"},
    };

    runner_expect_all(*state, cases);
}

/* ---- numbers */

static void integers_are_counted(void **state)
{
    static const char *const cases[][2] = {
        {"1", "INCR n"},
        {"2", "INCR n"},
        {"1", "DECR n"},
        {"11", "INCRBY n 10"},
        {"-9", "DECRBY n 20"},
        {"\"-9\"", "GET n"},
        {"!ERR value is not an integer or out of range", "INCRBY n x"},
        {"!ERR value is not an integer or out of range", "INCRBY n 1.5"},
        {"!ERR decrement would overflow", "DECRBY n -9223372036854775808"},
        {"OK", "SET n 9223372036854775807"},
        {"!ERR increment or decrement would overflow", "INCR n"},
        {"!ERR increment or decrement would overflow", "INCRBY n 1"},
        {"9223372036854775806", "DECR n"},
        {"OK", "SET n -9223372036854775808"},
        {"!ERR increment or decrement would overflow", "DECR n"},
        {"!ERR increment or decrement would overflow", "DECRBY n 1"},
        {"OK", "SET n abc"},
        {"!ERR value is not an integer or out of range", "INCR n"},
        {"OK", "SET n \" 1\""},
        {"!ERR value is not an integer or out of range", "INCR n"},
        {"OK", "SET n 01"},
        {"!ERR value is not an integer or out of range", "INCR n"},
        {"OK", "SET n \"\""},
        {"!ERR value is not an integer or out of range", "INCR n"},
        {"OK", "SET n 1.0"},
        {"!ERR value is not an integer or out of range", "INCR n"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "INCR l"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "DECRBY l 1"},
        {"OK", "SET n 5 EX 100"},
        {"6", "INCR n"},
        {"100", "TTL n"},
        {"!ERR wrong number of arguments for 'incr' command", "INCR"},
        {"!ERR wrong number of arguments for 'incrby' command", "INCRBY n"},
    };

    runner_expect_all(*state, cases);
}

static void floats_are_counted(void **state)
{
    static const char *const cases[][2] = {
#if LDBL_MANT_DIG >= 64
        {"\"0.1\"", "INCRBYFLOAT f 0.1"},
        {"\"0.3\"", "INCRBYFLOAT f 0.2"},
#endif
#if LDBL_MANT_DIG == 64 /* x86; elsewhere there are more digits, or fewer */
        {"\"3000.30000000000000004\"", "INCRBYFLOAT f 3.0e3"},
        {"\"0.30000000000000004\"", "INCRBYFLOAT f -3000"},
#endif
        {"OK", "SET f 5.0e3"},
        {"\"5200\"", "INCRBYFLOAT f 2.0e2"},
        {"!ERR value is not a valid float", "INCRBYFLOAT f x"},
        {"!ERR increment would produce NaN or Infinity", "INCRBYFLOAT f inf"},
        {"!ERR value is not a valid float", "INCRBYFLOAT f nan"},
        {"OK", "SET f abc"},
        {"!ERR value is not a valid float", "INCRBYFLOAT f 1"},
#if LDBL_MANT_DIG == 64
        {"OK", "SET f 1e400"},
        {"\"10000000000000000000281880683947586514586453433629052038625910693539685534008629862"
         "0393639948483241605220940539273176162002958227772592557340238289765933406610177974474"
         "3454617391786244811667497172377894382439159333804747067502624668440135923751360383034"
         "3735485505244955964979021825038280091068414947402456898653040951017512658092615827588"
         "920183472511643316591362664138176309734806343732497430221946880\"",
         "INCRBYFLOAT f 1"},
        {"OK", "SET f 1.7e4932"},
        {"!ERR value is not a valid float", "INCRBYFLOAT f 1.7e4932"},
#endif
        {"OK", "SET f \" 1\""},
        {"!ERR value is not a valid float", "INCRBYFLOAT f 1"},
#if LDBL_MANT_DIG >= 64
        {"OK", "SET f 10.50"},
        {"\"10.6\"", "INCRBYFLOAT f 0.1"},
        {"\"5.6\"", "INCRBYFLOAT f -5"},
#endif
        {"OK", "SET f 3"},
#if LDBL_MANT_DIG == 64
        {"\"4.00000000000000001\"", "INCRBYFLOAT f 1.000000000000000005"},
        {"\"100000000000000004\"", "INCRBYFLOAT f 1e17"},
#endif
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "INCRBYFLOAT l 1"},
        {"OK", "SET f 1 EX 100"},
        {"\"2.5\"", "INCRBYFLOAT f 1.5"},
        {"100", "TTL f"},
    };

    runner_expect_all(*state, cases);
}

/* ---- parts */

static void values_are_appended_to(void **state)
{
    static const char *const cases[][2] = {
        {"3", "APPEND k abc"},
        {"6", "APPEND k def"},
        {"6", "APPEND k \"\""},
        {"\"abcdef\"", "GET k"},
        {"6", "STRLEN k"},
        {"0", "STRLEN none"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "APPEND l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value", "STRLEN l"},
        {"1", "EXPIRE k 100"},
        {"7", "APPEND k x"},
        {"100", "TTL k"},
        {"!ERR wrong number of arguments for 'append' command", "APPEND k"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_are_cut_out(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k \"Hello World\""},
        {"\"Hello\"", "GETRANGE k 0 4"},
        {"\"World\"", "GETRANGE k -5 -1"},
        {"\"Hello World\"", "GETRANGE k 0 -1"},
        {"\"\"", "GETRANGE k 4 2"},
        {"\"\"", "GETRANGE k -1 -5"},
        {"\"Hel\"", "GETRANGE k -100 2"},
        {"\" World\"", "GETRANGE k 5 100"},
        {"\"\"", "GETRANGE k 100 200"},
        {"\"H\"", "GETRANGE k -100 -50"},
        {"\"Hello World\"", "GETRANGE k -9223372036854775808 9223372036854775807"},
        {"\"\"", "GETRANGE none 0 -1"},
        {"!ERR value is not an integer or out of range", "GETRANGE k x 1"},
        {"!ERR value is not an integer or out of range", "GETRANGE k 1 x"},
        {"\"Hello\"", "SUBSTR k 0 4"},
        {"!ERR wrong number of arguments for 'substr' command", "SUBSTR k 0"},
        {"OK", "SET k \"\""},
        {"\"\"", "GETRANGE k 0 0"},
        {"\"\"", "GETRANGE k -1 -1"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "GETRANGE l 0 0"},
    };

    runner_expect_all(*state, cases);
}

/* As in Redis, not only what is sent. */
static void the_largest_argument_is_the_longest_string(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG SET proto-max-bulk-len 1mb"},
        {"!ERR string exceeds maximum allowed size (proto-max-bulk-len)",
         "SETRANGE k 1048576 x"},
        {"!ERR bit offset is not an integer or out of range", "SETBIT k 8388608 1"},
        {"!ERR bit offset is not an integer or out of range", "GETBIT k 8388608"},
        {"0", "SETBIT k 8388607 1"},
        {"1048576", "SETRANGE k 1048575 x"},
        {"!ERR string exceeds maximum allowed size (proto-max-bulk-len)", "APPEND k x"},
        {"OK", "CONFIG SET proto-max-bulk-len 512mb"},
        {"1048577", "APPEND k x"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_are_written_over(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k \"Hello World\""},
        {"11", "SETRANGE k 6 Redis"},
        {"\"Hello Redis\"", "GET k"},
        {"14", "SETRANGE k 13 !"},
        {"\"Hello Redis\\x00\\x00!\"", "GET k"},
        {"0", "SETRANGE none 0 \"\""},
        {"0", "EXISTS none"},
        {"0", "SETRANGE none 3 \"\""},
        {"0", "EXISTS none"},
        {"4", "SETRANGE none 3 x"},
        {"\"\\x00\\x00\\x00x\"", "GET none"},
        {"!ERR offset is out of range", "SETRANGE k -1 x"},
        {"!ERR value is not an integer or out of range", "SETRANGE k x x"},
        {"!ERR string exceeds maximum allowed size (proto-max-bulk-len)",
         "SETRANGE k 536870912 x"},
        {"!ERR string exceeds maximum allowed size (proto-max-bulk-len)",
         "SETRANGE k 536870911 xy"},
        {"!ERR string exceeds maximum allowed size (proto-max-bulk-len)",
         "SETRANGE k 9223372036854775807 x"},
        {"14", "SETRANGE k 100 \"\""},
        {"14", "STRLEN k"},
        {"1", "RPUSH l x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "SETRANGE l 0 x"},
        {"!WRONGTYPE Operation against a key holding the wrong kind of value",
         "SETRANGE l 0 \"\""},
        {"1", "EXPIRE k 100"},
        {"14", "SETRANGE k 0 x"},
        {"100", "TTL k"},
    };

    runner_expect_all(*state, cases);
}

/* ---- LCS */

static void common_subsequences_are_found(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MSET a ohmytext b mynewtext"},
        {"\"mytext\"", "LCS a b"},
        {"6", "LCS a b LEN"},
        {"[\"matches\" [[[4 7] [5 8]] [[2 3] [0 1]]] \"len\" 6]", "LCS a b IDX"},
        {"[\"matches\" [[[4 7] [5 8]]] \"len\" 6]", "LCS a b IDX MINMATCHLEN 4"},
        {"[\"matches\" [[[4 7] [5 8] 4]] \"len\" 6]", "LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN"},
        {"[\"matches\" [[[4 7] [5 8] 4] [[2 3] [0 1] 2]] \"len\" 6]",
         "LCS a b idx withmatchlen"},
        {"[\"matches\" [[[4 7] [5 8]] [[2 3] [0 1]]] \"len\" 6]", "LCS a b IDX MINMATCHLEN -1"},
        {"!ERR If you want both the length and indexes, please just use IDX.",
         "LCS a b IDX LEN"},
        {"\"mytext\"", "LCS a b MINMATCHLEN 4"},
        {"6", "LCS a b LEN WITHMATCHLEN"},
        {"!ERR syntax error", "LCS a b NONSENSE"},
        {"!ERR syntax error", "LCS a b IDX MINMATCHLEN"},
        {"!ERR value is not an integer or out of range", "LCS a b IDX MINMATCHLEN x"},
        {"\"\"", "LCS a none"},
        {"0", "LCS a none LEN"},
        {"[\"matches\" [] \"len\" 0]", "LCS none none2 IDX"},
        {"\"ohmytext\"", "LCS a a"},
        {"1", "RPUSH l x"},
        {"!ERR The specified keys must contain string values", "LCS a l"},
        {"!ERR wrong number of arguments for 'lcs' command", "LCS a"},
        {"*", "HELLO 3"},
        {"{\"matches\": [[[4 7] [5 8] 4] [[2 3] [0 1] 2]] \"len\": 6}",
         "LCS a b IDX WITHMATCHLEN"},
    };

    runner_expect_all(*state, cases);
}

/* ---- protocol and events */

static void absent_values_are_null_in_resp3(void **state)
{
    static const char *const cases[][2] = {
        {"*", "HELLO 3"},         {"_", "GET none"},
        {"[_]", "MGET none"},     {"_", "GETDEL none"},
        {"_", "GETEX none"},      {"_", "GETSET k v"},
        {"_", "SET k v NX"},      {"\"v\"", "SET k v GET"},
        {"_", "SET none2 v GET"}, {"\"0.5\"", "INCRBYFLOAT f 0.5"},
        {"_", "SET none v XX"},
    };

    runner_expect_all(*state, cases);
}

static void changes_of_strings_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events E$gx"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "OK", "SET k 1"},
        {'a', "OK", "SET k 1 EX 100"},
        {'a', "nil", "SET k 1 NX"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:expire\" \"k\"]",
         NULL},
        {'a', "OK", "SETEX k 100 1"},
        {'a', "OK", "PSETEX k 100000 1"},
        {'a', "0", "SETNX k 2"},
        {'a', "1", "SETNX n 2"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:expire\" \"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:expire\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"n\"]",
         NULL},
        {'a', "\"1\"", "GETSET k 2"},
        {'a', "\"2\"", "GETDEL k"},
        {'a', "nil", "GETDEL k"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:del\" \"k\"]",
         NULL},
        {'a', "OK", "SET k v"},
        {'a', "\"v\"", "GETEX k EX 10"},
        {'a', "\"v\"", "GETEX k PERSIST"},
        {'a', "\"v\"", "GETEX k PERSIST"},
        {'a', "\"v\"", "GETEX k"},
        {'a', "\"v\"", "GETEX k EXAT 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:expire\" \"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:persist\" "
         "\"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:del\" \"k\"]",
         NULL},
        {'a', "OK", "MSET a 1 b 2"},
        {'a', "0", "MSETNX a 1 c 2"},
        {'a', "1", "MSETNX c 1 d 2"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"a\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"b\"] [\"pmessage\" \"*\" \"__keyevent@0__:set\" \"c\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"d\"]",
         NULL},
        {'a', "1", "INCR i"},
        {'a', "0", "DECR i"},
        {'a', "2", "INCRBY i 2"},
        {'a', "0", "DECRBY i 2"},
        {'a', "\"1\"", "INCRBYFLOAT i 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:incrby\" \"i\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:incrby\" \"i\"] [\"pmessage\" \"*\" \"__keyevent@0__:incrby\" "
         "\"i\"] [\"pmessage\" \"*\" \"__keyevent@0__:incrby\" \"i\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:incrbyfloat\" \"i\"]",
         NULL},
        {'a', "1", "APPEND s x"},
        {'a', "1", "APPEND s \"\""},
        {'a', "1", "SETRANGE s 0 y"},
        {'a', "1", "SETRANGE s 0 \"\""},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:append\" \"s\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:append\" \"s\"] [\"pmessage\" \"*\" \"__keyevent@0__:setrange\" "
         "\"s\"]",
         NULL},
        {'a', "1", "RPUSH l x"},
        {'a', "OK", "SET l v"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"l\"]", NULL},
        {'a', "OK", "SET k v EXAT 1"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:expire\" \"k\"]",
         NULL},
        {'a', "nil", "SET k v PX 100000 GET"},
        {'a', "OK", "SET k v KEEPTTL"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:expired\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:expire\" \"k\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

/* 3,000,000 pairs of bytes, some in each slice; a change of a key begins it anew. */
static void a_large_table_is_computed_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    runner_expect(runner, "2001", "SETRANGE a 2000 x");
    runner_expect(runner, "1501", "SETRANGE b 1500 x");
    runner->by_slices = true;
    runner_expect_of(runner, client, "", "LCS a b LEN");
    assert_in_range(runner_finish(runner, UINT64_MAX), 10, 20);
    runner_expect_reply(client, "1501");
    runner_expect_of(runner, client, "", "LCS a b LEN");
    assert_true(runner_slice(runner));
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(what_is_set_is_got),
        runner_test(set_takes_options_in_any_order),
        runner_test(older_forms_of_set),
        runner_test(a_value_is_taken_out),
        runner_test(a_value_is_got_and_its_expiry_changed),
        runner_test(several_are_set_and_got),
        runner_test(integers_are_counted),
        runner_test(floats_are_counted),
        runner_test(values_are_appended_to),
        runner_test(ranges_are_cut_out),
        runner_test(the_largest_argument_is_the_longest_string),
        runner_test(ranges_are_written_over),
        runner_test(common_subsequences_are_found),
        runner_test(absent_values_are_null_in_resp3),
        runner_test(changes_of_strings_are_published),
        runner_test(a_large_table_is_computed_in_slices),
    };
    return cmocka_run_group_tests_name("string commands", tests, NULL, NULL);
}
