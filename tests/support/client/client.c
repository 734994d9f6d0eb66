#include "tests/support/client/client.h"

#include "tests/support/client/reply_text.h"

#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum {
    CLIENTS_MAX = 2048,
    PATIENCE_S = 120 /* for a reply: only a hang takes that long */
};

static redisContext *open_clients[CLIENTS_MAX];

void sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

int64_t unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void fail_at(const char *file, int line, const char *format, ...)
{
    va_list values;
    char *message = NULL;
    va_start(values, format);
    if (vasprintf(&message, format, values) < 0)
        abort();
    va_end(values);
    server_process_explain();
    print_error("%s\n", message);
    free(message);
    _fail(file, line);
    abort();
}

/* ---- connections */

static redisContext *keep(redisContext *client)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    size_t slot = 0;
    if (!client || client->err)
        fail_at(__FILE__, __LINE__, "connect: %s", client ? client->errstr : "no memory");
    redisSetTimeout(client, patience);
    signal(SIGPIPE, SIG_IGN); /* hiredis writes to connections that the server has closed */
    while (slot < CLIENTS_MAX - 1 && open_clients[slot])
        slot++;
    assert_null(open_clients[slot]);
    open_clients[slot] = client;
    return client;
}

redisContext *client_open(const struct server_process *server)
{
    return keep(redisConnect("127.0.0.1", server->port));
}

redisContext *client_open_unix(const char *path)
{
    return keep(redisConnectUnix(path));
}

void client_close(redisContext *client)
{
    for (size_t slot = 0; slot < CLIENTS_MAX; slot++) {
        if (open_clients[slot] == client)
            open_clients[slot] = NULL;
    }
    redisFree(client);
}

void client_cleanup(void)
{
    for (size_t slot = 0; slot < CLIENTS_MAX; slot++) {
        if (open_clients[slot])
            redisFree(open_clients[slot]);
        open_clients[slot] = NULL;
    }
}

/* ---- requests and replies */

static redisReply *next_reply(const char *file, int line, redisContext *client)
{
    void *reply = NULL;
    if (redisGetReply(client, &reply) != REDIS_OK)
        fail_at(file, line, "no reply: %s", client->errstr);
    return reply;
}

static void append(redisContext *client, const char *format, va_list values)
{
    if (redisvAppendCommand(client, format, values) != REDIS_OK)
        fail_at(__FILE__, __LINE__, "cannot send '%s': %s", format, client->errstr);
}

static redisReply *exchange(const char *file, int line, redisContext *client,
                            const char *format, va_list values)
{
    append(client, format, values);
    return next_reply(file, line, client);
}

static void check(const char *file, int line, const char *pattern, const redisReply *reply)
{
    char *text = reply_text(reply);
    if (!reply_text_matches(pattern, text))
        fail_at(file, line, "expected %s\n     got %.2000s", pattern, text);
    free(text);
}

void expect_at(const char *file, int line, redisContext *client, const char *pattern,
               const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = exchange(file, line, client, format, values);
    va_end(values);
    check(file, line, pattern, reply);
    freeReplyObject(reply);
}

void say(redisContext *client, const char *format, ...)
{
    va_list values;
    int done = 0;
    va_start(values, format);
    append(client, format, values);
    va_end(values);
    while (!done) {
        if (redisBufferWrite(client, &done) != REDIS_OK)
            fail_at(__FILE__, __LINE__, "cannot send: %s", client->errstr);
    }
}

void expect_reply_at(const char *file, int line, redisContext *client, const char *pattern)
{
    redisReply *reply = next_reply(file, line, client);
    check(file, line, pattern, reply);
    freeReplyObject(reply);
}

void expect_closed_at(const char *file, int line, redisContext *client)
{
    void *reply = NULL;
    if (redisGetReply(client, &reply) == REDIS_OK) {
        char *text = reply_text(reply);
        fail_at(file, line, "expected the connection to close, got %s", text);
    }
    assert_true(client->err == REDIS_ERR_EOF || client->err == REDIS_ERR_IO);
}

void expect_silence_at(const char *file, int line, redisContext *client, int ms)
{
    struct pollfd waiting = {.fd = client->fd, .events = POLLIN};
    void *reply = NULL;
    redisReaderGetReply(client->reader,
                        &reply); /* it may have come together with an earlier one */
    if (reply)
        check(file, line, "(silence)", reply);
    if (poll(&waiting, 1, ms) != 0)
        expect_reply_at(file, line, client, "(silence)");
}

const redisReply *reply_field(const redisReply *reply, const char *name)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        if (strcmp(reply->element[i]->str, name) == 0)
            return reply->element[i + 1];
    }
    return NULL;
}

void expect_field_at(const char *file, int line, redisContext *client, const char *name,
                     const char *pattern, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = exchange(file, line, client, format, values);
    va_end(values);
    const redisReply *field = reply_field(reply, name);
    if (!field)
        fail_at(file, line, "no field '%s' in %s", name, reply_text(reply));
    check(file, line, pattern, field);
    freeReplyObject(reply);
}

void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void expect_option(redisContext *client, const char *name, const char *value)
{
    char pattern[256];
    snprintf(pattern, sizeof(pattern), "[\"%s\" \"%s\"]", name, value);
    expect(client, pattern, "CONFIG GET %s", name);
}

static redisReply *ask_type(redisContext *client, int type, const char *format, va_list values)
{
    redisReply *reply = exchange(__FILE__, __LINE__, client, format, values);
    bool wanted = type ? reply->type == type : reply->type != REDIS_REPLY_ERROR;
    if (type == REDIS_REPLY_STRING && reply->type == REDIS_REPLY_STATUS)
        wanted = true;
    if (!wanted)
        fail_at(__FILE__, __LINE__, "unexpected reply to '%s': %s", format, reply_text(reply));
    return reply;
}

redisReply *ask(redisContext *client, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask_type(client, 0, format, values);
    va_end(values);
    return reply;
}

int64_t ask_integer(redisContext *client, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask_type(client, REDIS_REPLY_INTEGER, format, values);
    va_end(values);
    int64_t integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

char *ask_string(redisContext *client, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask_type(client, REDIS_REPLY_STRING, format, values);
    va_end(values);
    char *string = strdup(reply->str);
    freeReplyObject(reply);
    return string;
}

char *ask_text(redisContext *client, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = exchange(__FILE__, __LINE__, client, format, values);
    va_end(values);
    char *text = reply_text(reply);
    freeReplyObject(reply);
    return text;
}

int64_t ask_field(redisContext *client, const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask_type(client, REDIS_REPLY_ARRAY, format, values);
    va_end(values);
    const redisReply *field = reply_field(reply, name);
    if (!field || field->type != REDIS_REPLY_INTEGER)
        fail_at(__FILE__, __LINE__, "no number '%s' in %s", name, reply_text(reply));
    int64_t integer = field->integer;
    freeReplyObject(reply);
    return integer;
}

int64_t ask_info(redisContext *client, const char *section, const char *name)
{
    char *info = ask_string(client, "INFO %s", section);
    char *line = NULL, *rest = NULL, *value = NULL;
    size_t size = strlen(name);
    int64_t number;
    for (line = strtok_r(info, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (!value && strncmp(line, name, size) == 0 && line[size] == ':')
            value = line + size + 1;
    }
    if (!value)
        fail_at(__FILE__, __LINE__, "no field '%s' in INFO", name);
    number = strtoll(value, NULL, 10);
    free(info);
    return number;
}

void await_blocked(redisContext *client, int count)
{
    for (int waited = 0; waited < 60000; waited++) {
        if (ask_info(client, "clients", "blocked_clients") == count)
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "never %d blocked clients", count);
}

/* Passes over a number in each text. Times in milliseconds have 13 digits. */
static bool pass_numbers(const char **left, const char **right)
{
    enum { DIGITS = 13, SECOND = 1000 };
    size_t size = strspn(*left, "0123456789"), other = strspn(*right, "0123456789");
    bool same = size == other && strncmp(*left, *right, size) == 0;
    bool near =
        size == DIGITS && other == DIGITS && llabs(atoll(*left) - atoll(*right)) < SECOND;

    *left += size;
    *right += other;
    return same || near;
}

void expect_same_job(const char *before, const char *after)
{
    const char *left = before, *right = after;
    bool same = true;

    while (same && *left != '\0' && *right != '\0')
        if (isdigit((unsigned char)*left) && isdigit((unsigned char)*right))
            same = pass_numbers(&left, &right);
        else
            same = *left++ == *right++;
    if (!same || *left != *right)
        assert_string_equal(before, after);
}

int64_t claim(redisContext *client, const char *topic, const char *id)
{
    redisReply *reply = ask(client, "Q.CLAIM %s", topic);
    if (reply->elements != 1 || strcmp(reply->element[0]->element[0]->str, id) != 0)
        fail_at(__FILE__, __LINE__, "expected to claim '%s', got %s", id, reply_text(reply));
    int64_t token = reply->element[0]->element[1]->integer;
    freeReplyObject(reply);
    return token;
}

/* ---- set-up */

int served_setup(void **state)
{
    struct served *served = calloc(1, sizeof(*served));
    if (!served)
        return -1;
    *state = served;
    served->server = server_process_start("");
    served->client = client_open(served->server);
    return 0;
}

int served_teardown(void **state)
{
    client_cleanup();
    server_process_cleanup();
    free(*state);
    *state = NULL;
    return 0;
}

redisContext *served_client(void **state)
{
    return ((struct served *)*state)->client;
}

struct server_process *served_server(void **state)
{
    return ((struct served *)*state)->server;
}

redisContext *served_waiter(void **state, int blocked, const char *command)
{
    redisContext *client = client_open(served_server(state));
    say(client, command);
    await_blocked(served_client(state), blocked);
    return client;
}
