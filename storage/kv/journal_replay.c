#include "storage/kv/journal_replay.h"

#include "storage/kv/segment.h"

#include <inttypes.h>
#include <stdlib.h>

struct reading {
    struct journal_files *files;
    const struct journal_listing *listing;
    uint64_t store_salt, after;
    journal_replay_fn fn;
    void *arg;
    struct dueq_error *error;
    struct journal_replay *replay;
    uint64_t expected; /* the LSN that comes next; 0: not known yet */
    /* the segment being read */
    uint64_t number, salt;
    uint8_t *bytes;
    size_t size, offset;
    bool header_sound;
    struct segment_header header;
};

static enum dueq_status load(struct reading *reading, size_t index)
{
    enum dueq_status status;

    free(reading->bytes);
    reading->bytes = NULL;
    reading->number = reading->listing->numbers[index];
    status = journal_files_read(reading->files, reading->number, &reading->bytes,
                                &reading->size, reading->error);
    if (status != DUEQ_OK)
        return status;
    reading->salt = segment_salt(reading->store_salt, reading->number);
    reading->header_sound =
        reading->size >= SEGMENT_HEADER_SIZE &&
        segment_read_header(reading->bytes, reading->salt, &reading->header) &&
        reading->header.number == reading->number;
    reading->offset = SEGMENT_HEADER_SIZE;
    return DUEQ_OK;
}

/* Hands out the records of the loaded segment until one does not check. */
static enum dueq_status read_records(struct reading *reading)
{
    struct record_header header;

    while (reading->offset < reading->size &&
           record_read(reading->bytes + reading->offset, reading->size - reading->offset,
                       reading->salt, &header) &&
           header.lsn == reading->expected) {
        struct journal_record record = {.lsn = header.lsn,
                                        .time = header.time,
                                        .payload = reading->bytes + reading->offset +
                                                   RECORD_HEADER_SIZE,
                                        .size = header.size};
        enum dueq_status status = DUEQ_OK;

        if (header.lsn > reading->after) {
            status = reading->fn(reading->arg, &record);
            reading->replay->records++;
        }
        if (status != DUEQ_OK)
            return status;
        reading->expected++;
        reading->offset += record_space(header.size);
    }
    return DUEQ_OK;
}

/* Does the loaded segment hold, from `offset` on, proof that the missing record was durable?
 * Also sums up the bytes of whole records that a cut would drop. */
static bool proves_loss(struct reading *reading, size_t offset, uint64_t *dropped)
{
    struct record_header header;

    if (offset == 0 && reading->header_sound && reading->header.durable >= reading->expected)
        return true;
    if (offset < SEGMENT_HEADER_SIZE)
        offset = SEGMENT_HEADER_SIZE;
    for (; offset < reading->size; offset += RECORD_ALIGN) {
        if (!record_begins(reading->bytes + offset, reading->size - offset) ||
            !record_read(reading->bytes + offset, reading->size - offset, reading->salt,
                         &header) ||
            header.lsn < reading->expected)
            continue;
        if (header.durable >= reading->expected)
            return true;
        *dropped += record_space(header.size);
    }
    return false;
}

static enum dueq_status damaged(struct reading *reading, uint64_t number, size_t offset)
{
    char path[PATH_MAX];

    journal_files_live_path(reading->files, number, path);
    return dueq_fail(
        reading->error, DUEQ_CORRUPT,
        "%s is damaged at byte %zu: record %" PRIu64
        " was durable and does not check, and later records do. Restore a backup; "
        "or, to lose what follows, move the files of journal/ aside and start again",
        path, offset, reading->expected);
}

/* The log ends at `offset` of segment `index`: an honest end, or damage? The cut removes what
 * lies behind. */
static enum dueq_status end_at(struct reading *reading, size_t index)
{
    size_t count = reading->listing->count, offset = reading->offset;
    uint64_t number = reading->number, dropped = 0;
    bool torn =
        reading->header_sound &&
        record_begins_as(reading->bytes + offset, reading->size - offset, reading->expected);

    if (proves_loss(reading, reading->header_sound ? offset : 0, &dropped))
        return damaged(reading, number, offset);
    for (size_t later = index + 1; later < count; later++) {
        enum dueq_status status = load(reading, later);

        if (status != DUEQ_OK)
            return status;
        if (proves_loss(reading, 0, &dropped))
            return damaged(reading, number, offset);
    }
    if (torn && dropped == 0)
        dropped = RECORD_HEADER_SIZE;
    reading->replay->cut_bytes = dropped;
    return DUEQ_OK;
}

static enum dueq_status remove_behind(struct reading *reading, size_t first)
{
    const struct kv_io *io = reading->files->io;
    char path[PATH_MAX];

    if (first >= reading->listing->count)
        return DUEQ_OK;
    for (size_t i = first; i < reading->listing->count; i++) {
        journal_files_live_path(reading->files, reading->listing->numbers[i], path);
        if (io->unlink(io->arg, path) != 0)
            return dueq_fail(reading->error, DUEQ_IO, "cannot remove %s", path);
    }
    if (io->fsync_dir(io->arg, reading->files->path) != 0)
        return dueq_fail(reading->error, DUEQ_IO, "cannot sync %s", reading->files->path);
    return DUEQ_OK;
}

static enum dueq_status keep(struct segment_file ***tail, const struct reading *reading)
{
    struct segment_file *segment = calloc(1, sizeof(*segment));

    if (segment == NULL)
        return DUEQ_NOMEM;
    *segment = (struct segment_file){.number = reading->number,
                                     .first_lsn = reading->header.first_lsn,
                                     .last_lsn = reading->expected - 1,
                                     .size = reading->size,
                                     .used = reading->offset,
                                     .fd = -1,
                                     .named = true};
    **tail = segment;
    *tail = &segment->next;
    return DUEQ_OK;
}

/* Does the loaded segment go on where the last one ended? */
static bool continues(struct reading *reading)
{
    if (!reading->header_sound)
        return false;
    if (reading->expected == 0 && reading->header.first_lsn <= reading->after + 1)
        reading->expected = reading->header.first_lsn;
    return reading->header.first_lsn == reading->expected;
}

/* No segment carries on with the record after the checkpoint. */
static enum dueq_status begin_missing(struct reading *reading, size_t index)
{
    if (reading->expected == 0) {
        if (reading->header_sound)
            return dueq_fail(reading->error, DUEQ_CORRUPT,
                             "%s begins with record %" PRIu64 ", but records from %" PRIu64
                             " on are needed: a segment is missing. Restore it or a backup",
                             reading->files->path, reading->header.first_lsn,
                             reading->after + 1);
        reading->expected = reading->after + 1;
    }
    reading->offset = 0;
    return end_at(reading, index);
}

/* Loads the segment behind; true: it carries on. Else the one before is loaded again, so that
 * its end can be looked at. */
static enum dueq_status go_on(struct reading *reading, size_t next, bool *ret_on)
{
    struct reading before = *reading;
    enum dueq_status status;

    *ret_on = false;
    if (next == reading->listing->count)
        return DUEQ_OK;
    reading->bytes = NULL;
    status = load(reading, next);
    if (status == DUEQ_OK && continues(reading)) {
        free(before.bytes);
        *ret_on = true;
        return DUEQ_OK;
    }
    free(reading->bytes);
    *reading = before;
    return status;
}

static enum dueq_status read_all(struct reading *reading, struct segment_file ***tail)
{
    enum dueq_status status;
    bool on = true;
    size_t i;

    if (reading->listing->count == 0)
        return DUEQ_OK;
    status = load(reading, 0);
    if (status == DUEQ_OK && !continues(reading)) {
        status = begin_missing(reading, 0);
        return status == DUEQ_OK ? remove_behind(reading, 0) : status;
    }
    for (i = 0; status == DUEQ_OK && on; i++) {
        status = read_records(reading);
        if (status == DUEQ_OK)
            status = keep(tail, reading);
        if (status == DUEQ_OK)
            status = go_on(reading, i + 1, &on);
    }
    if (status == DUEQ_OK)
        status = end_at(reading, i - 1);
    return status == DUEQ_OK ? remove_behind(reading, i) : status;
}

static void free_segments(struct segment_file *segment)
{
    while (segment != NULL) {
        struct segment_file *next = segment->next;

        free(segment);
        segment = next;
    }
}

enum dueq_status journal_replay(struct journal_files *files,
                                const struct journal_listing *listing, uint64_t salt,
                                uint64_t after, journal_replay_fn fn, void *arg,
                                struct segment_file **ret_segments,
                                struct journal_replay *ret_replay, struct dueq_error *error)
{
    struct reading reading = {.files = files,
                              .listing = listing,
                              .store_salt = salt,
                              .after = after,
                              .fn = fn,
                              .arg = arg,
                              .error = error,
                              .replay = ret_replay};
    struct segment_file *segments = NULL, **tail = &segments;
    enum dueq_status status;

    *ret_replay = (struct journal_replay){0};
    status = read_all(&reading, &tail);
    free(reading.bytes);
    if (status != DUEQ_OK) {
        free_segments(segments);
        return status;
    }
    ret_replay->last_lsn = reading.expected > after + 1 ? reading.expected - 1 : after;
    *ret_segments = segments;
    return DUEQ_OK;
}
