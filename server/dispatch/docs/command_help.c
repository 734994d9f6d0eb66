#include "server/dispatch/docs/command_help.h"

#include <ctype.h>
#include <stdio.h>

static void write_upper(struct resp_writer *reply, const char *name, const char *rest)
{
    char line[512];
    size_t size = 0;

    for (; *name != '\0' && size < 64; name++)
        line[size++] = (char)toupper((unsigned char)*name);
    snprintf(line + size, sizeof(line) - size, "%s%s", *rest == '\0' ? "" : " ", rest);
    resp_simple(reply, line);
}

static void write_indented(struct resp_writer *reply, const char *text)
{
    char line[512];

    snprintf(line, sizeof(line), "    %s", text);
    resp_simple(reply, line);
}

enum outcome run_container_help(struct context *context)
{
    struct resp_writer *reply = context->reply;
    const struct command *container = command_container(context->command);
    size_t mark = resp_deferred(reply), lines = 3;

    write_upper(reply, container->name,
                "<subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (const struct command *sub = container->subcommands; sub->name != NULL; sub++) {
        if (sub == context->command)
            continue;
        write_upper(reply, sub->name, sub->syntax);
        write_indented(reply, sub->summary);
        lines += 2;
    }
    resp_simple(reply, "HELP");
    write_indented(reply, "Prints this help.");
    resp_deferred_array(reply, mark, lines);
    return OUTCOME_DONE;
}
