/* The checkpointed level by itself: what a renewal that fails leaves behind. */
#include "storage/kv/lmdb_store.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { META_TXNID = 16 + 128 };

static struct {
    char *dir;
    struct kv_io io;
    bool broken; /* no page can be read */
    struct lmdb_store *store;
} test;

static ssize_t fail_pread(void *arg, int fd, void *data, size_t size, off_t offset)
{
    (void)arg;
    if (!test.broken)
        return pread(fd, data, size, offset);
    errno = EIO;
    return -1;
}

static struct dueq_slice text(const char *chars)
{
    return dueq_slice(chars, strlen(chars));
}

static void put(const char *key)
{
    struct lmdb_txn *txn;

    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, text(key), text("value")), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
}

static enum dueq_status get(const char *key)
{
    struct dueq_slice value;

    return lmdb_get(test.store, text(key), &value);
}

static int set_up(void **state)
{
    struct dueq_error error;

    (void)state;
    test.dir = temp_dir_new();
    test.io = kv_io_system;
    test.io.pread = fail_pread;
    test.broken = false;
    assert_int_equal(lmdb_store_create(test.dir, &test.io, text("mark"), text("value"), &error),
                     DUEQ_OK);
    assert_int_equal(lmdb_store_open(test.dir, 1 << 26, &test.io, &test.store, &error),
                     DUEQ_OK);
    put("one");
    put("two");
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmdb_store_close(test.store);
    temp_dir_remove(test.dir);
    return 0;
}

/* Its list of free pages was not read: what was believed of the old pages must go with it. */
static void a_renewal_that_fails_shows_what_was_shown(void **state)
{
    struct lmdb_census census;

    (void)state;
    put("three");
    test.broken = true;
    lmdb_rest(test.store);
    lmdb_renew_resting(test.store);
    test.broken = false;
    assert_int_equal(get("two"), DUEQ_OK);
    assert_int_equal(get("three"), DUEQ_NOTFOUND);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    assert_int_equal(get("three"), DUEQ_OK);
    assert_int_equal(lmdb_check(test.store, &census), DUEQ_OK);
}

static void the_owner_meets_what_the_renewal_met(void **state)
{
    (void)state;
    put("three");
    test.broken = true;
    lmdb_rest(test.store);
    lmdb_renew_resting(test.store);
    assert_int_equal(lmdb_renew(test.store), DUEQ_IO);
}

/* Both say that they are of a transaction that nobody has run. */
static void change_metas(void)
{
    uint64_t txnid = 1 << 20;
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/data.mdb", test.dir);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    for (off_t page = 0; page < 2; page++)
        assert_int_equal(
            pwrite(fd, &txnid, sizeof(txnid), page * sysconf(_SC_PAGESIZE) + META_TXNID),
            sizeof(txnid));
    close(fd);
}

static void metas_that_change_are_met_once(void **state)
{
    (void)state;
    put("three");
    change_metas();
    alarm(20); /* it would try for ever */
    assert_int_equal(lmdb_renew(test.store), DUEQ_CORRUPT);
    alarm(0);
    assert_non_null(strstr(lmdb_error_text(test.store), "page"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_renewal_that_fails_shows_what_was_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_owner_meets_what_the_renewal_met, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(metas_that_change_are_met_once, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
