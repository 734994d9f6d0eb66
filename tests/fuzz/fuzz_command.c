/* libFuzzer target for commands with arguments. Its own mutations know the table of commands: a
 * line that they add has a command's form, with few names and many kinds of values. */
#include "tests/fuzz/command_check.h"

#include "server/dispatch/command.h"
#include "tests/fuzz/line_mutator.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!commands_hold_up(data, size))
        abort();
    return 0;
}

/* ---- words */

static const char *const values[] = {
    "k1",
    "k2",
    "k3",
    "k4",
    "t1",
    "t2",
    "t3",
    "id1",
    "id2",
    "id3",
    "m1",
    "m2",
    "m3",
    "a",
    "b",
    "0",
    "1",
    "2",
    "3",
    "5",
    "10",
    "100",
    "-1",
    "-2",
    "-3",
    "1000",
    "1.5",
    "-0.5",
    "inf",
    "-inf",
    "nan",
    "(1",
    "[a",
    "(b",
    "+",
    "-",
    "1e10",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "2147483647",
    "2147483648",
    "18446744073709551616",
    "1s",
    "5m",
    "1h",
    "100y",
    "1700000000000",
    "1700000000",
    "1700000001000",
    "*",
    "k*",
    "t*",
    "[kt]?",
    "\"\"",
    "\"\\x00\\xff\"",
    "\"a b\"",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk",
    "u8",
    "i64",
    "#1",
    "exp",
    "\"steps 1 2\"",
    "ANY",
    "~*",
    "+@all",
    "-@all",
    ">pw",
    "user1",
    "on",
    "off",
    "$",
    ">",
    "m1:{*}->a",
    "#",
    "k*->a",
    "EX",
    "PX",
    "NX",
    "XX",
    "GT",
    "LT",
    "LIMIT",
    "COUNT",
    "MATCH",
    "WITHSCORES",
    "STORE",
    "BY",
    "GET",
    "ID",
    "DELAY",
    "AT",
    "PRIORITY",
    "TTL",
    "UNIQUE",
    "REPLACE",
    "LEASE",
    "BLOCK",
    "THEN",
    "PUSH",
    "RESULT",
    "TO",
    "STATE",
    "LEFT",
    "RIGHT",
    "HELP",
    "SET",
    "GETNAME",
    "LIST",
    "KILL",
    "0.01"};

static const char *choose_value(struct line_mutator *mutator)
{
    return values[mutator_roll(mutator, sizeof(values) / sizeof(values[0]))];
}

static bool is_keyword(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (islower((unsigned char)word[i]))
            return false;
    return true;
}

/* Each word of the syntax, or a value in its place, or nothing. */
static void add_arguments(struct line_mutator *mutator, char *line, const char *syntax)
{
    while (syntax != NULL && *(syntax += strspn(syntax, " []|.")) != '\0') {
        size_t size = strcspn(syntax, " []|."), times = mutator_roll(mutator, 6) != 0;

        if (mutator_roll(mutator, 8) == 0)
            times = mutator_roll(mutator, 3);
        while (times-- > 0) {
            const char *value = choose_value(mutator);

            if (is_keyword(syntax, size))
                mutator_add(line, syntax, size);
            else
                mutator_add(line, value, strlen(value));
        }
        syntax += size;
    }
}

static void write_command(struct line_mutator *mutator, char *line)
{
    const struct command *command = command_at(mutator_roll(mutator, command_count()));
    const struct command *sub = command->subcommands;
    size_t count = 0;

    sprintf(line, "%c%s", "aaaabbcd"[mutator_roll(mutator, 8)], command -> name);
    while (sub != NULL && sub[count].name != NULL)
        count++;
    if (count > 0 && mutator_roll(mutator, 10) != 0) {
        command = &sub[mutator_roll(mutator, count)];
        mutator_add(line, command->name, strlen(command->name));
    }
    add_arguments(mutator, line, command->syntax);
}

static void write_line(struct line_mutator *mutator, char *line)
{
    static const char *const others[] = {
        "+1",    "+1000",  "+60000", "+86400000", ".",         "=",        "aMULTI",
        "aEXEC", "bMULTI", "bEXEC",  "aHELLO 3",  "aSELECT 1", "aSELECT 0"};

    if (mutator_roll(mutator, 6) == 0)
        strcpy(line, others[mutator_roll(mutator, sizeof(others) / sizeof(others[0]))]);
    else
        write_command(mutator, line);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct line_mutator mutator = {seed, write_line, choose_value};

    return mutator_mutate(&mutator, data, size, max_size);
}
