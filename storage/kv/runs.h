/* Runs: what checkpoints have written of the tables whose keys come in random order, and what
 * is not folded into these tables yet. A checkpoint appends its records to a run of its own, a
 * few full pages, instead of changing a page of the table for each of them; later, fold.h folds
 * many runs into one larger run, and what has become large into the tables. Private to
 * storage/kv.
 *
 * A run's records are in LMDB after all tables: the key is RUNS_LEAD, the number of the run and
 * the key in the table; the value is a byte and the table's value. Before them is the run's
 * filter (run_filter.h). A run hides those before it in the list, and all hide the tables. */
#ifndef DUEQ_RUNS_H
#define DUEQ_RUNS_H

#include "storage/bytes.h"
#include "storage/kv/key.h"

#include <stdbool.h>

enum {
    RUNS_MOST = 64,
    RUNS_LEAD = 0xff, /* no table has this byte */
    RUNS_KEY_MAX = 64 /* bytes of a key in its table; longer ones are in no run */
};

struct run {
    uint64_t number;
    uint64_t records; /* about: not without those that were deleted at once */
    uint8_t level; /* 0: a checkpoint's; else one more than that of the runs folded into it */
    bool whole;    /* has its filter, and gains no more records */
};

/* The runs that there are, the newest last. */
struct run_list {
    uint64_t next; /* the number of the next one to come */
    unsigned count;
    struct run runs[RUNS_MOST];
};

/* Adds a run with the next number, as number `at` of the list. There are fewer than RUNS_MOST.
 */
struct run *run_list_add(struct run_list *list, unsigned at, unsigned level);
void run_list_remove(struct run_list *list, unsigned at, unsigned count);
/* Where a run is in the list; the list's count: it is not there. */
unsigned run_list_find(const struct run_list *list, uint64_t number);
/* Records of all. */
uint64_t run_list_records(const struct run_list *list);

/* ---- which tables */

/* May records of this table be in runs? Those of the schedule and of the index of ids may. */
bool runs_take_table(uint8_t table);
/* Can a record with this key be in a run? */
bool runs_take(struct dueq_slice key);
/* Are its tombstones carried out at once, in runs and table? The schedule's are: it is walked
 * from its head, where they gather, and there they cost few pages. So no run has any, and no
 * two of runs and table have one key. */
bool runs_delete_at_once(uint8_t table);
/* How many bytes of the key name the lane of the schedule, or what else is walked in order. */
size_t runs_lane_size(struct dueq_slice key);
/* The first such table after `table`, the last one before it; 0: none. */
uint8_t runs_table_after(uint8_t table);
uint8_t runs_table_before(uint8_t table);

/* ---- records */

struct run_key {
    size_t head; /* bytes before the key in the table */
    uint8_t bytes[1 + BYTES_NUMBER_MAX + KV_KEY_MAX];
};

void run_key_start(struct run_key *key, uint64_t run);
/* The key of a record of that run; lives until the next call. key: KV_KEY_MAX bytes at most. */
struct dueq_slice run_key_of(struct run_key *run, struct dueq_slice key);
/* The least key that a record of a table can have in the run. */
struct dueq_slice run_key_first(struct run_key *run);
/* What all keys of the run begin with, those of its filter included. */
struct dueq_slice run_key_head(const struct run_key *run);
bool run_key_has_head(const struct run_key *run, struct dueq_slice whole);
/* False: it is not the key of a table's record in this run. */
bool run_key_read(const struct run_key *run, struct dueq_slice whole,
                  struct dueq_slice *ret_key);

/* The byte before a value. */
enum { RUN_TOMBSTONE, RUN_VALUE };
/* False: it is no value of a run. */
bool run_value_read(struct dueq_slice whole, bool *ret_tombstone, struct dueq_slice *ret_value);

#endif
