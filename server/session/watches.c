#include "server/session/watches.h"
#include "storage/keys/state/changes.h"
#include "storage/store.h"

#include "server/containers/seeded_table.h"
#include "server/server.h"
#include "storage/store.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct watched;

/* A watch is found by its key and its session. */
struct watch_identity {
    struct watched *watched;
    struct session *session; /* NULL: it watches no more */
};

struct watch {
    UT_hash_handle hh;
    struct watch_identity of;
    bool absent;      /* there was no such key when the watch began */
    uint64_t flushes; /* of the key's database, when the watch began */
    struct watch *prev, *next;
    struct watch *session_next;
};

/* A key with at least one watch. */
struct watched {
    UT_hash_handle hh;
    struct watch *watches;
    unsigned database;
    size_t name_size;
    char name[];
};

struct watches {
    struct watched *keys[KEYS_DATABASES_MAX];
    uint64_t flushes[KEYS_DATABASES_MAX]; /* how often each was emptied or replaced */
    struct watch *all;
    struct watch *dropped; /* freed some a turn */
    uint64_t steps;
};

enum { DROPS = 1000 }; /* at once, and in a turn */

struct watches *watches_new(void)
{
    return calloc(1, sizeof(struct watches));
}

void watches_free(struct watches *watches)
{
    while (watches != NULL && watches->dropped != NULL)
        watches_free_some(watches);
    free(watches);
}

uint64_t watches_steps(const struct watches *watches)
{
    return watches->steps;
}

/* ---- watched keys */

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
    if (seeded_table_holds(watched))
        return watched;
    free(watched);
    return NULL;
}

static void close_watched(struct watches *watches, struct watched *watched)
{
    if (watched->watches != NULL)
        return;
    HASH_DEL(watches->keys[watched->database], watched);
    free(watched);
}

static struct dueq_slice name_of(const struct watched *watched)
{
    return dueq_slice(watched->name, watched->name_size);
}

/* Without a store nobody knows: the key counts as present, so that an EXEC when it is known to
 * be absent aborts, and is tried again. */
static bool is_absent(struct server *server, const struct watched *watched)
{
    struct keys_view view = {NULL, watched->database, server->now};
    struct keys_info info;

    if (server->store == NULL)
        return false;
    view.keys = store_keys(server->store);
    return keys_info(&view, name_of(watched), &info) == DUEQ_NOTFOUND;
}

/* ---- watching */

static bool watches_already(struct watches *watches, struct session *session,
                            struct watched *watched)
{
    struct watch_identity of = {watched, session};
    struct watch *watch;

    watches->steps++;
    HASH_FIND(hh, watches->all, &of, sizeof(of), watch);
    return watch != NULL;
}

/* NULL: out of memory. */
static struct watch *new_watch(struct watches *watches, struct session *session,
                               struct watched *watched)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->of = (struct watch_identity){watched, session};
    HASH_ADD(hh, watches->all, of, sizeof(watch->of), watch);
    if (seeded_table_holds(watch))
        return watch;
    free(watch);
    return NULL;
}

bool watches_add(struct server *server, struct session *session, struct dueq_slice name)
{
    struct watches *watches = server->watches;
    struct watched *watched = open_watched(watches, session->database, name);
    struct watch *watch;

    if (watched == NULL)
        return false;
    if (watches_already(watches, session, watched))
        return true;
    watch = new_watch(watches, session, watched);
    if (watch == NULL) {
        close_watched(watches, watched);
        return false;
    }
    watch->absent = is_absent(server, watched);
    watch->flushes = watches->flushes[watched->database];
    DL_APPEND(watched->watches, watch);
    watch->session_next = session->watches;
    session->watches = watch;
    return true;
}

static void free_watch(struct watches *watches, struct watch *watch)
{
    struct watched *watched = watch->of.watched;

    DL_DELETE(watched->watches, watch);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the table */
    HASH_DEL(watches->all, watch);
    free(watch);
    close_watched(watches, watched);
}

/* Of a hundred thousand the rest is freed in later turns. */
static void leave_rest(struct watches *watches, struct watch *first)
{
    struct watch *last = first;

    for (struct watch *watch = first; watch != NULL; watch = watch->session_next) {
        watch->of.session = NULL;
        last = watch;
    }
    if (first == NULL)
        return;
    last->session_next = watches->dropped;
    watches->dropped = first;
}

void watches_drop(struct server *server, struct session *session)
{
    struct watches *watches = server->watches;

    for (unsigned i = 0; i < DROPS && session->watches != NULL; i++) {
        struct watch *watch = session->watches;

        session->watches = watch->session_next;
        free_watch(watches, watch);
    }
    leave_rest(watches, session->watches);
    session->watches = NULL;
    session->watch_broken = false;
}

bool watches_have_dropped(const struct watches *watches)
{
    return watches->dropped != NULL;
}

void watches_free_some(struct watches *watches)
{
    for (unsigned i = 0; i < DROPS && watches->dropped != NULL; i++) {
        struct watch *watch = watches->dropped;

        watches->dropped = watch->session_next;
        free_watch(watches, watch);
    }
}

/* ---- changes */

static bool was_flushed(const struct watches *watches, const struct watch *watch)
{
    return watch->flushes != watches->flushes[watch->of.watched->database];
}

/* A key that was absent (or had expired) when the watch began does not change when it is
 * reclaimed, unless another database has replaced this one since. */
static void mark(struct watches *watches, struct watched *watched, bool expired)
{
    struct watch *watch;

    DL_FOREACH(watched->watches, watch) {
        watches->steps++;
        if (watch->of.session != NULL &&
            (!expired || !watch->absent || was_flushed(watches, watch)))
            watch->of.session->watch_broken = true;
    }
}

/* When a whole database is emptied or replaced, only a counter changes: watches_intact compares
 * it. */
void watches_note(struct server *server, const struct keys_change *change)
{
    struct watches *watches = server->watches;
    struct watched *watched;

    if (watches->keys[change->database] == NULL)
        return;
    if (change->flushed) {
        watches->flushes[change->database]++;
        return;
    }
    watched = find(watches, change->database, change->name);
    if (watched != NULL)
        mark(watches, watched, change->expired);
}

/* A key that was present is a different one after a flush, and without a flush must still be
 * present. A key that was absent may have come with another database. */
static bool is_intact(struct server *server, const struct watch *watch)
{
    bool flushed = was_flushed(server->watches, watch);

    if (watch->absent)
        return !flushed || is_absent(server, watch->of.watched);
    return !flushed && !is_absent(server, watch->of.watched);
}

bool watches_intact(struct server *server, const struct session *session)
{
    if (session->watch_broken)
        return false;
    for (const struct watch *watch = session->watches; watch != NULL;
         watch = watch->session_next)
        if (!is_intact(server, watch))
            return false;
    return true;
}
