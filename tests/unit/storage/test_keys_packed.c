/* Small values in the records of their keys: their order, encodings, limits and cost.
 * tests/model/test_keys_random.c compares them with arrays. */
#include "storage/kv/cursor.h"
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/keys/state/packed.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
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

static const struct keys_limits redis_limits = {512, 64, 512, 128, 64, UINT64_MAX};

static struct store_fixture test;

static void commit(void)
{
    store_fixture_commit(&test);
}

static void crash(void)
{
    store_fixture_crash(&test);
}

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.options.journal_bytes = 4 << 20;
    test.options.map_bytes = 256 << 20;
    test.options.seed = 7;
    store_fixture_open(&test);
    return 0;
}

/* ---- helpers */

static void set_field(const char *name, const char *field, const char *value)
{
    bool added;

    assert_int_equal(hash_set(&test.view, text(name), text(field), text(value), &added),
                     DUEQ_OK);
}

static void add_member(const char *name, const char *member)
{
    bool added;

    assert_int_equal(set_add(&test.view, text(name), text(member), &added), DUEQ_OK);
}

static void score_member(const char *name, const char *member, double score)
{
    bool added;

    assert_int_equal(zset_put(&test.view, text(name), text(member), score, &added), DUEQ_OK);
}

static void push(const char *name, const char *element)
{
    assert_int_equal(list_push(&test.view, text(name), LIST_TAIL, text(element)), DUEQ_OK);
}

static const char *numbered(const char *prefix, int number)
{
    static char name[64];

    snprintf(name, sizeof(name), "%s%d", prefix, number);
    return name;
}

static const char *repeated(size_t size)
{
    static char space[10001];

    memset(space, 'x', size);
    space[size] = '\0';
    return space;
}

static struct keys_info info_of(const char *name)
{
    struct keys_info info = {.count = 0};

    assert_int_equal(keys_info(&test.view, text(name), &info), DUEQ_OK);
    return info;
}

static void expect_encoding(const char *name, const char *expected)
{
    assert_string_equal(keys_encoding_name(info_of(name).encoding), expected);
}

/* The elements in order, each followed by a space. */
struct listing {
    char text[512];
    size_t size;
};

static bool list_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct listing *listing = arg;

    (void)value;
    assert_true(listing->size + element.size + 2 < sizeof(listing->text));
    memcpy(listing->text + listing->size, element.data, element.size);
    listing->size += element.size;
    listing->text[listing->size++] = ' ';
    listing->text[listing->size] = '\0';
    return true;
}

static void expect_order(const char *name, const char *expected)
{
    struct listing listing = {.size = 0};

    switch (info_of(name).type) {
    case KEYS_HASH:
        hash_each(&test.view, text(name), list_element, &listing);
        break;
    case KEYS_SET:
        set_each(&test.view, text(name), list_element, &listing);
        break;
    default:
        list_each(&test.view, text(name), 0, LIST_TAIL, list_element, &listing);
    }
    assert_string_equal(listing.text, expected);
}

static const char element_tables[] = "hylv";

/* ---- cells */

static void integers_are_those_that_are_printed_so(void **state)
{
    static const char *const are[] = {
        "0", "-1", "9", "10", "9223372036854775807", "-9223372036854775808"};
    static const char *const are_not[] = {"",
                                          "-",
                                          "+1",
                                          "01",
                                          "-0",
                                          "00",
                                          "1 ",
                                          " 1",
                                          "1.0",
                                          "1e3",
                                          "0x1",
                                          "9223372036854775808",
                                          "--1",
                                          "1\n",
                                          "a",
                                          ":",
                                          "/",
                                          "-9223372036854775809",
                                          "-01",
                                          "1-",
                                          "-a",
                                          "١",
                                          "99999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
        assert_true(packed_is_integer(text(are[i])));
    for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++)
        assert_false(packed_is_integer(text(are_not[i])));
    assert_false(packed_is_integer(dueq_slice(NULL, 0)));
}

static void integers_are_compared_by_what_they_are_worth(void **state)
{
    static const char *const ascending[] = {
        "-9223372036854775808", "-100", "-99", "-9", "-1", "0", "1", "9", "10",
        "9223372036854775807"};
    const size_t count = sizeof(ascending) / sizeof(ascending[0]);

    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            int order = packed_compare_integers(text(ascending[i]), text(ascending[j]));

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

static void cells_that_are_cut_off_are_none(void **state)
{
    struct dueq_slice contents[2], content;
    struct packed packed = {.bytes = NULL};

    (void)state;
    contents[0] = text("a");
    contents[1] = text(repeated(300));
    assert_true(packed_splice(&packed, 0, 0, contents, 2));
    for (size_t size = 0; size < packed.size; size++) {
        uint8_t *copy = malloc(size + 1); /* exact, for the sanitizers */
        size_t at = 0, found = 0;

        assert_non_null(copy);
        memcpy(copy, packed.bytes, size);
        while (packed_next(dueq_slice(copy, size), &at, &content))
            found++;
        assert_int_equal(found, size >= 2);
        free(copy);
    }
    packed_release(&packed);
}

/* ---- order */

static void fill_in_order(void)
{
    static const char *const fields[] = {"zeta", "alpha", "", "m", "beta", "1", "0"};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        set_field("hash", fields[i], "v");
    set_field("hash", "alpha", "a longer value, in the same place");
    assert_int_equal(hash_del(&test.view, text("hash"), text("m")), DUEQ_OK);
    set_field("hash", "m", "behind the others");
    add_member("set", "30");
    add_member("set", "-4");
    add_member("set", "100");
    add_member("set", "5");
    push("list", "b");
    push("list", "a");
}

static void expect_in_order(void)
{
    expect_order("hash", "zeta alpha  beta 1 0 m ");
    expect_order("set", "-4 5 30 100 ");
    expect_order("list", "b a ");
}

/* Whatever the seed of the store. */
static void small_values_keep_their_order_in_every_store(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        store_fixture_tear_down(state);
        store_fixture_init(&test);
        test.options.seed = seed;
        store_fixture_open(&test);
        fill_in_order();
        expect_in_order();
        commit();
        expect_in_order();
        crash();
        expect_in_order();
        assert_int_equal(keys_rename(&test.view, text("hash"), text("other")), DUEQ_OK);
        assert_int_equal(keys_copy(&test.view, text("other"), 0, text("hash")), DUEQ_OK);
        expect_in_order();
        expect_order("other", "zeta alpha  beta 1 0 m ");
    }
}

static void a_name_too_long_for_a_key_makes_no_difference(void **state)
{
    char name[2000];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    set_field(name, "b", "1");
    set_field(name, "a", "2");
    commit();
    crash();
    expect_order(name, "b a ");
    assert_int_equal(keys_expire(&test.view, text(name), test.time.now + 1000), DUEQ_OK);
    commit();
    crash();
    expect_order(name, "b a ");
    assert_int_equal(info_of(name).expires, test.time.now + 1000);
    assert_int_equal(record_count(test.store, element_tables), 0);
}

/* ---- encodings */

static void strings_remember_how_they_came_about(void **state)
{
    static const struct {
        const char *value;
        enum string_origin origin;
        const char *encoding;
    } cases[] = {{"12", STRING_GIVEN, "int"},
                 {"12", STRING_MADE, "embstr"},
                 {"12", STRING_EDITED, "raw"},
                 {"012", STRING_GIVEN, "embstr"},
                 {"", STRING_GIVEN, "embstr"},
                 {"", STRING_EDITED, "raw"},
                 {"-9223372036854775808", STRING_GIVEN, "int"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(string_set(&test.view, text("s"), text(cases[i].value), DUEQ_NEVER,
                                    cases[i].origin),
                         DUEQ_OK);
        expect_encoding("s", cases[i].encoding);
        commit();
        crash();
        expect_encoding("s", cases[i].encoding);
    }
    for (size_t size = 44; size <= 45; size++) {
        string_set(&test.view, text("s"), text(repeated(size)), DUEQ_NEVER, STRING_GIVEN);
        expect_encoding("s", size == 44 ? "embstr" : "raw");
    }
    string_set(&test.view, text("s"), text("7"), DUEQ_NEVER, STRING_GIVEN);
    assert_int_equal(string_make_raw(&test.view, text("s")), DUEQ_OK);
    commit();
    crash();
    expect_encoding("s", "raw");
}

static void a_hash_with_a_field_too_many_is_small_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < 512; i++)
        set_field("h", numbered("", i), "v");
    expect_encoding("h", "listpack");
    set_field("h", "0", "w"); /* an existing field */
    expect_encoding("h", "listpack");
    set_field("h", "512", "v");
    expect_encoding("h", "hashtable");
    assert_int_equal(hash_del(&test.view, text("h"), text("512")), DUEQ_OK);
    assert_int_equal(hash_del(&test.view, text("h"), text("511")), DUEQ_OK);
    commit();
    crash();
    expect_encoding("h", "hashtable");
}

static void a_hash_with_a_long_field_or_value_is_small_no_more(void **state)
{
    (void)state;
    set_field("field", repeated(64), "v");
    expect_encoding("field", "listpack");
    set_field("field", repeated(65), "v");
    expect_encoding("field", "hashtable");
    set_field("value", "f", repeated(64));
    expect_encoding("value", "listpack");
    set_field("value", "f", repeated(65)); /* replaces the value */
    expect_encoding("value", "hashtable");
    set_field("value", "f", "v");
    expect_encoding("value", "hashtable");
}

static void a_set_with_an_integer_too_many_or_a_word_is_no_set_of_integers(void **state)
{
    (void)state;
    for (int i = 0; i < 512; i++)
        add_member("many", numbered("", i));
    expect_encoding("many", "intset");
    add_member("many", "512");
    expect_encoding("many", "hashtable");
    add_member("mixed", "2");
    add_member("mixed", "1");
    expect_encoding("mixed", "intset");
    add_member("mixed", "word");
    expect_encoding("mixed", "hashtable");
    assert_int_equal(set_remove(&test.view, text("mixed"), text("word")), DUEQ_OK);
    expect_encoding("mixed", "hashtable");
    add_member("word", "word");
    expect_encoding("word", "hashtable");
}

static void a_sorted_set_with_too_much_is_a_skiplist(void **state)
{
    (void)state;
    for (int i = 0; i < 128; i++)
        score_member("many", numbered("", i), i);
    expect_encoding("many", "listpack");
    score_member("many", "0", 1000);
    expect_encoding("many", "listpack");
    score_member("many", "128", 128);
    expect_encoding("many", "skiplist");
    score_member("long", repeated(64), 1);
    expect_encoding("long", "listpack");
    score_member("long", repeated(65), 1);
    expect_encoding("long", "skiplist");
}

/* A changed option affects an existing value when something is added to it, not before. */
static void limits_count_when_something_is_added(void **state)
{
    struct keys_limits none = {0, 0, 0, 0, 0, 0};

    (void)state;
    set_field("h", "a", "1");
    add_member("s", "1");
    score_member("z", "a", 1);
    keys_set_limits(store_keys(test.store), &none);
    expect_encoding("h", "listpack");
    expect_encoding("s", "intset");
    expect_encoding("z", "listpack");
    score_member("z", "a", 2); /* nothing is added */
    expect_encoding("z", "listpack");
    set_field("h", "a", "2");
    add_member("s", "2");
    score_member("z", "b", 2);
    expect_encoding("h", "hashtable");
    expect_encoding("s", "hashtable");
    expect_encoding("z", "skiplist");
    keys_set_limits(store_keys(test.store), &redis_limits);
    set_field("h", "b", "2");
    add_member("s", "3");
    score_member("z", "c", 2);
    expect_encoding("h", "hashtable");
    expect_encoding("s", "hashtable");
    expect_encoding("z", "skiplist");
}

static void a_set_made_anew_is_what_its_members_are(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) { /* now too many to be packed */
        add_member("s", numbered("", i * 7 % 600));
        add_member("s", numbered("a longer word: ", i));
    }
    for (int i = 0; i < 600; i++)
        if (i >= 3)
            set_remove(&test.view, text("s"), text(numbered("", i)));
    assert_int_equal(set_remake(&test.view, text("s")), DUEQ_OK);
    expect_encoding("s", "hashtable"); /* it contains words */
    for (int i = 0; i < 600; i++)
        set_remove(&test.view, text("s"), text(numbered("a longer word: ", i)));
    assert_int_equal(record_count(test.store, element_tables), 3);
    assert_int_equal(set_remake(&test.view, text("s")), DUEQ_OK);
    expect_encoding("s", "intset");
    expect_order("s", "0 1 2 ");
    assert_int_equal(record_count(test.store, element_tables), 0);
    commit();
    crash();
    expect_order("s", "0 1 2 ");
    expect_encoding("s", "intset");
    add_member("s", "-1");
    expect_order("s", "-1 0 1 2 ");
}

/* ---- records and bytes */

static void a_small_value_is_one_record(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        set_field("hash", numbered("f", i), "value");
        add_member("set", numbered("m", i));
        add_member("integers", numbered("", i));
        score_member("zset", numbered("m", i), i);
        push("list", numbered("e", i));
    }
    string_set(&test.view, text("string"), text(repeated(256)), DUEQ_NEVER, STRING_GIVEN);
    commit();
    assert_int_equal(record_count(test.store, "k"), 6);
    assert_int_equal(record_count(test.store, element_tables), 0);
}

/* Whatever the options for encodings allow: each change writes the whole value. */
static void what_is_packed_is_a_few_kilobytes_at_the_most(void **state)
{
    struct keys_limits endless = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                  UINT64_MAX, UINT64_MAX, UINT64_MAX};
    enum { MANY = 5000 };

    (void)state;
    keys_set_limits(store_keys(test.store), &endless);
    for (int i = 0; i < MANY; i++) {
        set_field("hash", numbered("", i), "v");
        add_member("set", numbered("", i));
        score_member("zset", numbered("", i), i);
        push("list", numbered("", i));
    }
    commit();
    assert_int_equal(record_count(test.store, element_tables),
                     MANY * 5);           /* a zset has two for each member */
    expect_encoding("hash", "hashtable"); /* and this is its encoding */
    expect_encoding("set", "hashtable");
    expect_encoding("zset", "listpack"); /* the order of a zset is the same in both */
    set_field("one", "f", repeated(10000));
    commit();
    assert_int_equal(record_count(test.store, element_tables), MANY * 5 + 1);
    keys_del(&test.view, text("one"));
    for (int i = 0; i < MANY; i++) {
        struct dueq_slice value;
        double score;

        assert_int_equal(hash_get(&test.view, text("hash"), text(numbered("", i)), &value),
                         DUEQ_OK);
        assert_int_equal(set_has(&test.view, text("set"), text(numbered("", i))), DUEQ_OK);
        assert_int_equal(zset_score(&test.view, text("zset"), text(numbered("", i)), &score),
                         DUEQ_OK);
        assert_true(score == i);
        assert_int_equal(list_at(&test.view, text("list"), (uint64_t)i, &value), DUEQ_OK);
        assert_true(dueq_slice_equal(value, text(numbered("", i))));
    }
}

static void a_list_of_too_many_elements_is_not_packed(void **state)
{
    struct keys_limits three = redis_limits;

    (void)state;
    three.list_entries = 3;
    for (int i = 0; i < 10; i++)
        push("before", numbered("", i));
    keys_set_limits(store_keys(test.store), &three);
    for (int i = 0; i < 3; i++)
        push("list", numbered("", i));
    commit();
    assert_int_equal(record_count(test.store, element_tables), 0);
    push("list", "3");
    commit();
    assert_int_equal(record_count(test.store, element_tables), 4);
    expect_order("list", "0 1 2 3 ");
    expect_order("before", "0 1 2 3 4 5 6 7 8 9 ");
    push("before", "10");
    commit();
    assert_int_equal(record_count(test.store, element_tables), 15);
}

static uint64_t written(void)
{
    struct dueq_stats stats;

    dueq_get_stats(test.store, &stats);
    return stats.journal_written_bytes;
}

static void a_packed_value_is_written_once_a_turn(void **state)
{
    uint64_t before;

    (void)state;
    commit();
    before = written();
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < 50; i++)
            set_field("h", numbered("field ", i), numbered("", round));
    commit();
    assert_in_range(written() - before, 500, 2000);
    before = written();
    set_field("h", "field 0", "x");
    commit();
    assert_in_range(written() - before, 500, 2000);
}

/* More keys than the store keeps unsaved until the turn ends. */
static void many_keys_change_in_a_turn(void **state)
{
    enum { MANY = 5000 };
    char name[16];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "k%d", i);
            set_field(name, numbered("field ", 2 - round), "v");
        }
        if (round == 1)
            commit();
    }
    commit();
    crash();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        expect_order(name, "field 2 field 1 field 0 ");
    }
}

/* Small changes of many values are large together. What does not fit into one record of the
 * journal is refused, and the store stays sound. */
static void what_one_record_does_not_hold_is_refused(void **state)
{
    enum { MANY = 400, FIELDS = 120 };
    char name[16];
    int changed = 0;
    bool added;

    (void)state;
    test.options.record_bytes = 1 << 20;
    crash();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        for (int field = 0; field < FIELDS; field++)
            set_field(name, numbered("the name of field ", field), repeated(40));
        commit();
    }
    for (int i = 0; i < MANY; i++) {
        enum dueq_status status;

        snprintf(name, sizeof(name), "k%d", i);
        status = hash_set(&test.view, text(name), text("small"), text("x"), &added);
        assert_int_equal(status, changed < i ? DUEQ_TOOBIG : status);
        changed += status == DUEQ_OK;
    }
    assert_in_range(changed, MANY / 10, MANY / 2);
    assert_int_equal(keys_copy(&test.view, text("k0"), 0, text("copy")), DUEQ_TOOBIG);
    commit();
    assert_int_equal(kv_status(test.store->kv), DUEQ_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        assert_int_equal(info_of(name).count, FIELDS + (i < changed));
    }
    set_field("k399", "small", "x");
    commit();
    crash();
    assert_int_equal(info_of("k399").count, FIELDS + 1);
}

/* Copies are unsaved values, too. */
static void many_copies_in_a_turn_are_saved_on_the_way(void **state)
{
    char name[16];

    (void)state;
    set_field("h", "b", "1");
    set_field("h", "a", repeated(1000));
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        assert_int_equal(keys_copy(&test.view, text("h"), 0, text(name)), DUEQ_OK);
    }
    assert_in_range(kv_batch_bytes(test.store->kv), 3000 * 1000, 6000 * 1100);
    commit();
    crash();
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        assert_int_equal(info_of(name).count, 2);
    }
}

/* ---- crashes */

static void a_value_is_unpacked_in_one_piece(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++)
        add_member("s", numbered("", i % 300)); /* each member twice */
    commit();
    assert_int_equal(record_count(test.store, element_tables), 0);
    for (int i = 300; i < 3000; i++)
        add_member("s", numbered("", i));
    crash(); /* before a commit */
    assert_int_equal(info_of("s").count, 300);
    expect_encoding("s", "intset");
    assert_int_equal(record_count(test.store, element_tables), 0);
    for (int i = 300; i < 3000; i++)
        add_member("s", numbered("", i));
    commit();
    crash();
    assert_int_equal(info_of("s").count, 3000);
    assert_int_equal(record_count(test.store, element_tables), 3000);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(set_has(&test.view, text("s"), text(numbered("", i))), DUEQ_OK);
}

/* ---- damage */

static void make(enum keys_type type, const char *name)
{
    switch (type) {
    case KEYS_HASH:
        set_field(name, "a", "1");
        break;
    case KEYS_SET:
        add_member(name, "1");
        break;
    case KEYS_ZSET:
        score_member(name, "a", 1);
        break;
    case KEYS_LIST:
        push(name, "a");
        break;
    default:
        string_set(&test.view, text(name), text("a"), test.time.now + 5, STRING_GIVEN);
    }
}

static void read_everything(const char *name)
{
    static const struct zset_range all = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, true};
    struct listing listing = {.size = 0};
    struct zset_entry entry;
    struct keys_info info;
    struct dueq_slice value;
    uint64_t rank;
    bool added;

    keys_info(&test.view, text(name), &info);
    string_get(&test.view, text(name), &value);
    hash_each(&test.view, text(name), list_element, &listing);
    set_each(&test.view, text(name), list_element, &listing);
    list_each(&test.view, text(name), 0, LIST_TAIL, list_element, &listing);
    list_at(&test.view, text(name), 1, &value);
    hash_set(&test.view, text(name), text("a"), text("2"), &added);
    zset_put(&test.view, text(name), text("a"), 2, &added);
    set_add(&test.view, text(name), text("2"), &added);
    zset_rank(&test.view, text(name), text("a"), true, &rank);
    zset_random(&test.view, text(name), 1, &entry);
    zset_remove_range(&test.view, text(name), &all, &rank);
    list_peek(&test.view, text(name), LIST_TAIL, &value);
    list_pop(&test.view, text(name), LIST_TAIL);
}

/* A damaged copy of the record: cut at an offset, or with a changed byte. The copy has memory
 * of exactly its size, so that sanitizers find reads past the end. */
static struct dueq_slice damaged(struct dueq_slice record, int number)
{
    static const uint8_t changes[] = {0, 1, 0x7f, 0x80, 0xf8, 0xff};
    size_t at = (size_t)number / (sizeof(changes) + 1) % (record.size + 1);
    size_t change = (size_t)number % (sizeof(changes) + 1);
    size_t size = change == sizeof(changes) ? at : record.size;
    uint8_t *copy = malloc(size + 1);

    assert_non_null(copy);
    if (size > 0)
        memcpy(copy, record.data, size);
    if (change < sizeof(changes) && at < size)
        copy[at] = changes[change];
    return dueq_slice(copy, size);
}

/* Damages the record of each key in another way. */
static void damage_all(void)
{
    struct kv_cursor *cursor = kv_cursor_new(test.store->kv);
    enum dueq_status status = kv_cursor_seek(cursor, text("k"));
    uint8_t key[64];

    for (int number = 0; status == DUEQ_OK; number++) {
        struct dueq_slice here = kv_cursor_key(cursor), record;

        if (*(const char *)here.data != 'k')
            break;
        record = damaged(kv_cursor_value(cursor), number);
        memcpy(key, here.data, here.size);
        kv_put(test.store->kv, dueq_slice(key, here.size), record, false);
        free((void *)record.data);
        status = kv_cursor_next(cursor);
    }
    kv_cursor_free(cursor);
}

/* A read gives an error or other elements, and does no other harm. */
static void damaged_records_are_read_with_care(void **state)
{
    enum { MANY = 500 };

    (void)state;
    for (enum keys_type type = KEYS_STRING; type <= KEYS_HASH; type++) {
        for (int i = 0; i < MANY; i++)
            make(type, numbered("", i));
        commit();
        damage_all();
        commit();
        crash(); /* no entry is open any more */
        for (int i = 0; i < MANY; i++)
            read_everything(numbered("", i));
        keys_flush(store_keys(test.store), 0);
        store_fixture_tick(&test, 100);
    }
}

#define packed_test(function)                                                                  \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        packed_test(integers_are_those_that_are_printed_so),
        packed_test(integers_are_compared_by_what_they_are_worth),
        packed_test(cells_that_are_cut_off_are_none),
        packed_test(small_values_keep_their_order_in_every_store),
        packed_test(a_name_too_long_for_a_key_makes_no_difference),
        packed_test(strings_remember_how_they_came_about),
        packed_test(a_hash_with_a_field_too_many_is_small_no_more),
        packed_test(a_hash_with_a_long_field_or_value_is_small_no_more),
        packed_test(a_set_with_an_integer_too_many_or_a_word_is_no_set_of_integers),
        packed_test(a_sorted_set_with_too_much_is_a_skiplist),
        packed_test(limits_count_when_something_is_added),
        packed_test(a_set_made_anew_is_what_its_members_are),
        packed_test(a_small_value_is_one_record),
        packed_test(what_is_packed_is_a_few_kilobytes_at_the_most),
        packed_test(a_list_of_too_many_elements_is_not_packed),
        packed_test(a_packed_value_is_written_once_a_turn),
        packed_test(many_keys_change_in_a_turn),
        packed_test(many_copies_in_a_turn_are_saved_on_the_way),
        packed_test(what_one_record_does_not_hold_is_refused),
        packed_test(a_value_is_unpacked_in_one_piece),
        packed_test(damaged_records_are_read_with_care),
    };
    return cmocka_run_group_tests_name("packed values", tests, NULL, NULL);
}
