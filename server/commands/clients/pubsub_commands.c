/* Publish and subscribe: SUBSCRIBE, PUBLISH, PUBSUB and their relatives. */
#include "server/commands/wide.h"
#include "server/dispatch/command_list.h"
#include "server/session/pubsub.h"

#include "storage/glob.h"
#include "server/dispatch/context.h"
#include "server/dispatch/docs/command_help.h"
#include "server/dispatch/long_work.h"
#include "server/session/session.h"
#include "server/session/session_output.h"

#include <stdlib.h>

struct verb {
    enum pubsub_kind kind;
    const char *subscribe, *unsubscribe;
};

static const struct verb verbs[PUBSUB_KINDS] = {
    [PUBSUB_CHANNEL] = {PUBSUB_CHANNEL, "subscribe", "unsubscribe"},
    [PUBSUB_PATTERN] = {PUBSUB_PATTERN, "psubscribe", "punsubscribe"},
    [PUBSUB_SHARD] = {PUBSUB_SHARD, "ssubscribe", "sunsubscribe"},
};

/* Counts channels and patterns together, shard channels apart, as confirmations do. */
static int64_t count_of(const struct session *session, enum pubsub_kind kind)
{
    if (kind == PUBSUB_SHARD)
        return (int64_t)session->subscription_count[PUBSUB_SHARD];
    return (int64_t)(session->subscription_count[PUBSUB_CHANNEL] +
                     session->subscription_count[PUBSUB_PATTERN]);
}

/* A confirmation is a message: it is also sent to a client with CLIENT REPLY OFF. Otherwise it
 * is part of the replies, in their order, as in an EXEC. name: data NULL when there is none. */
static void confirm(struct context *context, const char *word, struct dueq_slice name,
                    int64_t count)
{
    bool silent = session_is_silent(context->session);
    struct resp_writer *writer = silent ? session_push_begin(context->session) : context->reply;

    resp_push(writer, 3);
    resp_string(writer, word);
    if (name.data == NULL)
        resp_null(writer);
    else
        resp_bulk(writer, name.data, name.size);
    resp_integer(writer, count);
    if (silent)
        session_push_end(context->session);
}

static bool subscribe_to_one(struct context *context, struct wide *wide)
{
    enum pubsub_kind kind = *(const enum pubsub_kind *)wide->arg;
    struct dueq_slice name = context_slice(context, wide->at);

    if (!pubsub_subscribe(context->server, context->session, kind, name))
        return context_check_status(context, DUEQ_NOMEM);
    confirm(context, verbs[kind].subscribe, name, count_of(context->session, kind));
    return true;
}

static enum outcome subscribe(struct context *context, enum pubsub_kind kind)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .weight = PUBSUB_STEPS,
                                          .lets_others = true,
                                          .take = subscribe_to_one,
                                          .end = wide_end};

    return wide_run_with(context, &form, &kind);
}

/* The name belongs to the subscription, so it is written before the subscription is removed. */
static void unsubscribe_newest(struct context *context, enum pubsub_kind kind)
{
    struct dueq_slice name;

    if (!pubsub_newest(context->session, kind, &name))
        return;
    confirm(context, verbs[kind].unsubscribe, name, count_of(context->session, kind) - 1);
    pubsub_unsubscribe(context->server, context->session, kind, name);
}

/* A slice of many. The state only says that it is not the first one. */
static enum outcome unsubscribe_all(struct context *context, enum pubsub_kind kind)
{
    bool begins = long_work_state(context) == NULL;
    size_t most = LONG_STEPS / PUBSUB_STEPS;
    void *state;

    if (begins && context->session->subscription_count[kind] == 0)
        confirm(context, verbs[kind].unsubscribe, dueq_slice(NULL, 0),
                count_of(context->session, kind));
    for (; context->session->subscription_count[kind] > 0 && most > 0; most--)
        unsubscribe_newest(context, kind);
    if (context->session->subscription_count[kind] == 0)
        return OUTCOME_DONE;
    if (!begins)
        return OUTCOME_WAIT;
    state = malloc(1);
    return state == NULL ? context_status(context, DUEQ_NOMEM)
                         : long_work_continue(context, state, free, LONG_STREAMS);
}

static bool unsubscribe_from_one(struct context *context, struct wide *wide)
{
    enum pubsub_kind kind = *(const enum pubsub_kind *)wide->arg;
    struct dueq_slice name = context_slice(context, wide->at);

    pubsub_unsubscribe(context->server, context->session, kind, name);
    confirm(context, verbs[kind].unsubscribe, name, count_of(context->session, kind));
    return true;
}

static enum outcome unsubscribe(struct context *context, enum pubsub_kind kind)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .weight = PUBSUB_STEPS,
                                          .lets_others = true,
                                          .take = unsubscribe_from_one,
                                          .end = wide_end};

    return context_count(context) == 1 ? unsubscribe_all(context, kind)
                                       : wide_run_with(context, &form, &kind);
}

static enum outcome run_subscribe(struct context *context)
{
    return subscribe(context, PUBSUB_CHANNEL);
}

static enum outcome run_psubscribe(struct context *context)
{
    return subscribe(context, PUBSUB_PATTERN);
}

static enum outcome run_ssubscribe(struct context *context)
{
    return subscribe(context, PUBSUB_SHARD);
}

static enum outcome run_unsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_CHANNEL);
}

static enum outcome run_punsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_PATTERN);
}

static enum outcome run_sunsubscribe(struct context *context)
{
    return unsubscribe(context, PUBSUB_SHARD);
}

/* ---- publishing */

static void let_go(void *state)
{
    pubsub_let_go(state);
}

static enum outcome publish_later(struct context *context, enum pubsub_kind kind)
{
    struct dueq_loan *loan = context_loan(context, 2);
    struct publication *publication = pubsub_publish_later(
        context->server, kind, context_slice(context, 1), context_slice(context, 2), loan);
    enum outcome outcome;

    if (publication == NULL)
        return context_status(context, DUEQ_NOMEM);
    outcome = long_work_continue(context, publication, let_go, LONG_HOLDS_NOTHING);
    if (loan != NULL)
        pubsub_take(publication, loan); /* after that, so that no waiter copies the request */
    return outcome;
}

/* The reply comes when all receivers have the message in their output. */
static enum outcome publish(struct context *context, enum pubsub_kind kind)
{
    const struct publication *publication = long_work_state(context);
    struct dueq_slice channel = context_slice(context, 1), message = context_slice(context, 2);
    size_t receivers;

    if (publication == NULL && context->may_wait &&
        pubsub_takes_turns(context->server, kind, channel, message))
        return publish_later(context, kind);
    if (publication == NULL)
        receivers =
            pubsub_publish(context->server, kind, channel, message, context_loan(context, 2));
    else if (!pubsub_has_published(publication, &receivers))
        return OUTCOME_WAIT;
    resp_integer(context->reply, (int64_t)receivers);
    return OUTCOME_DONE;
}

static enum outcome run_publish(struct context *context)
{
    return publish(context, PUBSUB_CHANNEL);
}

static enum outcome run_spublish(struct context *context)
{
    return publish(context, PUBSUB_SHARD);
}

/* ---- PUBSUB */

struct name_list {
    struct pubsub_listing *listing;
    struct context *context; /* of this slice */
    size_t count;
    bool has_begun;
};

static void free_list(void *state)
{
    struct name_list *list = state;

    pubsub_list_end(list->listing);
    free(list);
}

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

/* A slice of many. */
static enum outcome list_on(struct context *context, struct name_list *list)
{
    size_t mark = long_work_reply_begin(context);

    if (list->has_begun)
        long_work_restore_reply(context);
    else
        mark = resp_reserved(context->reply);
    list->has_begun = true;
    list->context = context;
    if (!pubsub_list_on(list->listing, LONG_STEPS, write_name, list))
        return OUTCOME_WAIT;
    resp_reserved_array(context->reply, mark, list->count);
    return OUTCOME_DONE;
}

static enum outcome list_at_once(struct context *context, struct name_list *list)
{
    size_t mark = resp_deferred(context->reply);

    list->context = context;
    pubsub_list_on(list->listing, SIZE_MAX, write_name, list);
    resp_deferred_array(context->reply, mark, list->count);
    free_list(list);
    return OUTCOME_DONE;
}

static enum outcome list_later(struct context *context, struct name_list *list)
{
    enum outcome outcome = long_work_continue(context, list, free_list, LONG_HOLDS_NOTHING);

    if (outcome == OUTCOME_WAIT)
        long_work_set_reply_aside(context);
    return outcome;
}

static enum outcome list_names(struct context *context, enum pubsub_kind kind)
{
    size_t names = pubsub_names(context->server, kind);
    struct name_list *list;

    if (long_work_state(context) != NULL)
        return list_on(context, long_work_state(context));
    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (!long_work_fits(context, names))
        return OUTCOME_DONE;
    list = calloc(1, sizeof(*list));
    if (list != NULL)
        list->listing = pubsub_list(context->server, kind);
    if (list == NULL || list->listing == NULL) {
        free(list);
        return context_status(context, DUEQ_NOMEM);
    }
    return names > LONG_ENOUGH ? list_later(context, list) : list_at_once(context, list);
}

static bool begin_counts(struct context *context, struct wide *wide)
{
    resp_array(context->reply, 2 * (context_count(context) - wide->at));
    return true;
}

static bool count_of_one(struct context *context, struct wide *wide)
{
    enum pubsub_kind kind = *(const enum pubsub_kind *)wide->arg;
    struct dueq_slice name = context_slice(context, wide->at);

    resp_slice(context->reply, name);
    resp_integer(context->reply, (int64_t)pubsub_receivers(context->server, kind, name));
    return true;
}

static enum outcome count_receivers(struct context *context, enum pubsub_kind kind)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .lets_others = true,
                                          .begin = begin_counts,
                                          .take = count_of_one,
                                          .end = wide_end};

    return wide_run_with(context, &form, &kind);
}

static enum outcome run_pubsub_channels(struct context *context)
{
    return list_names(context, PUBSUB_CHANNEL);
}

static enum outcome run_pubsub_shardchannels(struct context *context)
{
    return list_names(context, PUBSUB_SHARD);
}

static enum outcome run_pubsub_numsub(struct context *context)
{
    return count_receivers(context, PUBSUB_CHANNEL);
}

static enum outcome run_pubsub_shardnumsub(struct context *context)
{
    return count_receivers(context, PUBSUB_SHARD);
}

static enum outcome run_pubsub_numpat(struct context *context)
{
    resp_integer(context->reply, (int64_t)pubsub_names(context->server, PUBSUB_PATTERN));
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command pubsub_subcommands[] = {
    {.name = "numsub",
     .arity = -2,
     .flags = COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "Get the count of subscribers for channels",
     .complexity =
         "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
     .syntax = "[channel [channel ...]]",
     .run = run_pubsub_numsub},
    {.name = "channels",
     .arity = -2,
     .flags = COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "List active channels",
     .complexity = "O(N) where N is the number of active channels, and assuming constant time "
                   "pattern matching (relatively short channels and patterns)",
     .syntax = "[pattern]",
     .run = run_pubsub_channels},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "6.2.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "numpat",
     .arity = 2,
     .flags = COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "Get the count of unique patterns pattern subscriptions",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_pubsub_numpat},
    {.name = "shardchannels",
     .arity = -2,
     .flags = COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "7.0.0",
     .summary = "List active shard channels",
     .complexity = "O(N) where N is the number of active shard channels, and assuming constant "
                   "time pattern matching (relatively short shard channels).",
     .syntax = "[pattern]",
     .run = run_pubsub_shardchannels},
    {.name = "shardnumsub",
     .arity = -2,
     .flags = COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE,
     .group = "pubsub",
     .since = "7.0.0",
     .summary = "Get the count of subscribers for shard channels",
     .complexity = "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested "
                   "shard channels",
     .syntax = "[shardchannel [shardchannel ...]]",
     .run = run_pubsub_shardnumsub},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "subscribe",
     .arity = -2,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Listen for messages published to the given channels",
     .complexity = "O(N) where N is the number of channels to subscribe to.",
     .syntax = "channel [channel ...]",
     .run = run_subscribe},
    {.name = "psubscribe",
     .arity = -2,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Listen for messages published to channels matching the given patterns",
     .complexity =
         "O(N) where N is the number of patterns the client is already subscribed to.",
     .syntax = "pattern [pattern ...]",
     .run = run_psubscribe},
    {.name = "unsubscribe",
     .arity = -1,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Stop listening for messages posted to the given channels",
     .complexity = "O(N) where N is the number of clients already subscribed to a channel.",
     .syntax = "[channel [channel ...]]",
     .run = run_unsubscribe},
    {.name = "punsubscribe",
     .arity = -1,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Stop listening for messages posted to channels matching the given patterns",
     .complexity =
         "O(N+M) where N is the number of patterns the client is already subscribed and M is "
         "the number of total patterns subscribed in the system (by any client).",
     .syntax = "[pattern [pattern ...]]",
     .run = run_punsubscribe},
    {.name = "publish",
     .arity = 3,
     .flags = COMMAND_PAUSED | COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Post a message to a channel",
     .complexity = "O(N+M) where N is the number of clients subscribed to the receiving "
                   "channel and M is the total number of subscribed patterns (by any client).",
     .syntax = "channel message",
     .run = run_publish},
    {.name = "pubsub",
     .arity = -2,
     .flags = 0,
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "A container for Pub/Sub commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = pubsub_subcommands},
    {.name = "ssubscribe",
     .arity = -2,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .keys = {1, -1, 1},
     .key_specs = "not_key@1/r-1:1:0",
     .group = "pubsub",
     .since = "7.0.0",
     .summary = "Listen for messages published to the given shard channels",
     .complexity = "O(N) where N is the number of shard channels to subscribe to.",
     .syntax = "shardchannel [shardchannel ...]",
     .run = run_ssubscribe},
    {.name = "sunsubscribe",
     .arity = -1,
     .flags = COMMAND_SUBSCRIBED | COMMAND_PUBSUB | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE,
     .keys = {1, -1, 1},
     .key_specs = "not_key@1/r-1:1:0",
     .group = "pubsub",
     .since = "7.0.0",
     .summary = "Stop listening for messages posted to the given shard channels",
     .complexity =
         "O(N) where N is the number of clients already subscribed to a shard channel.",
     .syntax = "[shardchannel [shardchannel ...]]",
     .run = run_sunsubscribe},
    {.name = "spublish",
     .arity = 3,
     .flags = COMMAND_PAUSED | COMMAND_PUBSUB | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "not_key@1/r0:1:0",
     .group = "pubsub",
     .since = "7.0.0",
     .summary = "Post a message to a shard channel",
     .complexity =
         "O(N) where N is the number of clients subscribed to the receiving shard channel.",
     .syntax = "shardchannel message",
     .run = run_spublish},
    {.name = NULL}};

COMMANDS(pubsub, entries)
