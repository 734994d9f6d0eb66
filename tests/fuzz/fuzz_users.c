/* libFuzzer target for ACL files. A line that its own mutations add defines a user. */
#include "tests/fuzz/line_mutator.h"
#include "tests/fuzz/users_check.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!users_hold_up(data, size))
        abort();
    return 0;
}

static const char *choose_fixed(struct line_mutator *mutator)
{
    static const char *const words[] = {
        "on",
        "off",
        "ON",
        "nopass",
        "resetpass",
        "reset",
        ">pw",
        "<pw",
        ">",
        "#",
        "#9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "!9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "allcommands",
        "nocommands",
        "~k*",
        "~*",
        "%R~k*",
        "%W~k1",
        "%RW~t*",
        "%RW~*",
        "%R~*",
        "%~x",
        "%",
        "allkeys",
        "resetkeys",
        "&c*",
        "&*",
        "allchannels",
        "resetchannels",
        "sanitize-payload",
        "skip-sanitize-payload",
        "clearselectors",
        "(+get",
        "~x)",
        "(+@read ~k1)",
        "(",
        ")",
        "(~*",
        "()",
        "+@all",
        "-@all",
        "+@queue",
        "-@dangerous",
        "+@",
        "+select|0",
        "+config|get",
        "-config|set",
        "+config|get|x",
        "+",
        "-",
        "~",
        "&",
        "\"",
        "'",
        "\\",
        "~\"a",
        "~[",
        "~\\x",
        "%r~k",
        "+GET",
        "+nosuch",
        "-acl|",
        "+acl|whoami"};

    return words[mutator_roll(mutator, sizeof(words) / sizeof(words[0]))];
}

/* One of these, or a rule on any command. */
static const char *choose_word(struct line_mutator *mutator)
{
    static char word[128];
    const struct command *command = command_at(mutator_roll(mutator, command_count()));

    if (mutator_roll(mutator, 3) != 0)
        return choose_fixed(mutator);
    if (command->subcommands != NULL && mutator_roll(mutator, 2) == 0)
        command = command->subcommands;
    snprintf(word, sizeof(word), "%c%s", "+-"[mutator_roll(mutator, 2)],
             command_full_name(command));
    return word;
}

static void write_line(struct line_mutator *mutator, char *line)
{
    static const char *const names[] = {"default", "u1", "u2", "u3", "\"", "a\"b", "#"};

    sprintf(line, "user %s", names[mutator_roll(mutator, sizeof(names) / sizeof(names[0]))]);
    for (size_t words = mutator_roll(mutator, 8); words > 0; words--) {
        const char *word = choose_word(mutator);

        mutator_add(line, word, strlen(word));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct line_mutator mutator = {seed, write_line, choose_word};

    return mutator_mutate(&mutator, data, size, max_size);
}
