/* The table of commands, and what COMMAND shows of it. */
#include "server/dispatch/command_keys.h"
#include "server/dispatch/command_list.h"
#include "tests/support/client/command_runner.h"

#include "server/dispatch/docs/command_docs.h"
#include "server/dispatch/docs/syntax.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- every entry */

static void for_each_command(void (*check)(const struct command *command))
{
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;
        check(command);
        for (; sub != NULL && sub->name != NULL; sub++)
            check(sub);
    }
}

static void check_entry(const struct command *command)
{
    for (const char *at = command->name; *at != '\0'; at++)
        assert_false(isupper((unsigned char)*at));
    assert_non_null(command->summary);
    assert_non_null(command->complexity);
    assert_non_null(command->group);
    assert_non_null(command->since);
    assert_non_null(command->syntax);
    assert_true(command->arity != 0);
    assert_true(command->run != NULL || command->subcommands != NULL);
    assert_false((command->flags & COMMAND_WRITE) && (command->flags & COMMAND_READONLY));
}

static void every_entry_is_complete(void **state)
{
    (void)state;
    for_each_command(check_entry);
}

static int required_words(const struct syntax *syntax, int first);

/* Of alternatives those that need the fewest words, but one at least. */
static int words_of(const struct syntax *syntax, const struct syntax_node *node)
{
    int least = INT_MAX;
    if (strcmp(node->type, "block") == 0)
        return required_words(syntax, node->child);
    if (strcmp(node->type, "oneof") != 0)
        return strcmp(node->type, "pure-token") == 0 || node->token[0] == '\0' ? 1 : 2;
    for (int at = node->child; at >= 0; at = syntax->nodes[at].next) {
        int words = words_of(syntax, &syntax->nodes[at]);
        least = words < least ? words : least;
    }
    return least > 0 ? least : 1;
}

/* Counts the required words: those that are not optional. */
static int required_words(const struct syntax *syntax, int first)
{
    int words = 0;
    for (int at = first; at >= 0; at = syntax->nodes[at].next)
        if (!syntax->nodes[at].optional)
            words += words_of(syntax, &syntax->nodes[at]);
    return words;
}

static void check_arity_against_syntax(const struct command *command)
{
    struct syntax syntax;
    int names = command_container(command) != NULL ? 2 : 1;
    if (command->subcommands != NULL)
        return;
    syntax_parse(command->syntax, &syntax);
    assert_true(syntax.count < SYNTAX_NODES);
    if (abs(command->arity) != names + required_words(&syntax, syntax.first))
        fail_msg("%s: arity %d, syntax \"%s\"", command_full_name(command), command->arity,
                 command->syntax);
}

static void arity_and_syntax_agree(void **state)
{
    (void)state;
    for_each_command(check_arity_against_syntax);
}

static void check_findable(const struct command *command)
{
    const struct command *container = command_container(command);
    struct argument name = {command->name, strlen(command->name)};
    assert_ptr_equal(container == NULL ? command_find(name) : command_find_sub(container, name),
                     command);
}

static void every_command_is_found_by_its_name(void **state)
{
    (void)state;
    for_each_command(check_findable);
    assert_null(command_find((struct argument){"", 0}));
    assert_null(command_find((struct argument){"q.pushx", 7}));
    assert_ptr_equal(command_find((struct argument){"q.pushx", 6}), queue_push_commands());
}

/* ---- syntax */

static void print_nodes(const struct syntax *syntax, int first, FILE *out)
{
    for (int at = first; at >= 0; at = syntax->nodes[at].next) {
        const struct syntax_node *node = &syntax->nodes[at];
        fprintf(out, "%s%s %s", at == first ? "" : ", ", node->type, node->name);
        fprintf(out, "%s%s", node->token[0] == '\0' ? "" : " ", node->token);
        fprintf(out, "%s%s", node->optional ? "?" : "", node->multiple ? "*" : "");
        if (node->child >= 0) {
            fputs("(", out);
            print_nodes(syntax, node->child, out);
            fputs(")", out);
        }
    }
}

static void expect_syntax(const char *text, const char *wanted)
{
    struct syntax syntax;
    char *found = NULL;
    size_t size;
    FILE *out = open_memstream(&found, &size);
    syntax_parse(text, &syntax);
    print_nodes(&syntax, syntax.first, out);
    fclose(out);
    assert_string_equal(found, wanted);
    free(found);
}

static void words_are_arguments_and_capitals_are_tokens(void **state)
{
    (void)state;
    expect_syntax("", "");
    expect_syntax("message", "string message");
    expect_syntax("topic count", "key topic, integer count");
    expect_syntax("NOW", "pure-token now NOW");
    expect_syntax("MATCH pattern", "pattern pattern MATCH");
}

static void brackets_are_optional(void **state)
{
    (void)state;
    expect_syntax("[message]", "string message?");
    expect_syntax("[ID id] [NOW]", "string id ID?, pure-token now NOW?");
    expect_syntax("[BACKOFF duration [max]]",
                  "block duration?(string duration BACKOFF, string max?)");
}

static void bars_are_alternatives(void **state)
{
    (void)state;
    expect_syntax("<ON|OFF>", "oneof on(pure-token on ON, pure-token off OFF)");
    expect_syntax("[ASYNC|SYNC]", "oneof async?(pure-token async ASYNC, pure-token sync SYNC)");
    expect_syntax("[DELAY duration|AT unix-ms]",
                  "oneof duration?(string duration DELAY, integer unix-ms AT)");
}

static void dots_repeat_what_stands_before(void **state)
{
    (void)state;
    expect_syntax("id [id ...]", "string id*");
    expect_syntax("topic id token [id token ...]",
                  "key topic, block id*(string id, integer token)");
    expect_syntax("[section [section ...]]", "string section?*");
    expect_syntax("[ID id [id ...]]", "string id ID?*");
}

static void broken_notation_ends(void **state)
{
    static const char *const broken[] = {"[",   "]",    "<",    ">",     "|",  "[a",
                                         "<a|", "a [a", "]]>>", "[...]", "a|b"};
    struct syntax syntax;
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        syntax_parse(broken[i], &syntax);
}

/* ---- COMMAND */

static void command_counts_and_lists_the_table(void **state)
{
    struct command_runner *runner = *state;
    char count[32];
    snprintf(count, sizeof(count), "%zu", command_count());
    runner_expect(runner, count, "COMMAND COUNT");
    runner_expect(runner, "[*\"q.push\"*\"client\"*\"client|id\"*]", "COMMAND LIST");
    runner_expect(runner, "[\"ping\"]", "COMMAND LIST FILTERBY PATTERN pi*");
    runner_expect(runner, "[\"client|id\"]", "COMMAND LIST FILTERBY PATTERN CLIENT|ID");
    runner_expect(runner, "[]", "COMMAND LIST FILTERBY MODULE x");
    runner_expect(runner, "[]", "COMMAND LIST FILTERBY ACLCAT nosuch");
    runner_expect(runner, "[\"q.claim\" \"q.mclaim\" *\"brpoplpush\" *]",
                  "COMMAND LIST FILTERBY ACLCAT blocking");
    runner_expect(runner, "[\"multi\" \"exec\" \"discard\" \"watch\" \"unwatch\"]",
                  "COMMAND LIST FILTERBY ACLCAT transaction");
    runner_expect(runner, "!ERR syntax error", "COMMAND LIST FILTERBY");
    runner_expect(runner, "!ERR syntax error", "COMMAND LIST FILTERBY FOO bar");
    runner_expect(runner, "!ERR syntax error", "COMMAND LIST FILTERBY PATTERN a b");
}

/* The expected replies are those of redis-server 7.0.15. */
static void command_info_of_shared_commands_is_redis_own(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "[[\"ping\" -1 [fast] 0 0 0 [@fast @connection] "
                  "[\"request_policy:all_shards\" \"response_policy:all_succeeded\"] [] []]]",
                  "COMMAND INFO ping");
    runner_expect(runner,
                  "[[\"hello\" -1 [noscript loading stale fast no_auth allow_busy] 0 0 0 "
                  "[@fast @connection] [] [] []]]",
                  "COMMAND INFO HELLO");
    runner_expect(runner,
                  "[[\"client|kill\" -3 [admin noscript loading stale] 0 0 0 "
                  "[@admin @slow @dangerous @connection] [] [] []]]",
                  "COMMAND INFO client|kill");
    runner_expect(runner,
                  "[[\"dbsize\" 1 [readonly fast] 0 0 0 [@keyspace @read @fast] "
                  "[\"request_policy:all_shards\" \"response_policy:agg_sum\"] [] []]]",
                  "COMMAND INFO dbsize");
    runner_expect(runner,
                  "[[\"shutdown\" -1 [admin noscript loading stale no_multi allow_busy] 0 0 0 "
                  "[@admin @slow @dangerous] [] [] []]]",
                  "COMMAND INFO shutdown");
}

static void command_info_knows_where_topics_are(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "[[\"q.push\" -3 [write denyoom fast] 1 1 1 [@write @queue @fast] [] "
                  "[[\"flags\" [RW insert] \"begin_search\" [\"type\" \"index\" \"spec\" "
                  "[\"index\" 1]] \"find_keys\" [\"type\" \"range\" \"spec\" [\"lastkey\" 0 "
                  "\"keystep\" 1 \"limit\" 0]]]] []]]",
                  "COMMAND INFO q.push");
    runner_expect(
        runner,
        "[[\"q.mclaim\" -3 [write noscript blocking movablekeys] 0 0 0 "
        "[@write @queue @slow @blocking] [] [[\"flags\" [RW access update] \"begin_search\" "
        "[\"type\" \"index\" \"spec\" [\"index\" 1]] \"find_keys\" [\"type\" "
        "\"keynum\" \"spec\" [\"keynumidx\" 0 \"firstkey\" 1 \"keystep\" 1]]] [\"flags\" [RW "
        "delete] \"begin_search\" [\"type\" \"keyword\" \"spec\" [\"keyword\" \"ACK\" "
        "\"startfrom\" 3]] \"find_keys\" [\"type\" \"range\" \"spec\" [\"lastkey\" -1 "
        "\"keystep\" 3 \"limit\" 0]]]] []]]",
        "COMMAND INFO q.mclaim");
}

static void command_info_of_the_unknown_is_nil(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[nil [\"ping\" *] nil]", "COMMAND INFO nosuch ping client|nosuch");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "[_]", "COMMAND INFO nosuch");
    runner_expect(runner, "[[\"ping\" -1 ~[fast] 0 0 0 ~[@fast @connection] ~[*] ~[] ~[]]]",
                  "COMMAND INFO ping");
    runner_expect(runner, "[[\"client\" *[\"client|getname\" *]*]]]", "COMMAND INFO client");
}

static void command_docs_has_the_arguments(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[]", "COMMAND DOCS nosuch");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner,
                  "{\"select\": {\"summary\": \"Change the selected database for the current "
                  "connection\" \"since\": \"1.0.0\" \"group\": \"connection\" \"complexity\": "
                  "\"O(1)\" \"arguments\": [{\"name\": \"index\" \"type\": \"integer\"}]}}",
                  "COMMAND DOCS select");
    runner_expect(runner,
                  "{\"q.ack\": {*\"group\": \"queue\"*\"arguments\": [{\"name\": \"topic\" "
                  "\"type\": \"key\"} {\"name\": \"id\" \"type\": \"block\" \"flags\": "
                  "~[multiple] \"arguments\": [{\"name\": \"id\" \"type\": \"string\"} "
                  "{\"name\": \"token\" \"type\": \"integer\"}]} *]}}",
                  "COMMAND DOCS Q.ACK");
    runner_expect(runner, "{*\"client\": {*\"subcommands\": {*\"client|id\": {*}*}}*}",
                  "COMMAND DOCS");
}

/* One argument with its token, so that a program that reads the tree knows what it may send. */
static void a_range_of_numbers_is_an_integer(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner,
                  "{\"q.push\": {*{\"name\": \"0-255\" \"type\": \"integer\" \"token\": "
                  "\"PRIORITY\" \"flags\": ~[optional]}*}}",
                  "COMMAND DOCS Q.PUSH");
    runner_expect(runner,
                  "{\"q.cron|list\": {*{\"name\": \"1-1000\" \"type\": \"integer\" "
                  "\"token\": \"COUNT\" \"flags\": ~[optional]}*}}",
                  "COMMAND DOCS Q.CRON|LIST");
    runner_expect(runner, "{\"q.cron|next\": {*{\"name\": \"1-100\" \"type\": \"integer\"}*}}",
                  "COMMAND DOCS Q.CRON|NEXT");
}

static void command_getkeys_finds_topics(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[\"mail\"]", "COMMAND GETKEYS Q.PUSH mail body ID a");
    runner_expect(runner, "[\"one\" \"two\"]", "COMMAND GETKEYS q.mclaim 2 one two COUNT 3");
    runner_expect(runner, "!ERR Invalid arguments specified for command",
                  "COMMAND GETKEYS q.mclaim 5 one two");
    runner_expect(runner, "!ERR Invalid arguments specified for command",
                  "COMMAND GETKEYS q.mclaim 0 one");
    runner_expect(runner, "!ERR Invalid arguments specified for command",
                  "COMMAND GETKEYS q.mclaim 18446744073709551617 one");
    runner_expect(runner, "!ERR Invalid number of arguments specified for command",
                  "COMMAND GETKEYS q.push mail");
    runner_expect(runner, "!ERR Invalid command specified", "COMMAND GETKEYS nosuch a");
    runner_expect(runner, "!ERR Invalid command specified", "COMMAND GETKEYS client nosuch");
    runner_expect(runner, "!ERR The command has no key arguments", "COMMAND GETKEYS client id");
    runner_expect(runner, "[\"a\"]", "COMMAND GETKEYS eval x 1 a b");
    runner_expect(runner, "[]", "COMMAND GETKEYS eval x 0");
}

enum { KEYS_MOST = 16 };

struct keys_seen {
    size_t count;
    size_t indexes[KEYS_MOST];
    const char *flags[KEYS_MOST];
};

static void see_key(void *arg, size_t index, const char *flags, size_t size)
{
    struct keys_seen *seen = arg;

    (void)size;
    assert_in_range(seen->count, 0, KEYS_MOST - 1);
    seen->flags[seen->count] = flags;
    seen->indexes[seen->count++] = index;
}

static struct request split(char *line, struct argument *words)
{
    struct request request = {0, words, 0};
    char *rest = line, *word;

    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        words[request.count++] = (struct argument){word, strlen(word)};
    return request;
}

static void expect_parts(const struct request *request, size_t step)
{
    const struct command *command = command_find_request(request);
    struct keys_seen all = {0}, parts = {0};
    struct key_part part = {.count = 1};
    bool good = command_keys_find(command, request, see_key, &all);

    for (; part.from < part.count; part.from += step) {
        part.to = part.from + step;
        assert_int_equal(command_keys_find_some(command, request, see_key, &parts, &part),
                         good);
        assert_int_equal(part.count, all.count);
    }
    assert_memory_equal(&parts, &all, sizeof(all));
}

static void parts_of_the_keys_are_all_of_them(void **state)
{
    static const char *const lines[] = {"DEL a b c d e",
                                        "MSET a 1 b 2 c 3",
                                        "SUNIONSTORE to a b c",
                                        "ZUNIONSTORE to 3 a b c",
                                        "SORT l BY x STORE a GET STORE STORE b",
                                        "BLPOP a b c 0",
                                        "Q.MCLAIM 2 a b ACK c 1 2",
                                        "ZUNIONSTORE to 9 a b c",
                                        "LMPOP 0 a LEFT",
                                        "BITOP AND to a b c",
                                        "SET a b GET",
                                        "RENAME a b",
                                        "PING"};
    (void)state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[64];
        struct argument words[KEYS_MOST];
        struct request request;

        snprintf(line, sizeof(line), "%s", lines[i]);
        request = split(line, words);
        for (size_t step = 1; step < 8; step++)
            expect_parts(&request, step);
    }
}

static void help_lists_the_subcommands(void **state)
{
    runner_expect((struct command_runner *)*state,
                  "[CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are: "
                  "GET parameter [parameter ...] *SET parameter value*HELP     Prints this "
                  "help.]",
                  "CONFIG HELP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_complete),
        cmocka_unit_test(arity_and_syntax_agree),
        cmocka_unit_test(every_command_is_found_by_its_name),
        cmocka_unit_test(words_are_arguments_and_capitals_are_tokens),
        cmocka_unit_test(brackets_are_optional),
        cmocka_unit_test(bars_are_alternatives),
        cmocka_unit_test(dots_repeat_what_stands_before),
        cmocka_unit_test(broken_notation_ends),
        runner_test(command_counts_and_lists_the_table),
        runner_test(command_info_of_shared_commands_is_redis_own),
        runner_test(command_info_knows_where_topics_are),
        runner_test(command_info_of_the_unknown_is_nil),
        runner_test(command_docs_has_the_arguments),
        runner_test(a_range_of_numbers_is_an_integer),
        runner_test(command_getkeys_finds_topics),
        cmocka_unit_test(parts_of_the_keys_are_all_of_them),
        runner_test(help_lists_the_subcommands),
    };
    return cmocka_run_group_tests_name("command table", tests, NULL, NULL);
}
