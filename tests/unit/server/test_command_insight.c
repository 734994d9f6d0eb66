/* Commands for operators: OBJECT, MEMORY, ACL, SLOWLOG, MONITOR, CLIENT, COMMAND GETKEYS,
 * saving. The expected replies are those of Redis 7.0.15. */
#include "server/session/monitors.h"
#include "server/session/transaction.h"
#include "server/statistics/command_stats.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/faults/fake_disk.h"

#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- OBJECT, MEMORY */

static void encodings_are_those_of_redis(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET int 12345"},
        {"OK", "SET negative -5"},
        {"OK", "SET short abc"},
        {"OK", "SET long 123456789012345678901234567890123456789012345"},
        {"OK", "SET forty-four 12345678901234567890123456789012345678901234"},
        {"OK", "SET number-like 01"},
        {"OK", "SET large 9223372036854775808"},
        {"OK", "SET empty \"\""},
        {"\"int\"", "OBJECT ENCODING int"},
        {"\"int\"", "OBJECT ENCODING negative"},
        {"\"embstr\"", "OBJECT ENCODING short"},
        {"\"raw\"", "OBJECT ENCODING long"},
        {"\"embstr\"", "OBJECT ENCODING forty-four"},
        {"\"embstr\"", "OBJECT ENCODING number-like"},
        {"\"embstr\"", "OBJECT ENCODING large"},
        {"\"embstr\"", "OBJECT ENCODING empty"},
        {"1", "RPUSH list a"},
        {"\"quicklist\"", "OBJECT ENCODING list"},
        {"3", "SADD intset 1 2 3"},
        {"\"intset\"", "OBJECT ENCODING intset"},
        {"1", "SADD set a"},
        {"\"hashtable\"", "OBJECT ENCODING set"},
        {"1", "ZADD zset 1 a"},
        {"\"listpack\"", "OBJECT ENCODING zset"},
        {"1", "ZADD zset2 1 12345678901234567890123456789012345678901234567890123456789012345"},
        {"\"skiplist\"", "OBJECT ENCODING zset2"},
        {"1", "HSET hash f v"},
        {"\"listpack\"", "OBJECT ENCODING hash"},
        {"1", "HSET hash2 f 12345678901234567890123456789012345678901234567890123456789012345"},
        {"\"hashtable\"", "OBJECT ENCODING hash2"},
        {"nil", "OBJECT ENCODING none"},
        {"1", "OBJECT REFCOUNT int"},
        {"1", "OBJECT REFCOUNT short"},
        {"1", "OBJECT REFCOUNT list"},
        {"nil", "OBJECT REFCOUNT none"},
        {"0", "OBJECT IDLETIME short"},
        {"nil", "OBJECT IDLETIME none"},
        {"!ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please "
         "note that when switching between policies at runtime LRU and LFU data will take some "
         "time to adjust.",
         "OBJECT FREQ short"},
        {"nil", "OBJECT FREQ none"},
        {"!ERR unknown subcommand 'NOSUCH'. Try OBJECT HELP.", "OBJECT NOSUCH"},
        {"!ERR wrong number of arguments for 'object' command", "OBJECT"},
        {"!ERR wrong number of arguments for 'object|encoding' command", "OBJECT ENCODING"},
        {"!ERR wrong number of arguments for 'object|encoding' command", "OBJECT ENCODING a b"},
        {"*", "HELLO 3"},
        {"_", "OBJECT ENCODING none"},
        {"_", "OBJECT IDLETIME none"},
    };

    runner_expect_all(*state, cases);
}

/* OBJECT ENCODING shows what became of the value, not what its bytes look like. */
static void encodings_remember_what_was_done(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k 12"},
        {"2147483647", "OBJECT REFCOUNT k"},
        {"3", "APPEND k 3"},
        {"\"raw\"", "OBJECT ENCODING k"},
        {"1", "OBJECT REFCOUNT k"},
        {"124", "INCR k"},
        {"\"int\"", "OBJECT ENCODING k"},
        {"3", "APPEND k \"\""},
        {"\"raw\"", "OBJECT ENCODING k"},
        {"2", "APPEND new 12"},
        {"\"int\"", "OBJECT ENCODING new"},
        {"2", "SETRANGE new 1 3"},
        {"\"raw\"", "OBJECT ENCODING new"},
        {"\"14\"", "INCRBYFLOAT new 1"},
        {"\"embstr\"", "OBJECT ENCODING new"},
        {"15", "INCR new"},
        {"2", "SETRANGE new 5 \"\""},
        {"\"int\"", "OBJECT ENCODING new"},
        {"1", "SETBIT new 7 1"},
        {"\"raw\"", "OBJECT ENCODING new"},
        {"0", "SETBIT bits 7 1"},
        {"\"raw\"", "OBJECT ENCODING bits"},
        {"OK", "SET number 5"},
        {"1", "BITOP OR copied number"},
        {"\"raw\"", "OBJECT ENCODING copied"},
        {"1", "COPY copied again"},
        {"OK", "RENAME again renamed"},
        {"\"raw\"", "OBJECT ENCODING renamed"},
        {"OK", "MSET a 1 b x"},
        {"\"int\"", "OBJECT ENCODING a"},
        {"\"embstr\"", "OBJECT ENCODING b"},
        {"1", "EXPIRE copied 100"},
        {"\"raw\"", "OBJECT ENCODING copied"},
        {"3", "SADD set 3 1 2"},
        {"1", "SADD set word"},
        {"1", "SREM set word"},
        {"\"hashtable\"", "OBJECT ENCODING set"},
        {"3", "SINTERSTORE fresh set set"},
        {"\"intset\"", "OBJECT ENCODING fresh"},
        {"1", "HSET hash f 12345678901234567890123456789012345678901234567890123456789012345"},
        {"0", "HSET hash f v"},
        {"\"hashtable\"", "OBJECT ENCODING hash"},
        {"1", "COPY hash hash2"},
        {"\"hashtable\"", "OBJECT ENCODING hash2"},
    };

    runner_expect_all(*state, cases);
}

/* Also under the old names of the options. An existing value keeps its encoding. */
static void options_set_where_the_compact_encodings_end(void **state)
{
    static const char *const cases[][2] = {
        {"2", "HSET before a 1 b 2"},
        {"OK", "CONFIG SET hash-max-listpack-entries 2 hash-max-ziplist-value 3"},
        {"OK", "CONFIG SET set-max-intset-entries 2 zset-max-ziplist-entries 2"},
        {"OK", "CONFIG SET zset-max-listpack-value 3"},
        {"2", "HSET hash a 123 b 2"},
        {"\"listpack\"", "OBJECT ENCODING hash"},
        {"1", "HSET hash c 1"},
        {"\"hashtable\"", "OBJECT ENCODING hash"},
        {"1", "HSET value a 1234"},
        {"\"hashtable\"", "OBJECT ENCODING value"},
        {"2", "SADD set 1 2"},
        {"\"intset\"", "OBJECT ENCODING set"},
        {"1", "SADD set 3"},
        {"\"hashtable\"", "OBJECT ENCODING set"},
        {"2", "ZADD zset 1 abc 2 b"},
        {"\"listpack\"", "OBJECT ENCODING zset"},
        {"1", "ZADD zset 1 c"},
        {"\"skiplist\"", "OBJECT ENCODING zset"},
        {"1", "ZADD long 1 abcd"},
        {"\"skiplist\"", "OBJECT ENCODING long"},
        {"\"listpack\"", "OBJECT ENCODING before"},
        {"1", "HSET before c 3"},
        {"\"hashtable\"", "OBJECT ENCODING before"},
        {"4", "RPUSH list a b c d"},
        {"Value at:* encoding:quicklist * ql_nodes:1 ql_avg_node:4.00 ql_listpack_max:-2 *",
         "DEBUG OBJECT list"},
        {"OK", "CONFIG SET list-max-ziplist-size 4"},
        {"5", "RPUSH list e"},
        {"Value at:* ql_nodes:5 ql_avg_node:1.00 ql_listpack_max:4 *", "DEBUG OBJECT list"},
        {"OK", "CONFIG SET list-max-listpack-size -1"},
        {"5", "RPUSH list2 a b c d e"},
        {"Value at:* ql_nodes:1 ql_avg_node:5.00 ql_listpack_max:-1 *", "DEBUG OBJECT list2"},
    };
    struct command_runner *runner = *state;

    runner->server.config.enable_debug_command = 1;
    runner_expect_all(runner, cases);
}

static void memory_is_estimated(void **state)
{
    static const char *const cases[][2] = {
        {"nil", "MEMORY USAGE none"},
        {"OK", "SET k v"},
        {"!ERR syntax error", "MEMORY USAGE k SAMPLES"},
        {"!ERR syntax error", "MEMORY USAGE k NONSENSE 1"},
        {"!ERR value is not an integer or out of range", "MEMORY USAGE k SAMPLES x"},
        {"!ERR syntax error", "MEMORY USAGE k SAMPLES -1"},
        {"!ERR wrong number of arguments for 'memory|usage' command", "MEMORY USAGE"},
        {"OK", "MEMORY PURGE"},
        {"!ERR unknown subcommand 'NOSUCH'. Try MEMORY HELP.", "MEMORY NOSUCH"},
        {"!ERR wrong number of arguments for 'memory' command", "MEMORY"},
    };

    runner_expect_all(*state, cases);
}

#define MEMORY_PARTS                                                                           \
    "[\"peak.allocated\" * \"total.allocated\" * \"startup.allocated\" * "                     \
    "\"replication.backlog\" 0 \"clients.slaves\" 0 \"clients.normal\" * \"cluster.links\" 0 " \
    "\"aof.buffer\" * \"lua.caches\" 0 \"functions.caches\" 0 "
#define MEMORY_SUMS(keys)                                                                      \
    "\"overhead.total\" * \"keys.count\" " keys                                                \
    " \"keys.bytes-per-key\" * \"dataset.bytes\" * "                                           \
    "\"dataset.percentage\" * \"peak.percentage\" * \"allocator.allocated\" * "                \
    "\"allocator.active\" * \"allocator.resident\" * \"allocator-fragmentation.ratio\" * "     \
    "\"allocator-fragmentation.bytes\" * \"allocator-rss.ratio\" * \"allocator-rss.bytes\" * " \
    "\"rss-overhead.ratio\" * \"rss-overhead.bytes\" * \"fragmentation\" * "                   \
    "\"fragmentation.bytes\" *]"

static void memory_has_redis_fields(void **state)
{
    static const char *const cases[][2] = {
        {MEMORY_PARTS MEMORY_SUMS("0"), "MEMORY STATS"},
        {"OK", "SET k v"},
        {MEMORY_PARTS
         "\"db.0\" [\"overhead.hashtable.main\" 0 \"overhead.hashtable.expires\" 0 "
         "\"overhead.hashtable.slot-to-keys\" 0] " MEMORY_SUMS("1"),
         "MEMORY STATS"},
        {"!ERR wrong number of arguments for 'memory|stats' command", "MEMORY STATS x"},
        {"\"Stats not supported for the current allocator\"", "MEMORY MALLOC-STATS"},
        {"\"Nothing stands out.*\"", "MEMORY DOCTOR"},
    };

    runner_expect_all(*state, cases);
}

/* ---- ACL */

static void categories_are_listed(void **state)
{
    static const char *const cases[][2] = {
        {"\"default\"", "ACL WHOAMI"},
        {"!ERR Unknown category 'nosuch'", "ACL CAT nosuch"},
        {"!ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.",
         "ACL CAT a b"},
        {"nil", "ACL GETUSER nosuch"},
        {"[\"default\"]", "ACL USERS"},
        {"[\"user default on nopass ~* &* +@all\"]", "ACL LIST"},
        {"!ERR unknown subcommand 'NOSUCH'. Try ACL HELP.", "ACL NOSUCH"},
        {"!ERR wrong number of arguments for 'acl' command", "ACL"},
    };

    runner_expect_all(*state, cases);
}

/* ---- SLOWLOG */

static void the_slowlog_is_trimmed(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG SET slowlog-log-slower-than 0"},
        {"OK", "CONFIG SET slowlog-max-len 2"},
        {"OK", "SLOWLOG RESET"},
        {"PONG", "PING"},
        {"\"hello\"", "ECHO hello"},
        {"2", "SLOWLOG LEN"},
        {"OK", "CONFIG SET slowlog-log-slower-than -1"},
        {"[[* [\"SLOWLOG\" \"LEN\"] \"127.0.0.1:*\" \"\"] [* [\"ECHO\" \"hello\"] "
         "\"127.0.0.1:*\" \"\"]]",
         "SLOWLOG GET"},
        {"[[* [\"SLOWLOG\" \"LEN\"] \"127.0.0.1:*\" \"\"]]", "SLOWLOG GET 1"},
        {"[]", "SLOWLOG GET 0"},
        {"[[* [\"SLOWLOG\" \"LEN\"] * [\"ECHO\" \"hello\"] *]]", "SLOWLOG GET -1"},
        {"!ERR count should be greater than or equal to -1", "SLOWLOG GET -2"},
        {"!ERR count should be greater than or equal to -1", "SLOWLOG GET x"},
        {"!ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.",
         "SLOWLOG GET 1 2"},
        {"2", "SLOWLOG LEN"},
        {"OK", "CONFIG SET slowlog-max-len 1"},
        {"OK", "SLOWLOG RESET"},
        {"0", "SLOWLOG LEN"},
        {"[]", "SLOWLOG GET"},
        {"!ERR unknown subcommand 'NOSUCH'. Try SLOWLOG HELP.", "SLOWLOG NOSUCH"},
        {"!ERR wrong number of arguments for 'slowlog' command", "SLOWLOG"},
        {"OK", "CONFIG SET slowlog-log-slower-than 10000"},
        {"OK", "CONFIG SET slowlog-max-len 128"},
    };

    runner_expect_all(*state, cases);
}

static void long_commands_are_cut_in_the_slowlog(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG SET slowlog-log-slower-than 0"},
        {"OK", "SLOWLOG RESET"},
        {"33", "RPUSH l 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
               "27 28 29 30 31 32 33"},
        {"OK", "SET k "
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        {"OK", "CLIENT SETNAME me"},
        {"OK", "CONFIG SET slowlog-log-slower-than -1"},
        {"[[* [\"CLIENT\" \"SETNAME\" \"me\"] \"127.0.0.1:*\" \"me\"] [* [\"SET\" \"k\" "
         "\"aaaa*a... (18 more bytes)\"] \"127.0.0.1:*\" \"\"] [* \"29\" \"... (4 more "
         "arguments)\"] \"127.0.0.1:*\" \"\"] *]",
         "SLOWLOG GET"},
        {"OK", "CONFIG SET slowlog-log-slower-than 10000"},
    };

    runner_expect_all(*state, cases);
}

/* ---- LATENCY */

static void nothing_is_watched_before_a_threshold_is_set(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "DEBUG SLEEP 0.02"},
        {"[]", "LATENCY LATEST"},
        {"[]", "LATENCY HISTORY command"},
        {"[]", "LATENCY HISTORY nosuch"},
        {"0", "LATENCY RESET"},
        {"0", "LATENCY RESET command nosuch"},
        {"!ERR No samples available for event 'command'", "LATENCY GRAPH command"},
        {"!ERR No samples available for event 'nosuch'", "LATENCY GRAPH nosuch"},
        {"\"Latency is not watched. *\"", "LATENCY DOCTOR"},
        {"!ERR unknown subcommand 'NOSUCH'. Try LATENCY HELP.", "LATENCY NOSUCH"},
        {"!ERR wrong number of arguments for 'latency' command", "LATENCY"},
    };
    struct command_runner *runner = *state;

    runner->server.config.enable_debug_command = 1;
    runner_expect_all(runner, cases);
}

static void what_takes_long_is_remembered(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG SET latency-monitor-threshold 100000"},
        {"OK", "DEBUG SLEEP 0.02"},
        {"[]", "LATENCY LATEST"},
        {"\"Nothing has taken as long *\"", "LATENCY DOCTOR"},
        {"OK", "CONFIG SET latency-monitor-threshold 20"},
        {"OK", "DEBUG SLEEP 0.02"},
        {"[*[\"command\" 1700000000 * *]*]", "LATENCY LATEST"},
        {"[[1700000000 *]]", "LATENCY HISTORY command"},
        {"\"command - high * ms, low * ms (all time high * ms)\\n----*\"",
         "LATENCY GRAPH command"},
        {"\"*1. command: 1 latency spikes *\"", "LATENCY DOCTOR"},
        {"1", "LATENCY RESET nosuch COMMAND"},
        {"[]", "LATENCY HISTORY command"},
    };
    struct command_runner *runner = *state;

    runner->server.config.enable_debug_command = 1;
    runner_expect_all(runner, cases);
}

static void the_worst_of_each_second_is_kept(void **state)
{
    static struct latency latency;
    struct latency_series *series = &latency.series[LATENCY_COMMIT];
    (void)state;
    for (int64_t second = 1; second <= 1000; second++) {
        latency_note(&latency, LATENCY_COMMIT, 10000, 10, second);
        latency_note(&latency, LATENCY_COMMIT, 9999, 10, second);
        latency_note(&latency, LATENCY_COMMIT, (uint64_t)(second + 100) * 1000, 10, second);
        latency_note(&latency, LATENCY_COMMIT, 20000, 10, second);
    }
    assert_int_equal(series->count, LATENCY_SAMPLES);
    assert_int_equal(latency_sample_at(series, 0)->time, 1001 - LATENCY_SAMPLES);
    assert_int_equal(latency_sample_at(series, LATENCY_SAMPLES - 1)->time, 1000);
    assert_int_equal(latency_sample_at(series, LATENCY_SAMPLES - 1)->ms, 1100);
    assert_int_equal(series->worst, 1100);
    assert_int_equal(latency.series[LATENCY_COMMAND].count, 0);
}

/* The bounds are those of redis-server 7.0.15. */
static void times_of_commands_are_counted_by_powers_of_two(void **state)
{
    static const uint64_t bounds[HISTOGRAM_BUCKETS] = {
        1,    2,    4,    8,     16,    33,    66,     132,    264,    528,    1056,
        2113, 4227, 8454, 16908, 33816, 67633, 135266, 270532, 541065, 1082130};
    struct command_stats stats = {0};
    (void)state;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        assert_int_equal(command_stats_bound(i), bounds[i]);
        command_stats_time(&stats, bounds[i]);
        assert_int_equal(stats.histogram[i], 1);
    }
    command_stats_time(&stats, 0);
    command_stats_time(&stats, 3);
    command_stats_time(&stats, UINT64_MAX);
    assert_int_equal(stats.histogram[0], 2);
    assert_int_equal(stats.histogram[2], 2);
    assert_int_equal(stats.histogram[HISTOGRAM_BUCKETS - 1], 2);
    assert_int_equal(stats.timed, HISTOGRAM_BUCKETS + 3);
}

static void the_histogram_has_what_ran(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG RESETSTAT"},
        {"[]", "LATENCY HISTOGRAM set nosuch client"},
        {"OK", "SET k v"},
        {"OK", "SET k v"},
        {"1", "CLIENT ID"},
        {"[\"set\" [\"calls\" 2 \"histogram_usec\" [*2]]]", "LATENCY HISTOGRAM SET nosuch"},
        {"[\"client|id\" [\"calls\" 1 \"histogram_usec\" [* 1]]]", "LATENCY HISTOGRAM client"},
        {"[*\"set\" [\"calls\" 2 *]*\"config|resetstat\" [*]*]", "LATENCY HISTOGRAM"},
        {"OK", "CONFIG RESETSTAT"},
        {"[]", "LATENCY HISTOGRAM set"},
    };

    runner_expect_all(*state, cases);
}

/* ---- use of keys */

static void an_idle_key_has_its_time(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v"},
        {'a', "OK", "MSET other 1 gone 2"},
        {'a', "0", "OBJECT IDLETIME k"},
        {'+', NULL, "12900"},
        {'a', "12", "OBJECT IDLETIME k"},
        /* none of these commands counts as a use */
        {'a', "string", "TYPE k"},
        {'a', "-1", "TTL k"},
        {'a', "1", "EXISTS k"},
        {'a', "*", "MEMORY USAGE k"},
        {'a', "\"embstr\"", "OBJECT ENCODING k"},
        {'b', "OK", "CLIENT NO-TOUCH ON"},
        {'b', "\"v\"", "GET k"},
        {'a', "12", "OBJECT IDLETIME k"},
        {'b', "1", "TOUCH k"},
        {'a', "0", "OBJECT IDLETIME k"},
        {'+', NULL, "5000"},
        {'a', "!WRONGTYPE *", "LPUSH k x"},
        {'a', "0", "OBJECT IDLETIME k"},
        {'a', "17", "OBJECT IDLETIME other"},
        {'a', "OK", "RENAME gone k2"},
        {'a', "0", "OBJECT IDLETIME k2"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "GET other"},
        {'a', "QUEUED", "OBJECT IDLETIME other"},
        {'a', "[\"1\" 0]", "EXEC"},
        {'+', NULL, "1000"},
        {'a', "nil", "OBJECT IDLETIME none"},
    };

    runner_follow(*state, steps);
}

static void commit(struct command_runner *runner)
{
    uint64_t lsn;
    assert_int_equal(dueq_commit(runner->server.store, runner->server.now, &lsn), DUEQ_OK);
}

/* Memory is bounded: for closed keys only a lower bound is known, and it is the reply. */
static void a_key_that_was_closed_is_idle_since_then_at_least(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "SET k v");
    runner_pass(runner, 100000);
    for (int i = 0; i < 10000; i++) {
        char line[32];
        snprintf(line, sizeof(line), "SET x%d v", i);
        runner_expect(runner, "OK", line);
        if (i % 1000 == 999)
            commit(runner);
    }
    commit(runner);
    runner_pass(runner, 20000);
    runner_expect(runner, "20", "OBJECT IDLETIME k"); /* in truth 120, which is not known */
    runner_expect(runner, "20", "OBJECT IDLETIME x0");
    runner_expect(runner, "20", "OBJECT IDLETIME x9999");
    runner_reopen(runner, NULL);
    runner_expect(runner, "0", "OBJECT IDLETIME k");
    runner_pass(runner, 3000);
    runner_expect(runner, "3", "OBJECT IDLETIME x5");
}

static void hits_and_misses_are_counted(void **state)
{
    static const struct {
        const char *line;
        int hits, misses;
    } cases[] = {{"GET k", 1, 0},
                 {"GET none", 0, 1},
                 {"HGETALL h", 1, 0},
                 {"LRANGE none 0 -1", 0, 1},
                 {"GET h", 1, 0},
                 {"MGET k none k2 nope", 2, 2},
                 {"EXISTS k none", 1, 1},
                 {"TTL k", 1, 0},
                 {"OBJECT IDLETIME none", 0, 1},
                 {"GETSET k v", 1, 0},
                 {"GETEX none", 0, 1},
                 {"SET k v", 0, 0},
                 {"LPUSH l x", 0, 0},
                 {"DEL none", 0, 0},
                 {"SUNIONSTORE s2 none", 0, 0},
                 {"Q.LEN topic", 0, 0},
                 {"PING", 0, 0}};
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "MSET k v k2 v");
    runner_expect(runner, "2", "HSET h a 1 b 2");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[128];
        runner_expect(runner, "OK", "CONFIG RESETSTAT");
        runner_expect(runner, "*", cases[i].line);
        runner_pass(runner, 1);
        snprintf(expected, sizeof(expected),
                 "\"*keyspace_hits:%d\\r\\nkeyspace_misses:%d\\r*\"", cases[i].hits,
                 cases[i].misses);
        runner_expect(runner, expected, "INFO stats");
    }
}

/* ---- checkpoints */

static void a_save_is_known_by_its_end(void **state)
{
    struct checkpoint_watch watch = {0};
    struct dueq_stats stats = {0};
    (void)state;
    checkpoint_watch_update(&watch, &stats, 5000);
    assert_int_equal(watch.last, 0);
    assert_false(watch.failing);
    stats.checkpoint_failures = 3;
    checkpoint_watch_update(&watch, &stats, 6000);
    checkpoint_watch_update(&watch, &stats, 7000); /* it counts as failing until it succeeds */
    assert_true(watch.failing);
    stats.checkpoint_failures = 5;
    stats.checkpoints = 1;
    checkpoint_watch_update(&watch, &stats, 8000);
    assert_int_equal(watch.last, 8);
    assert_false(watch.failing);
    checkpoint_watch_update(&watch, &(struct dueq_stats){0},
                            9000); /* the store was opened again */
    checkpoint_watch_update(&watch, &(struct dueq_stats){.checkpoints = 1}, 10000);
    assert_int_equal(watch.last, 10);
}

static void a_save_that_fails_is_told(void **state)
{
    struct command_runner *runner = *state;
    struct fake_disk *disk = fake_disk_new();
    struct dueq_options options;
    char *info;
    runner_expect(runner,
                  "\"*rdb_last_save_time:1700000000\\r\\nrdb_last_bgsave_status:ok\\r*\"",
                  "INFO persistence");
    runner_pass(runner, 5000);
    runner_expect(runner, "1700000000", "LASTSAVE");
    runner_expect(runner, "OK", "SET k v");
    runner_expect(runner, "OK", "SAVE");
    runner_expect(runner, "1700000005", "LASTSAVE");
    info = runner_bytes(runner, "INFO persistence");
    assert_non_null(strstr(info, "rdb_last_save_time:1700000005\r\n"));
    free(info);
    dueq_options_init(&options);
    options.io = fake_disk_io(disk);
    runner_reopen(runner, &options);
    runner_expect(runner, "OK", "SET k w");
    fake_disk_fail(disk, DISK_SYNC, 0, FAKE_DISK_ALWAYS, EIO);
    runner_expect(runner, "!MISCONF *", "SAVE");
    runner_expect(runner, "\"*rdb_last_bgsave_status:err*\"", "INFO persistence");
    runner_expect(runner, "1700000005", "LASTSAVE");
    dueq_abandon(runner->server.store);
    runner->server.store = NULL;
    fake_disk_free(disk);
}

/* ---- CLIENT */

static void clients_have_names_and_kinds(void **state)
{
    static const char *const cases[][2] = {
        {"nil", "CLIENT GETNAME"},
        {"OK", "CLIENT SETNAME me"},
        {"\"me\"", "CLIENT GETNAME"},
        {"OK", "CLIENT SETNAME \"\""},
        {"nil", "CLIENT GETNAME"},
        {"!ERR Client names cannot contain spaces, newlines or special characters.",
         "CLIENT SETNAME \"a b\""},
        {"!ERR Client names cannot contain spaces, newlines or special characters.",
         "CLIENT SETNAME \"a\\n\""},
        {"OK", "CLIENT NO-EVICT on"},
        {"OK", "CLIENT NO-EVICT off"},
        {"!ERR syntax error", "CLIENT NO-EVICT x"},
        {"-1", "CLIENT GETREDIR"},
        {"[\"flags\" [\"off\"] \"redirect\" -1 \"prefixes\" []]", "CLIENT TRACKINGINFO"},
        {"OK", "CLIENT TRACKING off"},
        {"!ERR syntax error", "CLIENT TRACKING x"},
        {"!ERR CLIENT CACHING can be called only when the client is in tracking mode with "
         "OPTIN or OPTOUT mode enabled",
         "CLIENT CACHING yes"},
        {"!ERR Unknown client type 'nonsense'", "CLIENT LIST TYPE nonsense"},
        {"!ERR syntax error", "CLIENT LIST TYPE"},
        {"!ERR syntax error", "CLIENT LIST NONSENSE"},
        {"!ERR Invalid client ID", "CLIENT LIST ID x"},
        {"\"\"", "CLIENT LIST TYPE master"},
        {"\"\"", "CLIENT LIST TYPE replica"},
        {"!ERR Unknown client type 'nonsense'", "CLIENT KILL TYPE nonsense"},
        {"!ERR client-id should be greater than 0", "CLIENT KILL ID x"},
        {"!ERR client-id should be greater than 0", "CLIENT KILL ID 0"},
        {"!ERR No such client", "CLIENT KILL 1.2.3.4:5"},
        {"0", "CLIENT KILL ADDR 1.2.3.4:5"},
        {"!ERR syntax error", "CLIENT KILL NONSENSE x"},
        {"!ERR syntax error", "CLIENT KILL SKIPME maybe"},
        {"!ERR No such user 'nobody'", "CLIENT KILL USER nobody"},
        {"0", "CLIENT UNBLOCK 999999"},
        {"!ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
         "CLIENT UNBLOCK 999999 NONSENSE"},
        {"!ERR value is not an integer or out of range", "CLIENT UNBLOCK x"},
        {"!ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
         "CLIENT UNBLOCK 1 TIMEOUT x"},
        {"!ERR syntax error", "CLIENT REPLY nonsense"},
        {"!ERR timeout is not an integer or out of range", "CLIENT PAUSE x"},
        {"!ERR timeout is negative", "CLIENT PAUSE -1"},
        {"!ERR CLIENT PAUSE mode must be WRITE or ALL", "CLIENT PAUSE 1 NONSENSE"},
        {"!ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
         "CLIENT PAUSE 1 ALL x"},
        {"OK", "CLIENT UNPAUSE"},
        {"!ERR wrong number of arguments for 'client|unpause' command", "CLIENT UNPAUSE x"},
    };

    runner_expect_all(*state, cases);
}

static void replies_can_be_turned_off(void **state)
{
    static const char *const cases[][2] = {
        {"", "CLIENT REPLY OFF"},
        {"", "PING"},
        {"", "SET k v"},
        {"", "CLIENT REPLY SKIP"},
        {"", "PING"},
        {"OK", "CLIENT REPLY ON"},
        {"\"v\"", "GET k"},
        {"", "CLIENT REPLY SKIP"},
        {"", "GET k"},
        {"\"v\"", "GET k"},
    };

    runner_expect_all(*state, cases);
}

/* ---- COMMAND */

static void keys_of_a_command_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"[\"k\"]", "COMMAND GETKEYS GET k"},
        {"[\"k\"]", "COMMAND GETKEYS SET k v EX 10"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS MSET a 1 b 2"},
        {"[\"a\" \"b\" \"c\"]", "COMMAND GETKEYS DEL a b c"},
        {"[\"l\" \"d\"]", "COMMAND GETKEYS SORT l BY w_* GET x STORE d"},
        {"[\"l\" \"a\" \"b\"]", "COMMAND GETKEYS SORT l STORE a STORE b"},
        {"[\"l\"]", "COMMAND GETKEYS SORT l"},
        {"[\"l\"]", "COMMAND GETKEYS SORT l GET STORE LIMIT STORE 1 BY STORE"},
        {"[\"l\"]", "COMMAND GETKEYS SORT l STORE"},
        {"[\"l\"]", "COMMAND GETKEYS SORT_RO l GET x"},
        {"[\"d\" \"a\" \"b\"]", "COMMAND GETKEYS ZUNIONSTORE d 2 a b WEIGHTS 1 2"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS ZINTER 2 a b"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS LMPOP 2 a b LEFT"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS BLMPOP 0 2 a b LEFT"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS BLPOP a b 0"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS BRPOPLPUSH a b 0"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS LMOVE a b LEFT LEFT"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS RENAME a b"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS COPY a b"},
        {"[\"d\" \"a\" \"b\"]", "COMMAND GETKEYS BITOP AND d a b"},
        {"[\"k\"]", "COMMAND GETKEYS OBJECT ENCODING k"},
        {"[\"k\"]", "COMMAND GETKEYS MEMORY USAGE k"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS SINTERCARD 2 a b LIMIT 1"},
        {"!ERR wrong number of arguments for 'command|getkeys' command",
         "COMMAND GETKEYS PING"},
        {"!ERR Invalid command specified", "COMMAND GETKEYS NOSUCH x"},
        {"!ERR wrong number of arguments for 'command|getkeys' command", "COMMAND GETKEYS GET"},
        {"!ERR Invalid arguments specified for command", "COMMAND GETKEYS ZUNIONSTORE d x a b"},
        {"!ERR Invalid arguments specified for command", "COMMAND GETKEYS ZUNIONSTORE d 5 a b"},
        {"!ERR Invalid arguments specified for command", "COMMAND GETKEYS ZUNIONSTORE d 0 a"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS WATCH a b"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS LCS a b"},
        {"[\"a\" \"b\"]", "COMMAND GETKEYS EVAL script 2 a b c"},
        {"[]", "COMMAND GETKEYS EVAL script 0"},
        {"[[\"k\" [RO access]]]", "COMMAND GETKEYSANDFLAGS GET k"},
        {"[[\"k\" [OW update]]]", "COMMAND GETKEYSANDFLAGS SET k v"},
        {"[[\"k\" [RW access update]]]", "COMMAND GETKEYSANDFLAGS SET k v EX 10 get"},
        {"[[\"get\" [OW update]]]", "COMMAND GETKEYSANDFLAGS SET get get"},
        {"[[\"l\" [RO access]] [\"d\" [OW update]]]", "COMMAND GETKEYSANDFLAGS SORT l STORE d"},
        {"[[\"d\" [OW update]] [\"a\" [RO access]] [\"b\" [RO access]]]",
         "COMMAND GETKEYSANDFLAGS ZUNIONSTORE d 2 a b"},
        {"[[\"a\" [RW access update]]]", "COMMAND GETKEYSANDFLAGS EVAL script 1 a"},
        {"[[\"a\" [RW access delete]] [\"b\" [RW insert]]]",
         "COMMAND GETKEYSANDFLAGS LMOVE a b LEFT LEFT"},
        {"[[\"a\" [RM delete]]]", "COMMAND GETKEYSANDFLAGS DEL a"},
        {"[[\"a\" [RM delete]]]", "COMMAND GETKEYSANDFLAGS UNLINK a"},
        {"[[\"a\" [RW access delete]]]", "COMMAND GETKEYSANDFLAGS GETDEL a"},
        {"[[\"a\" [RO access]] [\"b\" [OW update]]]", "COMMAND GETKEYSANDFLAGS COPY a b"},
        {"[[\"a\" [RW access delete]] [\"b\" [OW update]]]",
         "COMMAND GETKEYSANDFLAGS RENAME a b"},
        {"[[\"a\" [RW update]]]", "COMMAND GETKEYSANDFLAGS EXPIRE a 1"},
        {"[[\"a\" [RO access]]]", "COMMAND GETKEYSANDFLAGS TTL a"},
        {"!ERR wrong number of arguments for 'command|getkeysandflags' command",
         "COMMAND GETKEYSANDFLAGS PING"},
        {"!ERR wrong number of arguments for 'command|getkeys' command", "COMMAND GETKEYS"},
    };

    runner_expect_all(*state, cases);
}

/* As Redis 7.0 says them: its specification of the keys does not fit, and atoi reads the
 * number.
 */
static void a_number_of_keys_is_read_as_redis_does(void **state)
{
    static const char *const cases[][2] = {
        {"[\"1\"]", "COMMAND GETKEYS ZUNION 1e308 1"},
        {"[\"a\" \"b\" \"d\"]", "COMMAND GETKEYS ZUNIONSTORE d 2x a b"},
        {"[\"a\"]", "COMMAND GETKEYS ZUNION 01 a"},
        {"[\"a\"]", "COMMAND GETKEYS LMPOP +1 a LEFT"},
        {"[\"a\"]", "COMMAND GETKEYS BLMPOP 0 +1 a LEFT"},
        {"[\"a\"]", "COMMAND GETKEYS SINTERCARD \" \\t1\" a"},
        {"[\"a\"]", "COMMAND GETKEYS EVAL script 1x a"},
        {"[]", "COMMAND GETKEYS EVAL script x a"},
        {"[]", "COMMAND GETKEYS EVAL script 5 a"},
        {"[[\"1\" []]]", "COMMAND GETKEYSANDFLAGS ZUNION 1e308 1"},
        {"[[\"1\" []] [\"d\" []]]", "COMMAND GETKEYSANDFLAGS ZUNIONSTORE d 1e308 1"},
        {"[[\"a\" [RW access delete]]]", "COMMAND GETKEYSANDFLAGS BZMPOP 0 4294967297 a MIN"},
        {"!ERR Invalid arguments specified for command",
         "COMMAND GETKEYSANDFLAGS ZUNIONSTORE d 3x a b"},
        {"!ERR Invalid arguments specified for command",
         "COMMAND GETKEYS ZUNIONSTORE d -1 a b"},
        {"!ERR Invalid arguments specified for command",
         "COMMAND GETKEYS ZMPOP 18446744073709551617 a MIN"},
        {"!ERR Invalid arguments specified for command",
         "COMMAND GETKEYS ZMPOP 9223372036854775809 a MIN"},
        {"!ERR Invalid arguments specified for command",
         "COMMAND GETKEYS ZMPOP 4294967296 a MIN"},
    };

    runner_expect_all(*state, cases);
}

/* ---- INFO and saving */

static void the_keyspace_is_counted(void **state)
{
    static const char *const cases[][2] = {
        {"\"# Keyspace\\r\\n\"", "INFO keyspace"},
        {"OK", "SET a 1"},
        {"OK", "SET b 1 EX 100"},
        {"OK", "SELECT 3"},
        {"OK", "SET c 1"},
        {"\"# "
         "Keyspace\\r\\ndb0:keys=2,expires=1,avg_ttl=*\\r\\ndb3:keys=1,expires=0,avg_ttl="
         "0\\r\\n\"",
         "INFO keyspace"},
        {"1", "DEL c"},
        {"OK", "SELECT 0"},
        {"OK", "FLUSHDB"},
        {"\"# Keyspace\\r\\n\"", "INFO keyspace"},
    };

    runner_expect_all(*state, cases);
}

static void saving_is_a_checkpoint(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SAVE"},
        {"*", "LASTSAVE"},
        {"Background saving started", "BGSAVE SCHEDULE"},
        {"!ERR syntax error", "BGSAVE NONSENSE"},
        {"!ERR syntax error", "BGSAVE SCHEDULE x"},
        {"!ERR wrong number of arguments for 'save' command", "SAVE x"},
        {"!ERR wrong number of arguments for 'lastsave' command", "LASTSAVE x"},
        {"[\"master\" 0 []]", "ROLE"},
    };

    runner_expect_all(*state, cases);
}

static void debug_is_for_those_who_enable_it(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR DEBUG command not allowed. If the enable-debug-command option is set to "
         "\"local\", you can run it from a local connection, otherwise you need to set this "
         "option in the configuration file, and then restart the server.",
         "DEBUG SLEEP 0"},
    };

    runner_expect_all(*state, cases);
}

static void debug_object_says_how_a_key_is_kept(void **state)
{
    static const char *const cases[][2] = {
        {"2", "HSET h a 1 b 2"},
        {"Value at:0x0 refcount:1 encoding:listpack serializedlength:4 lru:0 "
         "lru_seconds_idle:0",
         "DEBUG OBJECT h"},
        {"OK", "SET n 7"},
        {"Value at:0x0 refcount:2147483647 encoding:int *", "DEBUG OBJECT n"},
        {"2", "APPEND n 8"},
        {"Value at:0x0 refcount:1 encoding:raw serializedlength:2 *", "DEBUG OBJECT n"},
        {"2", "SADD s 1 2"},
        {"1", "SADD s word"},
        {"Value at:0x0 refcount:1 encoding:hashtable *", "DEBUG OBJECT s"},
        {"!ERR no such key", "DEBUG OBJECT none"},
        {"!ERR *", "DEBUG OBJECT"},
    };
    struct command_runner *runner = *state;

    runner->server.config.enable_debug_command = 1;
    runner_expect_all(runner, cases);
}

/* ---- replies that differ between servers */

static long integer_of(struct command_runner *runner, const char *line)
{
    char *bytes = runner_bytes(runner, line);
    long number = strtol(bytes + 1, NULL, 10);

    assert_int_equal(bytes[0], ':');
    free(bytes);
    return number;
}

static void more_elements_take_more_memory(void **state)
{
    static const char *const cases[][2] = {
        {"1", "RPUSH list a"},        {"1", "SADD set a"},
        {"1", "ZADD zset 1 a"},       {"1", "HSET hash f v"},
        {"OK", "SET string v"},       {"5", "RPUSH list2 a b c d e"},
        {"5", "SADD set2 a b c d e"}, {"3", "ZADD zset2 1 a 2 b 3 c"},
        {"2", "HSET hash2 f v g w"},  {"OK", "SET string2 vvvvv"},
    };
    static const char *const types[] = {"list", "set", "zset", "hash", "string"};

    runner_expect_all(*state, cases);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char few[64], more[64];

        snprintf(few, sizeof(few), "MEMORY USAGE %s", types[i]);
        snprintf(more, sizeof(more), "MEMORY USAGE %s2 SAMPLES 0", types[i]);
        assert_true(integer_of(*state, few) > 0);
        assert_true(integer_of(*state, more) > integer_of(*state, few));
    }
}

static void categories_hold_commands(void **state)
{
    static const char *const cases[][2] = {
        {"*\"keyspace\"*\"sortedset\"*\"transaction\"*", "ACL CAT"},
        {"*\"multi\"*\"watch\"*", "ACL CAT transaction"},
        {"*\"get\"*", "ACL CAT STRING"},
        {"*\"client|kill\"*", "ACL CAT dangerous"},
        {"*\"blpop\"*\"bzpopmin\"*", "ACL CAT blocking"},
        {"*\"q.push\"*", "ACL CAT queue"},
        {"[\"flags\" [\"on\" \"nopass\"] *]", "ACL GETUSER default"},
    };

    runner_expect_all(*state, cases);
}

static void a_monitor_is_shown_commands_as_they_run(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "OK", "MONITOR"},
        {'a', "OK", "SET k \"a\\x00\\\"\\\\\\n\\t\\a\\b\\xff b\""},
        {'b',
         "1700000000.000000 [0 127.0.0.1:1001] \"SET\" \"k\" "
         "\"a\\x00\\\"\\\\\\n\\t\\a\\b\\xff b\"",
         NULL},
        {'a', "OK", "SELECT 3"},
        {'a', "nil", "get k"},
        {'b',
         "1700000000.000000 [3 127.0.0.1:1001] \"SELECT\" \"3\" "
         "1700000000.000000 [3 127.0.0.1:1001] \"get\" \"k\"",
         NULL},
        {'+', NULL, "1500"},
        {'a', "!ERR wrong number *", "GET"},
        {'a', "!ERR unknown command *", "NOSUCH x"},
        {'a', "!ERR AUTH *", "AUTH secret"},
        {'a', "*", "HELLO 2 AUTH default secret"},
        {'a', "[*", "CONFIG GET port"},
        {'a', "[*", "SLOWLOG GET"},
        {'b',
         "1700000001.500000 [3 127.0.0.1:1001] \"AUTH\" \"(redacted)\" "
         "1700000001.500000 [3 127.0.0.1:1001] \"HELLO\" \"2\" \"AUTH\" "
         "\"(redacted)\" \"(redacted)\"",
         NULL},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k v"},
        {'a', "[OK]", "EXEC"},
        {'b', "* \"MULTI\" * \"SET\" \"k\" \"v\" * \"EXEC\"", NULL},
        {'b', "RESET", "RESET"},
        {'a', "OK", "SET k v"},
        {'b', "", NULL},
    };

    runner_follow(*state, steps);
}

static void a_password_is_not_shown(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "OK", "MONITOR"},
        {'a', "OK", "CONFIG SET slowlog-log-slower-than 0"},
        {'a', "*", "HELLO 2 SETNAME auth AUTH default secret"},
        {'a', "*", "HELLO 2 AUTH secret"},
        {'a', "!ERR syntax error*", "AUTH default secret more"},
        {'a', "OK", "CONFIG SET timeout 0 REQUIREPASS secret"},
        {'a', "OK", "AUTH secret"},
        {'a', "*", "CONFIG SET requirepass \"\" nosuch requirepass"},
        {'b',
         "*SETNAME\" \"auth\" \"AUTH\" \"(redacted)\" \"(redacted)\" "
         "*AUTH\" \"(redacted)\" *\"AUTH\" \"(redacted)\" \"(redacted)\" "
         "\"(redacted)\" *\"AUTH\" \"(redacted)\"",
         NULL},
        {'a',
         "[[* [\"CONFIG\" \"SET\" \"requirepass\" \"(redacted)\" \"nosuch\" "
         "\"requirepass\"] * [\"AUTH\" \"(redacted)\"] *"
         "[\"CONFIG\" \"SET\" \"timeout\" \"0\" \"REQUIREPASS\" \"(redacted)\"] *",
         "SLOWLOG GET"},
    };
    struct command_runner *runner = *state;
    char *bytes;

    runner_follow(runner, steps);
    bytes = runner_bytes(runner, "SLOWLOG GET -1");
    assert_null(strstr(bytes, "secret"));
    free(bytes);
}

/* 16 MiB to be quoted took a second of one turn. */
static void the_line_of_a_large_request_is_prepared_in_slices(void **state)
{
    enum { SLICE = 128 * 1024, SLICES = 8, SIZE = SLICE * SLICES };
    static char body[SIZE];
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitor = runner_connect(runner);
    struct session *session = &client->session;
    struct argument words[] = {{"SET", 3}, {"k", 1}, {body, SIZE}};
    struct request request = {3, words, SIZE + 4}, other = {2, words + 1, SIZE + 1};
    int slices = 1;

    memset(body, '\xff', SIZE);
    assert_true(monitors_prepare(&runner->server, session, &request)); /* nobody looks */
    runner_expect_of(runner, monitor, "OK", "MONITOR");
    for (; !monitors_prepare(&runner->server, session, &request); slices++)
        assert_int_equal(buffer_size(&monitor->output), 0);
    assert_int_equal(slices, SLICES + 1);
    connection_run(client, &request, NULL, false);
    assert_null(session->monitor_text);
    assert_in_range(buffer_size(&monitor->output), 4 * SIZE + 40, 4 * SIZE + 80);
    buffer_clear(&monitor->output);
    buffer_clear(&client->output);
    assert_false(monitors_prepare(&runner->server, session, &request));
    words[1].data = "SET";
    words[1].size = 3;
    assert_true(monitors_prepare(&runner->server, session, &other)); /* its arity is wrong */
    assert_false(monitors_prepare(&runner->server, session, &request));
    runner_expect(runner, "OK", "MULTI");
    assert_true(monitors_prepare(&runner->server, session, &request));
}

static const struct request exec_request = {1, &(const struct argument){"EXEC", 4}, 4};

static char all_quoted[1 << 20];
static const struct argument large_words[] = {
    {"SET", 3}, {"k", 1}, {all_quoted, sizeof(all_quoted)}};
static const struct request large_request = {3, large_words, sizeof(all_quoted) + 4};

/* SET of as many bytes, in a MULTI. */
static void queue_large(struct connection *client, size_t size)
{
    const struct argument words[] = {{"SET", 3}, {"k", 1}, {all_quoted, size}};
    const struct request request = {3, words, size + 4};

    assert_true(size <= sizeof(all_quoted));
    memset(all_quoted, '\xff', size);
    connection_run(client, &request, NULL, false);
    runner_expect_reply(client, "QUEUED");
}

static char *queued_body(const struct session *session, size_t index)
{
    return (char *)transaction_request(session->transaction, index)->arguments[2].data;
}

/* Counts the line from here on. */
static const char *expect_line(const char *at, const char *begin, size_t quoted)
{
    at = strstr(at, begin);
    assert_non_null(at);
    at += strlen(begin);
    for (size_t i = 0; i < quoted; i++, at += 4)
        assert_memory_equal(at, "\\xff", 4);
    assert_memory_equal(at, "\"\r\n", 3);
    return at;
}

/* The body that was queued is changed, to see that its line was there. */
static void the_lines_of_an_exec_are_prepared_in_slices(void **state)
{
    enum { SLICES = 8, SIZE = SLICES * 128 * 1024 };
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitor = runner_connect(runner);
    struct session *session = &client->session;
    const char *at;
    int slices = 1;

    runner_expect(runner, "OK", "MULTI");
    queue_large(client, SIZE);
    assert_true(monitors_prepare(&runner->server, session, &exec_request)); /* nobody looks */
    runner_expect_of(runner, monitor, "OK", "MONITOR");
    runner_expect(runner, "QUEUED", "PING");
    queue_large(client, SIZE);
    for (; !monitors_prepare(&runner->server, session, &exec_request); slices++)
        assert_int_equal(buffer_size(&monitor->output), 0);
    assert_int_equal(slices, 2 * (SLICES + 1));
    assert_true(monitors_prepare(&runner->server, session, &exec_request));
    queued_body(session, 0)[0] = queued_body(session, 2)[0] = 'x';
    runner_expect(runner, "[OK PONG OK]", "EXEC");
    buffer_fill(&monitor->output, SIZE_MAX);
    buffer_append(&monitor->output, "", 1);
    at = expect_line(buffer_content(&monitor->output), "\"SET\" \"k\" \"", SIZE);
    at = expect_line(at, "\"PING", 0);
    at = expect_line(at, "\"SET\" \"k\" \"", SIZE);
    expect_line(at, "\"EXEC", 0);
}

static size_t memory_of(const struct connection *client)
{
    struct connection_memory memory;

    connection_measure(client, &memory);
    return memory.total;
}

/* What is not used is freed, which only the sanitized build sees. */
static void a_line_that_is_prepared_is_memory_of_its_client(void **state)
{
    enum { SIZE = 1 << 20 };
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitor = runner_connect(runner);
    size_t before;

    runner_expect_of(runner, monitor, "OK", "MONITOR");
    for (int i = 0; i < 3; i++) {
        runner_expect(runner, "OK", "MULTI");
        queue_large(client, SIZE);
        before = memory_of(client);
        assert_false(monitors_prepare(&runner->server, &client->session, &exec_request));
        assert_in_range(memory_of(client), before + 4 * 128 * 1024, before + SIZE);
        while (i < 2 && !monitors_prepare(&runner->server, &client->session, &exec_request))
            continue;
        if (i == 0)
            runner_expect(runner, "OK", "DISCARD");
        if (i == 1)
            monitors_remove(&runner->server, &monitor->session);
        if (i == 1)
            runner_expect(runner, "[OK]", "EXEC");
        if (i == 1)
            monitors_add(&runner->server, &monitor->session);
        assert_true(i == 2 || memory_of(client) < before);
    }
}

/* As by Redis. It was shown when it ended, so after the command that served it, and not when
 * CLIENT UNBLOCK ended it with an error. */
static void a_monitor_is_shown_what_waits_when_it_begins(void **state)
{
    static const struct runner_step steps[] = {
        {'c', "OK", "MONITOR"},
        {'a', "", "BLPOP k 0"},
        {'c', "* \"BLPOP\" \"k\" \"0\"", NULL},
        {'b', "1", "RPUSH k v"},
        {'a', "[\"k\" \"v\"]", NULL},
        {'c', "* \"RPUSH\" \"k\" \"v\"", NULL},
        {'a', "", "Q.CLAIM jobs BLOCK 1000"},
        {'c', "* \"Q.CLAIM\" \"jobs\" \"BLOCK\" \"1000\"", NULL},
        {'+', NULL, "1000"},
        {'a', "*", NULL},
        {'c', "", NULL},
    };

    runner_follow(*state, steps);
}

/* It stayed while the command waited, and when nobody was there to be shown it. */
static void a_line_is_dropped_when_its_command_waits(void **state)
{
    enum { KEYS = 3000, SIZE = 100 };
    static struct argument words[KEYS + 2] = {{"BLPOP", 5}};
    struct request request = {KEYS + 2, words, 5 + KEYS * SIZE + 1};
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitor = runner_connect(runner);
    char key[SIZE + 1] = "";

    memset(key, 'k', SIZE);
    for (size_t i = 1; i <= KEYS; i++)
        words[i] = (struct argument){key, SIZE};
    words[KEYS + 1] = (struct argument){"0", 1};
    runner_expect_of(runner, monitor, "OK", "MONITOR");
    while (!monitors_prepare(&runner->server, &client->session, &request))
        continue;
    assert_non_null(client->session.monitor_text);
    monitors_remove(&runner->server, &monitor->session);
    connection_run(client, &request, NULL, false);
    while (runner_slice(runner))
        continue;
    assert_non_null(client->session.waiter);
    assert_null(client->session.monitor_text);
}

/* Nobody needs the rest of it. */
static void a_line_that_cuts_monitors_off_is_not_prepared_whole(void **state)
{
    enum { SIZE = 1 << 20, MOST = 1 << 20 };
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitors[2];
    int slices = 1;

    memset(all_quoted, '\xff', SIZE);
    runner_expect(runner, "OK", "CONFIG SET client-output-buffer-limit \"pubsub 1mb 0 0\"");
    for (int in_exec = 0; in_exec < 2; in_exec++, slices = 1) {
        size_t before = memory_of(client);

        monitors[in_exec] = runner_connect(runner);
        runner_expect_of(runner, monitors[in_exec], "OK", "MONITOR");
        if (in_exec) {
            runner_expect(runner, "OK", "MULTI");
            queue_large(client, SIZE);
            queue_large(client, SIZE);
            before = memory_of(client);
        }
        while (!monitors_prepare(&runner->server, &client->session,
                                 in_exec ? &exec_request : &large_request))
            slices++;
        assert_in_range(slices, 2, 8);
        assert_in_range(memory_of(client) - before, MOST / 2, 2 * MOST + 4096);
        connection_run(client, in_exec ? &exec_request : &large_request, NULL, false);
        runner_expect_reply(client, in_exec ? "[OK OK]" : "OK");
        assert_null(runner->server.monitors);
        assert_int_equal(monitors[in_exec]->session.life, SESSION_GONE);
    }
}

/* Each of these is short, and is quoted when it runs. */
static void an_exec_that_monitors_see_takes_slices_by_its_bytes(void **state)
{
    enum { COUNT = 16, SIZE = 64 * 1024 };
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0], *monitor = runner_connect(runner);

    for (int monitored = 0; monitored < 2; monitored++) {
        runner_expect(runner, "OK", "MULTI");
        for (int i = 0; i < COUNT; i++)
            queue_large(client, SIZE);
        runner->by_slices = true;
        assert_true(monitors_prepare(&runner->server, &client->session, &exec_request));
        runner_run(runner, client, "EXEC");
        assert_int_equal(runner_finish(runner, SIZE_MAX) > 1, monitored);
        buffer_clear(&client->output);
        runner->by_slices = false;
        if (!monitored)
            runner_expect_of(runner, monitor, "OK", "MONITOR");
    }
}

/* ---- the list of clients */

static void flags_of_clients_are_shown(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {'c', "OK", "MULTI"},
        {'d', "", "BLPOP l 0"},
        {'e', "OK", "MONITOR"},
        {'f', "OK", "WATCH k"},
        {'a',
         "\"id=1 *flags=N *id=2 *flags=P *sub=1 psub=0 *id=3 *flags=x *multi=0 *id=4 *"
         "flags=b *cmd=blpop *id=5 *flags=O *id=6 *flags=N *\"",
         "CLIENT LIST"},
        {'a', "OK", "SET k v"},
        {'f', "OK", "MULTI"},
        {'a', "\"id=6 *flags=xd *\"", "CLIENT LIST ID 6"},
        {'c', "QUEUED", "PING"},
        {'c', "QUEUED", "PING"},
        {'a', "\"id=3 *multi=2 *\"", "CLIENT LIST ID 3"},
        {'a', "\"id=2 *\\n\"", "CLIENT LIST TYPE pubsub"},
        {'a', "\"\"", "CLIENT LIST ID 99"},
        {'a', "\"id=4 *\\nid=1 *\\nid=4 *\\n\"", "CLIENT LIST ID 4 99 1 4"},
        {'a',
         "\"id=1 addr=127.0.0.1:1001 laddr=127.0.0.1:6379 *cmd=client|info user=default *\"",
         "CLIENT INFO"},
        {'a', "1", "CLIENT ID"},
    };

    runner_follow(*state, steps);
}

static void clients_are_killed_by_kind(void **state)
{
    struct command_runner *runner = *state;
    static const struct runner_step steps[] = {
        {'b', "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c"},
        {'c', "[\"psubscribe\" \"c\" 1]", "PSUBSCRIBE c"},
        {'d', "PONG", "PING"},
        {'a', "2", "CLIENT KILL TYPE pubsub"},
        {'a', "1", "CLIENT KILL TYPE normal"},
        {'a', "0", "CLIENT KILL ID 1"},
    };

    runner_follow(runner, steps);
    assert_true(runner->clients[0]->session.life == SESSION_OPEN);
    for (size_t i = 1; i < 4; i++)
        assert_true(runner->clients[i]->session.life == SESSION_GONE);
}

static void a_waiting_client_is_unblocked(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "", "BLPOP l 0"},
        {'c', "", "BLPOP l 0"},
        {'a', "1", "CLIENT UNBLOCK 2"},
        {'b', "nil", NULL},
        {'a', "0", "CLIENT UNBLOCK 2"},
        {'a', "1", "CLIENT UNBLOCK 3 ERROR"},
        {'c', "!UNBLOCKED client unblocked via CLIENT UNBLOCK", NULL},
        {'a', "1", "RPUSH l x"},
        {'a', "1", "LLEN l"},
    };

    runner_follow(*state, steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(encodings_are_those_of_redis),
        runner_test(encodings_remember_what_was_done),
        runner_test(options_set_where_the_compact_encodings_end),
        runner_test(memory_is_estimated),
        runner_test(memory_has_redis_fields),
        runner_test(categories_are_listed),
        runner_test(the_slowlog_is_trimmed),
        runner_test(long_commands_are_cut_in_the_slowlog),
        runner_test(nothing_is_watched_before_a_threshold_is_set),
        runner_test(what_takes_long_is_remembered),
        cmocka_unit_test(the_worst_of_each_second_is_kept),
        cmocka_unit_test(times_of_commands_are_counted_by_powers_of_two),
        runner_test(the_histogram_has_what_ran),
        runner_test(an_idle_key_has_its_time),
        runner_test(a_key_that_was_closed_is_idle_since_then_at_least),
        runner_test(hits_and_misses_are_counted),
        cmocka_unit_test(a_save_is_known_by_its_end),
        runner_test(a_save_that_fails_is_told),
        runner_test(clients_have_names_and_kinds),
        runner_test(replies_can_be_turned_off),
        runner_test(keys_of_a_command_are_told),
        runner_test(a_number_of_keys_is_read_as_redis_does),
        runner_test(the_keyspace_is_counted),
        runner_test(saving_is_a_checkpoint),
        runner_test(debug_is_for_those_who_enable_it),
        runner_test(debug_object_says_how_a_key_is_kept),
        runner_test(more_elements_take_more_memory),
        runner_test(categories_hold_commands),
        runner_test(a_monitor_is_shown_commands_as_they_run),
        runner_test(a_password_is_not_shown),
        runner_test(the_line_of_a_large_request_is_prepared_in_slices),
        runner_test(the_lines_of_an_exec_are_prepared_in_slices),
        runner_test(a_line_that_is_prepared_is_memory_of_its_client),
        runner_test(a_monitor_is_shown_what_waits_when_it_begins),
        runner_test(a_line_is_dropped_when_its_command_waits),
        runner_test(a_line_that_cuts_monitors_off_is_not_prepared_whole),
        runner_test(an_exec_that_monitors_see_takes_slices_by_its_bytes),
        runner_test(flags_of_clients_are_shown),
        runner_test(clients_are_killed_by_kind),
        runner_test(a_waiting_client_is_unblocked),
    };
    return cmocka_run_group_tests_name("insight commands", tests, NULL, NULL);
}
