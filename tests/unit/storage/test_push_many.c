/* Several pushes in one call, and a job that hands over to others: all of it happens, or
 * nothing. */
#include "storage/queue/queue.h"
#include "storage/queue/record/given_id.h"
#include "storage/kv/kv_internal.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum { MANY = 3000 };

static struct store_fixture test;

static struct dueq_push push_of(const char *topic, const char *id, const char *body)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = text(id);
    push.body = text(body);
    return push;
}

static void expect_sound(void)
{
    assert_null(queue_check(test.store->queue));
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_null(queue_check(test.store->queue));
}

static uint64_t count(const char *topic)
{
    struct dueq_topic_stats stats;
    uint64_t jobs = 0;

    if (dueq_topic_stats(test.store, text(topic), test.time, &stats) != DUEQ_OK)
        return 0;
    for (int i = 0; i < DUEQ_STATES; i++)
        jobs += stats.counts[i];
    assert_true(stats.pushed >= jobs);
    return jobs;
}

static void expect_body(const char *topic, struct dueq_slice id, const char *body)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, text(topic), id, test.time, &job), DUEQ_OK);
    assert_true(dueq_slice_equal(job.body, text(body)));
}

/* ---- dueq_push_many */

static void all_are_added_in_order(void **state)
{
    struct dueq_push pushes[3] = {push_of("t", "", "one"), push_of("t", "b", "two"),
                                  push_of("u", "", "three")};
    struct dueq_pushed pushed[3];
    struct dueq_job job;

    (void)state;
    assert_int_equal(dueq_push_many(test.store, pushes, 3, test.time, pushed), DUEQ_OK);
    assert_true(dueq_slice_equal(pushed[1].id, text("b")));
    expect_body("t", pushed[0].id, "one");
    expect_body("u", pushed[2].id, "three");
    expect_sound();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dueq_claim(test.store, text("t"), DUEQ_DEFAULT, test.time, &job),
                         DUEQ_OK);
        assert_true(dueq_slice_equal(job.id, pushed[i].id));
    }
}

/* Each job has a lane of its own, and between two of them is done what comes before a commit.
 */
static void they_are_added_bit_by_bit(void **state)
{
    struct dueq_push pushes[5];
    struct dueq_pushed pushed[5];
    struct push_batch *batch = NULL;
    int calls = 1;

    (void)state;
    for (int i = 0; i < 5; i++) {
        pushes[i] = push_of(i % 2 == 0 ? "t" : "u", "", "body");
        pushes[i].priority = 10 * i;
    }
    assert_int_equal(store_push_begin(test.store, pushes, 5, test.time, &batch), DUEQ_OK);
    assert_int_equal(store_push_check(batch, SIZE_MAX), DUEQ_OK);
    for (; !store_push_some(test.store, batch, 1, pushed); calls++)
        store_prepare(test.store);
    store_push_end(batch);
    assert_int_equal(calls, 5);
    assert_int_equal(count("t"), 3);
    assert_int_equal(count("u"), 2);
    expect_body("u", pushed[3].id, "body");
    expect_sound();
    assert_int_equal(count("t"), 3);
}

/* What was added without the rest is lost with the batch of the store. */
static void a_part_of_them_is_dropped(void **state)
{
    struct dueq_push pushes[2] = {push_of("t", "", "one"), push_of("t", "", "two")};
    struct dueq_pushed pushed[2];
    struct push_batch *batch = NULL;

    (void)state;
    assert_int_equal(store_push_begin(test.store, pushes, 2, test.time, &batch), DUEQ_OK);
    assert_int_equal(store_push_check(batch, SIZE_MAX), DUEQ_OK);
    assert_false(store_push_some(test.store, batch, 1, pushed));
    store_fixture_crash(&test);
    store_push_end(batch);
    assert_int_equal(count("t"), 0);
    expect_sound();
}

static void push_all(const char *const ids[], size_t size)
{
    for (size_t i = 0; i < size; i++) {
        struct dueq_push push = push_of("t", ids[i], "body");
        struct dueq_slice given;

        assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
    }
}

/* How often it said that there is more. Between two parts of the check the topics may go to
 * sleep. */
static int check_bit_by_bit(struct push_batch *batch, enum dueq_status wanted)
{
    enum dueq_status status;
    int calls = 0;

    for (; (status = store_push_check(batch, 1)) == DUEQ_BUSY; calls++)
        store_prepare(test.store);
    assert_int_equal(status, wanted);
    return calls;
}

/* Their ids are taken: the bodies that are there are read. */
static void they_are_checked_bit_by_bit(void **state)
{
    static const char *const ids[] = {"a", "b", "c"};
    struct dueq_push pushes[4];
    struct dueq_pushed pushed[4];
    struct push_batch *batch;

    (void)state;
    push_all(ids, 3);
    for (size_t i = 0; i < 3; i++) {
        pushes[i] = push_of("t", ids[i], "other");
        pushes[i].on_duplicate = DUEQ_REPLACE;
    }
    pushes[3] = push_of("new", "d", "body");
    assert_int_equal(store_push_begin(test.store, pushes, 4, test.time, &batch), DUEQ_OK);
    assert_int_equal(check_bit_by_bit(batch, DUEQ_OK), 3);
    while (!store_push_some(test.store, batch, 1, pushed))
        store_prepare(test.store);
    store_push_end(batch);
    expect_body("t", text("b"), "other");
    assert_int_equal(pushed[2].outcome, DUEQ_REPLACED);
    assert_int_equal(count("t"), 3);
    assert_int_equal(count("new"), 1);
    expect_sound();
}

static void what_is_refused_late_has_changed_nothing(void **state)
{
    static const char *const ids[] = {"a", "b"};
    struct dueq_push pushes[3] = {push_of("new", "x", "body"), push_of("t", "a", "other"),
                                  push_of("t", "b", "other")};
    struct push_batch *batch;

    (void)state;
    push_all(ids, 2);
    pushes[1].on_duplicate = DUEQ_REPLACE;
    assert_int_equal(store_push_begin(test.store, pushes, 3, test.time, &batch), DUEQ_OK);
    assert_int_equal(check_bit_by_bit(batch, DUEQ_DUPLICATE), 2);
    store_push_end(batch);
    expect_body("t", text("a"), "body");
    assert_int_equal(count("new"), 0);
    expect_sound();
}

/* As when the store fails while a batch is being checked. */
static void a_check_may_end_after_its_store(void **state)
{
    struct dueq_push pushes[2] = {push_of("t", "", "one"), push_of("t", "", "two")};
    struct push_batch *batch;

    (void)state;
    assert_int_equal(store_push_begin(test.store, pushes, 2, test.time, &batch), DUEQ_OK);
    assert_int_equal(store_push_check(batch, 1), DUEQ_BUSY);
    store_fixture_crash(&test);
    store_push_end(batch);
    assert_int_equal(count("t"), 0);
}

static void none_is_no_batch(void **state)
{
    (void)state;
    assert_int_equal(dueq_push_many(test.store, NULL, 0, test.time, NULL), DUEQ_OK);
    assert_int_equal(dueq_batch_bytes(test.store), 0);
}

/* Nothing is written, no topic is made, nothing is counted. */
static void expect_refused(struct dueq_push *pushes, size_t size, enum dueq_status status)
{
    struct dueq_pushed pushed[4];
    size_t topics = dueq_topic_count(test.store), bytes = dueq_batch_bytes(test.store);
    uint64_t jobs = count("t");

    assert_int_equal(dueq_push_many(test.store, pushes, size, test.time, pushed), status);
    assert_int_equal(dueq_topic_count(test.store), topics);
    assert_int_equal(dueq_batch_bytes(test.store), bytes);
    assert_int_equal(count("t"), jobs);
}

static void one_that_is_refused_refuses_all(void **state)
{
    struct dueq_push pushes[3] = {push_of("new", "a", ""), push_of("t", "x", ""),
                                  push_of("t", "y", "")};
    struct dueq_slice id;

    (void)state;
    assert_int_equal(dueq_push(test.store, &pushes[2], test.time, &id), DUEQ_OK);
    expect_refused(pushes, 3, DUEQ_DUPLICATE);
    pushes[2].id = text("x");
    expect_refused(pushes, 3, DUEQ_DUPLICATE);
    pushes[2].id = text("z");
    pushes[2].priority = 256;
    expect_refused(pushes, 3, DUEQ_INVALID);
    pushes[2].priority = 0;
    pushes[2].body = dueq_slice("", DUEQ_BODY_MAX + 1);
    expect_refused(pushes, 3, DUEQ_TOOBIG);
    expect_sound();
}

/* Short ids, ids that are hashed in the index, and the same id in two topics. */
static void one_id_may_be_in_two_topics_of_a_batch(void **state)
{
    struct dueq_push pushes[4] = {push_of("t", "a", "1"), push_of("u", "a", "2"),
                                  push_of("t", "an id of more than sixteen bytes", "3"),
                                  push_of("u", "an id of more than sixteen bytes", "4")};
    struct dueq_pushed pushed[4];

    (void)state;
    assert_int_equal(dueq_push_many(test.store, pushes, 4, test.time, pushed), DUEQ_OK);
    expect_body("t", text("a"), "1");
    expect_body("u", pushes[3].id, "4");
    pushes[1] = pushes[2];
    pushes[1].id = text("other");
    expect_refused(pushes, 4, DUEQ_DUPLICATE);
    expect_sound();
}

/* A caller gives the ids that the store is about to give. */
static void ids_of_callers_that_look_like_the_store_s_own_are_passed_over(void **state)
{
    struct dueq_push pushes[4] = {push_of("t", "", "1"), push_of("t", "", "2"),
                                  push_of("t", "", "3"), push_of("t", "", "4")};
    struct dueq_pushed pushed[4];
    char ids[2][GIVEN_ID_SIZE];

    (void)state;
    given_id_write(ids[0], test.time.now, 1);
    given_id_write(ids[1], test.time.now, 3);
    pushes[1].id = dueq_slice(ids[0], GIVEN_ID_SIZE);
    pushes[2].id = dueq_slice(ids[1], GIVEN_ID_SIZE);
    assert_int_equal(dueq_push_many(test.store, pushes, 4, test.time, pushed), DUEQ_OK);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_false(dueq_slice_equal(pushed[i].id, pushed[k].id));
    expect_body("t", pushed[0].id, "1");
    expect_body("t", pushes[1].id, "2");
    expect_body("t", pushes[2].id, "3");
    expect_body("t", pushed[3].id, "4");
    expect_sound();
}

static void thousands_of_all_kinds(void **state)
{
    static struct dueq_push pushes[MANY];
    static struct dueq_pushed pushed[MANY];
    static char names[MANY][16];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "job-%d", i);
        pushes[i] = push_of(i % 3 == 0 ? "t" : "u", i % 2 == 0 ? names[i] : "", names[i]);
        pushes[i].priority = i % 7;
        pushes[i].delay = i % 5;
        pushes[i].ttl = i % 11 == 0 ? 1000 : DUEQ_DEFAULT;
        pushes[i].absolute = i % 13 == 0;
        pushes[i].at = test.time.wall + i;
    }
    assert_int_equal(dueq_push_many(test.store, pushes, MANY, test.time, pushed), DUEQ_OK);
    for (int i = 0; i < MANY; i++)
        expect_body(i % 3 == 0 ? "t" : "u", pushed[i].id, names[i]);
    expect_sound();
    assert_int_equal(count("t"), MANY / 3);
    assert_int_equal(count("u"), MANY - MANY / 3);
}

/* What a batch needs is less than what was granted before. */
static void a_batch_does_not_shrink_a_grant(void **state)
{
    struct dueq_push push = push_of("t", "", "body");
    struct dueq_pushed pushed;

    (void)state;
    assert_int_equal(dueq_reserve_room(test.store, 600000), DUEQ_OK);
    assert_int_equal(dueq_push_many(test.store, &push, 1, test.time, &pushed), DUEQ_OK);
    assert_true(test.store->kv->room.granted >= 600000);
}

/* ---- dueq_holds, dueq_hand_over */

static int64_t claimed(const char *topic, const char *id)
{
    struct dueq_push push = push_of(topic, id, "body");
    struct dueq_slice given;
    struct dueq_job job;

    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
    assert_int_equal(dueq_claim(test.store, text(topic), 1000, test.time, &job), DUEQ_OK);
    return job.token;
}

static enum dueq_status hand_over(const char *id, int64_t token, const struct dueq_push *pushes,
                                  size_t size)
{
    struct dueq_pushed pushed[4];

    return dueq_hand_over(test.store, text("t"), text(id), token, NULL, pushes, size, test.time,
                          pushed);
}

static void a_token_holds_until_the_job_is_given_on(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_nack nack = {.delay = 0};
    enum dueq_state job_state;

    (void)state;
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_OK);
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token + 1), DUEQ_STALE);
    assert_int_equal(dueq_holds(test.store, text("t"), text("b"), token), DUEQ_NOTFOUND);
    assert_int_equal(dueq_holds(test.store, text("u"), text("a"), token), DUEQ_NOTFOUND);
    assert_int_equal(dueq_holds(test.store, text("t"), text(""), token), DUEQ_INVALID);
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), token, &nack, test.time, &job_state),
        DUEQ_OK);
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_STALE);
}

static void a_job_hands_over_to_others(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_push pushes[2] = {push_of("u", "next", "1"), push_of("t", "a", "again")};

    (void)state;
    assert_int_equal(hand_over("a", token, pushes, 2), DUEQ_OK);
    expect_sound();
    expect_body("u", text("next"), "1");
    expect_body("t", text("a"), "again");
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_STALE);
}

static void it_hands_over_bit_by_bit(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_push pushes[3] = {push_of("u", "next", "1"), push_of("t", "a", "again"),
                                  push_of("u", "", "2")};
    struct dueq_prerequisite of[] = {{.topic = text("t"), .id = text("a")},
                                     {.topic = text("u"), .id = text("next")}};
    struct dueq_pushed pushed[3];
    struct push_batch *batch;
    struct dueq_job job;
    int calls = 1;

    (void)state;
    pushes[2].after = of;
    pushes[2].after_count = 2;
    assert_int_equal(store_hand_over_begin(test.store, text("t"), text("a"), token, NULL,
                                           pushes, 3, test.time, &batch),
                     DUEQ_OK);
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_OK);
    assert_int_equal(check_bit_by_bit(batch, DUEQ_OK), 2);
    for (; !store_push_some(test.store, batch, 1, pushed); calls++)
        store_prepare(test.store);
    store_push_end(batch);
    assert_int_equal(calls, 4); /* the last one for what is waited for */
    assert_int_equal(dueq_get(test.store, text("u"), pushed[2].id, test.time, &job), DUEQ_OK);
    assert_int_equal(job.state, DUEQ_WAITING);
    assert_int_equal(job.awaits, 2);
    expect_sound();
    expect_body("t", text("a"), "again");
}

static void a_job_that_is_not_held_hands_nothing_over(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_push push = push_of("u", "next", "1");

    (void)state;
    assert_int_equal(hand_over("a", token + 1, &push, 1), DUEQ_STALE);
    assert_int_equal(hand_over("b", token, &push, 1), DUEQ_NOTFOUND);
    assert_int_equal(count("u"), 0);
    assert_int_equal(count("t"), 1);
}

static void a_refused_push_leaves_the_job_claimed(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_push pushes[3] = {push_of("u", "next", "1"), push_of("t", "a", "again"),
                                  push_of("t", "a", "twice")};

    (void)state;
    claimed("u", "there");
    assert_int_equal(hand_over("a", token, pushes, 3), DUEQ_DUPLICATE);
    pushes[2] = push_of("u", "there", "");
    assert_int_equal(hand_over("a", token, pushes, 3), DUEQ_DUPLICATE);
    pushes[2] = push_of("u", "", "");
    pushes[2].body.size = DUEQ_BODY_MAX + 1;
    assert_int_equal(hand_over("a", token, pushes, 3), DUEQ_TOOBIG);
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_OK);
    assert_int_equal(count("u"), 1);
    expect_sound();
    assert_int_equal(hand_over("a", token, pushes, 2), DUEQ_OK);
}

static void keep_done_jobs(void)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_KEEP] = 1000;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
}

/* It keeps its id, and what follows from it is there already. */
static void a_done_job_that_is_kept_hands_over_once(void **state)
{
    int64_t token = claimed("t", "a");
    struct dueq_push pushes[2] = {push_of("u", "", "1"), push_of("t", "a", "again")};

    (void)state;
    keep_done_jobs();
    assert_int_equal(hand_over("a", token, pushes, 2), DUEQ_DUPLICATE);
    assert_int_equal(hand_over("a", token, pushes, 1), DUEQ_OK);
    assert_int_equal(hand_over("a", token, pushes, 1), DUEQ_STALE);
    assert_int_equal(dueq_holds(test.store, text("t"), text("a"), token), DUEQ_STALE);
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), token, test.time), DUEQ_OK);
    assert_int_equal(count("u"), 1);
    expect_sound();
}

static void a_paused_topic_refuses_the_batch(void **state)
{
    struct dueq_push pushes[2] = {push_of("u", "", "1"), push_of("t", "a", "2")};
    int64_t token = claimed("t", "x");

    (void)state;
    assert_int_equal(dueq_pause(test.store, text("t"), true, false, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    expect_refused(pushes, 2, DUEQ_PAUSED);
    assert_int_equal(hand_over("x", token, pushes, 2), DUEQ_PAUSED);
    assert_int_equal(hand_over("x", token, pushes, 1), DUEQ_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(all_are_added_in_order, test),
        store_fixture_test(they_are_added_bit_by_bit, test),
        store_fixture_test(a_part_of_them_is_dropped, test),
        store_fixture_test(they_are_checked_bit_by_bit, test),
        store_fixture_test(what_is_refused_late_has_changed_nothing, test),
        store_fixture_test(a_check_may_end_after_its_store, test),
        store_fixture_test(none_is_no_batch, test),
        store_fixture_test(one_that_is_refused_refuses_all, test),
        store_fixture_test(one_id_may_be_in_two_topics_of_a_batch, test),
        store_fixture_test(ids_of_callers_that_look_like_the_store_s_own_are_passed_over, test),
        store_fixture_test(thousands_of_all_kinds, test),
        store_fixture_test(a_batch_does_not_shrink_a_grant, test),
        store_fixture_test(a_token_holds_until_the_job_is_given_on, test),
        store_fixture_test(a_job_hands_over_to_others, test),
        store_fixture_test(it_hands_over_bit_by_bit, test),
        store_fixture_test(a_job_that_is_not_held_hands_nothing_over, test),
        store_fixture_test(a_refused_push_leaves_the_job_claimed, test),
        store_fixture_test(a_done_job_that_is_kept_hands_over_once, test),
        store_fixture_test(a_paused_topic_refuses_the_batch, test),
    };
    return cmocka_run_group_tests_name("push many", tests, NULL, NULL);
}
