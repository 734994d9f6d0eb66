/* Pressure: how near a commit is to waiting for a checkpoint. The active memtable fills while
 * the frozen one is being written; who slows growth down in time never meets the wait. For the
 * owner's thread. */
#ifndef DUEQ_PRESSURE_H
#define DUEQ_PRESSURE_H

#include <stdint.h>

struct kv;

/* What was in the active memtable and in the journal since the freeze when growth was counted
 * last, bytes. */
struct kv_paced {
    uint64_t memtable, journal;
};

enum {
    KV_PRESSURE_FULL = 1000, /* the memtable is full */
    KV_PRESSURE_MOST = 2000  /* and so is the reserve */
};

/* 0: no checkpoint runs, or the active memtable is less than half full. 1 to 1,000: its second
 * half, or that of the journal's share, whichever is fuller. 1,001 to 2,000: the reserve for
 * what is not growth: half a memtable, and as much journal as a memtable's share; large values
 * do not count here. At 2,000 kv_commit waits, unless options.heeds_pressure. While the disk is
 * full it is 0: kv_room refuses growth, and waiting does not help. O(1). */
unsigned kv_pressure(const struct kv *kv);

/* Call it after each change that makes the store grow: how long the next one should be put off,
 * usec, so that the memtable becomes full when the checkpoint ends, and not before. In
 * proportion to the bytes that were added since the last call and to the pressure; 0 without
 * pressure. The checkpoint is expected to take as long as the last one. O(1). */
uint64_t kv_growth_pause(struct kv *kv);

#endif
