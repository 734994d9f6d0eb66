/* Replay of the journal gives an equal store, byte by byte: after random work of a queue and a
 * crash, the store opens to the same keys and values, with all checkpoints that the work made,
 * and from the journal alone. SEED= reproduces, STEPS= scales. */
#include "storage/kv/cursor.h"
#include "storage/store.h"
#include "storage/dueq.h"
#include "storage/kv/kv.h"
#include "tests/support/dice.h"
#include "tests/support/store/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { TOPICS = 3, HELD = 64 };

struct held {
    int topic;
    int64_t token;
    size_t size;
    uint8_t id[DUEQ_NAME_MAX];
};

struct dump {
    uint8_t *bytes;
    size_t size, capacity, entries;
};

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct held held[HELD]; /* claims not answered yet */
    size_t held_count;
} test;

static const char *topics[TOPICS] = {"mail", "bills", "x"};

static struct dueq_slice topic_of(int topic)
{
    return dueq_slice(topics[topic], strlen(topics[topic]));
}

/* ---- dumps */

static void dump_add(struct dump *dump, const void *bytes, size_t size)
{
    if (dump->size + size > dump->capacity) {
        dump->capacity = (dump->size + size) * 2;
        dump->bytes = realloc(dump->bytes, dump->capacity);
        assert_non_null(dump->bytes);
    }
    if (size > 0)
        memcpy(dump->bytes + dump->size, bytes, size);
    dump->size += size;
}

static void dump_add_slice(struct dump *dump, struct dueq_slice slice)
{
    dump_add(dump, &slice.size, sizeof(slice.size));
    dump_add(dump, slice.data, slice.size);
}

static struct dump dump_of(struct kv *kv)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    struct dump dump = {0};
    enum dueq_status status;

    for (status = kv_cursor_seek(cursor, dueq_slice("\1", 1)); status == DUEQ_OK;
         status = kv_cursor_next(cursor)) {
        dump_add_slice(&dump, kv_cursor_key(cursor));
        dump_add_slice(&dump, kv_cursor_value(cursor));
        dump.entries++;
    }
    assert_int_equal(status, DUEQ_NOTFOUND);
    kv_cursor_free(cursor);
    return dump;
}

static void expect_same(struct dump expected, struct kv *kv)
{
    struct dump found = dump_of(kv);

    assert_int_equal(found.entries, expected.entries);
    assert_int_equal(found.size, expected.size);
    assert_memory_equal(found.bytes, expected.bytes, expected.size);
    free(found.bytes);
}

/* ---- the work of a queue */

static void push(void)
{
    static char body[60000];
    struct dueq_push push;
    struct dueq_slice id;
    char name[16];

    dueq_push_init(&push);
    push.topic = topic_of((int)dice_roll(&test.dice, TOPICS));
    if (dice_once_in(&test.dice, 2))
        push.id = dueq_slice(
            name, (size_t)sprintf(name, "%u", (unsigned)dice_roll(&test.dice, 5000)));
    memset(body, (int)dice_roll(&test.dice, 256), sizeof(body));
    push.body = dueq_slice(
        body, dice_roll(&test.dice, dice_once_in(&test.dice, 60) ? sizeof(body) : 300));
    push.delay = dice_once_in(&test.dice, 2) ? 0 : (int64_t)dice_roll(&test.dice, 3000);
    push.priority = (int)dice_roll(&test.dice, 3) + 127;
    push.ttl =
        dice_once_in(&test.dice, 8) ? (int64_t)dice_roll(&test.dice, 2000) : DUEQ_DEFAULT;
    dueq_push(fixture.store, &push, fixture.time, &id);
}

static void claim(void)
{
    struct held *held = &test.held[test.held_count];
    struct dueq_job job;

    if (test.held_count == HELD)
        return;
    held->topic = (int)dice_roll(&test.dice, TOPICS);
    if (dueq_claim(fixture.store, topic_of(held->topic),
                   1 + (int64_t)dice_roll(&test.dice, 900), fixture.time, &job) != DUEQ_OK)
        return;
    held->token = job.token;
    held->size = job.id.size;
    memcpy(held->id, job.id.data, job.id.size);
    test.held_count++;
}

static void answer(void)
{
    struct dueq_nack nack = {.delay = (int64_t)dice_roll(&test.dice, 500),
                             .error = dueq_slice("failed", 6),
                             .outcome = dice_once_in(&test.dice, 4) ? DUEQ_FATAL : DUEQ_FAILED};
    enum dueq_state state;
    struct held held;
    int64_t end;

    if (test.held_count == 0)
        return;
    held = test.held[--test.held_count];
    switch (dice_roll(&test.dice, 4)) {
    case 0:
        dueq_nack(fixture.store, topic_of(held.topic), dueq_slice(held.id, held.size),
                  held.token, &nack, fixture.time, &state);
        break;
    case 1:
        dueq_extend(fixture.store, topic_of(held.topic), dueq_slice(held.id, held.size),
                    held.token, 500, fixture.time, &end);
        break;
    default:
        dueq_ack(fixture.store, topic_of(held.topic), dueq_slice(held.id, held.size),
                 held.token, fixture.time);
    }
}

static void end_turn(void)
{
    store_fixture_tick(&fixture, 100);
    store_fixture_commit(&fixture);
    dueq_maintain(fixture.store, false);
    store_fixture_pass(&fixture, (int64_t)dice_roll(&test.dice, 100));
}

static void work(long steps)
{
    for (long step = 0; step < steps; step++) {
        uint64_t face = dice_roll(&test.dice, 100);

        if (face < 40)
            push();
        else if (face < 65)
            claim();
        else if (face < 85)
            answer();
        else
            end_turn();
    }
    end_turn();
}

/* ---- the test */

/* Opens the directory twice after a crash: an opening changes nothing. A checkpoint may have
 * reached the last record just before the crash. */
static void expect_replayed(struct dump expected, bool checkpoints)
{
    for (int time = 0; time < 2; time++) {
        struct dueq_stats stats;
        struct kv *kv;

        assert_int_equal(kv_open(fixture.dir, &fixture.options, &kv, NULL), DUEQ_OK);
        kv_get_stats(kv, &stats);
        assert_true(checkpoints || stats.replayed_records > 0);
        expect_same(expected, kv);
        kv_abandon(kv);
    }
}

static void crash_and_compare(bool checkpoints, long steps)
{
    struct dump expected;

    store_fixture_open(&fixture);
    work(steps);
    expected = dump_of(fixture.store->kv);
    assert_true(expected.entries > 100);
    store_fixture_abandon(&fixture);
    test.held_count = 0;
    expect_replayed(expected, checkpoints);
    free(expected.bytes);
}

static void expect_checkpoints(bool some)
{
    struct dueq_stats stats;

    store_fixture_open(&fixture);
    dueq_get_stats(fixture.store, &stats);
    assert_int_equal(stats.lsn - stats.replayed_records > 0, some);
    store_fixture_abandon(&fixture);
}

static void run(size_t memtable_bytes, bool checkpoints)
{
    long steps = dice_setting("STEPS", 20000);

    if (steps < 4000)
        steps = 4000; /* with fewer the journal has too little to replay */
    dice_begin(&test.dice);
    store_fixture_init(&fixture);
    fixture.options.memtable_bytes = memtable_bytes;
    fixture.options.map_bytes = 256 << 20;
    fixture.options.seed = 42;
    for (int crash = 0; crash < 4; crash++)
        crash_and_compare(checkpoints, steps / 4);
    expect_checkpoints(checkpoints);
    store_fixture_release(&fixture);
}

static void replay_over_checkpoints_gives_the_same_bytes(void **state)
{
    (void)state;
    run(100000, true);
}

static void replay_of_the_journal_alone_gives_the_same_bytes(void **state)
{
    (void)state;
    run(64 << 20, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_over_checkpoints_gives_the_same_bytes),
        cmocka_unit_test(replay_of_the_journal_alone_gives_the_same_bytes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
