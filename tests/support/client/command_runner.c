#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "protocol/tokens.h"
#include "server/acl/acl.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/pubsub.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "storage/keys/keys.h"
#include "storage/keys/state/changes.h"
#include "tests/support/client/raw_client.h"
#include "tests/support/client/reply_text.h"
#include "tests/support/temp_dir.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* ---- set-up */

static bool try_to_open(struct command_runner *runner, const struct dueq_options *options,
                        struct dueq_error *error)
{
    struct server *server = &runner->server;
    if (dueq_open(runner->dir, options, server->now, &server->store, error) != DUEQ_OK)
        return false;
    changes_enable(store_keys(server->store), true);
    return true;
}

static void open_store(struct command_runner *runner, const struct dueq_options *options)
{
    struct dueq_error error;
    if (!try_to_open(runner, options, &error))
        fail_at(__FILE__, __LINE__, "%s", error.text);
}

void runner_reopen(struct command_runner *runner, const struct dueq_options *options)
{
    uint64_t lsn;
    dueq_commit(runner->server.store, runner->server.now, &lsn);
    dueq_close(runner->server.store);
    open_store(runner, options);
}

void runner_abandon(struct command_runner *runner)
{
    dueq_abandon(runner->server.store);
    open_store(runner, NULL);
}

struct connection *runner_connect(struct command_runner *runner)
{
    struct resp_limits limits = {1024, 1 << 20, 65536, 1 << 20, false, 0};
    struct connection *client = calloc(1, sizeof(*client));
    if (client == NULL || runner->client_count == RUNNER_CLIENTS)
        abort();
    runner->clients[runner->client_count++] = client;
    client->server = &runner->server;
    client->reader = resp_reader_new(&limits);
    connection_init_output(client);
    struct session *session = &client->session;
    session->id = ++runner->server.next_session;
    session->fd = -1;
    session->protocol = 2;
    snprintf(session->address, sizeof(session->address), "127.0.0.1:%d",
             1000 + (int)session->id);
    snprintf(session->local_address, sizeof(session->local_address), "127.0.0.1:6379");
    session_log_out(&runner->server, session);
    server_add_session(&runner->server, session);
    return client;
}

/* All but the store. */
static struct command_runner *runner_prepare(char *dir)
{
    struct command_runner *runner = calloc(1, sizeof(*runner));
    if (runner == NULL)
        abort();
    runner->dir = dir == NULL ? temp_dir_new() : dir;
    config_init(&runner->server.config);
    runner->server.now = (struct dueq_time){RUNNER_START, RUNNER_START, RUNNER_START};
    runner->server.clock.last = (struct clock_times){RUNNER_START, 0};
    runner->server.clock.wall_usec = RUNNER_START * 1000;
    runner->server.waiters = waiters_new(RUNNER_START);
    runner->server.watches = watches_new();
    runner->server.long_works = long_works_new();
    runner->server.pubsub = pubsub_new();
    runner->server.acl = acl_new();
    return runner;
}

int runner_setup(void **state)
{
    struct command_runner *runner = runner_prepare(NULL);
    open_store(runner, NULL);
    runner_connect(runner);
    *state = runner;
    return 0;
}

struct command_runner *runner_new(char *dir, const struct dueq_options *options)
{
    struct command_runner *runner = runner_prepare(dir);
    struct dueq_error error;
    void *state = runner;
    if (try_to_open(runner, options, &error)) {
        runner_connect(runner);
        return runner;
    }
    runner_teardown(&state);
    return NULL;
}

int runner_teardown(void **state)
{
    struct command_runner *runner = *state;
    for (size_t i = 0; i < runner->client_count; i++) {
        struct connection *client = runner->clients[i];
        session_leave(&runner->server, &client->session);
        server_remove_session(&runner->server, &client->session);
        session_release(&client->session);
        resp_reader_free(client->reader);
        buffer_release(&client->output);
        free(client);
    }
    slowlog_reset(&runner->server.slowlog);
    bound_jobs_forget(&runner->server);
    workers_release(&runner->server);
    waiters_free(runner->server.waiters);
    watches_free(runner->server.watches);
    long_works_free(runner->server.long_works);
    pubsub_free(runner->server.pubsub);
    acl_free(runner->server.acl);
    dueq_close(runner->server.store);
    config_release(&runner->server.config);
    temp_dir_remove(runner->dir);
    free(runner);
    return 0;
}

/* ---- time */

void runner_move_clock(struct command_runner *runner, int64_t ms)
{
    struct server *server = &runner->server;
    server->now.now += ms;
    server->now.wall += ms;
    server->now.ceiling = server->now.now;
    server->clock.wall_usec += ms * 1000;
    server->clock.last.wall += ms;
    server->clock.last.monotonic += ms;
}

void runner_pass(struct command_runner *runner, int64_t ms)
{
    struct server *server = &runner->server;
    runner_move_clock(runner, ms);
    while (dueq_tick(server->store, server->now, 1000))
        continue;
    waiters_serve(server);
    waiters_expire(server);
}

static bool doom_some(struct server *server)
{
    bool any = server->killed != NULL;
    for (int i = 0; i < RUNNER_KILLS && server->killed != NULL; i++)
        connection_doom_killed(server);
    return any;
}

bool runner_slice(struct command_runner *runner)
{
    struct server *server = &runner->server;
    bool any = doom_some(server) || pubsub_is_busy(server);
    uint64_t lsn;
    pubsub_turn(server);
    if (long_works_next(server) == DUEQ_NEVER)
        return any;
    while (long_works_next(server) > 0) { /* until the checkpoint lets the work continue */
        dueq_maintain(server->store, false);
        usleep(1000);
    }
    long_works_turn(server);
    if (!alone_runs(server))
        dueq_tick(server->store, server->now, 100);
    waiters_serve(server);
    alone_settled(server);
    if (alone_runs(server))
        return true;
    dueq_commit(server->store, server->now, &lsn);
    dueq_maintain(server->store, false);
    return true;
}

static uint64_t written(const struct command_runner *runner)
{
    struct dueq_stats stats;
    dueq_get_stats(runner->server.store, &stats);
    return stats.journal_written_bytes;
}

int runner_finish(struct command_runner *runner, uint64_t slice_bytes)
{
    int slices = 0;
    for (;; slices++) {
        uint64_t before = written(runner);
        if (!runner_slice(runner))
            return slices;
        assert_in_range(written(runner) - before, 0, slice_bytes);
    }
}

void runner_commit(struct command_runner *runner)
{
    uint64_t lsn;
    assert_int_equal(dueq_commit(runner->server.store, runner->server.now, &lsn), DUEQ_OK);
    waiters_serve(&runner->server);
}

/* ---- running */

static void run_words(struct connection *client, const struct argument *words, int count)
{
    struct request request = {(size_t)count, words, 0};
    for (int i = 0; i < count; i++)
        request.bytes += words[i].size;
    if (!client->is_killed)
        connection_run(client, &request, NULL, false);
}

void runner_run(struct command_runner *runner, struct connection *client, const char *line)
{
    size_t size = strlen(line), most = size / 2 + 1;
    struct argument *words = malloc(most * sizeof(*words));
    char *space = malloc(2 * size + 1);
    if (words == NULL || space == NULL)
        abort();
    int count = tokens_split(line, size, space, words, most);
    if (count >= 1)
        run_words(client, words, count);
    free(space); /* as the reader does */
    free(words);
    if (count < 1)
        return;
    waiters_serve(&runner->server);
    while (!runner->by_slices && runner_slice(runner))
        continue;
}

static void print_replies(struct buffer *output, FILE *out)
{
    struct raw_client raw = {-1, fmemopen(buffer_content(output), buffer_size(output), "r")};
    if (raw.input == NULL)
        abort();
    const char *space = "";
    for (int next = fgetc(raw.input); next != EOF; next = fgetc(raw.input)) {
        ungetc(next, raw.input);
        char *text = raw_reply(&raw);
        fprintf(out, "%s%s", space, text);
        space = " ";
        free(text);
    }
    fclose(raw.input);
}

/* Returns what the client was sent since the last call, in the notation of reply_text.h; a
 * space between replies. */
static char *take_text(struct connection *client)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    if (buffer_size(&client->output) > 0)
        print_replies(&client->output, out);
    buffer_clear(&client->output);
    fclose(out);
    return text;
}

void runner_expect_reply_at(const char *file, int line_number, struct connection *client,
                            const char *pattern)
{
    char *text = take_text(client);
    if (!reply_text_matches(pattern, text))
        fail_at(file, line_number, "expected %s\n     got %.4000s", pattern, text);
    free(text);
}

void runner_expect_at(const char *file, int line_number, struct command_runner *runner,
                      struct connection *client, const char *pattern, const char *line)
{
    runner_run(runner, client, line);
    runner_expect_reply_at(file, line_number, client, pattern);
}

void runner_expect_all_at(const char *file, int line_number, struct command_runner *runner,
                          const char *const (*cases)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct connection *client = runner->clients[0];
        runner_run(runner, client, cases[i][1]);
        char *text = take_text(client);
        if (!reply_text_matches(cases[i][0], text))
            fail_at(file, line_number, "%s: expected %s\n     got %.4000s", cases[i][1],
                    cases[i][0], text);
        free(text);
    }
}

static struct connection *client_of(struct command_runner *runner, char letter)
{
    size_t index = (size_t)(letter - 'a');
    while (runner->client_count <= index)
        runner_connect(runner);
    return runner->clients[index];
}

void runner_follow_at(const char *file, int line_number, struct command_runner *runner,
                      const struct runner_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct runner_step *step = &steps[i];
        if (step->client == '+') {
            runner_pass(runner, strtol(step->line, NULL, 10));
            continue;
        }
        struct connection *client = client_of(runner, step->client);
        if (step->line != NULL)
            runner_run(runner, client, step->line);
        char *text = take_text(client);
        if (!reply_text_matches(step->pattern, text))
            fail_at(file, line_number, "step %zu, %c: %s: expected %s\n     got %.4000s", i,
                    step->client, step->line == NULL ? "(heard)" : step->line, step->pattern,
                    text);
        free(text);
    }
}

char *runner_bytes(struct command_runner *runner, const char *line)
{
    struct connection *client = runner->clients[0];
    runner_run(runner, client, line);
    size_t size = buffer_size(&client->output);
    char *bytes = size == 0 ? strdup("") : strndup(buffer_content(&client->output), size);
    buffer_clear(&client->output);
    return bytes;
}

void runner_expect_bytes_at(const char *file, int line_number, struct command_runner *runner,
                            const char *bytes, const char *line)
{
    char *got = runner_bytes(runner, line);
    if (strcmp(got, bytes) != 0)
        fail_at(file, line_number, "%s: expected %s\n     got %.4000s", line, bytes, got);
    free(got);
}

struct connection *runner_waiting(struct command_runner *runner, const char *line)
{
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "", line);
    if (client->session.waiter == NULL)
        fail_at(__FILE__, __LINE__, "%s: the client does not wait", line);
    return client;
}
