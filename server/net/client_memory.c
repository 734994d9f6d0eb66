#include "server/net/client_memory.h"

#include "protocol/grown_memory.h"
#include "protocol/number.h"
#include "server/containers/heap_return.h"
#include "server/containers/small_blocks.h"
#include "server/containers/spent.h"
#include "server/each_second.h"
#include "server/net/client_line.h"
#include "server/net/connection.h"
#include "server/process/process_memory.h"

#include <assert.h>
#include <malloc.h>
#include <unistd.h>
#include <utlist.h>

enum {
    GIVE_BACK = 32 * 1024 * 1024, /* freed bytes that are worth a walk over the heap, ... */
    GIVE_SOME = 8 * 1024 * 1024,  /* ... when more will be freed right away, ... */
    GIVE_AT_REST = 1024 * 1024,   /* ... and of a server that holds nobody up by it */
    REST_MS = 4,                  /* between two walks */
    FEW_STAY = 64,                /* one in so many small blocks */
    TOPIC_BYTES = 200             /* of a topic that has gone, about */
};

size_t client_memory_limit(const struct server *server)
{
    int64_t limit = server->config.maxmemory_clients;
    uint64_t machine;

    if (limit >= 0)
        return number_as_size(limit);
    machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return number_as_size((int64_t)(machine / 100 * (uint64_t)-limit));
}

/* ---- lists by size */

static int size_of(size_t bytes)
{
    int size = 0;

    for (size_t left = bytes / 1024; left > 0 && size < CLIENT_SIZES - 1; left /= 2)
        size++;
    return size;
}

static void leave_list(struct client_memory *memory, struct connection *connection)
{
    const struct client_share *share = &connection->share;

    DL_DELETE2(memory->by_size[share->is_unauthenticated][share->size], connection, share.prev,
               share.next);
}

static void join_list(struct client_memory *memory, struct connection *connection)
{
    const struct client_share *share = &connection->share;

    DL_APPEND2(memory->by_size[share->is_unauthenticated][share->size], connection, share.prev,
               share.next);
}

/* The first of the largest that may be evicted; NULL: none. */
static struct connection *find_largest(const struct client_memory *memory, bool unauthenticated)
{
    struct connection *at;

    for (int size = CLIENT_SIZES - 1; size >= 0; size--)
        DL_FOREACH2(memory->by_size[unauthenticated][size], at, share.next)
            if (!at->session.no_evict)
                return at;
    return NULL;
}

static struct connection *find_largest_of_all(const struct client_memory *memory)
{
    struct connection *known = find_largest(memory, false);
    struct connection *unauthenticated = find_largest(memory, true);

    if (known == NULL ||
        (unauthenticated != NULL && unauthenticated->share.bytes > known->share.bytes))
        return unauthenticated;
    return known;
}

/* ---- eviction */

static void evict(struct server *server, struct connection *connection)
{
    struct buffer line;

    buffer_init(&line, LOG_LINE_MAX);
    client_line_write(server, &connection->session, &line);
    log_write_limited(LOG_NOTICE, "Evicting client: %.*s", (int)buffer_size(&line),
                      buffer_content(&line));
    buffer_release(&line);
    server->client_memory.evicted++;
    connection_doom(connection);
}

static size_t unauthenticated_limit(size_t limit)
{
    return limit > 0 && limit / 4 < UNAUTHENTICATED_MEMORY_MAX ? limit / 4
                                                               : UNAUTHENTICATED_MEMORY_MAX;
}

static void evict_beyond(struct server *server)
{
    struct client_memory *memory = &server->client_memory;
    size_t limit = client_memory_limit(server);
    struct connection *largest;

    while (memory->unauthenticated > unauthenticated_limit(limit) &&
           (largest = find_largest(memory, true)) != NULL)
        evict(server, largest);
    while (limit > 0 && memory->total > limit &&
           (largest = find_largest_of_all(memory)) != NULL)
        evict(server, largest);
}

/* ---- counting */

static void note_recent(struct client_memory *all, const struct connection_memory *memory)
{
    size_t input = memory->input + memory->input_free + memory->arguments;

    if (input > all->recent_input[all->second])
        all->recent_input[all->second] = input;
    if (memory->output_buffer > all->recent_output[all->second])
        all->recent_output[all->second] = memory->output_buffer;
}

static void uncount(struct client_memory *all, const struct client_share *share)
{
    assert(all->total >= share->bytes);
    assert(!share->is_unauthenticated || all->unauthenticated >= share->bytes);
    all->total -= share->bytes;
    if (share->is_unauthenticated)
        all->unauthenticated -= share->bytes;
}

static void count(struct client_memory *all, const struct client_share *share)
{
    all->total += share->bytes;
    if (share->is_unauthenticated)
        all->unauthenticated += share->bytes;
    if (all->total > all->most)
        all->most = all->total;
}

void client_memory_note(struct connection *connection, const struct connection_memory *memory)
{
    struct client_memory *all = &connection->server->client_memory;
    struct client_share *share = &connection->share;
    bool is_unauthenticated = !connection->session.authenticated;
    int size = size_of(memory->total);
    bool moves = !share->is_counted || share->size != size ||
                 share->is_unauthenticated != is_unauthenticated;

    note_recent(all, memory);
    if (share->is_counted)
        uncount(all, share);
    if (share->is_counted && moves)
        leave_list(all, connection);
    share->bytes = memory->total;
    share->size = size;
    share->is_unauthenticated = is_unauthenticated;
    if (moves)
        join_list(all, connection);
    share->is_counted = true;
    count(all, share);
    evict_beyond(connection->server);
}

void client_memory_forget(struct connection *connection)
{
    struct client_memory *all = &connection->server->client_memory;

    if (!connection->share.is_counted)
        return;
    all->left += connection->share.bytes;
    uncount(all, &connection->share);
    leave_list(all, connection);
    connection->share.is_counted = false;
}

/* ---- giving it back
 *
 * Large blocks go back when they are freed; small ones leave holes in the heap, which glibc
 * keeps and other C libraries give back by themselves. */

/* Is memory freed a part a turn? */
static bool is_leaving(const struct server *server)
{
    return server->doomed != NULL || server->killed != NULL || spent_any();
}

/* Returns how many bytes the process has less. */
static uint64_t trim_heap(void)
{
    uint64_t before = process_memory_read().own, after;

#ifdef __GLIBC__
    malloc_trim(0);
#endif
    after = process_memory_read().own;
    return before > after ? before - after : 0;
}

/* Where blocks that stay lie between those that were freed, no page is free. What ends at the
 * end of the heap has gone back before. */
static void note_small_blocks(struct client_memory *all, uint64_t given)
{
    size_t freed = small_blocks_freed();

    if (given >= freed / 2 || small_blocks_held() < freed / FEW_STAY)
        small_blocks_given_back();
    all->holes = small_blocks_freed();
}

/* Each walk meets all of the holes, 15 ms for half a million. So the next one waits until as
 * much has gone as stays. */
static bool small_blocks_are_worth(const struct client_memory *all, size_t least)
{
    size_t freed = small_blocks_freed(), since = freed > all->holes ? freed - all->holes : 0;

    if (all->holes == 0)
        return since >= least;
    return since >= GIVE_AT_REST && since >= small_blocks_held();
}

/* Begins anew to count what may be given back. */
static void count_anew(struct server *server)
{
    struct client_memory *all = &server->client_memory;

    all->given_back = server->clock.last.monotonic;
    all->most_topics = 0;
    if (is_leaving(server))
        return; /* there will be more of what was counted */
    all->most = all->total;
    all->left = 0;
}

static void give_back(struct server *server)
{
    note_small_blocks(&server->client_memory, trim_heap());
    count_anew(server);
}

/* The same bit by bit, in the turns that follow. */
static void begin_to_give_back(struct server *server)
{
    struct client_memory *all = &server->client_memory;

    if (all->returns)
        return;
    count_anew(server);
    all->returns = true;
    all->returned_from = process_memory_read().own;
    heap_return_begin((size_t)all->returned_from);
}

static void end_giving_back(struct client_memory *all)
{
    uint64_t own = process_memory_read().own;

    all->returns = false;
    note_small_blocks(all, all->returned_from > own ? all->returned_from - own : 0);
}

/* To give back all that a thousand clients have had takes 20 ms. Of a client that stays, it is
 * not known whether it needs as much again in a moment; of many that come and go, each takes
 * what the last one has left. */
bool client_memory_turn(struct server *server)
{
    struct client_memory *all = &server->client_memory;
    bool clients_left = all->left >= GIVE_SOME && all->most - all->total >= GIVE_SOME;

    if (all->returns && !heap_return_runs())
        end_giving_back(all);
    if (all->returns)
        return false;
    if ((!clients_left && !small_blocks_are_worth(all, GIVE_SOME)) ||
        server->clock.last.monotonic - all->given_back < REST_MS)
        return false;
    give_back(server);
    all->gives_the_rest = clients_left || all->holes == 0;
    return true;
}

/* ---- once a second */

/* Bytes of topics that have gone, which were small blocks. */
static size_t topics_left(struct server *server)
{
    struct client_memory *all = &server->client_memory;
    size_t topics = server->store == NULL ? 0 : dueq_topic_count(server->store);

    if (topics > all->most_topics)
        all->most_topics = topics;
    return (all->most_topics - topics) * TOPIC_BYTES;
}

void client_memory_tick(struct server *server)
{
    struct client_memory *all = &server->client_memory;
    bool rests = each_second_rests(server);
    size_t worth = rests ? GIVE_AT_REST : GIVE_BACK;

    if (rests)
        grown_memory_give_back();
    evict_beyond(server); /* the limit may have changed */
    if (all->gives_the_rest || all->most - all->total >= worth ||
        small_blocks_are_worth(all, worth) || topics_left(server) >= worth)
        begin_to_give_back(server);
    all->gives_the_rest = false;
    all->second = (all->second + 1) % CLIENT_MEMORY_PAST;
    all->recent_input[all->second] = all->recent_output[all->second] = 0;
}

static size_t largest(const size_t *values)
{
    size_t most = 0;

    for (int i = 0; i < CLIENT_MEMORY_PAST; i++)
        if (values[i] > most)
            most = values[i];
    return most;
}

size_t client_memory_recent_input(const struct client_memory *memory)
{
    return largest(memory->recent_input);
}

size_t client_memory_recent_output(const struct client_memory *memory)
{
    return largest(memory->recent_output);
}
