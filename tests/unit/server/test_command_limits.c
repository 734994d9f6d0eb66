/* Every number that a client can send, at its limits. The requests come from the syntax in the
 * table of commands: each argument that is not a key takes each extreme value, alone, together
 * with its neighbour, and all arguments at once. So a new command is tested without being named
 * here. Each reply is well formed and has a limited size, no request takes long, and the stored
 * data stays sound. */
#include "storage/store.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/docs/syntax.h"
#include "server/session/waiters.h"
#include "storage/keys/keys.h"
#include "tests/support/client/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WORDS = 40,
    SLICES = 5,          /* of a command that goes on in later turns */
    REPLY_MAX = 4 << 20, /* bytes */
    CPU_SECONDS = 20,    /* of one request; a wide margin, for sanitizers on a busy machine */
    EXPECTED_REQUESTS = 20000,
    STRING_MAX = 1 << 20 /* bytes: the largest ones cost half a second each */
};

static const char *const extremes[] = {
    "0",
    "-1",
    "1",
    "1048575", /* the last byte of a string, and its last bit */
    "8388607",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "inf",
    "-inf",
    "nan",
    "1e308",
    "-1e308",
    "1e-320",
    "0.1",
    "-0",
    "1e5000",
    "9223372036854775807d",
    "106751991168d",
    "",
};
enum { EXTREMES = sizeof(extremes) / sizeof(extremes[0]) };

/* They end the client that asks, or the server. */
static const char *const excluded[] = {"client|kill", "quit", "shutdown"};

/* A request that is being put together, and for which node of the syntax each of its words
 * stands that is a value. */
struct draft {
    const char *words[WORDS];
    int value_of[WORDS]; /* -1: the word is no value */
    int count;
};

/* What to choose where the syntax leaves a choice: the optional node to include, and which of
 * several words. */
struct choice {
    int optional, alternative;
    bool used, more; /* the optional node was met; there are further alternatives */
};

/* LMDB loses its list of spilled pages when it writes a value of 256 MiB. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:mdb_midl_alloc";
}

static struct command_runner *runner;
static struct connection *client;
static const char *key_name;                    /* that keys get */
static bool paired[SYNTAX_NODES][SYNTAX_NODES]; /* of the command: both together were tried */
static long requests;

/* ---- the keys that there are */

static void run_words(const char *const *words, int count)
{
    struct argument arguments[WORDS];
    struct request request = {(size_t)count, arguments, 0};
    for (int i = 0; i < count; i++) {
        arguments[i] = (struct argument){(char *)(uintptr_t)words[i], strlen(words[i])};
        request.bytes += arguments[i].size;
    }
    connection_run(client, &request, NULL, false);
    waiters_serve(&runner->server);
}

static void fill(void)
{
    static const char *const lines[][WORDS] = {
        {"FLUSHALL"},
        {"SET", "string", "10"},
        {"RPUSH", "list", "1", "2", "3"},
        {"SADD", "set", "1", "2", "3"},
        {"ZADD", "zset", "1", "1", "2", "2", "3", "3"},
        {"HSET", "hash", "1", "1", "2", "2", "3", "3"},
        {"Q.PUSH", "topic", "1", "ID", "1"},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        int count = 0;
        while (lines[i][count] != NULL)
            count++;
        run_words(lines[i], count);
    }
    buffer_clear(&client->output);
}

/* ---- replies */

/* Returns where the reply ends; NULL: it is not well formed. RESP2. */
static const char *skip_reply(const char *at, const char *end)
{
    const char *line = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));
    char kind = at == end ? '\0' : *at, *stop;
    long long count;
    if (line == NULL || line == at || line[-1] != '\r' || strchr("+-:$*", kind) == NULL)
        return NULL;
    if (kind == '+' || kind == '-')
        return line + 1;
    count = strtoll(at + 1, &stop, 10);
    if (stop != line - 1 || (kind != ':' && count < -1))
        return NULL;
    at = line + 1;
    if (kind == '$' && count >= 0)
        return end - at < count + 2 ? NULL : at + count + 2;
    for (; kind == '*' && count > 0 && at != NULL; count--)
        at = skip_reply(at, end);
    return at;
}

static void fail_request(const struct draft *draft, const char *why)
{
    char text[1024] = "";
    for (int i = 0; i < draft->count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " '%.40s'", draft->words[i]);
    fail_msg("%s: %s", why, text);
}

/* ---- one request */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void settle(const struct draft *draft)
{
    struct session *session = &client->session;
    const char *at = buffer_content(&client->output), *end = at + buffer_size(&client->output);
    if (buffer_size(&client->output) > REPLY_MAX)
        fail_request(draft, "the reply is too long");
    if (session->waiter != NULL) {
        waiters_cancel(&runner->server, session);
        client->is_replying = false;
    } else {
        while (at != end && at != NULL)
            at = skip_reply(at, end);
        if (at == NULL)
            fail_request(draft, "the reply is not well formed");
        if (buffer_size(&client->output) == 0 && !session->reply_off &&
            session->reply_skip == 0)
            fail_request(draft, "there is no reply");
    }
    buffer_clear(&client->output);
    session->reply_off = false;
    session->reply_skip = 0;
    runner->server.pause_until = 0;
}

static void try_request(const struct command *command, const struct draft *draft)
{
    static const char *const reset[] = {"RESET"};
    double began = cpu_seconds();
    uint64_t lsn;
    run_words(draft->words, draft->count);
    for (int i = 0; i < SLICES && client->session.waiter != NULL; i++)
        runner_slice(runner);
    if (cpu_seconds() - began > CPU_SECONDS)
        fail_request(draft, "it takes too long");
    if (client->session.life != SESSION_OPEN)
        fail_request(draft, "the client is closed");
    settle(draft);
    requests++;
    run_words(reset, 1);
    buffer_clear(&client->output);
    if (command->flags & (COMMAND_WRITE | COMMAND_MAY_WRITE)) {
        waiters_serve(&runner->server);
        fill();
    }
    if (dueq_commit(runner->server.store, runner->server.now, &lsn) != DUEQ_OK)
        fail_request(draft, "the store failed");
    dueq_maintain(runner->server.store, false);
}

/* Both values at their ends. */
static void try_pair(const struct command *command, struct draft *draft, int one, int other)
{
    const char *kept[] = {draft->words[one], draft->words[other]};
    for (int i = 0; i < EXTREMES; i++)
        for (int j = 0; j < EXTREMES; j++) {
            draft->words[one] = extremes[i];
            draft->words[other] = extremes[j];
            try_request(command, draft);
        }
    draft->words[one] = kept[0];
    draft->words[other] = kept[1];
}

static void try_each(const struct command *command, struct draft *draft, int index)
{
    const char *kept = draft->words[index];
    for (int i = 0; i < EXTREMES; i++) {
        draft->words[index] = extremes[i];
        try_request(command, draft);
    }
    draft->words[index] = kept;
}

static void try_all_alike(const struct command *command, const struct draft *draft)
{
    for (int i = 0; i < EXTREMES; i++) {
        struct draft alike = *draft;
        for (int at = 0; at < alike.count; at++)
            if (alike.value_of[at] >= 0)
                alike.words[at] = extremes[i];
        try_request(command, &alike);
    }
}

/* Once for a command, with whatever else is there: Q.PUSH and its like have many options. */
static bool is_new_pair(const struct draft *draft, int one, int other)
{
    bool *known = &paired[draft->value_of[one]][draft->value_of[other]], was_known = *known;
    *known = true;
    return !was_known;
}

static void try_draft(const struct command *command, struct draft *draft)
{
    int before = -1;
    try_request(command, draft);
    for (int at = 0; at < draft->count; at++) {
        if (draft->value_of[at] < 0)
            continue;
        try_each(command, draft, at);
        if (before >= 0 && is_new_pair(draft, before, at))
            try_pair(command, draft, before, at);
        before = at;
    }
    if (before >= 0)
        try_all_alike(command, draft);
}

/* ---- requests from the syntax */

static void add_word(struct draft *draft, const char *word, int value_of)
{
    if (draft->count < WORDS) {
        draft->words[draft->count] = word;
        draft->value_of[draft->count++] = value_of;
    }
}

static void add_nodes(struct draft *draft, const struct syntax *syntax, int first,
                      struct choice *choice);

static bool contains(const struct syntax *syntax, int node, int wanted)
{
    if (node == wanted)
        return true;
    for (int at = syntax->nodes[node].child; at >= 0; at = syntax->nodes[at].next)
        if (contains(syntax, at, wanted))
            return true;
    return false;
}

static void add_node(struct draft *draft, const struct syntax *syntax, int index,
                     struct choice *choice)
{
    const struct syntax_node *node = &syntax->nodes[index];
    int child = node->child;
    if (node->optional && !contains(syntax, index, choice->optional))
        return;
    choice->used = choice->used || index == choice->optional;
    if (node->token[0] != '\0')
        add_word(draft, node->token, -1);
    if (strcmp(node->type, "pure-token") == 0) {
        if (node->token[0] == '\0')
            add_word(draft, node->name, -1);
    } else if (strcmp(node->type, "oneof") == 0) {
        for (int i = 0; i < choice->alternative && syntax->nodes[child].next >= 0; i++)
            child = syntax->nodes[child].next;
        choice->more = choice->more || syntax->nodes[child].next >= 0;
        add_node(draft, syntax, child, choice);
    } else if (child >= 0) {
        add_nodes(draft, syntax, child, choice);
    } else if (strcmp(node->type, "key") == 0) {
        add_word(draft, strcmp(node->name, "topic") == 0 ? "topic" : key_name, -1);
    } else if (strncmp(node->name, "source", 6) == 0 || strncmp(node->name, "dest", 4) == 0 ||
               strcmp(node->name, "key1") == 0 || strcmp(node->name, "key2") == 0) {
        add_word(draft, key_name, -1);
    } else {
        add_word(draft, "1", index);
    }
}

static void add_nodes(struct draft *draft, const struct syntax *syntax, int first,
                      struct choice *choice)
{
    for (int at = first; at >= 0; at = syntax->nodes[at].next)
        add_node(draft, syntax, at, choice);
}

static void start_draft(struct draft *draft, const struct command *command)
{
    const struct command *container = command_container(command);
    *draft = (struct draft){.count = 0};
    if (container != NULL)
        add_word(draft, container->name, -1);
    add_word(draft, command->name, -1);
}

/* With what must be there, and with each that may, in each of its forms. */
static void try_command(const struct command *command)
{
    struct syntax syntax;
    syntax_parse(command->syntax, &syntax);
    memset(paired, 0, sizeof(paired));
    for (int optional = -1; optional < syntax.count; optional++) {
        struct choice choice = {.optional = optional, .more = true};
        if (optional >= 0 && !syntax.nodes[optional].optional)
            continue;
        for (int alternative = 0; choice.more && alternative < 12; alternative++) {
            struct draft draft;
            choice = (struct choice){.optional = optional, .alternative = alternative};
            start_draft(&draft, command);
            add_nodes(&draft, &syntax, syntax.first, &choice);
            if (optional < 0 || choice.used)
                try_draft(command, &draft);
        }
    }
}

static bool is_excluded(const struct command *command)
{
    for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++)
        if (strcmp(command_full_name(command), excluded[i]) == 0)
            return true;
    return command->flags & COMMAND_PROTECTED;
}

/* A key of the type that the commands of its group are for; of each in turn for the others. */
static void try_with_keys(const struct command *command)
{
    static const struct {
        const char *group, *key;
    } types[] = {{"string", "string"}, {"bitmap", "string"},   {"list", "list"},
                 {"set", "set"},       {"sorted-set", "zset"}, {"hash", "hash"},
                 {"queue", "topic"}};
    static const char *const any[] = {"string", "list", "zset", "none"};
    key_name = NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(command->group, types[i].group) == 0)
            key_name = types[i].key;
    if (key_name != NULL || command->key_specs == NULL) {
        key_name = key_name == NULL ? "none" : key_name;
        try_command(command);
        return;
    }
    for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
        key_name = any[i];
        try_command(command);
    }
}

static void try_entry(const struct command *command)
{
    const struct command *sub = command->subcommands;
    if (command->run != NULL && !is_excluded(command))
        try_with_keys(command);
    for (; sub != NULL && sub->name != NULL; sub++)
        if (!is_excluded(sub))
            try_with_keys(sub);
}

/* ---- */

static bool count_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    (void)name;
    (void)info;
    ++*(uint64_t *)arg;
    return true;
}

static void expect_sound(void)
{
    for (unsigned database = 0; database < KEYS_DATABASES_MAX; database++) {
        struct keys_view view = {store_keys(runner->server.store), database,
                                 runner->server.now};
        uint64_t counted = 0, cursor;
        assert_int_equal(keys_scan(&view, 0, UINT64_MAX, count_key, &counted, &cursor),
                         DUEQ_OK);
        assert_int_equal(counted, keys_count(store_keys(runner->server.store), database));
    }
}

static void every_number_is_tried_at_its_ends(void **state)
{
    runner = *state;
    runner->server.next_session = 1000; /* an id that no extreme is */
    runner->server.config.proto_max_bulk_len = STRING_MAX;
    client = runner_connect(runner);
    runner->by_slices = true;
    fill();
    for (size_t i = 0; i < command_count(); i++)
        try_entry(command_at(i));
    assert_true(requests > EXPECTED_REQUESTS);
    fill();
    expect_sound();
    runner_reopen(runner, NULL);
    expect_sound();
    runner_expect_of(runner, client, "5", "DBSIZE");
    print_message("%ld requests\n", requests);
}

/* Its value is not read here: a journal record and a checkpoint of the greatest size. */
static void the_longest_string_is_kept(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR bit offset *", "SETBIT string 4294967296 1"},
        {"0", "SETBIT string 4294967295 1"},
        {"536870912", "STRLEN string"},
        {"!ERR string exceeds *", "APPEND string x"},
        {"1", "GETBIT string 4294967295"},
    };
    if (SIZE_MAX == UINT32_MAX)
        skip(); /* memory for the string, the record and the request is not always there */
    runner = *state;
    runner_expect_all(runner, cases);
    runner_commit(runner);
    runner_expect(runner, "1", "DEL string");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(every_number_is_tried_at_its_ends),
        runner_test(the_longest_string_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
