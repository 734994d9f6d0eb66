#include "server/session/watches.h"
#include "storage/keys/state/changes.h"
#include "storage/store.h"

#include "server/containers/seeded_table.h"
#include "server/containers/small_blocks.h"
#include "server/server.h"
#include "storage/store.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct watched;

/* A session, from its first WATCH to its EXEC. */
struct watcher {
    struct session *session; /* NULL: it watches no more */
    struct watch *watches;   /* newest first */
    size_t count;
    const struct watch *check; /* that watches_check looks at next */
    struct watcher *next;      /* in the list of those that watch no more */
};

/* A watch is found by its key and its watcher. */
struct watch_identity {
    struct watched *watched;
    struct watcher *watcher;
};

struct watch {
    UT_hash_handle hh;
    struct watch_identity of;
    bool absent;      /* there was no such key when the watch began */
    uint64_t flushes; /* of the key's database, when the watch began */
    struct watch *prev, *next;
    struct watch *watcher_next;
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
    struct watched *keys[KEYS_DATABASES_MAX][TABLE_SHARDS];
    size_t counts[KEYS_DATABASES_MAX];    /* of these keys */
    uint64_t flushes[KEYS_DATABASES_MAX]; /* how often each was emptied or replaced */
    struct watch *all[TABLE_SHARDS];
    struct watcher *dropped; /* freed bit by bit */
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

    SHARDS_FIND(watches->keys[database], name.data, name.size, watched);
    return watched;
}

static void free_watched(struct watched *watched)
{
    small_block_free(watched, sizeof(*watched) + watched->name_size);
}

static struct watched *open_watched(struct watches *watches, unsigned database,
                                    struct dueq_slice name)
{
    struct watched *watched = find(watches, database, name);

    if (watched != NULL)
        return watched;
    watched = small_block_new(sizeof(*watched) + name.size);
    if (watched == NULL)
        return NULL;
    watched->database = database;
    watched->name_size = name.size;
    if (name.size > 0)
        memcpy(watched->name, name.data, name.size);
    SHARDS_ADD(watches->keys[database], watched->name, watched->name_size, watched);
    if (seeded_table_holds(watched)) {
        watches->counts[database]++;
        return watched;
    }
    free_watched(watched);
    return NULL;
}

static void close_watched(struct watches *watches, struct watched *watched)
{
    if (watched->watches != NULL)
        return;
    SHARDS_DELETE(watches->keys[watched->database], watched);
    watches->counts[watched->database]--;
    free_watched(watched);
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

static bool watches_already(struct watches *watches, struct watcher *watcher,
                            struct watched *watched)
{
    struct watch_identity of = {watched, watcher};
    struct watch *watch;

    watches->steps++;
    SHARDS_FIND(watches->all, &of, sizeof(of), watch);
    return watch != NULL;
}

/* NULL: out of memory. */
static struct watch *new_watch(struct watches *watches, struct watcher *watcher,
                               struct watched *watched)
{
    struct watch *watch = small_block_new(sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->of = (struct watch_identity){watched, watcher};
    SHARDS_ADD(watches->all, &watch->of, sizeof(watch->of), watch);
    if (seeded_table_holds(watch))
        return watch;
    small_block_free(watch, sizeof(*watch));
    return NULL;
}

static bool watch_key(struct server *server, struct watcher *watcher, struct watched *watched)
{
    struct watches *watches = server->watches;
    struct watch *watch = new_watch(watches, watcher, watched);

    if (watch == NULL)
        return false;
    watch->absent = is_absent(server, watched);
    watch->flushes = watches->flushes[watched->database];
    DL_APPEND(watched->watches, watch);
    watch->watcher_next = watcher->watches;
    watcher->watches = watch;
    watcher->check = watch;
    watcher->count++;
    return true;
}

/* NULL: out of memory. */
static struct watcher *watcher_of(struct session *session)
{
    if (session->watcher != NULL)
        return session->watcher;
    session->watcher = calloc(1, sizeof(*session->watcher));
    if (session->watcher != NULL)
        session->watcher->session = session;
    return session->watcher;
}

static void forget_if_idle(struct session *session)
{
    if (session->watcher == NULL || session->watcher->count > 0)
        return;
    free(session->watcher);
    session->watcher = NULL;
}

bool watches_add(struct server *server, struct session *session, struct dueq_slice name)
{
    struct watches *watches = server->watches;
    struct watcher *watcher = watcher_of(session);
    struct watched *watched =
        watcher == NULL ? NULL : open_watched(watches, session->database, name);

    if (watched != NULL) {
        if (watches_already(watches, watcher, watched) || watch_key(server, watcher, watched))
            return true;
        close_watched(watches, watched);
    }
    forget_if_idle(session);
    return false;
}

size_t watches_count(const struct session *session)
{
    return session->watcher == NULL ? 0 : session->watcher->count;
}

/* ---- the end of watches */

static void free_watch(struct watches *watches, struct watch *watch)
{
    struct watched *watched = watch->of.watched;

    DL_DELETE(watched->watches, watch);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the table */
    SHARDS_DELETE(watches->all, watch);
    small_block_free(watch, sizeof(*watch));
    close_watched(watches, watched);
}

/* Frees watches of the first one that was dropped. */
static void free_some_of(struct watches *watches, struct watcher *watcher)
{
    for (unsigned i = 0; i < DROPS && watcher->watches != NULL; i++) {
        struct watch *watch = watcher->watches;

        watcher->watches = watch->watcher_next;
        free_watch(watches, watch);
    }
    if (watcher->watches != NULL)
        return;
    LL_DELETE(watches->dropped, watcher);
    free(watcher);
}

void watches_drop(struct server *server, struct session *session)
{
    struct watches *watches = server->watches;
    struct watcher *watcher = session->watcher;

    session->watch_broken = false;
    session->watcher = NULL;
    if (watcher == NULL)
        return;
    watcher->session = NULL;
    LL_PREPEND(watches->dropped, watcher);
    free_some_of(watches, watcher);
}

bool watches_have_dropped(const struct watches *watches)
{
    return watches->dropped != NULL;
}

void watches_free_some(struct watches *watches)
{
    if (watches->dropped != NULL)
        free_some_of(watches, watches->dropped);
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
        if (watch->of.watcher->session != NULL &&
            (!expired || !watch->absent || was_flushed(watches, watch)))
            watch->of.watcher->session->watch_broken = true;
    }
}

/* When a whole database is emptied or replaced, only a counter changes: watches_check compares
 * it. */
void watches_note(struct server *server, const struct keys_change *change)
{
    struct watches *watches = server->watches;
    struct watched *watched;

    if (watches->counts[change->database] == 0)
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

enum watches_state watches_check(struct server *server, const struct session *session,
                                 size_t most)
{
    struct watcher *watcher = session->watcher;
    const struct watch *watch = watcher == NULL ? NULL : watcher->check;

    for (; watch != NULL && most > 0 && !session->watch_broken; most--) {
        if (!is_intact(server, watch))
            return WATCHES_BROKEN;
        watch = watcher->check = watch->watcher_next;
    }
    if (session->watch_broken)
        return WATCHES_BROKEN;
    return watch == NULL ? WATCHES_INTACT : WATCHES_UNKNOWN;
}
