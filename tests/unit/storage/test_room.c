/* What a store accepts and refuses: a change that does not fit is refused before it changes
 * anything, and a store that failed returns no DUEQ_OK and does not grow. */
#include "storage/dueq.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/store/store_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

#define MIB ((size_t)1 << 20)

static struct store_fixture test;
static struct fake_disk *disk;
static char *body_bytes; /* 16 MiB */

static void open_store(void)
{
    store_fixture_open(&test);
}

static int set_up(void **state)
{
    (void)state;
    store_fixture_init(&test);
    test.options.durability = DUEQ_SYNC_ALWAYS;
    disk = fake_disk_new();
    test.options.io = fake_disk_io(disk);
    body_bytes = calloc(16, MIB);
    return body_bytes == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    dueq_abandon(test.store);
    test.store = NULL;
    fake_disk_free(disk);
    store_fixture_release(&test);
    free(body_bytes);
    return 0;
}

static enum dueq_status push_last(size_t size, bool last)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.priority = last ? 1 : 0;
    push.topic = dueq_slice("topic", 5);
    push.body = dueq_slice(body_bytes, size);
    return dueq_push(test.store, &push, test.time, &id);
}

static enum dueq_status push(size_t size)
{
    return push_last(size, false);
}

static enum dueq_status commit(void)
{
    uint64_t lsn;
    enum dueq_status status = dueq_commit(test.store, test.time, &lsn);

    return status == DUEQ_OK ? dueq_wait(test.store, lsn) : status;
}

static void a_failed_store_answers_no_ok_and_does_not_grow(void **state)
{
    struct dueq_job job;
    size_t held;

    (void)state;
    open_store();
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_fail(disk, DISK_SYNC, 0, FAKE_DISK_ALWAYS, EIO);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_IO);
    while (dueq_status(test.store) == DUEQ_OK) /* the sync thread reports it a little later */
        continue;
    held = store_fixture_stats(&test).memtable_bytes;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(push(10000), DUEQ_IO);
    assert_int_equal(dueq_claim(test.store, dueq_slice("topic", 5), -1, test.time, &job),
                     DUEQ_IO);
    assert_int_equal(
        dueq_del(test.store, dueq_slice("topic", 5), dueq_slice("x", 1), test.time), DUEQ_IO);
    assert_int_equal(commit(), DUEQ_IO);
    assert_int_equal(store_fixture_stats(&test).memtable_bytes, held);
    assert_false(store_fixture_stats(&test).full);
}

static void what_one_record_cannot_hold_is_refused(void **state)
{
    (void)state;
    test.options.record_bytes = 16 * MIB;
    open_store();
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_TOOBIG);
    assert_int_equal(push(MIB), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(6 * MIB), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

/* Fills the disk: no file can be made or grow. */
static void fill_disk(void)
{
    fake_disk_fail(disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    fake_disk_set_free_bytes(disk, 0);
}

static void give_room(void)
{
    fake_disk_fail(disk, DISK_ALLOCATE, 0, 0, 0);
    fake_disk_set_free_bytes(disk, UINT64_MAX);
}

/* An EXEC requests room once for all that it will do. */
static void what_was_granted_stays_so_until_the_commit(void **state)
{
    (void)state;
    open_store();
    assert_int_equal(push(100000), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(dueq_reserve_room(test.store, 40 * 105000), DUEQ_OK);
    fill_disk();
    for (int i = 0; i < 40; i++)
        assert_int_equal(push(100000), DUEQ_OK);
    /* more is refused, and the granted room stays */
    assert_int_equal(dueq_room(test.store, 64 * MIB), DUEQ_FULL);
    assert_int_equal(dueq_reserve_room(test.store, 64 * MIB), DUEQ_FULL);
    assert_int_equal(commit(), DUEQ_OK);
    for (int i = 0; i < 200 && push(100000) == DUEQ_OK; i++)
        assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(100000), DUEQ_FULL);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(dueq_status(test.store), DUEQ_OK);
    give_room();
}

static void push_to_topics(int count)
{
    struct dueq_push job;
    struct dueq_slice id;

    dueq_push_init(&job);
    job.delay = 1000;
    for (int i = 0; i < count; i++) {
        char name[2] = {'t', (char)('a' + i)};

        job.topic = dueq_slice(name, 2);
        assert_int_equal(dueq_push(test.store, &job, test.time, &id), DUEQ_OK);
    }
    assert_int_equal(commit(), DUEQ_OK);
}

/* A checkpoint measures what was estimated, so there is room again; in the end there is none.
 */
static void push_until_nothing_fits(void)
{
    do {
        for (size_t size = 100000; size > 0; size /= 10)
            while (push(size) == DUEQ_OK)
                assert_int_equal(commit(), DUEQ_OK);
        assert_int_equal(commit(), DUEQ_OK);
        assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
        for (int turns = 0; turns < 300; turns++) { /* it looks at the room each 200 ms */
            dueq_maintain(test.store, false);
            usleep(1000);
        }
    } while (push(1) == DUEQ_OK);
}

/* What ticks have counted is to be written before a topic sleeps; it can wait. */
static void topics_stay_awake_while_there_is_no_room(void **state)
{
    struct dueq_topic_stats stats;
    struct dueq_slice name;

    (void)state;
    open_store();
    push_to_topics(20);
    fill_disk();
    push_until_nothing_fits();
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 100);
    while (dueq_next_signal(test.store, &name) == DUEQ_OK)
        continue;
    test.store->queue->awake_kept = 0;
    assert_int_equal(commit(), DUEQ_OK);
    assert_in_range(test.store->queue->awake_count, 20, 21);
    give_room();
    while (test.store->queue->awake_count > 0) /* room is looked for now and then */
        assert_int_equal(commit(), DUEQ_OK);
    store_fixture_crash(&test);
    assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
    assert_true(stats.counts[DUEQ_READY] > 20);
    assert_null(queue_check(test.store->queue));
}

/* A result grows the store, an ack does not. */
static void a_result_without_room_leaves_the_job_claimed(void **state)
{
    struct dueq_slice topic = {"topic", 5};
    struct dueq_done done = {
        .has_result = true, .result = {body_bytes, 100000}, .keep = DUEQ_DEFAULT};
    struct dueq_job first, second;

    (void)state;
    open_store();
    assert_int_equal(push(1), DUEQ_OK);
    assert_int_equal(push(1), DUEQ_OK);
    assert_int_equal(dueq_claim(test.store, topic, 100000, test.time, &first), DUEQ_OK);
    assert_int_equal(dueq_claim(test.store, topic, 100000, test.time, &second), DUEQ_OK);
    first.id.data = first.given_id;
    second.id.data = second.given_id;
    assert_int_equal(commit(), DUEQ_OK);
    fill_disk();
    for (int i = 0; i < 200 && push(100000) == DUEQ_OK; i++)
        assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(dueq_finish(test.store, topic, first.id, first.token, &done, test.time),
                     DUEQ_FULL);
    assert_int_equal(dueq_holds(test.store, topic, first.id, first.token), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, topic, second.id, second.token, test.time), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    give_room();
    assert_int_equal(dueq_finish(test.store, topic, first.id, first.token, &done, test.time),
                     DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

static void push_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(push(1), DUEQ_OK);
}

/* Small records take more of the memtable, and so of data.mdb, than of the batch: what was
 * granted is not asked for again. */
static void a_grant_holds_although_other_room_is_used_up(void **state)
{
    enum { JOBS = 20000 };
    size_t bytes;

    (void)state;
    open_store();
    push_many(JOBS);
    bytes = dueq_batch_bytes(test.store);
    assert_int_equal(commit(), DUEQ_OK);
    store_fixture_checkpoint(&test);
    assert_int_equal(dueq_reserve_room(test.store, bytes), DUEQ_OK);
    fill_disk();
    push_many(JOBS);
    assert_int_equal(dueq_room(test.store, MIB), DUEQ_FULL);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    assert_int_equal(store_fixture_stats(&test).checkpoint_failures, 0);
    give_room();
}

/* Runs the turns of an idle server until the store is full, or is not. */
static void await_full(bool full)
{
    for (int waited = 0; waited < 10000 && store_fixture_stats(&test).full != full; waited++) {
        dueq_maintain(test.store, true);
        usleep(1000);
    }
    assert_int_equal(store_fixture_stats(&test).full, full);
}

/* The checkpoint thread may find out a little later, and the next look tells it. */
static void await_room(size_t bytes)
{
    for (int waited = 0; waited < 10000 && dueq_room(test.store, bytes) != DUEQ_OK; waited++) {
        dueq_maintain(test.store, true);
        usleep(1000);
    }
    assert_int_equal(dueq_room(test.store, bytes), DUEQ_OK);
    await_full(false);
}

/* Waits for the first segment, the reserve and a spare; each gets its name when complete. */
static void await_files(void)
{
    for (int waited = 0; waited < 10000 && fake_disk_count(disk, DISK_RENAME) < 3; waited++)
        usleep(1000);
}

static void claim_one(int64_t *ret_token)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, dueq_slice("topic", 5), 1000000, test.time, &job),
                     DUEQ_OK);
    *ret_token = job.token;
}

static enum dueq_status extend(int64_t token)
{
    int64_t end;

    return dueq_extend(test.store, dueq_slice("topic", 5), dueq_slice("job", 3), token, 1000000,
                       test.time, &end);
}

static enum dueq_status push_job(void)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.id = dueq_slice("job", 3);
    push.body = dueq_slice("body", 4);
    return dueq_push(test.store, &push, test.time, &id);
}

/* On a slow disk a commit waits for the checkpoint and may then answer DUEQ_FULL: the batch
 * stays, and the commit is tried again. */
static void commit_patiently(void)
{
    enum dueq_status status = DUEQ_FULL;
    uint64_t lsn;

    for (int tries = 0; tries < 3000 && status == DUEQ_FULL; tries++) {
        status = dueq_commit(test.store, test.time, &lsn);
        if (status == DUEQ_FULL)
            usleep(10 * 1000); /* the checkpoint thread recycles segments meanwhile */
    }
    assert_int_equal(status, DUEQ_OK);
}

/* Extends write much to the journal and add nothing: 100 times the size of the journal. */
static void heartbeats_go_on_for_ever_on_a_full_disk(void **state)
{
    uint64_t before, written;
    int64_t token;

    (void)state;
    open_store();
    await_files();
    assert_int_equal(push_job(), DUEQ_OK);
    claim_one(&token);
    assert_int_equal(commit(), DUEQ_OK);
    fill_disk();
    before = store_fixture_stats(&test).journal_written_bytes;
    for (written = 0; written < 100 * MIB;
         written = store_fixture_stats(&test).journal_written_bytes - before) {
        for (int i = 0; i < 1000; i++)
            assert_int_equal(extend(token), DUEQ_OK);
        commit_patiently();
        dueq_maintain(test.store, false);
    }
    assert_int_equal(commit(), DUEQ_OK);
    assert_true(store_fixture_stats(&test).journal_segments <= 5);
    assert_int_equal(
        dueq_ack(test.store, dueq_slice("topic", 5), dueq_slice("job", 3), token, test.time),
        DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    give_room();
    await_room(64 * 1024);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

/* A checkpoint that began before the disk was full does not free the segments that have been
 * filled since. When they are all, the next one must not wait for a commit: there is none. */
static void a_checkpoint_that_comes_too_early_is_followed_by_another(void **state)
{
    int64_t token;

    (void)state;
    test.options.durability = DUEQ_SYNC_NONE;
    open_store();
    await_files();
    assert_int_equal(push_job(), DUEQ_OK);
    claim_one(&token);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_hold_syncs(disk, true);
    dueq_start_checkpoint(test.store);
    fill_disk();
    while (dueq_drains(test.store) == DUEQ_OK) {
        for (int i = 0; i < 100; i++)
            assert_int_equal(extend(token), DUEQ_OK);
        assert_int_equal(commit(), DUEQ_OK);
    }
    fake_disk_hold_syncs(disk, false);
    for (int waited = 0; waited < 10000 && dueq_drains(test.store) != DUEQ_OK; waited++) {
        dueq_maintain(test.store, false);
        usleep(1000);
    }
    assert_int_equal(dueq_drains(test.store), DUEQ_OK);
    give_room();
}

static void room_that_returns_is_noticed_without_traffic(void **state)
{
    int pushed = 0;

    (void)state;
    test.options.disk_reserve_bytes = MIB;
    open_store();
    await_files();
    fill_disk();
    for (; push(20000) == DUEQ_OK; pushed++)
        assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(20000), DUEQ_FULL);
    assert_int_equal(commit(), DUEQ_OK);
    give_room();
    await_full(false);
    assert_int_equal(push(20000), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

/* A body that does not fit on the disk is refused at the push, not at the commit. */
static void a_large_push_is_refused_before_it_is_taken(void **state)
{
    (void)state;
    test.options.disk_reserve_bytes = 4 * MIB;
    open_store();
    await_files();
    fake_disk_set_free_bytes(disk, 12 * MIB);
    assert_int_equal(push(10 * MIB), DUEQ_FULL);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(4 * MIB), DUEQ_OK);
    fill_disk();
    assert_int_equal(commit(), DUEQ_OK); /* its room was reserved */
    give_room();
    await_room(10 * MIB + 64 * 1024);
    assert_int_equal(push(10 * MIB), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

/* A program that has no free descriptor now can try again later. */
static void a_moment_without_descriptors_passes(void **state)
{
    uint64_t lsn;
    enum dueq_status status = DUEQ_OK;
    int refused = 0;

    (void)state;
    open_store();
    await_files();
    fake_disk_fail(disk, DISK_OPEN, 0, FAKE_DISK_ALWAYS, EMFILE);
    for (int i = 0; i < 200; i++) {
        refused += push(20000) != DUEQ_OK;
        status = dueq_commit(test.store, test.time, &lsn);
    }
    assert_true(refused > 0 || status == DUEQ_NOMEM);
    assert_int_equal(dueq_status(test.store), DUEQ_OK);
    fake_disk_fail(disk, DISK_OPEN, 0, 0, 0);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(push(20000), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
}

/* What was killed while it made its files has a segment and neither spare nor reserve. */
static void leave_one_file(void)
{
    char path[4096];
    struct dirent *found;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/journal", test.dir);
    dir = opendir(path);
    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL)
        if (strncmp(found->d_name, "spare", 5) == 0 ||
            strcmp(found->d_name, "reserve.seg") == 0)
            assert_int_equal(unlinkat(dirfd(dir), found->d_name, 0), 0);
    closedir(dir);
}

/* As the server asks before each command that drains. */
static void await_drains(void)
{
    for (int waited = 0; waited < 10000 && dueq_drains(test.store) != DUEQ_OK; waited++) {
        dueq_maintain(test.store, false);
        usleep(1000);
    }
    assert_int_equal(dueq_drains(test.store), DUEQ_OK);
}

/* The only file of the journal is used again and again. */
static void one_segment_is_enough_to_drain_for_ever(void **state)
{
    uint64_t before, written;
    int64_t token;

    (void)state;
    open_store();
    assert_int_equal(push_job(), DUEQ_OK);
    claim_one(&token);
    store_fixture_checkpoint(&test);
    await_files();
    fill_disk();
    dueq_abandon(test.store);
    test.store = NULL;
    leave_one_file();
    open_store();
    before = store_fixture_stats(&test).journal_written_bytes;
    for (written = 0; written < 10 * MIB;
         written = store_fixture_stats(&test).journal_written_bytes - before) {
        await_drains();
        for (int i = 0; i < 100; i++)
            assert_int_equal(extend(token), DUEQ_OK);
        commit_patiently();
        dueq_maintain(test.store, false);
    }
    store_fixture_crash(&test);
    await_drains();
    assert_int_equal(extend(token), DUEQ_OK);
    commit_patiently();
    give_room();
    await_room(1);
}

static void use_small_tables(void)
{
    test.options.memtable_bytes = 256 * 1024;
    test.options.journal_bytes = 4 * MIB;
    test.options.map_bytes = 256 * MIB;
}

/* Each `kept`th job has priority 1, and so comes last; 0: none has. */
static int push_until_full_but(size_t size, int kept)
{
    enum dueq_status status;
    int pushed = 0;

    for (; (status = push_last(size, kept > 0 && pushed % kept == kept - 1)) == DUEQ_OK;
         pushed++) {
        assert_int_equal(commit(), DUEQ_OK);
        dueq_maintain(test.store, false);
    }
    assert_int_equal(status, DUEQ_FULL);
    assert_int_equal(commit(), DUEQ_OK);
    return pushed;
}

static int push_until_full(size_t size)
{
    return push_until_full_but(size, 0);
}

static void drain_all(int count)
{
    for (int i = 0; i < count; i++) {
        struct dueq_job job;
        char id[64];
        size_t size;

        assert_int_equal(dueq_claim(test.store, dueq_slice("topic", 5), -1, test.time, &job),
                         DUEQ_OK);
        size = job.id.size;
        memcpy(id, job.id.data, size);
        assert_int_equal(commit(), DUEQ_OK);
        assert_int_equal(dueq_ack(test.store, dueq_slice("topic", 5), dueq_slice(id, size),
                                  job.token, test.time),
                         DUEQ_OK);
        assert_int_equal(commit(), DUEQ_OK);
        dueq_maintain(test.store, i % 2);
    }
}

/* The disk stays full: free pages of data.mdb and used segments are room. */
static void fill_and_drain(size_t size)
{
    int pushed;

    open_store();
    for (int i = 0; i < 500; i++) {
        assert_int_equal(push(size), DUEQ_OK);
        assert_int_equal(commit(), DUEQ_OK);
    }
    fill_disk();
    pushed = push_until_full(size);
    for (int round = 0; round < 3; round++) {
        drain_all(round == 0 ? pushed + 500 : pushed);
        assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
        await_full(false);
        pushed = push_until_full(size);
        assert_true(pushed > 100);
    }
    store_fixture_crash(&test); /* and continue, with the disk still full */
    drain_all(pushed);
}

static void what_is_drained_is_room_again(void **state)
{
    (void)state;
    use_small_tables();
    fill_and_drain(500);
}

/* What is drained stays in a memtable that nothing fills any more. */
static void a_full_store_sees_by_itself_that_it_was_drained(void **state)
{
    enum { BODY = 1500 };
    int first;

    (void)state;
    use_small_tables();
    test.options.map_bytes = 8 * MIB;
    open_store();
    first = push_until_full(BODY);
    for (int share = 2; share <= 4; share *= 2) {
        drain_all(first / share);
        await_full(false);
        push_until_full(BODY);
    }
}

/* Claims and acks all but each `kept`th job of push_until_full_but. */
static void drain_here_and_there(int pushed, int kept)
{
    drain_all(pushed - pushed / kept);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
}

/* The map is full of free pages; the disk is not. */
static void a_map_that_is_cramped_is_compacted(void **state)
{
    int pushed;

    (void)state;
    use_small_tables();
    test.options.map_bytes = 16 * MIB;
    open_store();
    pushed = push_until_full_but(1000, 8);
    assert_true(pushed > 4000 && pushed < 16000);
    drain_here_and_there(pushed, 8);
    await_room(3 * MIB);
    assert_int_equal(push(3 * MIB), DUEQ_OK);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    assert_true(store_fixture_stats(&test).compactions > 0);
}

static void what_is_drained_is_room_again_for_large_bodies(void **state)
{
    (void)state;
    use_small_tables();
    test.options.memtable_bytes = 2 * MIB;
    test.options.segment_bytes = 4 * MIB;
    fill_and_drain(10000);
}

static enum dueq_status claim_and_nack(const char *error)
{
    struct dueq_nack nack = {.delay = 1000000, .error = dueq_slice(error, strlen(error))};
    char id[DUEQ_NAME_MAX];
    enum dueq_state state;
    struct dueq_job job;
    enum dueq_status status =
        dueq_claim(test.store, dueq_slice("topic", 5), 1000000, test.time, &job);

    if (status != DUEQ_OK || error[0] == '\0')
        return status;
    memcpy(id, job.id.data, job.id.size);
    return dueq_nack(test.store, dueq_slice("topic", 5), dueq_slice(id, job.id.size), job.token,
                     &nack, test.time, &state);
}

/* Claims, and gives back with that error, until no job is left or no more of it is accepted. */
static void claim_all(const char *error)
{
    enum dueq_status status = DUEQ_OK;

    for (int claimed = 0; status == DUEQ_OK; claimed++) {
        status = claim_and_nack(error);
        if (claimed % 100 == 0) {
            commit_patiently();
            dueq_maintain(test.store, false);
        }
    }
    assert_true(status == DUEQ_NOTFOUND || status == DUEQ_FULL);
    commit_patiently();
}

/* Ticks erase nothing while a checkpoint is late. */
static bool erases(void)
{
    return dueq_tick(test.store, test.time, 1000) || dueq_pressure(test.store) > 0 ||
           store_fixture_stats(&test).full;
}

static void empty_topic(void)
{
    assert_int_equal(dueq_drop(test.store, dueq_slice("topic", 5), test.time), DUEQ_OK);
    for (int turns = 0; turns < 100000 && erases(); turns++) {
        commit_patiently();
        dueq_maintain(test.store, true);
        usleep(100);
    }
    commit_patiently();
    await_full(false);
}

/* Small jobs grow most when they are claimed and given back: the room for it comes to an end,
 * but never the room for their removal. */
static void what_grew_on_a_full_store_can_be_removed(void **state)
{
    static const char *const errors[] = {"",
                                         "451 a long error of the usual kind, with the name "
                                         "of the host and what else it has to tell"};

    (void)state;
    use_small_tables();
    test.options.map_bytes = 8 * MIB;
    open_store();
    for (int round = 0; round < 4; round++) {
        push_until_full(1);
        claim_all(errors[round % 2]);
        if (round >= 2)
            store_fixture_crash(&test);
        empty_topic();
        assert_int_equal(push(1), DUEQ_OK);
    }
}

/* Whatever happens to the disk after an accepted push, its checkpoint has room. */
static void what_was_taken_is_checkpointed_on_a_full_disk(void **state)
{
    (void)state;
    use_small_tables();
    open_store();
    for (int round = 0; round < 20; round++) {
        give_room();
        await_room(64 * 1024);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(push((size_t)(i * 41)), DUEQ_OK);
            assert_int_equal(commit(), DUEQ_OK);
        }
        fill_disk();
        assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    }
    assert_int_equal(store_fixture_stats(&test).checkpoint_failures, 0);
}

/* LMDB's writes find no room: ENOSPC, or EIO, which LMDB reports for a short write. The store
 * continues as long as the journal has room, then answers DUEQ_FULL, and nothing is lost. */
static void survive_a_checkpoint_without_room(int error)
{
    enum dueq_status status;
    int64_t token;
    uint64_t lsn;

    use_small_tables();
    open_store();
    lmdb_disk_attach(disk);
    await_files();
    assert_int_equal(push_job(), DUEQ_OK);
    claim_one(&token);
    assert_int_equal(commit(), DUEQ_OK);
    fill_disk();
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, FAKE_DISK_ALWAYS, error);
    do {
        assert_int_equal(dueq_status(test.store), DUEQ_OK);
        for (int i = 0; i < 100; i++)
            assert_int_equal(extend(token), DUEQ_OK);
        status = dueq_commit(test.store, test.time, &lsn);
        dueq_maintain(test.store, false);
    } while (status == DUEQ_OK && dueq_drains(test.store) == DUEQ_OK);
    assert_int_equal(dueq_drains(test.store), DUEQ_FULL);
    assert_int_equal(dueq_status(test.store), DUEQ_OK);
    assert_int_equal(push(100), DUEQ_FULL);
    assert_int_equal(extend(token), DUEQ_OK); /* reads still work */
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, 0, 0);
    give_room();
    await_room(64 * 1024);
    assert_int_equal(commit(), DUEQ_OK);
    assert_int_equal(dueq_drains(test.store), DUEQ_OK);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    lmdb_disk_attach(NULL);
}

static pthread_t owner;

/* Stands still for the owner: its waits for the checkpoint thread take no time, as on a machine
 * where that thread gets nothing done meanwhile. */
static uint64_t owners_clock(void *arg)
{
    return pthread_equal(pthread_self(), owner) ? 1 : io_system.monotonic_usec(arg);
}

static void a_checkpoint_is_waited_for_by_its_tries_and_not_by_the_clock(void **state)
{
    static struct dueq_io io;

    (void)state;
    owner = pthread_self();
    io = *fake_disk_io(disk);
    io.monotonic_usec = owners_clock;
    test.options.io = &io;
    open_store();
    lmdb_disk_attach(disk);
    await_files();
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, 11, ENOSPC); /* the last three: refusals */
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_FULL);
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, 0, 0);
    lmdb_disk_attach(NULL);
}

static void a_checkpoint_without_room_is_tried_again(void **state)
{
    (void)state;
    survive_a_checkpoint_without_room(ENOSPC);
}

static void a_short_write_on_a_full_disk_is_no_broken_disk(void **state)
{
    (void)state;
    survive_a_checkpoint_without_room(EIO);
}

static void a_broken_disk_is_not_taken_for_a_full_one(void **state)
{
    (void)state;
    open_store();
    lmdb_disk_attach(disk);
    assert_int_equal(push(100), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    fake_disk_fail(disk, DISK_DATA_WRITE, 0, FAKE_DISK_ALWAYS, EIO);
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_IO);
    assert_int_equal(push(100), DUEQ_IO);
    lmdb_disk_attach(NULL);
}

/* A batch larger than a segment reserves room again and again as it grows, but not with a file
 * for each push. */
static void a_batch_that_grows_makes_few_files(void **state)
{
    unsigned long files;

    (void)state;
    open_store();
    await_files();
    files = fake_disk_count(disk, DISK_OPEN);
    for (int i = 0; i < 16000; i++)
        assert_int_equal(push(1000), DUEQ_OK);
    assert_int_equal(commit(), DUEQ_OK);
    assert_true(fake_disk_count(disk, DISK_OPEN) - files < 20);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_of(a_failed_store_answers_no_ok_and_does_not_grow),
        test_of(what_one_record_cannot_hold_is_refused),
        test_of(what_was_granted_stays_so_until_the_commit),
        test_of(topics_stay_awake_while_there_is_no_room),
        test_of(a_result_without_room_leaves_the_job_claimed),
        test_of(a_grant_holds_although_other_room_is_used_up),
        test_of(heartbeats_go_on_for_ever_on_a_full_disk),
        test_of(one_segment_is_enough_to_drain_for_ever),
        test_of(a_checkpoint_that_comes_too_early_is_followed_by_another),
        test_of(a_checkpoint_is_waited_for_by_its_tries_and_not_by_the_clock),
        test_of(room_that_returns_is_noticed_without_traffic),
        test_of(a_large_push_is_refused_before_it_is_taken),
        test_of(a_moment_without_descriptors_passes),
        test_of(what_is_drained_is_room_again),
        test_of(what_is_drained_is_room_again_for_large_bodies),
        test_of(a_full_store_sees_by_itself_that_it_was_drained),
        test_of(a_map_that_is_cramped_is_compacted),
        test_of(what_grew_on_a_full_store_can_be_removed),
        test_of(what_was_taken_is_checkpointed_on_a_full_disk),
        test_of(a_checkpoint_without_room_is_tried_again),
        test_of(a_short_write_on_a_full_disk_is_no_broken_disk),
        test_of(a_broken_disk_is_not_taken_for_a_full_one),
        test_of(a_batch_that_grows_makes_few_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
