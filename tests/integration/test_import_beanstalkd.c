/* `dueq import beanstalkd://`: no job of a real beanstalkd is lost or doubled. */
#include "tests/support/client/client.h"
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/program_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/support/cmocka.h"

enum { DONE = 0, CUT_OFF = 1, NOT_BEGUN = 2, PARTLY = 3, UNREACHABLE = 4, MANY = 5000 };

static char output[20000];
static struct foreign_server beanstalkd;
static int connection;
static FILE *replies;

static int set_up(void **state)
{
    served_setup(state);
    beanstalkd_start(&beanstalkd);
    connection = foreign_server_socket(&beanstalkd);
    replies = fdopen(dup(connection), "r");
    return 0;
}

static int tear_down(void **state)
{
    fclose(replies);
    close(connection);
    foreign_server_cleanup();
    return served_teardown(state);
}

#define bean_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void ask_bean(const char *request, const char *reply)
{
    char line[200] = "";

    assert_int_equal(send(connection, request, strlen(request), MSG_NOSIGNAL),
                     (ssize_t)strlen(request));
    assert_non_null(fgets(line, sizeof(line), replies));
    if (strncmp(line, reply, strlen(reply)) != 0)
        fail_msg("%s: %s", request, line);
}

static long bean_count(const char *name)
{
    char line[200];
    long count = -1;

    ask_bean("stats\r\n", "OK");
    while (fgets(line, sizeof(line), replies) != NULL && strcmp(line, "\r\n") != 0)
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            count = strtol(line + strlen(name) + 2, NULL, 10);
    return count;
}

static long beans(void)
{
    return bean_count("current-jobs-ready") + bean_count("current-jobs-delayed") +
           bean_count("current-jobs-buried") + bean_count("current-jobs-reserved");
}

static int import(void **state, const char *arguments)
{
    return run_shell(output, sizeof(output),
                     "%s import beanstalkd://127.0.0.1:%d --to 127.0.0.1:%d %s",
                     server_binary(), beanstalkd.port, served_server(state)->port, arguments);
}

/* The id here of a job there begins with its number. */
static redisReply *job_at(redisContext *client, const char *topic, int number)
{
    redisReply *scan = ask(client, "Q.SCAN %s 0 COUNT 4000 MATCH %d-*", topic, number), *job;

    assert_int_equal(scan->element[1]->elements, 1);
    job = ask(client, "Q.GET %s %s", topic, scan->element[1]->element[0]->element[1]->str);
    freeReplyObject(scan);
    return job;
}

static void jobs_come_with_delay_priority_and_time_to_run(void **state)
{
    redisContext *client = served_client(state);
    redisReply *job;
    int64_t due;

    ask_bean("put 1024 0 90 2\r\n\r\n\r\n", "INSERTED 1");
    ask_bean("use mail\r\n", "USING");
    ask_bean("put 0 100000 60 5\r\nlater\r\n", "INSERTED 2");
    ask_bean("put 4294967295 0 4294967295 0\r\n\r\n", "INSERTED 3");
    assert_int_equal(import(state, ""), DONE);
    expect_said(output,
                "3 jobs found (2 ready, 1 delayed, 0 buried), 3 pushed, 0 were there already, "
                "3 deleted");
    assert_int_equal(beans(), 0);
    job = job_at(client, "default", 1);
    assert_string_equal(reply_field(job, "body")->str, "\r\n");
    assert_int_equal(reply_field(job, "priority")->integer, 128);
    assert_int_equal(reply_field(job, "lease")->integer, 90000);
    freeReplyObject(job);
    job = job_at(client, "mail", 2);
    assert_int_equal(reply_field(job, "priority")->integer, 0);
    due = reply_field(job, "due")->integer;
    assert_in_range(due, unix_ms() + 90000000, unix_ms() + 100000000);
    freeReplyObject(job);
    job = job_at(client, "mail", 3);
    assert_int_equal(reply_field(job, "body")->len, 0);
    assert_in_range(reply_field(job, "priority")->integer, 230, 255);
    freeReplyObject(job);
}

static void a_buried_job_is_dead_here(void **state)
{
    redisContext *client = served_client(state);
    redisReply *job;

    ask_bean("put 0 0 60 1\r\nx\r\n", "INSERTED 1");
    ask_bean("reserve\r\n", "RESERVED 1 1");
    ask_bean("", "x");
    ask_bean("bury 1 0\r\n", "BURIED");
    assert_int_equal(import(state, ""), DONE);
    expect_said(output, "1 buried");
    assert_int_equal(beans(), 0);
    job = job_at(client, "default:dead", 1);
    assert_string_equal(reply_field(job, "state")->str, "dead");
    freeReplyObject(job);
    expect(client, "[1 0]", "Q.DEAD default:dead REDRIVE TO default");
}

static void a_job_with_a_worker_stays_there(void **state)
{
    ask_bean("put 0 0 60 1\r\nx\r\n", "INSERTED 1");
    ask_bean("put 0 0 60 1\r\ny\r\n", "INSERTED 2");
    ask_bean("reserve\r\n", "RESERVED 1 1");
    ask_bean("", "x");
    assert_int_equal(import(state, ""), PARTLY);
    expect_said(output, "1 jobs found (1 ready");
    expect_said(output, "1 jobs are with workers of the beanstalkd");
    assert_int_equal(beans(), 1);
    expect(served_client(state), "1", "Q.LEN default");
}

static void kept_jobs_come_once_and_a_dry_run_changes_nothing(void **state)
{
    redisContext *client = served_client(state);

    ask_bean("put 0 0 60 1\r\nx\r\n", "INSERTED 1");
    assert_int_equal(import(state, "--dry-run"), DONE);
    expect(client, "0", "Q.LEN default");
    assert_int_equal(import(state, "--keep --topic kept"), DONE);
    assert_int_equal(beans(), 1);
    assert_int_equal(import(state, "--topic kept"), DONE);
    expect_said(output, "0 pushed, 1 were there already, 1 deleted");
    assert_int_equal(beans(), 0);
    expect(client, "1", "Q.LEN kept");
}

static void usage_and_a_server_that_is_not_there_are_told(void **state)
{
    assert_int_equal(import(state, "--layout auto"), NOT_BEGUN);
    assert_int_equal(import(state, "--replace"), NOT_BEGUN);
    foreign_server_kill(&beanstalkd);
    assert_int_equal(import(state, ""), UNREACHABLE);
    expect_said(output, "cannot connect");
}

/* Begins an import of everything and returns its pid. */
static pid_t begin_import(void **state)
{
    char from[64], to[64];

    snprintf(from, sizeof(from), "beanstalkd://127.0.0.1:%d", beanstalkd.port);
    snprintf(to, sizeof(to), "127.0.0.1:%d", served_server(state)->port);
    return program_begin((const char *const[]){"import", from, "--to", to, NULL});
}

static void put_many(void)
{
    char line[64];

    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof(line), "put %d %d 60 5\r\n%05d\r\n", i, i % 2 * 100000, i);
        assert_int_equal(send(connection, line, strlen(line), MSG_NOSIGNAL),
                         (ssize_t)strlen(line));
    }
    for (int i = 0; i < MANY; i++)
        ask_bean("", "INSERTED");
}

/* Each would take the other's deletion for that of a worker, and its job back. */
static void a_second_import_at_once_is_refused_and_nothing_is_lost(void **state)
{
    redisContext *client = served_client(state);
    pid_t first, second;
    int done = 0;

    put_many();
    first = begin_import(state);
    second = begin_import(state);
    done += program_end(first) == DONE;
    done += program_end(second) == DONE;
    assert_true(done > 0);
    assert_int_equal(import(state, ""), DONE);
    assert_int_equal(beans(), 0);
    expect(client, "5000", "Q.LEN default");
    expect(client, "[]", "KEYS *");
}

static void an_import_that_runs_is_named(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    int64_t id = ask_integer(other, "CLIENT ID");
    char owner[64];
    redisReply *keys;
    pid_t pid;

    put_many();
    pid = begin_import(state);
    do
        keys = ask(client, "KEYS dueq:import:beanstalkd:*");
    while (keys->elements == 0 && (freeReplyObject(keys), true));
    kill(pid, SIGSTOP);
    assert_int_equal(import(state, ""), CUT_OFF);
    expect_said(output, "another import from this server runs");
    kill(pid, SIGKILL);
    program_end(pid);
    expect(other, "OK", "CLIENT SETNAME other");
    snprintf(owner, sizeof(owner), "%lld other", (long long)id);
    expect(client, "OK", "SET %s %s", keys->element[0]->str, owner);
    assert_int_equal(import(state, ""), CUT_OFF);
    client_close(other);
    assert_int_equal(import(state, ""), DONE);
    expect(client, "5000", "Q.LEN default");
    freeReplyObject(keys);
}

static void whoever_is_killed_no_job_is_lost_or_doubled(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    pid_t pid;

    put_many();
    for (int i = 0; i < 3; i++) {
        long before = ask_integer(client, "Q.LEN default");

        pid = begin_import(state);
        while (before < MANY && ask_integer(client, "Q.LEN default") == before)
            sleep_ms(1);
        kill(pid, SIGKILL);
        program_end(pid);
        assert_true(beans() + ask_integer(client, "Q.LEN default") >= MANY);
    }
    pid = begin_import(state);
    server_process_kill(server);
    program_end(pid);
    server_process_run(server);
    client = client_open(server);
    assert_true(beans() + ask_integer(client, "Q.LEN default") >= MANY);
    assert_int_equal(import(state, ""), DONE);
    assert_int_equal(beans(), 0);
    expect(client, "5000", "Q.LEN default");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bean_test(jobs_come_with_delay_priority_and_time_to_run),
        bean_test(a_buried_job_is_dead_here),
        bean_test(a_job_with_a_worker_stays_there),
        bean_test(kept_jobs_come_once_and_a_dry_run_changes_nothing),
        bean_test(usage_and_a_server_that_is_not_there_are_told),
        bean_test(a_second_import_at_once_is_refused_and_nothing_is_lost),
        bean_test(an_import_that_runs_is_named),
        bean_test(whoever_is_killed_no_job_is_lost_or_doubled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
