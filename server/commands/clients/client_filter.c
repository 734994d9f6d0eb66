#include "server/commands/clients/client_filter.h"

#include "protocol/number.h"
#include "server/acl/acl.h"
#include "server/dispatch/argument_options.h"
#include "server/server.h"
#include "server/session/pubsub.h"

#include <string.h>

/* ---- ids */

static struct dueq_slice id_bytes(const uint64_t *id)
{
    return dueq_slice(id, sizeof(*id));
}

static bool names_id(const struct client_filter *filter, uint64_t id)
{
    return !filter->has_ids || gathered_find(&filter->ids, id_bytes(&id)) != NULL;
}

/* Only what a client has is kept, as no later one gets it: of half a million ids, a few. False:
 * out of memory. */
static bool note_id(struct server *server, struct client_filter *filter, uint64_t id)
{
    filter->has_ids = true;
    return server_find_session(server, id) == NULL ||
           gathered_find(&filter->ids, id_bytes(&id)) != NULL ||
           gathered_add(&filter->ids, id_bytes(&id), 0, true) != NULL;
}

void client_filter_release(struct client_filter *filter)
{
    gathered_release(&filter->ids);
}

/* ---- reading */

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
    if (!number_parse_integer(value.data, value.size, &id) || id <= 0) {
        resp_error(context->reply, "ERR client-id should be greater than 0");
        return false;
    }
    if (note_id(context->server, form, (uint64_t)id))
        return true;
    context_status(context, DUEQ_NOMEM);
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
    struct argument name = context_argument(context, *at);

    (void)option;
    filter->user = (*at)++;
    if (acl_find(context->server->acl, dueq_slice(name.data, name.size)) != NULL)
        return true;
    resp_errorf(context->reply, "ERR No such user '%s'", name.data);
    return false;
}

static const struct argument_option kill_options[] = {
    {"id", OPTION_CUSTOM, .values = 1, .read = read_id},
    {"type", OPTION_CUSTOM, .values = 1, .read = read_type},
    {"skipme", OPTION_CUSTOM, .values = 1, .read = read_skip_me},
    {"addr", OPTION_INDEX(struct client_filter, address)},
    {"laddr", OPTION_INDEX(struct client_filter, local_address)},
    {"user", OPTION_CUSTOM, .values = 1, .read = read_user},
    {.name = NULL}};

bool client_filter_read_kill(struct context *context, struct client_filter *filter, size_t most)
{
    size_t left = context_count(context) - filter->read;
    size_t end = filter->read + (left < most ? left : most);

    while (filter->read < end)
        if (!argument_options_read_one(context, &filter->read, kill_options, filter))
            return false;
    return true;
}

/* ---- passing */

/* wanted: an argument; 0: any. */
static bool same(const struct context *context, size_t wanted, const char *text, size_t size)
{
    return wanted == 0 ||
           dueq_slice_equal(context_slice(context, wanted), dueq_slice(text, size));
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

bool client_filter_passes(const struct context *context, const struct client_filter *filter,
                          const struct session *session)
{
    return session->life != SESSION_GONE && names_id(filter, session->id) &&
           is_of_type(filter, session) &&
           same(context, filter->address, session->address, strlen(session->address)) &&
           same(context, filter->local_address, session->local_address,
                strlen(session->local_address)) &&
           same(context, filter->user, session->user->name, session->user->name_size);
}
