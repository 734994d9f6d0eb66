#include "server/commands/clients/client_filter.h"

#include "protocol/number.h"
#include "server/net/client_line.h"
#include "server/net/connection.h"
#include "server/server.h"
#include "server/session/pubsub.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* ---- filters */

static bool add_id(struct client_filter *filter, int64_t id)
{
    size_t capacity = filter->id_capacity == 0 ? 8 : filter->id_capacity * 2;
    int64_t *grown;

    if (filter->id_count == filter->id_capacity) {
        grown = realloc(filter->ids, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        filter->ids = grown;
        filter->id_capacity = capacity;
    }
    filter->ids[filter->id_count++] = id;
    return true;
}

/* False: the error is written. */
static bool note_id(struct context *context, struct client_filter *filter, int64_t id)
{
    if (add_id(filter, id))
        return true;
    context_status(context, DUEQ_NOMEM);
    return false;
}

static int compare_ids(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts the ids, so that each session is found by binary search: a request may contain many. */
static void sort_ids(struct client_filter *filter)
{
    if (filter->id_count > 0)
        qsort(filter->ids, filter->id_count, sizeof(*filter->ids), compare_ids);
}

static bool names_id(const struct client_filter *filter, uint64_t id)
{
    int64_t wanted = (int64_t)id;

    return filter->ids == NULL ||
           bsearch(&wanted, filter->ids, filter->id_count, sizeof(wanted), compare_ids) != NULL;
}

void client_filter_release(struct client_filter *filter)
{
    free(filter->ids);
    *filter = (struct client_filter){.ids = NULL};
}

static bool read_type(struct context *context, size_t index, struct client_filter *filter)
{
    struct argument type = context_argument(context, index);

    if (argument_is(type, "normal"))
        filter->type = FILTER_NORMAL;
    else if (argument_is(type, "pubsub"))
        filter->type = FILTER_PUBSUB;
    else if (argument_is(type, "master") || argument_is(type, "replica") ||
             argument_is(type, "slave"))
        filter->type = FILTER_NOTHING;
    else
        filter->type = FILTER_ANY;
    if (filter->type != FILTER_ANY)
        return true;
    resp_errorf(context->reply, "ERR Unknown client type '%.128s'", type.data);
    return false;
}

static bool read_ids(struct context *context, size_t index, struct client_filter *filter)
{
    for (; index < context_count(context); index++) {
        struct argument text = context_argument(context, index);
        int64_t id;

        if (!number_parse_integer(text.data, text.size, &id)) {
            resp_error(context->reply, "ERR Invalid client ID");
            return false;
        }
        if (!note_id(context, filter, id))
            return false;
    }
    return true;
}

bool client_filter_read_list(struct context *context, struct client_filter *filter)
{
    size_t count = context_count(context);
    bool good = false;

    if (count == 2)
        return true;
    if (count == 4 && argument_is(context_argument(context, 2), "type"))
        good = read_type(context, 3, filter);
    else if (count > 3 && argument_is(context_argument(context, 2), "id"))
        good = read_ids(context, 3, filter);
    else
        context_syntax_error(context);
    if (!good)
        client_filter_release(filter);
    sort_ids(filter);
    return good;
}

static bool read_skip_me(struct context *context, struct argument value,
                         struct client_filter *filter)
{
    filter->skip_me = argument_is(value, "yes");
    if (filter->skip_me || argument_is(value, "no"))
        return true;
    context_syntax_error(context);
    return false;
}

/* There is one user. */
static bool read_user(struct context *context, struct argument value,
                      struct client_filter *filter)
{
    filter->user = value;
    if (value.size == 7 && memcmp(value.data, "default", 7) == 0)
        return true;
    resp_errorf(context->reply, "ERR No such user '%s'", value.data);
    return false;
}

static bool read_kill_option(struct context *context, size_t at, struct client_filter *filter)
{
    struct argument option = context_argument(context, at);
    struct argument value = context_argument(context, at + 1);
    int64_t id;

    if (argument_is(option, "id")) {
        if (number_parse_integer(value.data, value.size, &id) && id > 0)
            return note_id(context, filter, id);
        resp_error(context->reply, "ERR client-id should be greater than 0");
        return false;
    }
    if (argument_is(option, "type"))
        return read_type(context, at + 1, filter);
    if (argument_is(option, "skipme"))
        return read_skip_me(context, value, filter);
    if (argument_is(option, "addr"))
        filter->address = value;
    else if (argument_is(option, "laddr"))
        filter->local_address = value;
    else if (argument_is(option, "user"))
        return read_user(context, value, filter);
    else {
        context_syntax_error(context);
        return false;
    }
    return true;
}

bool client_filter_read_kill(struct context *context, struct client_filter *filter)
{
    size_t at = 2, count = context_count(context);
    bool good = true;

    for (; good && at + 1 < count; at += 2)
        good = read_kill_option(context, at, filter);
    if (good && at < count) {
        context_syntax_error(context);
        good = false;
    }
    if (!good)
        client_filter_release(filter);
    sort_ids(filter);
    return good;
}

static bool same(struct argument wanted, const char *text)
{
    return wanted.data == NULL ||
           (wanted.size == strlen(text) && memcmp(wanted.data, text, wanted.size) == 0);
}

static bool is_of_type(const struct client_filter *filter, const struct session *session)
{
    switch (filter->type) {
    case FILTER_NORMAL:
        return session_subscriptions(session) == 0;
    case FILTER_PUBSUB:
        return session_subscriptions(session) > 0;
    case FILTER_NOTHING:
        return false;
    case FILTER_ANY:
        break;
    }
    return true;
}

static bool passes(const struct client_filter *filter, const struct session *session)
{
    return session->life != SESSION_GONE && names_id(filter, session->id) &&
           is_of_type(filter, session) && same(filter->address, session->address) &&
           same(filter->local_address, session->local_address) &&
           same(filter->user, session->user);
}

void write_client_list(struct context *context, const struct client_filter *filter)
{
    struct buffer text;
    struct session *session;

    buffer_init(&text, (size_t)64 << 20);
    DL_FOREACH(context->server->sessions, session) {
        if (!passes(filter, session))
            continue;
        client_line_write(context->server, session, &text);
        buffer_append(&text, "\n", 1);
    }
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
}

/* A client that kills itself gets its reply first. Another one stops waiting and listening at
 * once, so that later commands of this pipeline do not reach it. */
static void end_client(struct context *context, struct session *session)
{
    if (session == context->session) {
        connection_close(connection_of(session));
        return;
    }
    connection_doom(connection_of(session));
    session_leave(context->server, session);
}

int64_t kill_clients(struct context *context, const struct client_filter *filter)
{
    struct session *session;
    int64_t killed = 0;

    DL_FOREACH(context->server->sessions, session) {
        if (!passes(filter, session) || (session == context->session && filter->skip_me))
            continue;
        killed++;
        end_client(context, session);
    }
    return killed;
}

/* ---- HELP */

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
