/* The commands of keys of any type: removing, names, databases, scans, expiry, events. Expected
 * is what Redis 7.0.15 answers. */
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

/* ---- removing, counting */

static void deleted_keys_are_counted(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MSET a 1 b 2 c 3"},
        {"2", "DEL a none b"},
        {"2", "EXISTS a b c c none"},
        {"1", "UNLINK c none c"},
        {"0", "DEL none"},
        {"0", "EXISTS c"},
        {"1", "RPUSH l x"},
        {"1", "HSET h f v"},
        {"1", "SADD s x"},
        {"1", "ZADD z 1 x"},
        {"5", "TOUCH l h s z none l"},
        {"4", "DEL l h s z"},
        {"0", "DBSIZE"},
        {"!ERR wrong number of arguments for 'del' command", "DEL"},
        {"!ERR wrong number of arguments for 'unlink' command", "UNLINK"},
        {"!ERR wrong number of arguments for 'exists' command", "EXISTS"},
        {"!ERR wrong number of arguments for 'touch' command", "TOUCH"},
    };

    runner_expect_all(*state, cases);
}

static void types_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET string v"},
        {"1", "RPUSH list x"},
        {"1", "SADD set x"},
        {"1", "ZADD zset 1 x"},
        {"1", "HSET hash f v"},
        {"string", "TYPE string"},
        {"list", "TYPE list"},
        {"set", "TYPE set"},
        {"zset", "TYPE zset"},
        {"hash", "TYPE hash"},
        {"none", "TYPE none"},
        {"!ERR wrong number of arguments for 'type' command", "TYPE"},
        {"!ERR wrong number of arguments for 'type' command", "TYPE a b"},
    };

    runner_expect_all(*state, cases);
}

static void names_may_be_empty_or_binary(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET \"\" empty"},
        {"\"empty\"", "GET \"\""},
        {"1", "EXISTS \"\""},
        {"OK", "SET \"a\\x00b\" zero"},
        {"\"zero\"", "GET \"a\\x00b\""},
        {"nil", "GET a"},
        {"OK", "RENAME \"\" \"a\\x00b\""},
        {"\"empty\"", "GET \"a\\x00b\""},
        {"1", "DBSIZE"},
        {"\"a\\x00b\"", "RANDOMKEY"},
        {"1", "DEL \"a\\x00b\""},
        {"nil", "RANDOMKEY"},
    };

    runner_expect_all(*state, cases);
}

/* ---- names */

static void renaming_takes_value_and_expiry_along(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET from value"},
        {"1", "EXPIRE from 100"},
        {"OK", "SET to other"},
        {"1", "EXPIRE to 50"},
        {"OK", "RENAME from to"},
        {"0", "EXISTS from"},
        {"\"value\"", "GET to"},
        {"100", "TTL to"},
        {"!ERR no such key", "RENAME none to"},
        {"OK", "RENAME to to"},
        {"!ERR no such key", "RENAME none none"},
        {"\"value\"", "GET to"},
        {"OK", "SET other x"},
        {"OK", "RENAME other to"},
        {"-1", "TTL to"},
        {"!ERR wrong number of arguments for 'rename' command", "RENAME to"},
    };

    runner_expect_all(*state, cases);
}

static void renaming_to_a_free_name_only(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET a 1"},
        {"OK", "SET b 2"},
        {"0", "RENAMENX a b"},
        {"1", "RENAMENX a c"},
        {"\"1\"", "GET c"},
        {"!ERR no such key", "RENAMENX a d"},
        {"0", "RENAMENX c c"},
        {"\"1\"", "GET c"},
        {"!ERR wrong number of arguments for 'renamenx' command", "RENAMENX a"},
    };

    runner_expect_all(*state, cases);
}

static void a_copy_has_the_value_and_the_expiry(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH from a b c"},
        {"1", "EXPIRE from 100"},
        {"1", "COPY from to"},
        {"[\"a\" \"b\" \"c\"]", "LRANGE to 0 -1"},
        {"100", "TTL to"},
        {"4", "RPUSH to d"},
        {"3", "LLEN from"},
        {"0", "COPY from to"},
        {"1", "COPY from to REPLACE"},
        {"3", "LLEN to"},
        {"0", "COPY none to REPLACE"},
        {"3", "LLEN to"},
        {"0", "COPY none other"},
        {"!ERR source and destination objects are the same", "COPY from from"},
        {"!ERR source and destination objects are the same", "COPY from from REPLACE"},
        {"!ERR source and destination objects are the same", "COPY none none"},
        {"!ERR syntax error", "COPY from to DB"},
        {"!ERR syntax error", "COPY from to NONSENSE"},
        {"!ERR value is not an integer or out of range", "COPY from to DB x"},
        {"!ERR DB index is out of range", "COPY from to DB 99"},
        {"!ERR DB index is out of range", "COPY from to DB -1"},
        {"1", "COPY from from DB 1"},
        {"0", "COPY from from DB 1"},
        {"1", "COPY from from DB 1 REPLACE"},
        {"1", "COPY from from REPLACE DB 1"},
        {"OK", "SELECT 1"},
        {"[\"a\" \"b\" \"c\"]", "LRANGE from 0 -1"},
        {"100", "TTL from"},
        {"1", "COPY from to DB 0 replace db 2"},
        {"OK", "SELECT 2"},
        {"3", "LLEN to"},
        {"!ERR wrong number of arguments for 'copy' command", "COPY a"},
    };

    runner_expect_all(*state, cases);
}

static void every_type_is_copied(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET string v"},
        {"3", "SADD set 1 2 3"},
        {"2", "ZADD zset 1 a 2 b"},
        {"2", "HSET hash f v g w"},
        {"1", "COPY string string2"},
        {"1", "COPY set set2"},
        {"1", "COPY zset zset2"},
        {"1", "COPY hash hash2"},
        {"\"v\"", "GET string2"},
        {"3", "SCARD set2"},
        {"[\"a\" \"1\" \"b\" \"2\"]", "ZRANGE zset2 0 -1 WITHSCORES"},
        {"\"w\"", "HGET hash2 g"},
        {"4", "DEL string set zset hash"},
        {"1", "ZRANK zset2 b"},
        {"2", "HLEN hash2"},
    };

    runner_expect_all(*state, cases);
}

/* ---- databases */

static void keys_move_between_databases(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"1", "EXPIRE k 100"},
        {"1", "MOVE k 1"},
        {"0", "EXISTS k"},
        {"OK", "SELECT 1"},
        {"\"v\"", "GET k"},
        {"100", "TTL k"},
        {"OK", "SELECT 0"},
        {"0", "MOVE k 1"},
        {"OK", "SET k w"},
        {"0", "MOVE k 1"},
        {"!ERR source and destination objects are the same", "MOVE k 0"},
        {"!ERR source and destination objects are the same", "MOVE none 0"},
        {"!ERR DB index is out of range", "MOVE k 99"},
        {"!ERR DB index is out of range", "MOVE k -1"},
        {"!ERR value is not an integer or out of range", "MOVE k x"},
        {"!ERR wrong number of arguments for 'move' command", "MOVE k"},
    };

    runner_expect_all(*state, cases);
}

static void databases_are_swapped(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k zero"},
        {"OK", "SELECT 1"},
        {"OK", "SET k one"},
        {"OK", "SET l one"},
        {"OK", "SWAPDB 0 1"},
        {"\"zero\"", "GET k"},
        {"0", "EXISTS l"},
        {"OK", "SELECT 0"},
        {"\"one\"", "GET k"},
        {"\"one\"", "GET l"},
        {"2", "DBSIZE"},
        {"OK", "SWAPDB 0 0"},
        {"!ERR DB index is out of range", "SWAPDB 0 99"},
        {"!ERR DB index is out of range", "SWAPDB 99 0"},
        {"!ERR invalid first DB index", "SWAPDB x 0"},
        {"!ERR invalid second DB index", "SWAPDB 0 x"},
        {"!ERR wrong number of arguments for 'swapdb' command", "SWAPDB 0"},
    };

    runner_expect_all(*state, cases);
}

static void a_database_is_flushed_by_itself(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"1", "EXPIRE k 100"},
        {"OK", "SELECT 1"},
        {"OK", "SET k v"},
        {"OK", "FLUSHDB"},
        {"0", "DBSIZE"},
        {"OK", "SELECT 0"},
        {"1", "DBSIZE"},
        {"\"v\"", "GET k"},
        {"OK", "FLUSHDB ASYNC"},
        {"0", "DBSIZE"},
        {"OK", "SET k v"},
        {"OK", "FLUSHALL SYNC"},
        {"0", "EXISTS k"},
        {"!ERR syntax error", "FLUSHDB NOW"},
        {"!ERR syntax error", "FLUSHDB SYNC ASYNC"},
        {"!ERR syntax error", "FLUSHALL NOW"},
        {"OK", "SELECT 15"},
        {"!ERR DB index is out of range", "SELECT 16"},
        {"!ERR DB index is out of range", "SELECT -1"},
        {"!ERR value is not an integer or out of range", "SELECT x"},
    };

    runner_expect_all(*state, cases);
}

/* ---- looking around */

static void keys_are_matched(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET one 1"},
        {"OK", "SET two 2"},
        {"OK", "SET \"a*b\" 3"},
        {"[\"one\"]", "KEYS o*"},
        {"[\"two\"]", "KEYS *w*"},
        {"[\"a*b\"]", "KEYS \"a\\\\*b\""},
        {"[]", "KEYS none"},
        {"[\"one\"]", "KEYS ?ne"},
        {"[\"one\"]", "KEYS [o]ne"},
        {"[\"two\"]", "KEYS [^a-o]wo"},
        {"!ERR wrong number of arguments for 'keys' command", "KEYS"},
        {"2", "DEL one two"},
        {"[\"a*b\"]", "KEYS *"},
    };

    runner_expect_all(*state, cases);
}

static void scans_take_options_in_any_order(void **state)
{
    static const char *const cases[][2] = {
        {"1", "RPUSH list x"},
        {"OK", "SET string x"},
        {"[\"0\" [\"list\"]]", "SCAN 0 TYPE list"},
        {"[\"0\" [\"list\"]]", "SCAN 0 type LIST COUNT 100"},
        {"[\"0\" [\"list\"]]", "SCAN 0 COUNT 100 MATCH l*"},
        {"[\"0\" []]", "SCAN 0 MATCH none"},
        {"[\"0\" []]", "SCAN 0 TYPE nonsense"},
        {"[\"0\" [\"string\"]]", "SCAN 0 MATCH s* TYPE string COUNT 5"},
        {"!ERR invalid cursor", "SCAN x"},
        {"!ERR syntax error", "SCAN 0 COUNT 0"},
        {"!ERR syntax error", "SCAN 0 COUNT -1"},
        {"!ERR value is not an integer or out of range", "SCAN 0 COUNT x"},
        {"!ERR syntax error", "SCAN 0 COUNT"},
        {"!ERR syntax error", "SCAN 0 MATCH"},
        {"!ERR syntax error", "SCAN 0 NONSENSE x"},
        {"!ERR wrong number of arguments for 'scan' command", "SCAN"},
        {"!ERR value is not an integer or out of range", "SCAN -1 COUNT x"},
        {"!ERR invalid cursor", "SCAN 99999999999999999999999"},
    };

    runner_expect_all(*state, cases);
}

static void waiting_for_replicas_ends(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "0", "WAIT 0 0"},
        {'a', "0", "WAIT -1 0"},
        {'a', "!ERR timeout is negative", "WAIT 0 -1"},
        {'a', "!ERR timeout is not an integer or out of range", "WAIT 0 x"},
        {'a', "!ERR value is not an integer or out of range", "WAIT x 0"},
        {'a', "", "WAIT 1 500"},
        {'+', NULL, "500"},
        {'a', "0", NULL},
    };

    runner_follow(*state, steps);
}

/* ---- expiry */

static void keys_expire(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v"}, {'a', "1", "EXPIRE k 1"},   {'a', "1", "TTL k"},
        {'a', "1", "EXISTS k"}, {'+', NULL, "1000"},        {'a', "0", "PTTL k"},
        {'+', NULL, "1"},       {'a', "0", "EXISTS k"},     {'a', "nil", "GET k"},
        {'a', "-2", "TTL k"},   {'a', "-2", "PTTL k"},      {'a', "none", "TYPE k"},
        {'a', "0", "DBSIZE"},   {'a', "OK", "SET k again"}, {'a', "-1", "TTL k"},
    };

    runner_follow(*state, steps);
}

static void expiry_may_depend_on_what_there_is(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"0", "EXPIRE k 100 XX"},
        {"0", "EXPIRE k 100 GT"},
        {"-1", "TTL k"},
        {"1", "EXPIRE k 100 LT"},
        {"100", "TTL k"},
        {"0", "EXPIRE k 50 NX"},
        {"0", "EXPIRE k 50 GT"},
        {"1", "EXPIRE k 200 GT"},
        {"200", "TTL k"},
        {"0", "EXPIRE k 300 LT"},
        {"1", "EXPIRE k 150 LT"},
        {"150", "TTL k"},
        {"1", "EXPIRE k 120 XX"},
        {"1", "EXPIRE k 130 xx gt"},
        {"1", "EXPIRE k 110 XX LT"},
        {"1", "PERSIST k"},
        {"1", "EXPIRE k 100 NX"},
        {"100", "TTL k"},
        {"!ERR NX and XX, GT or LT options at the same time are not compatible",
         "EXPIRE k 100 NX XX"},
        {"!ERR NX and XX, GT or LT options at the same time are not compatible",
         "EXPIRE k 100 NX GT"},
        {"!ERR NX and XX, GT or LT options at the same time are not compatible",
         "EXPIRE k 100 NX LT"},
        {"!ERR GT and LT options at the same time are not compatible", "EXPIRE k 100 GT LT"},
        {"!ERR Unsupported option NONSENSE", "EXPIRE k 100 NONSENSE"},
        {"!ERR Unsupported option NONSENSE", "EXPIRE k x NONSENSE"},
        {"0", "EXPIRE none 100"},
        {"0", "EXPIRE none 100 NX"},
        {"!ERR value is not an integer or out of range", "EXPIRE none x"},
        {"!ERR invalid expire time in 'expire' command", "EXPIRE k 9223372036854775807"},
        {"!ERR invalid expire time in 'pexpire' command", "PEXPIRE k 9223372036854775807"},
        {"!ERR invalid expire time in 'expireat' command", "EXPIREAT k 9223372036854775807"},
        {"!ERR invalid expire time in 'expire' command", "EXPIRE k -9223372036854775808"},
        {"!ERR value is not an integer or out of range", "PEXPIRE k x"},
        {"!ERR value is not an integer or out of range", "EXPIRE k 1.5"},
        {"!ERR wrong number of arguments for 'expire' command", "EXPIRE k"},
    };

    runner_expect_all(*state, cases);
}

static void moments_are_absolute_too(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v"},
        {"1", "EXPIREAT k 4000000000"},
        {"4000000000", "EXPIRETIME k"},
        {"4000000000000", "PEXPIRETIME k"},
        {"1", "PEXPIREAT k 4000000000600"},
        {"4000000001", "EXPIRETIME k"},
        {"4000000000600", "PEXPIRETIME k"},
        {"-2", "EXPIRETIME none"},
        {"-2", "PEXPIRETIME none"},
        {"1", "PERSIST k"},
        {"-1", "EXPIRETIME k"},
        {"0", "PERSIST k"},
        {"0", "PERSIST none"},
        {"0", "EXPIREAT k 4000000000 GT"},
        {"1", "PEXPIREAT k 4000000000000 LT"},
        {"0", "PEXPIREAT k 4000000000000 LT"},
        {"!ERR wrong number of arguments for 'expireat' command", "EXPIREAT k"},
    };

    runner_expect_all(*state, cases);
}

static void a_moment_that_has_passed_deletes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MSET a 1 b 2 c 3 d 4"}, {"1", "EXPIRE a 0"},    {"1", "EXPIRE b -1"},
        {"1", "EXPIREAT c 1000"},       {"1", "PEXPIREAT d 1"}, {"0", "EXISTS a b c d"},
        {"0", "PEXPIRE a 0"},           {"0", "DBSIZE"},
    };

    runner_expect_all(*state, cases);
}

static void seconds_left_are_rounded(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k v PX 100400"},
        {"100", "TTL k"},
        {"1", "PEXPIRE k 100700"},
        {"101", "TTL k"},
        {"1", "EXPIRE k 100"},
        {"100000", "PTTL k"},
        {"-2", "TTL none"},
        {"OK", "SET k v"},
        {"-1", "PTTL k"},
    };

    runner_expect_all(*state, cases);
}

static void what_has_expired_is_not_in_the_way(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "1", "RPUSH list x"},
        {'a', "1", "PEXPIRE list 50"},
        {'a', "OK", "SET string v PX 50"},
        {'a', "1", "HSET hash f v"},
        {'a', "1", "PEXPIRE hash 50"},
        {'+', NULL, "60"},
        {'a', "1", "LPUSH string x"},
        {'a', "OK", "SET list v"},
        {'a', "nil", "HGET hash f"},
        {'a', "1", "SADD hash x"},
        {'a', "list", "TYPE string"},
        {'a', "-1", "TTL string"},
        {'a', "set", "TYPE hash"},
        {'a', "-1", "TTL hash"},
        {'a', "!ERR no such key", "RENAME none list"},
        {'a', "OK", "SET gone v PX 20"},
        {'+', NULL, "30"},
        {'a', "!ERR no such key", "RENAME gone list"},
        {'a', "1", "RENAMENX list gone"},
        {'a', "-1", "TTL gone"},
        {'a', "1", "COPY gone list"},
        {'a', "0", "PERSIST gone"},
        {'a', "0", "EXPIRE none 10"},
    };

    runner_follow(*state, steps);
}

/* ---- events */

static void changes_of_keys_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events KEA"},
        {'a', "OK", "MSET a 1 b 2"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "2", "DEL a b none"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:a\" \"del\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:del\" \"a\"] [\"pmessage\" \"*\" \"__keyspace@0__:b\" \"del\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:del\" \"b\"]",
         NULL},
        {'a', "OK", "SET k v EX 100"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:k\" \"set\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" \"__keyspace@0__:k\" \"expire\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:expire\" \"k\"]",
         NULL},
        {'a', "1", "EXPIRE k 50"},
        {'a', "1", "PERSIST k"},
        {'a', "0", "PERSIST k"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:k\" \"expire\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:expire\" \"k\"] [\"pmessage\" \"*\" \"__keyspace@0__:k\" "
         "\"persist\"] [\"pmessage\" \"*\" \"__keyevent@0__:persist\" \"k\"]",
         NULL},
        {'a', "OK", "RENAME k l"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:k\" \"rename_from\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rename_from\" \"k\"] [\"pmessage\" \"*\" \"__keyspace@0__:l\" "
         "\"rename_to\"] [\"pmessage\" \"*\" \"__keyevent@0__:rename_to\" \"l\"]",
         NULL},
        {'a', "OK", "RENAME l l"},
        {'b', "", NULL},
        {'a', "1", "RENAMENX l m"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:l\" \"rename_from\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rename_from\" \"l\"] [\"pmessage\" \"*\" \"__keyspace@0__:m\" "
         "\"rename_to\"] [\"pmessage\" \"*\" \"__keyevent@0__:rename_to\" \"m\"]",
         NULL},
        {'a', "1", "COPY m n"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:n\" \"copy_to\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:copy_to\" \"n\"]",
         NULL},
        {'a', "1", "COPY m n DB 3"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@3__:n\" \"copy_to\"] [\"pmessage\" \"*\" "
         "\"__keyevent@3__:copy_to\" \"n\"]",
         NULL},
        {'a', "1", "MOVE m 2"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:m\" \"move_from\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:move_from\" \"m\"] [\"pmessage\" \"*\" \"__keyspace@2__:m\" "
         "\"move_to\"] [\"pmessage\" \"*\" \"__keyevent@2__:move_to\" \"m\"]",
         NULL},
        {'a', "1", "EXPIRE n 0"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:n\" \"del\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:del\" \"n\"]",
         NULL},
        {'a', "OK", "SET n v"},
        {'a', "OK", "FLUSHDB"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:n\" \"set\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"n\"]",
         NULL},
        {'a', "OK", "SELECT 5"},
        {'a', "OK", "SET k v"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@5__:k\" \"set\"] [\"pmessage\" \"*\" "
         "\"__keyevent@5__:set\" \"k\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

static void expiry_is_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events Ex"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "OK", "SET k v PX 500"},
        {'a', "1", "RPUSH l x"},
        {'a', "1", "PEXPIRE l 1000"},
        {'b', "", NULL},
        {'+', NULL, "600"},
        {'a', "0", "EXISTS k"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:expired\" \"k\"]", NULL},
        {'+', NULL, "500"},
        {'a', "0", "EXISTS l"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:expired\" \"l\"]", NULL},
    };

    runner_follow(*state, steps);
}

/* The class is not part of A. A value that replaces another one is no new key; a value under
 * another name is one. */
static void keys_that_are_new_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events AEn"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "OK", "MSET a 1 b 2"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"a\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:set\" \"a\"] [\"pmessage\" \"*\" \"__keyevent@0__:new\" \"b\"] "
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"b\"]",
         NULL},
        {'a', "OK", "SET a 3"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"a\"]", NULL},
        {'a', "1", "RPUSH l x"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"l\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rpush\" \"l\"]",
         NULL},
        {'a', "2", "RPUSH l y"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:rpush\" \"l\"]", NULL},
        {'a', "OK", "SET l v"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"l\"]", NULL},
        {'a', "2", "SADD s x y"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"s\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:sadd\" \"s\"]",
         NULL},
        {'a', "2", "SUNIONSTORE l s"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:sunionstore\" \"l\"]", NULL},
        {'a', "2", "SUNIONSTORE t s"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"t\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:sunionstore\" \"t\"]",
         NULL},
        {'a', "2", "ZUNIONSTORE t 1 s"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:zunionstore\" \"t\"]", NULL},
        {'a', "0", "SORT none STORE t"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:del\" \"t\"]", NULL},
        {'a', "0", "SUNIONSTORE none none"},
        {'b', "", NULL},
        {'a', "1", "RPUSH t x"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"t\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rpush\" \"t\"]",
         NULL},
        {'a', "OK", "RENAME a b"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"b\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rename_from\" \"a\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rename_to\" \"b\"]",
         NULL},
        {'a', "1", "COPY b t REPLACE"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:new\" \"t\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:copy_to\" \"t\"]",
         NULL},
        {'a', "1", "MOVE b 3"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@3__:new\" \"b\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:move_from\" \"b\"] [\"pmessage\" \"*\" \"__keyevent@3__:move_to\" "
         "\"b\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

static void only_the_chosen_events_are_published(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "OK", "SET a 1"},
        {'b', "", NULL},
        {'a', "OK", "CONFIG SET notify-keyspace-events K$"},
        {'a', "[\"notify-keyspace-events\" \"$K\"]", "CONFIG GET notify-keyspace-events"},
        {'a', "OK", "SET a 1"},
        {'a', "1", "DEL a"},
        {'b', "[\"pmessage\" \"*\" \"__keyspace@0__:a\" \"set\"]", NULL},
        {'a', "OK", "CONFIG SET notify-keyspace-events Eg"},
        {'a', "OK", "SET a 1"},
        {'a', "1", "DEL a"},
        {'b', "[\"pmessage\" \"*\" \"__keyevent@0__:del\" \"a\"]", NULL},
        {'a', "OK", "CONFIG SET notify-keyspace-events KEl"},
        {'a', "[\"notify-keyspace-events\" \"lKE\"]", "CONFIG GET notify-keyspace-events"},
        {'a', "OK", "SET a 1"},
        {'a', "1", "DEL a"},
        {'a', "1", "RPUSH l x"},
        {'a', "1", "DEL l"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyspace@0__:l\" \"rpush\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:rpush\" \"l\"]",
         NULL},
        {'a', "OK", "CONFIG SET notify-keyspace-events AKE"},
        {'a', "[\"notify-keyspace-events\" \"AKE\"]", "CONFIG GET notify-keyspace-events"},
        {'a', "OK", "CONFIG SET notify-keyspace-events \"\""},
        {'a', "OK", "SET a 1"},
        {'b', "", NULL},
        {'a',
         "!ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - "
         "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
         "CONFIG SET notify-keyspace-events Q"},
    };

    runner_follow(*state, steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(deleted_keys_are_counted),
        runner_test(types_are_told),
        runner_test(names_may_be_empty_or_binary),
        runner_test(renaming_takes_value_and_expiry_along),
        runner_test(renaming_to_a_free_name_only),
        runner_test(a_copy_has_the_value_and_the_expiry),
        runner_test(every_type_is_copied),
        runner_test(keys_move_between_databases),
        runner_test(databases_are_swapped),
        runner_test(a_database_is_flushed_by_itself),
        runner_test(keys_are_matched),
        runner_test(scans_take_options_in_any_order),
        runner_test(waiting_for_replicas_ends),
        runner_test(keys_expire),
        runner_test(expiry_may_depend_on_what_there_is),
        runner_test(moments_are_absolute_too),
        runner_test(a_moment_that_has_passed_deletes),
        runner_test(seconds_left_are_rounded),
        runner_test(what_has_expired_is_not_in_the_way),
        runner_test(changes_of_keys_are_published),
        runner_test(expiry_is_published),
        runner_test(keys_that_are_new_are_published),
        runner_test(only_the_chosen_events_are_published),
    };
    return cmocka_run_group_tests_name("key commands", tests, NULL, NULL);
}
