/* Chunks are used again, made ready before they are needed, and given back when nobody needs
 * them. */
#include "storage/kv/memtable/chunk_pool.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MOST = 4 };

static int set_up(void **state)
{
    *state = chunk_pool_new((size_t)MOST * CHUNK_SIZE + 1);
    return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    chunk_pool_free(*state);
    return 0;
}

static void *take(struct chunk_pool *pool)
{
    void *chunk = chunk_pool_take(pool);

    assert_non_null(chunk);
    assert_int_equal((uintptr_t)chunk % CHUNK_SIZE, 0);
    memset(chunk, 0xff, CHUNK_SIZE); /* all of it can be written */
    return chunk;
}

static void a_chunk_is_used_again(void **state)
{
    struct chunk_pool *pool = *state;
    void *chunk = take(pool);

    assert_int_equal(chunk_pool_bytes(pool), 0);
    chunk_pool_give(pool, chunk);
    assert_int_equal(chunk_pool_bytes(pool), CHUNK_SIZE);
    assert_ptr_equal(take(pool), chunk);
    assert_int_equal(chunk_pool_bytes(pool), 0);
    chunk_pool_give(pool, chunk);
}

static void it_keeps_no_more_than_it_may(void **state)
{
    struct chunk_pool *pool = *state;
    void *chunks[MOST + 2];

    for (int i = 0; i < MOST + 2; i++)
        chunks[i] = take(pool);
    for (int i = 0; i < MOST + 2; i++)
        chunk_pool_give(pool, chunks[i]);
    assert_int_equal(chunk_pool_bytes(pool), (size_t)MOST * CHUNK_SIZE);
}

/* A small store, which takes no chunks, keeps none. */
static void chunks_are_made_ready_while_some_are_taken(void **state)
{
    struct chunk_pool *pool = *state;
    void *chunk;

    assert_false(chunk_pool_wants_tending(pool));
    chunk_pool_tend(pool);
    assert_int_equal(chunk_pool_bytes(pool), 0);
    chunk = take(pool);
    assert_true(chunk_pool_wants_tending(pool));
    chunk_pool_tend(pool);
    assert_false(chunk_pool_wants_tending(pool));
    assert_int_equal(chunk_pool_bytes(pool), (size_t)CHUNKS_READY * CHUNK_SIZE);
    chunk_pool_give(pool, take(pool));
    assert_false(chunk_pool_wants_tending(pool));
    chunk_pool_give(pool, chunk);
}

static void an_idle_pool_is_given_back(void **state)
{
    struct chunk_pool *pool = *state;

    chunk_pool_give(pool, take(pool));
    chunk_pool_tend(pool);
    chunk_pool_trim(pool);
    assert_true(chunk_pool_wants_tending(pool));
    chunk_pool_tend(pool);
    assert_int_equal(chunk_pool_bytes(pool), 0);
    assert_false(chunk_pool_wants_tending(pool));
    chunk_pool_trim(pool); /* a chunk that is taken meanwhile shows that it is not idle */
    chunk_pool_give(pool, take(pool));
    chunk_pool_tend(pool);
    assert_int_equal(chunk_pool_bytes(pool), (size_t)CHUNKS_READY * CHUNK_SIZE);
}

/* Is the mapping with that byte to have huge pages? */
static bool has_huge_pages(const void *byte)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    uintptr_t first, end;
    bool is_it = false, huge = false;
    char line[512];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
            is_it = first <= (uintptr_t)byte && (uintptr_t)byte < end;
        else if (is_it && strncmp(line, "VmFlags:", 8) == 0)
            huge = strstr(line, " hg") != NULL;
    fclose(file);
    return huge;
}

/* The first touch of a huge page can take milliseconds: it is not for who takes a chunk. */
static void what_is_not_ready_has_small_pages(void **state)
{
    struct chunk_pool *pool = *state;
    void *chunk = take(pool);

    assert_false(has_huge_pages(chunk));
    chunk_pool_give(pool, chunk);
}

static void without_a_pool_the_system_is_used(void **state)
{
    (void)state;
    chunk_pool_give(NULL, take(NULL));
}

/* ---- in a store */

static struct store_fixture test;

static size_t mapped_bytes(void)
{
    return store_fixture_stats(&test).mapped_bytes;
}

/* Pushes until the memtable has taken so many bytes. */
static void fill(size_t bytes)
{
    static char body[1000];
    struct dueq_push push;
    struct dueq_slice id;

    while (store_fixture_stats(&test).memtable_bytes < bytes) {
        dueq_push_init(&push);
        push.topic = text("mail");
        push.body = dueq_slice(body, sizeof(body));
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
        store_fixture_commit(&test);
    }
}

static void a_store_keeps_the_memory_of_a_merged_memtable_until_it_is_idle(void **state)
{
    (void)state;
    fill((size_t)12 * CHUNK_SIZE);
    store_fixture_checkpoint(&test);
    fill(CHUNK_SIZE); /* the thread has freed the merged one, or is about to */
    while (mapped_bytes() < (size_t)10 * CHUNK_SIZE)
        dueq_maintain(test.store, false);
    store_fixture_checkpoint(&test);
    while (mapped_bytes() > CHUNK_SIZE)
        dueq_maintain(test.store, true);
}

#define tested(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        tested(a_chunk_is_used_again),
        tested(it_keeps_no_more_than_it_may),
        tested(chunks_are_made_ready_while_some_are_taken),
        tested(an_idle_pool_is_given_back),
        tested(what_is_not_ready_has_small_pages),
        tested(without_a_pool_the_system_is_used),
        store_fixture_test(a_store_keeps_the_memory_of_a_merged_memtable_until_it_is_idle,
                           test),
    };

    return cmocka_run_group_tests_name("chunk pool", tests, NULL, NULL);
}
