#include "server/session/pubsub.h"

#include "storage/glob.h"
#include "server/containers/seeded_table.h"
#include "server/containers/shared_bytes.h"
#include "server/containers/small_blocks.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    STEP_BYTES = 512, /* copied into the output of a receiver, beyond the first ones */
    SLICE = 1000,     /* steps: half a millisecond */
    ENDS = SLICE / PUBSUB_STEPS,
    AT_ONCE = 4 * SLICE,
    COPIED_LATER = 4,       /* receivers that have a large message and are yet to copy it */
    UNAWAITED_MAX = 1 << 20 /* bytes */
};

struct subject;

/* What a session is to its subscriptions. It outlives the session when it had many. */
struct subscriber {
    struct session *session;                          /* NULL: it has left */
    struct subscription *subscriptions[PUBSUB_KINDS]; /* oldest first */
    struct subscriber *prev, *next;                   /* of those that have left (utlist) */
};

/* A subscription is found by its subject and its subscriber. */
struct subscription_identity {
    struct subject *subject;
    struct subscriber *subscriber;
};

struct subscription {
    UT_hash_handle hh;
    struct subscription_identity of;
    struct subscription *prev, *next;                 /* of the subject, in order */
    struct subscription *session_prev, *session_next; /* of the subscriber, in order */
};

/* A channel or pattern with at least one subscription, or at which a listing has stopped. */
struct subject {
    UT_hash_handle hh;
    struct subject *prev, *next; /* of its kind, oldest first */
    struct subscription *subscriptions;
    size_t count;
    size_t listings; /* that go on with this one: it must not be freed */
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
    struct shared_bytes *shared; /* the message, when it was lent; NULL: it is in `bytes` */
    const void *lent;
    uint8_t bytes[]; /* the channel, the message */
};

/* What a subscriber gets. */
struct message {
    struct dueq_slice channel, text;
    struct shared_bytes *shared; /* the same text; NULL: it is copied at once */
};

/* How far the first publication is: the subjects that are left, in their order. A subject that
 * ends meanwhile becomes NULL. */
struct delivery {
    struct subject **subjects; /* NULL: not begun */
    size_t count, at;
    struct subscription *next; /* of the subject `at` */
    bool begins_with_patterns; /* nobody is subscribed to the channel itself */
};

struct subjects {
    struct subject *shards[TABLE_SHARDS];
    struct subject *first;
    size_t count;
};

struct pubsub {
    struct subjects subjects[PUBSUB_KINDS];
    struct subscription *all[TABLE_SHARDS];
    size_t pattern_subscriptions;
    size_t job_subjects;              /* that may hear of jobs */
    struct publication *publications; /* oldest first */
    size_t unawaited_bytes;           /* of those that nobody waited for from the start */
    struct delivery delivery;
    struct subscriber *leaving; /* their subscriptions end, some a turn */
};

struct pubsub *pubsub_new(void)
{
    return calloc(1, sizeof(struct pubsub));
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

    SHARDS_FIND(server->pubsub->subjects[kind].shards, name.data, name.size, subject);
    return subject;
}

/* Can a channel of jobs have this name, or match it as a pattern? A pattern is compared as far
 * as it is plain. */
static bool hears_jobs(enum pubsub_kind kind, struct dueq_slice name)
{
    const char *text = name.data, *prefix = PUBSUB_JOBS;

    for (size_t i = 0; i < name.size && *prefix != '\0'; i++, prefix++) {
        if (kind == PUBSUB_PATTERN && strchr("*?[\\", text[i]) != NULL && text[i] != '\0')
            return true;
        if (text[i] != *prefix)
            return false;
    }
    return kind != PUBSUB_SHARD && *prefix == '\0';
}

static void free_subject(struct subject *subject)
{
    small_block_free(subject, sizeof(*subject) + subject->name_size);
}

static struct subject *open_subject(struct server *server, enum pubsub_kind kind,
                                    struct dueq_slice name)
{
    struct subjects *subjects = &server->pubsub->subjects[kind];
    struct subject *subject = find(server, kind, name);

    if (subject != NULL)
        return subject;
    subject = small_block_new(sizeof(*subject) + name.size);
    if (subject == NULL)
        return NULL;
    subject->name_size = name.size;
    if (name.size > 0)
        memcpy(subject->name, name.data, name.size);
    SHARDS_ADD(subjects->shards, subject->name, subject->name_size, subject);
    if (!seeded_table_holds(subject)) {
        free_subject(subject);
        return NULL;
    }
    DL_APPEND(subjects->first, subject);
    subjects->count++;
    server->pubsub->job_subjects += hears_jobs(kind, name);
    return subject;
}

static void close_subject(struct pubsub *pubsub, enum pubsub_kind kind, struct subject *subject)
{
    struct delivery *delivery = &pubsub->delivery;

    if (subject->subscriptions != NULL || subject->listings > 0)
        return;
    for (size_t i = delivery->at; i < delivery->count; i++)
        if (delivery->subjects[i] == subject)
            delivery->subjects[i] = NULL;
    pubsub->job_subjects -= hears_jobs(kind, name_of(subject));
    SHARDS_DELETE(pubsub->subjects[kind].shards, subject);
    DL_DELETE(pubsub->subjects[kind].first, subject);
    pubsub->subjects[kind].count--;
    free_subject(subject);
}

/* NULL: out of memory, or `makes` is false and there is none. */
static struct subscriber *subscriber_of(struct session *session, bool makes)
{
    if (session->subscriber == NULL && makes) {
        session->subscriber = calloc(1, sizeof(*session->subscriber));
        if (session->subscriber != NULL)
            session->subscriber->session = session;
    }
    return session->subscriber;
}

static struct subscription *find_subscription(const struct server *server,
                                              struct subscriber *subscriber,
                                              struct subject *subject)
{
    struct subscription_identity of = {subject, subscriber};
    struct subscription *found;

    SHARDS_FIND(server->pubsub->all, &of, sizeof(of), found);
    return found;
}

/* NULL: out of memory. */
static struct subscription *
new_subscription(struct server *server, struct subscriber *subscriber, struct subject *subject)
{
    struct subscription *subscription = small_block_new(sizeof(*subscription));

    if (subscription == NULL)
        return NULL;
    subscription->of = (struct subscription_identity){subject, subscriber};
    SHARDS_ADD(server->pubsub->all, &subscription->of, sizeof(subscription->of), subscription);
    if (seeded_table_holds(subscription))
        return subscription;
    small_block_free(subscription, sizeof(*subscription));
    return NULL;
}

bool pubsub_subscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                      struct dueq_slice name)
{
    struct subscriber *subscriber = subscriber_of(session, true);
    struct subject *subject = subscriber == NULL ? NULL : open_subject(server, kind, name);
    struct subscription *subscription;

    if (subject == NULL)
        return false;
    if (find_subscription(server, subscriber, subject) != NULL)
        return true;
    subscription = new_subscription(server, subscriber, subject);
    if (subscription == NULL) {
        close_subject(server->pubsub, kind, subject);
        return false;
    }
    DL_APPEND(subject->subscriptions, subscription);
    DL_APPEND2(subscriber->subscriptions[kind], subscription, session_prev, session_next);
    subject->count++;
    session->subscription_count[kind]++;
    server->pubsub->pattern_subscriptions += kind == PUBSUB_PATTERN;
    return true;
}

static void end_subscription(struct pubsub *pubsub, enum pubsub_kind kind,
                             struct subscription *subscription)
{
    struct subject *subject = subscription->of.subject;
    struct subscriber *subscriber = subscription->of.subscriber;

    assert(subject->count > 0);
    if (pubsub->delivery.next == subscription)
        pubsub->delivery.next = subscription->next;
    DL_DELETE(subject->subscriptions, subscription);
    DL_DELETE2(subscriber->subscriptions[kind], subscription, session_prev, session_next);
    SHARDS_DELETE(pubsub->all, subscription);
    subject->count--;
    if (subscriber->session != NULL)
        subscriber->session->subscription_count[kind]--;
    pubsub->pattern_subscriptions -= kind == PUBSUB_PATTERN;
    close_subject(pubsub, kind, subject);
    small_block_free(subscription, sizeof(*subscription));
}

bool pubsub_unsubscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                        struct dueq_slice name)
{
    struct subject *subject = find(server, kind, name);
    struct subscriber *subscriber = subscriber_of(session, false);
    struct subscription *subscription = subject == NULL || subscriber == NULL
                                            ? NULL
                                            : find_subscription(server, subscriber, subject);

    if (subscription == NULL)
        return false;
    end_subscription(server->pubsub, kind, subscription);
    return true;
}

bool pubsub_newest(const struct session *session, enum pubsub_kind kind,
                   struct dueq_slice *ret_name)
{
    if (session->subscription_count[kind] == 0)
        return false;
    *ret_name = name_of(session->subscriber->subscriptions[kind]->session_prev->of.subject);
    return true;
}

/* Ends at most `most` of them. False: some are left. */
static bool end_some(struct pubsub *pubsub, struct subscriber *subscriber, size_t most)
{
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        for (; subscriber->subscriptions[kind] != NULL; most--) {
            if (most == 0)
                return false;
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): each is freed once */
            end_subscription(pubsub, (enum pubsub_kind)kind, subscriber->subscriptions[kind]);
        }
    return true;
}

/* Of a hundred thousand the rest ends in later turns, without the session. */
void pubsub_drop(struct server *server, struct session *session)
{
    struct subscriber *subscriber = session->subscriber;

    if (subscriber == NULL)
        return;
    session->subscriber = NULL;
    subscriber->session = NULL;
    memset(session->subscription_count, 0, sizeof(session->subscription_count));
    if (end_some(server->pubsub, subscriber, ENDS))
        free(subscriber);
    else
        DL_APPEND(server->pubsub->leaving, subscriber);
}

static void end_leaving(struct pubsub *pubsub, size_t most)
{
    struct subscriber *first = pubsub->leaving;

    if (first == NULL || !end_some(pubsub, first, most))
        return;
    DL_DELETE(pubsub->leaving, first);
    free(first);
}

static void free_publication(struct publication *publication)
{
    shared_bytes_let_go(publication->shared);
    free(publication);
}

void pubsub_free(struct pubsub *pubsub)
{
    struct publication *publication, *next;

    if (pubsub == NULL)
        return;
    while (pubsub->leaving != NULL)
        end_leaving(pubsub, SIZE_MAX);
    DL_FOREACH_SAFE(pubsub->publications, publication, next)
        free_publication(publication);
    free(pubsub->delivery.subjects);
    free(pubsub);
}

void pubsub_each_of(const struct session *session, enum pubsub_kind kind,
                    void (*fn)(void *arg, struct dueq_slice name), void *arg)
{
    const struct subscription *at =
        session->subscriber == NULL ? NULL : session->subscriber->subscriptions[kind];

    for (; at != NULL; at = at->session_next)
        fn(arg, name_of(at->of.subject));
}

/* ---- messages */

static void deliver(const struct subscription *to, const char *word,
                    const struct dueq_slice *pattern, const struct message *message)
{
    struct session *session = to->of.subscriber->session;
    struct resp_writer *writer;

    if (session == NULL)
        return;
    writer = session_push_begin(session);

    resp_push(writer, pattern == NULL ? 3 : 4);
    resp_string(writer, word);
    if (pattern != NULL)
        resp_bulk(writer, pattern->data, pattern->size);
    resp_bulk(writer, message->channel.data, message->channel.size);
    if (message->shared != NULL)
        shared_bytes_write(message->shared, writer);
    else
        resp_bulk(writer, message->text.data, message->text.size);
    session_push_end(session);
}

static const char *word_of(enum pubsub_kind kind)
{
    return kind == PUBSUB_SHARD ? "smessage" : "message";
}

static size_t publish_to_patterns(struct server *server, const struct message *message)
{
    struct dueq_slice channel = message->channel;
    struct subject *subject, *next;
    size_t receivers = 0;

    DL_FOREACH_SAFE(server->pubsub->subjects[PUBSUB_PATTERN].first, subject, next) {
        struct dueq_slice pattern = name_of(subject);
        struct subscription *at;

        if (!glob_match(pattern.data, pattern.size, channel.data, channel.size, false))
            continue;
        DL_FOREACH(subject->subscriptions, at)
            deliver(at, "pmessage", &pattern, message);
        receivers += subject->count;
    }
    return receivers;
}

static size_t publish_now(struct server *server, enum pubsub_kind kind,
                          const struct message *message)
{
    struct subject *subject = find(server, kind, message->channel);
    struct subscription *at;

    assert(kind != PUBSUB_PATTERN);
    if (subject != NULL)
        DL_FOREACH(subject->subscriptions, at)
            deliver(at, word_of(kind), NULL, message);
    return (subject == NULL ? 0 : subject->count) +
           (kind == PUBSUB_CHANNEL ? publish_to_patterns(server, message) : 0);
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
    size_t patterns = kind == PUBSUB_CHANNEL ? pubsub->subjects[PUBSUB_PATTERN].count : 0;
    size_t receivers = pubsub_receivers(server, kind, channel);

    if (pubsub->publications != NULL)
        return receivers + patterns > 0;
    if (patterns > 0)
        receivers += pubsub->pattern_subscriptions - patterns;
    return receivers > AT_ONCE / steps_of(message.size);
}

/* NULL: out of memory. `lent`: the message is not copied. */
static struct publication *new_publication(struct dueq_slice channel, struct dueq_slice message,
                                           bool lent)
{
    size_t copied = lent ? 0 : message.size;
    struct publication *publication = calloc(1, sizeof(*publication) + channel.size + copied);

    if (publication == NULL)
        return NULL;
    publication->channel_size = channel.size;
    publication->message_size = message.size;
    if (channel.size > 0)
        memcpy(publication->bytes, channel.data, channel.size);
    if (copied > 0)
        memcpy(publication->bytes + channel.size, message.data, message.size);
    if (!lent)
        return publication;
    publication->lent = message.data;
    publication->shared = shared_bytes_new(message.data, message.size);
    if (publication->shared != NULL)
        return publication;
    free(publication);
    return NULL;
}

struct publication *pubsub_publish_later(struct server *server, enum pubsub_kind kind,
                                         struct dueq_slice channel, struct dueq_slice message,
                                         const struct dueq_loan *loan)
{
    struct publication *publication = new_publication(channel, message, loan != NULL);

    if (publication == NULL)
        return NULL;
    publication->kind = kind;
    publication->is_awaited = true;
    DL_APPEND(server->pubsub->publications, publication);
    return publication;
}

void pubsub_take(struct publication *publication, struct dueq_loan *loan)
{
    shared_bytes_own(publication->shared, loan->memory, loan->before + loan->size);
    loan->memory = NULL;
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
        free_publication(publication);
}

static struct message message_of(const struct publication *publication)
{
    const void *text = publication->lent != NULL
                           ? publication->lent
                           : publication->bytes + publication->channel_size;

    return (struct message){dueq_slice(publication->bytes, publication->channel_size),
                            dueq_slice(text, publication->message_size), publication->shared};
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
        free_publication(publication);
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
    struct message message = message_of(publication);
    struct dueq_slice channel = message.channel;
    struct subject *subject = find(server, publication->kind, channel), *next;
    size_t most = 1 + pubsub->subjects[PUBSUB_PATTERN].count;

    pubsub->delivery.subjects = calloc(most, sizeof(struct subject *));
    if (pubsub->delivery.subjects == NULL) {
        publication->receivers = publish_now(server, publication->kind, &message);
        end_first(pubsub);
        return;
    }
    pubsub->delivery.begins_with_patterns = subject == NULL;
    if (subject != NULL)
        add_subject(&pubsub->delivery, publication, subject);
    if (publication->kind == PUBSUB_CHANNEL) {
        DL_FOREACH_SAFE(pubsub->subjects[PUBSUB_PATTERN].first, subject, next) {
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
    struct message message = message_of(publication);
    struct dueq_slice name = name_of(to->of.subject);
    bool is_plain = delivery->at == 0 && !delivery->begins_with_patterns;

    delivery->next = to->next;
    deliver(to, is_plain ? word_of(publication->kind) : "pmessage", is_plain ? NULL : &name,
            &message);
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

/* Outputs are filled one after the other: with the message for all in them, a reply to somebody
 * else would come after all of these. What is to be finished has more steps than a slice. */
static bool should_wait(const struct publication *publication, size_t steps)
{
    return steps <= SLICE && publication->shared != NULL &&
           shared_bytes_holders(publication->shared) > COPIED_LATER;
}

/* Returns how many steps are left of `steps`. */
static size_t deliver_some(struct server *server, size_t steps)
{
    struct publication *first = server->pubsub->publications;
    struct delivery *delivery = &server->pubsub->delivery;

    while (steps > 0 && find_next(delivery)) {
        if (should_wait(first, steps))
            return 0;
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
    return server->pubsub->publications != NULL || server->pubsub->leaving != NULL;
}

void pubsub_turn(struct server *server)
{
    deliver_slice(server, SLICE);
    end_leaving(server->pubsub, ENDS);
}

void pubsub_finish(struct server *server)
{
    while (server->pubsub->publications != NULL)
        deliver_slice(server, SIZE_MAX);
}

/* ---- messages that nobody waits for */

static size_t count_receivers(const struct server *server, enum pubsub_kind kind,
                              struct dueq_slice channel)
{
    const struct subject *pattern = server->pubsub->subjects[PUBSUB_PATTERN].first;
    size_t receivers = pubsub_receivers(server, kind, channel);

    for (; kind == PUBSUB_CHANNEL && pattern != NULL; pattern = pattern->next)
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
                             struct dueq_slice channel, struct dueq_slice message,
                             struct dueq_loan *loan)
{
    struct pubsub *pubsub = server->pubsub;
    size_t size = sizeof(struct publication) + channel.size + message.size;
    struct publication *publication;

    while (pubsub->unawaited_bytes > 0 && pubsub->unawaited_bytes + size > UNAWAITED_MAX)
        finish_first(server);
    publication = pubsub_publish_later(server, kind, channel, message, loan);
    if (publication == NULL)
        return false;
    if (loan != NULL)
        pubsub_take(publication, loan);
    publication->is_awaited = false;
    publication->unawaited_bytes = size;
    pubsub->unawaited_bytes += size;
    return true;
}

size_t pubsub_publish(struct server *server, enum pubsub_kind kind, struct dueq_slice channel,
                      struct dueq_slice text, struct dueq_loan *loan)
{
    struct message message = {channel, text, NULL};
    size_t receivers;

    if (!pubsub_takes_turns(server, kind, channel, text))
        return publish_now(server, kind, &message);
    receivers = count_receivers(server, kind, channel);
    if (receivers == 0 || append_unawaited(server, kind, channel, text, loan))
        return receivers;
    pubsub_finish(server);
    return publish_now(server, kind, &message);
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
    return server->pubsub->subjects[kind].count;
}

bool pubsub_hears_jobs(const struct server *server)
{
    return server->pubsub->job_subjects > 0;
}

struct pubsub_listing {
    struct pubsub *pubsub;
    enum pubsub_kind kind;
    struct subject *next; /* NULL: it is at the end */
};

static void stop_at(struct pubsub_listing *listing, struct subject *subject)
{
    struct subject *before = listing->next;

    listing->next = subject;
    if (subject != NULL)
        subject->listings++;
    if (before == NULL)
        return;
    before->listings--;
    close_subject(listing->pubsub, listing->kind, before);
}

struct pubsub_listing *pubsub_list(const struct server *server, enum pubsub_kind kind)
{
    struct pubsub_listing *listing = calloc(1, sizeof(*listing));

    if (listing == NULL)
        return NULL;
    listing->pubsub = server->pubsub;
    listing->kind = kind;
    stop_at(listing, server->pubsub->subjects[kind].first);
    return listing;
}

bool pubsub_list_on(struct pubsub_listing *listing, size_t most,
                    void (*fn)(void *arg, struct dueq_slice name), void *arg)
{
    struct subject *at = listing->next;

    for (; at != NULL && most > 0; at = at->next, most--)
        if (at->count > 0)
            fn(arg, name_of(at));
    stop_at(listing, at);
    return at == NULL;
}

void pubsub_list_end(struct pubsub_listing *listing)
{
    stop_at(listing, NULL);
    free(listing);
}
