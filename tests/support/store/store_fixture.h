/* One store in a directory of its own, on a clock that the test moves. An error fails the
 * running test and prints the store's message.
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
 * and store_fixture_tear_down as the tear-down. A test that uses the defaults needs no set-up
 * of its own: store_fixture_test(function, test). */
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

/* An empty directory, clocks at STORE_FIXTURE_START, and the default options except for small
 * files (segments of 1 MiB, a map of 1 GiB), no disk reserve, and no syncs: the kernel keeps
 * what an abandoned store has written. Does not open the store. */
void store_fixture_init(struct store_fixture *ret_fixture);

/* Abandons the store and removes the directory. */
void store_fixture_release(struct store_fixture *fixture);

/* cmocka set-up and tear-down; *state is the fixture. Opens the store; closes it, ignoring
 * errors, and releases the fixture. */
int store_fixture_set_up(void **state);
int store_fixture_tear_down(void **state);

#define store_fixture_test(function, fixture)                                                  \
    cmocka_unit_test_prestate_setup_teardown(function, store_fixture_set_up,                   \
                                             store_fixture_tear_down, &(fixture))

void store_fixture_open(struct store_fixture *fixture);
/* No-op when it is not open. */
void store_fixture_close(struct store_fixture *fixture);
/* Like a crash: what was not committed is lost. No-op when it is not open. */
void store_fixture_abandon(struct store_fixture *fixture);

void store_fixture_reopen(struct store_fixture *fixture); /* after a clean close */
void store_fixture_crash(struct store_fixture *fixture);  /* after a crash */

void store_fixture_commit(struct store_fixture *fixture);
void store_fixture_checkpoint(struct store_fixture *fixture);

/* Fails the test with the first finding of dueq_verify. There is no batch. */
void store_fixture_verify(struct store_fixture *fixture);

struct dueq_stats store_fixture_stats(const struct store_fixture *fixture);

/* Moves both clocks; does not do what falls due. */
void store_fixture_pass(struct store_fixture *fixture, int64_t ms);
/* Runs ticks of `budget` steps each until nothing is left to do. Nothing is erased while a
 * checkpoint is late; then it commits, and waits for the checkpoint. */
void store_fixture_tick(struct store_fixture *fixture, unsigned budget);

#endif
