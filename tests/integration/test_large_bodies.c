/* Bodies and values of some MB: the reader parses them without hiredis, the store takes them
 * over without a copy, the sync thread writes them. The server has small segments, so records
 * of 16 KiB and more count as large. */
#include "tests/support/client/raw_client.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { MIB = 1024 * 1024 };

/* Makes a body in which each byte depends on its offset. */
static char *new_body(size_t size, unsigned seed)
{
    char *body = malloc(size);
    assert_non_null(body);
    for (size_t i = 0; i < size; i++)
        body[i] = (char)((i * 2654435761U + seed) >> 13);
    return body;
}

static void expect_bytes(redisContext *client, const char *body, size_t size,
                         const char *command)
{
    redisReply *reply = ask(client, command);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, size);
    assert_memory_equal(reply->str, body, size);
    freeReplyObject(reply);
}

static void expect_job(redisContext *client, const char *id, const char *body, size_t size)
{
    redisReply *job = ask(client, "Q.GET mail %s", id);
    const redisReply *found = reply_field(job, "body");
    assert_non_null(found);
    assert_int_equal(found->len, size);
    assert_memory_equal(found->str, body, size);
    freeReplyObject(job);
}

static void a_body_comes_back_byte_for_byte(void **state)
{
    static const size_t sizes[] = {MIB - 1, MIB, MIB + 1, 5 * MIB + 3, 20 * MIB};
    redisContext *client = served_client(state);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *body = new_body(sizes[i], (unsigned)i), id[16];
        snprintf(id, sizeof(id), "%zu", i);
        freeReplyObject(ask(client, "Q.PUSH mail %b ID %s", body, sizes[i], id));
        expect_job(client, id, body, sizes[i]);
        free(body);
    }
    server_process_kill(served_server(state));
    server_process_run(served_server(state));
    client = client_open(served_server(state));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *body = new_body(sizes[i], (unsigned)i), id[16];
        snprintf(id, sizeof(id), "%zu", i);
        expect_job(client, id, body, sizes[i]);
        free(body);
    }
}

/* The value has another position in each command and each record. */
static void every_type_takes_large_values(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 2 * MIB + 5;
    char *a = new_body(size, 1), *b = new_body(size, 2);
    expect(client, "OK", "SET s %b", a, size);
    expect(client, "OK", "MSET m1 %b m2 %b m3 x", a, size, b, size);
    expect(client, "2", "HSET h f %b %b name", a, size, b, size);
    expect(client, "3", "RPUSH l %b %b x", a, size, b, size);
    expect(client, "2", "SADD set %b x", a, size);
    expect(client, "1", "ZADD z 1 %b", a, size);
    expect(client, "*", "APPEND s %b", b, (size_t)0);
    for (int round = 0; round < 2; round++) {
        expect_bytes(client, a, size, "GET s");
        expect_bytes(client, a, size, "GET m1");
        expect_bytes(client, b, size, "GET m2");
        expect_bytes(client, a, size, "HGET h f");
        expect_bytes(client, b, size, "LINDEX l 1");
        expect(client, "\"name\"", "HGET h %b", b, size);
        expect(client, "1", "SISMEMBER set %b", a, size);
        expect(client, "\"1\"", "ZSCORE z %b", a, size);
        server_process_kill(served_server(state));
        server_process_run(served_server(state));
        client = client_open(served_server(state));
    }
    free(a);
    free(b);
}

static void an_exec_of_several_is_one_change(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 3 * MIB;
    char *a = new_body(size, 1), *b = new_body(size, 2);
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "SET x %b", a, size);
    expect(client, "QUEUED", "SET y %b", b, size);
    expect(client, "QUEUED", "SET x %b", b, size);
    expect(client, "QUEUED", "DEL y");
    expect(client, "QUEUED", "Q.PUSH mail %b ID one", a, size);
    expect(client, "[OK OK OK 1 \"one\"]", "EXEC");
    server_process_kill(served_server(state));
    server_process_run(served_server(state));
    client = client_open(served_server(state));
    expect_bytes(client, b, size, "GET x");
    expect(client, "0", "EXISTS y");
    expect_job(client, "one", a, size);
    free(a);
    free(b);
}

static void two_clients_at_once_are_served_both(void **state)
{
    redisContext *first = served_client(state), *second = client_open(served_server(state)),
                 *bystander = client_open(served_server(state));
    size_t size = 6 * MIB;
    char *a = new_body(size, 1), *b = new_body(size, 2);
    for (int round = 0; round < 5; round++) {
        say(first, "SET a %b", a, size);
        say(second, "SET b %b", b, size);
        expect(bystander, "PONG", "PING");
        expect(bystander, "OK", "SET small x");
        expect_reply(first, "OK");
        expect_reply(second, "OK");
        expect_bytes(bystander, a, size, "GET a");
        expect_bytes(bystander, b, size, "GET b");
    }
    free(a);
    free(b);
}

/* The memory of an incomplete argument is freed with the client. */
static void a_client_may_go_in_the_middle_of_a_body(void **state)
{
    static const char head[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$400000000\r\n";
    redisContext *client = served_client(state);
    char *part = new_body(3 * MIB, 1);
    for (int i = 0; i < 10; i++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_send(&raw, head, strlen(head));
        raw_send(&raw, part, 3 * MIB);
        raw_close(&raw);
    }
    while (ask_info(client, "clients", "connected_clients") > 1)
        sleep_ms(1);
    assert_true(ask_info(client, "memory", "mem_clients_normal") < MIB);
    expect(client, "0", "EXISTS k");
    free(part);
}

/* Requests before and after a large one in a pipeline are answered in order. */
static void requests_around_a_large_one_keep_their_order(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 4 * MIB;
    char *body = new_body(size, 1);
    say(client, "SET order 1");
    say(client, "SET order %b", body, size);
    say(client, "STRLEN order");
    say(client, "SET order 2");
    say(client, "GET order");
    expect_reply(client, "OK");
    expect_reply(client, "OK");
    expect_reply(client, "4194304");
    expect_reply(client, "OK");
    expect_reply(client, "\"2\"");
    free(body);
}

static void parts_are(redisContext *client, long long before, long long parts)
{
    assert_int_equal(ask_info(client, "stats", "reply_parts") - before, parts);
}

/* 2 MiB in a turn, whatever it is a part of; in memory, and from data.mdb. */
static void a_large_reply_is_copied_in_parts(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 20 * MIB;
    char *body = new_body(size, 1);
    expect(client, "OK", "SET s %b", body, size);
    expect(client, "1", "HSET h f %b", body, size);
    expect(client, "1", "RPUSH l %b", body, size);
    freeReplyObject(ask(client, "Q.PUSH mail %b ID one", body, size));
    for (int round = 0; round < 2; round++) {
        static const char *const commands[] = {"GET s", "GETRANGE s 0 -1", "HGET h f",
                                               "LINDEX l 0"};
        long long before = ask_info(client, "stats", "reply_parts");
        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
            expect_bytes(client, body, size, commands[i]);
        parts_are(client, before, 40);
        expect_job(client, "one", body, size);
        freeReplyObject(ask(client, "MGET s x s"));
        freeReplyObject(ask(client, "LRANGE l 0 -1"));
        parts_are(client, before, 80);
        freeReplyObject(ask(client, "Q.CLAIM mail"));
        freeReplyObject(ask(client, "Q.NACK mail one %d DELAY 0", round + 1));
        parts_are(client, before, 90);
        expect(client, "OK", "SAVE");
    }
    free(body);
}

/* The reply holds the element, which is gone from the list at once. */
static void a_large_element_is_popped_without_a_copy(void **state)
{
    static const char *const commands[] = {"LPOP l", "RPOP l"};
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    size_t size = 20 * MIB;
    char *body = new_body(size, 1);
    for (int round = 0; round < 4; round++) {
        long long before;
        expect(client, "2", "RPUSH l %b %b", body, size, body, size);
        if (round % 2 == 1)
            expect(client, "OK", "SAVE");
        before = ask_info(client, "stats", "reply_parts");
        expect_bytes(client, body, size, commands[round / 2]);
        expect(other, "1", "LLEN l");
        parts_are(client, before, 10);
        say(client, "BLPOP l 0");
        expect_reply(client, "*");
        parts_are(client, before, 20);
        expect(other, "0", "EXISTS l");
    }
    free(body);
}

static void expect_body(const redisReply *reply, const char *body, size_t size)
{
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, size);
    assert_memory_equal(reply->str, body, size);
}

/* The reply has the value as it was when its command ran; most often the key changes while it
 * is being copied. */
static void a_large_reply_is_not_changed_by_what_follows(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    size_t size = 40 * MIB;
    char *a = new_body(size, 1), *b = new_body(size, 2);
    for (int round = 0; round < 4; round++) {
        redisReply *reply;
        long long before;
        expect(client, "OK", "SET k %b", a, size);
        if (round % 2 == 1)
            expect(client, "OK", "SAVE");
        before = ask_info(other, "stats", "reply_parts");
        say(client, "GET k");
        while (ask_info(other, "stats", "reply_parts") == before)
            ;
        expect(other, "OK", round < 2 ? "FLUSHALL" : "SET k %b", b, size);
        expect(other, "OK", "SAVE");
        expect(other, "OK", "SET k %b", b, size);
        expect(other, "OK", "SAVE");
        assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
        expect_body(reply, a, size);
        freeReplyObject(reply);
    }
    free(a);
    free(b);
}

static void an_exec_replies_what_each_command_found(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 5 * MIB;
    char *a = new_body(size, 1), *b = new_body(size, 2);
    redisReply *reply;
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "SET k %b", a, size);
    expect(client, "QUEUED", "GET k");
    expect(client, "QUEUED", "GETSET k %b", b, size);
    expect(client, "QUEUED", "GETDEL k");
    expect(client, "QUEUED", "LRANGE k 0 -1");
    reply = ask(client, "EXEC");
    assert_int_equal(reply->elements, 5);
    expect_body(reply->element[1], a, size);
    expect_body(reply->element[2], a, size);
    expect_body(reply->element[3], b, size);
    assert_int_equal(reply->element[4]->elements, 0);
    freeReplyObject(reply);
    expect(client, "0", "EXISTS k");
    free(a);
    free(b);
}

/* The request's memory becomes the reply's: alone, in an EXEC, when nobody wants the reply, and
 * when its client goes. */
static void an_argument_comes_back_in_parts(void **state)
{
    static const char *const commands[] = {"ECHO %b", "PING %b", "ECHO %b", "PING %b"};
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    size_t size = 20 * MIB;
    char *body = new_body(size, 1);
    for (int i = 0; i < 4; i++) {
        long long before = ask_info(other, "stats", "reply_parts");
        redisReply *reply;
        if (i >= 2) {
            expect(client, "OK", "MULTI");
            expect(client, "QUEUED", commands[i], body, size);
        }
        reply = i < 2 ? ask(client, commands[i], body, size) : ask(client, "EXEC");
        expect_body(i < 2 ? reply : reply->element[0], body, size);
        freeReplyObject(reply);
        parts_are(other, before, 10);
    }
    redisReply *keys = ask(client, "COMMAND GETKEYS MGET %b %b k", body, size, body, size - 1);
    expect_body(keys->element[0], body, size);
    expect_body(keys->element[1], body, size - 1);
    freeReplyObject(keys);
    expect(client, "OK", "ACL SETUSER u on nopass ~k* +get");
    long long before = ask_info(other, "stats", "reply_parts");
    memset(body, 'x', size);
    expect(client, "\"This user has no permissions to access the 'xx*xx' key\"",
           "ACL DRYRUN u GET %b", body, size);
    parts_are(other, before, 10);
    say(client, "CLIENT REPLY SKIP");
    say(client, "ECHO %b", body, size);
    expect(client, "PONG", "PING");
    for (int i = 0; i < 4; i++) {
        redisContext *leaves = client_open(served_server(state));
        say(leaves, "ECHO %b", body, size);
        expect(client, "PONG", "PING");
        client_close(leaves);
    }
    while (ask_info(client, "clients", "connected_clients") > 2)
        sleep_ms(1);
    assert_true(ask_info(client, "memory", "mem_clients_normal") < MIB);
    free(body);
}

static void expect_message(redisContext *client, const char *body, size_t size)
{
    redisReply *reply;
    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, 3);
    expect_body(reply->element[2], body, size);
    freeReplyObject(reply);
}

enum { LISTENERS = 7 };

static void all_subscribe(void **state, redisContext **listeners)
{
    for (int i = 0; i < LISTENERS; i++) {
        listeners[i] = client_open(served_server(state));
        expect(listeners[i], "*", "SUBSCRIBE c");
    }
}

/* All receivers share the request's memory. Alone, in an EXEC, and when the publisher, or a
 * receiver, goes before its output has it. */
static void a_large_message_is_copied_in_parts(void **state)
{
    redisContext *client = served_client(state), *listeners[LISTENERS];
    size_t size = 8 * MIB;
    char *body = new_body(size, 1);
    all_subscribe(state, listeners);
    for (int round = 0; round < 2; round++) {
        long long before = ask_info(client, "stats", "reply_parts");
        if (round == 1)
            expect(client, "OK", "MULTI");
        expect(client, round == 0 ? "7" : "QUEUED", "PUBLISH c %b", body, size);
        if (round == 1)
            expect(client, "[7]", "EXEC");
        expect(client, "7", "PUBLISH c after");
        for (int i = 0; i < LISTENERS; i++) {
            expect_message(listeners[i], body, size);
            expect_reply(listeners[i], "[\"message\" \"c\" \"after\"]");
        }
        parts_are(client, before, 4 * LISTENERS);
    }
    redisContext *publisher = client_open(served_server(state));
    say(publisher, "PUBLISH c %b", body, size);
    client_close(listeners[0]);
    client_close(listeners[3]);
    client_close(publisher);
    for (int i = 0; i < LISTENERS; i++)
        if (i % 3 != 0 || i == 6)
            expect_message(listeners[i], body, size);
    while (ask_info(client, "clients", "connected_clients") > LISTENERS - 1)
        sleep_ms(1);
    expect(client, "5", "PUBLISH c end");
    assert_true(ask_info(client, "memory", "mem_clients_normal") < MIB);
    free(body);
}

/* The output of who reads nothing is limited as that of others. */
static void a_large_message_cuts_off_who_reads_nothing(void **state)
{
    redisContext *client = served_client(state), *listeners[LISTENERS];
    size_t size = 8 * MIB;
    char *body = new_body(size, 1);
    all_subscribe(state, listeners);
    for (int i = 0; i < 8; i++)
        freeReplyObject(ask(client, "PUBLISH c %b", body, size));
    expect(client, "0", "PUBLISH c %b", body, size);
    free(body);
}

/* In RESP3 a client hears its own message before the reply to it. */
static void a_large_message_to_itself_comes_first(void **state)
{
    static const char head[] = "*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$8388608\r\n";
    struct raw_client raw;
    size_t size = 8 * MIB;
    char *body = malloc(size);
    assert_non_null(body);
    memset(body, 'x', size);
    raw_open(&raw, served_server(state));
    raw_expect(&raw, "*", "HELLO 3");
    raw_expect(&raw, "*", "SUBSCRIBE c");
    raw_send(&raw, head, strlen(head));
    raw_send(&raw, body, size);
    raw_say(&raw, "");
    raw_expect(&raw, ">[\"message\" \"c\" \"xx*xx\"]", "PUBLISH c after");
    raw_expect_reply(&raw, "1");
    raw_expect_reply(&raw, ">[\"message\" \"c\" \"after\"]");
    raw_expect_reply(&raw, "1");
    raw_close(&raw);
    free(body);
}

/* As redis-cli quotes. */
static char *quoted(const char *body, size_t size)
{
    static const char names[] = "\n\r\t\a\b\\\"", letters[] = "nrtab\\\"";
    char *text = malloc(4 * size + 1), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < size; i++) {
        const char *name = body[i] == '\0' ? NULL : strchr(names, body[i]);
        if (name != NULL)
            at += sprintf(at, "\\%c", letters[name - names]);
        else if (body[i] >= ' ' && body[i] <= '~')
            *at++ = body[i];
        else
            at += sprintf(at, "\\x%02x", (unsigned char)body[i]);
    }
    *at = '\0';
    return text;
}

static void expect_shown(redisContext *monitor, const char *text)
{
    redisReply *reply;
    assert_int_equal(redisGetReply(monitor, (void **)&reply), REDIS_OK);
    const char *shown = strstr(reply->str, "\"SET\" \"k\" \"");
    assert_non_null(shown);
    assert_memory_equal(shown + strlen("\"SET\" \"k\" \""), text, strlen(text));
    freeReplyObject(reply);
}

/* Each byte at each place of a word. */
static char *body_of_all_bytes(size_t size)
{
    char *body = malloc(size);
    assert_non_null(body);
    memset(body, 'x', size);
    for (size_t i = 0; i < (size_t)256 * 9; i++)
        body[1000 + i * 19] = (char)(i / 9);
    return body;
}

/* All monitors share the line. */
static void monitors_are_shown_large_arguments(void **state)
{
    redisContext *client = served_client(state), *monitors[2];
    size_t size = 6 * MIB;
    char *body = body_of_all_bytes(size), *text = quoted(body, size);
    for (int i = 0; i < 2; i++) {
        monitors[i] = client_open(served_server(state));
        expect(monitors[i], "OK", "MONITOR");
    }
    long long before = ask_info(client, "stats", "reply_parts");
    expect(client, "OK", "SET k %b", body, size);
    expect(client, "PONG", "PING");
    for (int i = 0; i < 2; i++) {
        expect_reply(monitors[i], "* \"INFO\" \"stats\"");
        expect_shown(monitors[i], text);
        expect_reply(monitors[i], "* \"PING\"");
    }
    parts_are(client, before, 2 * 4);
    say(client, "SET k %b", body, size);
    client_close(monitors[0]);
    expect_reply(client, "OK");
    expect_reply(monitors[1], "* \"INFO\" \"stats\"");
    expect_shown(monitors[1], text);
    free(text);
    free(body);
}

/* Turns of the loop that the command took at least. */
static int64_t turns_of(redisContext *client, const char *command)
{
    int64_t before = ask_info(client, "stats", "turns");
    freeReplyObject(ask(client, command));
    return ask_info(client, "stats", "turns") - before;
}

static void queue_bodies(redisContext *client, const char *body, size_t size)
{
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "SET k %b", body, size);
    expect(client, "QUEUED", "PING");
    expect(client, "QUEUED", "SET k %b", body, size);
}

/* The lines of its commands come one after the other, and are quoted 128 KiB a turn. */
static void monitors_are_shown_large_arguments_of_an_exec(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state)),
                 *monitor = client_open(served_server(state));
    size_t size = 6 * MIB;
    char *body = body_of_all_bytes(size), *text = quoted(body, size);
    queue_bodies(other, body, size);
    queue_bodies(client, body, size);
    expect(monitor, "OK", "MONITOR");
    int64_t before = ask_info(client_open(served_server(state)), "stats", "turns");
    expect(client, "[OK PONG OK]", "EXEC");
    assert_true(ask_info(client, "stats", "turns") - before >= 2 * 6 * 8);
    expect_reply(monitor, "* \"INFO\" \"stats\"");
    expect_shown(monitor, text);
    expect_reply(monitor, "* \"PING\"");
    expect_shown(monitor, text);
    expect_reply(monitor, "* \"EXEC\"");
    say(other, "EXEC");
    client_close(other);
    expect(client, "PONG", "PING");
    free(text);
    free(body);
}

/* 2 MiB of a value that comes from data.mdb in a turn, and only once in a run of the server. */
static void a_large_value_is_checked_in_parts(void **state)
{
    static const char *const commands[] = {"STRLEN s",    "GET s",      "GETRANGE s 5 9",
                                           "GETEX s",     "MGET s x",   "HSTRLEN h f",
                                           "HGET h f",    "LINDEX l 0", "LRANGE l 0 -1",
                                           "Q.GET t one", "Q.CLAIM t",  "Q.CLAIM t BLOCK 1m",
                                           "GETDEL s",    "LPOP l"};
    redisContext *client = served_client(state);
    size_t size = 40 * MIB;
    char *body = new_body(size, 1);
    expect(client, "OK", "SET s %b", body, size);
    /* what comes first of its kind is met, and checked, by the tick that looks what comes next
     */
    expect(client, "1", "HSET first f %b", body, (size_t)100000);
    expect(client, "1", "HSET h f %b", body, size);
    expect(client, "1", "RPUSH l %b", body, size);
    freeReplyObject(ask(client, "Q.PUSH first %b ID zero", body, (size_t)100000));
    freeReplyObject(ask(client, "Q.CLAIM first LEASE 1d"));
    freeReplyObject(ask(client, "Q.PUSH t %b ID one LEASE 1d", body, size));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i], "Q.CLAIM t BLOCK 1m") == 0)
            expect(client, "*", "Q.NACK t one 1 DELAY 0");
        expect(client, "OK", "SAVE");
        server_process_kill(served_server(state));
        server_process_run(served_server(state));
        client = client_open(served_server(state));
        if (turns_of(client, commands[i]) < 20)
            fail_msg("%s", commands[i]);
        if (i == 0 && turns_of(client, commands[i]) >= 10)
            fail_msg("again: %s", commands[i]);
    }
    free(body);
}

/* One gets the job when it is checked; the other one goes on waiting. */
static void two_workers_wait_for_one_body(void **state)
{
    redisContext *client = served_client(state), *one = client_open(served_server(state)),
                 *two = client_open(served_server(state));
    size_t size = 20 * MIB;
    char *body = new_body(size, 1);
    redisReply *first, *second;
    freeReplyObject(ask(client, "Q.PUSH t %b ID large", body, size));
    expect(client, "OK", "SAVE");
    say(one, "Q.CLAIM t BLOCK 1m");
    say(two, "Q.CLAIM t BLOCK 1m");
    while (ask_info(client, "clients", "blocked_clients") != 1 ||
           ask_integer(client, "Q.LEN t claimed") != 1)
        sleep_ms(1);
    expect(client, "*", "Q.PUSH t x ID small");
    assert_int_equal(redisGetReply(one, (void **)&first), REDIS_OK);
    assert_int_equal(redisGetReply(two, (void **)&second), REDIS_OK);
    if (first->element[0]->element[2]->len < second->element[0]->element[2]->len) {
        redisReply *swap = first;
        first = second;
        second = swap;
    }
    expect_body(first->element[0]->element[2], body, size);
    assert_string_equal(second->element[0]->element[0]->str, "small");
    freeReplyObject(first);
    freeReplyObject(second);
    expect(client, "[]", "Q.CLAIM t");
    free(body);
}

/* In the statistics, for MONITOR, and for the requests that came after it. */
static void a_command_that_runs_again_counts_once(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    size_t size = 20 * MIB;
    char *body = new_body(size, 1);
    int64_t commands, hits;
    expect(client, "OK", "SET s %b", body, size);
    expect(client, "OK", "SAVE");
    hits = ask_info(client, "stats", "keyspace_hits");
    commands = ask_info(client, "stats", "total_commands_processed");
    say(client, "GETRANGE s 0 3");
    say(client, "SET s short");
    say(client, "GET s");
    expect(other, "PONG", "PING");
    freeReplyObject(ask(client, "PING")); /* the reply of GETRANGE */
    expect_reply(client, "OK");
    expect_reply(client, "\"short\"");
    expect_reply(client, "PONG");
    assert_int_equal(ask_info(client, "stats", "keyspace_hits") - hits, 2);
    assert_int_equal(ask_info(client, "stats", "total_commands_processed") - commands, 7);
    expect(client, "\"*cmdstat_getrange:calls=1,*\"", "INFO commandstats");
    free(body);
}

/* What it was to get is let go, and its memory is given back. */
static void a_client_may_go_in_the_middle_of_a_reply(void **state)
{
    redisContext *client = served_client(state);
    size_t size = 30 * MIB;
    char *body = new_body(size, 1);
    expect(client, "OK", "SET k %b", body, size);
    for (int round = 0; round < 20; round++) {
        struct raw_client raw;
        if (round == 10)
            expect(client, "OK", "SAVE");
        raw_open(&raw, served_server(state));
        raw_say(&raw, "GET k");
        if (round % 2 == 0)
            sleep_ms(1);
        raw_close(&raw);
    }
    while (ask_info(client, "clients", "connected_clients") > 1)
        sleep_ms(1);
    assert_true(ask_info(client, "memory", "mem_clients_normal") < MIB);
    expect_bytes(client, body, size, "GET k");
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_body_comes_back_byte_for_byte),
        served_test(every_type_takes_large_values),
        served_test(an_exec_of_several_is_one_change),
        served_test(two_clients_at_once_are_served_both),
        served_test(a_client_may_go_in_the_middle_of_a_body),
        served_test(requests_around_a_large_one_keep_their_order),
        served_test(a_large_reply_is_copied_in_parts),
        served_test(a_large_element_is_popped_without_a_copy),
        served_test(a_large_reply_is_not_changed_by_what_follows),
        served_test(a_large_value_is_checked_in_parts),
        served_test(two_workers_wait_for_one_body),
        served_test(a_command_that_runs_again_counts_once),
        served_test(an_exec_replies_what_each_command_found),
        served_test(an_argument_comes_back_in_parts),
        served_test(a_large_message_is_copied_in_parts),
        served_test(a_large_message_cuts_off_who_reads_nothing),
        served_test(a_large_message_to_itself_comes_first),
        served_test(monitors_are_shown_large_arguments),
        served_test(monitors_are_shown_large_arguments_of_an_exec),
        served_test(a_client_may_go_in_the_middle_of_a_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
