#include "storage/kv/journal/journal_salvage.h"

#include "storage/kv/journal/journal_files.h"
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct journal_salvage_sink *sink;
    struct journal_files files;
    uint64_t store_salt;
    uint64_t expected; /* the next LSN ; 0: not known yet */
    uint64_t durable;  /* the greatest LSN that something says was durable */
    uint64_t last;     /* LSN of the last record that was given */
    bool after_gap;
    /* of the segment that is being read */
    uint64_t number, salt;
    uint8_t *bytes;
    size_t size;
};

static void report(const struct reading *reading, const char *what)
{
    reading->sink->on_damage(reading->sink->arg, what);
}

static void report_segment(const struct reading *reading, const char *what)
{
    char text[256];

    snprintf(text, sizeof(text), "journal/%016" PRIx64 ".seg: %s", reading->number, what);
    report(reading, text);
}

static void note_durable(struct reading *reading, uint64_t lsn)
{
    if (lsn > reading->durable)
        reading->durable = lsn;
}

static void read_header(struct reading *reading)
{
    struct segment_header header;

    if (reading->size < SEGMENT_HEADER_SIZE ||
        !segment_read_header(reading->bytes, reading->salt, &header)) {
        report_segment(reading, "its header is damaged");
        return;
    }
    note_durable(reading, header.durable);
    note_durable(reading,
                 segment_read_note(reading->bytes + SEGMENT_FIXED_SIZE, reading->salt));
}

/* The records up to before that LSN are missing. */
static void miss(struct reading *reading, uint64_t lsn)
{
    char text[256];

    snprintf(text, sizeof(text),
             "journal: records %" PRIu64 " to %" PRIu64
             " are lost: what they added is missing, and what they deleted is there again",
             reading->expected, lsn - 1);
    report(reading, text);
    reading->after_gap = true;
}

static enum dueq_status give(struct reading *reading, size_t offset,
                             const struct record_header *header)
{
    struct journal_record record = {.lsn = header->lsn,
                                    .time = header->time,
                                    .payload = reading->bytes + offset + RECORD_HEADER_SIZE,
                                    .size = header->size};

    note_durable(reading, header->durable);
    if (header->lsn <= reading->last) /* an earlier one, of an older file */
        return DUEQ_OK;
    if (reading->expected == 0)
        reading->expected = header->lsn;
    if (header->lsn > reading->expected)
        miss(reading, header->lsn);
    if (header->lsn >= reading->expected)
        reading->expected = header->lsn + 1;
    reading->last = header->lsn;
    return reading->sink->on_record(reading->sink->arg, &record, reading->after_gap);
}

/* Calls for each record of the segment that checks, wherever it is. */
static enum dueq_status read_segment(struct reading *reading)
{
    enum dueq_status status = DUEQ_OK;
    struct record_header header;
    size_t offset = 0;

    while (offset < reading->size && status == DUEQ_OK) {
        const uint8_t *bytes = reading->bytes + offset;
        size_t room = reading->size - offset;

        if (record_read(bytes, room, reading->salt, &header)) {
            status = give(reading, offset, &header);
            offset += record_space(header.size);
            continue;
        }
        if (record_read_header(bytes, room, reading->salt, &header))
            note_durable(reading, header.durable);
        offset += RECORD_ALIGN;
    }
    return status;
}

static enum dueq_status read_number(struct reading *reading, uint64_t number)
{
    struct dueq_error error = {""};
    enum dueq_status status;

    reading->number = number;
    reading->salt = segment_salt(reading->store_salt, number);
    reading->bytes = NULL;
    status = journal_files_read(&reading->files, number, SIZE_MAX, &reading->bytes,
                                &reading->size, &error);
    if (status == DUEQ_IO) {
        report(reading, error.text);
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    read_header(reading);
    status = read_segment(reading);
    free(reading->bytes);
    return status;
}

/* ---- may it be read? */

/* Damage may be why something cannot be opened, but not why it may not be. */
static enum dueq_status ask_for(const struct dueq_io *io, const char *path,
                                struct dueq_error *error)
{
    int fd = io->open(io->arg, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);

    if (fd >= 0)
        io->close(io->arg, fd);
    else if (errno == EACCES || errno == EPERM)
        return dueq_fail(error, DUEQ_IO, "cannot open %s: %s", path, strerror(errno));
    return DUEQ_OK;
}

static enum dueq_status ask_for_each(const struct journal_files *files,
                                     const struct journal_listing *listing,
                                     struct dueq_error *error)
{
    enum dueq_status status = DUEQ_OK;
    char path[PATH_MAX];

    for (size_t i = 0; i < listing->count && status == DUEQ_OK; i++) {
        journal_files_live_path(files, listing->numbers[i], path);
        status = ask_for(files->io, path, error);
    }
    return status;
}

enum dueq_status journal_salvage_ask(const struct dueq_io *io, const char *dir,
                                     struct dueq_error *error)
{
    struct journal_files files;
    struct journal_listing listing;
    char path[PATH_MAX];
    enum dueq_status status = DUEQ_OK;

    if (snprintf(path, sizeof(path), "%s/journal", dir) < (int)sizeof(path))
        status = ask_for(io, path, error);
    if (status != DUEQ_OK || journal_files_look(&files, dir, io, &listing, NULL) != DUEQ_OK)
        return status;
    status = ask_for_each(&files, &listing, error);
    free(listing.numbers);
    journal_files_close(&files);
    return status;
}

/* ---- reading */

enum dueq_status journal_salvage(const struct dueq_io *io, const char *dir, uint64_t salt,
                                 uint64_t first, const struct journal_salvage_sink *sink)
{
    struct reading reading = {.sink = sink, .store_salt = salt, .expected = first};
    struct journal_listing listing;
    struct dueq_error error = {""};
    enum dueq_status status = journal_files_look(&reading.files, dir, io, &listing, &error);

    if (status == DUEQ_IO) {
        report(&reading, error.text);
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    for (size_t i = 0; i < listing.count && status == DUEQ_OK; i++)
        status = read_number(&reading, listing.numbers[i]);
    free(listing.numbers);
    journal_files_close(&reading.files);
    if (status == DUEQ_OK && reading.durable >= reading.expected)
        miss(&reading, reading.durable + 1);
    return status;
}
