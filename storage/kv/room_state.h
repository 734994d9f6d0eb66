/* What room.c keeps of a store, and when kv.c calls it. Private to storage/kv. */
#ifndef DUEQ_ROOM_STATE_H
#define DUEQ_ROOM_STATE_H

#include "storage/kv/lmdb_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv;

enum { ROOM_LARGE = 2000, ROOM_HUGE = 256 * 1024 }; /* bytes of a value */

/* Bytes of values that need consecutive pages of data.mdb. */
struct room_values {
    uint64_t large; /* of values above ROOM_LARGE bytes */
    uint64_t huge;  /* of those above ROOM_HUGE: too long for the runs of free pages that are
                     * counted */
};

struct room_state {
    struct lmdb_room data;             /* after the last checkpoint; `file` is kept current */
    uint64_t run_records;              /* then: of all runs, which are to be folded */
    struct room_values active, frozen; /* of the memtables */
    uint64_t checked;                  /* monotonic usec of the last check */
    uint64_t grown;                    /* and of the last request to grow ahead */
    bool grows;                        /* the checkpoint thread makes the file longer */
    bool refused;   /* growth, since the last compaction began: there was no room */
    size_t granted; /* bytes that the batch may reach (kv_room_grant); 0: no grant */
};

/* Call it when the store is open. */
void kv_room_open(struct kv *kv);
/* Checks, every 200 ms at most, whether room was lost or has returned. True: it
 * has. */
bool kv_room_check(struct kv *kv);
/* Has the checkpoint thread make data.mdb longer before it is too short. Call it in each turn.
 */
void kv_room_ahead(struct kv *kv);
/* Is the store full, and the room for moves so small that what the memtable takes must be known
 * and not estimated? Then a checkpoint should follow at once. */
bool kv_room_is_tight(const struct kv *kv);
/* Is the store full, and does a memtable hold what may have drained it? That is room again when
 * a checkpoint has merged it, and nothing fills the memtable while pushes are refused. Not if
 * the journal may be full before that checkpoint ends: it would wait for another one. */
bool kv_room_is_drained(const struct kv *kv);
/* Bytes that a record must have for what drains the store, beside the requested change. */
size_t kv_room_slack(const struct kv *kv);
/* Call it when a checkpoint or a compaction has ended. */
void kv_room_measure(struct kv *kv);
/* The bytes of data.mdb, besides those in use, that what was accepted may take, and what drains
 * the store. */
uint64_t kv_room_promised(const struct kv *kv);
/* Call them when the active memtable becomes the frozen one, and when the frozen one is
 * freed. */
void kv_room_freeze(struct kv *kv);
void kv_room_release(struct kv *kv);

/* Call it when a value of that size is put into the active memtable. */
static inline void kv_room_put(struct room_state *room, size_t size)
{
    if (size > ROOM_LARGE)
        room->active.large += size;
    if (size > ROOM_HUGE)
        room->active.huge += size;
}

#endif
