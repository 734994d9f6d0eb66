/* Records that are looked for together: found as if each were looked for alone. */
#include "storage/kv/lmdb_internal.h"
#include "storage/kv/pages/pages_internal.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { RECORDS = 6000, STEP = 7, MOST = LMDB_PREFETCH_MOST };

static struct {
    char *dir;
    struct dueq_io io;
    unsigned reads; /* of data.mdb */
    struct lmdb_store *store;
    char space[MOST][64];
} test;

static ssize_t count_pread(void *arg, int fd, void *data, size_t size, off_t offset)
{
    (void)arg;
    test.reads++;
    return pread(fd, data, size, offset);
}

/* Only their ends are the same. */
static struct dueq_slice key_of(unsigned number, unsigned at)
{
    snprintf(test.space[at], sizeof(test.space[at]), "k%08u-the same end", number);
    return text(test.space[at]);
}

static void put_all(const char *value)
{
    struct lmdb_txn *txn;

    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    for (unsigned number = 0; number < RECORDS; number++)
        assert_int_equal(lmdb_put(txn, key_of(number * 2, 0), text(value)), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
}

static void open_store(void)
{
    struct dueq_error error;

    assert_int_equal(lmdb_store_open(test.dir, 1 << 26, &test.io, &test.store, &error),
                     DUEQ_OK);
}

static int set_up(void **state)
{
    struct dueq_error error;

    (void)state;
    test.dir = temp_dir_new();
    test.io = io_system;
    test.io.pread = count_pread;
    assert_int_equal(lmdb_store_create(test.dir, &test.io, text("mark"), text("value"), &error),
                     DUEQ_OK);
    open_store();
    put_all("a value of some bytes");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmdb_store_close(test.store);
    temp_dir_remove(test.dir);
    return 0;
}

static void expect(unsigned number, const char *value)
{
    struct dueq_slice found;
    enum dueq_status status = lmdb_get(test.store, key_of(number, 0), &found);

    if (number % 2 == 1 || number >= 2 * RECORDS) {
        assert_int_equal(status, DUEQ_NOTFOUND);
        return;
    }
    assert_int_equal(status, DUEQ_OK);
    assert_true(dueq_slice_equal(found, text(value)));
}

/* Every second number has a record. */
static void prefetch(unsigned first, unsigned step, size_t count)
{
    struct dueq_slice keys[MOST];

    for (unsigned at = 0; at < count; at++)
        keys[at] = key_of(first + at * step, at);
    lmdb_prefetch(test.store, keys, count);
}

static unsigned found_ahead(void)
{
    return test.store->shown->reader->places.count;
}

static void read_all(const char *value)
{
    for (unsigned number = 0; number < 2 * RECORDS; number++)
        expect(number, value);
}

static void records_are_found_as_if_alone(void **state)
{
    (void)state;
    read_all("a value of some bytes");
    for (unsigned first = 0; first < 2 * RECORDS; first += 500) {
        prefetch(first, STEP, MOST);
        for (unsigned at = 0; at < MOST; at++) {
            expect(first + at * STEP, "a value of some bytes");
            expect(first + at * STEP + 1, "a value of some bytes");
        }
    }
}

/* From here on a search fails, as no page is the root and no leaf is near. */
static void lose_root(void)
{
    memset(test.store->shown->reader->near, 0, sizeof(test.store->shown->reader->near));
    test.store->shown->reader->meta.main.root = 0;
}

static enum dueq_status get(unsigned number)
{
    struct dueq_slice found;

    return lmdb_get(test.store, key_of(number, 0), &found);
}

static void those_that_are_there_need_no_search(void **state)
{
    (void)state;
    read_all("a value of some bytes");
    prefetch(1000, 2, MOST);
    assert_int_equal(found_ahead(), MOST);
    lose_root();
    for (unsigned at = 0; at < MOST; at++)
        expect(1000 + at * 2, "a value of some bytes");
    assert_int_equal(get(2000), DUEQ_CORRUPT);
}

/* But at the edge of a leaf the parents of the leaf must say that its range is right. */
static void most_of_those_that_are_absent_need_no_search(void **state)
{
    unsigned absent = 0, searched = 0;

    (void)state;
    read_all("a value of some bytes");
    for (unsigned first = 1001; first < 1001 + 20 * MOST; first += 2 * MOST) {
        uint64_t root = test.store->shown->reader->meta.main.root;

        prefetch(first, 2, MOST);
        lose_root();
        for (unsigned at = 0; at < MOST; at++)
            if (get(first + at * 2) == DUEQ_NOTFOUND)
                absent++;
            else
                searched++;
        test.store->shown->reader->meta.main.root = root;
    }
    assert_true(searched > 0 && absent > 10 * searched);
    prefetch(2 * RECORDS - 2, 2, 2); /* the last one, and one after it */
    expect(2 * RECORDS - 2, "a value of some bytes");
    expect(2 * RECORDS, "");
}

/* The checksum of a large value is with the value, and covers the key. */
static void beside_a_large_value_nothing_is_known_to_be_absent(void **state)
{
    static char large[5000];
    struct lmdb_txn *txn;

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, key_of(1002, 0), text(large)), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    for (unsigned number = 990; number < 1014; number++)
        if (number != 1002)
            expect(number, "a value of some bytes");
    prefetch(995, 2, 8);
    lose_root();
    assert_int_equal(get(997), DUEQ_NOTFOUND);
    assert_int_equal(get(1001), DUEQ_CORRUPT);
    assert_int_equal(get(1003), DUEQ_CORRUPT);
    assert_int_equal(get(1007), DUEQ_NOTFOUND);
}

static void what_has_changed_since_is_read_anew(void **state)
{
    (void)state;
    read_all("a value of some bytes");
    prefetch(0, 2, MOST);
    put_all("another one");
    assert_int_equal(found_ahead(), 0);
    for (unsigned number = 0; number < 2 * MOST; number++)
        expect(number, "another one");
}

/* Damage is met by who reads the record. */
static void no_page_is_read_ahead(void **state)
{
    (void)state;
    lmdb_store_close(test.store);
    open_store();
    expect(0, "a value of some bytes"); /* the root, and what leads to this record */
    test.reads = 0;
    prefetch(RECORDS, 2, MOST);
    assert_int_equal(test.reads, 0);
    assert_int_equal(found_ahead(), 0);
    expect(RECORDS, "a value of some bytes");
    assert_true(test.reads > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_found_as_if_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(those_that_are_there_need_no_search, set_up, tear_down),
        cmocka_unit_test_setup_teardown(most_of_those_that_are_absent_need_no_search, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(beside_a_large_value_nothing_is_known_to_be_absent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_changed_since_is_read_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_page_is_read_ahead, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
