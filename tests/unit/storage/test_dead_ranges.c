/* Dead ranges: found at their edges, split by puts, joined by deletes, bounded in number.
 * Cursors go around them: no tombstone is stepped over twice, and a search stops when its
 * budget is spent. */
#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/dead_ranges.h"
#include "storage/kv/kv.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum { MANY = 5000, APART = 10, TIRING = 200100 };

static struct kv_key key_of(const char *text)
{
    struct kv_key key;

    kv_key_copy(&key, dueq_slice(text, strlen(text)));
    return key;
}

static void note(struct dead_ranges *ranges, const char *from, const char *to)
{
    struct kv_key first = key_of(from), last = key_of(to);

    dead_ranges_add(ranges, &first, &last);
}

static void put(struct dead_ranges *ranges, const char *text)
{
    dead_ranges_put(ranges, dueq_slice(text, strlen(text)));
}

static void del(struct dead_ranges *ranges, const char *text)
{
    dead_ranges_del(ranges, dueq_slice(text, strlen(text)));
}

/* Where a walk from that key continues; "": there is no range. */
static const char *ahead(struct dead_ranges *ranges, const char *text, bool backward)
{
    static char space[KV_KEY_MAX + 1];
    const struct dead_range *range =
        dead_ranges_find(ranges, dueq_slice(text, strlen(text)), backward);
    const struct kv_key *goal;

    if (range == NULL)
        return "";
    goal = backward ? &range->from : &range->to;
    memcpy(space, goal->bytes, goal->size);
    space[goal->size] = '\0';
    return space;
}

static void a_range_is_found_from_within_and_from_its_edge(void **state)
{
    struct dead_ranges *ranges = *state;

    note(ranges, "c", "f");
    assert_string_equal(ahead(ranges, "b", false), "");
    assert_string_equal(ahead(ranges, "c", false), "f");
    assert_string_equal(ahead(ranges, "e", false), "f");
    assert_string_equal(ahead(ranges, "f", false), "");
    assert_string_equal(ahead(ranges, "c", true), "");
    assert_string_equal(ahead(ranges, "d", true), "c");
    assert_string_equal(ahead(ranges, "f", true), "c");
    assert_string_equal(ahead(ranges, "g", true), "");
}

static void an_empty_range_is_none(void **state)
{
    note(*state, "c", "c");
    note(*state, "d", "c");
    assert_string_equal(ahead(*state, "c", false), "");
}

static void ranges_that_meet_are_one(void **state)
{
    note(*state, "a", "c");
    note(*state, "e", "g");
    assert_string_equal(ahead(*state, "a", false), "c");
    note(*state, "c", "e");
    assert_string_equal(ahead(*state, "a", false), "g");
    note(*state, "b", "z");
    assert_string_equal(ahead(*state, "z", true), "a");
}

static void a_put_splits_and_its_delete_heals(void **state)
{
    note(*state, "a", "g");
    put(*state, "d");
    assert_string_equal(ahead(*state, "a", false), "d");
    assert_string_equal(ahead(*state, "d", false), "");
    assert_string_equal(ahead(*state, "d0", false), "g");
    assert_string_equal(ahead(*state, "d", true), "a");
    del(*state, "d");
    assert_string_equal(ahead(*state, "a", false), "g");
    put(*state, "a");
    assert_string_equal(ahead(*state, "a", false), "");
    assert_string_equal(ahead(*state, "b", false), "g");
}

static void a_delete_beside_a_range_widens_it(void **state)
{
    note(*state, "a", "d");
    del(*state, "f");
    assert_string_equal(ahead(*state, "f", false), "");
    del(*state, "d");
    assert_string_equal(ahead(*state, "d", false), "d"); /* "d" and a zero byte */
    assert_string_equal(ahead(*state, "d", true), "a");
}

static const char *numbered(int number)
{
    static char text[24];

    snprintf(text, sizeof(text), "%08d", number * APART);
    return text;
}

static void note_numbered(struct dead_ranges *ranges, int number)
{
    struct kv_key from = key_of(numbered(number)), to = from;

    to.bytes[to.size - 1]++;
    dead_ranges_add(ranges, &from, &to);
}

static void a_range_that_nobody_goes_around_makes_room(void **state)
{
    struct dead_ranges *ranges = *state;

    for (int i = 0; i < DEAD_RANGES_MAX; i++)
        note_numbered(ranges, i);
    for (int i = DEAD_RANGES_MAX; i < 3 * DEAD_RANGES_MAX; i++) {
        assert_string_not_equal(ahead(ranges, numbered(0), false), "");
        note_numbered(ranges, i);
        assert_string_not_equal(ahead(ranges, numbered(i), false), "");
        assert_int_equal(ranges->count, DEAD_RANGES_MAX);
    }
    assert_string_equal(ahead(ranges, numbered(1), false), "");
}

/* After many puts and deletes in a range one dead range remains. */
static void what_was_split_all_over_heals_to_one(void **state)
{
    struct dead_ranges *ranges = *state;

    note(ranges, "0", "9");
    for (int i = 1; i < DEAD_RANGES_MAX; i++)
        put(ranges, numbered(i * 7919 % DEAD_RANGES_MAX));
    assert_int_equal(ranges->count, DEAD_RANGES_MAX);
    for (int i = 1; i < DEAD_RANGES_MAX; i++)
        del(ranges, numbered(i));
    assert_int_equal(ranges->count, 1);
    assert_string_equal(ahead(ranges, "0", false), "9");
}

static void nothing_lies_between_a_key_and_what_follows_it(void **state)
{
    struct kv_key key = key_of("a");

    (void)state;
    kv_key_follow(&key);
    assert_int_equal(key.size, 2);
    assert_memory_equal(key.bytes, "a\0", 2);
    memset(key.bytes, 'k', KV_KEY_MAX);
    key.bytes[KV_KEY_MAX - 1] = UINT8_MAX;
    key.size = KV_KEY_MAX;
    kv_key_follow(&key);
    assert_int_equal(key.size, KV_KEY_MAX - 1);
    assert_int_equal(key.bytes[KV_KEY_MAX - 2], 'l');
}

static void nothing_lies_behind_the_last_of_all_keys(void **state)
{
    struct kv_key key = {.size = KV_KEY_MAX};

    (void)state;
    memset(key.bytes, UINT8_MAX, KV_KEY_MAX);
    kv_key_follow(&key);
    assert_int_equal(key.size, KV_KEY_MAX);
}

static int set_up(void **state)
{
    static struct dead_ranges ranges;

    *state = &ranges;
    return dead_ranges_init(&ranges) ? 0 : -1;
}

static int tear_down(void **state)
{
    dead_ranges_release(*state);
    return 0;
}

/* ---- cursors */

static struct {
    char *dir;
    struct kv *kv;
    struct kv_cursor *cursor;
} test;

static int set_up_kv(void **state)
{
    struct dueq_options options;

    (void)state;
    dueq_options_init(&options);
    options.disk_reserve_bytes = 0;
    test.dir = temp_dir_new();
    if (kv_open(test.dir, &options, &test.kv, NULL) != DUEQ_OK)
        return -1;
    test.cursor = kv_cursor_new(test.kv);
    return 0;
}

static int tear_down_kv(void **state)
{
    (void)state;
    kv_cursor_free(test.cursor);
    kv_abandon(test.kv);
    temp_dir_remove(test.dir);
    return 0;
}

static void fill(void)
{
    uint64_t lsn;

    for (int i = 0; i < MANY; i++)
        kv_put(test.kv, text(numbered(i)), text("v"), true);
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
}

static void remove_all_but(int kept)
{
    for (int i = 0; i < MANY; i++)
        if (i != kept)
            kv_del(test.kv, text(numbered(i)));
}

static uint64_t passed(void)
{
    struct dueq_stats stats;

    kv_get_stats(test.kv, &stats);
    return stats.tombstones_passed;
}

static void no_tombstone_is_stepped_over_twice(void **state)
{
    (void)state;
    fill();
    remove_all_but(MANY / 2);
    for (int i = 0; i < MANY; i += 7) {
        assert_int_equal(kv_cursor_seek(test.cursor, text(numbered(i))),
                         i <= MANY / 2 ? DUEQ_OK : DUEQ_NOTFOUND);
        assert_int_equal(kv_cursor_seek_last(test.cursor, text(numbered(i))),
                         i > MANY / 2 ? DUEQ_OK : DUEQ_NOTFOUND);
    }
    assert_in_range(passed(), MANY - DEAD_RANGE_WORTH, MANY + DEAD_RANGE_WORTH);
}

static void a_cursor_that_drains_steps_over_each_once(void **state)
{
    (void)state;
    fill();
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(kv_cursor_seek(test.cursor, text("0")), DUEQ_OK);
        kv_del(test.kv, kv_cursor_key(test.cursor));
    }
    assert_in_range(passed(), 0, MANY + DEAD_RANGE_WORTH * DEAD_RANGE_WORTH);
}

/* Searches with that budget per call; returns the number of calls. */
static unsigned search_in_parts(unsigned budget, bool backward)
{
    struct dueq_slice from = text(backward ? "9" : "0");
    enum dueq_status status;
    unsigned left, calls = 0;

    do {
        left = budget;
        status = backward ? kv_cursor_seek_last_within(test.cursor, from, &left)
                          : kv_cursor_seek_within(test.cursor, from, &left);
        assert_in_range(kv_cursor_passed(test.cursor), 0, budget * KV_TOMBSTONES_A_STEP + 1);
        assert_in_range(++calls, 0, MANY);
    } while (status == DUEQ_NOTFOUND && left == 0);
    assert_int_equal(status, DUEQ_OK);
    return calls;
}

static void a_search_stops_when_its_budget_is_spent_and_goes_on(void **state)
{
    (void)state;
    fill();
    remove_all_but(MANY - 1);
    assert_in_range(search_in_parts(10, false), MANY / (11 * KV_TOMBSTONES_A_STEP), MANY);
    assert_true(dueq_slice_equal(kv_cursor_key(test.cursor), text(numbered(MANY - 1))));
    assert_in_range(passed(), MANY - 1, MANY);
}

static void a_search_backward_goes_on_too(void **state)
{
    (void)state;
    fill();
    remove_all_but(0);
    assert_in_range(search_in_parts(10, true), MANY / (11 * KV_TOMBSTONES_A_STEP), MANY);
    assert_true(dueq_slice_equal(kv_cursor_key(test.cursor), text(numbered(0))));
    assert_in_range(passed(), MANY - 1, MANY);
}

static void a_search_without_budget_goes_on_all_the_same(void **state)
{
    unsigned budget = 0, calls = 0;

    (void)state;
    fill();
    remove_all_but(MANY - 1);
    while (kv_cursor_seek_within(test.cursor, text("0"), &budget) != DUEQ_OK)
        assert_in_range(++calls, 0, MANY);
    assert_in_range(passed(), MANY - 1, MANY);
}

static void a_step_stops_when_its_budget_is_spent(void **state)
{
    unsigned budget = 10;

    (void)state;
    fill();
    for (int i = 1; i < MANY; i++)
        kv_del(test.kv, text(numbered(i)));
    assert_int_equal(kv_cursor_seek(test.cursor, text("0")), DUEQ_OK);
    assert_int_equal(kv_cursor_next_within(test.cursor, &budget), DUEQ_NOTFOUND);
    assert_int_equal(budget, 0);
    assert_in_range(passed(), 0, 10 * KV_TOMBSTONES_A_STEP + 1);
}

/* They do not wait until the memtable is full. */
static void many_tombstones_bring_a_checkpoint(void **state)
{
    struct dueq_stats stats;
    uint64_t lsn, before;

    (void)state;
    for (int i = 0; i < TIRING; i++)
        kv_put(test.kv, text(numbered(i)), text("v"), true);
    assert_int_equal(kv_commit(test.kv, 1, &lsn), DUEQ_OK);
    assert_int_equal(kv_checkpoint(test.kv), DUEQ_OK);
    for (int i = 0; i < TIRING; i++)
        kv_del(test.kv, text(numbered(i)));
    assert_int_equal(kv_commit(test.kv, 2, &lsn), DUEQ_OK);
    kv_get_stats(test.kv, &stats);
    before = stats.checkpoints;
    kv_maintain(test.kv, false);
    kv_get_stats(test.kv, &stats);
    assert_int_equal(stats.memtable_entries, TIRING);
    assert_int_equal(kv_cursor_seek(test.cursor, text("0")), DUEQ_NOTFOUND);
    kv_maintain(test.kv, false);
    kv_get_stats(test.kv, &stats);
    assert_int_equal(stats.memtable_entries, 0);
    assert_true(stats.checkpoint_running || stats.checkpoints > before);
}

#define range_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define kv_test(function)    cmocka_unit_test_setup_teardown(function, set_up_kv, tear_down_kv)

int main(void)
{
    const struct CMUnitTest tests[] = {
        range_test(a_range_is_found_from_within_and_from_its_edge),
        range_test(an_empty_range_is_none),
        range_test(ranges_that_meet_are_one),
        range_test(a_put_splits_and_its_delete_heals),
        range_test(a_delete_beside_a_range_widens_it),
        range_test(a_range_that_nobody_goes_around_makes_room),
        range_test(what_was_split_all_over_heals_to_one),
        range_test(nothing_lies_between_a_key_and_what_follows_it),
        range_test(nothing_lies_behind_the_last_of_all_keys),
        kv_test(no_tombstone_is_stepped_over_twice),
        kv_test(a_cursor_that_drains_steps_over_each_once),
        kv_test(a_search_stops_when_its_budget_is_spent_and_goes_on),
        kv_test(a_search_backward_goes_on_too),
        kv_test(a_search_without_budget_goes_on_all_the_same),
        kv_test(a_step_stops_when_its_budget_is_spent),
        kv_test(many_tombstones_bring_a_checkpoint),
    };
    return cmocka_run_group_tests_name("dead ranges", tests, NULL, NULL);
}
