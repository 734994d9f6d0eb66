/* What is true for any commands of several clients, in any order: each client is sent whole,
 * well-formed replies, and the store is sound afterwards and when it is opened again. The
 * fuzzer and the test that replays the corpus share this.
 *
 * Input: lines. The first character of a line says what it is, the rest is
 *   a to d  a command of that client, split like an inline command
 *   +       ms by which the clocks go on
 *   .       nothing: a commit
 *   =       nothing: a checkpoint begins */
#ifndef DUEQ_COMMAND_CHECK_H
#define DUEQ_COMMAND_CHECK_H

#include "storage/io.h"
#include "storage/kv/kv.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    COMMAND_CLIENTS = 4,
    COMMAND_LINES = 200,
    COMMAND_SLICES = 100, /* of long work, after each line */
    COMMAND_MIB = 1024 * 1024
};

struct command_check {
    struct command_runner *runner;
    struct connection *clients[COMMAND_CLIENTS];
    struct buffer sent[COMMAND_CLIENTS]; /* to each, and not yet looked at: less than a reply */
    bool sound;
};

static inline int command_no_sync(void *arg, int fd)
{
    (void)arg;
    (void)fd;
    return 0;
}

static inline int command_no_sync_dir(void *arg, const char *path)
{
    (void)arg;
    (void)path;
    return 0;
}

/* Small files; no syncs. */
static inline struct dueq_options command_options(void)
{
    static struct dueq_io io;
    struct dueq_options options;

    io = io_system;
    io.fdatasync = command_no_sync;
    io.fsync_dir = command_no_sync_dir;
    io.fsync_open_dir = command_no_sync;
    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE;
    options.memtable_bytes = COMMAND_MIB;
    options.segment_bytes = COMMAND_MIB / 4;
    options.journal_bytes = 2 * COMMAND_MIB;
    options.map_bytes = 64 * COMMAND_MIB;
    options.disk_reserve_bytes = 0;
    options.seed = 42;
    options.io = &io;
    return options;
}

/* ---- replies */

/* Where the line ends, after its CRLF; NULL: it does not. */
static inline const char *command_line_end(const char *at, const char *end)
{
    const char *cr = memchr(at, '\r', (size_t)(end - at));

    return cr == NULL || end - cr < 2 || cr[1] != '\n' ? NULL : cr + 2;
}

/* Where the reply ends, of RESP2 or RESP3; NULL: it is not whole, or *ret_good is false: it is
 * none. */
static inline const char *command_reply_end(const char *at, const char *end, bool *ret_good)
{
    const char *next = at == end ? NULL : command_line_end(at, end);
    long count = next == NULL ? 0 : strtol(at + 1, NULL, 10);

    *ret_good = *ret_good && (at == end || strchr("+-:$*%~>=_#,(", *at) != NULL);
    if (next == NULL || !*ret_good || strchr("+-:_#,(", *at) != NULL)
        return next;
    if (*at == '$' || *at == '=') {
        if (count >= 0 && end - next < count + 2)
            return NULL;
        *ret_good = count < 0 || (next[count] == '\r' && next[count + 1] == '\n');
        return count < 0 ? next : next + count + 2;
    }
    for (long left = *at == '%' ? 2 * count : count; left > 0 && next != NULL; left--)
        next = command_reply_end(next, end, ret_good);
    return next;
}

static inline void command_pass_replies(struct command_check *check, size_t index)
{
    struct buffer *sent = &check->sent[index];
    bool good = true;

    while (good && buffer_size(sent) > 0) {
        const char *at = buffer_content(sent);
        const char *next = command_reply_end(at, at + buffer_size(sent), &good);

        if (next == NULL)
            break;
        buffer_consume(sent, (size_t)(next - at));
    }
    if (!good)
        fprintf(stderr, "client %zu was sent %.*s\n", index, (int)buffer_size(sent),
                buffer_content(sent));
    check->sound = check->sound && good;
}

/* A reply that is not whole yet may be taken back: it stays. */
static inline void command_take_replies(struct command_check *check, size_t index)
{
    struct connection *client = check->clients[index];

    client->awaits_output = true; /* there is no socket to fill */
    connections_fill_all(client->server);
    client->awaits_output = false;
    if (client->unfinished > 0 || client->reply_is_aside || buffer_size(&client->output) == 0)
        return;
    buffer_append(&check->sent[index], buffer_content(&client->output),
                  buffer_size(&client->output));
    buffer_clear(&client->output);
    command_pass_replies(check, index);
}

static inline void command_take_all(struct command_check *check)
{
    for (size_t i = 0; i < COMMAND_CLIENTS; i++)
        if (check->clients[i] != NULL)
            command_take_replies(check, i);
}

/* A client that has all it was sent has it to the end. */
static inline bool command_is_whole(const struct command_check *check, size_t index)
{
    const struct connection *client = check->clients[index];

    return client == NULL || client->session.waiter != NULL ||
           buffer_size(&client->output) > 0 || buffer_size(&check->sent[index]) == 0;
}

/* ---- lines */

/* Of a client that is gone a new one takes the place. */
static inline struct connection *command_client(struct command_check *check, size_t index)
{
    struct connection *client = check->clients[index];

    if (client != NULL && client->session.life == SESSION_OPEN && !client->is_killed)
        return client;
    buffer_release(&check->sent[index]);
    buffer_init(&check->sent[index], SIZE_MAX / 2);
    check->clients[index] = runner_connect(check->runner);
    return check->clients[index];
}

/* What would leave the test: ports, and sleep. */
static inline bool command_is_refused(const char *line)
{
    static const char *const words[] = {"port", "bind", "unix", "tls", "maxclients"};

    if (strncasecmp(line, "debug", 5) == 0 && strcasestr(line, "sleep") != NULL)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(line, "config") != NULL && strcasestr(line, words[i]) != NULL)
            return true;
    return false;
}

static inline void command_finish_work(struct command_check *check)
{
    for (int i = 0; i < COMMAND_SLICES && runner_slice(check->runner); i++)
        command_take_all(check);
    command_take_all(check);
}

static inline void command_line(struct command_check *check, const char *line)
{
    struct connection *client;

    if (line[0] >= 'a' && line[0] < 'a' + COMMAND_CLIENTS && !command_is_refused(line + 1)) {
        client = command_client(check, (size_t)(line[0] - 'a'));
        if (connection_may_run(client))
            runner_run(check->runner, client, line + 1);
    } else if (line[0] == '+') {
        runner_pass(check->runner, strtol(line + 1, NULL, 10) & 0xffffffffffff);
    } else if (line[0] == '.') {
        runner_commit(check->runner);
    } else if (line[0] == '=') {
        kv_checkpoint_start(check->runner->server.store->kv);
    }
    command_finish_work(check);
}

static inline void command_lines(struct command_check *check, const char *text)
{
    char *copy = strdup(text), *rest = copy, *line;

    if (copy == NULL)
        abort();
    for (int i = 0; i < COMMAND_LINES && (line = strsep(&rest, "\n")) != NULL; i++)
        command_line(check, line);
    for (size_t i = 0; i < COMMAND_CLIENTS; i++)
        if (!command_is_whole(check, i)) {
            fprintf(stderr, "client %zu: a reply is cut off\n", i);
            check->sound = false;
        }
    free(copy);
}

/* ---- the store */

static inline void command_show_finding(void *arg, const char *where, const char *what)
{
    (void)arg;
    fprintf(stderr, "%s: %s\n", where, what);
}

static inline void command_verify(struct command_check *check)
{
    struct dueq_verify verify = {.on_finding = command_show_finding};

    check->sound = check->sound && dueq_verify(check->runner->server.store, &verify) == DUEQ_OK;
}

static inline void command_end_clients(struct command_check *check)
{
    for (size_t i = 0; i < check->runner->client_count; i++)
        session_leave(&check->runner->server, &check->runner->clients[i]->session);
    for (size_t i = 0; i < COMMAND_CLIENTS; i++)
        buffer_release(&check->sent[i]);
}

static inline bool commands_hold_up(const uint8_t *data, size_t size)
{
    struct dueq_options options = command_options();
    struct command_check check = {.runner = runner_new(NULL, &options), .sound = true};
    void *state = check.runner;
    char *text = strndup((const char *)data, size);

    if (check.runner == NULL || text == NULL)
        abort();
    check.runner->by_slices = true;
    check.runner->server.config.proto_max_bulk_len = COMMAND_MIB;
    check.runner->server.config.enable_debug_command = 1;
    command_lines(&check, text);
    command_end_clients(&check);
    runner_commit(check.runner);
    command_verify(&check);
    runner_reopen(check.runner, &options);
    command_verify(&check);
    runner_teardown(&state);
    free(text);
    return check.sound;
}

#endif
