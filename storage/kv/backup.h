/* Backups: a directory with the state of the store, made by a thread of its own while the store
 * goes on. Private to storage/kv; for the owner's thread. */
#ifndef DUEQ_BACKUP_H
#define DUEQ_BACKUP_H

#include "storage/stats.h"
#include "storage/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct kv;
struct lmdb_backup;

struct kv_backup {
    char *path;        /* of the complete backup; NULL: none is asked for and none runs */
    char *partial;     /* of the directory that it is made in */
    char *base;        /* path of what an increment goes on from; NULL: a whole backup */
    bool known;        /* wanted_lsn is */
    bool runs;         /* the thread */
    uint64_t base_lsn; /* of the increment's base */
    uint64_t wanted_lsn, lsn;   /* what it must contain; what it contains */
    struct lmdb_backup *source; /* NULL: the thread does not run yet */
    uint64_t began;             /* monotonic usec */
    uint64_t done, failed, last_lsn, last_bytes, last_usec;
    enum dueq_status last_status;
    /* of the thread */
    const struct dueq_io *io;
    void *kv; /* for kv_on_notice */
    uint64_t disk_reserve, size;
    uint64_t seed, history;
    pthread_t thread;
    enum dueq_status status; /* when `ended` */
    bool full;
    _Atomic(uint64_t) copied; /* bytes */
    _Atomic(bool) stop, ended;
};

/* Call it in each kv_maintain: begins what was asked for, sees the end. */
void kv_backup_turn(struct kv *kv);
/* A checkpoint has ended, and the next one has not begun. */
void kv_backup_checkpoint_ended(struct kv *kv);
/* Gives up the one that runs, and removes what there is of it. Waits for the thread. */
void kv_backup_stop(struct kv *kv);
bool kv_backup_rests(const struct kv *kv);
void kv_backup_get_stats(const struct kv *kv, struct dueq_stats *ret_stats);

#endif
