/* What `dueq repair` says of keys whose records read, and say what no key has. tests/model and
 * tests/fuzz repair directories with random damage. */
#include "storage/salvage.h"

#include "storage/keys/record/zset_order.h"
#include "storage/keys/zset/zset.h"
#include "storage/kv/cursor.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;
static struct {
    int lost;
    char text[512]; /* of the last one */
} found;

/* ---- scores that are none */

static void put(const char *name, const char *member, double score)
{
    bool added;

    assert_int_equal(zset_put(&test.view, text(name), text(member), score, &added), DUEQ_OK);
}

static const char *place_of(struct dueq_slice value, const uint8_t *bits)
{
    return value.size < 8 ? NULL : memmem(value.data, value.size, bits, 8);
}

/* In the value of the one record that has the first score there is NaN instead. The order of a
 * set with records of its own has its scores in keys: they stay. */
static void make_nan_of(double score)
{
    struct kv_cursor *cursor = kv_cursor_new(test.store->kv);
    uint8_t bits[8], nan_bits[8], bytes[1000];
    struct dueq_slice value;
    struct kv_key key;
    size_t at;

    zset_order_write_score(bits, score);
    zset_order_write_score(nan_bits, (double)NAN);
    assert_int_equal(kv_cursor_seek(cursor, dueq_slice("\1", 1)), DUEQ_OK);
    while (place_of(kv_cursor_value(cursor), bits) == NULL)
        assert_int_equal(kv_cursor_next(cursor), DUEQ_OK);
    value = kv_cursor_value(cursor);
    at = (size_t)(place_of(value, bits) - (const char *)value.data);
    assert_true(value.size <= sizeof(bytes));
    memcpy(bytes, value.data, value.size);
    memcpy(bytes + at, nan_bits, 8);
    kv_key_copy(&key, kv_cursor_key(cursor));
    kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(bytes, value.size), false);
    kv_cursor_free(cursor);
    store_fixture_commit(&test);
}

/* ---- repair */

static void note(void *arg, enum salvage_finding finding, const char *what)
{
    (void)arg;
    if (finding != SALVAGE_LOST)
        return;
    found.lost++;
    snprintf(found.text, sizeof(found.text), "%s", what);
}

/* The made store takes the place of the damaged one. */
static void repair(void)
{
    struct salvage salvage = {.on_finding = note};
    char scratch[PATH_MAX], made[PATH_MAX];

    found.lost = 0;
    snprintf(scratch, sizeof(scratch), "%s/scratch", test.dir);
    snprintf(made, sizeof(made), "%s/made", test.dir);
    store_fixture_close(&test);
    assert_int_equal(salvage_store(test.dir, scratch, made, &salvage, NULL), DUEQ_OK);
    assert_int_equal(dueq_open(made, &test.options, test.time, &test.store, NULL), DUEQ_OK);
    test.view.keys = store_keys(test.store);
}

static void expect_score(const char *name, const char *member, double wanted)
{
    double score;

    assert_int_equal(zset_score(&test.view, text(name), text(member), &score), DUEQ_OK);
    assert_true(score == wanted);
}

static void blame(void *arg, const char *where, const char *what)
{
    (void)where;
    *(bool *)arg |= strcmp(what, "a score does not read") == 0;
}

static void expect_blame(void)
{
    bool blamed = false;
    struct dueq_verify verify = {.on_finding = blame, .arg = &blamed};

    assert_int_equal(dueq_verify(test.store, &verify), DUEQ_CORRUPT);
    assert_true(blamed);
}

static void a_member_without_a_score_is_not_called_saved(void **state)
{
    double score;

    (void)state;
    put("packed", "one", 1.25);
    put("packed", "two", 2.5);
    store_fixture_commit(&test);
    make_nan_of(2.5);
    expect_blame();
    repair();
    assert_int_equal(found.lost, 1);
    assert_non_null(strstr(found.text, "key \"packed\": 1 of its 2 elements are lost"));
    expect_score("packed", "one", 1.25);
    assert_int_equal(zset_score(&test.view, text("packed"), text("two"), &score),
                     DUEQ_NOTFOUND);
}

static void a_set_without_any_score_is_lost(void **state)
{
    struct keys_info info;

    (void)state;
    put("packed", "one", 1.25);
    store_fixture_commit(&test);
    make_nan_of(1.25);
    repair();
    assert_int_equal(found.lost, 1);
    assert_non_null(strstr(found.text, "key \"packed\": its value is lost"));
    assert_int_equal(keys_info(&test.view, text("packed"), &info), DUEQ_NOTFOUND);
}

/* So many that they are not packed. */
static void a_score_that_the_order_still_has_is_saved(void **state)
{
    enum { MANY = 1000 };
    char name[16];

    (void)state;
    for (int i = 1; i <= MANY; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        put("large", name, i + 0.5);
    }
    store_fixture_commit(&test);
    make_nan_of(7.5);
    expect_blame();
    repair();
    assert_int_equal(found.lost, 0);
    expect_score("large", "m7", 7.5);
    expect_score("large", "m1000", MANY + 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_member_without_a_score_is_not_called_saved, test),
        store_fixture_test(a_set_without_any_score_is_lost, test),
        store_fixture_test(a_score_that_the_order_still_has_is_saved, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
