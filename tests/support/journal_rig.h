/* A journal on a fake disk, with small segments and payloads that say what they are: replay
 * fails the running test for any record that is not one of those appended, in order. */
#ifndef DUEQ_JOURNAL_RIG_H
#define DUEQ_JOURNAL_RIG_H

#include "storage/kv/journal/journal.h"
#include "tests/support/fake_disk.h"

enum { RIG_SEGMENT = 4096, RIG_PAYLOAD_LEAST = 24, RIG_RECORDS = 4096 };

struct journal_rig {
    char *dir;
    struct fake_disk *disk;
    struct journal *journal; /* NULL: closed */
    struct journal_options options;
    unsigned later_every; /* each so manieth record is the sync thread's to write; 0: none */
    uint64_t after;       /* what rig_open asks for */
    uint64_t timeline;    /* written into every payload; grows with each opening */
    /* of the last opening */
    struct journal_replay replay;
    struct dueq_error error;
    uint64_t read_from, read_to;     /* LSNs handed out; from > to: none */
    uint64_t timelines[RIG_RECORDS]; /* by LSN, of what was handed out */
};

void rig_init(struct journal_rig *rig);
void rig_release(struct journal_rig *rig);

enum dueq_status rig_open(struct journal_rig *rig);
void rig_close(struct journal_rig *rig);
/* Opens, expecting DUEQ_OK. */
void rig_reopen(struct journal_rig *rig);

/* A record with so many bytes of payload. The second waits until it is settled. */
enum dueq_status rig_try(struct journal_rig *rig, size_t payload);
uint64_t rig_append(struct journal_rig *rig, size_t payload);
/* Until the sync thread has come to that record by itself. */
void rig_await_sync(const struct journal_rig *rig, uint64_t lsn);

/* ---- the files. Paths and bytes are the caller's to free. */

char *rig_path(const struct journal_rig *rig, const char *name);
char *rig_segment(const struct journal_rig *rig, uint64_t number);
uint8_t *rig_read(const char *path, size_t *ret_size);
void rig_write(const char *path, const uint8_t *bytes, size_t size);
void rig_flip(const char *path, size_t bit);
/* Names that begin with the prefix ("0" live ones, "spare-", "reserve", "new-"). */
unsigned rig_files(const struct journal_rig *rig, const char *prefix);
/* Of every name and byte of the directory: has anything changed? */
uint64_t rig_digest(const struct journal_rig *rig);

#endif
