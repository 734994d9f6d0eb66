/* kill -9 under a random mixture of what can be done with jobs (ROUNDS). Each client has two
 * topics of its own, and one command without a reply at a time, so its topics must be as they
 * were before that command or as they are after it. What that means is asked from a twin: a
 * server that gets the same commands and is not killed. */
#include "tests/support/client/client.h"
#include "tests/support/client/reply_text.h"
#include "tests/support/faults/sigkill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { CLIENTS = 6, JOBS = 12, LINES = 4, LINE_SIZE = 600, LOAD_MS = 120, MANY = 20000 };

/* Up to four lines: a transaction is one command here. */
struct command {
    char lines[LINES][LINE_SIZE];
    int count;
};

struct server_side {
    struct server_process *server;
    redisContext *clients[CLIENTS];
};

/* Priorities are unique in a topic: on both servers claims find jobs in the same order. */
static const char *job_options(struct dice *dice, int job)
{
    static char text[64];
    snprintf(text, sizeof(text), "j%d %s %d b%llu", job, dice_once_in(dice, 3) ? "1h" : "0",
             job, (unsigned long long)dice_roll(dice, 1000));
    return text;
}

static void add(struct command *command, const char *text)
{
    char *line = command->lines[command->count];
    size_t used = strlen(line);
    snprintf(line + used, LINE_SIZE - used, "%s", text);
}

/* "@" stands for the topic, "%" for the other one, "#" for a job, "!" for a claimed job and its
 * token, "+" for a new job as Q.MPUSH EACH wants it. */
static const char *const forms[] = {
    "Q.MPUSH @ EACH 3 + + +",
    "Q.MPUSH @ EACH 2 + + ONDUP IGNORE",
    "Q.MPUSH @ EACH 2 + + ONDUP REPLACE",
    "Q.MPUSH @ EACH 4 + + + +",
    "Q.CLAIM @ COUNT 2 LEASE 1h",
    "Q.CLAIM @ COUNT 3 LEASE 1h",
    "Q.CLAIM @ COUNT 2 LEASE 1h ACK ! !",
    "Q.POP @ COUNT 2",
    "Q.ACK @ !",
    "Q.ACK @ ! ! !",
    "Q.ACK @ ! RESULT answer KEEP 1h",
    "Q.ACK @ ! THEN PUSH % new ID j99 THEN PUSH @ x ID j98 PRIORITY 98",
    "Q.ACK @ ! RESULT answer THEN PUSH % new ID j97 PRIORITY 97",
    "Q.NACK @ ! DELAY 0 ERROR e PROGRESS p",
    "Q.NACK @ ! FATAL ERROR e",
    "Q.EXTEND @ ! 2h PROGRESS half",
    "Q.MOVE @ # %",
    "Q.UPDATE @ # BODY changed RETRIES 5",
    "Q.CANCEL @ #",
    "Q.RESCHEDULE @ # DELAY 1h",
    "Q.RUN @ # # # #",
    "Q.DEL @ # #",
    "Q.DEAD @ REDRIVE",
    "Q.DEAD @ REDRIVE TO %",
    "Q.DEAD @ PURGE",
    "Q.PURGE @ STATE delayed",
    "Q.PURGE @ MATCH j1*",
    "Q.PURGE @",
    "Q.DROP @",
    "Q.CONFIG SET @ retries 0 keep 1h",
    "Q.CONFIG SET @ dead-topic %",
    "Q.CONFIG RESET @",
    "Q.PAUSE @ IN",
    "Q.RESUME @",
    "MULTI;Q.ACK @ !;Q.MPUSH % EACH 2 + +;EXEC",
    "MULTI;Q.CLAIM @ LEASE 1h;Q.PUSH % x ID j96 PRIORITY 96;EXEC"};

/* Which job is claimed there, and its token. */
static bool find_claimed(redisContext *client, const char *topic, int job, char *ret_text,
                         size_t size)
{
    redisReply *reply = redisCommand(client, "Q.GET %s j%d", topic, job);
    bool found = reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
                 strcmp(reply_field(reply, "state")->str, "claimed") == 0;
    snprintf(ret_text, size, "j%d %lld", job, found ? reply_field(reply, "token")->integer : 0);
    freeReplyObject(reply);
    return found;
}

/* The first claimed job from `job` on, or that job with a token that is stale. */
static void write_claimed(struct command *command, redisContext *client, const char *topic,
                          int job)
{
    char text[64];
    for (int i = 0; i < JOBS; i++)
        if (find_claimed(client, topic, (job + i) % JOBS, text, sizeof(text)))
            break;
    add(command, text);
}

/* The same form with the same dice becomes a command for either server: the tokens differ. */
static struct command make(struct dice dice, redisContext *client, const char *form, int number)
{
    struct command command = {.count = 0};
    char topics[2][16];
    bool swap = dice_once_in(&dice, 3);
    snprintf(topics[swap], sizeof(topics[0]), "c%d", number);
    snprintf(topics[!swap], sizeof(topics[0]), "d%d", number);
    for (const char *at = form; *at; at++) {
        char text[64] = {*at};
        int job = (int)dice_roll(&dice, JOBS);
        if (*at == ';') {
            command.count++;
            continue;
        }
        if (*at == '!') {
            write_claimed(&command, client, topics[0], job);
            continue;
        }
        if (*at == '@' || *at == '%')
            snprintf(text, sizeof(text), "%s", topics[*at == '%']);
        else if (*at == '#')
            snprintf(text, sizeof(text), "j%d", job);
        else if (*at == '+')
            snprintf(text, sizeof(text), "%s", job_options(&dice, job));
        add(&command, text);
    }
    command.count++;
    return command;
}

static void send_command(redisContext *client, const struct command *command)
{
    int done = 0;
    for (int i = 0; i < command->count; i++)
        redisAppendCommand(client, command->lines[i]);
    while (!done && redisBufferWrite(client, &done) == REDIS_OK)
        continue;
}

/* The last reply as its type and its first word; NULL: the server has ended. */
static const char *read_reply(redisContext *client, const struct command *command)
{
    static char text[64];
    for (int i = 0; i < command->count; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(client, (void **)&reply) != REDIS_OK)
            return NULL;
        snprintf(text, sizeof(text), "%d %.*s %lld", reply->type,
                 reply->type == REDIS_REPLY_ERROR ? (int)strcspn(reply->str, " ") : 0,
                 reply->type == REDIS_REPLY_ERROR ? reply->str : "",
                 reply->type == REDIS_REPLY_INTEGER && reply->integer < 1000 ? reply->integer
                                                                             : 0);
        freeReplyObject(reply);
    }
    return text;
}

/* ---- what the topics of a client contain */

static void write_job(FILE *out, redisContext *client, const char *topic, int job)
{
    static const char *const names[] = {"state",     "body",     "attempt",  "priority",
                                        "retries",   "error",    "failures", "result",
                                        "cancelled", "followed", "progress"};
    redisReply *reply = ask(client, "Q.GET %s j%d", topic, job);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < sizeof(names) / sizeof(*names);
         i++) {
        char *text = reply_text(reply_field(reply, names[i]));
        fprintf(out, "%s ", text);
        free(text);
    }
    fprintf(out, "| ");
    freeReplyObject(reply);
}

static void write_topic(FILE *out, redisContext *client, const char *topic)
{
    static const char *const names[] = {"delayed", "ready", "claimed", "dead",
                                        "done",    "bytes", "paused"};
    redisReply *stats = ask(client, "Q.STATS %s", topic);
    char *settings = ask_text(client, "Q.CONFIG GET %s retries keep dead-topic", topic);
    fprintf(out, "%s %s ", topic, settings);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *text = reply_text(reply_field(stats, names[i]));
        fprintf(out, "%s=%s ", names[i], text);
        free(text);
    }
    for (int job = 0; job < JOBS; job++)
        write_job(out, client, topic, job);
    for (int job = 96; job < 100; job++)
        write_job(out, client, topic, job);
    fprintf(out, "\n");
    free(settings);
    freeReplyObject(stats);
}

static char *contents(redisContext *client, int number)
{
    char *text = NULL, topic[16];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    snprintf(topic, sizeof(topic), "c%d", number);
    write_topic(out, client, topic);
    snprintf(topic, sizeof(topic), "d%d", number);
    write_topic(out, client, topic);
    fclose(out);
    return text;
}

static bool agree(redisContext *killed, redisContext *twin, int number)
{
    char *one = contents(killed, number), *other = contents(twin, number);
    bool same = strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

/* ---- the load */

struct load {
    struct server_side killed, twin;
    struct dice *dice;
    struct command pending[CLIENTS]; /* for the twin; count 0: none */
    const char *forms[CLIENTS];
    unsigned long replies, undone, done; /* of the commands without a reply */
};

static void open_side(struct server_side *side)
{
    for (int i = 0; i < CLIENTS; i++)
        side->clients[i] = client_open(side->server);
}

static void close_side(struct server_side *side)
{
    for (int i = 0; i < CLIENTS; i++)
        client_close(side->clients[i]);
}

static void send_all(struct load *load)
{
    for (int i = 0; i < CLIENTS; i++) {
        const char *form = forms[dice_roll(load->dice, sizeof(forms) / sizeof(*forms))];
        struct dice dice = *load->dice;
        struct command command = make(dice, load->killed.clients[i], form, i);
        load->forms[i] = form;
        load->pending[i] = make(dice, load->twin.clients[i], form, i);
        send_command(load->killed.clients[i], &command);
        dice_bits(load->dice);
    }
}

/* A topic whose last job has gone is known until the server ends: what Q.DROP answers then says
 * when it was started. */
static bool is_same_reply(const char *form, const char *one, const char *other)
{
    return other != NULL && (strcmp(one, other) == 0 ||
                             (strcmp(form, "Q.DROP @") == 0 && strcmp(one, "3  0") == 0 &&
                              strcmp(other, "3  1") == 0));
}

static void run_on_twin(struct load *load, int number, const char *expected)
{
    struct command *command = &load->pending[number];
    send_command(load->twin.clients[number], command);
    const char *reply = read_reply(load->twin.clients[number], command);
    if (expected && !is_same_reply(load->forms[number], expected, reply))
        fail_at(__FILE__, __LINE__, "client %d, %s: '%s', but the twin '%s'", number,
                load->forms[number], expected, reply ? reply : "nothing");
    command->count = 0;
}

/* False: the server has ended. */
static bool read_all(struct load *load)
{
    bool alive = true;
    for (int i = 0; i < CLIENTS; i++) {
        char expected[64];
        const char *reply = read_reply(load->killed.clients[i], &load->pending[i]);
        alive &= reply != NULL;
        if (!reply)
            continue;
        load->replies++;
        snprintf(expected, sizeof(expected), "%s", reply);
        run_on_twin(load, i, expected);
    }
    return alive;
}

/* What was replied is there, and what was not is there whole or not at all. */
static void check(struct load *load)
{
    for (int i = 0; i < CLIENTS; i++) {
        redisContext *killed = load->killed.clients[i], *twin = load->twin.clients[i];
        bool same = agree(killed, twin, i), was_pending = load->pending[i].count > 0;
        if (!same && was_pending)
            run_on_twin(load, i, NULL);
        if (!same && (!was_pending || !agree(killed, twin, i)))
            fail_at(__FILE__, __LINE__, "client %d, last %s (%s)\n%s\nbut the twin\n%s", i,
                    load->forms[i], was_pending ? "no reply" : "replied", contents(killed, i),
                    contents(twin, i));
        load->done += was_pending && !same;
        load->undone += was_pending && same;
        load->pending[i].count = 0;
    }
}

static void live_and_die(struct load *load)
{
    struct server_process *server = load->killed.server;
    sigkill_choose_sizes(server, load->dice);
    sigkill_recovery(server, load->dice);
    server_process_run(server);
    open_side(&load->killed);
    check(load);
    sigkill_within(server, load->dice, LOAD_MS);
    do
        send_all(load);
    while (read_all(load));
    sigkill_await(server);
    close_side(&load->killed);
}

static void commands_on_jobs_are_done_whole_or_not_at_all(void **state)
{
    struct dice dice;
    struct load load = {.dice = &dice};
    (void)state;
    dice_begin(&dice);
    load.killed.server = server_process_new();
    load.twin.server = server_process_start("durability none");
    open_side(&load.twin);
    for (long rounds = dice_setting("ROUNDS", 60); rounds > 0; rounds--)
        live_and_die(&load);
    server_process_run(load.killed.server);
    open_side(&load.killed);
    check(&load);
    print_message("%lu replies; of those without one %lu were done, %lu were not or changed "
                  "nothing\n",
                  load.replies, load.done, load.undone);
    assert_true(load.replies > 0);
}

/* ---- removals of many */

static redisContext *push_many(const struct server_process *server, const char *topic)
{
    enum { BATCH = 1000 };
    static const char *words[BATCH + 3];
    redisContext *client = client_open(server);
    for (int i = 0; i < BATCH; i++)
        words[i + 3] = "body";
    words[0] = "Q.MPUSH";
    words[1] = topic;
    words[2] = "1000";
    for (int i = 0; i < MANY / BATCH; i++)
        freeReplyObject(redisCommandArgv(client, BATCH + 3, words, NULL));
    assert_int_equal(ask_integer(client, "Q.LEN %s", topic), MANY);
    return client;
}

static redisContext *kill_and_run(struct server_process *server)
{
    server_process_kill(server);
    client_cleanup();
    server_process_run(server);
    return client_open(server);
}

/* The records go in the background, also after restarts. */
static void a_drop_that_was_replied_goes_on_after_a_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("memtable-size 256kb");
    redisContext *client = push_many(server, "t");
    expect(client, "1", "Q.DROP t");
    for (int kills = 0; kills < 3; kills++) {
        client = kill_and_run(server);
        expect(client, "0", "Q.LEN t");
        expect(client, "[]", "Q.TOPICS");
    }
    expect(client, "*", "Q.PUSH t body ID again");
    expect(client, "[[\"again\" *]]", "Q.CLAIM t COUNT 10");
    expect(client, "1", "Q.LEN t");
}

static void a_purge_that_was_killed_is_sent_again(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("memtable-size 256kb");
    redisContext *client = push_many(server, "t");
    for (int kills = 0; kills < 5; kills++) {
        say(client, "Q.PURGE t");
        sleep_ms(2L * kills);
        client = kill_and_run(server);
        assert_int_equal(ask_field(client, "total-deleted", "Q.STATS t") +
                             ask_integer(client, "Q.LEN t"),
                         MANY);
    }
    int64_t left = ask_integer(client, "Q.LEN t");
    assert_int_equal(ask_integer(client, "Q.PURGE t"), left);
    client = kill_and_run(server);
    expect(client, "0", "Q.LEN t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(commands_on_jobs_are_done_whole_or_not_at_all),
        serving_test(a_drop_that_was_replied_goes_on_after_a_kill),
        serving_test(a_purge_that_was_killed_is_sent_again),
    };
    return cmocka_run_group_tests_name("sigkill of jobs", tests, NULL, NULL);
}
