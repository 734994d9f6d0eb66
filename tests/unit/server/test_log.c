/* The log: its lines, where they go, and what happens after the file was moved. */
#include "server/process/log.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static char *directory;

/* A path in the test's directory; the second call after this one overwrites it. */
static const char *path_of(const char *name)
{
    static char paths[2][4096];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", directory, name);
    return paths[turn];
}

static const char *content_of(const char *name)
{
    static char content[65536];
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
    fclose(file);
    return content;
}

static int set_up(void **state)
{
    (void)state;
    directory = temp_dir_new();
    return log_open(path_of("log"), LOG_NOTICE) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    temp_dir_remove(directory);
    return 0;
}

static void a_line_has_pid_moment_level_and_text(void **state)
{
    (void)state;
    char month[4], mark, text[64];
    int pid, day, year, hour, minute, second, millisecond;
    log_write(LOG_NOTICE, "hello %d", 42);
    assert_int_equal(sscanf(content_of("log"), "%d:M %d %3s %d %d:%d:%d.%3d %c %63[^\n]", &pid,
                            &day, month, &year, &hour, &minute, &second, &millisecond, &mark,
                            text),
                     10);
    assert_int_equal(pid, getpid());
    assert_int_equal(mark, '*');
    assert_string_equal(text, "hello 42");
    assert_in_range(hour, 0, 23);
    assert_in_range(millisecond, 0, 999);
}

static void each_level_has_its_mark(void **state)
{
    (void)state;
    log_set_level(LOG_DEBUG);
    log_write(LOG_DEBUG, "one");
    log_write(LOG_VERBOSE, "two");
    log_write(LOG_NOTICE, "three");
    log_write(LOG_WARNING, "four");
    const char *content = content_of("log");
    assert_non_null(strstr(content, " . one\n"));
    assert_non_null(strstr(content, " - two\n"));
    assert_non_null(strstr(content, " * three\n"));
    assert_non_null(strstr(content, " # four\n"));
}

static void what_is_below_the_level_is_not_written(void **state)
{
    (void)state;
    log_write(LOG_VERBOSE, "not this");
    log_set_level(LOG_WARNING);
    log_write(LOG_NOTICE, "nor this");
    log_write(LOG_WARNING, "but this");
    const char *content = content_of("log");
    assert_null(strstr(content, "not this"));
    assert_null(strstr(content, "nor this"));
    assert_non_null(strstr(content, "but this"));
}

static void a_file_that_is_there_is_added_to(void **state)
{
    (void)state;
    log_write(LOG_NOTICE, "before");
    assert_true(log_open(path_of("log"), LOG_NOTICE));
    log_write(LOG_NOTICE, "after");
    assert_non_null(strstr(content_of("log"), "before\n"));
    assert_non_null(strstr(content_of("log"), "after\n"));
}

static void a_file_moved_away_is_made_anew_when_reopened(void **state)
{
    (void)state;
    log_write(LOG_NOTICE, "first");
    assert_int_equal(rename(path_of("log"), path_of("log.1")), 0);
    log_write(LOG_NOTICE, "second");
    log_reopen();
    log_write(LOG_NOTICE, "third");
    assert_non_null(strstr(content_of("log.1"), "second\n"));
    assert_null(strstr(content_of("log.1"), "third\n"));
    assert_non_null(strstr(content_of("log"), "third\n"));
    assert_null(strstr(content_of("log"), "second\n"));
}

static void a_log_that_cannot_be_reopened_goes_on_in_the_old_file(void **state)
{
    (void)state;
    assert_int_equal(rename(path_of("log"), path_of("log.1")), 0);
    assert_int_equal(symlink("nosuch/log", path_of("log")), 0);
    log_reopen();
    assert_non_null(strstr(content_of("log.1"), " # Cannot open the log "));
    assert_non_null(strstr(content_of("log.1"), "No such file or directory"));
    log_write(LOG_NOTICE, "still here");
    assert_non_null(strstr(content_of("log.1"), "still here\n"));
}

static void a_file_that_cannot_be_opened_is_told(void **state)
{
    (void)state;
    assert_false(log_open(path_of("nosuch/log"), LOG_NOTICE));
}

static size_t count_of(const char *words)
{
    size_t count = 0;
    const char *content = content_of("log");
    for (const char *at = content; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    return count;
}

static void what_a_client_sent_cannot_look_like_a_line(void **state)
{
    (void)state;
    log_write(LOG_WARNING, "bad: %s", "x\n1:M 01 Jan 2000 00:00:00.000 * forged\r\x1b[2J\x7f");
    assert_int_equal(count_of("\n"), 1);
    assert_int_equal(count_of("bad: x?1:M 01 Jan 2000 00:00:00.000 * forged??[2J?\n"), 1);
}

static void a_long_line_is_cut(void **state)
{
    (void)state;
    static char text[3 * LOG_LINE_MAX];
    memset(text, 'x', sizeof(text) - 1);
    log_write(LOG_WARNING, "%s", text);
    assert_int_equal(count_of("x"), LOG_LINE_MAX - 1);
}

/* Logs from two places, each with a limit of its own. */
static void attack(int times)
{
    for (int i = 0; i < times; i++)
        log_write_limited(LOG_WARNING, "attack %d", i);
}

static void a_flood_is_a_few_lines_and_a_number(void **state)
{
    (void)state;
    attack(100000);
    log_write_limited(LOG_WARNING, "another place");
    log_report_omitted(false); /* the interval is not over */
    assert_in_range(count_of(" # attack "), LOG_LIMIT_LINES, 100);
    assert_int_equal(count_of("another place"), 1);
    log_report_omitted(true);
    assert_int_equal(count_of(" more lines like this were left out: \"attack %d\""), 1);
    log_report_omitted(true); /* reported once */
    assert_int_equal(count_of("left out"), 1);
}

static void lines_below_the_level_use_up_no_limit(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * LOG_LIMIT_LINES; i++) {
        log_set_level(i % 2 ? LOG_WARNING : LOG_VERBOSE);
        log_write_limited(LOG_VERBOSE, "quiet");
    }
    log_report_omitted(true);
    assert_int_equal(count_of(" - quiet\n"), LOG_LIMIT_LINES);
    assert_int_equal(count_of("left out"), 0);
}

#define log_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* It has taken some lines, then its queue is full; the file has all. */
static void a_daemon_that_hangs_holds_nothing(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char line[256];
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/syslog", directory);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("DUEQ_SYSLOG_SOCKET", address.sun_path, 1);
    log_to_syslog("dueq", 1);
    for (int i = 0; i < 10000; i++)
        log_write(LOG_WARNING, "line %d", i);
    assert_true(recv(fd, line, sizeof(line), MSG_DONTWAIT) > 0);
    assert_int_equal(strncmp(line, "<12>", 4), 0);
    close(fd);
    log_write(LOG_WARNING, "nobody is there");
    int lines = 0;
    FILE *file = fopen(path_of("log"), "r");
    assert_non_null(file);
    for (int byte; (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    fclose(file);
    assert_int_equal(lines, 10001);
}

static void json_keeps_what_text_hides(void **state)
{
    (void)state;
    log_set_format(LOG_JSON);
    log_write(LOG_WARNING, "a\nb\"\xff%s", "\xc3\xa9");
    log_set_format(LOG_TEXT);
    assert_non_null(strstr(content_of("log"), ",\"message\":\"a\\nb\\\"\\ufffd\xc3\xa9\"}\n"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        log_test(a_line_has_pid_moment_level_and_text),
        log_test(each_level_has_its_mark),
        log_test(what_is_below_the_level_is_not_written),
        log_test(a_file_that_is_there_is_added_to),
        log_test(a_file_moved_away_is_made_anew_when_reopened),
        log_test(a_log_that_cannot_be_reopened_goes_on_in_the_old_file),
        log_test(a_file_that_cannot_be_opened_is_told),
        log_test(what_a_client_sent_cannot_look_like_a_line),
        log_test(a_long_line_is_cut),
        log_test(a_flood_is_a_few_lines_and_a_number),
        log_test(lines_below_the_level_use_up_no_limit),
        log_test(json_keeps_what_text_hides),
        log_test(a_daemon_that_hangs_holds_nothing), /* the last: syslog stays in use */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
