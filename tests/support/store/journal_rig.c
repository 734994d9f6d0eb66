#include "tests/support/store/journal_rig.h"

#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { PATH_SIZE = 4096 };

/* ---- payloads */

struct stamp {
    uint64_t lsn, timeline, size;
};

static uint8_t filler(const struct stamp *stamp, size_t at)
{
    return (uint8_t)dice_hash(stamp->lsn * 1000003 + stamp->timeline * 131 + at);
}

static uint8_t *make_payload(const struct stamp *stamp)
{
    uint8_t *payload = malloc(stamp->size);

    assert_non_null(payload);
    memcpy(payload, stamp, sizeof(*stamp));
    for (size_t at = sizeof(*stamp); at < stamp->size; at++)
        payload[at] = filler(stamp, at);
    return payload;
}

static enum dueq_status check_record(void *arg, const struct journal_record *record)
{
    struct journal_rig *rig = arg;
    struct stamp stamp;

    assert_true(record->size >= sizeof(stamp));
    memcpy(&stamp, record->payload, sizeof(stamp));
    assert_int_equal(stamp.lsn, record->lsn);
    assert_int_equal(stamp.size, record->size);
    assert_int_equal(record->time, record->lsn * 10);
    assert_true(stamp.timeline > 0 && stamp.timeline < rig->timeline);
    for (size_t at = sizeof(stamp); at < stamp.size; at++)
        assert_int_equal(record->payload[at], filler(&stamp, at));
    assert_int_equal(record->lsn, rig->read_to + 1);
    rig->read_to = record->lsn;
    rig->timelines[record->lsn % RIG_RECORDS] = stamp.timeline;
    return DUEQ_OK;
}

/* ---- the journal */

void rig_init(struct journal_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->dir = temp_dir_new();
    rig->disk = fake_disk_new();
    rig->asks = ASKS_MODE;
    rig->options = (struct journal_options){.segment_bytes = RIG_SEGMENT,
                                            .durability = DUEQ_SYNC_ALWAYS,
                                            .interval_ms = 1,
                                            .salt = 42,
                                            .io = fake_disk_io(rig->disk)};
}

void rig_release(struct journal_rig *rig)
{
    rig_close(rig);
    fake_disk_free(rig->disk);
    temp_dir_remove(rig->dir);
}

enum dueq_status rig_open(struct journal_rig *rig)
{
    rig_close(rig);
    rig->timeline++;
    rig->read_from = rig->after + 1;
    rig->read_to = rig->after;
    rig->error.text[0] = '\0';
    return journal_open(rig->dir, &rig->options, rig->after, check_record, rig, &rig->journal,
                        &rig->replay, &rig->error);
}

void rig_close(struct journal_rig *rig)
{
    journal_close(rig->journal);
    rig->journal = NULL;
}

void rig_reopen(struct journal_rig *rig)
{
    if (rig_open(rig) != DUEQ_OK)
        fail_msg("journal_open: %s", rig->error.text);
    assert_int_equal(rig->replay.last_lsn, rig->read_to);
    assert_int_equal(journal_last_lsn(rig->journal), rig->read_to);
}

struct owned_payload {
    struct iovec parts[3];
    uint8_t *bytes;
};

static void release_payload(void *owner)
{
    struct owned_payload *owned = owner;

    free(owned->bytes);
    free(owned);
}

static enum dueq_status append_later(struct journal_rig *rig, int64_t time,
                                     const struct iovec *parts, uint8_t *bytes,
                                     uint64_t *ret_lsn)
{
    struct owned_payload *owned = malloc(sizeof(*owned));
    struct journal_payload payload = {NULL, 3, owned, release_payload};
    enum dueq_status status;

    assert_non_null(owned);
    memcpy(owned->parts, parts, sizeof(owned->parts));
    owned->bytes = bytes;
    payload.parts = owned->parts;
    status = journal_append_later(rig->journal, time, &payload, rig->asks, ret_lsn);
    if (status != DUEQ_OK)
        release_payload(owned);
    return status;
}

enum dueq_status rig_try(struct journal_rig *rig, size_t payload)
{
    struct stamp stamp = {journal_last_lsn(rig->journal) + 1, rig->timeline, payload};
    uint8_t *bytes = make_payload(&stamp);
    int64_t time = (int64_t)stamp.lsn * 10;
    struct iovec parts[] = {{bytes, 5}, {bytes + 5, 0}, {bytes + 5, payload - 5}};
    uint64_t lsn = 0;
    enum dueq_status status;

    if (rig->later_every > 0 && stamp.lsn % rig->later_every == 0) {
        status = append_later(rig, time, parts, bytes, &lsn);
    } else {
        status = journal_append(rig->journal, time, parts, 3, rig->asks, &lsn);
        free(bytes);
    }
    assert_int_equal(lsn, status == DUEQ_OK ? stamp.lsn : 0);
    return status;
}

uint64_t rig_append(struct journal_rig *rig, size_t payload)
{
    assert_int_equal(rig_try(rig, payload), DUEQ_OK);
    assert_int_equal(journal_wait(rig->journal, journal_last_lsn(rig->journal)), DUEQ_OK);
    return journal_last_lsn(rig->journal);
}

void rig_await_sync(const struct journal_rig *rig, uint64_t lsn)
{
    while (journal_synced_lsn(rig->journal) < lsn && journal_status(rig->journal) == DUEQ_OK)
        usleep(1000);
}

/* ---- the files */

char *rig_path(const struct journal_rig *rig, const char *name)
{
    char *path = malloc(PATH_SIZE);

    assert_non_null(path);
    snprintf(path, PATH_SIZE, "%s/journal/%s", rig->dir, name);
    return path;
}

char *rig_segment(const struct journal_rig *rig, uint64_t number)
{
    char name[32];

    snprintf(name, sizeof(name), "%016llx.seg", (unsigned long long)number);
    return rig_path(rig, name);
}

uint8_t *rig_read(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    struct stat stats;
    uint8_t *bytes;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &stats), 0);
    bytes = malloc((size_t)stats.st_size + 1);
    assert_non_null(bytes);
    *ret_size = fread(bytes, 1, (size_t)stats.st_size, file);
    assert_int_equal(*ret_size, stats.st_size);
    fclose(file);
    return bytes;
}

/* Writes in place: ext4 syncs a file that is truncated and written again. */
void rig_write(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(close(fd), 0);
}

void rig_flip(const char *path, size_t bit)
{
    size_t size;
    uint8_t *bytes = rig_read(path, &size);

    assert_true(bit / 8 < size);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    rig_write(path, bytes, size);
    free(bytes);
}

struct tally {
    const struct journal_rig *rig;
    const char *prefix;
    unsigned count;
    uint64_t digest;
};

static void count_name(struct tally *tally, const char *name)
{
    if (strncmp(name, tally->prefix, strlen(tally->prefix)) == 0)
        tally->count++;
}

/* Adds to the digest so that the order of the listing does not matter. */
static void digest_file(struct tally *tally, const char *name)
{
    char *path = rig_path(tally->rig, name);
    uint64_t digest = 14695981039346656037U; /* FNV-1a */
    size_t size;
    uint8_t *bytes = rig_read(path, &size);

    for (size_t i = 0; i < strlen(name); i++)
        digest = (digest ^ (uint8_t)name[i]) * 1099511628211U;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * 1099511628211U;
    tally->digest += digest ^ size;
    free(bytes);
    free(path);
}

static void each_file(struct tally *tally, void (*fn)(struct tally *tally, const char *name))
{
    char *path = rig_path(tally->rig, "");
    DIR *dir = opendir(path);
    struct dirent *found;

    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL)
        if (found->d_name[0] != '.')
            fn(tally, found->d_name);
    closedir(dir);
    free(path);
}

unsigned rig_files(const struct journal_rig *rig, const char *prefix)
{
    struct tally tally = {.rig = rig, .prefix = prefix};

    each_file(&tally, count_name);
    return tally.count;
}

uint64_t rig_digest(const struct journal_rig *rig)
{
    struct tally tally = {.rig = rig};

    each_file(&tally, digest_file);
    return tally.digest;
}
