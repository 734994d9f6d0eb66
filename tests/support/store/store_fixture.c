#include "storage/store.h"
#include "tests/support/store/store_fixture.h"

#include "storage/kv/kv.h"
#include "tests/support/temp_dir.h"

#include "tests/support/cmocka.h"

void store_fixture_init(struct store_fixture *ret_fixture)
{
    int64_t start = STORE_FIXTURE_START;

    *ret_fixture = (struct store_fixture){.dir = temp_dir_new(), .time = {start, start, start}};
    dueq_options_init(&ret_fixture->options);
    ret_fixture->options.durability = DUEQ_SYNC_NONE;
    ret_fixture->options.segment_bytes = (size_t)1 << 20;
    ret_fixture->options.map_bytes = (uint64_t)256 << 20;
    ret_fixture->options.disk_reserve_bytes = 0;
}

void store_fixture_release(struct store_fixture *fixture)
{
    store_fixture_abandon(fixture);
    temp_dir_remove(fixture->dir);
    fixture->dir = NULL;
}

int store_fixture_set_up(void **state)
{
    struct store_fixture *fixture = *state;

    store_fixture_init(fixture);
    store_fixture_open(fixture);
    return 0;
}

int store_fixture_tear_down(void **state)
{
    struct store_fixture *fixture = *state;

    dueq_close(fixture->store);
    fixture->store = NULL;
    store_fixture_release(fixture);
    return 0;
}

void store_fixture_open(struct store_fixture *fixture)
{
    struct dueq_error error = {""};

    if (dueq_open(fixture->dir, &fixture->options, fixture->time, &fixture->store, &error) !=
        DUEQ_OK)
        fail_msg("%s", error.text);
    fixture->view = (struct keys_view){store_keys(fixture->store), 0, fixture->time};
}

void store_fixture_close(struct store_fixture *fixture)
{
    enum dueq_status status = dueq_close(fixture->store);

    fixture->store = NULL;
    assert_int_equal(status, DUEQ_OK);
}

/* Waits until the last commit is durable: the sync thread writes large records later. */
static void wait_for_commits(struct store_fixture *fixture)
{
    if (fixture->store != NULL)
        dueq_wait(fixture->store, kv_last_lsn(fixture->store->kv));
}

void store_fixture_abandon(struct store_fixture *fixture)
{
    wait_for_commits(fixture);
    dueq_abandon(fixture->store);
    fixture->store = NULL;
}

void store_fixture_reopen(struct store_fixture *fixture)
{
    store_fixture_close(fixture);
    store_fixture_open(fixture);
}

void store_fixture_crash(struct store_fixture *fixture)
{
    store_fixture_abandon(fixture);
    store_fixture_open(fixture);
}

void store_fixture_commit(struct store_fixture *fixture)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(fixture->store, fixture->time, &lsn), DUEQ_OK);
}

void store_fixture_checkpoint(struct store_fixture *fixture)
{
    assert_int_equal(dueq_checkpoint(fixture->store, fixture->time), DUEQ_OK);
}

static void fail_with_finding(void *arg, const char *where, const char *what)
{
    (void)arg;
    fail_msg("%s: %s", where, what);
}

void store_fixture_verify(struct store_fixture *fixture)
{
    struct dueq_verify verify = {.on_finding = fail_with_finding};

    assert_int_equal(dueq_verify(fixture->store, &verify), DUEQ_OK);
}

struct dueq_stats store_fixture_stats(const struct store_fixture *fixture)
{
    struct dueq_stats stats;

    dueq_get_stats(fixture->store, &stats);
    return stats;
}

void store_fixture_pass(struct store_fixture *fixture, int64_t ms)
{
    fixture->time.now += ms;
    fixture->time.wall += ms;
    fixture->time.ceiling = fixture->time.now;
    fixture->view.time = fixture->time;
}

void store_fixture_tick(struct store_fixture *fixture, unsigned budget)
{
    for (;;) {
        while (dueq_tick(fixture->store, fixture->time, budget))
            continue;
        /* pressure, which puts work off, can end between two looks */
        if (dueq_pressure(fixture->store) == 0 &&
            dueq_next_tick(fixture->store, fixture->time) > 0)
            return;
        store_fixture_checkpoint(fixture);
    }
}
