#include "server/session/pubsub.h"

#include "storage/glob.h"
#include "server/containers/seeded_table.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

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

struct pubsub {
    struct subject *subjects[PUBSUB_KINDS];
    struct subscription *all;
};

struct pubsub *pubsub_new(void)
{
    return calloc(1, sizeof(struct pubsub));
}

void pubsub_free(struct pubsub *pubsub)
{
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
    if (subject->subscriptions != NULL)
        return;
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
    return true;
}

static void end_subscription(struct server *server, enum pubsub_kind kind,
                             struct subscription *subscription)
{
    struct subject *subject = subscription->of.subject;
    struct session *session = subscription->of.session;

    assert(subject->count > 0 && session->subscription_count[kind] > 0);
    DL_DELETE(subject->subscriptions, subscription);
    DL_DELETE2(session->subscriptions[kind], subscription, session_prev, session_next);
    HASH_DEL(server->pubsub->all, subscription);
    subject->count--;
    session->subscription_count[kind]--;
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

size_t pubsub_publish(struct server *server, enum pubsub_kind kind, struct dueq_slice channel,
                      struct dueq_slice message)
{
    struct subject *subject = find(server, kind, channel);
    struct subscription *at;

    assert(kind != PUBSUB_PATTERN);
    if (subject != NULL)
        DL_FOREACH(subject->subscriptions, at)
            deliver(at->of.session, kind == PUBSUB_SHARD ? "smessage" : "message", NULL,
                    channel, message);
    return (subject == NULL ? 0 : subject->count) +
           (kind == PUBSUB_CHANNEL ? publish_to_patterns(server, channel, message) : 0);
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
