/* Publish and subscribe. */
#include "server/pubsub.h"

#include "protocol/glob.h"
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/connection.h"

struct verb {
    enum pubsub_kind kind;
    const char *subscribe, *unsubscribe;
};

static const struct verb verbs[PUBSUB_KINDS] = {
    [PUBSUB_CHANNEL] = {PUBSUB_CHANNEL, "subscribe", "unsubscribe"},
    [PUBSUB_PATTERN] = {PUBSUB_PATTERN, "psubscribe", "punsubscribe"},
    [PUBSUB_SHARD] = {PUBSUB_SHARD, "ssubscribe", "sunsubscribe"},
};

/* Channels and patterns are counted together, shard channels by themselves. */
static int64_t count_of(const struct session *session, enum pubsub_kind kind)
{
    if (kind == PUBSUB_SHARD)
        return (int64_t)session->subscription_count[PUBSUB_SHARD];
    return (int64_t)(session->subscription_count[PUBSUB_CHANNEL] +
                     session->subscription_count[PUBSUB_PATTERN]);
}

/* A confirmation is a message, which comes also to a client that wants no replies. One that
 * wants them has it in its place among them, as in an EXEC. name: data NULL for none at all. */
static void confirm(struct context *context, const char *word, struct dueq_slice name,
                    int64_t count)
{
    bool silent = session_is_silent(context->session);
    struct connection *connection = connection_of(context->session);
    struct resp_writer *writer = silent ? connection_push_begin(connection) : context->reply;

    resp_push(writer, 3);
    resp_string(writer, word);
    if (name.data == NULL)
        resp_null(writer);
    else
        resp_bulk(writer, name.data, name.size);
    resp_integer(writer, count);
    if (silent)
        connection_push_end(connection);
}

static enum outcome subscribe(struct context *context, enum pubsub_kind kind)
{
    for (size_t i = 1; i < context_count(context); i++) {
        struct dueq_slice name = context_slice(context, i);

        if (!pubsub_subscribe(context->server, context->session, kind, name))
            return context_status(context, DUEQ_NOMEM);
        confirm(context, verbs[kind].subscribe, name, count_of(context->session, kind));
    }
    return OUTCOME_DONE;
}

/* The name lies in the subscription, which goes: it is written before, with the count after. */
static void unsubscribe_newest(struct context *context, enum pubsub_kind kind)
{
    struct dueq_slice name;

    if (!pubsub_newest(context->session, kind, &name))
        return;
    confirm(context, verbs[kind].unsubscribe, name, count_of(context->session, kind) - 1);
    pubsub_unsubscribe(context->server, context->session, kind, name);
}

static enum outcome unsubscribe_all(struct context *context, enum pubsub_kind kind)
{
    if (context->session->subscriptions[kind] == NULL)
        confirm(context, verbs[kind].unsubscribe, dueq_slice(NULL, 0),
                count_of(context->session, kind));
    while (context->session->subscriptions[kind] != NULL)
        unsubscribe_newest(context, kind);
    return OUTCOME_DONE;
}

static enum outcome unsubscribe(struct context *context, enum pubsub_kind kind)
{
    if (context_count(context) == 1)
        return unsubscribe_all(context, kind);
    for (size_t i = 1; i < context_count(context); i++) {
        struct dueq_slice name = context_slice(context, i);

        pubsub_unsubscribe(context->server, context->session, kind, name);
        confirm(context, verbs[kind].unsubscribe, name, count_of(context->session, kind));
    }
    return OUTCOME_DONE;
}

enum outcome run_subscribe(struct context *context)
{
    return subscribe(context, PUBSUB_CHANNEL);
}

enum outcome run_psubscribe(struct context *context)
{
    return subscribe(context, PUBSUB_PATTERN);
}

enum outcome run_ssubscribe(struct context *context)
{
    return subscribe(context, PUBSUB_SHARD);
}

enum outcome run_unsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_CHANNEL);
}

enum outcome run_punsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_PATTERN);
}

enum outcome run_sunsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_SHARD);
}

/* ---- publishing */

static enum outcome publish(struct context *context, enum pubsub_kind kind)
{
    size_t receivers = pubsub_publish(context->server, kind, context_slice(context, 1),
                                      context_slice(context, 2));

    resp_integer(context->reply, (int64_t)receivers);
    return OUTCOME_DONE;
}

enum outcome run_publish(struct context *context)
{
    return publish(context, PUBSUB_CHANNEL);
}

enum outcome run_spublish(struct context *context)
{
    return publish(context, PUBSUB_SHARD);
}

/* ---- PUBSUB */

struct name_list {
    struct context *context;
    size_t count;
};

static void write_name(void *arg, struct dueq_slice name)
{
    struct name_list *list = arg;
    struct context *context = list->context;

    if (context_count(context) > 2) {
        struct argument pattern = context_argument(context, 2);

        if (!glob_match(pattern.data, pattern.size, name.data, name.size, false))
            return;
    }
    resp_bulk(context->reply, name.data, name.size);
    list->count++;
}

static enum outcome list_names(struct context *context, enum pubsub_kind kind)
{
    struct name_list list = {context, 0};
    size_t mark = resp_deferred(context->reply);

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    pubsub_each(context->server, kind, write_name, &list);
    resp_deferred_array(context->reply, mark, list.count);
    return OUTCOME_DONE;
}

static enum outcome count_receivers(struct context *context, enum pubsub_kind kind)
{
    resp_array(context->reply, 2 * (context_count(context) - 2));
    for (size_t i = 2; i < context_count(context); i++) {
        struct dueq_slice name = context_slice(context, i);

        resp_bulk(context->reply, name.data, name.size);
        resp_integer(context->reply, (int64_t)pubsub_receivers(context->server, kind, name));
    }
    return OUTCOME_DONE;
}

enum outcome run_pubsub_channels(struct context *context)
{
    return list_names(context, PUBSUB_CHANNEL);
}

enum outcome run_pubsub_shardchannels(struct context *context)
{
    return list_names(context, PUBSUB_SHARD);
}

enum outcome run_pubsub_numsub(struct context *context)
{
    return count_receivers(context, PUBSUB_CHANNEL);
}

enum outcome run_pubsub_shardnumsub(struct context *context)
{
    return count_receivers(context, PUBSUB_SHARD);
}

enum outcome run_pubsub_numpat(struct context *context)
{
    resp_integer(context->reply, (int64_t)pubsub_names(context->server, PUBSUB_PATTERN));
    return OUTCOME_DONE;
}

enum outcome run_pubsub_help(struct context *context)
{
    return write_help(context);
}
