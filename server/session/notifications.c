#include "server/session/notifications.h"

#include "server/session/pubsub.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNEL_HEAD = 32 };

/* head, then tail: a channel may be as long as a key. */
static void publish(struct server *server, const char *head, struct dueq_slice tail,
                    struct dueq_slice message)
{
    size_t head_size = strlen(head);
    char *channel = malloc(head_size + tail.size);

    if (channel == NULL)
        return; /* notifications are not promised */
    memcpy(channel, head, head_size);
    if (tail.size > 0)
        memcpy(channel + head_size, tail.data, tail.size);
    pubsub_publish(server, PUBSUB_CHANNEL, dueq_slice(channel, head_size + tail.size), message,
                   NULL);
    free(channel);
}

static void tell(struct server *server, enum keyspace_event type, const char *event,
                 unsigned database, struct dueq_slice key)
{
    unsigned chosen = (unsigned)server->config.notify_keyspace_events;
    struct dueq_slice name = dueq_slice(event, strlen(event));
    char head[CHANNEL_HEAD];

    if (!keyspace_events_include(chosen, type))
        return;
    if (chosen & EVENT_KEYSPACE) {
        snprintf(head, sizeof(head), "__keyspace@%u__:", database);
        publish(server, head, key, name);
    }
    if (chosen & EVENT_KEYEVENT) {
        snprintf(head, sizeof(head), "__keyevent@%u__:", database);
        publish(server, head, name, key);
    }
}

void notifications_publish_pending(struct server *server)
{
    struct keys_change change;

    assert(server->store != NULL);
    while (changes_peek(store_keys(server->store), &change) == DUEQ_OK) {
        if (change.created) {
            tell(server, EVENT_NEW, "new", change.database, change.name);
            continue;
        }
        server->stats.expired_keys++;
        tell(server, EVENT_EXPIRED, "expired", change.database, change.name);
    }
}

void notifications_publish(struct server *server, enum keyspace_event type, const char *event,
                           unsigned database, struct dueq_slice key)
{
    notifications_publish_pending(server);
    tell(server, type, event, database, key);
}

/* PUBSUB_JOBS, the topic, a colon and the word. */
static void tell_of_job(struct server *server, const struct dueq_event *event)
{
    const char *word = dueq_event_name(event->type);
    char channel[sizeof(PUBSUB_JOBS) + DUEQ_NAME_MAX + 32];
    int size = snprintf(channel, sizeof(channel), PUBSUB_JOBS);

    memcpy(channel + size, event->topic.data, event->topic.size);
    size += (int)event->topic.size;
    size += snprintf(channel + size, sizeof(channel) - (size_t)size, ":%s", word);
    pubsub_publish(server, PUBSUB_CHANNEL, dueq_slice(channel, (size_t)size), event->id, NULL);
}

void notifications_publish_jobs(struct server *server)
{
    bool hears = pubsub_hears_jobs(server);
    struct dueq_event event;

    dueq_listen(server->store, hears);
    while (hears && dueq_next_event(server->store, &event))
        tell_of_job(server, &event);
}
