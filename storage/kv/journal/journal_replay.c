#include "storage/kv/journal/journal_replay.h"

#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct journal_files *files;
    const struct journal_listing *listing;
    uint64_t store_salt, after;
    journal_replay_fn fn;
    void *arg;
    struct dueq_error *error;
    struct journal_replay *replay;
    uint64_t expected;      /* the next LSN; 0: not known yet */
    uint64_t before, total; /* bytes: of the segments before this one, of all */
    /* of the segment that is being read */
    uint64_t number, salt;
    uint8_t *bytes;
    size_t size, offset;
    bool header_sound;
    struct segment_header header;
    uint64_t noted; /* the durable LSN of its note; 0: none */
};

/* Reads the segment's first bytes, `most` at the most. */
static enum dueq_status load_some(struct reading *reading, size_t index, size_t most)
{
    enum dueq_status status;

    free(reading->bytes);
    reading->bytes = NULL;
    reading->number = reading->listing->numbers[index];
    status = journal_files_read(reading->files, reading->number, most, &reading->bytes,
                                &reading->size, reading->error);
    if (status != DUEQ_OK)
        return status;
    reading->salt = segment_salt(reading->store_salt, reading->number);
    reading->header_sound =
        reading->size >= SEGMENT_HEADER_SIZE &&
        segment_read_header(reading->bytes, reading->salt, &reading->header) &&
        reading->header.number == reading->number;
    reading->noted = reading->size >= SEGMENT_HEADER_SIZE
                         ? segment_read_note(reading->bytes + SEGMENT_FIXED_SIZE, reading->salt)
                         : 0;
    reading->offset = reading->header_sound ? SEGMENT_HEADER_SIZE : 0;
    return DUEQ_OK;
}

static enum dueq_status load(struct reading *reading, size_t index)
{
    return load_some(reading, index, SIZE_MAX);
}

/* Calls fn for the records of the loaded segment, up to the first invalid one. */
static enum dueq_status read_records(struct reading *reading)
{
    struct record_header header;

    while (reading->offset < reading->size &&
           record_read(reading->bytes + reading->offset, reading->size - reading->offset,
                       reading->salt, &header) &&
           header.lsn == reading->expected) {
        struct journal_record record = {
            .lsn = header.lsn,
            .time = header.time,
            .payload = reading->bytes + reading->offset + RECORD_HEADER_SIZE,
            .size = header.size,
            .end = reading->before + reading->offset + record_space(header.size),
            .total = reading->total};
        enum dueq_status status = DUEQ_OK;

        if (header.lsn > reading->after) {
            status = reading->fn(reading->arg, &record);
            reading->replay->records++;
        }
        reading->replay->checked_bytes += RECORD_HEADER_SIZE + (uint64_t)header.size;
        if (status != DUEQ_OK)
            return status;
        reading->expected++;
        reading->offset += record_space(header.size);
        if (reading->offset > reading->size) /* the file is cut within the padding */
            reading->offset = reading->size;
    }
    return DUEQ_OK;
}

/* Finds the next record of the loaded segment, at *offset or after it, with a valid header.
 * False: there is none. A client can make a payload look like headers, but not with valid
 * checksums, and the cost of the check does not depend on the sizes in these headers: *offset
 * may be far behind the segment, 3 GiB and more. */
static bool find_record(const struct reading *reading, uint64_t *offset,
                        struct record_header *ret_header)
{
    for (; *offset < reading->size; *offset += RECORD_ALIGN) {
        const uint8_t *bytes = reading->bytes + *offset;
        size_t room = reading->size - (size_t)*offset;

        if (!record_begins(bytes, room))
            continue;
        reading->replay->checked_bytes += RECORD_HEADER_SIZE;
        if (record_read_header(bytes, room, reading->salt, ret_header))
            return true;
    }
    return false;
}

/* True: the loaded segment proves that the missing record was durable. Also adds up the bytes
 * of records that a cut would drop. */
static bool proves_loss(const struct reading *reading, uint64_t *dropped)
{
    struct record_header header;
    uint64_t offset = reading->offset;

    if (reading->noted >= reading->expected ||
        (reading->header_sound && reading->header.durable >= reading->expected))
        return true;
    for (; find_record(reading, &offset, &header); offset += record_space(header.size)) {
        if (header.lsn < reading->expected)
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
    return dueq_fail(reading->error, DUEQ_CORRUPT,
                     "%s is damaged at byte %zu: record %" PRIu64
                     " was durable and is not to be read. Restore a backup; "
                     "or make a new directory of what can be read: dueq repair",
                     path, offset, reading->expected);
}

/* The log ends at `offset` of the loaded segment `index`. Decides whether that is a torn tail,
 * after which no record was ever acknowledged, or damage. */
static enum dueq_status end_at(struct reading *reading, size_t index)
{
    size_t offset = reading->offset;
    uint64_t number = reading->number, dropped = 0;
    bool torn =
        record_begins_as(reading->bytes + offset, reading->size - offset, reading->expected);

    if (proves_loss(reading, &dropped))
        return damaged(reading, number, offset);
    for (size_t later = index + 1; later < reading->listing->count; later++) {
        enum dueq_status status = load(reading, later);

        if (status != DUEQ_OK)
            return status;
        if (later == index + 1 && !reading->header_sound) { /* the log should continue there */
            number = reading->number;
            offset = 0;
        }
        if (proves_loss(reading, &dropped))
            return damaged(reading, number, offset);
    }
    if (torn && dropped == 0)
        dropped = RECORD_HEADER_SIZE;
    reading->replay->cut_bytes = dropped;
    return DUEQ_OK;
}

/* A segment that contains records above the checkpoint stays. `end`: the LSN after the last one
 * that is in it. */
static enum dueq_status keep(struct segment_file ***tail, const struct reading *reading,
                             uint64_t end)
{
    struct segment_file *segment;

    if (end <= reading->after + 1 &&
        (!reading->files->archives || end <= reading->header.first_lsn))
        return DUEQ_OK;
    segment = calloc(1, sizeof(*segment));
    if (segment == NULL)
        return DUEQ_NOMEM;
    *segment = (struct segment_file){.number = reading->number,
                                     .first_lsn = reading->header.first_lsn,
                                     .last_lsn = end - 1,
                                     .size = reading->size,
                                     .used = reading->offset,
                                     .fd = -1,
                                     .named = true};
    **tail = segment;
    *tail = &segment->next;
    return DUEQ_OK;
}

/* The segment to begin with: the last that begins at or before the record after the checkpoint;
 * `count` when there is none. Earlier ones are not needed. They may have been recycled and used
 * again before a power cut brought their old names back, so nothing in them counts as
 * damage. */
static enum dueq_status find_start(struct reading *reading, size_t *ret_index)
{
    size_t index = reading->listing->count;

    *ret_index = index;
    while (index-- > 0) {
        enum dueq_status status = load_some(reading, index, SEGMENT_HEADER_SIZE);

        if (status != DUEQ_OK)
            return status;
        if (reading->header_sound && reading->header.first_lsn <= reading->after + 1) {
            *ret_index = index;
            break;
        }
    }
    return DUEQ_OK;
}

/* True: the header looks complete and contains a durable LSN, but its checksum is wrong. The
 * segment then probably belongs to another store, with another seed. */
static bool is_foreign(const struct reading *reading)
{
    struct segment_header header;
    struct record_header record;
    size_t offset = SEGMENT_HEADER_SIZE;
    uint64_t lsn;

    if (reading->header_sound || reading->size < offset ||
        !segment_claims(reading->bytes, &header) || header.number != reading->number)
        return false;
    for (lsn = header.first_lsn; offset < reading->size; lsn++) {
        if (!record_claims(reading->bytes + offset, reading->size - offset, &record) ||
            record.lsn != lsn)
            return false;
        if (record.durable >= header.first_lsn)
            return true;
        offset += record_space(record.size);
    }
    return false;
}

/* A journal cannot be read without its data.mdb, but it must not be removed. */
static enum dueq_status refuse_foreign(struct reading *reading)
{
    for (size_t i = 0; i < reading->listing->count; i++) {
        enum dueq_status status = load(reading, i);

        if (status != DUEQ_OK)
            return status;
        if (is_foreign(reading))
            return dueq_fail(
                reading->error, DUEQ_CORRUPT,
                "%s/%016" PRIx64 ".seg was written by another store: data.mdb is "
                "not the one that it goes with. Put that back, or restore a backup",
                reading->files->path, reading->number);
    }
    return DUEQ_OK;
}

/* No segment contains the record after the checkpoint. */
static enum dueq_status begin_missing(struct reading *reading)
{
    enum dueq_status status = load(reading, 0);
    bool missing = reading->header_sound;

    reading->expected = reading->after + 1;
    if (status == DUEQ_OK)
        status = end_at(reading, 0);
    if (status == DUEQ_OK)
        status = refuse_foreign(reading);
    if (status != DUEQ_CORRUPT || !missing)
        return status;
    return dueq_fail(reading->error, DUEQ_CORRUPT,
                     "%s/%016" PRIx64 ".seg is not the first: record %" PRIu64
                     " was durable, and the segment with it is missing. Restore it or a backup",
                     reading->files->path, reading->listing->numbers[0], reading->expected);
}

/* Finds the segment in which the log continues. *ret_on true: it is loaded, and *index is its
 * index. False: the present one is loaded again, so that its end can be checked. Skips segments
 * without a record: the next one shows that nothing is missing. */
static enum dueq_status go_on(struct reading *reading, size_t *index, bool *ret_on)
{
    struct reading before = *reading;
    enum dueq_status status = DUEQ_OK;
    size_t next = *index;

    reading->bytes = NULL;
    reading->header_sound = false;
    while (status == DUEQ_OK && !reading->header_sound && ++next < reading->listing->count)
        status = load(reading, next);
    *ret_on = status == DUEQ_OK && reading->header_sound &&
              reading->header.first_lsn == reading->expected;
    if (*ret_on) {
        reading->before += before.size;
        free(before.bytes);
        *index = next;
        return DUEQ_OK;
    }
    free(reading->bytes);
    *reading = before;
    return status;
}

static enum dueq_status read_from(struct reading *reading, size_t index,
                                  struct segment_file ***tail)
{
    enum dueq_status status = load(reading, index);
    bool on = true;

    for (size_t i = index; i < reading->listing->count; i++)
        reading->total += journal_files_size(reading->files, reading->listing->numbers[i]);
    reading->expected = reading->header.first_lsn;
    while (status == DUEQ_OK && on) {
        status = read_records(reading);
        if (status == DUEQ_OK)
            status = keep(tail, reading, reading->expected);
        if (status == DUEQ_OK && reading->expected <= reading->after)
            reading->expected =
                reading->after + 1; /* records below the checkpoint may be missing */
        if (status == DUEQ_OK)
            status = go_on(reading, &index, &on);
    }
    return status == DUEQ_OK ? end_at(reading, index) : status;
}

/* `end`: the LSN after its last record. */
static struct segment_file *waiting_segment(const struct reading *reading, uint64_t end)
{
    struct segment_file *segment = calloc(1, sizeof(*segment));

    if (segment == NULL)
        return NULL;
    *segment = (struct segment_file){.number = reading->number,
                                     .first_lsn = reading->header.first_lsn,
                                     .last_lsn = end - 1,
                                     .fd = -1,
                                     .named = true};
    segment->size = segment->used = journal_files_size(reading->files, reading->number);
    return segment;
}

/* Where the segment ends when the one after it is lost: its records say it. */
static enum dueq_status find_end(struct reading *reading, size_t index, uint64_t *ret_end)
{
    uint64_t expected = reading->expected;
    enum dueq_status status = load(reading, index);

    reading->expected = reading->header.first_lsn;
    if (status == DUEQ_OK)
        status = read_records(reading); /* all are below the checkpoint: none is handed out */
    *ret_end = reading->expected;
    reading->expected = expected;
    return status;
}

/* Keeps the loaded segment. `end`: the LSN after its last record; 0: not known. */
static enum dueq_status keep_one_waiting(struct reading *reading, size_t index, uint64_t end,
                                         struct segment_file **first)
{
    enum dueq_status status = end == 0 ? find_end(reading, index, &end) : DUEQ_OK;
    struct segment_file *segment;

    if (status != DUEQ_OK || end <= reading->header.first_lsn)
        return status;
    segment = waiting_segment(reading, end);
    if (segment == NULL)
        return DUEQ_NOMEM;
    segment->next = *first;
    *first = segment;
    return DUEQ_OK;
}

/* Segments below the checkpoint may wait for the archive. Only headers are read here; the
 * archive's thread reads the records, and sees when they are others than the headers say.
 * `end`: the first LSN of the segment at `index`. One without a record, or without a sound
 * header, hides none of those before it. */
static enum dueq_status keep_waiting(struct reading *reading, size_t index, uint64_t end,
                                     struct segment_file **first)
{
    uint64_t limit = end; /* end, but for segments that are lost */

    while (index-- > 0) {
        enum dueq_status status = load_some(reading, index, SEGMENT_HEADER_SIZE);

        if (status == DUEQ_OK && !reading->header_sound) {
            end = 0;
        } else if (status == DUEQ_OK && reading->header.first_lsn < limit) {
            limit = reading->header.first_lsn;
            status = keep_one_waiting(reading, index, end, first);
            end = limit;
        }
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static enum dueq_status read_all(struct reading *reading, struct segment_file ***tail)
{
    struct segment_file **first = *tail;
    enum dueq_status status;
    uint64_t begin;
    size_t start;

    if (reading->listing->count == 0)
        return DUEQ_OK;
    status = find_start(reading, &start);
    if (status != DUEQ_OK)
        return status;
    if (start == reading->listing->count)
        return begin_missing(reading);
    begin = reading->header.first_lsn;
    status = read_from(reading, start, tail);
    return status == DUEQ_OK && reading->files->archives
               ? keep_waiting(reading, start, begin, first)
               : status;
}

/* Puts away the segments that are not needed: below the checkpoint, or after the end. Records
 * that were read count as durable from now on. So the names that stay must be on disk, and a
 * power cut must not bring removed segments back after later ones are written. */
static enum dueq_status remove_others(const struct reading *reading,
                                      const struct segment_file *kept)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < reading->listing->count; i++) {
        uint64_t number = reading->listing->numbers[i];

        if (kept != NULL && kept->number == number) {
            kept = kept->next;
            continue;
        }
        if (journal_files_put_away(reading->files, number) != 0) {
            journal_files_live_path(reading->files, number, path);
            return dueq_fail(reading->error, DUEQ_IO, "cannot remove %s: %s", path,
                             strerror(errno));
        }
    }
    if (journal_files_sync_names(reading->files) != 0)
        return dueq_fail(reading->error, DUEQ_IO, "cannot sync %s: %s", reading->files->path,
                         strerror(errno));
    return DUEQ_OK;
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
    if (status == DUEQ_OK) {
        journal_files_tidy(files);
        status = remove_others(&reading, segments);
    }
    if (status != DUEQ_OK) {
        free_segments(segments);
        return status;
    }
    ret_replay->last_lsn = reading.expected > after + 1 ? reading.expected - 1 : after;
    *ret_segments = segments;
    return DUEQ_OK;
}
