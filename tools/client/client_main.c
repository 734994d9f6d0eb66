/* The subcommands that are clients: how they run, and their help. */
#include "server/subcommands.h"
#include "tools/client/client_call.h"
#include "tools/client/columns.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* ---- help */

static void print_option(const struct client_option *option)
{
    bool is_short = option->name[1] == '\0';
    char text[64];

    snprintf(text, sizeof(text), "%s%s %s", is_short ? "-" : "--", option->name,
             option->value == NULL ? "" : option->value);
    printf("  %-26s %s\n", text, option->what);
}

static void print_options(const char *head, const struct client_option *options)
{
    if (options == NULL)
        return;
    printf("\n%s\n", head);
    for (; options->name != NULL; options++)
        print_option(options);
}

static void print_exits(const char *name)
{
    printf("\nExit status: 0 done; 1 the server refused; 2 the command line is wrong; 3 no "
           "such job,\n"
           "or none that is due; 4 the server cannot be reached. More: man dueq-%s\n",
           name);
}

bool client_help(const char *name)
{
    const struct client_command *command = client_find(name);

    if (command == NULL)
        return false;
    printf("Usage: dueq %s %s%s\n\n%s%s\n", name, command->arguments,
           command->options != NULL ? client_options_mark(command) : "", command->what,
           command->what[strlen(command->what) - 1] == '?' ? "" : ".");
    if (command->more != NULL)
        printf("%s", command->more);
    print_options("Options:", command->options);
    print_options("Where the server is:", client_shared_options);
    print_exits(name);
    return true;
}

void client_print_list(FILE *to)
{
    for (size_t i = 0; i < client_table_size; i++) {
        const struct client_command *command = &client_table[i];
        char text[64];

        snprintf(text, sizeof(text), "%s %s", command->name, command->arguments);
        fprintf(to, "  dueq %-30s %s\n", text, command->what);
    }
}

/* ---- a run */

int client_send_and_show(struct client_call *call)
{
    struct client_request request = {0};
    int status = CLIENT_USAGE;
    redisReply *reply = NULL;

    if (client_request_make(&request, call))
        reply = client_ask(call, &request, &status);
    if (reply != NULL) {
        status = call->command->show(call, reply);
        freeReplyObject(reply);
    }
    client_request_release(&request);
    return status;
}

bool client_has(const char *name)
{
    return client_find(name) != NULL;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}

int client_main(int argc, char **argv)
{
    const struct client_command *command = client_find(argv[0]);
    struct client_call call;
    int status = CLIENT_USAGE;

    if (wants_help(argc, argv)) {
        client_help(argv[0]);
        return CLIENT_DONE;
    }
    tzset();
    if (client_parse(&call, command, argc, argv))
        status = command->run != NULL ? command->run(&call) : client_send_and_show(&call);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "dueq %s: cannot write: %s\n", argv[0], strerror(errno));
        status = CLIENT_REFUSED;
    }
    client_release(&call);
    return status;
}
