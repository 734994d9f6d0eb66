#include "server/commands/clients/client_filter.h"

#include "protocol/number.h"
#include "server/acl/acl.h"
#include "server/dispatch/argument_options.h"
#include "server/server.h"
#include "server/session/pubsub.h"

#include <stdlib.h>
#include <string.h>

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

static bool read_type(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct client_filter *filter = form;
    struct argument type = context_argument(context, (*at)++);

    (void)option;
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

bool client_filter_read_list(struct context *context, struct client_filter *filter)
{
    size_t count = context_count(context), at = 3;

    if (count == 2)
        return true;
    if (count == 4 && arguments_is(context, 2, "type"))
        return read_type(context, &at, NULL, filter);
    context_syntax_error(context);
    return false;
}

static bool read_id(struct context *context, size_t *at, const struct argument_option *option,
                    void *form)
{
    struct argument value = context_argument(context, (*at)++);
    int64_t id;

    (void)option;
    if (number_parse_integer(value.data, value.size, &id) && id > 0)
        return note_id(context, form, id);
    resp_error(context->reply, "ERR client-id should be greater than 0");
    return false;
}

static bool read_skip_me(struct context *context, size_t *at,
                         const struct argument_option *option, void *form)
{
    static const char *const words[] = {"no", "yes", NULL};
    struct client_filter *filter = form;
    unsigned choice;

    (void)option;
    if (!arguments_choice(context, (*at)++, words, &choice))
        return false;
    filter->skip_me = choice == 1;
    return true;
}

static bool read_user(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct client_filter *filter = form;

    (void)option;
    filter->user = context_slice(context, (*at)++);
    if (acl_find(context->server->acl, filter->user) != NULL)
        return true;
    resp_errorf(context->reply, "ERR No such user '%s'", (const char *)filter->user.data);
    return false;
}

static const struct argument_option kill_options[] = {
    {"id", OPTION_CUSTOM, .values = 1, .read = read_id},
    {"type", OPTION_CUSTOM, .values = 1, .read = read_type},
    {"skipme", OPTION_CUSTOM, .values = 1, .read = read_skip_me},
    {"addr", OPTION_BYTES(struct client_filter, address)},
    {"laddr", OPTION_BYTES(struct client_filter, local_address)},
    {"user", OPTION_CUSTOM, .values = 1, .read = read_user},
    {.name = NULL}};

bool client_filter_read_kill(struct context *context, struct client_filter *filter)
{
    bool good = argument_options_read(context, 2, kill_options, filter);

    if (!good)
        client_filter_release(filter);
    sort_ids(filter);
    return good;
}

static bool same(struct dueq_slice wanted, const char *text)
{
    return wanted.data == NULL || dueq_slice_equal(wanted, dueq_slice(text, strlen(text)));
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

bool client_filter_passes(const struct client_filter *filter, const struct session *session)
{
    return session->life != SESSION_GONE && names_id(filter, session->id) &&
           is_of_type(filter, session) && same(filter->address, session->address) &&
           same(filter->local_address, session->local_address) &&
           (filter->user.data == NULL ||
            dueq_slice_equal(filter->user,
                             dueq_slice(session->user->name, session->user->name_size)));
}
