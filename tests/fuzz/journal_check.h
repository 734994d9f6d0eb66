/* What is true for any bytes as journal segments: an opening accepts them, or refuses them with
 * a reason and changes nothing; if it accepts them, the journal continues, and another opening
 * reads the same records. The fuzzer and the test that replays the corpus share this.
 *
 * Input: the LSN of the checkpoint (1 byte), flags (1 byte), the bytes of the first segment.
 * CHECK_SEAL: checksums are corrected first, so that the code after their check runs.
 * CHECK_SPLIT: the second half is a second segment. */
#ifndef DUEQ_JOURNAL_CHECK_H
#define DUEQ_JOURNAL_CHECK_H

#include "storage/kv/batch.h"
#include "storage/kv/journal/journal.h"
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECK_SEAL = 1, CHECK_SPLIT = 2, CHECK_SALT = 42, CHECK_SEGMENT = 4096 };

struct journal_check {
    char *dir;
    struct dueq_io io;
    struct journal_options options;
    uint64_t after, last; /* LSN */
    uint64_t digest;      /* of the records read */
    bool sound;
};

static inline int check_no_sync(void *arg, int fd)
{
    (void)arg;
    (void)fd;
    return 0;
}

static inline int check_no_sync_dir(void *arg, const char *path)
{
    (void)arg;
    (void)path;
    return 0;
}

static inline enum dueq_status check_record(void *arg, const struct journal_record *record)
{
    struct journal_check *check = arg;
    const uint8_t *at = record->payload, *end = at + record->size;
    struct batch_operation operation;

    check->sound = check->sound && record->lsn == check->last + 1;
    check->last = record->lsn;
    for (size_t i = 0; i < record->size; i++)
        check->digest = (check->digest ^ record->payload[i]) * 1099511628211U;
    while (at < end && batch_read(&at, end, &operation))
        check->digest += operation.key.size + operation.value.size;
    return DUEQ_OK;
}

static inline void check_path(const struct journal_check *check, uint64_t number, char *path)
{
    snprintf(path, PATH_MAX, "%s/journal/%016llx.seg", check->dir, (unsigned long long)number);
}

/* Corrects the checksums of the records and headers that the bytes claim to be. */
static inline void check_seal(uint8_t *bytes, size_t size, uint64_t number)
{
    uint64_t salt = segment_salt(CHECK_SALT, number);
    struct segment_header header;
    struct record_header record;
    size_t offset = SEGMENT_HEADER_SIZE;

    if (size < offset || !segment_claims(bytes, &header))
        return;
    segment_write_header(bytes, &header, salt);
    while (offset < size && record_claims(bytes + offset, size - offset, &record)) {
        struct iovec payload = {bytes + offset + RECORD_HEADER_SIZE, record.size};

        record_write_header(bytes + offset, &record, &payload, 1, salt);
        offset += record_space(record.size);
    }
}

static inline void check_write(const struct journal_check *check, uint64_t number,
                               const uint8_t *data, size_t size, bool seal)
{
    uint8_t *bytes = malloc(size + 1);
    char path[PATH_MAX];
    FILE *file;

    check_path(check, number, path);
    file = fopen(path, "wb");
    if (bytes == NULL || file == NULL)
        abort();
    if (size > 0)
        memcpy(bytes, data, size);
    if (seal)
        check_seal(bytes, size, number);
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    free(bytes);
}

static inline enum dueq_status check_open(struct journal_check *check,
                                          struct journal **ret_journal)
{
    struct journal_replay replay;
    struct dueq_error error = {""};
    enum dueq_status status;

    check->last = check->after;
    check->digest = 14695981039346656037U; /* FNV-1a */
    status = journal_open(check->dir, &check->options, check->after, check_record, check,
                          ret_journal, &replay, &error);
    if (status == DUEQ_OK)
        check->sound = check->sound && replay.last_lsn == check->last;
    else
        check->sound = check->sound && status == DUEQ_CORRUPT && error.text[0] != '\0';
    return status;
}

/* Appends a record, reopens, and reads the same records and the new one. */
static inline bool check_goes_on(struct journal_check *check, struct journal *journal)
{
    struct iovec part = {(void *)(uintptr_t) "\1\1k\1v", 5};
    uint64_t lsn = 0, last = check->last, digest;
    enum dueq_status status = journal_append(journal, 1, &part, 1, ASKS_MODE, &lsn);

    journal_close(journal);
    if (status != DUEQ_OK || lsn != last + 1 || check_open(check, &journal) != DUEQ_OK)
        return false;
    digest = check->digest;
    journal_close(journal);
    if (check->last != lsn || check_open(check, &journal) != DUEQ_OK)
        return false;
    journal_close(journal);
    return check->digest == digest;
}

static inline bool check_run(struct journal_check *check)
{
    struct journal *journal;
    enum dueq_status status = check_open(check, &journal);

    if (status == DUEQ_OK)
        return check_goes_on(check, journal) && check->sound;
    return check_open(check, &journal) == DUEQ_CORRUPT && check->sound; /* still */
}

/* Opening creates the directory that the segments go to. */
static inline void check_prepare(struct journal_check *check)
{
    struct journal *journal;

    *check = (struct journal_check){.dir = temp_dir_new(), .io = io_system, .sound = true};
    check->io.fdatasync = check_no_sync;
    check->io.fsync_dir = check_no_sync_dir;
    check->io.fsync_open_dir = check_no_sync;
    check->options = (struct journal_options){.segment_bytes = CHECK_SEGMENT,
                                              .durability = DUEQ_SYNC_NONE,
                                              .salt = CHECK_SALT,
                                              .io = &check->io};
    if (check_open(check, &journal) != DUEQ_OK)
        abort();
    journal_close(journal);
}

static inline bool journal_holds_up(const uint8_t *data, size_t size)
{
    struct journal_check check;
    bool seal, good;
    size_t first;

    if (size < 2)
        return true;
    check_prepare(&check);
    check.after = data[0];
    seal = data[1] & CHECK_SEAL;
    first = data[1] & CHECK_SPLIT ? (size - 2) / 2 : size - 2;
    check_write(&check, 1, data + 2, first, seal);
    if (data[1] & CHECK_SPLIT)
        check_write(&check, 2, data + 2 + first, size - 2 - first, seal);
    good = check_run(&check);
    temp_dir_remove(check.dir);
    return good;
}

#endif
