/* How `dueq cli` reads lines and prints replies. */
#include "tools/cli/command_hints.h"
#include "tools/cli/reply_lines.h"
#include "tools/cli/words.h"

#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

/* ---- words */

/* The words, separated by bars; "!" when the line has none because of a quote. */
static void expect_words(const char *line, const char *wanted)
{
    struct words words;
    char text[256] = "!";

    if (words_split(line, strlen(line), &words)) {
        text[0] = '\0';
        for (int i = 0; i < words.count; i++) {
            strcat(text, words.texts[i]);
            strcat(text, "|");
            assert_int_equal(words.texts[i][words.sizes[i]], '\0');
        }
    }
    assert_string_equal(text, wanted);
    words_release(&words);
}

static void words_are_those_of_redis_cli(void **state)
{
    (void)state;
    expect_words("", "");
    expect_words(" \t ", "");
    expect_words("get  a\tb\n", "get|a|b|");
    expect_words("\"a b\" 'c d'", "a b|c d|");
    expect_words("\"\" ''", "||");
    expect_words("\"\\n\\x41\\\"\\q\\xg\"", "\nA\"qxg|");
    expect_words("'\\n\\''", "\\n'|");
    expect_words("a\"b c\"", "ab c|");
    expect_words("\"a", "!");
    expect_words("'a", "!");
    expect_words("\"a\"b", "!");
    expect_words("'a'b", "!");
    expect_words("\"a\\", "!");
    expect_words("a\\ b", "a\\|b|");
}

static void a_word_has_any_byte(void **state)
{
    struct words words;

    (void)state;
    assert_true(words_split("\"\\x00\\xff\" x", 12, &words));
    assert_int_equal(words.count, 2);
    assert_int_equal(words.sizes[0], 2);
    assert_memory_equal(words.texts[0], "\0\377", 2);
    words_release(&words);
}

/* Bytes at random: it ends, and reads nothing outside (under ASan). */
static void any_line_is_split_or_refused(void **state)
{
    static const char likely[] = "\"\"''\\\\x0aA  bn\n";
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    for (int i = 0; i < 20000; i++) {
        size_t size = dice_roll(&dice, 24);
        char *line = malloc(size + 1);
        struct words words;

        for (size_t k = 0; k < size; k++)
            line[k] = dice_roll(&dice, 8) == 0 ? (char)dice_roll(&dice, 256)
                                               : likely[dice_roll(&dice, sizeof(likely))];
        words_split(line, size, &words);
        words_are_secret(&words);
        words_release(&words);
        free(line);
    }
}

static void lines_with_passwords_are_known(void **state)
{
    static const struct {
        const char *line;
        bool secret;
    } lines[] = {{"auth x", true},
                 {"HELLO 3 AUTH a b", true},
                 {"acl setuser a >b", true},
                 {"ACL LIST", false},
                 {"CONFIG SET requirepass x", true},
                 {"CONFIG SET maxclients 5", false},
                 {"config get requirepass", false},
                 {"Q.PUSH mail x", false},
                 {"MIGRATE h 1 k 0 9 AUTH2 u p", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct words words;

        assert_true(words_split(lines[i].line, strlen(lines[i].line), &words));
        assert_int_equal(words_are_secret(&words), lines[i].secret);
        words_release(&words);
    }
}

/* ---- replies */

/* Feeds the bytes in pieces of that size. NULL: they are no reply, or not all of one. */
static redisReply *read_reply(const char *bytes, size_t size, size_t piece)
{
    struct resp3_reader *reader = resp3_reader_new();
    redisReply *reply = NULL;
    bool good = true;

    for (size_t at = 0; at < size && good && reply == NULL; at += piece) {
        size_t count = size - at < piece ? size - at : piece;

        memcpy(resp3_room(reader, count), bytes + at, count);
        resp3_came(reader, count);
        good = resp3_next(reader, &reply);
    }
    resp3_reader_free(reader);
    return reply;
}

static void expect_lines(const char *bytes, size_t size, enum reply_form form,
                         const char *wanted)
{
    for (size_t piece = 1; piece <= size; piece += 1 + piece) {
        redisReply *reply = read_reply(bytes, size, piece);
        char text[512] = "";
        FILE *memory = fmemopen(text, sizeof(text), "w");

        assert_non_null(reply);
        reply_lines_print(memory, reply, form, true);
        fclose(memory);
        assert_string_equal(text, wanted);
        resp3_free(reply);
    }
}

#define expect_people(bytes, wanted)                                                           \
    expect_lines(bytes, sizeof(bytes) - 1, REPLY_FOR_PEOPLE, wanted)
#define expect_raw(bytes, wanted)  expect_lines(bytes, sizeof(bytes) - 1, REPLY_RAW, wanted)
#define expect_json(bytes, wanted) expect_lines(bytes, sizeof(bytes) - 1, REPLY_AS_JSON, wanted)

static void replies_are_printed_with_their_types(void **state)
{
    (void)state;
    expect_people("+OK\r\n", "OK\n");
    expect_people("-ERR \033no\r\n", "(error) ERR \\x1bno\n");
    expect_people(":-5\r\n", "(integer) -5\n");
    expect_people("$-1\r\n", "(nil)\n");
    expect_people("*-1\r\n", "(nil)\n");
    expect_people("_\r\n", "(nil)\n");
    expect_people("$4\r\n\0\n\"\\\r\n", "\"\\x00\\n\\\"\\\\\"\n");
    expect_people("#t\r\n", "(true)\n");
    expect_people(",1.5\r\n", "(double) 1.5\n");
    expect_people("(12345678901234567890\r\n", "(big number) 12345678901234567890\n");
    expect_people("=8\r\ntxt:a\nb\033\r\n", "a\nb\\x1b\n");
    expect_people("!5\r\nERR x\r\n", "(error) ERR x\n");
    expect_people("*0\r\n", "(empty array)\n");
    expect_people("%0\r\n", "(empty hash)\n");
    expect_people("~0\r\n", "(empty set)\n");
    expect_people("*2\r\n*2\r\n:1\r\n*0\r\n~1\r\n:2\r\n",
                  "1) 1) (integer) 1\n   2) (empty array)\n2) 1~ (integer) 2\n");
    expect_people(
        "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*2\r\n:1\r\n:2\r\n",
        "1# \"a\" => (integer) 1\n2# \"b\" => \n   1) (integer) 1\n   2) (integer) 2\n");
    expect_people(">2\r\n+message\r\n+x\r\n", "1) message\n2) x\n");
}

static void replies_are_printed_raw_and_as_json(void **state)
{
    (void)state;
    expect_raw("*3\r\n$1\r\na\r\n$-1\r\n:5\r\n", "a\n\n5\n");
    expect_raw("%1\r\n+a\r\n:1\r\n", "a 1\n");
    expect_raw("$2\r\n\033\t\r\n", "\\x1b\t\n");
    expect_json("%2\r\n+a\r\n#f\r\n:1\r\n,1.5\r\n", "{\"a\":false,\"1\":1.5}\n");
    expect_json("*2\r\n,inf\r\n$1\r\n\377\r\n", "[\"inf\",{\"hex\":\"ff\"}]\n");
    expect_json("-ERR x\r\n", "{\"error\":\"ERR x\"}\n");
}

static void what_is_no_reply_is_refused(void **state)
{
    static const char *const bad[] = {
        "HTTP/1.1 400\r\n", "$x\r\n", "$-2\r\n", "*99999999999999\r\n",
        ":1x\r\n",          "+a\n",   "\r\n",    "$9999999999\r\n"};
    char deep[1000] = "";

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_null(read_reply(bad[i], strlen(bad[i]), 3));
    for (int i = 0; i < 100; i++)
        strcat(deep, "*1\r\n");
    strcat(deep, ":1\r\n");
    assert_null(read_reply(deep, strlen(deep), 7));
}

/* ---- hints */

#define TEXT(text) "+" text "\r\n"
static const char docs[] =
    "*4\r\n" TEXT("q.push") "*4\r\n" TEXT("summary") TEXT("Add a \001job") TEXT(
        "arguments") "*3\r\n"
                     "*4\r\n" TEXT("name") TEXT("topic") TEXT("type") TEXT("key") "*4\r\n" TEXT(
                         "name") TEXT("body") TEXT("type") TEXT("string") "*8\r\n" TEXT("name")
                         TEXT("duration") TEXT("type") TEXT("string") TEXT("token")
                             TEXT("DELAY") TEXT("flags") "*1\r\n" TEXT("optional")
                                 TEXT("config") "*2\r\n" TEXT("subcommands") "*4\r\n" TEXT(
                                     "config|get") "*2\r\n" TEXT("summary") TEXT("reads")
                                     TEXT("config|set") "*0\r\n";

static void take_name(void *context, const char *name)
{
    strcat(context, name);
    strcat(context, " ");
}

static void expect_hint(const struct command_hints *hints, const char *line, const char *wanted)
{
    char text[64];

    command_hints_show(hints, line, strlen(line), text, sizeof(text));
    assert_string_equal(text, wanted);
}

static void expect_choices(const struct command_hints *hints, const char *line,
                           const char *wanted)
{
    char text[64] = "";

    command_hints_complete(hints, line, strlen(line), take_name, text);
    assert_string_equal(text, wanted);
}

static void hints_show_what_may_follow(void **state)
{
    redisReply *reply = read_reply(docs, sizeof(docs) - 1, 100);
    struct command_hints *hints;

    (void)state;
    assert_non_null(reply);
    hints = command_hints_new(reply);
    resp3_free(reply);
    expect_hint(hints, "q.push ", "topic body [DELAY duration]");
    expect_hint(hints, "q.push t ", "body [DELAY duration]");
    expect_hint(hints, "q.push t \"b ", "[DELAY duration]");
    expect_hint(hints, "q.push t b delay 5m", "");
    expect_hint(hints, "nonsense ", "");
    expect_hint(hints, "", "");
    expect_choices(hints, "q", "Q.PUSH ");
    expect_choices(hints, "", "CONFIG Q.PUSH ");
    expect_choices(hints, "config ", "GET SET ");
    expect_choices(hints, "CONFIG s", "SET ");
    expect_choices(hints, "q.push t b d", "DELAY ");
    expect_choices(hints, "q.push t b ", "");
    expect_choices(NULL, "q", "");
    command_hints_free(hints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_redis_cli),
        cmocka_unit_test(a_word_has_any_byte),
        cmocka_unit_test(any_line_is_split_or_refused),
        cmocka_unit_test(lines_with_passwords_are_known),
        cmocka_unit_test(replies_are_printed_with_their_types),
        cmocka_unit_test(replies_are_printed_raw_and_as_json),
        cmocka_unit_test(what_is_no_reply_is_refused),
        cmocka_unit_test(hints_show_what_may_follow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
