/* The journal with power cuts at any system call, on a disk that sometimes fails: an opening
 * finds each durable record, in order, and after them only the records that were appended next.
 * SEED= reproduces, STEPS= scales. */
#include "tests/support/store/journal_rig.h"

#include <errno.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static struct {
    struct dice dice;
    struct journal_rig rig;
    uint64_t settled;                /* LSN that was durable and must survive */
    uint64_t appended;               /* the last LSN of this timeline */
    uint64_t tried;                  /* the last LSN that was given to the disk */
    uint64_t timelines[RIG_RECORDS]; /* the timeline that wrote the valid record, by LSN */
    bool asks_sync[RIG_RECORDS];     /* is it durable only after a sync? By LSN */
} test;

static void check_durable(void)
{
    struct journal_rig *rig = &test.rig;

    if (rig->read_to < test.settled)
        fail_msg("record %llu was settled; only %llu came back",
                 (unsigned long long)test.settled, (unsigned long long)rig->read_to);
    assert_true(rig->read_to <= test.tried || rig->read_to == rig->after);
    for (uint64_t lsn = rig->read_from; lsn <= rig->read_to; lsn++)
        assert_int_equal(rig->timelines[lsn % RIG_RECORDS], test.timelines[lsn % RIG_RECORDS]);
}

static void track_durable(void)
{
    uint64_t durable = journal_durable_lsn(test.rig.journal);
    uint64_t written = journal_written_lsn(test.rig.journal);
    uint64_t synced = journal_synced_lsn(test.rig.journal);

    assert_true(durable <= written && written <= test.appended);
    for (uint64_t lsn = synced + 1; lsn <= durable; lsn++)
        assert_false(test.asks_sync[lsn % RIG_RECORDS]);
    if (synced > test.settled)
        test.settled = synced;
}

/* Any of the ways to ask, and their sums. */
static void ask_something(void)
{
    struct journal_rig *rig = &test.rig;

    rig->asks = dice_once_in(&test.dice, 2) ? (unsigned)ASKS_MODE
                                            : 1 + (unsigned)dice_roll(&test.dice, 7);
    test.asks_sync[test.tried % RIG_RECORDS] =
        (rig->asks & ASKS_ALWAYS) ||
        ((rig->asks & ASKS_MODE) && rig->options.durability == DUEQ_SYNC_ALWAYS);
}

/* A record whose write failed may be on the disk: perhaps only its padding was missing. */
static void append_one(void)
{
    struct journal_rig *rig = &test.rig;
    size_t size = RIG_PAYLOAD_LEAST + dice_roll(&test.dice, 3) * 300;

    if (dice_once_in(&test.dice, 10))
        size = RIG_PAYLOAD_LEAST + dice_roll(&test.dice, 2 * RIG_SEGMENT);
    test.tried = test.appended + 1;
    test.timelines[test.tried % RIG_RECORDS] = rig->timeline;
    ask_something();
    if (rig_try(rig, size) == DUEQ_OK)
        test.appended++;
}

/* As a checkpoint does: trims records that are synced, and does not read them again. */
static void trim_some(void)
{
    struct journal_rig *rig = &test.rig;
    uint64_t synced = journal_synced_lsn(rig->journal);
    uint64_t back = dice_roll(&test.dice, 30);

    if (synced < rig->after + back)
        return;
    rig->after = synced - back;
    journal_trim(rig->journal, rig->after);
    journal_prepare(rig->journal);
}

static void random_step(void)
{
    uint64_t face = dice_roll(&test.dice, 100);

    if (face < 70)
        append_one();
    else if (face < 85)
        journal_wait(test.rig.journal, dice_roll(&test.dice, 2) ? test.appended : 0);
    else if (face < 90)
        trim_some();
    else if (face < 93)
        journal_sync(test.rig.journal);
    else if (face < 94)
        usleep(1500);
    track_durable();
}

/* A record that was not durable may exist or not; if it does, it must survive from now on. */
static void accept(void)
{
    test.appended = test.tried = test.rig.read_to;
    test.settled = journal_durable_lsn(test.rig.journal);
    assert_int_equal(test.settled, test.appended);
}

/* Makes transfers short, calls fail, the disk full, or syncs slow, for some time. */
static void trouble(void)
{
    static const enum disk_call calls[] = {DISK_WRITE,    DISK_SYNC,   DISK_SYNC_NAMES,
                                           DISK_ALLOCATE, DISK_RENAME, DISK_UNLINK};
    unsigned passing = (unsigned)dice_roll(&test.dice, 20);

    if (dice_once_in(&test.dice, 4))
        fake_disk_shorten(test.rig.disk, 1 + dice_roll(&test.dice, 3000));
    if (dice_once_in(&test.dice, 4))
        fake_disk_fail(test.rig.disk, calls[dice_roll(&test.dice, 6)], passing, 1, EIO);
    else if (dice_once_in(&test.dice, 4))
        fake_disk_fail(test.rig.disk, DISK_ALLOCATE, passing / 2,
                       (unsigned)dice_roll(&test.dice, 20), ENOSPC);
}

/* Opens the journal, writes to it, and ends by a power cut, by a kill, or by a close. */
static void live_once(void)
{
    struct journal_rig *rig = &test.rig;
    int steps = (int)dice_roll(&test.dice, 60);
    enum dueq_status status;

    rig->options.durability = (enum dueq_durability)dice_roll(&test.dice, 3);
    rig->later_every = (unsigned)dice_roll(&test.dice, 4);
    rig->options.note_ms = (unsigned)dice_roll(&test.dice, 2); /* sometimes it writes notes */
    rig->options.stage_bytes = dice_once_in(&test.dice, 2) ? 0 : dice_roll(&test.dice, 6000);
    if (dice_once_in(&test.dice, 2))
        fake_disk_cut_after(rig->disk, 1 + dice_roll(&test.dice, 120));
    trouble();
    status = rig_open(rig);
    if (status == DUEQ_OK) {
        check_durable();
        accept();
        while (steps-- > 0 && !fake_disk_is_dead(rig->disk))
            random_step();
        track_durable();
    } else if (status == DUEQ_CORRUPT) {
        fail_msg("journal_open: %s", rig->error.text);
    }
    if (dice_once_in(&test.dice, 3))
        fake_disk_cut_after(rig->disk, 0);
    rig_close(rig);
    if (fake_disk_is_dead(rig->disk))
        fake_disk_restart(rig->disk, &test.dice);
    fake_disk_cut_after(rig->disk, UINT32_MAX);
}

static void what_is_durable_survives_every_cut(void **state)
{
    long lives = dice_setting("STEPS", 1500);

    (void)state;
    dice_begin(&test.dice);
    rig_init(&test.rig);
    for (long life = 0; life < lives; life++)
        live_once();
    rig_release(&test.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_durable_survives_every_cut)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
