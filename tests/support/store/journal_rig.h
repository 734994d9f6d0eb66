/* A journal on a fake disk, with small segments and payloads that identify themselves: replay
 * fails the running test for a record that was not appended or is out of order. */
#ifndef DUEQ_JOURNAL_RIG_H
#define DUEQ_JOURNAL_RIG_H

#include "storage/kv/journal/journal.h"
#include "tests/support/faults/fake_disk.h"

enum { RIG_SEGMENT = 4096, RIG_PAYLOAD_LEAST = 24, RIG_RECORDS = 4096 };

struct journal_rig {
    char *dir;
    struct fake_disk *disk;
    struct journal *journal; /* NULL: closed */
    struct journal_options options;
    unsigned later_every; /* the sync thread writes one of so many records; 0: none */
    unsigned asks;        /* of the records that follow; ASKS_MODE after rig_init */
    uint64_t after;       /* rig_open replays records with a higher LSN */
    uint64_t timeline;    /* in each payload; grows with each opening */
    /* of the last opening */
    struct journal_replay replay;
    struct dueq_error error;
    uint64_t read_from, read_to;     /* LSNs that replay returned; from > to: none */
    uint64_t timelines[RIG_RECORDS]; /* by LSN, of the records that replay returned */
};

void rig_init(struct journal_rig *rig);
void rig_release(struct journal_rig *rig);

enum dueq_status rig_open(struct journal_rig *rig);
void rig_close(struct journal_rig *rig);
/* Opens, expecting DUEQ_OK. */
void rig_reopen(struct journal_rig *rig);

/* Appends a record with that many bytes of payload. The second function waits until it is
 * durable. */
enum dueq_status rig_try(struct journal_rig *rig, size_t payload);
uint64_t rig_append(struct journal_rig *rig, size_t payload);
/* Waits until the sync thread has synced that record without a request. */
void rig_await_sync(const struct journal_rig *rig, uint64_t lsn);

/* ---- the files. The caller frees paths and bytes. */

char *rig_path(const struct journal_rig *rig, const char *name);
char *rig_segment(const struct journal_rig *rig, uint64_t number);
uint8_t *rig_read(const char *path, size_t *ret_size);
void rig_write(const char *path, const uint8_t *bytes, size_t size);
void rig_flip(const char *path, size_t bit);
/* Names that begin with the prefix ("0" live ones, "spare-", "reserve", "new-"). */
unsigned rig_files(const struct journal_rig *rig, const char *prefix);
/* A hash of all names and bytes in the directory, to see whether anything has changed. */
uint64_t rig_digest(const struct journal_rig *rig);

#endif
