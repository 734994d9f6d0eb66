/* Gaps: found at their edges, split by puts, widened by deletes. */
#include "storage/keys/zset_gap.h"

#include <stdlib.h>

#include "tests/support/cmocka.h"

static struct kv_key key_of(const char *text)
{
    struct kv_key key = {.size = 0};

    zset_key_copy(&key, dueq_slice(text, strlen(text)));
    return key;
}

static void note(struct keys_entry *entry, const char *from, const char *to)
{
    struct kv_key first = key_of(from), last = key_of(to);

    zset_gap_note(entry, &first, &last);
}

static void put(struct keys_entry *entry, const char *text)
{
    struct kv_key key = key_of(text);

    zset_gap_put(entry, &key);
}

static void del(struct keys_entry *entry, const char *text)
{
    struct kv_key key = key_of(text);

    zset_gap_del(entry, &key);
}

/* Where a walk from there goes on; "": there is no gap. */
static const char *ahead(const struct keys_entry *entry, const char *text, bool backward)
{
    static char space[KV_KEY_MAX + 1];
    struct kv_key key = key_of(text);
    const struct zset_gap *gap = zset_gap_ahead(entry, &key, backward);
    const struct kv_key *goal;

    if (gap == NULL)
        return "";
    goal = backward ? &gap->from : &gap->to;
    memcpy(space, goal->bytes, goal->size);
    space[goal->size] = '\0';
    return space;
}

static void a_gap_is_found_from_within_and_from_its_edge(void **state)
{
    struct keys_entry *entry = *state;

    note(entry, "c", "f");
    assert_string_equal(ahead(entry, "b", false), "");
    assert_string_equal(ahead(entry, "c", false), "f");
    assert_string_equal(ahead(entry, "e", false), "f");
    assert_string_equal(ahead(entry, "f", false), "");
    assert_string_equal(ahead(entry, "c", true), "");
    assert_string_equal(ahead(entry, "d", true), "c");
    assert_string_equal(ahead(entry, "f", true), "c");
    assert_string_equal(ahead(entry, "g", true), "");
}

static void an_empty_gap_is_none(void **state)
{
    note(*state, "c", "c");
    note(*state, "d", "c");
    assert_string_equal(ahead(*state, "c", false), "");
}

static void gaps_that_meet_are_one(void **state)
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

static void a_delete_beside_a_gap_widens_it(void **state)
{
    note(*state, "a", "d");
    del(*state, "f");
    assert_string_equal(ahead(*state, "f", false), "");
    del(*state, "d");
    assert_string_equal(ahead(*state, "d", false), "d"); /* "d" and a zero byte */
    assert_string_equal(ahead(*state, "d", true), "a");
}

static void the_oldest_gap_makes_room(void **state)
{
    note(*state, "a", "b");
    note(*state, "c", "d");
    note(*state, "e", "f");
    note(*state, "g", "h");
    assert_string_equal(ahead(*state, "a", false), "b");
    note(*state, "i", "j");
    assert_string_equal(ahead(*state, "a", false), "");
    assert_string_equal(ahead(*state, "c", false), "d");
    assert_string_equal(ahead(*state, "i", false), "j");
}

static void nothing_lies_between_a_key_and_what_follows_it(void **state)
{
    struct kv_key key = key_of("a");

    (void)state;
    zset_key_follow(&key);
    assert_int_equal(key.size, 2);
    assert_memory_equal(key.bytes, "a\0", 2);
    memset(key.bytes, 'k', KV_KEY_MAX);
    key.bytes[KV_KEY_MAX - 1] = UINT8_MAX;
    key.size = KV_KEY_MAX;
    zset_key_follow(&key);
    assert_int_equal(key.size, KV_KEY_MAX - 1);
    assert_int_equal(key.bytes[KV_KEY_MAX - 2], 'l');
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct keys_entry));
    return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    struct keys_entry *entry = *state;

    free(entry->gaps);
    free(entry);
    return 0;
}

#define gap_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        gap_test(a_gap_is_found_from_within_and_from_its_edge),
        gap_test(an_empty_gap_is_none),
        gap_test(gaps_that_meet_are_one),
        gap_test(a_put_splits_and_its_delete_heals),
        gap_test(a_delete_beside_a_gap_widens_it),
        gap_test(the_oldest_gap_makes_room),
        gap_test(nothing_lies_between_a_key_and_what_follows_it),
    };
    return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
