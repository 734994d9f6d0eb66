/* Two stores that go on from one backup: their records are told apart, and the copy gives no
 * token or seq that the other gives. */
#include "storage/io.h"
#include "storage/kv/kv_internal.h"
#include "storage/queue/queue.h"
#include "storage/salvage.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;
static const int64_t epoch = (int64_t)1 << 40;

static struct history history_of(const struct store_fixture *fixture)
{
    return fixture->store->kv->history;
}

static void push(struct store_fixture *fixture, const char *topic, const char *id)
{
    struct dueq_push pushed;
    struct dueq_slice given;

    dueq_push_init(&pushed);
    pushed.topic = text(topic);
    pushed.id = text(id);
    assert_int_equal(dueq_push(fixture->store, &pushed, fixture->time, &given), DUEQ_OK);
    store_fixture_commit(fixture);
}

static void ignore_finding(void *arg, enum salvage_finding finding, const char *text)
{
    (void)arg;
    (void)finding;
    (void)text;
}

static int64_t claim(struct store_fixture *fixture, const char *topic)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(fixture->store, text(topic), DUEQ_DEFAULT, fixture->time, &job),
                     DUEQ_OK);
    store_fixture_commit(fixture);
    return job.token;
}

/* What a backup leaves in its directory. */
static void copy_to(struct store_fixture *copy)
{
    char path[PATH_MAX];

    *copy = test;
    copy->store = NULL;
    copy->dir = temp_dir_new();
    snprintf(path, sizeof(path), "%s/copy", copy->dir);
    assert_int_equal(dueq_backup(test.store, path), DUEQ_OK);
    do {
        store_fixture_commit(&test);
        dueq_maintain(test.store, false);
        usleep(1000);
    } while (store_fixture_stats(&test).backup_running);
    assert_int_equal(store_fixture_stats(&test).backup_status, DUEQ_OK);
}

static void open_copy(struct store_fixture *copy)
{
    struct dueq_error error = {""};
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/copy", copy->dir);
    if (dueq_open(path, &copy->options, copy->time, &copy->store, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

/* ---- */

static void a_store_keeps_its_history(void **state)
{
    struct history first = history_of(&test), later;

    (void)state;
    assert_true(first.id != 0 && history_epoch(first.id) == 0);
    assert_int_equal(first.parent, 0);
    assert_int_equal(first.first_lsn, 1);
    push(&test, "t", "a");
    store_fixture_crash(&test);
    later = history_of(&test);
    assert_memory_equal(&later, &first, sizeof(first));
    store_fixture_reopen(&test);
    store_fixture_reopen(&test);
    later = history_of(&test);
    assert_memory_equal(&later, &first, sizeof(first));
    assert_int_equal(claim(&test, "t"), 1);
}

static void a_copy_begins_its_own(void **state)
{
    struct store_fixture copy;
    struct history begun, later;

    (void)state;
    push(&test, "t", "a");
    push(&test, "t", "b");
    copy_to(&copy);
    assert_int_equal(claim(&test, "t"), 1);
    open_copy(&copy);
    begun = history_of(&copy);
    assert_int_equal(begun.parent, history_of(&test).id);
    assert_int_equal(history_epoch(begun.id), 1);
    assert_int_equal(begun.first_lsn, store_fixture_stats(&copy).lsn + 1);
    assert_true(claim(&copy, "t") > epoch);
    push(&copy, "new", "a");
    assert_true(claim(&copy, "new") > epoch);
    assert_int_equal(dueq_close(copy.store), DUEQ_OK);
    open_copy(&copy);
    later = history_of(&copy);
    assert_memory_equal(&later, &begun, sizeof(begun));
    store_fixture_verify(&copy);
    store_fixture_release(&copy);
}

/* Also in a topic that sleeps, and one that is made again. */
static void two_copies_are_two_histories(void **state)
{
    struct store_fixture one, two;

    (void)state;
    push(&test, "t", "a");
    copy_to(&one);
    copy_to(&two);
    open_copy(&one);
    open_copy(&two);
    assert_true(history_of(&one).id != history_of(&two).id);
    assert_int_equal(history_of(&one).parent, history_of(&two).parent);
    store_fixture_release(&one);
    store_fixture_release(&two);
}

/* Repaired, a copy goes on in its epoch: one of what was repaired gives none of its numbers. */
static void what_is_repaired_keeps_its_epoch(void **state)
{
    struct salvage salvage = {.on_finding = ignore_finding};
    char from[PATH_MAX], scratch[PATH_MAX], to[PATH_MAX];
    struct store_fixture copy;

    (void)state;
    push(&test, "t", "a");
    copy_to(&copy);
    open_copy(&copy);
    assert_int_equal(dueq_close(copy.store), DUEQ_OK);
    snprintf(from, sizeof(from), "%s/copy", copy.dir);
    snprintf(scratch, sizeof(scratch), "%s/scratch", copy.dir);
    snprintf(to, sizeof(to), "%s/to", copy.dir);
    assert_int_equal(salvage_store(from, scratch, to, &salvage, NULL), DUEQ_OK);
    assert_int_equal(dueq_open(to, &copy.options, copy.time, &copy.store, NULL), DUEQ_OK);
    assert_int_equal(history_epoch(history_of(&copy).id), 1);
    assert_true(claim(&copy, "t") > epoch);
    store_fixture_release(&copy);
}

/* The journal is lost, or its opening was killed before there was one: nothing was written in
 * the history that the mark names, so nobody will find it. */
static void a_history_without_a_record_is_no_parent(void **state)
{
    struct store_fixture copy;
    char path[PATH_MAX];
    uint64_t parent;

    (void)state;
    push(&test, "t", "a");
    copy_to(&copy);
    open_copy(&copy);
    parent = history_of(&copy).parent;
    dueq_abandon(copy.store);
    snprintf(path, sizeof(path), "rm -rf %s/copy/journal", copy.dir);
    assert_int_equal(system(path), 0);
    open_copy(&copy);
    assert_int_equal(history_of(&copy).parent, parent);
    assert_int_equal(history_epoch(history_of(&copy).id), 2);
    store_fixture_release(&copy);
}

/* A copy without a journal has no folder for it, so an empty one was emptied. */
static void an_emptied_journal_is_refused(void **state)
{
    struct dueq_error error = {""};
    char command[PATH_MAX];

    (void)state;
    push(&test, "t", "a");
    store_fixture_checkpoint(&test);
    push(&test, "t", "b");
    store_fixture_abandon(&test);
    snprintf(command, sizeof(command), "rm %s/journal/*", test.dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(dueq_open(test.dir, &test.options, test.time, &test.store, &error),
                     DUEQ_CORRUPT);
    assert_non_null(strstr(error.text, "journal is empty"));
    snprintf(command, sizeof(command), "rmdir %s/journal", test.dir);
    assert_int_equal(system(command), 0);
    store_fixture_open(&test);
    assert_int_equal(claim(&test, "t"), epoch + 1);
}

static int refuse_blocks(void *arg, int fd, off_t offset, off_t size)
{
    (void)arg;
    (void)fd;
    (void)offset;
    (void)size;
    errno = ENOSPC;
    return -1;
}

/* As by a server with another segment-size, or a check, which does not know it: files of the
 * old size are of no use there, and a full disk has no room for others. */
static void a_journal_is_not_emptied_by_another_size_of_segments(void **state)
{
    struct dueq_io io = io_system;

    (void)state;
    push(&test, "t", "a");
    store_fixture_close(&test);
    io.fallocate = refuse_blocks;
    test.options.io = &io;
    test.options.segment_bytes *= 2;
    for (int i = 0; i < 3; i++) {
        store_fixture_open(&test); /* "journal is empty", if the one before has emptied it */
        store_fixture_abandon(&test);
    }
    test.options.io = &io_system;
    store_fixture_open(&test);
    push(&test, "t", "b");
    store_fixture_checkpoint(&test);
    store_fixture_crash(&test);
    assert_int_equal(claim(&test, "t"), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        store_fixture_test(a_store_keeps_its_history, test),
        store_fixture_test(a_copy_begins_its_own, test),
        store_fixture_test(two_copies_are_two_histories, test),
        store_fixture_test(what_is_repaired_keeps_its_epoch, test),
        store_fixture_test(a_history_without_a_record_is_no_parent, test),
        store_fixture_test(an_emptied_journal_is_refused, test),
        store_fixture_test(a_journal_is_not_emptied_by_another_size_of_segments, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
