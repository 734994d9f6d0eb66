/* libFuzzer target for configuration files. A line that its own mutations add names an option.
 */
#include "tests/fuzz/config_check.h"
#include "tests/fuzz/line_mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!config_holds_up(data, size))
        abort();
    return 0;
}

static const char *choose_word(struct line_mutator *mutator)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "-1",
                                        "6379",
                                        "65535",
                                        "65536",
                                        "2147483648",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "1mb",
                                        "2gb",
                                        "64k",
                                        "1tb",
                                        "999999999tb",
                                        "50%",
                                        "-5%",
                                        "0%",
                                        "101%",
                                        "1s",
                                        "5m",
                                        "100y",
                                        "101y",
                                        "1.5h",
                                        "yes",
                                        "no",
                                        "optional",
                                        "always",
                                        "interval",
                                        "none",
                                        "everysec",
                                        "debug",
                                        "json",
                                        "text",
                                        "local0",
                                        "user",
                                        "edge",
                                        "default",
                                        "127.0.0.1",
                                        "::1",
                                        "-::1",
                                        "*",
                                        "-*",
                                        "/tmp/x",
                                        "\"\"",
                                        "\"a b\"",
                                        "\"\\x00\\xff\"",
                                        "'it''s'",
                                        "\"open",
                                        "normal",
                                        "replica",
                                        "pubsub",
                                        "slave",
                                        "256mb",
                                        "KEA",
                                        "AKE",
                                        "Ag$lshzxeKEtmdn",
                                        "TLSv1.2",
                                        "+@all",
                                        "~*",
                                        ">password",
                                        "on",
                                        "#",
                                        "700",
                                        "07777",
                                        "allchannels",
                                        "resetchannels",
                                        "TLSv1 TLSv1.3"};

    return words[mutator_roll(mutator, sizeof(words) / sizeof(words[0]))];
}

static void write_line(struct line_mutator *mutator, char *line)
{
    size_t words = 1 + (mutator_roll(mutator, 4) == 0 ? mutator_roll(mutator, 8) : 0);

    if (mutator_roll(mutator, 20) == 0)
        strcpy(line, "user name");
    else
        strcpy(line, config_name(mutator_roll(mutator, config_count())));
    while (words-- > 0) {
        const char *word = choose_word(mutator);

        mutator_add(line, word, strlen(word));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct line_mutator mutator = {seed, write_line, choose_word};

    return mutator_mutate(&mutator, data, size, max_size);
}
