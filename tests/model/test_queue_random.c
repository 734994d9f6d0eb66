/* Random use of topics, compared with a plain array of jobs: every claim must take exactly the
 * right job, tokens must grow, counts, times, options and histories must be exact, no signal
 * may be missed and no timer may be late; across commits, crashes, clean reopening, ticks that
 * stop half way, compactions and a wall clock that steps. SEED= reproduces, STEPS= scales. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_walk.h"
#include "tests/support/store/record_count.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static struct {
    struct queue_model committed;
    struct dueq_timeline line, committed_line;
    unsigned wake; /* topics with jobs that may stay awake */
} test;

static void check_store(void)
{
    const char *wrong = queue_check(walk.fixture.store->queue);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static void open_store(void)
{
    struct dueq_time time = walk.fixture.time;

    if (test.committed.seq > 0 && walk_once_in(3)) /* then it continues at its own time */
        walk.fixture.time.now = DUEQ_DEFAULT;
    store_fixture_open(&walk.fixture);
    walk.fixture.time = time;
    if (walk.drops)
        walk.fixture.store->queue->empty_kept = 0;
    walk.fixture.store->queue->awake_kept = test.wake;
    walk.fixture.store->queue->latencies.limit = LATENCIES_BYTES; /* all fit */
}

/* ---- commits */

/* A tick looks at a topic that is there for its bucket only. */
static bool is_kept(int topic)
{
    return (model_has_rate(&walk.model, topic) || model_has_group_rate(&walk.model, topic)) &&
           walk_has_topic(topic);
}

/* The totals of a dropped topic are gone; its tokens and ids are not given again. */
static void follow_drops(const bool *has_events)
{
    size_t topics = 0;

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        if (model_is_used(&walk.model, topic) ||
            model_has_bucket(&walk.model, topic, walk.fixture.time) || is_kept(topic) ||
            has_events[topic]) {
            topics++;
        } else {
            model_drop_totals(&walk.model, topic);
            walk_forget_events(topic);
        }
    assert_int_equal(dueq_topic_count(walk.fixture.store), topics);
}

static void commit(void)
{
    bool has_events[QUEUE_MODEL_TOPICS];

    walk_follow_events();
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        has_events[topic] = walk_has_events(topic);
    store_fixture_commit(&walk.fixture);
    if (walk.drops)
        follow_drops(has_events);
    test.committed = walk.model;
    test.committed_line = test.line;
    walk.is_split = false;
    if (walk_once_in(3))
        dueq_maintain(walk.fixture.store, walk_once_in(4));
}

static void crash(void)
{
    dueq_wait(walk.fixture.store, kv_last_lsn(walk.fixture.store->kv));
    store_fixture_abandon(&walk.fixture);
    walk.model = test.committed;
    test.line = test.committed_line;
}

/* The store has the time line of the last commit. */
static void check_timeline(void)
{
    struct dueq_timeline line = {0, 0, {0}};

    dueq_get_timeline(walk.fixture.store, &line);
    assert_memory_equal(&line, &test.line, sizeof(line));
    assert_true(dueq_time_floor(walk.fixture.store) <= walk.fixture.time.now);
}

static void change_timeline(void)
{
    test.line.ahead = walk.fixture.time.wall - walk.fixture.time.now;
    test.line.since_boot += walk_roll(3) - 1;
    test.line.boot[0] = (uint8_t)walk_roll(2);
    dueq_keep_timeline(walk.fixture.store, &test.line);
}

/* The walk goes on in a backup, as if the store were lost: tokens grow even so. */
static void move_to_backup(void)
{
    char path[PATH_MAX];

    commit();
    snprintf(path, sizeof(path), "%s.backup", walk.fixture.dir);
    assert_int_equal(dueq_backup(walk.fixture.store, path), DUEQ_OK);
    do {
        dueq_maintain(walk.fixture.store, false);
        usleep(200);
    } while (store_fixture_stats(&walk.fixture).backup_running);
    assert_int_equal(store_fixture_stats(&walk.fixture).backup_status, DUEQ_OK);
    store_fixture_abandon(&walk.fixture);
    assert_int_equal(temp_dir_replace(path, walk.fixture.dir), 0);
}

static void reopen(void)
{
    walk_follow_events();
    if (walk_once_in(5)) {
        move_to_backup();
    } else if (walk_once_in(2)) {
        crash();
    } else {
        commit();
        store_fixture_close(&walk.fixture);
    }
    if (walk_once_in(4))
        walk_step_wall();
    open_store();
    check_store();
    store_fixture_verify(&walk.fixture);
    check_timeline();
    walk_check_settings();
    walk_check_events();
    walk_forget();
    if (walk_once_in(2))
        walk_tick_all();
    walk_check_stats();
}

/* Settings stay; seqs and tokens grow further. */
static void flush(void)
{
    walk_follow_events();
    assert_int_equal(dueq_flush(walk.fixture.store, walk.fixture.time), DUEQ_OK);
    assert_int_equal(dueq_topic_count(walk.fixture.store), 0);
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        walk_clear_topic(topic);
    memset(walk.waiting, 0, sizeof(walk.waiting));
}

/* No record of a flushed topic is left. */
static void check_empty(void)
{
    flush();
    store_fixture_tick(&walk.fixture, 100);
    assert_int_equal(record_count(walk.fixture.store, "ABDEFGJOQRSTUW"), 0);
}

/* ---- the walk */

static void random_step(void)
{
    static void (*const moves[])(void) = {
        walk_push,   walk_push,      walk_push,      walk_push,       walk_claim,
        walk_claim,  walk_claim,     walk_ack,       walk_ack,        walk_nack,
        walk_extend, walk_advance,   walk_advance,   walk_get,        walk_get,
        walk_delete, walk_update,    walk_move,      walk_reschedule, walk_cancel,
        walk_finish, walk_push_many, walk_hand_over, walk_pop,        walk_watch,
        walk_watch,  walk_unwatch,   walk_take_ends, walk_end_lease,  commit};

    moves[walk_roll(sizeof(moves) / sizeof(moves[0]))]();
    walk_follow_arrivals(true);
    walk_follow_events();
    if (walk_once_in(50))
        walk_check_stats();
    if (walk_once_in(100))
        check_store();
    if (walk_once_in(100))
        walk_pause();
    if (walk_once_in(60))
        walk_dead();
    walk_follow_arrivals(false);
    if (walk_once_in(50))
        walk_holds();
    if (walk_once_in(50))
        walk_check_times();
    if (walk_once_in(50))
        walk_claimed_topics();
    if (walk_once_in(50))
        walk_check_events();
    if (walk_once_in(25))
        walk_look();
    if (walk_once_in(walk.purge.runs ? 15 : 600))
        walk_purge();
    walk_follow_arrivals(false);
    if (walk_once_in(1500))
        walk_drop();
    if (walk.is_split)
        commit();
    if (walk_once_in(walk.groups ? 70 : 200))
        walk_put_settings();
    if (walk_once_in(500))
        walk_set_defaults();
    if (walk_once_in(200))
        change_timeline();
    if (walk_once_in(800))
        reopen();
    if (walk_once_in(400))
        assert_int_equal(dueq_compact(walk.fixture.store), DUEQ_OK);
    if (walk_once_in(10000))
        flush();
    walk_follow_events();
}

static void a_topic_is_the_queue_it_claims_to_be(void **state)
{
    long steps = dice_setting("STEPS", 100000);

    (void)state;
    dice_begin(&walk.dice);
    walk.drops = walk_once_in(2);
    walk.groups = walk_once_in(2);
    test.wake = (unsigned)walk_roll(4);
    queue_model_init(&walk.model);
    walk.model.wishes = &walk.wishes;
    walk.model.times = &walk.times;
    test.committed = walk.model;
    store_fixture_init(&walk.fixture);
    walk.fixture.time = (struct dueq_time){1000000, INT64_C(1000000000000), 1000000};
    walk.fixture.options.durability = DUEQ_SYNC_ALWAYS;
    walk.fixture.options.seed = 1 + (uint64_t)walk_roll(1 << 30); /* hashes are SEED's, too */
    walk.fixture.options.memtable_bytes = 200000;
    walk.fixture.options.journal_bytes = 4 << 20;
    walk.fixture.options.map_bytes = 256 << 20;
    open_store();
    for (long step = 0; step < steps; step++)
        random_step();
    check_empty();
    store_fixture_close(&walk.fixture);
    store_fixture_release(&walk.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_topic_is_the_queue_it_claims_to_be)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
