/* `dueq complete`: what may come next on a command line. The completions of the shells call it,
 * so they know what this program knows. */
#include "server/config/config_options.h"
#include "server/subcommands.h"
#include "tools/client/client_call.h"

#include <string.h>

/* The subcommands that are no clients: their names, what their help says, and what else they
 * take. */
struct other {
    const char *name, *usage; /* NULL: no options, or those of the server */
    const char *words;        /* "<files>", "<directories>", or words; NULL: nothing */
};

static const struct other others[] = {
    {"server", NULL, "<files>"},
    {"check-config", NULL, "<files>"},
    {"bench", bench_usage, "push claim work"},
    {"check", NULL, "<directories>"},
    {"dump", NULL, "<directories>"},
    {"load", NULL, "<directories>"},
    {"backup", backup_usage, NULL},
    {"export", export_usage, NULL},
    {"import", import_usage, "<files>"},
    {"repair", NULL, "<directories>"},
    {"restore", restore_usage, "<directories>"},
    {"help", NULL, "<commands>"},
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

static void offer(const char *word, const char *before, const char *what)
{
    if (strncmp(word, before, strlen(before)) == 0)
        printf("%s%s%s\n", word, what == NULL ? "" : "\t", what == NULL ? "" : what);
}

/* Each of the words that are separated by any of these. */
static void offer_words(const char *words, const char *separators, const char *before)
{
    char word[64];

    for (; words != NULL && *words != '\0'; words += strspn(words, separators)) {
        size_t size = strcspn(words, separators);

        snprintf(word, sizeof(word), "%.*s", (int)size, words);
        offer(word, before, NULL);
        words += size;
    }
}

/* The names in the usage of the program, each line of which begins so. */
static void offer_commands(const char *before)
{
    static const char begins[] = "\n  dueq ";
    char name[32];

    for (const char *at = strstr(program_usage(), begins); at != NULL;
         at = strstr(at + 1, begins)) {
        const char *word = at + sizeof(begins) - 1;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, " \n"), word);
        offer(name, before, NULL);
    }
    for (size_t i = 0; i < client_table_size; i++)
        offer(client_table[i].name, before, client_table[i].what);
}

/* ---- clients */

static void option_text(const struct client_option *option, char *text, size_t size)
{
    snprintf(text, size, "%s%s", option->name[1] == '\0' ? "-" : "--", option->name);
}

static void offer_options(const struct client_option *options, const char *before)
{
    char text[64];

    for (; options != NULL && options->name != NULL; options++) {
        option_text(options, text, sizeof(text));
        offer(text, before, options->what);
    }
}

static const struct client_option *find_option(const struct client_option *options,
                                               const char *given)
{
    char text[64];

    for (; options != NULL && options->name != NULL; options++) {
        option_text(options, text, sizeof(text));
        if (strcmp(text, given) == 0)
            return options;
    }
    return NULL;
}

static void offer_value(const struct client_option *option, const char *before)
{
    if (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "PATH") == 0)
        puts("<files>");
    else if (strchr(option->value, '|') != NULL)
        offer_words(option->value, "|", before);
    else if (strcmp(option->name, "ondup") == 0)
        offer_words("reject ignore replace debounce throttle", " ", before);
}

static void complete_client(const struct client_command *command, const char *last,
                            const char *before)
{
    const struct client_option *option = find_option(command->options, last);

    if (option == NULL)
        option = find_option(client_shared_options, last);
    if (option != NULL && option->value != NULL) {
        offer_value(option, before);
        return;
    }
    if (before[0] != '-')
        return;
    offer_options(command->options, before);
    offer_options(client_shared_options, before);
}

/* ---- the others */

static void complete_server(const char *last, const char *before)
{
    if (strcmp(last, "--dir") == 0)
        puts("<directories>");
    if (before[0] == '-')
        offer("--config", before, NULL);
    for (size_t i = 0; i < config_option_count && before[0] == '-'; i++)
        if (config_options[i].what != NULL && strncmp(before, "--", 2) == 0 &&
            strncmp(config_options[i].name, before + 2, strlen(before + 2)) == 0)
            printf("--%s\t%s\n", config_options[i].name, config_options[i].what);
}

/* The options of a help text: in its first part whose lines begin with them, each once. */
static void offer_usage(const char *usage, const char *before)
{
    static const char letters[] = "-abcdefghijklmnopqrstuvwxyz";
    const char *begin = strstr(usage, "\n  --");
    const char *end = begin == NULL ? NULL : strstr(begin, "\n\n");
    char text[64], seen[1024] = " ";

    for (const char *at = begin; at != NULL && (at = strstr(at, "--")) != NULL && at < end;) {
        size_t size = strspn(at, letters);

        snprintf(text, sizeof(text), " %.*s ", (int)size, at);
        at += size;
        if (strstr(seen, text) != NULL || strlen(seen) + size + 2 > sizeof(seen))
            continue;
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s", text + 1);
        text[size + 1] = '\0';
        offer(text + 1, before, NULL);
    }
}

static bool is_server(const char *command)
{
    return strcmp(command, "server") == 0 || strcmp(command, "check-config") == 0;
}

static void complete_other(const struct other *other, const char *command, const char *last,
                           const char *before)
{
    const char *words = other->words;

    if (before[0] == '-' && other->usage != NULL)
        offer_usage(other->usage, before);
    if (is_server(command))
        complete_server(last, before);
    if (words == NULL || before[0] == '-' || (is_server(command) && strcmp(last, "--dir") == 0))
        return;
    if (strcmp(words, "<commands>") == 0)
        offer_commands(before);
    else if (words[0] == '<')
        puts(words);
    else if (strcmp(last, command) == 0)
        offer_words(words, " ", before);
}

/* A program of the user follows. */
static bool is_after_dashes(int argc, char **argv)
{
    for (int i = 2; i + 1 < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return true;
    return false;
}

int complete_main(int argc, char **argv)
{
    const char *before = argc > 1 ? argv[argc - 1] : "", *last = argc > 2 ? argv[argc - 2] : "",
               *command = argc > 2 ? argv[1] : "";

    if (argc <= 2)
        offer_commands(before);
    else if (is_after_dashes(argc, argv))
        puts("<files>");
    else if (client_find(command) != NULL)
        complete_client(client_find(command), last, before);
    for (size_t i = 0; i < OTHERS && argc > 2; i++)
        if (strcmp(others[i].name, command) == 0)
            complete_other(&others[i], command, last, before);
    return CLIENT_DONE;
}
