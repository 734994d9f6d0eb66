/* Options: read from files, set, shown, and written back. */
#include "server/config/config.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { NOBODY = 65534 };

struct scene {
    char *directory;
    struct config config;
    struct config_error error;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    if (scene == NULL)
        return -1;
    scene->directory = temp_dir_new();
    config_init(&scene->config);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    config_release(&scene->config);
    temp_dir_remove(scene->directory);
    free(scene);
    return 0;
}

/* ---- files */

/* A path in the scene's directory; overwritten by the fourth call after. */
static const char *path_of(const struct scene *scene, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", scene->directory, name);
    return paths[turn];
}

static void begin_anew(struct scene *scene)
{
    config_release(&scene->config);
    config_init(&scene->config);
}

static void write_file(const struct scene *scene, const char *name, const char *content)
{
    FILE *file = fopen(path_of(scene, name), "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static const char *content_of(const struct scene *scene, const char *name)
{
    static char content[65536];
    FILE *file = fopen(path_of(scene, name), "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
    fclose(file);
    return content;
}

static bool read_file(struct scene *scene, const char *name)
{
    return config_read_file(&scene->config, path_of(scene, name), &scene->error);
}

static void read_text(struct scene *scene, const char *content)
{
    write_file(scene, "dueq.conf", content);
    if (!read_file(scene, "dueq.conf"))
        fail_msg("refused: %s", scene->error.text);
}

static void rewrite(struct scene *scene)
{
    if (!config_rewrite(&scene->config, "", &scene->error))
        fail_msg("not rewritten: %s", scene->error.text);
}

static void expect_rewritten(struct scene *scene, const char *content)
{
    rewrite(scene);
    assert_string_equal(content_of(scene, "dueq.conf"), content);
}

/* ---- options */

static struct argument argument(const char *text)
{
    return (struct argument){text, strlen(text)};
}

static size_t index_of(const char *name)
{
    int index = config_find(argument(name));
    if (index < 0)
        fail_msg("no option %s", name);
    return (size_t)index;
}

static bool set(struct scene *scene, const char *name, const char *value)
{
    return config_set_value(&scene->config, index_of(name), argument(value), &scene->error);
}

static void must_set(struct scene *scene, const char *name, const char *value)
{
    if (!set(scene, name, value))
        fail_msg("%s '%s': %s", name, value, scene->error.text);
}

static void expect_option(const struct scene *scene, const char *name, const char *value)
{
    char text[CONFIG_TEXT_MAX];
    config_get(&scene->config, index_of(name), text);
    if (strcmp(text, value) != 0)
        fail_msg("%s is '%s', not '%s'", name, text, value);
}

static void expect_refused(struct scene *scene, const char *name, const char *value,
                           const char *why)
{
    char before[CONFIG_TEXT_MAX];
    config_get(&scene->config, index_of(name), before);
    assert_false(set(scene, name, value));
    assert_string_equal(scene->error.text, why);
    expect_option(scene, name, before);
}

struct pair {
    const char *name, *value;
};

/* For each option a value other than its default, as CONFIG GET shows it, and the test of what
 * the option does, by file and name. Options with only one value are not in the list. */
static const struct sample {
    const char *name, *value;
    const char *file, *test;
} samples[] = {
    {"bind", "10.0.0.1 -::2", "integration/test_startup",
     "without_a_password_strangers_are_refused"},
    {"port", "7000", "integration/test_startup", "a_taken_port_is_named"},
    {"unixsocket", "/run/a b/dueq.sock", "integration/test_startup",
     "a_second_start_takes_nothing_from_the_first"},
    {"unixsocketperm", "770", "integration/test_options", "a_unix_socket_has_the_mode"},
    {"unixsocketgroup", "adm", "integration/test_sockets", "the_unix_socket_has_its_group"},
    {"tls-port", "7001", "integration/test_tls", "redis_cli_talks_by_tls"},
    {"tls-cert-file", "/etc/a.crt", "integration/test_tls", "certificates_are_read_again"},
    {"tls-key-file", "/etc/a.key", "integration/test_tls", "a_key_may_have_a_password"},
    {"tls-key-file-pass", "se cret", "integration/test_tls", "a_key_may_have_a_password"},
    {"tls-ca-cert-file", "/etc/ca.crt", "integration/test_tls",
     "clients_need_a_certificate_of_the_authority"},
    {"tls-ca-cert-dir", "/etc/ca", "integration/test_tls", "authorities_can_be_a_directory"},
    {"tls-auth-clients", "optional", "integration/test_tls",
     "clients_need_a_certificate_of_the_authority"},
    {"tls-protocols", "TLSv1.2 TLSv1.3", "integration/test_tls",
     "versions_and_ciphers_are_as_configured"},
    {"tls-ciphers", "DEFAULT:!MEDIUM", "integration/test_tls",
     "versions_and_ciphers_are_as_configured"},
    {"tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "integration/test_tls",
     "versions_and_ciphers_are_as_configured"},
    {"tls-prefer-server-ciphers", "yes", "integration/test_tls",
     "versions_and_ciphers_are_as_configured"},
    {"tls-session-caching", "no", "integration/test_tls", "sessions_are_resumed_if_wanted"},
    {"tls-session-cache-size", "5000", "integration/test_tls",
     "sessions_are_resumed_if_wanted"},
    {"tls-session-cache-timeout", "60", "integration/test_tls",
     "sessions_are_resumed_if_wanted"},
    {"tls-dh-params-file", "/etc/dh.pem", "integration/test_tls",
     "versions_and_ciphers_are_as_configured"},
    {"dir", "/var/lib/dueq", "integration/test_startup", "the_log_says_what_was_recovered"},
    {"backup-dir", "/backup", "integration/test_backup_served",
     "a_backup_of_a_busy_server_is_whole"},
    {"archive-dir", "/archive", "integration/test_archive_served",
     "a_store_comes_back_at_any_moment"},
    {"archive-max-lag", "536870912", "unit/storage/test_archive",
     "what_waits_for_too_long_is_given_up"},
    {"archive-interval", "5", "integration/test_archive_served",
     "a_store_comes_back_at_any_moment"},
    {"run-as", "dueq:adm", "integration/test_rights", "root_becomes_somebody_else"},
    {"sandbox", "yes", "integration/test_rights", "a_server_in_a_sandbox_starts_no_program"},
    {"requirepass", "se\"cr\\et\n\x01 #", "unit/server/test_command_connection",
     "auth_compares_the_whole_password"},
    {"aclfile", "/etc/users.acl", "integration/test_acl",
     "a_file_gives_the_users_and_gets_them"},
    {"acllog-max-len", "7", "unit/server/test_command_acl", "refusals_are_logged"},
    {"acl-pubsub-default", "allchannels", "unit/server/test_command_acl",
     "a_new_user_may_get_all_channels"},
    {"acl-password-hash", "argon2id", "integration/test_logins",
     "setuser_makes_slow_hashes_when_told"},
    {"auth-delay", "250", "unit/server/test_command_acl",
     "who_fails_often_gets_the_reply_late"},
    {"protected-mode", "no", "integration/test_startup",
     "without_a_password_strangers_are_refused"},
    {"maxclients", "77", "integration/test_server", "above_maxclients_a_connection_is_refused"},
    {"maxmemory-clients", "25%", "integration/test_client_memory",
     "the_largest_client_goes_first"},
    {"timeout", "30", "integration/test_server", "idle_clients_are_closed_after_timeout"},
    {"tcp-backlog", "128", "integration/test_options", "the_backlog_is_that_of_the_listener"},
    {"tcp-keepalive", "60", "integration/test_options", "keep_alive_is_what_was_configured"},
    {"loglevel", "verbose", "integration/test_options",
     "the_log_goes_to_the_file_from_the_level_on"},
    {"logfile", "/var/log/dueq.log", "integration/test_options",
     "the_log_goes_to_the_file_from_the_level_on"},
    {"log-format", "json", "integration/test_log_daemons", "lines_are_json_when_wanted"},
    {"syslog-enabled", "yes", "integration/test_log_daemons", "syslog_gets_each_line"},
    {"syslog-ident", "queue", "integration/test_log_daemons", "syslog_gets_each_line"},
    {"syslog-facility", "local7", "integration/test_log_daemons", "syslog_gets_each_line"},
    {"journald-enabled", "yes", "integration/test_log_daemons", "journald_gets_fields"},
    {"daemonize", "yes", "integration/test_options", "a_daemon_lives_on_its_own"},
    {"pidfile", "/run/dueq.pid", "integration/test_startup",
     "a_second_start_takes_nothing_from_the_first"},
    {"proto-max-bulk-len", "2097152", "integration/test_options",
     "an_argument_has_a_largest_size"},
    {"client-query-buffer-limit", "3000000", "integration/test_options",
     "a_request_has_a_largest_size"},
    {"client-output-buffer-limit", "normal 1 2 3 slave 4 5 6 pubsub 7 8 9",
     "integration/test_keys", "who_does_not_read_is_cut_off"},
    {"pipeline-limit", "10", "integration/test_options", "a_pipeline_has_its_share_of_a_turn"},
    {"shutdown-timeout", "3", "integration/test_server",
     "who_does_not_read_is_waited_for_so_long"},
    {"slowlog-log-slower-than", "-1", "unit/server/test_command_insight",
     "the_slowlog_is_trimmed"},
    {"slowlog-max-len", "7", "unit/server/test_command_insight", "the_slowlog_is_trimmed"},
    {"latency-monitor-threshold", "100", "unit/server/test_command_insight",
     "what_takes_long_is_remembered"},
    {"http-port", "8080", "integration/test_http", "a_sound_server_is_ready"},
    {"http-bind", "10.0.0.1 -::1", "integration/test_http", "it_listens_where_it_is_told"},
    {"http-tls", "yes", "integration/test_http_tls", "all_of_the_port_is_secure"},
    {"http-tls-auth-clients", "optional", "integration/test_http_tls",
     "its_clients_have_a_rule_of_their_own"},
    {"http-api", "read", "integration/test_http_api", "a_reader_changes_nothing"},
    {"http-hosts", "queue.example", "integration/test_http_api", "pages_of_others_are_refused"},
    {"dashboard", "yes", "integration/test_dashboard", "it_is_off_until_it_is_wanted"},
    {"dashboard-history", "no", "integration/test_dashboard_live",
     "history_survives_a_restart"},
    {"http-metrics-topics", "7", "integration/test_http", "few_topics_have_series"},
    {"notify-keyspace-events", "g$KE", "unit/server/test_command_pubsub",
     "events_say_key_or_event"},
    {"profile", "edge", "unit/server/test_config", "a_profile_leaves_what_was_chosen"},
    {"drop-pages", "yes", "integration/test_edge", "memory_stays_small"},
    {"durability", "interval 250", "integration/test_options",
     "durability_is_how_often_is_synced"},
    {"memtable-size", "4194304", "integration/test_options",
     "a_full_memtable_brings_a_checkpoint"},
    {"segment-size", "1048576", "integration/test_options", "segments_have_their_size"},
    {"journal-size", "8388608", "integration/test_options",
     "a_long_journal_brings_a_checkpoint"},
    {"map-size", "268435456", "integration/test_options",
     "the_map_is_filled_up_to_its_high_water"},
    {"disk-reserve", "0", "fault/test_full_disk", "the_disk_reserve_is_kept"},
    {"high-water-percent", "80", "integration/test_options",
     "the_map_is_filled_up_to_its_high_water"},
    {"auto-compact-percentage", "50", "integration/test_options",
     "a_sparse_file_is_compacted_by_itself"},
    {"auto-compact-min-size", "1048576", "integration/test_options",
     "a_sparse_file_is_compacted_by_itself"},
    {"queue-lease", "90000", "integration/test_lease", "configured_defaults_are_taken"},
    {"queue-retries", "3", "integration/test_lease", "configured_defaults_are_taken"},
    {"queue-crashes", "2", "integration/test_lease",
     "expired_leases_have_a_limit_of_their_own"},
    {"queue-backoff", "1500", "integration/test_options", "jobs_take_the_configured_backoff"},
    {"queue-backoff-max", "86400000", "integration/test_options",
     "jobs_take_the_configured_backoff"},
    {"cron-max", "7", "integration/test_cron_served", "what_is_wrong_is_said"},
    {"appendfsync", "everysec", "integration/test_options",
     "durability_is_how_often_is_synced"},
    {"list-max-listpack-size", "128", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"list-max-ziplist-size", "-3", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"hash-max-listpack-entries", "0", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"hash-max-ziplist-entries", "9", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"hash-max-listpack-value", "65", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"hash-max-ziplist-value", "66", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"set-max-intset-entries", "9", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"zset-max-listpack-entries", "10", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"zset-max-ziplist-entries", "11", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"zset-max-listpack-value", "12", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
    {"zset-max-ziplist-value", "13", "unit/server/test_command_insight",
     "options_set_where_the_compact_encodings_end"},
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static const char *sample_of(const char *name)
{
    for (size_t i = 0; i < SAMPLES; i++)
        if (strcmp(samples[i].name, name) == 0)
            return samples[i].value;
    return NULL;
}

static void every_option_has_a_sample_or_one_value(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < config_count(); i++) {
        char text[CONFIG_TEXT_MAX];
        if (sample_of(config_name(i)) != NULL)
            continue;
        config_get(&scene->config, i, text);
        must_set(scene, config_name(i), text);
        assert_false(set(scene, config_name(i), "something else"));
    }
}

static bool has_test(const struct sample *sample)
{
    char path[256], line[512], wanted[256];
    bool found = false;
    snprintf(path, sizeof(path), "tests/%s.c", sample->file);
    snprintf(wanted, sizeof(wanted), "static void %s(", sample->test);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s: no file %s", sample->name, path);
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = strncmp(line, wanted, strlen(wanted)) == 0;
    fclose(file);
    return found;
}

/* An option without an effect would mislead the operator. */
static void every_option_has_a_test_of_its_effect(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        if (!has_test(&samples[i]))
            fail_msg("%s: no test %s in %s", samples[i].name, samples[i].test, samples[i].file);
}

static void every_option_is_shown_as_it_was_set(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < SAMPLES; i++) {
        char before[CONFIG_TEXT_MAX];
        begin_anew(scene);
        config_get(&scene->config, index_of(samples[i].name), before);
        assert_string_not_equal(before, samples[i].value);
        must_set(scene, samples[i].name, samples[i].value);
        expect_option(scene, samples[i].name, samples[i].value);
    }
}

static void every_option_survives_being_written_and_read(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < SAMPLES; i++) {
        begin_anew(scene);
        read_text(scene, "# nothing\n");
        must_set(scene, samples[i].name, samples[i].value);
        rewrite(scene);
        begin_anew(scene);
        assert_true(read_file(scene, "dueq.conf"));
        expect_option(scene, samples[i].name, samples[i].value);
    }
}

static void all_options_together_are_included_from_another_file(void **state)
{
    struct scene *scene = *state;
    char text[PATH_MAX + 32];
    struct config read;
    read_text(scene, "");
    for (size_t i = 0; i < SAMPLES; i++)
        must_set(scene, samples[i].name, samples[i].value);
    rewrite(scene);
    snprintf(text, sizeof(text), "include %s\n", path_of(scene, "dueq.conf"));
    write_file(scene, "outer.conf", text);
    config_init(&read);
    assert_true(config_read_file(&read, path_of(scene, "outer.conf"), &scene->error));
    for (size_t i = 0; i < config_count(); i++) {
        char value[CONFIG_TEXT_MAX];
        config_get(&read, i, value);
        expect_option(scene, config_name(i), value);
    }
    config_release(&read);
}

static void a_copy_is_a_configuration_of_its_own(void **state)
{
    struct scene *scene = *state;
    struct config copy;
    read_text(scene, "requirepass one\n");
    assert_true(config_copy(&scene->config, &copy));
    must_set(scene, "requirepass", "two");
    assert_string_equal(copy.requirepass, "one");
    assert_string_equal(copy.file, scene->config.file);
    assert_ptr_not_equal(copy.file, scene->config.file);
    config_release(&copy);
    expect_option(scene, "requirepass", "two");
}

static void the_store_is_opened_with_what_is_set(void **state)
{
    struct scene *scene = *state;
    struct dueq_options options;
    read_text(scene, "durability interval 2s\nmemtable-size 4mb\nsegment-size 1mb\n"
                     "journal-size 16mb\nmap-size 256mb\ndisk-reserve 5mb\n"
                     "high-water-percent 70\n");
    config_store_options(&scene->config, &options);
    assert_int_equal(options.durability, DUEQ_SYNC_INTERVAL);
    assert_int_equal(options.interval_ms, 2000);
    assert_int_equal(options.memtable_bytes, 4 << 20);
    assert_int_equal(options.segment_bytes, 1 << 20);
    assert_int_equal(options.journal_bytes, 16 << 20);
    assert_int_equal(options.map_bytes, 256 << 20);
    assert_int_equal(options.disk_reserve_bytes, 5 << 20);
    assert_int_equal(options.high_water_percent, 70);
}

/* ---- profiles */

static void a_profile_leaves_what_was_chosen(void **state)
{
    struct scene *scene = *state;
    struct dueq_options options;
    must_set(scene, "segment-size", "67108864"); /* the general default, but chosen */
    must_set(scene, "profile", "edge");
    must_set(scene, "journal-size", "8388608");
    expect_option(scene, "profile", "edge");
    expect_option(scene, "memtable-size", "262144");
    expect_option(scene, "segment-size", "67108864");
    expect_option(scene, "journal-size", "8388608");
    expect_option(scene, "durability", "always");
    config_store_options(&scene->config, &options);
    assert_true(options.drop_pages);
    must_set(scene, "profile", "default");
    expect_option(scene, "memtable-size", "41943040");
    expect_option(scene, "drop-pages", "no");
    expect_option(scene, "journal-size", "8388608");
}

static void a_rewritten_file_keeps_its_profile(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "profile edge\nmemtable-size 40mb\n");
    must_set(scene, "queue-retries", "7");
    expect_rewritten(scene, "profile edge\nmemtable-size 40mb\n"
                            "# Generated by CONFIG REWRITE\nqueue-retries 7\n");
}

/* ---- reading */

static void lines_are_read_as_redis_reads_them(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "\n  # don't mind \"me\n\t\n#\nMaxClients\t 12  \r\n"
                     "requirepass \"a \\x41\\n\"\nlogfile 'it\\'s here'\n"
                     "bind   10.0.0.1    ::1\n"
                     "timeout 5\ntimeout 6\nqueue-lease 2h\nmemtable-size 256mb");
    expect_option(scene, "maxclients", "12");
    expect_option(scene, "requirepass", "a A\n");
    expect_option(scene, "logfile", "it's here");
    expect_option(scene, "bind", "10.0.0.1 ::1");
    expect_option(scene, "timeout", "6");
    expect_option(scene, "queue-lease", "7200000");
    expect_option(scene, "memtable-size", "268435456");
}

/* The error names the place, the line and the reason. */
static void expect_bad(struct scene *scene, const char *content, const char *place,
                       const char *why)
{
    char expected[1024];
    write_file(scene, "dueq.conf", content);
    assert_false(read_file(scene, "dueq.conf"));
    snprintf(expected, sizeof(expected), "*** %s:%s: %s", path_of(scene, "dueq.conf"), place,
             why);
    assert_string_equal(scene->error.text, expected);
}

static void a_bad_line_is_named_with_file_and_number(void **state)
{
    struct scene *scene = *state;
    expect_bad(scene, "port 1\n\nnosuch 1\nport x\n", "3: 'nosuch ...'",
               "Bad directive or wrong number of arguments");
    expect_bad(scene, "port x", "1: 'port x'", "argument couldn't be parsed into an integer");
    expect_bad(scene, "# it's fine\n dir \"open\n", "2: 'dir \"open'",
               "Unbalanced quotes in configuration line");
    expect_bad(scene, "dir \"a\"b\n", "1: 'dir \"a\"b'",
               "Unbalanced quotes in configuration line");
    expect_bad(scene, "port\n", "1: 'port'", "wrong number of arguments");
    expect_bad(scene, "port 1 2\n", "1: 'port 1 2'", "wrong number of arguments");
    expect_bad(scene, "save 900 1\n", "1: 'save 900 1'", "dueq has this one way only: ''");
}

/* It gets into the log. */
static void no_error_tells_a_secret(void **state)
{
    static const char unbalanced[] = "Unbalanced quotes in configuration line";
    static const char unknown[] = "Bad directive or wrong number of arguments";
    struct scene *scene = *state;

    expect_bad(scene, "requirepass \"abc\n", "1: 'requirepass ...'", unbalanced);
    expect_bad(scene, "\tRequirePass \"abc\n", "1: 'RequirePass ...'", unbalanced);
    expect_bad(scene, "requirepass abc def\n", "1: 'requirepass ...'",
               "wrong number of arguments");
    expect_bad(scene, "tls-key-file-pass 'abc\n", "1: 'tls-key-file-pass ...'", unbalanced);
    expect_bad(scene, "masterauth abc\n", "1: 'masterauth ...'", unknown);
    expect_bad(scene, "requirpass abc\n", "1: 'requirpass ...'", unknown);
    expect_bad(scene, "requirepass=abc\n", "1: 'requirepass ...'", unknown);
    expect_bad(scene, "requirepass\"abc\"\n", "1: 'requirepass ...'", unknown);
    expect_bad(scene, "\"requirepass\" \"abc\n", "1: ' ...'", unbalanced);
    expect_bad(scene, "user ann >abc \"\n", "1: 'user ...'", unbalanced);
}

static void an_error_in_an_included_file_is_named_there(void **state)
{
    struct scene *scene = *state;
    char text[PATH_MAX + 32], expected[PATH_MAX + 64];
    snprintf(text, sizeof(text), "port 1\ninclude %s\n", path_of(scene, "inner.conf"));
    write_file(scene, "dueq.conf", text);
    write_file(scene, "inner.conf", "\n\nport x\n");
    assert_false(read_file(scene, "dueq.conf"));
    snprintf(expected, sizeof(expected), "*** %s:3: 'port x': ", path_of(scene, "inner.conf"));
    assert_memory_equal(scene->error.text, expected, strlen(expected));
}

static void files_that_include_each_other_end(void **state)
{
    struct scene *scene = *state;
    char text[PATH_MAX + 32];
    snprintf(text, sizeof(text), "include %s\n", path_of(scene, "dueq.conf"));
    write_file(scene, "dueq.conf", text);
    assert_false(read_file(scene, "dueq.conf"));
    assert_non_null(strstr(scene->error.text, "too many files include each other"));
}

static void what_cannot_be_read_is_named(void **state)
{
    struct scene *scene = *state;
    assert_false(read_file(scene, "nosuch.conf"));
    assert_non_null(strstr(scene->error.text, "nosuch.conf: No such file or directory"));
    assert_int_equal(mkdir(path_of(scene, "folder"), 0755), 0);
    assert_false(read_file(scene, "folder"));
    assert_non_null(strstr(scene->error.text, "folder: Is a directory"));
    assert_null(scene->config.file);
}

/* ---- values */

static void numbers_are_refused_in_redis_words(void **state)
{
    struct scene *scene = *state;
    expect_refused(scene, "maxclients", "x", "argument couldn't be parsed into an integer");
    expect_refused(scene, "maxclients", "", "argument couldn't be parsed into an integer");
    expect_refused(scene, "maxclients", " 5", "argument couldn't be parsed into an integer");
    expect_refused(scene, "maxclients", "0",
                   "argument must be between 1 and 4294967295 inclusive");
    expect_refused(scene, "tcp-keepalive", "-1",
                   "argument must be between 0 and 2147483647 inclusive");
    expect_refused(scene, "slowlog-log-slower-than", "-2",
                   "argument must be between -1 and 9223372036854775807 inclusive");
    expect_refused(scene, "list-compress-depth", "5", "dueq has this one way only: '0'");
    expect_refused(scene, "proto-max-bulk-len", "-5", "argument must be a memory value");
    expect_refused(scene, "proto-max-bulk-len", "1q", "argument must be a memory value");
    expect_refused(scene, "proto-max-bulk-len", "1",
                   "argument must be between 1048576 and 9223372036854775807 inclusive");
    expect_refused(scene, "hash-max-ziplist-value", "x", "argument must be a memory value");
    expect_refused(scene, "unixsocketperm", "8",
                   "argument couldn't be parsed as an octal number");
    expect_refused(scene, "unixsocketperm", "1777",
                   "argument must be between 0 and 777 inclusive");
    expect_refused(scene, "queue-lease", "1w",
                   "argument must be a duration: milliseconds, or with ms, s, m, h, d");
}

static void words_are_refused_in_redis_words(void **state)
{
    struct scene *scene = *state;
    expect_refused(scene, "loglevel", "foo",
                   "argument(s) must be one of the following: debug, verbose, notice, warning");
    expect_refused(scene, "appendfsync", "x",
                   "argument(s) must be one of the following: everysec, always, no");
    expect_refused(scene, "daemonize", "maybe", "argument must be 'yes' or 'no'");
    expect_refused(scene, "notify-keyspace-events", "KEZ",
                   "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
    expect_refused(scene, "durability", "interval 0",
                   "must be: always, interval MS (1 to 3600000), or none");
    expect_refused(scene, "durability", "none 5",
                   "must be: always, interval MS (1 to 3600000), or none");
    expect_refused(scene, "appendonly", "no", "dueq has this one way only: 'yes'");
}

static void sizes_take_units(void **state)
{
    static const struct pair sizes[] = {{"2mb", "2097152"},      {"2M", "2000000"},
                                        {"2097152b", "2097152"}, {"2Mb", "2097152"},
                                        {"3000k", "3000000"},    {"2048KB", "2097152"}};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        must_set(scene, "proto-max-bulk-len", sizes[i].name);
        expect_option(scene, "proto-max-bulk-len", sizes[i].value);
    }
}

static void text_has_no_zero_byte_and_an_end(void **state)
{
    struct scene *scene = *state;
    char longest[CONFIG_TEXT_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    assert_false(config_set_value(&scene->config, index_of("bind"),
                                  (struct argument){"a\0b", 3}, &scene->error));
    assert_false(config_set_value(&scene->config, index_of("bind"),
                                  (struct argument){longest, sizeof(longest)}, &scene->error));
    assert_false(config_set_value(&scene->config, index_of("requirepass"),
                                  (struct argument){longest, CONFIG_TEXT_MAX}, &scene->error));
    expect_option(scene, "requirepass", "");
    assert_int_equal(scene->config.requirepass_size, 0);
    assert_true(config_set_value(&scene->config, index_of("requirepass"),
                                 (struct argument){longest, CONFIG_TEXT_MAX - 1},
                                 &scene->error));
}

static void expect_secret(const struct config *config, const char *bytes, size_t size)
{
    char text[CONFIG_TEXT_MAX];
    assert_int_equal(config->requirepass_size, size);
    assert_memory_equal(config->requirepass, bytes, size + 1);
    assert_int_equal(config_get(config, index_of("requirepass"), text), size);
    assert_memory_equal(text, bytes, size + 1);
}

static void a_password_may_hold_zero_bytes(void **state)
{
    static const char secret[] = "\0a\0\0b\0";
    enum { SIZE = sizeof(secret) - 1 };
    struct scene *scene = *state;
    struct config copy;
    read_text(scene, "requirepass x\n");
    assert_true(config_set_value(&scene->config, index_of("requirepass"),
                                 (struct argument){secret, SIZE}, &scene->error));
    expect_secret(&scene->config, secret, SIZE);
    assert_true(config_copy(&scene->config, &copy));
    expect_secret(&copy, secret, SIZE);
    config_release(&copy);
    expect_rewritten(scene, "requirepass \"\\x00a\\x00\\x00b\\x00\"\n");
    begin_anew(scene);
    assert_true(read_file(scene, "dueq.conf"));
    expect_secret(&scene->config, secret, SIZE);
    must_set(scene, "requirepass", "");
    assert_int_equal(scene->config.requirepass_size, 0);
}

/* As in the README: dueq server --durability 'interval 1000' */
static void several_words_may_come_as_one(void **state)
{
    struct scene *scene = *state;
    struct argument words[2] = {argument("interval 250"), argument("x")};
    assert_true(config_set(&scene->config, "durability", words, 1, &scene->error));
    expect_option(scene, "durability", "interval 250");
    assert_false(config_set(&scene->config, "durability", words, 2, &scene->error));
    words[0] = argument("  127.0.0.1   ::1 ");
    assert_true(config_set(&scene->config, "bind", words, 1, &scene->error));
    expect_option(scene, "bind", "127.0.0.1 ::1");
    words[0] = argument(" ::1 ");
    words[1] = argument("");
    assert_true(config_set(&scene->config, "bind", words, 2, &scene->error));
    expect_option(scene, "bind", "::1");
    words[0] = argument("");
    assert_true(config_set(&scene->config, "save", words, 1, &scene->error));
    read_text(scene, "durability \"interval 300\"\n");
    expect_option(scene, "durability", "interval 300");
    words[0] = argument("a b");
    assert_true(config_set(&scene->config, "requirepass", words, 1, &scene->error));
    expect_option(scene, "requirepass", "a b"); /* one word with a space */
}

static void appendfsync_is_durability_by_another_name(void **state)
{
    struct scene *scene = *state;
    must_set(scene, "appendfsync", "EverySec");
    expect_option(scene, "durability", "interval 1000");
    must_set(scene, "durability", "interval 50");
    must_set(scene, "appendfsync", "everysec");
    expect_option(scene, "durability", "interval 50");
    must_set(scene, "appendfsync", "no");
    expect_option(scene, "durability", "none");
    must_set(scene, "durability", "always");
    expect_option(scene, "appendfsync", "always");
}

static void an_alias_is_the_option_itself(void **state)
{
    struct scene *scene = *state;
    must_set(scene, "hash-max-ziplist-entries", "7");
    expect_option(scene, "hash-max-listpack-entries", "7");
    assert_int_equal(scene->config.hash_max_listpack_entries, 7);
    expect_option(scene, "slave-read-only", "yes");
}

/* The order is that of redis-server 7.0.15. */
static void event_letters_are_shown_in_redis_order(void **state)
{
    static const struct pair events[] = {{"KEA", "AKE"},       {"Kn", "nK"},
                                         {"KEAmn", "AKEm"},    {"", ""},
                                         {"Ex", "xE"},         {"K$", "$K"},
                                         {"gxeKEt", "gxetKE"}, {"lshzxetdmK", "lshzxetdKm"},
                                         {"gK", "gK"},         {"KEg$lshzxetd", "AKE"},
                                         {"An", "A"},          {"m", "m"},
                                         {"KKEEgg", "gKE"}};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        must_set(scene, "notify-keyspace-events", events[i].name);
        expect_option(scene, "notify-keyspace-events", events[i].value);
    }
}

static void an_event_wants_its_class_and_a_channel(void **state)
{
    struct scene *scene = *state;
    must_set(scene, "notify-keyspace-events", "lE");
    unsigned events = (unsigned)scene->config.notify_keyspace_events;
    assert_true(keyspace_events_include(events, EVENT_LIST));
    assert_false(keyspace_events_include(events, EVENT_ZSET));
    must_set(scene, "notify-keyspace-events", "A");
    events = (unsigned)scene->config.notify_keyspace_events;
    assert_false(keyspace_events_include(events, EVENT_LIST));
    assert_true((events & EVENT_MODULE) != 0);
    assert_true((events & EVENT_MISS) == 0);
}

static void output_limits_are_kept_by_class(void **state)
{
    struct scene *scene = *state;
    const char *option = "client-output-buffer-limit";
    expect_option(
        scene, option,
        "normal 1073741824 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60");
    must_set(scene, option, "replica 1mb 1 1  normal 5 5 5");
    expect_option(scene, option, "normal 5 5 5 slave 1048576 1 1 pubsub 33554432 8388608 60");
    assert_int_equal(scene->config.output_limits.of[CLIENT_PUBSUB].soft, 8388608);
    expect_refused(scene, option, "foo",
                   "Wrong number of arguments in buffer limit configuration.");
    expect_refused(scene, option, "normal 1 1 1 master 1 1 1",
                   "Invalid client class specified in buffer limit configuration.");
    expect_refused(scene, option, "normal 9 9 9 pubsub 1 1 -1",
                   "Error in hard, soft or soft_seconds setting in buffer limit "
                   "configuration.");
    expect_refused(scene, option, "slave x 1 1",
                   "Error in hard, soft or soft_seconds setting in buffer limit "
                   "configuration.");
}

/* ---- CONFIG REWRITE */

static void what_did_not_change_is_not_touched(void **state)
{
    static const char content[] = "# it's mine\n\n\n  Port   7000\n\ttimeout 0 \n"
                                  "memtable-size 49152kb\nrequirepass 'a b'\n"
                                  "client-output-buffer-limit pubsub 1mb 0 0\n"
                                  "client-output-buffer-limit normal 2gb 0 0\n"
                                  "save \"\"\n# the end\n";
    struct scene *scene = *state;
    read_text(scene, content);
    expect_rewritten(scene, content);
}

static void what_changed_stands_where_it_stood(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "# first\nmaxclients 10\n# second\nqueue-lease 30s\nrequirepass a\n"
                     "hash-max-ziplist-entries 3\nmemtable-size 1mb\nloglevel debug");
    must_set(scene, "maxclients", "20");
    must_set(scene, "queue-lease", "90s");
    must_set(scene, "requirepass", "b c");
    must_set(scene, "hash-max-listpack-entries", "4");
    must_set(scene, "memtable-size", "64mb");
    must_set(scene, "loglevel", "notice");
    expect_rewritten(scene, "# first\nmaxclients 20\n# second\nqueue-lease 90s\n"
                            "requirepass \"b c\"\nhash-max-listpack-entries 4\n"
                            "memtable-size 64mb\nloglevel notice\n");
}

static void what_is_new_comes_at_the_end_under_one_signature(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "port 7000\n");
    must_set(scene, "maxclients", "20");
    must_set(scene, "queue-backoff", "1500");
    expect_rewritten(scene, "port 7000\n# Generated by CONFIG REWRITE\nmaxclients 20\n"
                            "queue-backoff 1500\n");
    must_set(scene, "timeout", "3");
    must_set(scene, "maxclients", "10000");
    expect_rewritten(scene, "port 7000\n# Generated by CONFIG REWRITE\nmaxclients 10000\n"
                            "queue-backoff 1500\ntimeout 3\n");
}

static void an_option_given_twice_is_written_once_when_it_changes(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "timeout 1\nmaxclients 10\ntimeout 2\n");
    must_set(scene, "timeout", "3");
    expect_rewritten(scene, "timeout 3\nmaxclients 10\n");
}

static void output_limits_of_several_lines_are_put_together(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "client-output-buffer-limit normal 1 1 1\n"
                     "client-output-buffer-limit pubsub 2 2 2\n");
    must_set(scene, "client-output-buffer-limit", "normal 3 3 3");
    expect_rewritten(scene, "client-output-buffer-limit normal 3 3 3 slave 268435456 67108864 "
                            "60 pubsub 2 2 2\nclient-output-buffer-limit pubsub 2 2 2\n");
}

static void lines_that_no_longer_read_are_kept_as_comments(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "port 7000\n");
    write_file(scene, "dueq.conf", "port 7000\nnosuch 1\nrequirepass \"open\ntimeout never\n");
    expect_rewritten(scene, "port 7000\n# ??? nosuch 1\n# ??? requirepass \"open\ntimeout 0\n");
    assert_true(read_file(scene, "dueq.conf"));
}

static void what_an_included_file_says_is_not_repeated_but_overruled(void **state)
{
    struct scene *scene = *state;
    char before[PATH_MAX + 64], after[PATH_MAX + 128];
    write_file(scene, "inner.conf", "maxclients 10\ntimeout 5\n");
    snprintf(before, sizeof(before), "timeout 4\ninclude %s\n", path_of(scene, "inner.conf"));
    read_text(scene, before);
    must_set(scene, "maxclients", "10000"); /* the default, which the file does not contain */
    snprintf(after, sizeof(after),
             "timeout 5\ninclude %s\n# Generated by CONFIG REWRITE\nmaxclients 10000\n",
             path_of(scene, "inner.conf"));
    expect_rewritten(scene, after);
    must_set(scene, "timeout",
             "6"); /* the file that is included after this line has another value */
    rewrite(scene);
    begin_anew(scene);
    assert_true(read_file(scene, "dueq.conf"));
    expect_option(scene, "timeout", "6");
    expect_option(scene, "maxclients", "10000");
}

static void durability_and_appendfsync_do_not_contradict_each_other(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "appendfsync everysec\n");
    must_set(scene, "durability", "none");
    expect_rewritten(scene, "appendfsync no\n");
    must_set(scene, "durability", "interval 50");
    expect_rewritten(scene, "appendfsync everysec\n# Generated by CONFIG REWRITE\n"
                            "durability interval 50\n");
}

static void a_file_that_vanished_is_made_anew(void **state)
{
    struct scene *scene = *state;
    read_text(scene, "port 7000\n");
    assert_int_equal(unlink(path_of(scene, "dueq.conf")), 0);
    expect_rewritten(scene, "# Generated by CONFIG REWRITE\nport 7000\n");
}

static void the_file_keeps_its_mode_and_a_link_stays_one(void **state)
{
    struct scene *scene = *state;
    struct stat found;
    write_file(scene, "real.conf", "port 7000\n");
    assert_int_equal(chmod(path_of(scene, "real.conf"), 0640), 0);
    assert_int_equal(symlink("real.conf", path_of(scene, "dueq.conf")), 0);
    assert_true(read_file(scene, "dueq.conf"));
    must_set(scene, "port", "7001");
    rewrite(scene);
    assert_int_equal(lstat(path_of(scene, "dueq.conf"), &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(lstat(path_of(scene, "real.conf"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    assert_string_equal(content_of(scene, "real.conf"), "port 7001\n");
}

static size_t files_in(const struct scene *scene)
{
    glob_t found;
    size_t count;
    assert_int_equal(glob(path_of(scene, "*"), 0, NULL, &found), 0);
    count = found.gl_pathc;
    globfree(&found);
    return count;
}

static void a_rewrite_that_fails_leaves_the_file_and_nothing_else(void **state)
{
    struct scene *scene = *state;
    char text[PATH_MAX + 32];
    snprintf(text, sizeof(text), "port 7000\ninclude %s\n", path_of(scene, "inner.conf"));
    write_file(scene, "inner.conf", "");
    read_text(scene, text);
    must_set(scene, "port", "7001");
    assert_int_equal(unlink(path_of(scene, "inner.conf")), 0);
    assert_false(config_rewrite(&scene->config, "", &scene->error));
    assert_non_null(strstr(scene->error.text, "inner.conf: No such file or directory"));
    assert_string_equal(content_of(scene, "dueq.conf"), text);
    assert_int_equal(files_in(scene), 1);
}

/* As at a start: the credentials first, then the file. */
static void read_with_credentials(struct scene *scene, const char *content)
{
    begin_anew(scene);
    assert_true(config_read_credentials(&scene->config, scene->directory, &scene->error));
    read_text(scene, content);
}

static void a_rewrite_leaves_out_what_credentials_say(void **state)
{
    struct scene *scene = *state;
    char expected[PATH_MAX + 128];
    write_file(scene, "requirepass", "se \"cret\"\n");
    write_file(scene, "tls-key-file-pass", "hidden");
    write_file(scene, "tls-key-file", "");
    read_with_credentials(scene, "# mine\n");
    expect_option(scene, "requirepass", "se \"cret\"");
    expect_rewritten(scene, "# mine\n");
    must_set(scene, "timeout", "5");
    must_set(scene, "tls-key-file", path_of(scene, "tls-key-file")); /* to read it again */
    expect_rewritten(scene, "# mine\n# Generated by CONFIG REWRITE\ntimeout 5\n");
    must_set(scene, "tls-key-file", path_of(scene, "other"));
    snprintf(expected, sizeof(expected),
             "# mine\n# Generated by CONFIG REWRITE\ntimeout 5\ntls-key-file %s\n",
             path_of(scene, "other"));
    expect_rewritten(scene, expected);
}

/* Not even the default, which the credential would replace at the next start. */
static void a_rewrite_keeps_what_is_not_as_the_credentials_say(void **state)
{
    struct scene *scene = *state;
    write_file(scene, "requirepass", "secret");
    read_with_credentials(scene, "timeout 5\n");
    must_set(scene, "requirepass", "");
    expect_rewritten(scene, "timeout 5\n# Generated by CONFIG REWRITE\nrequirepass \"\"\n");
    read_with_credentials(scene, "requirepass mine\n");
    expect_rewritten(scene, "requirepass mine\n");
    must_set(scene, "requirepass", "other");
    expect_rewritten(scene, "requirepass other\n");
}

/* Nobody, not even root, can make a file below a file. */
static void a_directory_that_is_none_any_more_is_told(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(mkdir(path_of(scene, "etc"), 0755), 0);
    write_file(scene, "etc/dueq.conf", "port 7000\n");
    assert_true(read_file(scene, "etc/dueq.conf"));
    assert_int_equal(rename(path_of(scene, "etc"), path_of(scene, "moved")), 0);
    write_file(scene, "etc", "");
    assert_false(config_rewrite(&scene->config, "", &scene->error));
    assert_string_equal(scene->error.text, "Not a directory");
    assert_string_equal(content_of(scene, "moved/dueq.conf"), "port 7000\n");
}

/* Root may write everywhere, so the test runs as another user for a short time. */
static void an_unwritable_directory_is_told(void **state)
{
    struct scene *scene = *state;
    uid_t self = geteuid();
    read_text(scene, "port 7000\n");
    must_set(scene, "port", "7001");
    assert_int_equal(chmod(scene->directory, 0555), 0);
    assert_int_equal(self == 0 ? seteuid(NOBODY) : 0, 0);
    bool written = config_rewrite(&scene->config, "", &scene->error);
    assert_int_equal(seteuid(self), 0);
    chmod(scene->directory, 0755);
    assert_false(written);
    assert_string_equal(scene->error.text, "Permission denied");
    assert_string_equal(content_of(scene, "dueq.conf"), "port 7000\n");
    assert_int_equal(files_in(scene), 1);
}

static void any_text_comes_back_from_a_file(void **state)
{
    struct scene *scene = *state;
    struct dice dice;
    dice_begin(&dice);
    for (long round = 0; round < dice_setting("STEPS", 300); round++) {
        char text[64];
        size_t size = dice_roll(&dice, sizeof(text) - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = (char)(1 + dice_roll(&dice, 255));
        text[size] = '\0';
        read_text(scene, round % 2 ? "# nothing\n" : "requirepass x\n");
        must_set(scene, "requirepass", text);
        rewrite(scene);
        begin_anew(scene);
        assert_true(read_file(scene, "dueq.conf"));
        expect_option(scene, "requirepass", text);
    }
}

/* ---- what clients ask for */

static void config_set_refuses_as_redis_does(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'MAXCLIENTS') - "
                  "duplicate parameter",
                  "CONFIG SET maxclients 5 MAXCLIENTS 6");
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'loglevel') - "
                  "argument(s) must be one of the following: debug, verbose, notice, warning",
                  "CONFIG SET timeout 5 loglevel bad");
    runner_expect(runner,
                  "!ERR CONFIG SET failed (possibly related to argument 'databases') - can't "
                  "set immutable config",
                  "CONFIG SET databases 16 bogus 1");
    runner_expect(runner, "!ERR Unknown option or number of arguments for CONFIG SET - 'bogus'",
                  "CONFIG SET timeout x bogus 1");
    runner_expect(runner, "OK",
                  "CONFIG SET hash-max-listpack-entries 5 hash-max-ziplist-entries 6");
    runner_expect(runner, "[\"hash-max-listpack-entries\" \"6\"]",
                  "CONFIG GET hash-max-listpack-entries");
    runner_expect(runner, "[\"timeout\" \"0\"]", "CONFIG GET timeout");
}

static void config_get_gives_each_option_once(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "[\"list-max-listpack-size\" \"-2\" \"list-max-ziplist-size\" \"-2\"]",
                  "CONFIG GET list-max-*");
    runner_expect(runner, "[\"timeout\" \"0\" \"tcp-backlog\" \"511\"]",
                  "CONFIG GET time* tcp-back* timeout");
    char *all = runner_bytes(runner, "CONFIG GET * *");
    char header[32];
    int size = snprintf(header, sizeof(header), "*%zu\r\n", 2 * config_count());
    assert_memory_equal(all, header, (size_t)size);
    free(all);
}

/* The options that StackExchange.Redis, redis-benchmark, Spring Session and Bull read. */
static void frameworks_are_told_what_is_true(void **state)
{
    static const struct pair answers[] = {{"save", ""},
                                          {"appendonly", "yes"},
                                          {"appendfsync", "always"},
                                          {"maxmemory", "0"},
                                          {"maxmemory-policy", "noeviction"},
                                          {"databases", "16"},
                                          {"timeout", "0"},
                                          {"slave-read-only", "yes"},
                                          {"replica-read-only", "yes"},
                                          {"notify-keyspace-events", ""},
                                          {"proto-max-bulk-len", "536870912"},
                                          {"cluster-enabled", "no"},
                                          {"lfu-log-factor", "10"},
                                          {"set-max-intset-entries", "512"}};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        char line[128], expected[128];
        snprintf(line, sizeof(line), "CONFIG GET %s", answers[i].name);
        snprintf(expected, sizeof(expected), "[\"%s\" \"%s\"]", answers[i].name,
                 answers[i].value);
        runner_expect(runner, expected, line);
    }
    runner_expect(runner, "OK", "CONFIG SET notify-keyspace-events gxE");
    runner_expect(runner, "[* \"gxE\"]", "CONFIG GET notify-keyspace-events");
}

#define scene_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        scene_test(every_option_has_a_sample_or_one_value),
        scene_test(every_option_has_a_test_of_its_effect),
        scene_test(every_option_is_shown_as_it_was_set),
        scene_test(every_option_survives_being_written_and_read),
        scene_test(all_options_together_are_included_from_another_file),
        scene_test(a_copy_is_a_configuration_of_its_own),
        scene_test(the_store_is_opened_with_what_is_set),
        scene_test(a_profile_leaves_what_was_chosen),
        scene_test(a_rewritten_file_keeps_its_profile),
        scene_test(lines_are_read_as_redis_reads_them),
        scene_test(no_error_tells_a_secret),
        scene_test(a_bad_line_is_named_with_file_and_number),
        scene_test(an_error_in_an_included_file_is_named_there),
        scene_test(files_that_include_each_other_end),
        scene_test(what_cannot_be_read_is_named),
        scene_test(numbers_are_refused_in_redis_words),
        scene_test(words_are_refused_in_redis_words),
        scene_test(sizes_take_units),
        scene_test(text_has_no_zero_byte_and_an_end),
        scene_test(a_password_may_hold_zero_bytes),
        scene_test(several_words_may_come_as_one),
        scene_test(appendfsync_is_durability_by_another_name),
        scene_test(an_alias_is_the_option_itself),
        scene_test(event_letters_are_shown_in_redis_order),
        scene_test(an_event_wants_its_class_and_a_channel),
        scene_test(output_limits_are_kept_by_class),
        scene_test(what_did_not_change_is_not_touched),
        scene_test(what_changed_stands_where_it_stood),
        scene_test(what_is_new_comes_at_the_end_under_one_signature),
        scene_test(an_option_given_twice_is_written_once_when_it_changes),
        scene_test(output_limits_of_several_lines_are_put_together),
        scene_test(lines_that_no_longer_read_are_kept_as_comments),
        scene_test(what_an_included_file_says_is_not_repeated_but_overruled),
        scene_test(durability_and_appendfsync_do_not_contradict_each_other),
        scene_test(a_file_that_vanished_is_made_anew),
        scene_test(the_file_keeps_its_mode_and_a_link_stays_one),
        scene_test(a_rewrite_leaves_out_what_credentials_say),
        scene_test(a_rewrite_keeps_what_is_not_as_the_credentials_say),
        scene_test(a_rewrite_that_fails_leaves_the_file_and_nothing_else),
        scene_test(a_directory_that_is_none_any_more_is_told),
        scene_test(an_unwritable_directory_is_told),
        scene_test(any_text_comes_back_from_a_file),
        runner_test(config_set_refuses_as_redis_does),
        runner_test(config_get_gives_each_option_once),
        runner_test(frameworks_are_told_what_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
