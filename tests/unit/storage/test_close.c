/* Closing a store with an uncommitted batch: it is committed or dropped, never half of it. */
#include "storage/store.h"
#include "storage/dueq.h"
#include "storage/queue/queue.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <errno.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;
static struct fake_disk *disk;

static int set_up(void **state)
{
    (void)state;
    store_fixture_init(&test);
    disk = fake_disk_new();
    test.options.durability = DUEQ_SYNC_ALWAYS;
    test.options.map_bytes = 64 << 20;
    test.options.io = fake_disk_io(disk);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_disk_free(disk);
    store_fixture_release(&test);
    return 0;
}

/* ---- jobs */

static struct dueq *open_store(void)
{
    struct dueq *store;

    store_fixture_open(&test);
    store = test.store;
    test.store = NULL; /* each test ends the store in another way */
    return store;
}

static enum dueq_status push(struct dueq *store, const char *id)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = text("topic");
    push.id = text(id);
    push.body = text("a body");
    push.priority = (int)strlen(id); /* each job has another lane */
    return dueq_push(store, &push, test.time, &given);
}

static void commit(struct dueq *store)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(store, test.time, &lsn), DUEQ_OK);
}

/* Checks that the store is sound, whether it has the job, and that it accepts the next one. */
static void check_store(struct dueq *store, const char *id, bool present)
{
    struct dueq_job job;

    assert_null(queue_check(store->queue));
    assert_int_equal(dueq_get(store, text("topic"), text(id), test.time, &job),
                     present ? DUEQ_OK : DUEQ_NOTFOUND);
    assert_int_equal(push(store, id), present ? DUEQ_DUPLICATE : DUEQ_OK);
    assert_int_equal(push(store, "later"), DUEQ_OK);
    commit(store);
    assert_null(queue_check(store->queue));
    assert_int_equal(dueq_del(store, text("topic"), text(id), test.time), DUEQ_OK);
    assert_int_equal(dueq_del(store, text("topic"), text("later"), test.time), DUEQ_OK);
    commit(store);
    assert_null(queue_check(store->queue));
}

static void closing_commits_what_has_gathered(void **state)
{
    struct dueq *store = open_store();

    (void)state;
    assert_int_equal(push(store, "first"), DUEQ_OK);
    commit(store);
    assert_int_equal(push(store, "second"), DUEQ_OK);
    assert_int_equal(dueq_close(store), DUEQ_OK);
    store = open_store();
    check_store(store, "second", true);
    check_store(store, "first", true);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

/* Also if the store has no earlier commit. */
static void closing_commits_the_first_batch_of_all(void **state)
{
    struct dueq *store = open_store();

    (void)state;
    assert_int_equal(push(store, "first"), DUEQ_OK);
    assert_int_equal(dueq_close(store), DUEQ_OK);
    store = open_store();
    check_store(store, "first", true);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

static void abandoning_drops_what_has_gathered(void **state)
{
    struct dueq *store = open_store();

    (void)state;
    assert_int_equal(push(store, "first"), DUEQ_OK);
    commit(store);
    assert_int_equal(push(store, "second"), DUEQ_OK);
    dueq_abandon(store);
    store = open_store();
    check_store(store, "second", false);
    check_store(store, "first", true);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

/* The journal accepts nothing more: what it does not contain must not reach data.mdb. */
static void a_batch_that_cannot_be_committed_is_dropped_whole(enum disk_call call, int error)
{
    struct dueq *store = open_store();

    assert_int_equal(push(store, "first"), DUEQ_OK);
    commit(store);
    assert_int_equal(push(store, "second"), DUEQ_OK);
    fake_disk_fail(disk, call, 0, FAKE_DISK_ALWAYS, error);
    assert_int_not_equal(dueq_close(store), DUEQ_OK);
    fake_disk_fail(disk, call, 0, 0, 0);
    store = open_store();
    check_store(store, "second", false);
    check_store(store, "first", true);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

static void after_a_failed_write_nothing_of_the_batch_is_left(void **state)
{
    (void)state;
    a_batch_that_cannot_be_committed_is_dropped_whole(DISK_WRITE, EIO);
}

/* The record does not fit into a segment, and a commit has answered so before. */
static void after_a_full_commit_nothing_of_the_batch_is_left(void **state)
{
    static char body[3 << 20];
    struct dueq *store = open_store();
    struct dueq_slice given;
    struct dueq_push large;
    enum dueq_status status;
    uint64_t lsn;

    (void)state;
    assert_int_equal(push(store, "first"), DUEQ_OK);
    commit(store);
    fake_disk_fail(disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    dueq_push_init(&large);
    large.topic = text("topic");
    large.id = text("second");
    large.body = dueq_slice(body, sizeof(body));
    status = dueq_push(store, &large, test.time, &given);
    if (status == DUEQ_OK)
        assert_int_not_equal(dueq_commit(store, test.time, &lsn), DUEQ_OK);
    dueq_close(store);
    fake_disk_fail(disk, DISK_ALLOCATE, 0, 0, 0);
    store = open_store();
    check_store(store, "second", false);
    check_store(store, "first", true);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

/* ---- the key space */

static void put(struct kv *kv, const char *key)
{
    kv_put(kv, text(key), text("value"), true);
}

static void check_key(struct kv *kv, const char *key, enum dueq_status expected)
{
    struct dueq_slice value;

    assert_int_equal(kv_get(kv, text(key), &value), expected);
}

static struct kv *open_kv(void)
{
    struct kv *kv;
    struct dueq_error error;

    if (kv_open(test.dir, &test.options, &kv, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
    return kv;
}

static void closing_a_key_space_drops_the_batch_and_keeps_the_rest(void **state)
{
    struct kv *kv = open_kv();
    uint64_t lsn;

    (void)state;
    put(kv, "committed");
    assert_int_equal(kv_commit(kv, 1, &lsn), DUEQ_OK);
    put(kv, "under way");
    assert_int_equal(kv_checkpoint(kv), DUEQ_INVALID);
    kv_checkpoint_start(kv);
    assert_int_equal(kv_close(kv), DUEQ_OK);
    kv = open_kv();
    check_key(kv, "committed", DUEQ_OK);
    check_key(kv, "under way", DUEQ_NOTFOUND);
    assert_int_equal(kv_close(kv), DUEQ_OK);
}

/* Although no commit asked for a sync. */
static void what_was_committed_survives_a_power_cut_after_the_end(void **state)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f",
                                       "g", "h", "i", "j", "k", "l"};
    struct dice dice;
    uint64_t lsn;

    (void)state;
    dice_begin(&dice);
    lmdb_disk_attach(disk);
    test.options.durability = DUEQ_SYNC_NONE;
    for (int round = 0; round < 12; round++) { /* a cut may leave all by chance */
        struct kv *kv = open_kv();

        put(kv, keys[round]);
        assert_int_equal(kv_commit(kv, 1, &lsn), DUEQ_OK);
        if (round % 2 > 0)
            put(kv, "never");
        assert_int_equal(kv_close(kv), DUEQ_OK);
        fake_disk_cut_after(disk, 0);
        fake_disk_restart(disk, &dice);
        kv = open_kv();
        check_key(kv, keys[round], DUEQ_OK);
        check_key(kv, "never", DUEQ_NOTFOUND);
        kv_abandon(kv);
    }
    lmdb_disk_attach(NULL);
}

int main(void)
{
#define close_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        close_test(closing_commits_what_has_gathered),
        close_test(closing_commits_the_first_batch_of_all),
        close_test(abandoning_drops_what_has_gathered),
        close_test(after_a_failed_write_nothing_of_the_batch_is_left),
        close_test(after_a_full_commit_nothing_of_the_batch_is_left),
        close_test(closing_a_key_space_drops_the_batch_and_keeps_the_rest),
        close_test(what_was_committed_survives_a_power_cut_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
