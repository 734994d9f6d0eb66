/* A thread that computes slow hashes (acl_argon.h) and writes the file of users, one job after
 * the other, so that the loop does not. It starts with the first job, and sleeps when there is
 * none. All functions belong to the owner's thread. */
#ifndef DUEQ_HASHER_H
#define DUEQ_HASHER_H

#include "protocol/buffer.h"
#include "server/acl/acl_argon.h"

#include <stdint.h>

enum {
    HASHER_JOBS_MOST = 256, /* that wait; each has some hundred bytes and its passwords */
    HASH_ITEMS_MOST = 4     /* of one job */
};

struct hash_item {
    struct dueq_slice password;   /* the job's own copy */
    char text[ACL_ARGON_SIZE];    /* what it is compared with, or what is made of it */
    enum acl_argon_result result; /* when it is done */
};

enum hash_kind {
    HASH_CHECK, /* is each password that of its text? */
    HASH_MAKE,  /* fills each text: ACL_ARGON_SAME when that has succeeded */
    HASH_WRITE  /* no hash: replaces a file */
};

struct hash_job {
    struct hash_job *prev, *next; /* utlist */
    enum hash_kind kind;
    enum { HASH_WAITS, HASH_RUNS, HASH_DONE } state; /* the hasher's */
    bool is_dropped, is_told;
    void *owner; /* for the owner */
    size_t count;
    struct hash_item items[HASH_ITEMS_MOST];
    char *path; /* of HASH_WRITE; the job's own, as is what it writes */
    struct buffer content;
    uint64_t hash;   /* the owner's: of the content */
    uint64_t number; /* the hasher's: of files, in the order in which they were given */
    int error;       /* errno when it is done; 0: it is written and synced */
};

struct hasher;

/* notify: called in the thread when a job is done. NULL: out of memory. */
struct hasher *hasher_new(void (*notify)(void *arg), void *arg);
/* Waits for the job that runs: half a second for hashes, for a file as long as its disk takes.
 * NULL is fine. */
void hasher_free(struct hasher *hasher);

/* An empty job; NULL: out of memory. */
struct hash_job *hash_job_new(enum hash_kind kind, void *owner);
/* One that writes the content, which it takes over, into the file in one step. NULL: out of
 * memory, and the content is released. */
struct hash_job *hash_job_new_write(const char *path, struct buffer *content, void *owner);
/* Adds an item with a copy of the password, of ACL_ARGON_PASSWORD_MAX bytes at most. text: a
 * hash, for HASH_CHECK. False: out of memory. */
bool hash_job_add(struct hash_job *job, struct dueq_slice password, const char *text);
/* Of a job that is not with the hasher; overwrites its passwords. NULL is fine. */
void hash_job_free(struct hash_job *job);

/* May another job wait? */
bool hasher_has_room(const struct hasher *hasher);
/* Takes the job over, when there is room. False: there is no thread, the job stays the
 * caller's.
 */
bool hasher_give(struct hasher *hasher, struct hash_job *job);
/* Nobody awaits the job any more, whatever its state is: it is freed now or later. */
void hasher_drop(struct hasher *hasher, struct hash_job *job);
/* A job that is done, whose owner has not been told yet; it stays the hasher's until it is
 * dropped. NULL: none. */
struct hash_job *hasher_next_done(struct hasher *hasher);
size_t hasher_waiting(const struct hasher *hasher); /* jobs that wait or run */

/* ---- files: who reads one, or writes it without a job, must know what jobs write */

/* Has a file been given whose end is not seen? */
bool hasher_is_writing(const struct hasher *hasher);
/* To be kept when a file is opened: hasher_has_written says then whether what was read may be
 * older than the file. */
uint64_t hasher_files(const struct hasher *hasher);
bool hasher_has_written(const struct hasher *hasher, uint64_t files);
/* Blocks until each file that was given is written: as long as the disk takes for all of them.
 * Hashes are not waited for. */
void hasher_finish_files(struct hasher *hasher);
/* After hasher_finish_files: the owner has written the file itself. */
void hasher_note_file(struct hasher *hasher);
/* True: since the last call a file was written, and none that was given later; also one whose
 * job was dropped. */
bool hasher_take_file(struct hasher *hasher, uint64_t *ret_hash);

#endif
