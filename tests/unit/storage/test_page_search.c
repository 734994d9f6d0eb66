/* A search in a page of data.mdb ends where a look at each of its keys ends. */
#include "storage/kv/pages/page_search.h"
#include "tests/support/dice.h"

#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { PAGE = 4096, KEYS_MOST = 60, KEY_MOST = 28, PAGES = 400, SEARCHES = 200 };

struct key {
    size_t size;
    uint8_t bytes[KEY_MOST];
};

static struct {
    struct dice dice;
    struct key keys[KEYS_MOST];
    unsigned count;
    size_t shared;    /* bytes that the keys begin with, at least */
    unsigned letters; /* that they are made of */
    uint8_t bytes[PAGE];
} test;

static struct dueq_slice slice_of(const struct key *key)
{
    return dueq_slice(key->bytes, key->size);
}

static int compare_keys(const void *a, const void *b)
{
    return dueq_slice_compare(slice_of(a), slice_of(b));
}

/* Few letters, zero among them, so that many hints are equal and zeros follow ends of keys. */
static struct key random_key(void)
{
    struct key key = {.size = test.shared + 1 + dice_roll(&test.dice, KEY_MOST - test.shared)};

    memset(key.bytes, 'p', test.shared);
    for (size_t at = test.shared; at < key.size; at++)
        key.bytes[at] = (uint8_t)(dice_roll(&test.dice, test.letters));
    return key;
}

static void put_u16(size_t at, size_t number)
{
    uint16_t stored = (uint16_t)number;

    memcpy(test.bytes + at, &stored, sizeof(stored));
}

/* The first key of a branch is empty. */
static void write_page(bool leaf)
{
    size_t upper = PAGE;

    memset(test.bytes, 0xff, sizeof(test.bytes));
    for (unsigned i = 0; i < test.count; i++) {
        struct key key = test.keys[i];

        if (!leaf && i == 0)
            key.size = 0;
        upper -= (NODE_HEADER + key.size + 1) / 2 * 2;
        put_u16(PAGE_HEADER + 2 * i, upper);
        memset(test.bytes + upper, 0, NODE_HEADER);
        put_u16(upper + NODE_KEY_SIZE, key.size);
        memcpy(test.bytes + upper + NODE_HEADER, key.bytes, key.size);
    }
    put_u16(PAGE_KIND, leaf ? PAGE_LEAF : PAGE_BRANCH);
    put_u16(PAGE_LOWER, PAGE_HEADER + 2 * test.count);
    put_u16(PAGE_UPPER, upper);
}

static void make_keys(void)
{
    unsigned wanted = 1 + (unsigned)dice_roll(&test.dice, KEYS_MOST);

    test.shared = dice_roll(&test.dice, 14);
    test.letters = 2 + (unsigned)dice_roll(&test.dice, 254);
    for (unsigned i = 0; i < wanted; i++)
        test.keys[i] = random_key();
    qsort(test.keys, wanted, sizeof(test.keys[0]), compare_keys);
    test.count = 0;
    for (unsigned i = 0; i < wanted; i++)
        if (i == 0 || compare_keys(&test.keys[test.count - 1], &test.keys[i]) != 0)
            test.keys[test.count++] = test.keys[i];
}

/* One of the page, or one that has lost its end, or begins in another way, or any. */
static struct key sought_key(void)
{
    struct key key = test.keys[dice_roll(&test.dice, test.count)];

    switch (dice_roll(&test.dice, 4)) {
    case 0:
        return key;
    case 1:
        key.size = 1 + dice_roll(&test.dice, key.size);
        return key;
    case 2:
        key.bytes[dice_roll(&test.dice, key.size)]++;
        return key;
    default:
        return random_key();
    }
}

static void search_one(bool leaf)
{
    struct key sought = sought_key();
    unsigned first = leaf ? 0 : 1, expected = first;
    bool exact;

    while (expected < test.count && compare_keys(&test.keys[expected], &sought) < 0)
        expected++;
    assert_int_equal(page_search(test.bytes, first, slice_of(&sought), &exact), expected);
    assert_int_equal(exact,
                     expected < test.count && compare_keys(&test.keys[expected], &sought) == 0);
}

static void each_key_has_its_place(void **state)
{
    (void)state;
    dice_begin(&test.dice);
    for (unsigned page = 0; page < PAGES; page++) {
        bool leaf = dice_roll(&test.dice, 2) == 0;

        make_keys();
        write_page(leaf);
        for (unsigned i = 0; i < SEARCHES; i++)
            search_one(leaf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
