/* One store in a directory of its own, on a clock that the test moves. What goes wrong here
 * fails the running test with the store's own words.
 *
 *     static struct store_fixture test;
 *
 *     static int set_up(void **state)
 *     {
 *         *state = &test;
 *         store_fixture_init(&test);
 *         test.options.memtable_bytes = 200000;
 *         store_fixture_open(&test);
 *         return 0;
 *     }
 *
 * and store_fixture_tear_down as the tear-down. A test that takes everything as it is needs no
 * set-up of its own: store_fixture_test(function, test). */
#ifndef DUEQ_STORE_FIXTURE_H
#define DUEQ_STORE_FIXTURE_H

#include "storage/dueq.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"

#define STORE_FIXTURE_START INT64_C(1700000000000) /* unix ms at which its clocks begin */

struct store_fixture {
    char *dir;
    struct dueq_options options; /* of the next opening */
    struct dueq_time time;       /* of every call */
    struct dueq *store;          /* NULL: not open */
    struct keys_view view;       /* database 0 of the open store, now */
};

/* An empty directory, clocks at STORE_FIXTURE_START, and the store's own options but for small
 * files (segments of 1 MiB, a map of 1 GiB), no room reserved on the disk, and no syncs: what
 * is abandoned is never cut off, for the kernel keeps it. Does not open the store. */
void store_fixture_init(struct store_fixture *ret_fixture);

/* Abandons the store and removes the directory. */
void store_fixture_release(struct store_fixture *fixture);

/* As cmocka set-up and tear-down, *state is the fixture: an open store; closes it, whatever
 * comes of that, and releases the fixture. */
int store_fixture_set_up(void **state);
int store_fixture_tear_down(void **state);

#define store_fixture_test(function, fixture)                                                  \
    cmocka_unit_test_prestate_setup_teardown(function, store_fixture_set_up,                   \
                                             store_fixture_tear_down, &(fixture))

void store_fixture_open(struct store_fixture *fixture);
/* Nothing to do when it is not open. */
void store_fixture_close(struct store_fixture *fixture);
/* As a crash: what was not committed is lost. Nothing to do when it is not open. */
void store_fixture_abandon(struct store_fixture *fixture);

void store_fixture_reopen(struct store_fixture *fixture); /* after a clean close */
void store_fixture_crash(struct store_fixture *fixture);  /* after a crash */

void store_fixture_commit(struct store_fixture *fixture);
void store_fixture_checkpoint(struct store_fixture *fixture);

struct dueq_stats store_fixture_stats(const struct store_fixture *fixture);

/* Both clocks go on; what falls due is not done yet. */
void store_fixture_pass(struct store_fixture *fixture, int64_t ms);
/* Ticks of so many steps each until nothing is left to do. */
void store_fixture_tick(struct store_fixture *fixture, unsigned budget);

#endif
