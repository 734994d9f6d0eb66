#include "server/watches.h"

#include "server/server.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct watched;

struct watch {
    struct watched *watched;
    struct session *session;
    bool absent; /* there was no such key when the watch began */
    struct watch *prev, *next;
    struct watch *session_next;
};

/* A key that somebody watches. */
struct watched {
    UT_hash_handle hh;
    struct watch *watches;
    unsigned database;
    size_t name_size;
    char name[];
};

struct watches {
    struct watched *keys[KEYS_DATABASES_MAX];
};

struct watches *watches_new(void)
{
    return calloc(1, sizeof(struct watches));
}

void watches_free(struct watches *watches)
{
    free(watches);
}

/* ---- watching */

static struct watched *find(struct watches *watches, unsigned database, struct dueq_slice name)
{
    struct watched *watched;

    HASH_FIND(hh, watches->keys[database], name.data, name.size, watched);
    return watched;
}

static struct watched *open_watched(struct watches *watches, unsigned database,
                                    struct dueq_slice name)
{
    struct watched *watched = find(watches, database, name);

    if (watched != NULL)
        return watched;
    watched = calloc(1, sizeof(*watched) + name.size);
    if (watched == NULL)
        return NULL;
    watched->database = database;
    watched->name_size = name.size;
    if (name.size > 0)
        memcpy(watched->name, name.data, name.size);
    HASH_ADD_KEYPTR(hh, watches->keys[database], watched->name, watched->name_size, watched);
    return watched;
}

static bool is_absent(struct server *server, unsigned database, struct dueq_slice name)
{
    struct keys_view view = {server->store, database, server->now.now};
    struct keys_info info;

    return keys_info(&view, name, &info) == DUEQ_NOTFOUND;
}

static bool watches_already(const struct session *session, const struct watched *watched)
{
    for (const struct watch *watch = session->watches; watch != NULL;
         watch = watch->session_next)
        if (watch->watched == watched)
            return true;
    return false;
}

bool watches_add(struct server *server, struct session *session, struct dueq_slice name)
{
    struct watched *watched = open_watched(server->watches, session->database, name);
    struct watch *watch;

    if (watched == NULL)
        return false;
    if (watches_already(session, watched))
        return true;
    watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return false;
    watch->watched = watched;
    watch->session = session;
    watch->absent = is_absent(server, session->database, name);
    DL_APPEND(watched->watches, watch);
    watch->session_next = session->watches;
    session->watches = watch;
    return true;
}

void watches_drop(struct server *server, struct session *session)
{
    while (session->watches != NULL) {
        struct watch *watch = session->watches;
        struct watched *watched = watch->watched;

        session->watches = watch->session_next;
        DL_DELETE(watched->watches, watch);
        free(watch);
        if (watched->watches == NULL) {
            HASH_DEL(server->watches->keys[watched->database], watched);
            free(watched);
        }
    }
    session->watch_broken = false;
}

/* ---- changes */

static struct dueq_slice name_of(const struct watched *watched)
{
    return dueq_slice(watched->name, watched->name_size);
}

/* What was absent from the start does not change by being reclaimed. */
static void mark(struct watched *watched, bool only_present)
{
    struct watch *watch;

    DL_FOREACH(watched->watches, watch)
    if (!only_present || !watch->absent)
        watch->session->watch_broken = true;
}

/* A database was emptied, or another was put in its place. */
static void mark_database(struct server *server, unsigned database)
{
    struct watched *watched, *next;

    HASH_ITER(hh, server->watches->keys[database], watched, next)
    mark(watched, is_absent(server, database, name_of(watched)));
}

void watches_note(struct server *server, const struct keys_change *change)
{
    struct watched *watched;

    if (server->watches->keys[change->database] == NULL)
        return;
    if (change->flushed) {
        mark_database(server, change->database);
        return;
    }
    watched = find(server->watches, change->database, change->name);
    if (watched != NULL)
        mark(watched, change->expired);
}

bool watches_intact(struct server *server, const struct session *session)
{
    if (session->watch_broken)
        return false;
    for (const struct watch *watch = session->watches; watch != NULL;
         watch = watch->session_next)
        if (!watch->absent &&
            is_absent(server, watch->watched->database, name_of(watch->watched)))
            return false;
    return true;
}
