#include "tests/support/models/keys_load.h"

#include "tests/support/client/reply_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { PIPELINE = 24, BRIEF_MS = 20 };

/* What a client does at one serial number. */
struct act {
    int client;
    uint64_t serial;
    int number, slot; /* > 0; < KEYS_LOAD_SLOTS */
};

/* ---- acts: the commands of each, its effect and its reply */

static void say_add(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "INCRBY %d:n %d", act->client, act->number);
}
static void do_add(struct keys_state *state, const struct act *act, FILE *reply)
{
    state->counted = true;
    state->counter += act->number;
    fprintf(reply, "%" PRId64, state->counter);
}

static void say_set(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "SET %d:n %d", act->client, act->number);
}
static void do_set(struct keys_state *state, const struct act *act, FILE *reply)
{
    state->counted = true;
    state->expires = false;
    state->counter = act->number;
    fputs("OK", reply);
}

static void say_delete(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "DEL %d:n", act->client);
}
static void do_delete(struct keys_state *state, const struct act *act, FILE *reply)
{
    (void)act;
    fprintf(reply, "%d", state->counted);
    state->counted = state->expires = false;
    state->counter = 0;
}

static void say_expire(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "EXPIRE %d:n 100000", act->client);
}
static void do_expire(struct keys_state *state, const struct act *act, FILE *reply)
{
    (void)act;
    fprintf(reply, "%d", state->counted);
    state->expires = state->counted;
}

static void say_brief(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "SET %d:brief %d PX %d", act->client, act->number, BRIEF_MS);
}
static void do_brief(struct keys_state *state, const struct act *act, FILE *reply)
{
    (void)state;
    (void)act;
    fputs("OK", reply);
}

static void say_field(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "HSET %d:h f%d %d", act->client, act->slot, act->number);
}
static void do_field(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", state->fields[act->slot] == 0);
    state->fields[act->slot] = act->number;
}

static void say_no_field(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "HDEL %d:h f%d", act->client, act->slot);
}
static void do_no_field(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", state->fields[act->slot] != 0);
    state->fields[act->slot] = 0;
}

static void say_score(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "ZADD %d:z %d m%d", act->client, act->number, act->slot);
}
static void do_score(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", state->scores[act->slot] == 0);
    state->scores[act->slot] = act->number;
}

static void say_no_score(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "ZREM %d:z m%d", act->client, act->slot);
}
static void do_no_score(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", state->scores[act->slot] != 0);
    state->scores[act->slot] = 0;
}

static void say_member(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "SADD %d:s m%d", act->client, act->slot);
}
static void do_member(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", !state->members[act->slot]);
    state->members[act->slot] = true;
}

static void say_no_member(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "SREM %d:s m%d", act->client, act->slot);
}
static void do_no_member(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%d", state->members[act->slot]);
    state->members[act->slot] = false;
}

static void insert(struct keys_state *state, int list, uint64_t element)
{
    uint64_t *elements = state->lists[list];

    memmove(elements + 1, elements, (KEYS_LOAD_LIST - 1) * sizeof(*elements));
    elements[0] = element;
    if (state->counts[list] < KEYS_LOAD_LIST)
        state->counts[list]++;
}

/* Sends a push that keeps the list short. */
static void say_push(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "LPUSH %d:a %llu", act->client, (unsigned long long)act->serial);
    redisAppendCommand(server, "LTRIM %d:a 0 %d", act->client, KEYS_LOAD_LIST - 1);
}
static void do_push(struct keys_state *state, const struct act *act, FILE *reply)
{
    fprintf(reply, "%zu OK", state->counts[0] + 1);
    insert(state, 0, act->serial);
}

static void say_move(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "RPOPLPUSH %d:a %d:b", act->client, act->client);
    redisAppendCommand(server, "LTRIM %d:b 0 %d", act->client, KEYS_LOAD_LIST - 1);
}
static void do_move(struct keys_state *state, const struct act *act, FILE *reply)
{
    uint64_t element;

    (void)act;
    if (state->counts[0] == 0) {
        fputs("nil OK", reply);
        return;
    }
    element = state->lists[0][--state->counts[0]];
    fprintf(reply, "\"%" PRIu64 "\" OK", element);
    insert(state, 1, element);
}

/* Sends a transaction, which must be done whole or not at all. */
static void say_twins(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "MULTI");
    redisAppendCommand(server, "INCR %d:x", act->client);
    redisAppendCommand(server, "HSET %d:h f0 %d", act->client, act->number);
    redisAppendCommand(server, "INCR %d:y", act->client);
    redisAppendCommand(server, "EXEC");
}
static void do_twins(struct keys_state *state, const struct act *act, FILE *reply)
{
    state->twins++;
    fprintf(reply, "OK QUEUED QUEUED QUEUED [%" PRId64 " %d %" PRId64 "]", state->twins,
            state->fields[0] == 0, state->twins);
    state->fields[0] = act->number;
}

/* Sends changes of keys that all clients share. */
static void say_shared(redisContext *server, const struct act *act)
{
    (void)act;
    redisAppendCommand(server, "MULTI");
    redisAppendCommand(server, "INCR shared:x");
    redisAppendCommand(server, "RPOPLPUSH shared:new shared:old");
    redisAppendCommand(server, "INCR shared:y");
    redisAppendCommand(server, "EXEC");
}
static void do_shared(struct keys_state *state, const struct act *act, FILE *reply)
{
    (void)state;
    (void)act;
    fputs("OK QUEUED QUEUED QUEUED [*]", reply);
}

static void say_share(redisContext *server, const struct act *act)
{
    redisAppendCommand(server, "LPUSH shared:new %d-%llu", act->client,
                       (unsigned long long)act->serial);
}
static void do_share(struct keys_state *state, const struct act *act, FILE *reply)
{
    (void)state;
    (void)act;
    fputs("*", reply);
}

static const struct act_kind {
    void (*say)(redisContext *server, const struct act *act);
    void (*run)(struct keys_state *state, const struct act *act, FILE *reply);
    int replies;
} kinds[] = {{say_add, do_add, 1},
             {say_add, do_add, 1},
             {say_set, do_set, 1},
             {say_delete, do_delete, 1},
             {say_expire, do_expire, 1},
             {say_brief, do_brief, 1},
             {say_field, do_field, 1},
             {say_no_field, do_no_field, 1},
             {say_score, do_score, 1},
             {say_score, do_score, 1},
             {say_no_score, do_no_score, 1},
             {say_member, do_member, 1},
             {say_no_member, do_no_member, 1},
             {say_push, do_push, 2},
             {say_push, do_push, 2},
             {say_move, do_move, 2},
             {say_twins, do_twins, 5},
             {say_twins, do_twins, 5},
             {say_shared, do_shared, 5},
             {say_share, do_share, 1}};

static const struct act_kind *act_at(int client, uint64_t serial, struct act *ret_act)
{
    uint64_t bits = dice_hash(serial * KEYS_LOAD_CLIENTS + (uint64_t)client + 1);

    *ret_act = (struct act){client, serial, 1 + (int)(bits >> 40) % 1000,
                            (int)(bits >> 20 & 0xffff) % KEYS_LOAD_SLOTS};
    return &kinds[(bits & 0xffff) % (sizeof(kinds) / sizeof(kinds[0]))];
}

/* ---- the load */

void keys_load_open(struct keys_load *load, const struct server_process *server)
{
    for (int i = 0; i < KEYS_LOAD_CLIENTS; i++)
        load->clients[i].connection = client_open(server);
}

static void send_some(struct keys_load *load, int number)
{
    struct keys_client *client = &load->clients[number];
    uint64_t left = dice_roll(load->dice, PIPELINE);

    for (; client->connection != NULL && left > 0; left--) {
        struct act act;
        const struct act_kind *kind = act_at(number, client->sent++, &act);

        kind->say(client->connection, &act);
        load->pushes_sent += kind->say == say_share;
    }
}

static void lose(struct keys_client *client)
{
    client_close(client->connection);
    client->connection = NULL;
}

/* Reads the replies to one act, separated by spaces; NULL: the connection is lost. */
static char *read_replies(struct keys_client *client, int count)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (int i = 0; i < count && client->connection != NULL; i++) {
        void *reply = NULL;
        char *one;

        if (redisGetReply(client->connection, &reply) != REDIS_OK) {
            lose(client);
            continue;
        }
        one = reply_text(reply);
        fprintf(out, "%s%s", i > 0 ? " " : "", one);
        free(one);
        freeReplyObject(reply);
    }
    fclose(out);
    if (client->connection != NULL)
        return text;
    free(text);
    return NULL;
}

/* Applies the act to the state. Returns the expected replies, which the caller frees. */
static char *run_act(struct keys_state *state, const struct act_kind *kind,
                     const struct act *act)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    kind->run(state, act, out);
    fclose(out);
    return text;
}

/* Both counters have the same value, and no two clients get the same one. */
static void take_shared(struct keys_load *load, const char *text)
{
    int64_t x = 0, y = -1;

    assert_int_equal(sscanf(strchr(text, '['), "[%" SCNd64 "%*[^]]", &x), 1);
    sscanf(strrchr(text, ' '), " %" SCNd64 "]", &y);
    assert_int_equal(x, y);
    if (x > load->shared)
        load->shared = x;
}

/* False: the connection is lost. */
static bool read_one(struct keys_load *load, int number)
{
    struct keys_client *client = &load->clients[number];
    struct act act;
    const struct act_kind *kind = act_at(number, client->replied, &act);
    char *text = read_replies(client, kind->replies), *wanted;

    if (text == NULL)
        return false;
    wanted = run_act(&client->state, kind, &act);
    if (!reply_text_matches(wanted, text))
        fail_at(__FILE__, __LINE__, "client %d, request %" PRIu64 ": expected %s, got %s",
                number, client->replied, wanted, text);
    if (kind->say == say_shared)
        take_shared(load, text);
    load->pushes += kind->say == say_share;
    client->replied++;
    load->steps++;
    free(wanted);
    free(text);
    return true;
}

bool keys_load_step(struct keys_load *load)
{
    bool there = true;

    for (int i = 0; i < KEYS_LOAD_CLIENTS; i++)
        send_some(load, i);
    for (int i = 0; i < KEYS_LOAD_CLIENTS; i++) {
        struct keys_client *client = &load->clients[i];
        uint64_t left = dice_roll(load->dice, client->sent - client->replied + 1);

        while (client->connection != NULL && left-- > 0)
            read_one(load, i);
        there = there && client->connection != NULL;
    }
    return there;
}

void keys_load_finish(struct keys_load *load)
{
    for (int i = 0; i < KEYS_LOAD_CLIENTS; i++) {
        struct keys_client *client = &load->clients[i];

        while (client->connection != NULL && client->replied < client->sent)
            read_one(load, i);
        if (client->connection != NULL)
            lose(client);
    }
}

/* ---- the state after a restart */

static void print_list(const struct keys_state *state, int list, FILE *out)
{
    fputs("[", out);
    for (size_t i = 0; i < state->counts[list]; i++)
        fprintf(out, "%s\"%" PRIu64 "\"", i > 0 ? " " : "", state->lists[list][i]);
    fputs("]\n", out);
}

static void print_slots(const int *slots, FILE *out)
{
    fputs("[", out);
    for (int i = 0; i < KEYS_LOAD_SLOTS; i++) {
        fputs(i > 0 ? " " : "", out);
        if (slots[i] == 0)
            fputs("nil", out);
        else
            fprintf(out, "\"%d\"", slots[i]);
    }
    fputs("]\n", out);
}

static int count_slots(const int *slots)
{
    int count = 0;

    for (int i = 0; i < KEYS_LOAD_SLOTS; i++)
        count += slots[i] != 0;
    return count;
}

static void print_members(const struct keys_state *state, FILE *out)
{
    int count = 0;

    fputs("[", out);
    for (int i = 0; i < KEYS_LOAD_SLOTS; i++) {
        fprintf(out, "%s%d", i > 0 ? " " : "", state->members[i]);
        count += state->members[i];
    }
    fprintf(out, "]\n%d\n", count);
}

static void print_number(bool there, int64_t number, FILE *out)
{
    if (there)
        fprintf(out, "\"%" PRId64 "\"\n", number);
    else
        fputs("nil\n", out);
}

/* Describes the state in the form that read_state returns. */
static char *describe(const struct keys_state *state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    print_number(state->counted, state->counter, out);
    fprintf(out, "%d\n", !state->counted ? -2 : state->expires ? 1 : -1);
    print_number(state->twins > 0, state->twins, out);
    print_number(state->twins > 0, state->twins, out);
    print_slots(state->fields, out);
    fprintf(out, "%d\n", count_slots(state->fields));
    print_slots(state->scores, out);
    fprintf(out, "%d\n", count_slots(state->scores));
    print_members(state, out);
    print_list(state, 0, out);
    print_list(state, 1, out);
    fclose(out);
    return text;
}

static char *read_state(redisContext *checker, int client)
{
    static const char *const questions[] = {"GET %d:n",
                                            "TTL %d:n",
                                            "GET %d:x",
                                            "GET %d:y",
                                            "HMGET %d:h f0 f1 f2 f3 f4 f5",
                                            "HLEN %d:h",
                                            "ZMSCORE %d:z m0 m1 m2 m3 m4 m5",
                                            "ZCOUNT %d:z -inf +inf",
                                            "SMISMEMBER %d:s m0 m1 m2 m3 m4 m5",
                                            "SCARD %d:s",
                                            "LRANGE %d:a 0 -1",
                                            "LRANGE %d:b 0 -1"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        char *answer = ask_text(checker, questions[i], client);
        bool some_time = i == 1 && answer[0] != '-';

        fprintf(out, "%s\n", some_time ? "1" : answer);
        free(answer);
    }
    fclose(out);
    return text;
}

/* An act of two commands may have been done by half: LPUSH without its LTRIM. */
static void trim(redisContext *checker, int client, const char *list)
{
    if (ask_integer(checker, "LLEN %d:%s", client, list) > KEYS_LOAD_LIST)
        expect(checker, "OK", "LTRIM %d:%s 0 %d", client, list, KEYS_LOAD_LIST - 1);
}

/* Finds how many of the requests without a reply were done. */
static void settle(struct keys_client *client, int number, const char *found)
{
    struct keys_state state = client->state;
    uint64_t done = client->replied;
    char *wanted = describe(&state);

    while (strcmp(wanted, found) != 0 && done < client->sent) {
        struct act act;
        const struct act_kind *kind = act_at(number, done++, &act);

        free(run_act(&state, kind, &act));
        free(wanted);
        wanted = describe(&state);
    }
    free(wanted);
    if (strcmp((wanted = describe(&state)), found) != 0) {
        char *least = describe(&client->state);

        fail_at(__FILE__, __LINE__,
                "client %d: the server has\n%s\nafter %" PRIu64 " replies it should be\n%s\n"
                "or what up to %" PRIu64 " requests make of it",
                number, found, client->replied, least, client->sent);
    }
    free(wanted);
    client->state = state;
    client->replied = client->sent;
}

/* The key never lives longer than its expiry, and never without one. */
static void check_brief(redisContext *checker, int client)
{
    int64_t left = ask_integer(checker, "PTTL %d:brief", client);

    assert_true(left == -2 || (left >= 0 && left <= BRIEF_MS));
}

static int64_t read_counter(redisContext *checker, const char *name)
{
    char *text = ask_text(checker, "GET %s", name);
    int64_t number = text[0] == '"' ? strtoll(text + 1, NULL, 10) : 0;

    free(text);
    return number;
}

static void check_shared(struct keys_load *load, redisContext *checker)
{
    int64_t x = read_counter(checker, "shared:x"), elements;

    assert_int_equal(x, read_counter(checker, "shared:y"));
    assert_true(x >= load->shared);
    load->shared = x;
    elements =
        ask_integer(checker, "LLEN shared:new") + ask_integer(checker, "LLEN shared:old");
    assert_true(elements >= (int64_t)load->pushes && elements <= (int64_t)load->pushes_sent);
    load->pushes = load->pushes_sent = (uint64_t)elements;
}

void keys_load_check(struct keys_load *load, redisContext *checker)
{
    for (int i = 0; i < KEYS_LOAD_CLIENTS; i++) {
        char *found;

        check_brief(checker, i);
        trim(checker, i, "a");
        trim(checker, i, "b");
        found = read_state(checker, i);
        settle(&load->clients[i], i, found);
        free(found);
    }
    check_shared(load, checker);
}
