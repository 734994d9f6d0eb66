/* Large keys that are copied and edited in slices: steps have a limit, the result is not
 * visible before the end, and nothing remains of a build that is freed early. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MANY = 5000, STEP = 100 };

static struct store_fixture test;

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "%d", number));
}

static void commit(void)
{
    store_fixture_commit(&test);
}

/* A tick and a commit between two steps. */
static void turn(void)
{
    dueq_tick(test.store, test.time, STEP);
    commit();
    dueq_maintain(test.store, false);
}

static void reclaim_all(void)
{
    store_fixture_tick(&test, STEP);
    commit();
}

static uint64_t records(void)
{
    commit();
    return record_count(test.store, "eghklvy");
}

static void fill(enum keys_type type, const char *name)
{
    bool added;

    for (int i = 0; i < MANY; i++)
        switch (type) {
        case KEYS_HASH:
            hash_set(&test.view, text(name), numbered(i), text("v"), &added);
            break;
        case KEYS_SET:
            set_add(&test.view, text(name), numbered(i), &added);
            break;
        case KEYS_ZSET:
            zset_put(&test.view, text(name), numbered(i), i % 7, &added);
            break;
        default:
            list_push(&test.view, text(name), i % 3 ? LIST_TAIL : LIST_HEAD, numbered(i % 10));
            break;
        }
    commit();
}

/* ---- the content of a key as text */

static bool write_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    fprintf(arg, "%.*s=%.*s ", (int)element.size, (const char *)element.data, (int)value.size,
            (const char *)value.data);
    return true;
}

static bool write_entry(void *arg, const struct zset_entry *entry)
{
    fprintf(arg, "%.*s=%g ", (int)entry->member.size, (const char *)entry->member.data,
            entry->score);
    return true;
}

static char *content(enum keys_type type, const char *name)
{
    static const struct zset_range all = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, false};
    char *bytes = NULL;
    size_t size;
    FILE *out = open_memstream(&bytes, &size);

    assert_non_null(out);
    if (type == KEYS_HASH)
        hash_each(&test.view, text(name), write_element, out);
    else if (type == KEYS_SET)
        set_each(&test.view, text(name), write_element, out);
    else if (type == KEYS_ZSET)
        zset_each(&test.view, text(name), &all, write_entry, out);
    else
        list_each(&test.view, text(name), 0, LIST_TAIL, write_element, out);
    fclose(out);
    return bytes;
}

static void expect_same(enum keys_type type, const char *name, const char *other)
{
    char *one = content(type, name), *two = content(type, other);

    assert_true(strlen(one) > MANY);
    assert_string_equal(one, two);
    free(one);
    free(two);
}

/* ---- building */

static struct keys_build *begin(const char *name, const struct list_edit *edit)
{
    struct keys_build *build;

    assert_int_equal(keys_build_new(&test.view, text(name), edit, &build), DUEQ_OK);
    return build;
}

/* Returns the number of steps. */
static int finish(struct keys_build *build)
{
    bool finished = false;
    int steps = 0;

    for (; !finished; steps++) {
        size_t before;
        turn();
        before = dueq_batch_bytes(test.store);
        assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_OK);
        assert_true(dueq_batch_bytes(test.store) - before < STEP * 100);
    }
    return steps;
}

static const enum keys_type types[] = {KEYS_HASH, KEYS_SET, KEYS_ZSET, KEYS_LIST};

static void a_copy_in_slices_is_the_same(void **state)
{
    struct keys_info info;

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct keys_build *build;

        fill(types[i], "k");
        assert_int_equal(keys_expire(&test.view, text("k"), test.time.now + 5000), DUEQ_OK);
        assert_int_equal(
            string_set(&test.view, text("to"), text("old"), DUEQ_NEVER, STRING_GIVEN), DUEQ_OK);
        build = begin("k", NULL);
        assert_true(finish(build) >= MANY / STEP);
        assert_int_equal(keys_info(&test.view, text("to"), &info), DUEQ_OK);
        assert_int_equal(info.type, KEYS_STRING); /* the result is not visible yet */
        assert_int_equal(keys_build_copy(build, &test.view, 0, text("to")), DUEQ_OK);
        keys_build_free(build);
        reclaim_all();
        assert_int_equal(keys_info(&test.view, text("to"), &info), DUEQ_OK);
        assert_int_equal(info.count, MANY);
        assert_int_equal(info.expires, test.time.now + 5000);
        expect_same(types[i], "k", "to");
        keys_flush(store_keys(test.store), 0);
        reclaim_all();
        assert_int_equal(records(), 0);
    }
}

static void what_is_given_up_is_reclaimed(void **state)
{
    bool finished;

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint64_t before;
        struct keys_build *build;

        fill(types[i], "k");
        before = records();
        build = begin("k", NULL);
        for (int step = 0; step < 20; step++) {
            turn();
            keys_build_step(build, &test.view, STEP, &finished);
        }
        assert_true(records() > before + 1000);
        keys_build_free(build);
        reclaim_all();
        assert_int_equal(records(), before);
        keys_flush(store_keys(test.store), 0);
        reclaim_all();
    }
}

static void a_crash_in_the_middle_leaves_the_old_state(void **state)
{
    struct keys_info info;
    bool finished;

    (void)state;
    for (int finish_it = 0; finish_it < 2; finish_it++) {
        uint64_t before;
        struct keys_build *build;

        fill(KEYS_HASH, "k");
        before = records();
        build = begin("k", NULL);
        if (finish_it)
            finish(build);
        else
            for (int step = 0; step < 20; step++)
                keys_build_step(build, &test.view, STEP, &finished);
        turn();
        store_fixture_abandon(&test);
        keys_build_free(build); /* its store does not exist any more */
        store_fixture_open(&test);
        assert_int_equal(keys_info(&test.view, text("to"), &info), DUEQ_NOTFOUND);
        reclaim_all();
        assert_int_equal(records(), before);
        keys_flush(store_keys(test.store), 0);
        reclaim_all();
    }
}

static void two_builds_do_not_mind_each_other(void **state)
{
    struct keys_build *one, *two;

    (void)state;
    fill(KEYS_SET, "k");
    one = begin("k", NULL);
    two = begin("k", NULL);
    finish(one);
    assert_int_equal(keys_build_copy(one, &test.view, 0, text("one")), DUEQ_OK);
    keys_build_free(one);
    finish(two);
    assert_int_equal(keys_build_copy(two, &test.view, 0, text("two")), DUEQ_OK);
    keys_build_free(two);
    expect_same(KEYS_SET, "one", "two");
}

static void a_source_that_changes_ends_the_build(void **state)
{
    bool finished, added;

    (void)state;
    for (int way = 0; way < 5; way++) {
        struct keys_build *build;

        fill(KEYS_HASH, "k");
        build = begin("k", NULL);
        assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_OK);
        if (way == 0)
            hash_set(&test.view, text("k"), text("1"), text("other"), &added);
        else if (way == 1)
            hash_del(&test.view, text("k"), text("1"));
        else if (way == 2)
            keys_del(&test.view, text("k"));
        else if (way == 3)
            keys_flush(store_keys(test.store), 0);
        else
            keys_swap(store_keys(test.store), 0, 1);
        assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_NOTFOUND);
        assert_int_equal(keys_build_copy(build, &test.view, 0, text("to")), DUEQ_NOTFOUND);
        keys_build_free(build);
        keys_flush(store_keys(test.store), 0);
        keys_flush(store_keys(test.store), 1);
        reclaim_all();
        assert_int_equal(records(), 0);
    }
}

/* ---- edits of lists */

static void expect_edited(const struct list_edit *edit, uint64_t count)
{
    struct keys_build *build;
    uint64_t left, removed;

    fill(KEYS_LIST, "k");
    fill(KEYS_LIST, "plain");
    build = begin("k", edit);
    finish(build);
    assert_int_equal(keys_build_replace(build, &test.view, &left), DUEQ_OK);
    assert_int_equal(left, count);
    keys_build_free(build);
    if (edit->kind == LIST_INSERTED)
        list_insert(&test.view, text("plain"), edit->index, edit->value);
    else
        list_remove_equal(&test.view, text("plain"), edit->value, edit->towards, edit->limit,
                          &removed);
    expect_same(KEYS_LIST, "k", "plain");
    list_push(&test.view, text("k"), LIST_HEAD, text("first"));
    list_push(&test.view, text("plain"), LIST_HEAD, text("first"));
    list_push(&test.view, text("k"), LIST_TAIL, text("last"));
    list_push(&test.view, text("plain"), LIST_TAIL, text("last"));
    reclaim_all();
    expect_same(KEYS_LIST, "k", "plain");
    keys_flush(store_keys(test.store), 0);
    reclaim_all();
    assert_int_equal(records(), 0);
}

static void an_element_is_inserted_anywhere(void **state)
{
    static const uint64_t indexes[] = {0, 1, STEP, MANY / 2, MANY - 1, MANY};

    (void)state;
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
        expect_edited(&(struct list_edit){LIST_INSERTED, LIST_TAIL, text("new"), indexes[i], 0},
                      MANY + 1);
}

static void equal_elements_are_removed_from_either_end(void **state)
{
    (void)state;
    expect_edited(&(struct list_edit){LIST_REMOVED, LIST_TAIL, text("3"), 0, UINT64_MAX},
                  MANY - MANY / 10);
    expect_edited(&(struct list_edit){LIST_REMOVED, LIST_TAIL, text("3"), 0, 7}, MANY - 7);
    expect_edited(&(struct list_edit){LIST_REMOVED, LIST_HEAD, text("3"), 0, 7}, MANY - 7);
    expect_edited(&(struct list_edit){LIST_REMOVED, LIST_HEAD, text("none"), 0, 7}, MANY);
}

static void a_list_that_loses_all_is_gone(void **state)
{
    struct list_edit edit = {LIST_REMOVED, LIST_TAIL, text("x"), 0, UINT64_MAX};
    struct keys_build *build;
    struct keys_info info;
    uint64_t left;

    (void)state;
    for (int i = 0; i < MANY; i++)
        list_push(&test.view, text("k"), LIST_TAIL, text("x"));
    build = begin("k", &edit);
    finish(build);
    assert_int_equal(keys_build_replace(build, &test.view, &left), DUEQ_OK);
    assert_int_equal(left, 0);
    keys_build_free(build);
    assert_int_equal(keys_info(&test.view, text("k"), &info), DUEQ_NOTFOUND);
    reclaim_all();
    assert_int_equal(records(), 0);
}

/* ---- large records */

enum { LARGE = 4 << 20, STEP_BYTES = 1024 * STEP };

/* Bytes of which each depends on its place; of another one for each seed. */
static struct dueq_slice large(unsigned seed)
{
    static uint8_t bytes[LARGE];

    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (uint8_t)((i * 2654435761U + seed) >> 13);
    return dueq_slice(bytes, LARGE);
}

static unsigned steps_to_finish(struct keys_build *build)
{
    bool finished = false;
    unsigned steps = 0;

    for (; !finished; steps++) {
        assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_OK);
        turn();
    }
    return steps;
}

static bool is_next(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    unsigned *seed = arg;

    (void)unused;
    assert_true(dueq_slice_equal(value, large((*seed)++)));
    return true;
}

/* Its elements are large(0), large(1), ... */
static void expect_large(const char *name, unsigned count)
{
    unsigned seed = 0;

    assert_int_equal(list_each(&test.view, text(name), 0, LIST_TAIL, is_next, &seed), DUEQ_OK);
    assert_int_equal(seed, count);
}

static void a_large_element_is_copied_in_parts(void **state)
{
    struct keys_build *build;
    unsigned steps;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        list_push(&test.view, text("k"), LIST_TAIL, large(i));
    commit();
    build = begin("k", NULL);
    steps = steps_to_finish(build);
    assert_in_range(steps, 3 * LARGE / STEP_BYTES, 3 * (LARGE / STEP_BYTES + 1));
    assert_int_equal(keys_build_copy(build, &test.view, 0, text("copy")), DUEQ_OK);
    keys_build_free(build);
    expect_large("copy", 3);
    expect_large("k", 3);
    store_fixture_checkpoint(&test);
    build = begin("copy", NULL);
    assert_in_range(steps_to_finish(build), steps, steps + 3 * LARGE / KV_CHECK_BYTES);
    keys_build_free(build);
}

static void edit_large(const struct list_edit *edit, unsigned count)
{
    struct keys_build *build = begin("k", edit);
    uint64_t left;

    steps_to_finish(build);
    assert_int_equal(keys_build_replace(build, &test.view, &left), DUEQ_OK);
    keys_build_free(build);
    assert_int_equal(left, count);
    expect_large("k", count);
}

/* At the head, between others, and at the tail; and out of there again. */
static void a_large_element_is_inserted_and_removed(void **state)
{
    uint8_t *copy = malloc(LARGE);

    (void)state;
    assert_non_null(copy);
    for (unsigned missing = 0; missing < 3; missing++) {
        struct list_edit edit = {LIST_INSERTED, LIST_TAIL, dueq_slice(copy, LARGE), missing, 0};

        for (unsigned i = 0; i < 3; i++)
            if (i != missing)
                list_push(&test.view, text("k"), LIST_TAIL, large(i));
        memcpy(copy, large(missing).data, LARGE);
        edit_large(&edit, 3);
        list_push(&test.view, text("k"), LIST_TAIL, large(0));
        memcpy(copy, large(0).data, LARGE);
        edit = (struct list_edit){LIST_REMOVED, LIST_HEAD, dueq_slice(copy, LARGE), 0, 1};
        edit_large(&edit, 3);
        keys_del(&test.view, text("k"));
    }
    free(copy);
}

static void a_large_field_is_copied_in_parts(void **state)
{
    struct keys_build *build;
    struct dueq_slice value;
    bool added;

    (void)state;
    hash_set(&test.view, text("k"), text("a"), text("1"), &added);
    hash_set(&test.view, text("k"), text("b"), large(1), &added);
    hash_set(&test.view, text("k"), text("c"), large(2), &added);
    build = begin("k", NULL);
    assert_in_range(steps_to_finish(build), 2 * LARGE / STEP_BYTES,
                    2 * (LARGE / STEP_BYTES + 1));
    assert_int_equal(keys_build_copy(build, &test.view, 0, text("copy")), DUEQ_OK);
    keys_build_free(build);
    hash_get(&test.view, text("copy"), text("a"), &value);
    assert_true(dueq_slice_equal(value, text("1")));
    hash_get(&test.view, text("copy"), text("b"), &value);
    assert_true(dueq_slice_equal(value, large(1)));
    hash_get(&test.view, text("copy"), text("c"), &value);
    assert_true(dueq_slice_equal(value, large(2)));
}

static void a_large_string_is_copied_in_parts(void **state)
{
    struct keys_build *build;
    struct keys_info info;
    struct dueq_slice value;
    bool finished;

    (void)state;
    string_set(&test.view, text("k"), large(0), test.time.wall + 100000, STRING_GIVEN);
    build = begin("k", NULL);
    assert_in_range(steps_to_finish(build), LARGE / STEP_BYTES, LARGE / STEP_BYTES + 1);
    assert_int_equal(keys_build_copy(build, &test.view, 1, text("copy")), DUEQ_OK);
    keys_build_free(build);
    string_get(&(struct keys_view){test.view.keys, 1, test.view.time}, text("copy"), &value);
    assert_true(dueq_slice_equal(value, large(0)));
    keys_info(&(struct keys_view){test.view.keys, 1, test.view.time}, text("copy"), &info);
    assert_int_equal(info.expires, test.time.wall + 100000);
    assert_int_equal(info.encoding, KEYS_RAW);
    build = begin("k", NULL);
    assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_OK);
    assert_int_equal(keys_build_holds(build), LARGE);
    string_set(&test.view, text("k"), large(1), DUEQ_NEVER, STRING_GIVEN);
    assert_int_equal(keys_build_step(build, &test.view, STEP, &finished), DUEQ_NOTFOUND);
    keys_build_free(build);
    keys_flush(test.view.keys, 0);
    keys_flush(test.view.keys, 1);
    reclaim_all();
    assert_int_equal(records(), 0);
}

/* ---- from nothing */

static struct keys_build *begin_empty(enum keys_type type)
{
    struct keys_build *build;

    assert_int_equal(keys_build_empty(&test.view, type, 0, &build), DUEQ_OK);
    return build;
}

/* Puts the elements that fill() puts into a key. */
static void put_all(struct keys_build *build, enum keys_type type)
{
    static const double zero;

    for (int i = 0; i < MANY; i++) {
        if (i % STEP == 0)
            turn();
        if (type == KEYS_LIST)
            assert_int_equal(keys_build_push(build, numbered(i % 10)), DUEQ_OK);
        else
            assert_int_equal(keys_build_put(build, numbered(i), 0, NULL), DUEQ_OK);
    }
    for (int i = 0; i < MANY && type == KEYS_ZSET; i++)
        if (i % 7 != 0)
            assert_int_equal(keys_build_put(build, numbered(i), i % 7, &zero), DUEQ_OK);
}

static void a_key_is_made_from_nothing(void **state)
{
    static const enum keys_type made[] = {KEYS_SET, KEYS_ZSET, KEYS_LIST};
    struct keys_info info;

    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        struct keys_build *build;
        uint64_t count;

        fill(KEYS_HASH, "to");
        keys_expire(&test.view, text("to"), test.time.now + 5000);
        build = begin_empty(made[i]);
        put_all(build, made[i]);
        turn();
        assert_int_equal(keys_info(&test.view, text("to"), &info), DUEQ_OK);
        assert_int_equal(info.type, KEYS_HASH); /* the result is not visible yet */
        assert_int_equal(keys_build_store(build, &test.view, text("to"), &count), DUEQ_OK);
        keys_build_free(build);
        reclaim_all();
        assert_int_equal(count, MANY);
        assert_int_equal(keys_info(&test.view, text("to"), &info), DUEQ_OK);
        assert_int_equal(info.count, MANY);
        assert_int_equal(info.expires, DUEQ_NEVER);
        if (made[i] != KEYS_LIST) {
            fill(made[i], "k");
            expect_same(made[i], "k", "to");
        }
        keys_flush(store_keys(test.store), 0);
        reclaim_all();
        assert_int_equal(records(), 0);
    }
}

static void what_is_made_from_nothing_and_given_up_is_reclaimed(void **state)
{
    (void)state;
    for (int crash = 0; crash < 2; crash++) {
        struct keys_build *build = begin_empty(KEYS_ZSET);

        put_all(build, KEYS_ZSET);
        turn();
        assert_true(records() > MANY);
        if (crash)
            store_fixture_abandon(&test);
        keys_build_free(build);
        if (crash)
            store_fixture_open(&test);
        reclaim_all();
        assert_int_equal(records(), 0);
    }
}

static void what_is_made_knows_its_members(void **state)
{
    struct keys_build *build = begin_empty(KEYS_ZSET);
    double score = 5, least = -1;
    uint64_t count;

    (void)state;
    assert_int_equal(keys_build_find(build, text("m"), &score), DUEQ_NOTFOUND);
    assert_int_equal(keys_build_store(build, &test.view, text("to"), &count), DUEQ_NOTFOUND);
    assert_int_equal(keys_build_put(build, text("m"), 5, NULL), DUEQ_OK);
    assert_int_equal(keys_build_put(build, text("n"), 1, NULL), DUEQ_OK);
    assert_int_equal(keys_build_find(build, text("m"), &score), DUEQ_OK);
    assert_int_equal(keys_build_put(build, text("m"), least, &score), DUEQ_OK);
    assert_int_equal(keys_build_store(build, &test.view, text("to"), &count), DUEQ_OK);
    keys_build_free(build);
    assert_int_equal(count, 2);
    assert_int_equal(zset_rank(&test.view, text("to"), text("m"), false, &count), DUEQ_OK);
    assert_int_equal(count, 0);
}

static void a_short_string_is_not_built(void **state)
{
    struct keys_build *build;

    (void)state;
    string_set(&test.view, text("k"), text("v"), DUEQ_NEVER, STRING_GIVEN);
    assert_int_equal(keys_build_new(&test.view, text("k"), NULL, &build), DUEQ_INVALID);
    assert_int_equal(keys_build_new(&test.view, text("none"), NULL, &build), DUEQ_NOTFOUND);
}

#define build_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        build_test(a_copy_in_slices_is_the_same),
        build_test(what_is_given_up_is_reclaimed),
        build_test(a_crash_in_the_middle_leaves_the_old_state),
        build_test(two_builds_do_not_mind_each_other),
        build_test(a_source_that_changes_ends_the_build),
        build_test(an_element_is_inserted_anywhere),
        build_test(equal_elements_are_removed_from_either_end),
        build_test(a_list_that_loses_all_is_gone),
        build_test(a_large_element_is_copied_in_parts),
        build_test(a_large_element_is_inserted_and_removed),
        build_test(a_large_field_is_copied_in_parts),
        build_test(a_large_string_is_copied_in_parts),
        build_test(a_key_is_made_from_nothing),
        build_test(what_is_made_from_nothing_and_given_up_is_reclaimed),
        build_test(what_is_made_knows_its_members),
        build_test(a_short_string_is_not_built),
    };
    return cmocka_run_group_tests_name("keys built in slices", tests, NULL, NULL);
}
