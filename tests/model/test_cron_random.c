/* Random steps with recurring jobs (STEPS, SEED): entries that come, change, pause and run,
 * jobs that end or stay, topics that take nothing, clocks that go on and step, commits, crashes
 * and restarts. A plain model says how often each entry has fired, when it does next, and how
 * many jobs there are. When a spec comes next is the matter of
 * tests/unit/storage/test_calendar. */
#include "storage/queue/cron_entries.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/dice.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum {
    ENTRIES = 6,
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    BATCH_MOST = 500000
};
#define DAY   ((int64_t)24 * HOUR)
#define MONTH (30 * DAY)

struct entry {
    bool there, paused, alive; /* alive: the last job has not ended */
    const char *spec;          /* NULL: every */
    struct cron_spec parsed;
    int64_t every, delay, base, local, seen, made_up, retry;
    enum dueq_catchup catchup;
    enum dueq_overlap overlap;
    uint64_t fired, missed, overlapped;
};

struct model {
    struct entry entries[ENTRIES];
    uint64_t jobs[ENTRIES]; /* in a topic for each */
    bool refuses[ENTRIES];
};

static struct store_fixture test;
static struct model now, committed;
static int64_t greatest_offset;
static struct dice dice;

static const char *const names[ENTRIES] = {"a", "b", "c", "d", "e", "f"};

/* An hour forward and back every 50 hours. */
static bool zone_of_test(void *arg, const char *zone, int64_t time, int32_t *ret_offset)
{
    (void)arg, (void)zone;
    *ret_offset = time / (50 * 3600) % 2 == 0 ? 3600 : 7200;
    return true;
}

static const struct calendar_zone place = {.offset = zone_of_test};

/* ---- the model */

static int64_t floor_seconds(int64_t ms)
{
    return ms / SECOND; /* the clocks of the test are after 1970 */
}

static int64_t clock_of(const struct entry *entry)
{
    return entry->spec == NULL ? test.time.now : test.time.wall;
}

static void go_after(struct entry *entry, int64_t time)
{
    struct calendar_point point;

    if (entry->spec == NULL) {
        while (entry->base + entry->delay <= time)
            entry->base += entry->every;
        return;
    }
    assert_int_equal(
        calendar_after(&entry->parsed, &place, floor_seconds(time - entry->delay), &point),
        CALENDAR_FOUND);
    entry->base = point.time * SECOND;
    entry->local = point.local;
}

static void go_on(struct entry *entry)
{
    struct calendar_point point = {entry->base / SECOND, entry->local};

    if (entry->spec == NULL) {
        entry->base += entry->every;
        return;
    }
    assert_int_equal(calendar_next(&entry->parsed, &place, &point), CALENDAR_FOUND);
    entry->base = point.time * SECOND;
    entry->local = point.local;
}

/* False: the push is refused. */
static bool model_fire(struct entry *entry, int topic)
{
    if (entry->overlap == DUEQ_OVERLAP_SKIP && entry->alive) {
        entry->overlapped++;
        return true;
    }
    if (now.refuses[topic])
        return false;
    entry->alive = true;
    entry->fired++;
    now.jobs[topic]++;
    return true;
}

static bool model_run(struct entry *entry, int topic)
{
    int64_t time = clock_of(entry);
    bool late = time - entry->base - entry->delay > DUEQ_CRON_LATE_MS,
         over =
             late &&
             (entry->catchup == DUEQ_CATCHUP_NONE ||
              (entry->catchup == DUEQ_CATCHUP_ALL && entry->made_up >= DUEQ_CRON_MADE_UP_MAX));

    if (!entry->there || entry->paused || entry->base + entry->delay > time ||
        entry->retry > test.time.now)
        return false;
    if (over) {
        entry->missed++;
    } else if (!model_fire(entry, topic)) {
        entry->retry = test.time.now + SECOND;
        return false;
    }
    entry->made_up =
        late && !over && entry->catchup == DUEQ_CATCHUP_ALL ? entry->made_up + 1 : 0;
    if (over || (late && entry->catchup == DUEQ_CATCHUP_ONE))
        go_after(entry, time);
    else
        go_on(entry);
    entry->seen = test.time.wall;
    entry->retry = 0;
    return true;
}

/* The wall clock was set back. */
static void model_turn_back(bool restarted)
{
    int64_t offset = test.time.wall - test.time.now;

    if (offset > greatest_offset || restarted)
        greatest_offset = offset;
    if (offset > greatest_offset - MINUTE && !restarted)
        return;
    greatest_offset = offset;
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *entry = &now.entries[i];
        int64_t back = entry->seen - test.time.wall;

        if (!entry->there || entry->paused || entry->spec == NULL || back < MINUTE ||
            (back < 3 * HOUR && !entry->parsed.follows_clock))
            continue;
        go_after(entry, test.time.wall);
        entry->seen = test.time.wall;
        entry->retry = 0;
    }
}

static void model_tick(bool restarted)
{
    bool any = false;

    for (int i = 0; i < ENTRIES; i++)
        any |= now.entries[i].there;
    if (!any)
        greatest_offset = test.time.wall - test.time.now;
    else
        model_turn_back(restarted);
    for (int i = 0; i < ENTRIES; i++)
        while (model_run(&now.entries[i], i))
            continue;
}

/* ---- steps */

static void set_entry(int i)
{
    static const char *const specs[] = {"* * * * * *",    "*/5 * * * *", "30 * * * *",
                                        "0,30 1-4 * * *", "15 3 * * *",  "@daily"};
    static const int64_t lengths[] = {SECOND, 7 * SECOND, 61 * SECOND, HOUR};
    struct entry *entry = &now.entries[i], was = *entry;
    struct dueq_cron cron;
    char error[CRON_SPEC_ERROR_MAX];

    dueq_cron_init(&cron);
    cron.name = cron.push.topic = text(names[i]);
    cron.push.body = text("body");
    cron.catchup = entry->catchup = (enum dueq_catchup)dice_roll(&dice, 3);
    cron.overlap = entry->overlap = (enum dueq_overlap)dice_roll(&dice, 2);
    cron.jitter = dice_once_in(&dice, 3) ? 90 * SECOND : 0;
    entry->spec = NULL;
    entry->every = 0;
    if (dice_once_in(&dice, 2)) {
        entry->spec = specs[dice_roll(&dice, sizeof(specs) / sizeof(*specs))];
        cron.spec = text(entry->spec);
        cron.zone = text("Test/Place");
        assert_true(cron_spec_parse(cron.spec, &entry->parsed, error));
    } else {
        cron.every = entry->every = lengths[dice_roll(&dice, 4)];
    }
    assert_int_equal(dueq_cron_set(test.store, &cron, test.time, NULL), DUEQ_OK);
    entry->delay = cron_delay(cron.name, &(struct cron_rule){.jitter = cron.jitter});
    entry->retry = 0;
    if (was.there && was.spec == entry->spec && was.every == entry->every &&
        was.delay == entry->delay)
        return;
    if (!was.there) {
        entry->paused = entry->alive = false;
        entry->fired = entry->missed = entry->overlapped = 0;
    }
    entry->there = true;
    entry->made_up = 0;
    entry->base = test.time.now;
    entry->seen = test.time.wall;
    if (entry->spec == NULL)
        entry->base += entry->every;
    else
        go_after(entry, test.time.wall);
}

static void del_entry(int i)
{
    assert_int_equal(dueq_cron_del(test.store, text(names[i])),
                     now.entries[i].there ? DUEQ_OK : DUEQ_NOTFOUND);
    now.entries[i] = (struct entry){.there = false};
}

static void pause_entry(int i, bool pause)
{
    struct entry *entry = &now.entries[i];

    assert_int_equal(dueq_cron_pause(test.store, text(names[i]), pause, test.time),
                     entry->there ? DUEQ_OK : DUEQ_NOTFOUND);
    if (!entry->there || entry->paused == pause)
        return;
    entry->paused = pause;
    entry->made_up = entry->retry = 0;
    if (pause)
        return;
    go_after(entry, clock_of(entry));
    entry->seen = test.time.wall;
}

static void run_entry(int i)
{
    struct entry *entry = &now.entries[i];
    struct dueq_pushed pushed;
    enum dueq_status wanted = DUEQ_OK;

    if (!entry->there)
        wanted = DUEQ_NOTFOUND;
    else if (entry->overlap == DUEQ_OVERLAP_SKIP && entry->alive)
        wanted = DUEQ_WRONGSTATE;
    else if (now.refuses[i])
        wanted = DUEQ_PAUSED;
    assert_int_equal(dueq_cron_run(test.store, text(names[i]), test.time, &pushed), wanted);
    if (wanted != DUEQ_OK)
        return;
    entry->retry = 0;
    model_fire(entry, i);
}

static void end_jobs(int i)
{
    struct dueq_job job;

    while (dueq_claim(test.store, text(names[i]), DUEQ_DEFAULT, test.time, &job) == DUEQ_OK) {
        assert_int_equal(dueq_ack(test.store, text(names[i]), job.id, job.token, test.time),
                         DUEQ_OK);
        now.jobs[i]--;
    }
    assert_int_equal(now.jobs[i], 0);
    now.entries[i].alive = false;
}

static void refuse_jobs(int i)
{
    struct dueq_topic_stats stats;

    now.refuses[i] = !now.refuses[i] &&
                     dueq_topic_stats(test.store, text(names[i]), test.time, &stats) == DUEQ_OK;
    dueq_pause(test.store, text(names[i]), now.refuses[i], false, DUEQ_DEFAULT, test.time);
}

static void pass_time(void)
{
    static const int64_t most[] = {3 * SECOND, 3 * SECOND, 100 * SECOND, 20 * MINUTE, 3 * HOUR};

    store_fixture_pass(&test, (int64_t)dice_roll(&dice, (uint64_t)most[dice_roll(&dice, 5)]));
}

static void step_clock(void)
{
    static const int64_t most[] = {SECOND, 2 * MINUTE, 2 * HOUR, 6 * HOUR, 2 * DAY};
    int64_t limit = dice_once_in(&dice, 40) ? MONTH : most[dice_roll(&dice, 5)],
            by = (int64_t)dice_roll(&dice, (uint64_t)limit);

    test.time.wall += dice_once_in(&dice, 2) ? by : -by;
}

static void commit(void)
{
    store_fixture_commit(&test);
    committed = now;
}

/* An entry that was tried again is tried at once. */
static void restart(bool crash)
{
    if (crash) {
        store_fixture_crash(&test);
        now = committed;
    } else {
        commit();
        store_fixture_reopen(&test);
    }
    for (int i = 0; i < ENTRIES; i++)
        now.entries[i].retry = 0;
    dueq_set_zones(test.store, zone_of_test, NULL);
}

/* ---- comparison */

static void compare(int i)
{
    const struct entry *entry = &now.entries[i];
    struct dueq_topic_stats stats = {.counts = {0}};
    struct dueq_cron_state state;
    struct dueq_cron cron;

    dueq_topic_stats(test.store, text(names[i]), test.time, &stats);
    assert_int_equal(stats.counts[DUEQ_READY], now.jobs[i]);
    assert_int_equal(dueq_cron_get(test.store, text(names[i]), &cron, &state),
                     entry->there ? DUEQ_OK : DUEQ_NOTFOUND);
    if (!entry->there)
        return;
    assert_int_equal(state.fired, entry->fired);
    assert_int_equal(state.missed, entry->missed);
    assert_int_equal(state.overlapped, entry->overlapped);
    assert_int_equal(state.paused, entry->paused);
    if (!entry->paused)
        assert_int_equal(state.next -
                             (entry->spec == NULL ? test.time.wall - test.time.now : 0),
                         entry->base + entry->delay);
}

static void tick(bool restarted)
{
    bool commits = false;

    while (dueq_tick(test.store, test.time, 1 + (unsigned)dice_roll(&dice, 200)) ||
           dueq_next_tick(test.store, test.time) == 0) {
        if (dueq_batch_bytes(test.store) < BATCH_MOST)
            continue;
        store_fixture_commit(&test);
        commits = true;
    }
    model_tick(restarted);
    if (commits)
        commit();
    assert_null(queue_check(test.store->queue));
    for (int i = 0; i < ENTRIES; i++)
        compare(i);
}

static void step(void)
{
    int i = (int)dice_roll(&dice, ENTRIES);
    bool restarted = false;

    switch (dice_roll(&dice, 20)) {
    case 0:
    case 1:
        set_entry(i);
        break;
    case 2:
        del_entry(i);
        break;
    case 3:
        pause_entry(i, dice_once_in(&dice, 2));
        break;
    case 4:
        run_entry(i);
        break;
    case 5:
    case 6:
        end_jobs(i);
        break;
    case 7:
        refuse_jobs(i);
        break;
    case 8:
        step_clock();
        break;
    case 9:
    case 10:
        commit();
        break;
    case 11:
        restart(dice_once_in(&dice, 2));
        restarted = true;
        break;
    case 12:
        commit();
        store_fixture_checkpoint(&test);
        break;
    default:
        pass_time();
    }
    tick(restarted);
}

static void random_steps(void **state)
{
    long steps = dice_setting("STEPS", 3000);

    (void)state;
    dueq_set_zones(test.store, zone_of_test, NULL);
    greatest_offset = test.time.wall - test.time.now;
    tick(false);
    commit();
    for (long i = 0; i < steps; i++)
        step();
    commit();
    store_fixture_verify(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {store_fixture_test(random_steps, test)};

    dice_begin(&dice);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
