/* INFO, CONFIG, TIME, SHUTDOWN and the replies to Lua commands. */
#include "tests/support/client/command_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- INFO */

static void info_has_what_clients_read(void **state)
{
    static const char *const lines[] = {"# Server",
                                        "redis_version:7.0.15",
                                        "dueq_version:",
                                        "redis_mode:standalone",
                                        "os:",
                                        "tcp_port:6379",
                                        "uptime_in_days:0",
                                        "# Clients",
                                        "connected_clients:1",
                                        "blocked_clients:0",
                                        "# Memory",
                                        "used_memory_human:",
                                        "used_memory_peak_human:",
                                        "maxmemory_policy:noeviction",
                                        "# Persistence",
                                        "loading:0",
                                        "# Stats",
                                        "total_commands_processed:",
                                        "# Replication",
                                        "role:master",
                                        "# CPU",
                                        "# Cluster",
                                        "cluster_enabled:0",
                                        "# Keyspace",
                                        "# Journal",
                                        "journal_synced_lsn:",
                                        "# Queue",
                                        "jobs_ready:0"};
    struct command_runner *runner = *state;
    char *info = runner_bytes(runner, "INFO");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n%s", lines[i]);
        if (strstr(info, line) == NULL)
            fail_msg("INFO lacks '%s'", lines[i]);
    }
    assert_null(strstr(info, "valkey_version"));
    assert_null(strstr(info, "Commandstats"));
    free(info);
}

static void info_takes_sections(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"# CPU\\r\\nused_cpu_sys:*\\r\\n\"", "INFO cpu");
    runner_expect(runner, "\"# Clients\\r\\n*\\r\\n\\r\\n# CPU\\r\\n*\"",
                  "INFO CPU clients cpu");
    runner_expect(runner, "\"\"", "INFO nosuch");
    runner_expect(runner, "\"*# Commandstats*\"", "INFO all");
    runner_expect(runner, "\"*# Commandstats*\"", "INFO everything");
    runner_expect(runner, "\"# Server*# Queue*\"", "INFO default");
    runner_expect(runner,
                  "\"# Latencystats*\\r\\nturn_percentiles_usec:p50=*,p99=*,p99.9=*,count=*"
                  "\\r\\njob_wait_percentiles_msec:p50=*\"",
                  "INFO latencystats");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "txt:\"# CPU*\"", "INFO cpu");
}

static void info_sums_over_topics(void **state)
{
    struct command_runner *runner = *state;
    for (int i = 0; i < 40; i++) {
        char line[64];
        snprintf(line, sizeof(line), "Q.PUSH topic-%d body DELAY %d", i % 20,
                 i < 20 ? 0 : 1000);
        runner_expect(runner, "*", line);
    }
    runner_expect(runner, "[*]", "Q.MCLAIM 2 topic-3 topic-4 COUNT 2");
    runner_pass(runner, 400);
    runner_expect(runner,
                  "\"*topics:20\\r\\njobs_delayed:20\\r\\njobs_ready:18"
                  "\\r\\njobs_claimed:2\\r\\njobs_dead:0\\r\\njobs_done:0\\r\\njobs_waiting:"
                  "0\\r\\njobs_counting:"
                  "0\\r\\noldest_"
                  "ready_age_ms:400\\r\\n"
                  "total_pushed:40\\r\\ntotal_claimed:2\\r\\n*\"",
                  "INFO queue");
}

static void info_counts_every_topic(void **state)
{
    struct command_runner *runner = *state;
    for (int i = 0; i < 1010; i++) {
        char line[64];
        snprintf(line, sizeof(line), "Q.PUSH topic-%d body", i);
        runner_expect(runner, "*", line);
    }
    runner_expect(
        runner,
        "\"*topics:1010\\r\\njobs_delayed:0\\r\\njobs_ready:1010\\r\\n*jobs_counting:0\\r\\n"
        "total_pushed:1010\\r\\n*\"",
        "INFO queue");
}

/* ---- CONFIG */

static void config_get_takes_names_and_globs(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[\"maxclients\" \"10000\"]", "CONFIG GET maxclients");
    runner_expect(runner, "[\"MaxClients\" \"10000\"]", "CONFIG GET MaxClients");
    runner_expect(runner, "[\"maxclients\" \"10000\"]", "CONFIG GET MaxCl*");
    runner_expect(runner, "[\"appendonly\" \"yes\" \"save\" \"\"]",
                  "CONFIG GET save appendonly nosuch save");
    runner_expect(runner, "[]", "CONFIG GET nosuch");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "{\"save\": \"\"}", "CONFIG GET save");
}

static void config_set_sets_all_or_nothing(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET maxclients 5000 TIMEOUT 60");
    runner_expect(runner, "[\"maxclients\" \"5000\"]", "CONFIG GET maxclients");
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'timeout') - argument "
                  "couldn't be parsed into an integer",
                  "CONFIG SET maxclients 6000 timeout x");
    runner_expect(runner, "[\"maxclients\" \"5000\"]", "CONFIG GET maxclients");
    runner_expect(runner, "[\"timeout\" \"60\"]", "CONFIG GET timeout");
}

static void config_set_refuses_by_name(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "!ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
                  "CONFIG SET maxclients 5000 nosuch 1");
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'databases') - can't "
                  "set immutable config",
                  "CONFIG SET maxclients 5000 databases 2");
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate "
                  "parameter",
                  "CONFIG SET timeout 5 timeout 6");
    runner_expect(runner, "!ERR syntax error", "CONFIG SET timeout 5 maxclients");
    runner_expect(runner, "!ERR CONFIG SET failed *immutable config",
                  "CONFIG SET databases 16");
    runner_expect(runner, "OK", "CONFIG SET port 6379 save \"\" appendonly yes");
    runner_expect(runner, "!ERR CONFIG SET failed *dueq has this one way only: 'yes'",
                  "CONFIG SET appendonly no");
    runner_expect(runner, "[\"maxclients\" \"10000\"]", "CONFIG GET maxclients");
}

/* As in Redis: otherwise only accept(2) would fail when there are too few descriptors. */
static void maxclients_needs_descriptors(void **state)
{
    struct command_runner *runner = *state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){256, before.rlim_max < 1024 ? before.rlim_max : 1024};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    runner_expect(runner, "OK", "CONFIG SET maxclients 300");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur >= 300);
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'MaxClients') - The "
                  "operating system is not able to handle the specified number of clients, try "
                  "with 960",
                  "CONFIG SET timeout 5 MaxClients 4294967295");
    runner_expect(runner, "[\"timeout\" \"0\"]", "CONFIG GET timeout");
    runner_expect(runner, "[\"maxclients\" \"300\"]", "CONFIG GET maxclients");
    runner_expect(runner, "OK", "CONFIG SET maxclients 960");
    setrlimit(RLIMIT_NOFILE, &before);
}

static void values_of_several_words_are_one_argument(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET durability \"interval 500\"");
    runner_expect(runner, "[\"durability\" \"interval 500\"]", "CONFIG GET durability");
    runner_expect(runner, "!ERR CONFIG SET failed *", "CONFIG SET durability \"interval  x\"");
    runner_expect(runner, "!ERR CONFIG SET failed *", "CONFIG SET durability \"\"");
    runner_expect(runner, "[\"durability\" \"interval 500\"]", "CONFIG GET durability");
    runner_expect(runner, "OK", "CONFIG SET requirepass \"a b\"");
    runner_expect(runner, "[\"requirepass\" \"a b\"]", "CONFIG GET requirepass");
}

static void queue_defaults_can_be_set(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET queue-retries 3 queue-backoff 5s");
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*\"retries\" 3 *\"backoff\" 5000 *]", "Q.GET topic a");
}

static void config_rewrite_wants_a_file(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR The server is running without a config file", "CONFIG REWRITE");
    runner->server.config.file = strdup("/proc/nosuch/dueq.conf");
    runner_expect(runner, "!ERR Rewriting config file: No such file or directory",
                  "CONFIG REWRITE");
}

/* ---- other commands */

static void time_is_the_time_it_was_given(void **state)
{
    struct command_runner *runner = *state;
    runner_pass(runner, 1234);
    runner_expect(runner, "[\"1700000001\" \"234000\"]", "TIME");
}

static void dbsize_counts_the_keys_of_a_database(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body");
    runner_expect(runner, "OK", "MSET a 1 b 2");
    runner_expect(runner, "2", "DBSIZE");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "0", "DBSIZE");
}

static void flushall_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "!ERR syntax error", "FLUSHALL FOO");
    runner_expect(runner, "!ERR syntax error", "FLUSHALL ASYNC SYNC");
    runner_expect(runner, "1", "Q.LEN topic");
    runner_expect(runner, "OK", "FLUSHALL async");
    runner_expect(runner, "0", "Q.LEN topic");
    runner_expect(runner, "0", "DBSIZE");
    runner_expect(runner, "\"a\"", "Q.PUSH topic again ID a");
    runner_expect(runner, "OK", "FLUSHALL");
}

static void shutdown_stops_without_a_reply(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "", "SHUTDOWN");
    assert_true(runner->server.stopping);
    assert_true(runner->server.checkpoint_on_exit);
    runner_expect(runner, "", "SHUTDOWN NOSAVE NOW FORCE");
    assert_false(runner->server.checkpoint_on_exit);
}

static void shutdown_wants_good_options(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR syntax error", "SHUTDOWN FOO");
    runner_expect(runner, "!ERR syntax error", "SHUTDOWN NOW FOO");
    runner_expect(runner, "!ERR syntax error", "SHUTDOWN SAVE NOSAVE");
    runner_expect(runner, "!ERR syntax error", "SHUTDOWN ABORT NOW");
    runner_expect(runner, "!ERR No shutdown in progress.", "SHUTDOWN abort");
    assert_false(runner->server.stopping);
}

static void lua_is_refused_by_name(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR dueq runs no Lua*Q.PUSH*Q.CLAIM*Q.ACK*", "EVAL \"return 1\" 0");
    runner_expect(runner, "!ERR dueq runs no Lua*", "EVAL_RO \"return 1\" 0");
    runner_expect(runner, "!NOSCRIPT *", "EVALSHA abc 0");
    runner_expect(runner, "!NOSCRIPT *", "EVALSHA_RO abc 1 key");
    runner_expect(runner, "!ERR dueq runs no Lua*", "FCALL f 0");
    runner_expect(runner, "!ERR dueq runs no Lua*", "FUNCTION LIST");
    runner_expect(runner, "!ERR dueq runs no Lua*", "SCRIPT LOAD \"return 1\"");
    runner_expect(runner, "[0 0]", "SCRIPT EXISTS a b");
    runner_expect(runner, "!ERR unknown subcommand 'FOO'. Try SCRIPT HELP.", "SCRIPT FOO");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(info_has_what_clients_read),
        runner_test(info_takes_sections),
        runner_test(info_sums_over_topics),
        runner_test(info_counts_every_topic),
        runner_test(config_get_takes_names_and_globs),
        runner_test(config_set_sets_all_or_nothing),
        runner_test(config_set_refuses_by_name),
        runner_test(maxclients_needs_descriptors),
        runner_test(values_of_several_words_are_one_argument),
        runner_test(queue_defaults_can_be_set),
        runner_test(config_rewrite_wants_a_file),
        runner_test(time_is_the_time_it_was_given),
        runner_test(dbsize_counts_the_keys_of_a_database),
        runner_test(flushall_leaves_nothing),
        runner_test(shutdown_stops_without_a_reply),
        runner_test(shutdown_wants_good_options),
        runner_test(lua_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("server commands", tests, NULL, NULL);
}
