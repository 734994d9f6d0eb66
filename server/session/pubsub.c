#include "server/session/pubsub.h"

#include "storage/glob.h"
#include "server/containers/seeded_table.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    STEP_BYTES = 512, /* copied into the output of a receiver, beyond the first ones */
    SLICE = 1000,     /* steps: half a millisecond */
    AT_ONCE = 4 * SLICE,
    UNAWAITED_MAX = 1 << 20 /* bytes */
};

struct subject;

/* A subscription is found by its subject and its session. */
struct subscription_identity {
    struct subject *subject;
    struct session *session;
};

struct subscription {
    UT_hash_handle hh;
    struct subscription_identity of;
    struct subscription *prev, *next;                 /* of the subject, in order */
    struct subscription *session_prev, *session_next; /* of the session, in order */
};

/* A channel or pattern with at least one subscription. */
struct subject {
    UT_hash_handle hh;
    struct subscription *subscriptions;
    size_t count;
    size_t name_size;
    char name[];
};

/* A message that takes several turns. */
struct publication {
    struct publication *prev, *next;
    enum pubsub_kind kind;
    bool is_done, is_awaited;
    size_t unawaited_bytes; /* its own, else 0 */
    size_t receivers;
    size_t channel_size, message_size;
    uint8_t bytes[]; /* the channel, the message */
};

/* How far the first publication is: the subjects that are left, in their order. A subject that
 * ends meanwhile becomes NULL. */
struct delivery {
    struct subject **subjects; /* NULL: not begun */
    size_t count, at;
    struct subscription *next; /* of the subject `at` */
    bool begins_with_patterns; /* nobody is subscribed to the channel itself */
};

struct pubsub {
    struct subject *subjects[PUBSUB_KINDS];
    struct subscription *all;
    size_t pattern_subscriptions;
    struct publication *publications; /* oldest first */
    size_t unawaited_bytes;           /* of those that nobody waited for from the start */
    struct delivery delivery;
};

struct pubsub *pubsub_new(void)
{
    return calloc(1, sizeof(struct pubsub));
}

void pubsub_free(struct pubsub *pubsub)
{
    struct publication *publication, *next;

    if (pubsub == NULL)
        return;
    DL_FOREACH_SAFE(pubsub->publications, publication, next)
        free(publication);
    free(pubsub->delivery.subjects);
    free(pubsub);
}

/* ---- subscriptions */

static struct dueq_slice name_of(const struct subject *subject)
{
    return dueq_slice(subject->name, subject->name_size);
}

static struct subject *find(const struct server *server, enum pubsub_kind kind,
                            struct dueq_slice name)
{
    struct subject *subject;

    HASH_FIND(hh, server->pubsub->subjects[kind], name.data, name.size, subject);
    return subject;
}

static struct subject *open_subject(struct server *server, enum pubsub_kind kind,
                                    struct dueq_slice name)
{
    struct subject *subject = find(server, kind, name);

    if (subject != NULL)
        return subject;
    subject = calloc(1, sizeof(*subject) + name.size);
    if (subject == NULL)
        return NULL;
    subject->name_size = name.size;
    if (name.size > 0)
        memcpy(subject->name, name.data, name.size);
    HASH_ADD_KEYPTR(hh, server->pubsub->subjects[kind], subject->name, subject->name_size,
                    subject);
    if (seeded_table_holds(subject))
        return subject;
    free(subject);
    return NULL;
}

static void close_subject(struct server *server, enum pubsub_kind kind, struct subject *subject)
{
    struct delivery *delivery = &server->pubsub->delivery;

    if (subject->subscriptions != NULL)
        return;
    for (size_t i = delivery->at; i < delivery->count; i++)
        if (delivery->subjects[i] == subject)
            delivery->subjects[i] = NULL;
    HASH_DEL(server->pubsub->subjects[kind], subject);
    free(subject);
}

static struct subscription *find_subscription(const struct server *server,
                                              struct session *session, struct subject *subject)
{
    struct subscription_identity of = {subject, session};
    struct subscription *found;

    HASH_FIND(hh, server->pubsub->all, &of, sizeof(of), found);
    return found;
}

/* NULL: out of memory. */
static struct subscription *new_subscription(struct server *server, struct session *session,
                                             struct subject *subject)
{
    struct subscription *subscription = calloc(1, sizeof(*subscription));

    if (subscription == NULL)
        return NULL;
    subscription->of = (struct subscription_identity){subject, session};
    HASH_ADD(hh, server->pubsub->all, of, sizeof(subscription->of), subscription);
    if (seeded_table_holds(subscription))
        return subscription;
    free(subscription);
    return NULL;
}

bool pubsub_subscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                      struct dueq_slice name)
{
    struct subject *subject = open_subject(server, kind, name);
    struct subscription *subscription;

    if (subject == NULL)
        return false;
    if (find_subscription(server, session, subject) != NULL)
        return true;
    subscription = new_subscription(server, session, subject);
    if (subscription == NULL) {
        close_subject(server, kind, subject);
        return false;
    }
    DL_APPEND(subject->subscriptions, subscription);
    DL_APPEND2(session->subscriptions[kind], subscription, session_prev, session_next);
    subject->count++;
    session->subscription_count[kind]++;
    server->pubsub->pattern_subscriptions += kind == PUBSUB_PATTERN;
    return true;
}

static void end_subscription(struct server *server, enum pubsub_kind kind,
                             struct subscription *subscription)
{
    struct subject *subject = subscription->of.subject;
    struct session *session = subscription->of.session;

    assert(subject->count > 0 && session->subscription_count[kind] > 0);
    if (server->pubsub->delivery.next == subscription)
        server->pubsub->delivery.next = subscription->next;
    DL_DELETE(subject->subscriptions, subscription);
    DL_DELETE2(session->subscriptions[kind], subscription, session_prev, session_next);
    HASH_DEL(server->pubsub->all, subscription);
    subject->count--;
    session->subscription_count[kind]--;
    server->pubsub->pattern_subscriptions -= kind == PUBSUB_PATTERN;
    close_subject(server, kind, subject);
    free(subscription);
}

bool pubsub_unsubscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                        struct dueq_slice name)
{
    struct subject *subject = find(server, kind, name);
    struct subscription *subscription =
        subject == NULL ? NULL : find_subscription(server, session, subject);

    if (subscription == NULL)
        return false;
    end_subscription(server, kind, subscription);
    return true;
}

bool pubsub_newest(const struct session *session, enum pubsub_kind kind,
                   struct dueq_slice *ret_name)
{
    if (session->subscriptions[kind] == NULL)
        return false;
    *ret_name = name_of(session->subscriptions[kind]->session_prev->of.subject);
    return true;
}

void pubsub_drop(struct server *server, struct session *session)
{
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        while (session->subscriptions[kind] !=
               NULL) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
            end_subscription(server, (enum pubsub_kind)kind, session->subscriptions[kind]);
}

void pubsub_each_of(const struct session *session, enum pubsub_kind kind,
                    void (*fn)(void *arg, struct dueq_slice name), void *arg)
{
    const struct subscription *at = session->subscriptions[kind];

    for (; at != NULL; at = at->session_next)
        fn(arg, name_of(at->of.subject));
}

/* ---- messages */

static void deliver(struct session *session, const char *word, const struct dueq_slice *pattern,
                    struct dueq_slice channel, struct dueq_slice message)
{
    struct resp_writer *writer = session_push_begin(session);

    resp_push(writer, pattern == NULL ? 3 : 4);
    resp_string(writer, word);
    if (pattern != NULL)
        resp_bulk(writer, pattern->data, pattern->size);
    resp_bulk(writer, channel.data, channel.size);
    resp_bulk(writer, message.data, message.size);
    session_push_end(session);
}

static const char *word_of(enum pubsub_kind kind)
{
    return kind == PUBSUB_SHARD ? "smessage" : "message";
}

static size_t publish_to_patterns(struct server *server, struct dueq_slice channel,
                                  struct dueq_slice message)
{
    struct subject *subject, *next;
    size_t receivers = 0;

    HASH_ITER(hh, server->pubsub->subjects[PUBSUB_PATTERN], subject, next) {
        struct dueq_slice pattern = name_of(subject);
        struct subscription *at;

        if (!glob_match(pattern.data, pattern.size, channel.data, channel.size, false))
            continue;
        DL_FOREACH(subject->subscriptions, at)
            deliver(at->of.session, "pmessage", &pattern, channel, message);
        receivers += subject->count;
    }
    return receivers;
}

static size_t publish_now(struct server *server, enum pubsub_kind kind,
                          struct dueq_slice channel, struct dueq_slice message)
{
    struct subject *subject = find(server, kind, channel);
    struct subscription *at;

    assert(kind != PUBSUB_PATTERN);
    if (subject != NULL)
        DL_FOREACH(subject->subscriptions, at)
            deliver(at->of.session, word_of(kind), NULL, channel, message);
    return (subject == NULL ? 0 : subject->count) +
           (kind == PUBSUB_CHANNEL ? publish_to_patterns(server, channel, message) : 0);
}

/* ---- messages that take several turns: a slice is a millisecond of copies */

static size_t steps_of(size_t message_size)
{
    return 1 + message_size / STEP_BYTES;
}

/* Which patterns match is not known yet: a pattern counts with what it has beyond one
 * subscription. */
bool pubsub_takes_turns(const struct server *server, enum pubsub_kind kind,
                        struct dueq_slice channel, struct dueq_slice message)
{
    const struct pubsub *pubsub = server->pubsub;
    size_t patterns = kind == PUBSUB_CHANNEL ? HASH_COUNT(pubsub->subjects[PUBSUB_PATTERN]) : 0;
    size_t receivers = pubsub_receivers(server, kind, channel);

    if (pubsub->publications != NULL)
        return receivers + patterns > 0;
    if (patterns > 0)
        receivers += pubsub->pattern_subscriptions - patterns;
    return receivers > AT_ONCE / steps_of(message.size);
}

struct publication *pubsub_publish_later(struct server *server, enum pubsub_kind kind,
                                         struct dueq_slice channel, struct dueq_slice message)
{
    struct publication *publication =
        calloc(1, sizeof(*publication) + channel.size + message.size);

    if (publication == NULL)
        return NULL;
    publication->kind = kind;
    publication->is_awaited = true;
    publication->channel_size = channel.size;
    publication->message_size = message.size;
    if (channel.size > 0)
        memcpy(publication->bytes, channel.data, channel.size);
    if (message.size > 0)
        memcpy(publication->bytes + channel.size, message.data, message.size);
    DL_APPEND(server->pubsub->publications, publication);
    return publication;
}

bool pubsub_has_published(const struct publication *publication, size_t *ret_receivers)
{
    *ret_receivers = publication->receivers;
    return publication->is_done;
}

void pubsub_let_go(struct publication *publication)
{
    publication->is_awaited = false;
    if (publication->is_done)
        free(publication);
}

static struct dueq_slice channel_of(const struct publication *publication)
{
    return dueq_slice(publication->bytes, publication->channel_size);
}

static struct dueq_slice message_of(const struct publication *publication)
{
    return dueq_slice(publication->bytes + publication->channel_size,
                      publication->message_size);
}

static void end_first(struct pubsub *pubsub)
{
    struct publication *publication = pubsub->publications;

    free(pubsub->delivery.subjects);
    pubsub->delivery = (struct delivery){0};
    DL_DELETE(pubsub->publications, publication);
    pubsub->unawaited_bytes -= publication->unawaited_bytes;
    publication->is_done = true;
    if (!publication->is_awaited)
        free(publication);
}

static void add_subject(struct delivery *delivery, struct publication *publication,
                        struct subject *subject)
{
    delivery->subjects[delivery->count++] = subject;
    publication->receivers += subject->count;
}

/* Who is subscribed now gets it. Without memory, all at once. */
static void begin_first(struct server *server)
{
    struct pubsub *pubsub = server->pubsub;
    struct publication *publication = pubsub->publications;
    struct dueq_slice channel = channel_of(publication);
    struct subject *subject = find(server, publication->kind, channel), *next;
    size_t most = 1 + HASH_COUNT(pubsub->subjects[PUBSUB_PATTERN]);

    pubsub->delivery.subjects = calloc(most, sizeof(struct subject *));
    if (pubsub->delivery.subjects == NULL) {
        publication->receivers =
            publish_now(server, publication->kind, channel, message_of(publication));
        end_first(pubsub);
        return;
    }
    pubsub->delivery.begins_with_patterns = subject == NULL;
    if (subject != NULL)
        add_subject(&pubsub->delivery, publication, subject);
    if (publication->kind == PUBSUB_CHANNEL) {
        HASH_ITER(hh, pubsub->subjects[PUBSUB_PATTERN], subject, next) {
            if (glob_match(subject->name, subject->name_size, channel.data, channel.size,
                           false))
                add_subject(&pubsub->delivery, publication, subject);
        }
    }
    subject = pubsub->delivery.count == 0 ? NULL : pubsub->delivery.subjects[0];
    pubsub->delivery.next = subject == NULL ? NULL : subject->subscriptions;
}

static void deliver_next(const struct publication *publication, struct delivery *delivery)
{
    struct subscription *to = delivery->next;
    struct dueq_slice name = name_of(to->of.subject);
    bool is_plain = delivery->at == 0 && !delivery->begins_with_patterns;

    delivery->next = to->next;
    deliver(to->of.session, is_plain ? word_of(publication->kind) : "pmessage",
            is_plain ? NULL : &name, channel_of(publication), message_of(publication));
}

/* To the next subject when all subscriptions of this one have it. False: there is none. */
static bool find_next(struct delivery *delivery)
{
    while (delivery->next == NULL && delivery->at < delivery->count) {
        struct subject *subject;

        delivery->at++;
        subject = delivery->at < delivery->count ? delivery->subjects[delivery->at] : NULL;
        delivery->next = subject == NULL ? NULL : subject->subscriptions;
    }
    return delivery->next != NULL;
}

/* Returns how many steps are left of `steps`. */
static size_t deliver_some(struct server *server, size_t steps)
{
    struct publication *first = server->pubsub->publications;
    struct delivery *delivery = &server->pubsub->delivery;

    while (steps > 0 && find_next(delivery)) {
        size_t cost = steps_of(first->message_size);

        deliver_next(first, delivery);
        steps -= cost < steps ? cost : steps;
    }
    if (steps > 0)
        end_first(server->pubsub);
    return steps;
}

static void deliver_slice(struct server *server, size_t steps)
{
    struct pubsub *pubsub = server->pubsub;

    while (pubsub->publications != NULL && steps > 0) {
        if (pubsub->delivery.subjects == NULL)
            begin_first(server);
        if (pubsub->delivery.subjects != NULL)
            steps = deliver_some(server, steps);
    }
}

bool pubsub_is_busy(const struct server *server)
{
    return server->pubsub->publications != NULL;
}

void pubsub_turn(struct server *server)
{
    deliver_slice(server, SLICE);
}

void pubsub_finish(struct server *server)
{
    while (pubsub_is_busy(server))
        deliver_slice(server, SIZE_MAX);
}

/* ---- messages that nobody waits for */

static size_t count_receivers(const struct server *server, enum pubsub_kind kind,
                              struct dueq_slice channel)
{
    const struct subject *pattern = server->pubsub->subjects[PUBSUB_PATTERN];
    size_t receivers = pubsub_receivers(server, kind, channel);

    for (; kind == PUBSUB_CHANNEL && pattern != NULL; pattern = pattern->hh.next)
        if (glob_match(pattern->name, pattern->name_size, channel.data, channel.size, false))
            receivers += pattern->count;
    return receivers;
}

static void finish_first(struct server *server)
{
    assert(server->pubsub->publications != NULL);
    if (server->pubsub->delivery.subjects == NULL)
        begin_first(server);
    if (server->pubsub->delivery.subjects != NULL)
        deliver_some(server, SIZE_MAX);
}

/* What nobody waits for has a limit: who adds to it then delivers the oldest. */
static bool append_unawaited(struct server *server, enum pubsub_kind kind,
                             struct dueq_slice channel, struct dueq_slice message)
{
    struct pubsub *pubsub = server->pubsub;
    size_t size = sizeof(struct publication) + channel.size + message.size;
    struct publication *publication;

    while (pubsub->unawaited_bytes > 0 && pubsub->unawaited_bytes + size > UNAWAITED_MAX)
        finish_first(server);
    publication = pubsub_publish_later(server, kind, channel, message);
    if (publication == NULL)
        return false;
    publication->is_awaited = false;
    publication->unawaited_bytes = size;
    pubsub->unawaited_bytes += size;
    return true;
}

size_t pubsub_publish(struct server *server, enum pubsub_kind kind, struct dueq_slice channel,
                      struct dueq_slice message)
{
    size_t receivers;

    if (!pubsub_takes_turns(server, kind, channel, message))
        return publish_now(server, kind, channel, message);
    receivers = count_receivers(server, kind, channel);
    if (receivers == 0 || append_unawaited(server, kind, channel, message))
        return receivers;
    pubsub_finish(server);
    return publish_now(server, kind, channel, message);
}

/* ---- for PUBSUB */

size_t pubsub_receivers(const struct server *server, enum pubsub_kind kind,
                        struct dueq_slice name)
{
    const struct subject *subject = find(server, kind, name);

    return subject == NULL ? 0 : subject->count;
}

size_t pubsub_names(const struct server *server, enum pubsub_kind kind)
{
    return HASH_COUNT(server->pubsub->subjects[kind]);
}

void pubsub_each(const struct server *server, enum pubsub_kind kind,
                 void (*fn)(void *arg, struct dueq_slice name), void *arg)
{
    const struct subject *subject = server->pubsub->subjects[kind];

    for (; subject != NULL; subject = subject->hh.next)
        fn(arg, name_of(subject));
}
