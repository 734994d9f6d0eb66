/* Scans a topic to its end while it changes between the calls: pushes, claims, acks, nacks,
 * leases that end sooner or later, time, commits, checkpoints, restarts. Each job that kept the
 * wanted state all the time (and, with due times, its own) must have been returned. And what is
 * peeked at must be what is claimed then, and forecasts count what is there. SEED= reproduces,
 * ROUNDS= scales. */
#include "tests/support/dice.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { JOBS_MAX = 4000, NAMED_JOBS = 120, CHANGES = 8, CALLS_MAX = 20000, ID_MAX = 32 };

struct seen_job {
    char id[ID_MAX];
    size_t size;
    int64_t token;
    struct dueq_job then; /* at the begin of the scan; its slices are void */
    bool stays, returned;
};

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct seen_job jobs[JOBS_MAX];
    size_t count;
    struct dueq_scan scan;
    uint64_t calls;
} test;

static int64_t roll(uint64_t sides)
{
    return (int64_t)dice_roll(&test.dice, sides);
}

static bool once_in(uint64_t times)
{
    return dice_once_in(&test.dice, times);
}

static struct dueq_slice id_of(const struct seen_job *job)
{
    return dueq_slice(job->id, job->size);
}

static struct seen_job *find(struct dueq_slice id)
{
    for (size_t i = 0; i < test.count; i++)
        if (dueq_slice_equal(id, id_of(&test.jobs[i])))
            return &test.jobs[i];
    return NULL;
}

/* ---- changes */

static void remember(struct dueq_slice id)
{
    struct seen_job *job = find(id);

    if (job == NULL) {
        assert_true(test.count < JOBS_MAX && id.size < ID_MAX);
        job = &test.jobs[test.count++];
    }
    *job = (struct seen_job){.size = id.size};
    memcpy(job->id, id.data, id.size);
}

static void push(void)
{
    struct dueq_push push;
    struct dueq_slice id;
    char name[ID_MAX];
    enum dueq_status status;

    dueq_push_init(&push);
    push.topic = text("t");
    push.body = text("body");
    push.priority = (int)roll(3);
    push.retries = roll(3);
    push.absolute = once_in(3);
    push.delay = once_in(3) ? 0 : roll(3000);
    push.at = fixture.time.wall + push.delay;
    if (once_in(2))
        push.id = dueq_slice(
            name, (size_t)snprintf(name, sizeof(name), "job-%d", (int)roll(NAMED_JOBS)));
    status = dueq_push(fixture.store, &push, fixture.time, &id);
    if (status != DUEQ_DUPLICATE) {
        assert_int_equal(status, DUEQ_OK);
        remember(id);
    }
}

static void claim(void)
{
    struct dueq_job job;

    if (dueq_claim(fixture.store, text("t"), roll(2000), fixture.time, &job) == DUEQ_OK)
        find(job.id)->token = job.token;
}

static void change_one(void)
{
    struct seen_job *job = &test.jobs[roll(test.count)];
    struct dueq_nack nack = {.delay = roll(500),
                             .outcome = once_in(2) ? DUEQ_FATAL : DUEQ_FAILED};
    enum dueq_state state;
    int64_t end;

    switch (roll(5)) {
    case 0:
        dueq_ack(fixture.store, text("t"), id_of(job), job->token, fixture.time);
        break;
    case 1:
        dueq_nack(fixture.store, text("t"), id_of(job), job->token, &nack, fixture.time,
                  &state);
        break;
    case 2:
    case 3:
        dueq_extend(fixture.store, text("t"), id_of(job), job->token, roll(4000), fixture.time,
                    &end);
        break;
    default:
        if (once_in(4))
            dueq_del(fixture.store, text("t"), id_of(job), fixture.time);
    }
}

static void disturb(void)
{
    switch (roll(4)) {
    case 0:
        store_fixture_checkpoint(&fixture);
        break;
    case 1:
        store_fixture_reopen(&fixture);
        break;
    case 2:
        store_fixture_crash(&fixture);
        break;
    default:
        store_fixture_commit(&fixture);
    }
}

static void change(void)
{
    int64_t kind = roll(40);

    if (kind < 8)
        push();
    else if (kind < 20)
        claim();
    else if (kind < 36 && test.count > 0)
        change_one();
    else if (kind < 39)
        store_fixture_pass(&fixture, roll(60));
    else
        disturb();
    if (once_in(2))
        store_fixture_tick(&fixture, 1000);
}

/* ---- the guarantee */

static bool in_range(const struct dueq_job *job)
{
    return !test.scan.by_due || (job->due >= test.scan.from && job->due <= test.scan.to);
}

static bool is_wanted(const struct seen_job *job, struct dueq_job *ret_found)
{
    return dueq_get(fixture.store, text("t"), id_of(job), fixture.time, ret_found) == DUEQ_OK &&
           (test.scan.state == DUEQ_DEFAULT || (int)ret_found->state == test.scan.state) &&
           in_range(ret_found);
}

/* A topic may be gone when its last job is. */
static bool may_be_absent(void)
{
    for (size_t i = 0; i < test.count; i++) {
        struct dueq_job found;

        if (dueq_get(fixture.store, text("t"), id_of(&test.jobs[i]), fixture.time, &found) ==
            DUEQ_OK)
            return false;
    }
    return true;
}

static void begin_scan(void)
{
    dueq_scan_init(&test.scan);
    test.scan.topic = text("t");
    test.scan.state = (int)roll(DUEQ_STATES + 1) - 1;
    test.scan.count = (size_t)roll(20) + 1;
    test.scan.by_due = once_in(2);
    test.scan.from = once_in(3) ? INT64_MIN : fixture.time.wall + roll(2000) - 1000;
    test.scan.to = once_in(3) ? INT64_MAX : fixture.time.wall + roll(3000) - 500;
    for (size_t i = 0; i < test.count; i++) {
        struct seen_job *job = &test.jobs[i];

        job->stays = is_wanted(job, &job->then);
        job->returned = false;
    }
}

/* Which jobs have left the state, or moved? */
static void look_who_stays(void)
{
    for (size_t i = 0; i < test.count; i++) {
        struct seen_job *job = &test.jobs[i];
        struct dueq_job found;

        job->stays = job->stays && is_wanted(job, &found) &&
                     (!test.scan.by_due || found.due == job->then.due);
    }
}

static bool take(void *arg, const struct dueq_job *job)
{
    size_t *taken = arg;
    struct seen_job *known = find(job->id);

    assert_non_null(known);
    assert_true(test.scan.state == DUEQ_DEFAULT || (int)job->state == test.scan.state);
    assert_true(in_range(job));
    assert_true(dueq_slice_equal(job->body, text("body")));
    known->returned = true;
    ++*taken;
    return !once_in(10);
}

static void scan_all(void)
{
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    uint64_t changing = test.calls + 60;

    begin_scan();
    do {
        size_t taken = 0;
        enum dueq_status status = dueq_scan(fixture.store, &test.scan, text(cursor),
                                            fixture.time, take, &taken, cursor);

        assert_true(status == DUEQ_OK || (status == DUEQ_NOTFOUND && may_be_absent()));
        assert_true(taken <= test.scan.count);
        for (int64_t i = roll(CHANGES); i > 0 && test.calls < changing; i--) {
            change();
            look_who_stays();
        }
        assert_true(test.calls++ < changing + CALLS_MAX);
        if (status == DUEQ_NOTFOUND)
            break;
    } while (strcmp(cursor, "0") != 0);
    for (size_t i = 0; i < test.count; i++)
        if (test.jobs[i].stays && !test.jobs[i].returned)
            fail_msg("%.*s was missed in a scan of state %d", (int)test.jobs[i].size,
                     test.jobs[i].id, test.scan.state);
}

/* Forgets those that are gone for good: a crash does not bring them back. */
static void forget_gone(void)
{
    size_t kept = 0;

    store_fixture_commit(&fixture);
    for (size_t i = 0; i < test.count; i++) {
        struct dueq_job found;

        if (dueq_get(fixture.store, text("t"), id_of(&test.jobs[i]), fixture.time, &found) ==
            DUEQ_OK)
            test.jobs[kept++] = test.jobs[i];
    }
    test.count = kept;
}

static void a_job_that_stays_is_returned(void **state)
{
    (void)state;
    for (long rounds = dice_setting("ROUNDS", 150); rounds > 0; rounds--) {
        for (int64_t i = roll(60); i > 0; i--)
            change();
        scan_all();
        forget_gone();
    }
}

/* ---- the order */

struct order {
    char ids[JOBS_MAX][ID_MAX];
    size_t count;
};

static bool note(void *arg, const struct dueq_job *job)
{
    struct order *order = arg;

    assert_true(job->state == DUEQ_READY || job->state == DUEQ_DELAYED);
    snprintf(order->ids[order->count++], ID_MAX, "%.*s", (int)job->id.size,
             (const char *)job->id.data);
    return true;
}

/* As claims that wait for nothing better would take them: all that are ready, then, as time
 * passes, each delayed one when it falls due. */
static void claim_in_order(const struct order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        struct dueq_job next, job;

        assert_int_equal(
            dueq_get(fixture.store, text("t"), text(order->ids[i]), fixture.time, &next),
            DUEQ_OK);
        if (next.state == DUEQ_DELAYED)
            store_fixture_pass(&fixture, next.due - fixture.time.wall);
        assert_int_equal(dueq_claim(fixture.store, text("t"), 1000000, fixture.time, &job),
                         DUEQ_OK);
        assert_true(dueq_slice_equal(job.id, text(order->ids[i])));
        dueq_ack(fixture.store, text("t"), job.id, job.token, fixture.time);
    }
}

static void claims_come_as_they_were_peeked_at(void **state)
{
    static struct order order;

    (void)state;
    for (long rounds = dice_setting("ROUNDS", 150) / 5; rounds > 0; rounds--) {
        struct dueq_peek peek = {.topic = text("t"), .state = DUEQ_DEFAULT, .count = JOBS_MAX};
        struct dueq_job job;

        for (int64_t i = roll(200); i > 0; i--)
            change();
        while (dueq_claim(fixture.store, text("t"), 0, fixture.time, &job) == DUEQ_OK)
            dueq_ack(fixture.store, text("t"), job.id, job.token, fixture.time);
        for (int64_t i = roll(100); i > 0; i--)
            push();
        order.count = 0;
        if (dueq_peek(fixture.store, &peek, fixture.time, note, &order) == DUEQ_OK)
            claim_in_order(&order);
        forget_gone();
    }
}

/* ---- forecasts */

enum { BUCKETS = 20 };

static void count_by_looking(int64_t bucket, uint64_t *counts)
{
    for (size_t i = 0; i < test.count; i++) {
        struct dueq_job job;
        int64_t wait;

        if (dueq_get(fixture.store, text("t"), id_of(&test.jobs[i]), fixture.time, &job) !=
                DUEQ_OK ||
            job.state != DUEQ_DELAYED)
            continue;
        wait = job.due - fixture.time.wall - 1;
        if (wait / bucket < BUCKETS)
            counts[wait / bucket]++;
    }
}

/* In one call, or in many that each do a little. */
static void check_forecast(int64_t bucket, bool at_once)
{
    uint64_t counts[BUCKETS] = {0}, wanted[BUCKETS] = {0};
    struct dueq_forecast forecast = {
        .topic = text("t"), .bucket = bucket, .count = BUCKETS, .counts = counts};
    enum dueq_status status;

    count_by_looking(bucket, wanted);
    do {
        unsigned budget = at_once ? UINT32_MAX : 2 + (unsigned)roll(10);

        status = dueq_forecast(fixture.store, &forecast, fixture.time, &budget);
    } while (status == DUEQ_BUSY);
    assert_true(status == DUEQ_OK || (status == DUEQ_NOTFOUND && may_be_absent()));
    assert_memory_equal(counts, wanted, sizeof(counts));
}

/* As claims find it: by taking what is ready one after the other. */
static void check_ahead(void)
{
    for (uint64_t taken = 0; taken < 3 && test.count > 0; taken++) {
        const struct seen_job *job = &test.jobs[roll(test.count)];
        struct dueq_job found;
        uint64_t ahead, before = 0;
        enum dueq_status status =
            dueq_ahead(fixture.store, text("t"), id_of(job), fixture.time, &ahead);
        struct order order = {.count = 0};
        struct dueq_peek peek = {.topic = text("t"), .state = DUEQ_READY, .count = JOBS_MAX};

        if (status == DUEQ_NOTFOUND)
            continue;
        assert_int_equal(status, DUEQ_OK);
        assert_int_equal(dueq_get(fixture.store, text("t"), id_of(job), fixture.time, &found),
                         DUEQ_OK);
        assert_int_equal(dueq_peek(fixture.store, &peek, fixture.time, note, &order), DUEQ_OK);
        while (found.state == DUEQ_READY &&
               !dueq_slice_equal(text(order.ids[before]), id_of(job)))
            before++;
        assert_int_equal(ahead, before);
    }
}

static void forecasts_count_what_is_there(void **state)
{
    (void)state;
    for (long rounds = dice_setting("ROUNDS", 150); rounds > 0; rounds--) {
        for (int64_t i = roll(60); i > 0; i--)
            change();
        check_forecast(1 + roll(300), once_in(2));
        check_ahead();
        forget_gone();
    }
}

static int set_up(void **state)
{
    dice_begin(&test.dice);
    test.count = 0;
    return store_fixture_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(a_job_that_stays_is_returned, set_up,
                                                 store_fixture_tear_down, &fixture),
        cmocka_unit_test_prestate_setup_teardown(claims_come_as_they_were_peeked_at, set_up,
                                                 store_fixture_tear_down, &fixture),
        cmocka_unit_test_prestate_setup_teardown(forecasts_count_what_is_there, set_up,
                                                 store_fixture_tear_down, &fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
