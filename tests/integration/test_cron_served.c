/* Recurring jobs on the real server: words, rights, zones, restarts. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void entries_are_set_shown_and_removed(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*",
           "Q.CRON SET a t body EVERY 1h JITTER 10m CATCHUP all OVERLAP skip "
           "PRIORITY 3 BACKOFF STEPS 1s 2s TTL 5m RETRIES 2");
    expect_field(client, "every", "3600000", "Q.CRON GET a");
    expect_field(client, "spec", "nil", "Q.CRON GET a");
    expect_field(client, "jitter", "600000", "Q.CRON GET a");
    expect_field(client, "catchup", "\"all\"", "Q.CRON GET a");
    expect_field(client, "overlap", "\"skip\"", "Q.CRON GET a");
    expect_field(client, "priority", "3", "Q.CRON GET a");
    expect_field(client, "backoff-steps", "[1000 2000]", "Q.CRON GET a");
    expect_field(client, "ttl", "300000", "Q.CRON GET a");
    expect_field(client, "body", "\"body\"", "Q.CRON GET a");
    expect(client, "*", "Q.CRON SET b t body SPEC %s TZ America/New_York", "0 9 * * mon-fri");
    expect(client,
           "[[\"name\" \"b\" \"topic\" \"t\" \"every\" nil \"spec\" \"0 9 * * mon-fri\" "
           "\"tz\" \"America/New_York\" \"paused\" 0 \"next\" * \"last\" nil \"last-id\" "
           "nil \"fired\" 0 \"missed\" 0 \"overlapped\" 0 \"error\" nil]]",
           "Q.CRON LIST AFTER a COUNT 5");
    expect(client, "1", "Q.CRON PAUSE b");
    expect_field(client, "next", "nil", "Q.CRON GET b");
    expect(client, "nil", "Q.CRON SET b t body2 SPEC @daily");
    expect(client, "1", "Q.CRON RESUME b");
    assert_int_equal(ask_info(client, "queue", "crons"), 2);
    expect(client, "1", "Q.CRON DEL b");
    expect(client, "0", "Q.CRON DEL b");
    expect(client, "0", "Q.CRON PAUSE b");
    expect(client, "nil", "Q.CRON GET b");
    expect(client, "nil", "Q.CRON NEXT b 3");
    expect(client, "!NOENTRY no such recurring job", "Q.CRON RUN b");
}

static void what_is_wrong_is_said(void **state)
{
    redisContext *client = served_client(state);
    static const char *const specs[][2] = {
        {"0 0 30 2 *", "!ERR there is no such date: *"},
        {"0 0 * *", "!ERR a spec has 5 fields *"},
        {"@reboot", "!ERR the words are *"},
        {"", "!ERR the spec is empty"},
        {"61 * * * *", "!ERR the minute must be between 0 and 59"}};
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        expect(client, specs[i][1], "Q.CRON SET a t body SPEC %s", specs[i][0]);
    expect(client, "!ERR the time zone 'Mars/Base' is not known",
           "Q.CRON SET a t body SPEC @daily TZ Mars/Base");
    expect(client, "!ERR the time zone '../../etc/passwd' is not known",
           "Q.CRON SET a t body SPEC @daily TZ ../../etc/passwd");
    expect(client, "!ERR the time zone 'Europe' is not known",
           "Q.CRON SET a t body SPEC @daily TZ Europe");
    expect(client, "!ERR a time zone needs a SPEC",
           "Q.CRON SET a t body EVERY 5s TZ Asia/Tokyo");
    expect(client, "!ERR EVERY must be 1 second or more", "Q.CRON SET a t body EVERY 999");
    expect(client, "!ERR *", "Q.CRON SET a t body EVERY 0");
    expect(client, "!ERR a recurring job has EVERY or SPEC",
           "Q.CRON SET a t body EVERY 5s SPEC @daily");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body PRIORITY 5");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body EVERY 5s ID x");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body EVERY 5s DELAY 5s");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body EVERY 5s OVERLAP never");
    expect(client, "!ERR value is out of range*", "Q.CRON NEXT a 101");
    expect(client, "!ERR value is out of range*", "Q.CRON LIST COUNT 0");
    char *body = calloc(1, 65537);
    expect(client, "!ERR the body has more than 65536 bytes", "Q.CRON SET a t %b EVERY 5s",
           body, (size_t)65537);
    free(body);
    expect(client, "OK", "CONFIG SET cron-max 1");
    expect(client, "*", "Q.CRON SET a t body EVERY 5s");
    expect(client, "!ERR there are as many recurring jobs as may be: 1",
           "Q.CRON SET b t body EVERY 5s");
    expect(client, "*", "Q.CRON SET a t body EVERY 6s");
}

static void it_fires_and_wakes_who_waits(void **state)
{
    redisContext *client = served_client(state);
    redisContext *worker = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    expect(client, "*", "Q.CRON SET a t body SPEC %s TZ Europe/Berlin", "* * * * * *");
    expect_reply(worker, "[[* 1 \"body\" 1]]");
    assert_true(ask_field(client, "fired", "Q.CRON GET a") > 0);
    expect(client, "1", "Q.CRON PAUSE a");
    expect(client, "*", "Q.CRON SET a t2 body EVERY 1h OVERLAP skip");
    char *id = ask_string(client, "Q.CRON RUN a");
    expect(client, "nil", "Q.CRON RUN a");
    expect(client, "1", "Q.DEL t2 %s", id);
    free(id);
    expect(client, "*", "Q.CRON RUN a");
    expect(client, "1", "Q.LEN t2");
}

static void entries_work_inside_a_transaction(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.CRON SET a t body EVERY 1h");
    expect(client, "QUEUED", "Q.CRON RUN a");
    expect(client, "QUEUED", "Q.CRON SET b t body SPEC wrong");
    expect(client, "QUEUED", "Q.LEN t");
    expect(client, "[* * !ERR* 1]", "EXEC");
    expect(client, "[\"t\"]", "COMMAND GETKEYS Q.CRON SET a t body EVERY 1h");
}

static void an_entry_has_the_rights_of_its_topic(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.CRON SET mine mail body EVERY 1h");
    expect(client, "*", "Q.CRON SET other bank body EVERY 1h");
    expect(client, "OK", "ACL SETUSER u on nopass +@queue ~mail*");
    expect(client, "OK", "ACL SETUSER r on nopass +@queue %s", "%R~mail*");
    expect(client, "OK", "AUTH u x");
    expect(client, "[[\"name\" \"mine\" *]]", "Q.CRON LIST");
    expect(client, "*", "Q.CRON RUN mine");
    expect(client, "!NOPERM *", "Q.CRON GET other");
    expect(client, "!NOPERM *", "Q.CRON DEL other");
    expect(client, "!NOPERM *", "Q.CRON RUN other");
    expect(client, "!NOPERM *", "Q.CRON PAUSE other");
    expect(client, "!NOPERM *", "Q.CRON NEXT other 1");
    expect(client, "!NOPERM *", "Q.CRON SET other mail2 body EVERY 1h"); /* it is not theirs */
    expect(client, "!NOPERM *", "Q.CRON SET new bank body EVERY 1h");
    expect(client, "OK", "AUTH r x");
    expect_field(client, "fired", "1", "Q.CRON GET mine");
    expect(client, "!NOPERM *", "Q.CRON RUN mine");
    expect(client, "!NOPERM *", "Q.CRON PAUSE mine");
}

/* What the user may not see takes no place on a page, and no turn of its own. */
static void a_page_is_full_or_the_last_one(void **state)
{
    enum { OTHERS = 2500 };
    redisContext *client = served_client(state);
    for (int i = 0; i < OTHERS; i++)
        redisAppendCommand(client, "Q.CRON SET a%d bank body EVERY 1h", i);
    redisAppendCommand(client, "Q.CRON SET x mail body EVERY 1h");
    redisAppendCommand(client, "Q.CRON SET y mail body EVERY 1h");
    for (int i = 0; i < OTHERS + 2; i++)
        expect_reply(client, "*");
    expect(client, "OK", "ACL SETUSER u on nopass +@all ~mail*");
    expect(client, "OK", "AUTH u x");
    expect(client, "[[\"name\" \"x\" *]]", "Q.CRON LIST COUNT 1");
    expect(client, "[[\"name\" \"x\" *] [\"name\" \"y\" *]]", "Q.CRON LIST COUNT 2");
    expect(client, "[[\"name\" \"x\" *] [\"name\" \"y\" *]]", "Q.CRON LIST");
    expect(client, "[[\"name\" \"y\" *]]", "Q.CRON LIST AFTER x");
    expect(client, "[]", "Q.CRON LIST AFTER y");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.CRON LIST COUNT 1");
    expect(client, "[[[\"name\" \"x\" *]]]", "EXEC");
    expect(client, "OK", "AUTH default x");
    redisReply *page = ask(client, "Q.CRON LIST COUNT 1000");
    assert_int_equal(page->elements, 1000);
    freeReplyObject(page);
}

static void an_entry_has_a_group(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    expect(client, "*", "Q.CRON SET a t body EVERY 1h GROUP ann WEIGHT 3");
    expect_field(client, "group", "\"ann\"", "Q.CRON GET a");
    expect_field(client, "weight", "3", "Q.CRON GET a");
    expect(client, "*", "Q.CRON RUN a");
    expect(client, "*", "Q.CRON RUN a");
    expect(client, "[[*]]", "Q.CLAIM t COUNT 2");
    expect(client, "*", "Q.CRON SET a t body EVERY 1h");
    expect_field(client, "group", "nil", "Q.CRON GET a");
    expect_field(client, "weight", "nil", "Q.CRON GET a");
    expect(client, "!ERR WEIGHT needs a GROUP", "Q.CRON SET a t body EVERY 1h WEIGHT 3");
    expect(client, "!ERR WEIGHT is out of range*",
           "Q.CRON SET a t body GROUP g WEIGHT 1001 EVERY 1h");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body EVERY 1h DELAY 1s");
    expect(client, "!ERR syntax error", "Q.CRON SET a t body EVERY 1h ID x");
}

/* The filter of system calls, which an emulator does not have; and a sanitizer looks for leaks
 * at the end with a process of its own. */
static const char *sandbox_option(void)
{
#ifdef __SANITIZE_ADDRESS__
    return "sandbox no";
#else
    return server_is_emulated() ? "sandbox no" : "sandbox yes";
#endif
}

/* What is there outlives a kill, a flush, a dump and a load. */
static void entries_outlive_the_server(void **state)
{
    (void)state;
    enum { OUTPUT = 8192 };
    static char before[OUTPUT], output[OUTPUT];
    struct server_process *server = server_process_start(sandbox_option());
    redisContext *client = client_open(server);
    expect(client, "*", "Q.CRON SET a t body SPEC %s TZ Asia/Tokyo", "0 9 * * *");
    expect(client, "*", "Q.CRON RUN a");
    expect(client, "*", "Q.CRON SET b t body EVERY 1h OVERLAP skip");
    expect(client, "1", "Q.CRON PAUSE b");
    expect(client, "OK", "FLUSHALL");
    int64_t next = ask_field(client, "next", "Q.CRON GET a");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_field(client, "next", "Q.CRON GET a"), next);
    expect_field(client, "fired", "1", "Q.CRON GET a");
    expect_field(client, "paused", "1", "Q.CRON GET b");
    server_process_stop(server);
    client_close(client);
    assert_int_equal(run_shell(output, OUTPUT, "%s check %s", server_binary(), server->data),
                     0);
    assert_int_equal(run_shell(before, OUTPUT, "%s dump %s", server_binary(), server->data), 0);
    assert_non_null(strstr(before, "Asia/Tokyo"));
    assert_int_equal(run_shell(output, OUTPUT, "%s dump %s | %s load %s.2 && %s dump %s.2",
                               server_binary(), server->data, server_binary(), server->data,
                               server_binary(), server->data),
                     0);
    assert_string_equal(output, before);
    assert_int_equal(run_shell(output, OUTPUT, "%s repair %s %s.3 && %s check %s.3",
                               server_binary(), server->data, server->data, server_binary(),
                               server->data),
                     0);
    assert_int_equal(run_shell(output, OUTPUT, "%s dump %s.3 | grep -c '\"cron\"'",
                               server_binary(), server->data),
                     0);
    assert_string_equal(output, "2\n");
}

static void zones_come_from_a_folder(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char folder[64] = "/no/such/folder";
    server_process_environment(server, "TZDIR", folder);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "!ERR the time zone 'Europe/Berlin' is not known",
           "Q.CRON SET a t body SPEC @daily TZ Europe/Berlin");
    expect(client, "*", "Q.CRON SET a t body SPEC @daily TZ UTC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(entries_are_set_shown_and_removed),
        served_test(what_is_wrong_is_said),
        served_test(it_fires_and_wakes_who_waits),
        served_test(entries_work_inside_a_transaction),
        served_test(an_entry_has_the_rights_of_its_topic),
        served_test(a_page_is_full_or_the_last_one),
        served_test(an_entry_has_a_group),
        served_test(entries_outlive_the_server),
        served_test(zones_come_from_a_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
