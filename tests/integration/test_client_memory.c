/* Limits of the memory that clients can make the server use: requests, replies, and all
 * together. */
#include "tests/support/client/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <cmocka.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

/* ---- what the server reports */

/* Returns the number under that name in the line; -1: there is none. */
static long long number_in(const char *line, const char *name)
{
    char label[32];
    snprintf(label, sizeof(label), " %s=", name);
    const char *at = strstr(line, label);
    return at == NULL ? -1 : strtoll(at + strlen(label), NULL, 10);
}

/* The number under that name in the client's line of CLIENT LIST; -1: there is none. */
static long long number_of(redisContext *client, int64_t id, const char *name)
{
    char *line = ask_string(client, "CLIENT LIST ID %lld", (long long)id);
    long long number = number_in(line, name);
    free(line);
    return number;
}

static int64_t identify(struct raw_client *raw)
{
    raw_say(raw, "CLIENT ID");
    char *text = raw_reply(raw);
    int64_t id = strtoll(text, NULL, 10);
    free(text);
    return id;
}

/* The id of the client that connected last. */
static int64_t newest_id(redisContext *client)
{
    char *list = ask_string(client, "CLIENT LIST"), *at = list;
    int64_t id = 0;
    for (char *line = at; (at = strstr(line, "id=")) != NULL; line = strchr(at, '\n'))
        id = strtoll(at + strlen("id="), NULL, 10);
    free(list);
    return id;
}

static void await_gone(redisContext *client, int64_t id)
{
    for (int waited = 0; number_of(client, id, "age") >= 0; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
}

/* ---- clients that send and do not read */

/* Sends that many bytes, or fewer when the server reads no more. */
static void send_without_reading(struct raw_client *raw, const char *bytes, size_t size,
                                 size_t wanted)
{
    fcntl(raw->fd, F_SETFL, fcntl(raw->fd, F_GETFL) | O_NONBLOCK);
    for (size_t sent = 0; sent < wanted;) {
        struct pollfd writable = {.fd = raw->fd, .events = POLLOUT};
        size_t at = sent % size;
        ssize_t put = send(raw->fd, bytes + at, size - at, MSG_NOSIGNAL);
        if (put > 0)
            sent += (size_t)put;
        else if (poll(&writable, 1, 300) == 0)
            return;
    }
}

static void flood(struct raw_client *raw, const char *line)
{
    static char bytes[64 * KIB];
    size_t size = 0, length = strlen(line);
    while (size + length <= sizeof(bytes)) {
        memcpy(bytes + size, line, length);
        size += length;
    }
    send_without_reading(raw, bytes, size, 64 * (size_t)MIB);
}

/* The client has sent much, and the server keeps little of it. */
static void expect_bounded(redisContext *client, const struct server_process *server,
                           const char *line, long long most)
{
    struct raw_client raw;
    raw_open(&raw, server);
    expect(client, "PONG", "PING");
    int64_t id = newest_id(client);
    flood(&raw, line);
    long long held = number_of(client, id, "tot-mem");
    if (held > most)
        fail_at(__FILE__, __LINE__, "%lld bytes held for %s", held, line);
    raw_close(&raw);
}

static void requests_that_wait_stay_outside(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    expect_bounded(client, server, "PING\r\n", 2500 * KIB);
    expect_bounded(client, server, "GET none\r\n", 2500 * KIB);
    expect_bounded(client, server, "BLPOP none 0\r\n", 300 * KIB);
    expect(client, "OK", "CLIENT PAUSE 1000000 WRITE");
    expect_bounded(client, server, "SET a b\r\n", 300 * KIB);
}

static void a_client_before_login_holds_little(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("requirepass secret");
    redisContext *client = client_open(server);
    expect(client, "OK", "AUTH secret");
    expect_bounded(client, server, "PING\r\n", 300 * KIB);
    expect_bounded(client, server, "nonsense of some length to be told of\r\n", 300 * KIB);
    expect_bounded(client, server, "*2\r\n$4\r\nAUTH\r\n$3\r\nbad\r\n", 300 * KIB);
}

/* ---- all together */

/* Sends the first bytes of a request. */
static void send_half(struct raw_client *raw, size_t size)
{
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, 'h', size);
    raw_say(raw, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$100000000");
    send_without_reading(raw, bytes, size, size);
    free(bytes);
}

static void await_held(redisContext *client, int64_t id, long long bytes)
{
    for (int waited = 0; number_of(client, id, "tot-mem") < bytes; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
}

static void the_largest_client_goes_first(void **state)
{
    (void)state;
    enum { CLIENTS = 4 };
    struct server_process *server = server_process_start("maxmemory-clients 12mb");
    redisContext *client = client_open(server);
    struct raw_client raw[CLIENTS];
    int64_t ids[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        raw_open(&raw[i], server);
        ids[i] = identify(&raw[i]);
    }
    for (int i = 0; i < 3; i++) {
        send_half(&raw[i], MIB);
        await_held(client, ids[i], MIB);
    }
    expect(client, "0", "EXISTS a");
    assert_int_equal(ask_info(client, "stats", "evicted_clients"), 0);
    send_half(&raw[3], 9 * (size_t)MIB);
    await_gone(client, ids[3]);
    assert_int_equal(ask_info(client, "stats", "evicted_clients"), 1);
    for (int i = 0; i < 3; i++)
        assert_true(number_of(client, ids[i], "tot-mem") >= MIB);
    assert_true(ask_info(client, "memory", "mem_clients_normal") < 12 * MIB);
    for (int i = 0; i < CLIENTS; i++)
        raw_close(&raw[i]);
}

static void a_client_that_may_not_be_evicted_stays(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("maxmemory-clients 4mb");
    redisContext *client = client_open(server);
    struct raw_client spared, other;
    raw_open(&spared, server);
    raw_open(&other, server);
    int64_t id = identify(&spared), other_id = identify(&other);
    raw_expect(&spared, "OK", "CLIENT NO-EVICT ON");
    send_half(&spared, 3 * (size_t)MIB);
    await_held(client, id, 3 * MIB);
    send_half(&other, 2 * (size_t)MIB);
    await_gone(client, other_id);
    assert_true(number_of(client, id, "tot-mem") >= 3 * MIB);
    raw_close(&spared);
    raw_close(&other);
}

static void what_is_queued_in_a_transaction_counts(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("maxmemory-clients 4mb");
    static char value[200000];
    redisContext *client = client_open(server), *hoarder = client_open(server);
    int64_t id = ask_integer(hoarder, "CLIENT ID");
    memset(value, 'v', sizeof(value));
    expect(hoarder, "OK", "MULTI");
    for (int i = 0; i < 30; i++)
        redisAppendCommand(hoarder, "SET a %b", value, sizeof(value));
    redisReply *reply = NULL;
    while (redisGetReply(hoarder, (void **)&reply) == REDIS_OK)
        freeReplyObject(reply);
    await_gone(client, id);
    expect(client, "PONG", "PING");
}

static void unread_replies_count(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("maxmemory-clients 8mb");
    redisContext *client = client_open(server);
    struct raw_client raw;
    char *value = calloc(1, 4 * (size_t)MIB);
    assert_non_null(value);
    expect(client, "OK", "SET a %b", value, 4 * (size_t)MIB);
    free(value);
    raw_open(&raw, server);
    int64_t id = identify(&raw);
    raw_say(&raw, "MULTI\r\nGET a\r\nGET a\r\nGET a\r\nGET a\r\nGET a\r\nEXEC");
    await_gone(client, id);
    assert_int_equal(ask_info(client, "stats", "evicted_clients"), 1);
    raw_close(&raw);
}

/* Clients that are not logged in have a quarter, and only evict each other. */
/* A monitor that does not read is dropped at the limit, which is in the class that Redis has it
 * in, and in that of subscribers. It never holds more than the limit and one command. */
static void expect_monitor_dropped(const struct server_process *server, redisContext *client,
                                   const char *limits)
{
    enum { SHOWN = 100 * KIB, LINES = 400 };
    static char text[SHOWN];
    struct raw_client monitor;
    long long held = 0;
    int lines = 0;
    memset(text, 'x', sizeof(text));
    expect(client, "OK", "CONFIG SET client-output-buffer-limit %s", limits);
    raw_open(&monitor, server);
    int64_t id = identify(&monitor);
    raw_expect(&monitor, "OK", "MONITOR");
    for (; held >= 0 && lines < LINES; lines++) {
        say(client, "ECHO %b", text, sizeof(text));
        expect_reply(client, "\"x*\"");
        held = number_of(client, id, "tot-mem");
        assert_true(held < 3 * (long long)MIB);
    }
    assert_true(lines < LINES);
    while (fgetc(monitor.input) != EOF) /* what it was sent before, and no more */
        continue;
    raw_close(&monitor);
}

static void a_monitor_that_does_not_read_is_dropped(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    expect_monitor_dropped(server, client, "normal 1mb 0 0");
    expect(client, "OK", "CONFIG SET client-output-buffer-limit %s", "normal 1gb 0 0");
    expect_monitor_dropped(server, client, "pubsub 1mb 0 0");
    expect(client, "OK", "CONFIG SET client-output-buffer-limit %s", "normal 0 0 0");
    expect_monitor_dropped(server, client, "pubsub 1mb 0 0");
    expect(client, "OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 0 0 0");
    expect_monitor_dropped(server, client, "normal 1mb 0 0");
}

static void strangers_do_not_push_others_out(void **state)
{
    (void)state;
    enum { STRANGERS = 60 };
    struct server_process *server =
        server_process_start("maxmemory-clients 8mb, requirepass secret");
    redisContext *client = client_open(server);
    struct raw_client known, strangers[STRANGERS];
    static char piece[15000];
    memset(piece, 'p', sizeof(piece));
    expect(client, "OK", "AUTH secret");
    raw_open(&known, server);
    raw_expect(&known, "OK", "AUTH secret");
    int64_t id = identify(&known);
    send_half(&known, 4 * (size_t)MIB);
    await_held(client, id, 4 * MIB);
    for (int i = 0; i < STRANGERS; i++) {
        raw_open(&strangers[i], server);
        raw_say(&strangers[i], "*10");
        for (int k = 0; k < 9; k++) {
            raw_say(&strangers[i], "$15000");
            raw_send(&strangers[i], piece, sizeof(piece));
            raw_send(&strangers[i], "\r\n", 2);
        }
        expect(client, "PONG", "PING");
        assert_true(ask_info(client, "memory", "mem_clients_normal") < 8 * MIB);
    }
    assert_true(ask_info(client, "stats", "evicted_clients") > 0);
    assert_true(number_of(client, id, "tot-mem") >= 4 * MIB);
    for (int i = 0; i < STRANGERS; i++)
        raw_close(&strangers[i]);
    raw_close(&known);
}

/* ---- CLIENT LIST and INFO */

static void buffers_are_shown_as_they_are(void **state)
{
    redisContext *client = served_client(state);
    static char value[300000];
    struct raw_client half, deaf, waiting, multi;
    memset(value, 'v', sizeof(value));
    expect(client, "OK", "SET large %b", value, sizeof(value));
    raw_open(&half, served_server(state));
    int64_t half_id = identify(&half);
    send_half(&half, MIB);
    await_held(client, half_id, MIB);
    for (int waited = 0; number_of(client, half_id, "qbuf") < MIB; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
    assert_true(number_of(client, half_id, "qbuf") < MIB + 100);
    raw_open(&deaf, served_server(state));
    int64_t deaf_id = identify(&deaf);
    for (int i = 0; i < 200; i++)
        raw_say(&deaf, "GET large");
    char *line = NULL;
    for (int waited = 0; line == NULL || number_in(line, "omem") < MIB; waited++) {
        assert_true(waited < 60000); /* the kernel buffers some */
        sleep_ms(1);
        free(line);
        line = ask_string(client, "CLIENT LIST ID %lld", (long long)deaf_id);
    }
    assert_int_equal(number_in(line, "oll"), 1);
    assert_true(number_in(line, "tot-mem") > number_in(line, "omem"));
    free(line);
    raw_open(&waiting, served_server(state));
    int64_t waiting_id = identify(&waiting);
    raw_say(&waiting, "BLPOP a-name-of-some-length-that-is-kept-while-it-waits 0");
    await_blocked(client, 1);
    assert_true(number_of(client, waiting_id, "argv-mem") > 50);
    raw_open(&multi, served_server(state));
    int64_t multi_id = identify(&multi);
    raw_expect(&multi, "OK", "MULTI");
    raw_expect(&multi, "QUEUED", "SET a value-of-some-length");
    assert_true(number_of(client, multi_id, "multi-mem") > 20);
    assert_true(ask_info(client, "clients", "client_recent_max_input_buffer") >= MIB);
    assert_true(ask_info(client, "clients", "client_recent_max_output_buffer") >= MIB);
    assert_true(ask_info(client, "memory", "mem_clients_normal") >= 2 * MIB);
    raw_close(&half);
    raw_close(&deaf);
    raw_close(&waiting);
    raw_close(&multi);
}

static void a_large_request_leaves_nothing_behind(void **state)
{
    enum { SIZE = 32 * MIB };
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    int64_t id = ask_integer(other, "CLIENT ID");
    char *value = calloc(1, SIZE);
    assert_non_null(value);
    expect(other, "OK", "SET a %b", value, (size_t)SIZE);
    assert_true(number_of(client, id, "tot-mem") < 100 * KIB);
    redisReply *reply = ask(other, "GET a");
    freeReplyObject(reply);
    for (int waited = 0; number_of(client, id, "tot-mem") > 100 * KIB; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
    free(value);
}

/* Of the server's process, without files that it has mapped. */
static long resident_kb(const struct server_process *server)
{
    char path[64], line[256];
    long kb = -1;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "RssAnon: %ld", &kb);
    fclose(file);
    return kb;
}

/* A server whose memory says something; else the test is skipped. */
static struct server_process *start_measured(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it keeps what is freed */
#endif
    if (server_is_emulated())
        skip();
    return server_process_start("");
}

static void await_given_back(const struct server_process *server, long most_kb)
{
    for (int waited = 0; resident_kb(server) > most_kb; waited++) {
        assert_true(waited < 60);
        sleep_ms(1000);
    }
}

/* Each has memory in many small blocks, fewer than a server at work would give back. */
static void queue_much(struct raw_client *clients, int count)
{
    enum { QUEUED = 100 };
    for (int i = 0; i < count; i++)
        raw_say(&clients[i], "MULTI");
    for (int queued = 0; queued < QUEUED; queued++)
        for (int i = 0; i < count; i++)
            raw_say(&clients[i], "SET a-key-of-some-length a-value-of-some-length");
    for (int i = 0; i < count; i++)
        for (int replies = 0; replies <= QUEUED; replies++)
            free(raw_reply(&clients[i]));
}

static void a_server_at_rest_keeps_no_memory_of_clients_that_have_gone(void **state)
{
    enum { CLIENTS = 400, KEPT_KB = 3000 };
    static struct raw_client clients[CLIENTS];
    (void)state;
    struct server_process *server = start_measured();
    long before = resident_kb(server);
    for (int i = 0; i < CLIENTS; i++)
        raw_open(&clients[i], server);
    queue_much(clients, CLIENTS);
    assert_true(resident_kb(server) - before > 2 * KEPT_KB);
    for (int i = 0; i < CLIENTS; i++)
        raw_close(&clients[i]);
    await_given_back(server, before + KEPT_KB);
}

/* One channel a command: SUBSCRIBE, UNSUBSCRIBE. Starts anywhere and goes on in steps. */
static void change_subscriptions(redisContext *client, const char *word, int count, int step)
{
    enum { PIPELINED = 1000 };
    for (int done = 0; done < count; done += PIPELINED) {
        for (int i = done; i < done + PIPELINED; i++)
            redisAppendCommand(client, "%s channel:%08d", word,
                               (int)((int64_t)i * step % count));
        for (int i = 0; i < PIPELINED; i++) {
            void *reply;
            assert_int_equal(redisGetReply(client, &reply), REDIS_OK);
            freeReplyObject(reply);
        }
    }
}

/* Small blocks that end in another order than they began leave holes. */
static void subscriptions_that_have_ended_keep_no_memory(void **state)
{
    enum { CHANNELS = 200000, PRIME = 7919, KEPT_KB = 4000 };
    (void)state;
    struct server_process *server = start_measured();
    redisContext *client = client_open(server);
    long before = resident_kb(server);
    change_subscriptions(client, "SUBSCRIBE", CHANNELS, 1);
    assert_true(resident_kb(server) - before > 4 * KEPT_KB);
    change_subscriptions(client, "UNSUBSCRIBE", CHANNELS, PRIME);
    await_given_back(server, before + KEPT_KB);
}

static void the_bound_is_bytes_or_a_share_of_the_machine(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[\"maxmemory-clients\" \"1073741824\"]", "CONFIG GET maxmemory-clients");
    expect(client, "OK", "CONFIG SET maxmemory-clients 10%%");
    expect(client, "[\"maxmemory-clients\" \"10%\"]", "CONFIG GET maxmemory-clients");
    expect(client, "OK", "CONFIG SET maxmemory-clients 64mb");
    expect(client, "[\"maxmemory-clients\" \"67108864\"]", "CONFIG GET maxmemory-clients");
    expect(client, "OK", "CONFIG SET maxmemory-clients 0");
    expect(client, "!ERR CONFIG SET failed*must be a memory or percent value",
           "CONFIG SET maxmemory-clients 101%%");
    expect(client, "!ERR CONFIG SET failed*must be a memory or percent value",
           "CONFIG SET maxmemory-clients -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(requests_that_wait_stay_outside),
        serving_test(a_client_before_login_holds_little),
        serving_test(the_largest_client_goes_first),
        serving_test(a_client_that_may_not_be_evicted_stays),
        serving_test(what_is_queued_in_a_transaction_counts),
        serving_test(unread_replies_count),
        served_test(a_monitor_that_does_not_read_is_dropped),
        serving_test(strangers_do_not_push_others_out),
        served_test(buffers_are_shown_as_they_are),
        served_test(a_large_request_leaves_nothing_behind),
        serving_test(a_server_at_rest_keeps_no_memory_of_clients_that_have_gone),
        serving_test(subscriptions_that_have_ended_keep_no_memory),
        served_test(the_bound_is_bytes_or_a_share_of_the_machine),
    };
    return cmocka_run_group_tests_name("client memory", tests, NULL, NULL);
}
