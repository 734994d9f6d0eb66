/* Jobs that wait for others: what frees them, what kills them, and that no end of a job is a
 * long one. */
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MANY = 10000 };

static struct store_fixture test;

/* ---- helpers */

static struct dueq_push push_of(const char *id)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = push.body = text(id);
    return push;
}

static enum dueq_status try_push(const struct dueq_push *push)
{
    struct dueq_pushed pushed;

    return dueq_push_unique(test.store, push, test.time, &pushed);
}

static void push(const char *id)
{
    struct dueq_push push = push_of(id);

    assert_int_equal(try_push(&push), DUEQ_OK);
}

/* names: ids of t, with spaces in between. */
static size_t read_names(const char *names, struct dueq_prerequisite *ret_after)
{
    size_t count = 0;

    for (const char *at = names; *at != '\0';) {
        size_t size = strcspn(at, " ");

        ret_after[count++] = (struct dueq_prerequisite){.id = dueq_slice(at, size)};
        at += size + (at[size] == ' ');
    }
    return count;
}

static void push_after_as(const char *id, const char *names, enum dueq_on_dead on_dead)
{
    struct dueq_prerequisite after[16];
    struct dueq_push push = push_of(id);

    push.after = after;
    push.after_count = read_names(names, after);
    push.on_dead = on_dead;
    assert_int_equal(try_push(&push), DUEQ_OK);
}

static void push_after(const char *id, const char *names)
{
    push_after_as(id, names, DUEQ_ON_DEAD_FAIL);
}

static struct dueq_job get_in(const char *topic, const char *id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, text(topic), text(id), test.time, &job), DUEQ_OK);
    return job;
}

static struct dueq_job get(const char *id)
{
    return get_in("t", id);
}

static const char *state_of(const char *id)
{
    struct dueq_job job;

    if (dueq_get(test.store, text("t"), text(id), test.time, &job) != DUEQ_OK)
        return "absent";
    return dueq_state_name(job.state);
}

static void check(void)
{
    const char *wrong = queue_check(test.store->queue);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static struct dueq_job claim_in(const char *topic, const char *id)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text(topic), 60000, test.time, &job), DUEQ_OK);
    assert_true(dueq_slice_equal(job.id, text(id)));
    return job;
}

static void finish_in(const char *topic, const char *id)
{
    struct dueq_job job = claim_in(topic, id);

    assert_int_equal(dueq_ack(test.store, text(topic), text(id), job.token, test.time),
                     DUEQ_OK);
}

static void finish(const char *id)
{
    finish_in("t", id);
}

static void kill_job(const char *id)
{
    const struct dueq_nack nack = {
        .delay = DUEQ_DEFAULT, .outcome = DUEQ_FATAL, .error = text("no")};
    struct dueq_job job = claim_in("t", id);
    enum dueq_state state;

    assert_int_equal(
        dueq_nack(test.store, text("t"), text(id), job.token, &nack, test.time, &state),
        DUEQ_OK);
    assert_int_equal(state, DUEQ_DEAD);
}

static void assert_nothing_to_claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), 60000, test.time, &job), DUEQ_NOTFOUND);
}

static void assert_no_edges(void)
{
    assert_int_equal(record_count(test.store, "ADJ"), 0);
}

/* id: NULL: all. */
static void redrive(const char *id)
{
    struct dueq_dead dead;
    struct dueq_dead_progress progress = {.is_over = false};

    dueq_dead_init(&dead);
    dead.topic = text("t");
    dead.action = DUEQ_DEAD_REDRIVE;
    if (id != NULL)
        dead.match = text(id);
    assert_int_equal(dueq_dead(test.store, &dead, test.time, 1000, NULL, NULL, &progress),
                     DUEQ_OK);
}

static uint64_t count_of(enum dueq_state state)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    return stats.counts[state];
}

static void commit_and_tick(void)
{
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
}

/* ---- done */

static void a_job_runs_after_those_that_it_waits_for(void **state)
{
    (void)state;
    push("a");
    push("b");
    push_after("c", "a b");
    assert_string_equal(state_of("c"), "waiting");
    assert_int_equal(get("c").awaits, 2);
    check();
    finish("a");
    assert_int_equal(get("c").awaits, 1);
    check();
    finish("b");
    assert_string_equal(state_of("c"), "ready");
    check();
    assert_no_edges();
    finish("c");
}

static void what_is_not_there_counts_as_done(void **state)
{
    (void)state;
    push_after("c", "never pushed");
    assert_string_equal(state_of("c"), "ready");
    assert_no_edges();
}

static void a_done_job_that_is_kept_counts_as_done(void **state)
{
    const struct dueq_done done = {.keep = 60000};
    struct dueq_job job;

    (void)state;
    push("a");
    push_after("b", "a");
    job = claim_in("t", "a");
    assert_int_equal(dueq_finish(test.store, text("t"), text("a"), job.token, &done, test.time),
                     DUEQ_OK);
    assert_string_equal(state_of("b"), "ready");
    push_after("c", "a");
    assert_string_equal(state_of("c"), "ready");
    check();
}

static void one_that_is_named_twice_is_waited_for_once(void **state)
{
    (void)state;
    push("a");
    push_after("b", "a a a");
    assert_int_equal(get("b").awaits, 1);
    finish("a");
    assert_string_equal(state_of("b"), "ready");
}

static void the_delay_begins_when_the_last_one_is_done(void **state)
{
    struct dueq_prerequisite after = {.id = text("a")};
    struct dueq_push late = push_of("b");

    (void)state;
    late.after = &after;
    late.after_count = 1;
    late.delay = 1000;
    late.ttl = 500;
    push("a");
    assert_int_equal(try_push(&late), DUEQ_OK);
    store_fixture_pass(&test, 5000);
    store_fixture_tick(&test, 100);
    assert_string_equal(state_of("b"), "waiting");
    finish("a");
    assert_string_equal(state_of("b"), "delayed");
    assert_int_equal(get("b").due, test.time.wall + 1000);
    check();
    store_fixture_pass(&test, 1499);
    store_fixture_tick(&test, 100);
    assert_string_equal(state_of("b"), "ready");
    store_fixture_pass(&test, 1);
    store_fixture_tick(&test, 100);
    assert_string_equal(state_of("b"), "dead"); /* its ttl counts from then on */
    check();
}

static void a_moment_that_has_passed_is_now(void **state)
{
    struct dueq_prerequisite after = {.id = text("a")};
    struct dueq_push at = push_of("b");

    (void)state;
    at.after = &after;
    at.after_count = 1;
    at.absolute = true;
    at.at = test.time.wall + 1000;
    push("a");
    assert_int_equal(try_push(&at), DUEQ_OK);
    at.id = text("c");
    at.at = test.time.wall + 9000;
    assert_int_equal(try_push(&at), DUEQ_OK);
    store_fixture_pass(&test, 5000);
    finish("a");
    assert_string_equal(state_of("b"), "ready");
    assert_string_equal(state_of("c"), "delayed");
    assert_int_equal(get("c").due, test.time.wall + 4000);
    check();
}

static void jobs_of_other_topics_are_waited_for(void **state)
{
    struct dueq_prerequisite after = {.topic = text("other"), .id = text("a")};
    struct dueq_push first = push_of("a"), second = push_of("b");

    (void)state;
    first.topic = text("other");
    second.after = &after;
    second.after_count = 1;
    assert_int_equal(try_push(&first), DUEQ_OK);
    assert_int_equal(try_push(&second), DUEQ_OK);
    check();
    store_fixture_commit(&test);
    finish_in("other", "a");
    assert_string_equal(state_of("b"), "ready");
    check();
}

static void a_follow_up_is_waited_for(void **state)
{
    struct dueq_push again = push_of("a");
    struct dueq_job job;

    (void)state;
    push("a");
    push_after("b", "a");
    job = claim_in("t", "a");
    again.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(try_push(&again), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), job.token, test.time), DUEQ_OK);
    assert_string_equal(state_of("b"), "waiting");
    finish("a");
    assert_string_equal(state_of("b"), "ready");
}

/* ---- refused */

static void cycles_cannot_be_pushed(void **state)
{
    struct dueq_prerequisite after[] = {{.id = text("b")}, {.id = text("a")}};
    struct dueq_push pushes[2] = {push_of("a"), push_of("b")};
    struct dueq_pushed pushed[2];

    (void)state;
    pushes[0].after = &after[1];
    pushes[0].after_count = 1;
    assert_int_equal(try_push(&pushes[0]), DUEQ_INVALID); /* itself */
    pushes[0].after = &after[0];
    pushes[1].after = &after[1];
    pushes[1].after_count = 1;
    assert_int_equal(dueq_push_many(test.store, pushes, 2, test.time, pushed), DUEQ_INVALID);
    assert_int_equal(dueq_topic_count(test.store), 0);
    pushes[0].after_count = 0;
    assert_int_equal(dueq_push_many(test.store, pushes, 2, test.time, pushed), DUEQ_OK);
    assert_string_equal(state_of("b"), "waiting"); /* for an earlier one of the batch */
    check();
}

static void a_job_that_is_there_begins_to_wait_for_nothing(void **state)
{
    struct dueq_prerequisite after = {.id = text("b")};
    struct dueq_push again = push_of("a");

    (void)state;
    push("a");
    push_after("b", "a");
    again.after = &after;
    again.after_count = 1;
    assert_int_equal(try_push(&again), DUEQ_DUPLICATE);
    again.on_duplicate = DUEQ_IGNORE;
    assert_int_equal(try_push(&again), DUEQ_OK);
    again.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(try_push(&again), DUEQ_INVALID);
    again.on_duplicate = DUEQ_DEBOUNCE;
    assert_int_equal(try_push(&again), DUEQ_INVALID);
    assert_int_equal(dueq_update(test.store, &again, false, test.time), DUEQ_INVALID);
    assert_string_equal(state_of("a"), "ready");
    check();
}

static void too_many_and_malformed_ones_are_refused(void **state)
{
    struct dueq_prerequisite *after = calloc(DUEQ_AFTER_MAX + 1, sizeof(*after));
    struct dueq_push wide = push_of("w");

    (void)state;
    assert_non_null(after);
    for (size_t i = 0; i <= DUEQ_AFTER_MAX; i++)
        after[i].id = text("nobody");
    wide.after = after;
    wide.after_count = DUEQ_AFTER_MAX + 1;
    assert_int_equal(try_push(&wide), DUEQ_INVALID);
    wide.after_count = SIZE_MAX;
    assert_int_equal(try_push(&wide), DUEQ_INVALID);
    wide.after_count = DUEQ_AFTER_MAX;
    wide.on_dead = (enum dueq_on_dead)3;
    assert_int_equal(try_push(&wide), DUEQ_INVALID);
    wide.on_dead = DUEQ_ON_DEAD_WAIT;
    after[5].id = text("");
    assert_int_equal(try_push(&wide), DUEQ_INVALID);
    after[5].id = text("x");
    assert_int_equal(try_push(&wide), DUEQ_OK);
    free(after);
}

/* ---- not done */

static void the_death_of_one_is_that_of_those_who_wait(void **state)
{
    struct dueq_job job;

    (void)state;
    push("a");
    push_after("b", "a");
    push_after("c", "b");
    kill_job("a");
    assert_string_equal(state_of("b"), "dead");
    job = get("b");
    assert_true(dueq_slice_equal(job.error, text("after: t:a is dead")));
    assert_string_equal(state_of("c"), "dead");
    check();
    assert_no_edges();
}

static void one_may_run_all_the_same(void **state)
{
    (void)state;
    push("a");
    push_after_as("b", "a", DUEQ_ON_DEAD_RUN);
    kill_job("a");
    assert_string_equal(state_of("b"), "ready");
    push_after_as("c", "a", DUEQ_ON_DEAD_RUN); /* it is dead already */
    assert_string_equal(state_of("c"), "ready");
    check();
}

static void one_may_wait_for_a_redrive(void **state)
{
    (void)state;
    push("a");
    push_after_as("b", "a", DUEQ_ON_DEAD_WAIT);
    kill_job("a");
    assert_string_equal(state_of("b"), "waiting");
    push_after_as("c", "a", DUEQ_ON_DEAD_WAIT);
    assert_string_equal(state_of("c"), "waiting");
    check();
    redrive(NULL);
    finish("a");
    assert_string_equal(state_of("b"), "ready");
    assert_string_equal(state_of("c"), "ready");
    check();
    assert_no_edges();
}

static void after_a_dead_job_one_is_dead_at_once(void **state)
{
    (void)state;
    push("a");
    push("b");
    kill_job("a");
    push_after("c", "b a");
    assert_string_equal(state_of("c"), "dead");
    check();
    assert_no_edges();
}

static void a_removed_job_was_not_done(void **state)
{
    bool claimed;

    (void)state;
    push("a");
    push("b");
    push_after("d", "a");
    push_after("e", "b");
    push_after_as("f", "a b", DUEQ_ON_DEAD_RUN);
    push_after_as("g", "a", DUEQ_ON_DEAD_WAIT);
    assert_int_equal(dueq_del(test.store, text("t"), text("a"), test.time), DUEQ_OK);
    assert_true(dueq_slice_equal(get("d").error, text("after: t:a is gone")));
    assert_int_equal(dueq_cancel(test.store, text("t"), text("b"), test.time, &claimed),
                     DUEQ_OK);
    assert_true(dueq_slice_equal(get("e").error, text("after: t:b was cancelled")));
    assert_string_equal(state_of("f"), "ready");
    assert_string_equal(state_of("g"), "waiting");
    assert_int_equal(get("g").awaits, 1);
    check();
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

static void a_moved_job_is_gone(void **state)
{
    (void)state;
    push("a");
    push_after_as("b", "a", DUEQ_ON_DEAD_RUN);
    assert_int_equal(dueq_move(test.store, text("t"), text("a"), text("other"), test.time),
                     DUEQ_OK);
    assert_string_equal(state_of("b"), "ready");
    check();
}

static void a_dropped_topic_leaves_nobody_waiting(void **state)
{
    struct dueq_prerequisite after = {.topic = text("other"), .id = text("a")};
    struct dueq_push first = push_of("a"), second = push_of("b");

    (void)state;
    first.topic = text("other");
    second.after = &after;
    second.after_count = 1;
    assert_int_equal(try_push(&first), DUEQ_OK);
    assert_int_equal(try_push(&second), DUEQ_OK);
    second.id = text("c");
    second.on_dead = DUEQ_ON_DEAD_RUN;
    assert_int_equal(try_push(&second), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(dueq_drop(test.store, text("other"), test.time), DUEQ_OK);
    store_fixture_commit(&test);
    store_fixture_verify(&test);
    commit_and_tick();
    commit_and_tick();
    assert_string_equal(state_of("b"), "dead");
    assert_string_equal(state_of("c"), "ready");
    assert_no_edges();
    check();
    store_fixture_verify(&test);
}

static void edges_to_a_dropped_topic_lead_nowhere(void **state)
{
    struct dueq_prerequisite after = {.topic = text("t"), .id = text("a")};
    struct dueq_push second = push_of("b");

    (void)state;
    second.topic = text("other");
    second.after = &after;
    second.after_count = 1;
    push("a");
    assert_int_equal(try_push(&second), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(dueq_drop(test.store, text("other"), test.time), DUEQ_OK);
    store_fixture_commit(&test);
    commit_and_tick();
    check();
    store_fixture_verify(&test);
    finish("a");
    commit_and_tick();
    assert_no_edges();
    check();
}

static void a_flush_leaves_nothing(void **state)
{
    (void)state;
    push("a");
    push_after("b", "a");
    store_fixture_commit(&test);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    commit_and_tick();
    commit_and_tick();
    assert_no_edges();
    store_fixture_verify(&test);
}

/* ---- what is done to a waiting job */

static void a_waiting_job_runs_when_it_is_told_to(void **state)
{
    int64_t due;

    (void)state;
    push("a");
    push_after("b", "a");
    assert_int_equal(
        dueq_reschedule(test.store, text("t"), text("b"), false, 1000, test.time, &due),
        DUEQ_WRONGSTATE);
    assert_int_equal(dueq_move(test.store, text("t"), text("b"), text("u"), test.time),
                     DUEQ_WRONGSTATE);
    assert_int_equal(
        dueq_reschedule(test.store, text("t"), text("b"), false, 0, test.time, &due), DUEQ_OK);
    assert_int_equal(due, test.time.wall);
    assert_string_equal(state_of("b"), "ready");
    assert_no_edges();
    check();
}

static void a_waiting_job_may_be_updated_and_removed(void **state)
{
    struct dueq_push changes = push_of("b");

    (void)state;
    push("a");
    push_after("b", "a");
    changes.priority = 7;
    changes.ttl = 1000;
    changes.body = text("another");
    assert_int_equal(dueq_update(test.store, &changes, true, test.time), DUEQ_OK);
    assert_string_equal(state_of("b"), "waiting");
    check();
    store_fixture_pass(&test, 5000);
    store_fixture_tick(&test, 100);
    assert_string_equal(state_of("b"), "waiting"); /* its ttl has not begun */
    assert_int_equal(dueq_del(test.store, text("t"), text("b"), test.time), DUEQ_OK);
    assert_no_edges();
    check();
}

static void a_job_in_its_place_waits_no_more(void **state)
{
    struct dueq_push again = push_of("b");

    (void)state;
    push("a");
    push_after("b", "a");
    again.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(try_push(&again), DUEQ_OK);
    assert_string_equal(state_of("b"), "ready");
    assert_no_edges();
    check();
}

static void waiting_jobs_count_for_the_length(void **state)
{
    struct dueq_settings settings;
    struct dueq_push third = push_of("c");

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_MAX_LENGTH] = 2;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    push("a");
    push_after("b", "a");
    assert_int_equal(try_push(&third), DUEQ_LIMIT);
}

/* One that makes room for the job that waits for it was not done. */
static void what_is_dropped_for_a_job_was_not_done(void **state)
{
    struct dueq_settings settings;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_MAX_LENGTH] = 2;
    settings.numbers[DUEQ_SET_OVERFLOW] = DUEQ_OVERFLOW_DROP_OLDEST;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    push("a");
    push("b");
    push_after("c", "a");
    assert_string_equal(state_of("a"), "absent");
    assert_string_equal(state_of("c"), "dead");
    assert_no_edges();
    check();
}

/* ---- pushes that come together */

static void set_dead_topic(const char *topic, const char *dead_topic)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.dead_topic_size = strlen(dead_topic);
    memcpy(settings.dead_topic, dead_topic, settings.dead_topic_size);
    assert_int_equal(dueq_put_settings(test.store, text(topic), &settings), DUEQ_OK);
}

static void push_both(const struct dueq_push *first, const struct dueq_push *second)
{
    struct dueq_push pushes[] = {*first, *second};
    struct dueq_pushed pushed[2];

    assert_int_equal(dueq_push_many(test.store, pushes, 2, test.time, pushed), DUEQ_OK);
}

static void jobs_of_one_batch_wait_for_each_other(void **state)
{
    const struct dueq_prerequisite after = {.id = text("x")};
    struct dueq_push first = push_of("x"), second = push_of("y");

    (void)state;
    second.after = &after;
    second.after_count = 1;
    push_both(&first, &second);
    assert_string_equal(state_of("y"), "waiting");
    finish("x");
    assert_string_equal(state_of("y"), "ready");
    assert_no_edges();
}

/* Its place in the dead-letter topic is none that another job of the batch has got. */
static void one_of_a_batch_dies_into_a_topic_of_the_batch(void **state)
{
    const struct dueq_prerequisite after = {.id = text("a")};
    struct dueq_push first = push_of("x"), second = push_of("y");

    (void)state;
    push("a");
    kill_job("a");
    set_dead_topic("t", "u");
    first.after = &after;
    first.after_count = 1;
    second.topic = text("u");
    push_both(&first, &second);
    assert_string_equal(state_of("x"), "absent");
    claim_in("u", "y");
    claim_in("u", "x");
    check();
}

static void hand_over(const char *id, const struct dueq_push *push)
{
    struct dueq_job job = claim_in("t", id);
    struct dueq_pushed pushed;

    assert_int_equal(dueq_hand_over(test.store, text("t"), text(id), job.token, NULL, push, 1,
                                    test.time, &pushed),
                     DUEQ_OK);
}

/* The acked one is done by then, whether it is kept or not. A follow-up of it is not. */
static void what_follows_waits_for_others(void **state)
{
    const struct dueq_prerequisite after[] = {{.id = text("a")}, {.id = text("b")}};
    struct dueq_push next = push_of("n"), again = push_of("b");

    (void)state;
    next.after = after;
    next.after_count = 2;
    push("a");
    push("b");
    hand_over("a", &next);
    assert_string_equal(state_of("n"), "waiting");
    assert_int_equal(get("n").awaits, 1);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    check();
    claim_in("t", "b");
    again.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(try_push(&again), DUEQ_OK);
    next.id = text("m");
    assert_int_equal(dueq_hand_over(test.store, text("t"), text("b"), get("b").token, NULL,
                                    &next, 1, test.time, &(struct dueq_pushed){.outcome = 0}),
                     DUEQ_OK);
    assert_string_equal(state_of("m"), "waiting");
    finish("b");
    assert_string_equal(state_of("n"), "ready");
    assert_string_equal(state_of("m"), "ready");
    check();
}

static bool note_awaited(void *arg, const struct dueq_prerequisite *of, enum dueq_state state,
                         bool is_gone)
{
    char *seen = arg;

    snprintf(seen + strlen(seen), 100 - strlen(seen), "%.*s:%.*s %s;", (int)of->topic.size,
             (const char *)of->topic.data, (int)of->id.size, (const char *)of->id.data,
             is_gone ? "gone" : dueq_state_name(state));
    return true;
}

static void one_can_see_what_a_job_waits_for(void **state)
{
    static const char *const parts[] = {"t:a claimed;", "t: gone;", ""};
    struct dueq_awaited_place place = {0, 0}, none = {0, 0};
    char seen[100] = "";

    (void)state;
    push("a");
    push("b");
    push_after_as("c", "a b", DUEQ_ON_DEAD_WAIT);
    claim_in("t", "a");
    assert_int_equal(dueq_del(test.store, text("t"), text("b"), test.time), DUEQ_OK);
    assert_int_equal(dueq_awaited(test.store, text("t"), text("c"), test.time, 10, &place,
                                  note_awaited, seen),
                     DUEQ_OK);
    assert_string_equal(seen, "t:a claimed;t: gone;");
    place = none;
    for (size_t i = 0; i < 3; i++) {
        seen[0] = '\0';
        assert_int_equal(dueq_awaited(test.store, text("t"), text("c"), test.time, 1, &place,
                                      note_awaited, seen),
                         DUEQ_OK);
        assert_string_equal(seen, parts[i]);
    }
    assert_int_equal(dueq_awaited(test.store, text("t"), text("x"), test.time, 10, &none,
                                  note_awaited, seen),
                     DUEQ_NOTFOUND);
}

/* ---- restarts */

static void it_waits_across_restarts(void **state)
{
    (void)state;
    push("a");
    push_after("b", "a");
    store_fixture_commit(&test);
    store_fixture_reopen(&test);
    check();
    assert_string_equal(state_of("b"), "waiting");
    store_fixture_crash(&test);
    check();
    store_fixture_verify(&test);
    finish("a");
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_string_equal(state_of("b"), "ready");
    store_fixture_checkpoint(&test);
    store_fixture_verify(&test);
}

/* ---- many */

static void push_many_after(const char *first, int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];

        snprintf(id, sizeof(id), "w%d", i);
        push_after(id, first);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    store_fixture_commit(&test);
}

static void ten_thousand_are_waited_for(void **state)
{
    static char ids[MANY][16];
    static struct dueq_prerequisite after[MANY];
    struct dueq_push last = push_of("last");

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        after[i].id = text(ids[i]);
        push(ids[i]);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    last.after = after;
    last.after_count = MANY;
    assert_int_equal(try_push(&last), DUEQ_OK);
    store_fixture_commit(&test);
    check();
    for (int i = 0; i < MANY; i++) {
        assert_string_equal(state_of("last"), "waiting");
        finish(ids[i]);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    finish("last");
    commit_and_tick();
    assert_no_edges();
    check();
}

static void ten_thousand_wait_in_a_row(void **state)
{
    static char ids[MANY][16];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        push_after(ids[i], i == 0 ? "" : ids[i - 1]);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    store_fixture_commit(&test);
    assert_int_equal(count_of(DUEQ_WAITING), MANY - 1);
    check();
    for (int i = 0; i < MANY; i++) {
        finish(ids[i]);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    assert_nothing_to_claim();
    commit_and_tick();
    assert_no_edges();
}

static void a_row_of_ten_thousand_dies_a_part_at_a_time(void **state)
{
    static char ids[MANY][16];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        push_after(ids[i], i == 0 ? "" : ids[i - 1]);
    }
    store_fixture_commit(&test);
    kill_job("0");
    assert_true(count_of(DUEQ_DEAD) < 1000);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    commit_and_tick();
    assert_int_equal(count_of(DUEQ_DEAD), MANY);
    assert_no_edges();
    check();
}

/* It was redriven before: what comes later waits for what becomes of it now. */
static void a_death_is_not_told_to_those_who_come_later(void **state)
{
    (void)state;
    push("a");
    push_many_after("a", 1000);
    kill_job("a");
    store_fixture_pass(&test, 1);
    redrive("a");
    push_after("young", "a");
    push_after_as("patient", "a", DUEQ_ON_DEAD_WAIT);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    commit_and_tick();
    assert_int_equal(count_of(DUEQ_DEAD), 1000);
    assert_string_equal(state_of("young"), "waiting");
    check();
    finish("a");
    assert_string_equal(state_of("young"), "ready");
    assert_string_equal(state_of("patient"), "ready");
    assert_no_edges();
}

/* Who may read the one that waits may not always read the other one's topic. */
static void an_error_names_nothing_of_another_topic(void **state)
{
    const struct dueq_prerequisite of = {.topic = text("secret"), .id = text("s")};
    struct dueq_push other = push_of("s"), waiting = push_of("b");

    (void)state;
    other.topic = text("secret");
    assert_int_equal(try_push(&other), DUEQ_OK);
    waiting.after = &of;
    waiting.after_count = 1;
    assert_int_equal(try_push(&waiting), DUEQ_OK);
    push_after("c", "b");
    assert_int_equal(dueq_del(test.store, text("secret"), text("s"), test.time), DUEQ_OK);
    assert_true(
        dueq_slice_equal(get("b").error, text("after: a job of another topic is gone")));
    assert_true(dueq_slice_equal(get("c").error, text("after: t:b is dead")));
}

static void many_who_wait_are_freed_a_part_at_a_time(void **state)
{
    uint64_t steps;

    (void)state;
    push("a");
    push_many_after("a", MANY);
    steps = test.store->queue->afters.steps;
    finish("a");
    assert_in_range(test.store->queue->afters.steps - steps, 1, 200);
    check();
    store_fixture_commit(&test);
    store_fixture_crash(&test); /* it goes on */
    check();
    store_fixture_verify(&test);
    steps = test.store->queue->afters.steps;
    dueq_tick(test.store, test.time, 100);
    assert_in_range(test.store->queue->afters.steps - steps, 1, 50);
    assert_int_equal(dueq_next_tick(test.store, test.time), 0);
    commit_and_tick();
    assert_int_equal(count_of(DUEQ_READY), MANY);
    assert_true(dueq_next_tick(test.store, test.time) > 0);
    assert_no_edges();
    check();
}

static void without_anybody_who_waits_nothing_is_looked_for(void **state)
{
    uint64_t before;

    (void)state;
    push("a");
    store_fixture_commit(&test);
    commit_and_tick();
    before = test.store->queue->afters.steps;
    finish("a");
    assert_int_equal(test.store->queue->afters.steps, before);
    assert_false(test.store->queue->afters.any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_job_runs_after_those_that_it_waits_for, test),
        store_fixture_test(what_is_not_there_counts_as_done, test),
        store_fixture_test(a_done_job_that_is_kept_counts_as_done, test),
        store_fixture_test(one_that_is_named_twice_is_waited_for_once, test),
        store_fixture_test(the_delay_begins_when_the_last_one_is_done, test),
        store_fixture_test(a_moment_that_has_passed_is_now, test),
        store_fixture_test(jobs_of_other_topics_are_waited_for, test),
        store_fixture_test(a_follow_up_is_waited_for, test),
        store_fixture_test(cycles_cannot_be_pushed, test),
        store_fixture_test(a_job_that_is_there_begins_to_wait_for_nothing, test),
        store_fixture_test(too_many_and_malformed_ones_are_refused, test),
        store_fixture_test(the_death_of_one_is_that_of_those_who_wait, test),
        store_fixture_test(one_may_run_all_the_same, test),
        store_fixture_test(one_may_wait_for_a_redrive, test),
        store_fixture_test(after_a_dead_job_one_is_dead_at_once, test),
        store_fixture_test(a_removed_job_was_not_done, test),
        store_fixture_test(a_moved_job_is_gone, test),
        store_fixture_test(a_dropped_topic_leaves_nobody_waiting, test),
        store_fixture_test(edges_to_a_dropped_topic_lead_nowhere, test),
        store_fixture_test(a_flush_leaves_nothing, test),
        store_fixture_test(a_waiting_job_runs_when_it_is_told_to, test),
        store_fixture_test(a_waiting_job_may_be_updated_and_removed, test),
        store_fixture_test(a_job_in_its_place_waits_no_more, test),
        store_fixture_test(waiting_jobs_count_for_the_length, test),
        store_fixture_test(what_is_dropped_for_a_job_was_not_done, test),
        store_fixture_test(jobs_of_one_batch_wait_for_each_other, test),
        store_fixture_test(one_of_a_batch_dies_into_a_topic_of_the_batch, test),
        store_fixture_test(what_follows_waits_for_others, test),
        store_fixture_test(one_can_see_what_a_job_waits_for, test),
        store_fixture_test(it_waits_across_restarts, test),
        store_fixture_test(ten_thousand_are_waited_for, test),
        store_fixture_test(ten_thousand_wait_in_a_row, test),
        store_fixture_test(a_row_of_ten_thousand_dies_a_part_at_a_time, test),
        store_fixture_test(a_death_is_not_told_to_those_who_come_later, test),
        store_fixture_test(an_error_names_nothing_of_another_topic, test),
        store_fixture_test(many_who_wait_are_freed_a_part_at_a_time, test),
        store_fixture_test(without_anybody_who_waits_nothing_is_looked_for, test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
