/* Copies of topics, jobs and keys, record by record: what a store can hold is taken, what none
 * can hold is refused. tests/integration/test_offline.c has whole dumps. */
#include "storage/queue/restore.h"

#include "storage/keys/keys_restore.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <errno.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

static struct whole_topic topic_of(uint64_t next_seq, uint64_t next_token)
{
    return (struct whole_topic){.next_seq = next_seq, .next_token = next_token};
}

/* Both numbers come to 2^40 after a few months of 100,000 jobs a second. */
static void a_topic_of_many_jobs_is_taken(void **state)
{
    struct whole_topic topic = topic_of(((uint64_t)1 << 40) + 1, ((uint64_t)1 << 40) + 1);
    struct dueq_job job;
    struct whole_job whole = {.seq = (uint64_t)1 << 40, .moved = true};

    (void)state;
    whole.body.lease = whole.body.retries = whole.body.crashes = DUEQ_DEFAULT;
    whole.body.backoff = whole.body.backoff_max = whole.body.jitter = DUEQ_DEFAULT;
    whole.body.ttl = whole.body.window = DUEQ_DEFAULT;
    whole.state.token = (int64_t)1 << 40;
    whole.state.expires = DUEQ_NEVER;
    assert_int_equal(queue_restore_topic(test.store->queue, text("t"), &topic), DUEQ_OK);
    assert_int_equal(queue_restore_job(test.store->queue, text("t"), &whole, test.time),
                     DUEQ_OK);
    assert_int_equal(dueq_claim(test.store, text("t"), DUEQ_DEFAULT, test.time, &job), DUEQ_OK);
    assert_int_equal(job.token, ((int64_t)1 << 40) + 1);
    assert_null(queue_check(test.store->queue));
}

/* Such numbers would come to negative tokens, or to the seq 0 that no job has. */
static void numbers_that_no_store_has_are_refused(void **state)
{
    static const uint64_t wrong[] = {0, (uint64_t)SAFE_TIME_MAX + 1, INT64_MAX, UINT64_MAX};
    struct whole_topic most = topic_of(SAFE_TIME_MAX, SAFE_TIME_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct whole_topic seq = topic_of(wrong[i], 1), token = topic_of(1, wrong[i]);

        assert_int_equal(queue_restore_topic(test.store->queue, text("t"), &seq), DUEQ_INVALID);
        assert_int_equal(queue_restore_topic(test.store->queue, text("t"), &token),
                         DUEQ_INVALID);
        assert_int_equal(queue_set_outliving(test.store->queue, &seq), DUEQ_INVALID);
        assert_int_equal(queue_set_outliving(test.store->queue, &token), DUEQ_INVALID);
    }
    assert_int_equal(queue_set_outliving(test.store->queue, &most), DUEQ_OK);
    assert_int_equal(queue_restore_topic(test.store->queue, text("t"), &most), DUEQ_OK);
}

static bool keep(void *arg, const struct whole_job *job)
{
    *(struct whole_job *)arg = *job;
    return true;
}

/* What an embedder may push can be dumped and loaded. */
static void options_without_an_end_are_taken(void **state)
{
    struct whole_topic topic = topic_of(2, 1);
    struct whole_job whole;
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    dueq_push_init(&push);
    push.topic = text("from");
    push.id = text("job");
    push.body = text("body");
    push.lease = push.retries = push.crashes = push.backoff = push.backoff_max = DUEQ_NEVER;
    push.ttl = push.window = push.steps[0] = DUEQ_NEVER;
    push.step_count = 1;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    assert_int_equal(queue_each_whole_job(test.store->queue, push.topic, keep, &whole),
                     DUEQ_OK);
    whole.body.id = push.id;
    whole.body.body = push.body;
    assert_int_equal(queue_restore_topic(test.store->queue, text("to"), &topic), DUEQ_OK);
    assert_int_equal(queue_restore_job(test.store->queue, text("to"), &whole, test.time),
                     DUEQ_OK);
    assert_null(queue_check(test.store->queue));
}

/* The sanitizers look for what overflows. */
static void a_ttl_without_an_end_is_changed_whatever_its_end(void **state)
{
    struct whole_topic topic = topic_of(2, 2);
    struct whole_job whole = {.seq = 1, .moved = true};
    struct dueq_push changes;

    (void)state;
    whole.body.lease = whole.body.retries = whole.body.crashes = DUEQ_DEFAULT;
    whole.body.backoff = whole.body.backoff_max = whole.body.jitter = DUEQ_DEFAULT;
    whole.body.window = DUEQ_DEFAULT;
    whole.body.ttl = DUEQ_NEVER;
    whole.body.id = text("job");
    whole.state.state = PHASE_CLAIMED;
    whole.state.token = 1;
    whole.state.due = test.time.now + 1000;
    whole.state.expires = SAFE_TIME_MIN;
    assert_int_equal(queue_restore_topic(test.store->queue, text("t"), &topic), DUEQ_OK);
    assert_int_equal(queue_restore_job(test.store->queue, text("t"), &whole, test.time),
                     DUEQ_OK);
    dueq_push_init(&changes);
    changes.topic = text("t");
    changes.id = whole.body.id;
    changes.ttl = 1000;
    assert_int_equal(dueq_update(test.store, &changes, false, test.time), DUEQ_OK);
    assert_null(queue_check(test.store->queue));
}

/* A commit that meets a full disk would fail as on a broken one. */
static void a_full_disk_takes_no_element_of_a_key(void **state)
{
    const struct keys_restored key = {KEYS_HASH, KEYS_HASHTABLE, DUEQ_NEVER};
    struct fake_disk *disk = fake_disk_new();
    static char value[10000];
    enum dueq_status status = DUEQ_OK;
    struct keys_view view;
    uint64_t lsn;

    (void)state;
    store_fixture_close(&test);
    test.options.io = fake_disk_io(disk);
    store_fixture_open(&test);
    fake_disk_fail(disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    fake_disk_set_free_bytes(disk, 0);
    keys_restore_begin(store_keys(test.store), &key);
    view = keys_restore_view(store_keys(test.store), 0);
    for (int i = 0; i < 100000 && status == DUEQ_OK; i++) {
        status = keys_restore_add(&view, text("k"), &key, dueq_slice(&i, sizeof(i)),
                                  dueq_slice(value, sizeof(value)), 0);
        assert_int_equal(dueq_commit(test.store, test.time, &lsn), DUEQ_OK);
    }
    assert_int_equal(status, DUEQ_FULL);
    store_fixture_abandon(&test);
    fake_disk_free(disk);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        store_fixture_test(a_topic_of_many_jobs_is_taken, test),
        store_fixture_test(numbers_that_no_store_has_are_refused, test),
        store_fixture_test(options_without_an_end_are_taken, test),
        store_fixture_test(a_ttl_without_an_end_is_changed_whatever_its_end, test),
        store_fixture_test(a_full_disk_takes_no_element_of_a_key, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
