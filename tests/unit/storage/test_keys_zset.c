/* Sorted sets in the store: the cost of walks over removed members, members longer than keys,
 * and open entries. tests/model tests random changes. */
#include "storage/keys/keys.h"
#include "storage/keys/zset/zset_ties.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { MANY = 10000, BATCH = 10 };

static struct store_fixture test;

/* ---- set-up */

/* Writes all into LMDB, so that what is removed from now on leaves a tombstone. */
static void checkpoint(struct store_fixture *fixture)
{
    store_fixture_checkpoint(fixture);
    dueq_maintain(fixture->store, false);
}

static uint64_t passed(struct store_fixture *fixture)
{
    return store_fixture_stats(fixture).tombstones_passed;
}

static struct dueq_slice numbered(char *space, int i)
{
    return dueq_slice(space, (size_t)sprintf(space, "job-%07d", i));
}

static void put(struct store_fixture *fixture, const char *name, struct dueq_slice member,
                double score)
{
    bool added;

    assert_int_equal(zset_put(&fixture->view, text(name), member, score, &added), DUEQ_OK);
}

/* job-0000001 and so on with the scores 1 and so on, checkpointed. */
static void fill(struct store_fixture *fixture, const char *name)
{
    char space[32];

    for (int i = 1; i <= MANY; i++)
        put(fixture, name, numbered(space, i), i);
    checkpoint(fixture);
}

static uint64_t size_of(struct store_fixture *fixture, const char *name)
{
    struct keys_info info = {.count = 0};

    keys_info(&fixture->view, text(name), &info);
    return info.count;
}

/* ---- removed members are stepped over once */

struct batch {
    char members[BATCH][32];
    size_t sizes[BATCH];
    int count, most;
};

static bool take_entry(void *arg, const struct zset_entry *entry)
{
    struct batch *batch = arg;

    memcpy(batch->members[batch->count], entry->member.data, entry->member.size);
    batch->sizes[batch->count] = entry->member.size;
    return ++batch->count < batch->most;
}

static const struct zset_range due = {.least = {ZSET_SCORE, 0, {NULL, 0}, false},
                                      .most = {ZSET_SCORE, HUGE_VAL, {NULL, 0}, false}};

/* ZRANGEBYSCORE name 0 inf LIMIT 0 n, then ZREM of these members. False: there were none. */
static bool poll(struct store_fixture *fixture, const char *name)
{
    struct batch batch = {.most = BATCH};

    zset_each(&fixture->view, text(name), &due, take_entry, &batch);
    for (int i = 0; i < batch.count; i++)
        assert_int_equal(zset_remove(&fixture->view, text(name),
                                     dueq_slice(batch.members[i], batch.sizes[i])),
                         DUEQ_OK);
    return batch.count > 0;
}

static void a_queue_that_is_polled_stays_fast(void **state)
{
    fill(*state, "q");
    while (poll(*state, "q"))
        continue;
    assert_int_equal(size_of(*state, "q"), 0);
    assert_in_range(passed(*state), 0, MANY + 100);
}

static void a_queue_behind_a_living_head_stays_fast(void **state)
{
    put(*state, "q", text("sentinel"), -1);
    fill(*state, "q");
    while (poll(*state, "q"))
        continue;
    assert_int_equal(size_of(*state, "q"), 1);
    assert_in_range(passed(*state), 0, MANY + 100);
}

static void pops_stay_fast_at_both_ends(void **state)
{
    struct store_fixture *fixture = *state;
    struct zset_entry entry;

    fill(fixture, "q");
    for (int i = 0; i < MANY; i++)
        assert_int_equal(zset_pop(&fixture->view, text("q"), i % 2 == 0, &entry), DUEQ_OK);
    assert_in_range(passed(fixture), 0, MANY + 300);
}

static void ranges_taken_out_stay_fast(void **state)
{
    struct store_fixture *fixture = *state;
    struct zset_range range = {.least = {ZSET_SCORE, -HUGE_VAL, {NULL, 0}, false},
                               .most = {ZSET_SCORE, 0, {NULL, 0}, false}};
    uint64_t removed;

    fill(fixture, "q");
    for (int i = BATCH; i <= MANY; i += BATCH) {
        range.most.score = i;
        assert_int_equal(zset_remove_range(&fixture->view, text("q"), &range, &removed),
                         DUEQ_OK);
        assert_int_equal(removed, BATCH);
    }
    assert_in_range(passed(fixture), 0, MANY + 100);
}

/* Puts and deletes within a dead range do not make walks step over it again. */
static void early_jobs_into_a_drained_head_stay_fast(void **state)
{
    struct store_fixture *fixture = *state;
    struct zset_entry entry;
    char space[32];
    uint64_t before;

    fill(fixture, "q");
    for (int i = 0; i < MANY / 2; i++)
        zset_pop(&fixture->view, text("q"), false, &entry);
    before = passed(fixture);
    for (int i = 0; i < MANY / 2; i++) {
        put(fixture, "q", numbered(space, MANY + i), (i * 7919) % (MANY / 2));
        assert_int_equal(zset_pop(&fixture->view, text("q"), false, &entry), DUEQ_OK);
        assert_memory_equal(entry.member.data, space, entry.member.size);
    }
    assert_in_range(passed(fixture) - before, 0, 100);
}

/* The end of a set is found without a walk over the next one's remains. */
static void the_remains_of_another_set_cost_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct batch batch = {.most = BATCH};
    struct zset_entry entry;
    uint64_t before;

    put(fixture, "small", text("a"), 1);
    fill(fixture, "q");
    for (int i = 1; i < MANY; i++)
        zset_pop(&fixture->view, text("q"), false, &entry);
    zset_each(&fixture->view, text("small"), &due, take_entry, &batch);
    before = passed(fixture);
    for (int i = 0; i < 100; i++) {
        batch.count = 0;
        zset_each(&fixture->view, text("small"), &due, take_entry, &batch);
        assert_int_equal(batch.count, 1);
    }
    assert_int_equal(passed(fixture), before);
}

/* ---- members longer than keys */

/* 600 bytes alike, then a number. */
static struct dueq_slice long_member(char *space, int i)
{
    memset(space, 'x', 600);
    return dueq_slice(space, 600 + (size_t)sprintf(space + 600, "%06d", i));
}

struct sighting {
    int next, step, count;
    bool ordered;
};

static bool see_member(void *arg, const struct zset_entry *entry)
{
    struct sighting *sighting = arg;
    int number = atoi((const char *)entry->member.data + 600);

    sighting->ordered = sighting->ordered && number == sighting->next;
    sighting->next = number + sighting->step;
    sighting->count++;
    return true;
}

static void put_long(struct store_fixture *fixture, int count)
{
    char space[640];

    for (int i = 0; i < count; i++) /* 7919 is prime */
        put(fixture, "long", long_member(space, (int)(i * 7919L % count)), 5);
}

static void long_members_come_in_order_of_their_bytes(void **state)
{
    struct store_fixture *fixture = *state;
    struct sighting up = {0, 1, 0, true}, down = {199, -1, 0, true};
    uint64_t rank;
    char space[640];

    put_long(fixture, 200);
    put(fixture, "long", text("a"), 6);
    zset_remove(&fixture->view, text("long"), text("a"));
    zset_each_from(&fixture->view, text("long"), 0, false, see_member, &up);
    zset_each_from(&fixture->view, text("long"), 0, true, see_member, &down);
    assert_true(up.ordered && up.count == 200);
    assert_true(down.ordered && down.count == 200);
    assert_int_equal(
        zset_rank(&fixture->view, text("long"), long_member(space, 77), false, &rank), DUEQ_OK);
    assert_int_equal(rank, 77);
}

static void a_range_by_long_names_is_exact(void **state)
{
    struct store_fixture *fixture = *state;
    char least[640], most[640];
    struct zset_range range = {.least = {ZSET_LEX, 0, long_member(least, 50), true},
                               .most = {ZSET_LEX, 0, long_member(most, 60), false}};
    struct sighting up = {51, 1, 0, true};
    uint64_t removed;

    put_long(fixture, 200);
    zset_each(&fixture->view, text("long"), &range, see_member, &up);
    assert_true(up.ordered && up.count == 10);
    assert_int_equal(zset_remove_range(&fixture->view, text("long"), &range, &removed),
                     DUEQ_OK);
    assert_int_equal(removed, 10);
    assert_int_equal(size_of(fixture, "long"), 190);
}

/* Too many to be put in order: all are there, once, and ranges by name are still right. */
static void a_cluster_too_large_is_complete(void **state)
{
    struct store_fixture *fixture = *state;
    char least[640], most[640];
    struct zset_range range = {.least = {ZSET_LEX, 0, long_member(least, 1000), false},
                               .most = {ZSET_LEX, 0, long_member(most, 1999), false}};
    struct sighting all = {0, 1, 0, true}, some = {0, 1, 0, true};
    uint64_t removed;

    put_long(fixture, ZSET_TIES_MAX + 1);
    zset_each_from(&fixture->view, text("long"), 0, false, see_member, &all);
    assert_int_equal(all.count, ZSET_TIES_MAX + 1);
    zset_each(&fixture->view, text("long"), &range, see_member, &some);
    assert_int_equal(some.count, 1000);
    assert_int_equal(zset_remove_range(&fixture->view, text("long"), &range, &removed),
                     DUEQ_OK);
    assert_int_equal(removed, 1000);
}

/* ---- walks that are gone on with */

struct piece {
    struct sighting sighting;
    int left;
};

static bool see_some(void *arg, const struct zset_entry *entry)
{
    struct piece *piece = arg;

    see_member(&piece->sighting, entry);
    return --piece->left > 0;
}

static int walk_in_pieces(struct store_fixture *fixture, int size, bool reverse)
{
    struct zset_range range = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = reverse};
    struct zset_position place = {.again = false};
    struct piece piece = {{reverse ? size - 1 : 0, reverse ? -1 : 1, 0, true}, 0};

    do {
        piece.left = 7;
        assert_int_equal(
            zset_each_on(&fixture->view, text("long"), &range, &place, see_some, &piece),
            DUEQ_OK);
    } while (piece.left == 0);
    assert_true(piece.sighting.ordered || size > ZSET_TIES_MAX);
    return piece.sighting.count;
}

/* Packed; with records of its own; in a cluster, and in one too large. */
static void a_walk_in_pieces_meets_all_once(void **state)
{
    static const int sizes[] = {5, 7, 200, ZSET_TIES_MAX + 1};
    struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        put_long(fixture, sizes[i]);
        assert_int_equal(walk_in_pieces(fixture, sizes[i], false), sizes[i]);
        assert_int_equal(walk_in_pieces(fixture, sizes[i], true), sizes[i]);
        assert_int_equal(keys_del(&fixture->view, text("long")), DUEQ_OK);
    }
}

static void a_walk_turns_where_it_stands(void **state)
{
    static const int sizes[] = {9, 200};
    struct store_fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        struct zset_range range = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = true};
        struct zset_position place = {.again = false};
        struct piece down = {{sizes[i] - 1, -1, 0, true}, 3},
                     up = {{sizes[i] - 3, 1, 0, true}, 5};

        put_long(fixture, sizes[i]);
        zset_each_on(&fixture->view, text("long"), &range, &place, see_some, &down);
        place.again = true;
        range.reverse = false;
        zset_each_on(&fixture->view, text("long"), &range, &place, see_some, &up);
        assert_true(down.sighting.ordered && down.sighting.count == 3);
        assert_true(up.sighting.ordered && up.sighting.count == 3);
    }
}

static void a_walk_does_not_go_on_in_another_set(void **state)
{
    struct store_fixture *fixture = *state;
    struct zset_range range = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = false};
    struct zset_position place = {.again = false};
    struct piece piece = {{0, 1, 0, true}, 50};
    char space[640];

    put_long(fixture, 200);
    zset_each_on(&fixture->view, text("long"), &range, &place, see_some, &piece);
    zset_remove(&fixture->view, text("long"), long_member(space, 49));
    assert_int_equal(
        zset_each_on(&fixture->view, text("long"), &range, &place, see_some, &piece),
        DUEQ_STALE);
    assert_int_equal(piece.sighting.count, 50);
}

/* ---- what is remembered of a set */

static bool is_wide(struct store_fixture *fixture, const char *name)
{
    struct keys_info info;

    assert_int_equal(keys_info(&fixture->view, text(name), &info), DUEQ_OK);
    return info.encoding == KEYS_SKIPLIST;
}

static void a_set_that_was_large_once_is_wide(void **state)
{
    struct store_fixture *fixture = *state;
    char space[32];

    for (int i = 0; i < 128; i++)
        put(fixture, "a", numbered(space, i), i);
    assert_false(is_wide(fixture, "a"));
    put(fixture, "a", numbered(space, 128), 128);
    assert_true(is_wide(fixture, "a"));
    for (int i = 1; i <= 128; i++)
        zset_remove(&fixture->view, text("a"), numbered(space, i));
    checkpoint(fixture);
    store_fixture_reopen(fixture);
    assert_true(is_wide(fixture, "a"));
    zset_remove(&fixture->view, text("a"), numbered(space, 0));
    put(fixture, "a", numbered(space, 0), 0);
    assert_false(is_wide(fixture, "a"));
}

static bool is_negative_zero(struct store_fixture *fixture, const char *name,
                             const char *member)
{
    double score;

    assert_int_equal(zset_score(&fixture->view, text(name), text(member), &score), DUEQ_OK);
    assert_true(score == 0);
    return signbit(score) != 0;
}

static bool is_walked_as_negative(void *arg, const struct zset_entry *entry)
{
    *(bool *)arg = entry->score == 0 && signbit(entry->score);
    return false;
}

static void a_wide_set_knows_the_sign_of_zero(void **state)
{
    struct store_fixture *fixture = *state;
    bool walked = false;
    char space[640];

    put(fixture, "z", text("a"), -0.0);
    assert_false(is_negative_zero(fixture, "z", "a"));
    put(fixture, "z", long_member(space, 1), 1);
    put(fixture, "z", text("b"), -0.0);
    put(fixture, "z", text("c"), -0.0);
    assert_false(is_negative_zero(fixture, "z", "a"));
    assert_true(is_negative_zero(fixture, "z", "b"));
    zset_remove(&fixture->view, text("z"), text("a"));
    zset_each(&fixture->view, text("z"), &due, is_walked_as_negative, &walked);
    assert_true(walked);
}

static void a_set_replaces_a_key_of_any_type(void **state)
{
    struct store_fixture *fixture = *state;
    const struct zset_entry entries[] = {{text("b"), 2}, {text("a"), 1}};
    struct keys_info info;

    string_set(&fixture->view, text("k"), text("value"), STORE_FIXTURE_START + 1000,
               STRING_GIVEN);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(zset_replace(&fixture->view, text("k"), entries, 2, false), DUEQ_OK);
        assert_int_equal(keys_info(&fixture->view, text("k"), &info), DUEQ_OK);
        assert_int_equal(info.type, KEYS_ZSET);
        assert_int_equal(info.count, 2);
        assert_true(info.expires == DUEQ_NEVER);
    }
}

#define store_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(a_queue_that_is_polled_stays_fast),
        store_test(a_queue_behind_a_living_head_stays_fast),
        store_test(pops_stay_fast_at_both_ends),
        store_test(ranges_taken_out_stay_fast),
        store_test(early_jobs_into_a_drained_head_stay_fast),
        store_test(the_remains_of_another_set_cost_nothing),
        store_test(long_members_come_in_order_of_their_bytes),
        store_test(a_range_by_long_names_is_exact),
        store_test(a_cluster_too_large_is_complete),
        store_test(a_walk_in_pieces_meets_all_once),
        store_test(a_walk_turns_where_it_stands),
        store_test(a_walk_does_not_go_on_in_another_set),
        store_test(a_set_that_was_large_once_is_wide),
        store_test(a_wide_set_knows_the_sign_of_zero),
        store_test(a_set_replaces_a_key_of_any_type),
    };
    return cmocka_run_group_tests_name("sorted sets in the store", tests, NULL, NULL);
}
