/* One data.mdb that is open, and the inside of the store of such files. Private to lmdb_*.c,
 * which alone call LMDB. */
#ifndef DUEQ_LMDB_INTERNAL_H
#define DUEQ_LMDB_INTERNAL_H

#include "storage/kv/lmdb_store.h"
#include "storage/kv/pages/pages.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

struct lmdb_file {
    const struct dueq_io *io;
    int fd;                      /* besides LMDB's own; -1: none */
    _Atomic(uint64_t) allocated; /* bytes that certainly have blocks on the disk */
    MDB_env *env;
    MDB_dbi dbi;
    struct pages *reader; /* the owner's */
    struct pages *writer; /* the checkpoint thread's */
    uint64_t number;      /* of all files of the store, in order */
    unsigned uses;        /* by the owner's snapshot, and by holds */
    void *map;            /* LMDB's, of the views too; NULL: it is not known */
    size_t map_bytes;
};

/* A snapshot that somebody holds. */
struct lmdb_hold {
    struct lmdb_file *file;
    MDB_txn *txn;
    unsigned holders;
};

/* After a compaction the owner may still read the file before (`shown`), until it renews its
 * snapshot; and holds may keep it longer. */
struct lmdb_store {
    const struct dueq_io *io;
    char *dir;
    char *data;  /* path of the file with the pages, not of a link to it; NULL: not known yet */
    char *place; /* the directory in which it has that name; NULL likewise */
    uint64_t map_bytes;
    _Atomic(struct lmdb_file *)
        file;                /* the present one, to which the checkpoint thread writes */
    struct lmdb_file *shown; /* that of `snapshot` */
    MDB_txn *snapshot,
        *other;               /* reads use `snapshot`; `other`, of the same file, replaces it */
    struct pages_limit limit; /* of the owner's reads */
    struct lmdb_hold *held;   /* the snapshot, if it is held */
    unsigned held_count;      /* snapshots that are held, older ones included */
    uint64_t generation;
    _Atomic(int) snapshot_use; /* enum snapshot_use: which thread may renew the snapshot */
    pthread_mutex_t renewing;  /* of the checkpoint thread while it renews the snapshot */
    _Atomic(bool) drops;       /* lmdb_drop_after_commits */
    _Atomic(int) last_error;
    _Atomic(const struct pages *) last_damage; /* NULL: last_error says it */
    _Atomic(uint64_t) growth; /* bytes by which the checkpoint thread makes the file longer */
    /* a compaction */
    struct lmdb_file *copy;             /* is being made, or is the present one; NULL: none */
    _Atomic(struct lmdb_file *) unused; /* the file before, which nobody reads any more */
    _Atomic(bool) has_before;           /* there is a file before */
    pthread_mutex_t lock;               /* of what follows */
    uint64_t promised;                  /* bytes that the copy must have besides its pages */
    uint64_t disk_reserve;              /* bytes of the disk that the copy leaves free */
    uint64_t copy_used;                 /* bytes of its pages */
    bool kept;                          /* the copy has what is promised */
};

/* ---- lmdb_store.c */

/* What an error of LMDB or errno means; notes it. */
enum dueq_status lmdb_status_of(struct lmdb_store *store, int error);

/* The owner's: it uses its snapshot, which the checkpoint thread does not renew now. */
void lmdb_pin(struct lmdb_store *store);
/* The owner's: ends one of file->uses. */
void lmdb_leave_file(struct lmdb_store *store, struct lmdb_file *file);

/* ---- lmdb_copy.c */

/* Sets store->data and place. path: of data.mdb. 0, or errno. */
int lmdb_find_data(struct lmdb_store *store, const char *path);
/* Removes the file of a copy that did not end. 0, or errno. */
int lmdb_remove_copy(struct lmdb_store *store);

/* ---- lmdb_file.c. An int is an error of LMDB or errno, or 0. */

struct lmdb_file *lmdb_file_new(const struct dueq_io *io); /* NULL: out of memory */
void lmdb_file_free(struct lmdb_file *file);               /* closes it; NULL is fine */

/* Opens the environment of the file at `path`, which with MDB_NOSUBDIR is that of the file
 * itself. */
int lmdb_file_open(struct lmdb_file *file, const char *path, uint64_t map_bytes,
                   unsigned flags);
/* Opens the records, and makes the two views. */
int lmdb_file_look(struct lmdb_file *file);
/* The memory of its maps goes back to the system, which may keep it as cache. */
void lmdb_file_drop(struct lmdb_file *file);
/* LMDB writes its table of readers through a map: if the file had no blocks there, a full disk
 * would end the process by a signal. */
int lmdb_file_prepare_lock(const struct dueq_io *io, const char *path);

/* Allocates the blocks that are not known to exist, up to `size`. Any thread. */
int lmdb_file_allocate(struct lmdb_file *file, uint64_t size);
/* Where the blocks end that are known to exist, or the file, which LMDB makes longer, too. */
uint64_t lmdb_file_end(struct lmdb_file *file);
/* As lmdb_get_room. */
void lmdb_file_room(struct lmdb_file *file, struct lmdb_room *ret_room);

#endif
