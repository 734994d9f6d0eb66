#include "storage/kv/memtable/arena.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/support/cmocka.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static int start(void **state)
{
    static struct arena arena;

    arena_init(&arena, NULL);
    *state = &arena;
    return 0;
}

static int finish(void **state)
{
    struct arena *arena = *state;

    arena_release(arena);
    return arena->reserved == 0 && arena->used == 0 ? 0 : -1;
}

/* The system gives no memory while the limit is below the present size of the process. */
static void let_memory_run_out(bool out)
{
    static struct rlimit before;
    struct rlimit limit;

    if (out)
        assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    if (out)
        limit.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

/* An emulator of another processor may take a limit and not keep it. */
static bool can_run_out(void)
{
    void *memory;

    let_memory_run_out(true);
    memory = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    let_memory_run_out(false);
    if (memory != MAP_FAILED)
        munmap(memory, MIB);
    return memory == MAP_FAILED;
}

static void an_unused_arena_holds_nothing(void **state)
{
    struct arena *arena = *state;

    assert_int_equal(arena->reserved, 0);
    assert_int_equal(arena->used, 0);
}

static void the_first_piece_takes_a_page(void **state)
{
    struct arena *arena = *state;

    assert_non_null(arena_alloc(arena, 1));
    assert_int_equal(arena->reserved, 4 * KIB);
}

static void a_large_arena_grows_by_huge_pages(void **state)
{
    struct arena *arena = *state;
    size_t before;

    while (arena->reserved < 8 * MIB)
        assert_non_null(arena_alloc(arena, 100));
    before = arena->reserved;
    while (arena->reserved == before)
        assert_non_null(arena_alloc(arena, 100));
    assert_int_equal(arena->reserved - before, 2 * MIB);
    assert_int_equal((uintptr_t)arena->chunks % (2 * MIB), 0);
}

static void a_piece_has_its_size_and_little_more(void **state)
{
    (void)state;
    for (size_t size = 1; size <= 3 * ARENA_LARGE; size += 1 + size / 500) {
        size_t waste = arena_room(size) - size;

        assert_true(arena_room(size) >= size);
        assert_true(waste < 8 || waste * 8 <= size);
        assert_int_equal(arena_room(arena_room(size)), arena_room(size));
    }
}

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    struct arena *arena = *state;
    uint8_t *pieces[500];

    for (size_t i = 0; i < 500; i++) {
        pieces[i] = arena_alloc(arena, 1 + i * 7);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], (int)(i & 0xff), 1 + i * 7);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t at = 0; at < 1 + i * 7; at++)
            assert_int_equal(pieces[i][at], i & 0xff);
}

static void released_pieces_are_used_again(void **state)
{
    static const size_t sizes[] = {1, 8, 100, 513, 5000, ARENA_LARGE};
    struct arena *arena = *state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *piece = arena_alloc(arena, sizes[i]);
        size_t used = arena->used;

        arena_free(arena, piece, sizes[i]);
        assert_int_equal(arena->used, used - arena_room(sizes[i]));
        assert_ptr_equal(arena_alloc(arena, sizes[i]), piece);
        assert_int_equal(arena->used, used);
    }
}

static void a_large_piece_goes_back_to_the_system_when_released(void **state)
{
    struct arena *arena = *state;
    uint8_t *pieces[3];

    for (size_t i = 0; i < 3; i++) {
        pieces[i] = arena_alloc(arena, ARENA_LARGE + 1 + i);
        assert_non_null(pieces[i]);
        memset(pieces[i], 1, ARENA_LARGE + 1 + i);
    }
    assert_int_equal(arena->reserved, 3 * ARENA_LARGE + 6);
    arena_free(arena, pieces[1], ARENA_LARGE + 2);
    arena_free(arena, pieces[0], ARENA_LARGE + 1);
    arena_free(arena, pieces[2], ARENA_LARGE + 3);
    assert_int_equal(arena->reserved, 0);
}

static void what_is_left_of_a_chunk_is_not_lost(void **state)
{
    struct arena *arena = *state;

    assert_non_null(arena_alloc(arena, 1000));
    assert_non_null(arena_alloc(arena, ARENA_LARGE));
    for (size_t got = 0; got < 4 * KIB - 1024 - 512; got += 512) {
        size_t reserved = arena->reserved;

        assert_non_null(arena_alloc(arena, 512));
        assert_int_equal(arena->reserved, reserved);
    }
}

static void what_is_reserved_can_be_had(void **state)
{
    struct arena *arena = *state;
    bool got;

    assert_true(arena_reserve(arena, 10000));
    let_memory_run_out(true);
    got = arena_alloc(arena, 7000) != NULL && arena_alloc(arena, 2000) != NULL;
    let_memory_run_out(false);
    assert_true(got);
}

static void without_memory_nothing_changes(void **state)
{
    struct arena *arena = *state, before;
    bool reserved;
    void *piece;

    if (!can_run_out())
        skip();
    assert_non_null(arena_alloc(arena, 100));
    before = *arena;
    let_memory_run_out(true);
    piece = arena_alloc(arena, 60000);
    reserved = arena_reserve(arena, 100000);
    let_memory_run_out(false);
    assert_null(piece);
    assert_false(reserved);
    assert_memory_equal(arena, &before, sizeof(before));
}

#define ARENA_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(an_unused_arena_holds_nothing),
        ARENA_TEST(the_first_piece_takes_a_page),
        ARENA_TEST(a_large_arena_grows_by_huge_pages),
        ARENA_TEST(a_piece_has_its_size_and_little_more),
        ARENA_TEST(pieces_are_aligned_and_do_not_overlap),
        ARENA_TEST(released_pieces_are_used_again),
        ARENA_TEST(a_large_piece_goes_back_to_the_system_when_released),
        ARENA_TEST(what_is_left_of_a_chunk_is_not_lost),
        ARENA_TEST(what_is_reserved_can_be_had),
        ARENA_TEST(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
