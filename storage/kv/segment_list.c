#include "storage/kv/segment_list.h"

#include "storage/kv/archive_file.h"
#include "storage/kv/journal/segment_scan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void segment_list_release(struct segment_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->segments[i].path);
    free(list->segments);
    free(list->parts);
    *list = (struct segment_list){.count = 0};
}

/* ---- what there is */

static bool make_room(struct segment_list *list)
{
    size_t room = list->room == 0 ? 64 : list->room * 2;
    struct listed_segment *grown;

    if (list->count < list->room)
        return true;
    grown = realloc(list->segments, room * sizeof(*grown));
    if (grown == NULL)
        return false;
    list->segments = grown;
    list->room = room;
    return true;
}

/* A name as in an archive (*ret_whole), or as in a journal. */
static bool is_segment(const char *text, uint64_t seed, struct archive_name *ret_name,
                       bool *ret_whole)
{
    const size_t digits = 16, size = strlen(text);

    *ret_whole = archive_name_read(text, ret_name);
    if (*ret_whole)
        return ret_name->store == archive_store(seed);
    return size == digits + 4 && strspn(text, "0123456789abcdef") == digits &&
           strcmp(text + digits, ".seg") == 0;
}

static enum dueq_status read_header(const struct dueq_io *io, const char *path, uint64_t seed,
                                    struct listed_segment *ret_segment)
{
    struct segment_scan scan;
    enum dueq_status status = segment_scan_open(&scan, io, path, seed);

    if (status != DUEQ_OK)
        return status;
    segment_scan_close(&scan);
    ret_segment->number = scan.header.number;
    ret_segment->first_lsn = scan.header.first_lsn;
    ret_segment->history = scan.header.history;
    return DUEQ_OK;
}

static enum dueq_status add(struct segment_list *list, const struct dueq_io *io,
                            const char *path, uint64_t seed, const struct archive_name *name)
{
    struct listed_segment segment = {.whole = name != NULL};
    enum dueq_status status = read_header(io, path, seed, &segment);

    if (status == DUEQ_NOTFOUND || (status == DUEQ_CORRUPT && name == NULL))
        return DUEQ_OK; /* a journal ends somewhere */
    if (status != DUEQ_OK && status != DUEQ_CORRUPT)
        return status;
    segment.damaged = status == DUEQ_CORRUPT;
    if (segment.damaged) {
        segment.first_lsn = name->first_lsn;
        segment.history.id = name->history;
    }
    segment.path = make_room(list) ? strdup(path) : NULL;
    if (segment.path == NULL)
        return DUEQ_NOMEM;
    list->segments[list->count++] = segment;
    return DUEQ_OK;
}

enum dueq_status segment_list_add(struct segment_list *list, const struct dueq_io *io,
                                  const char *dir, uint64_t seed, struct dueq_error *error)
{
    DIR *opened = opendir(dir);
    struct dirent *found;
    char path[PATH_MAX];
    enum dueq_status status = DUEQ_OK;
    struct archive_name name;
    bool whole;

    if (opened == NULL)
        return dueq_fail(error, errno == ENOENT ? DUEQ_NOTFOUND : DUEQ_IO, "cannot read %s: %s",
                         dir, strerror(errno));
    while (status == DUEQ_OK && (found = readdir(opened)) != NULL) {
        if (!is_segment(found->d_name, seed, &name, &whole) ||
            snprintf(path, sizeof(path), "%s/%s", dir, found->d_name) >= (int)sizeof(path))
            continue;
        status = add(list, io, path, seed, whole ? &name : NULL);
        if (status != DUEQ_OK)
            dueq_fail(error, status, "cannot read %s: %s", path,
                      status == DUEQ_IO ? strerror(errno) : dueq_status_text(status));
    }
    closedir(opened);
    return status;
}

/* ---- the way */

static const struct history *find_history(const struct segment_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->segments[i].history.id == id && !list->segments[i].damaged)
            return &list->segments[i].history;
    return NULL;
}

/* How many histories lead from the base to this one, both counted; 0: none do. */
static size_t count_parts(const struct segment_list *list, uint64_t id, uint64_t base,
                          uint64_t lsn)
{
    for (size_t parts = 1; parts <= list->count + 1; parts++) {
        const struct history *history = find_history(list, id);

        if (id == base)
            return parts;
        if (history == NULL || history->first_lsn <= lsn)
            return 0;
        id = history->parent;
    }
    return 0;
}

static enum dueq_status find_latest(const struct segment_list *list, uint64_t base,
                                    uint64_t lsn, uint64_t *ret_id, struct dueq_error *error)
{
    uint64_t latest = base, other = 0;

    for (size_t i = 0; i < list->count; i++) {
        uint64_t id = list->segments[i].history.id;

        if (id == latest || count_parts(list, id, base, lsn) == 0)
            continue;
        if (history_epoch(id) > history_epoch(latest) ||
            count_parts(list, id, latest, lsn) > 0) {
            latest = id;
            other = 0;
        } else if (history_epoch(id) == history_epoch(latest)) {
            other = id;
        }
    }
    *ret_id = latest;
    if (other == 0)
        return DUEQ_OK;
    return dueq_fail(error, DUEQ_DUPLICATE,
                     "two stores went on from that backup: say which history is meant, "
                     "%016" PRIx64 " or %016" PRIx64,
                     latest, other);
}

static enum dueq_status make_parts(struct segment_list *list, uint64_t base, uint64_t lsn,
                                   uint64_t id, size_t count)
{
    uint64_t end = UINT64_MAX;

    free(list->parts);
    list->parts = calloc(count, sizeof(*list->parts));
    list->part_count = list->parts == NULL ? 0 : count;
    if (list->parts == NULL)
        return DUEQ_NOMEM;
    while (count-- > 0) {
        const struct history *history = find_history(list, id);
        uint64_t first = id == base || history == NULL ? lsn + 1 : history->first_lsn;

        list->parts[count] = (struct history_part){id, first, end};
        end = first - 1;
        id = history == NULL ? 0 : history->parent;
    }
    return DUEQ_OK;
}

enum dueq_status segment_list_plan(struct segment_list *list, uint64_t base, uint64_t lsn,
                                   uint64_t target, struct dueq_error *error)
{
    enum dueq_status status = DUEQ_OK;
    size_t count;

    if (target == 0)
        status = find_latest(list, base, lsn, &target, error);
    if (status != DUEQ_OK)
        return status;
    count = count_parts(list, target, base, lsn);
    if (count == 0)
        return dueq_fail(error, DUEQ_NOTFOUND,
                         "no segment says that history %016" PRIx64 " goes on from the backup",
                         target);
    status = make_parts(list, base, lsn, target, count);
    return status == DUEQ_OK ? status : dueq_fail(error, status, "out of memory");
}

uint64_t segment_list_epoch(const struct segment_list *list)
{
    uint64_t most = 0;

    for (size_t i = 0; i < list->count; i++)
        if (history_epoch(list->segments[i].history.id) > most)
            most = history_epoch(list->segments[i].history.id);
    return most;
}

const struct history_part *segment_list_part(const struct segment_list *list, uint64_t lsn)
{
    for (size_t i = 0; i < list->part_count; i++)
        if (lsn >= list->parts[i].first_lsn && lsn <= list->parts[i].last_lsn)
            return &list->parts[i];
    return NULL;
}

/* Of several copies of a segment whole ones come first, then those with a smaller place in the
 * list. */
static bool is_better(const struct listed_segment *one, const struct listed_segment *two)
{
    if (one->first_lsn != two->first_lsn)
        return one->first_lsn > two->first_lsn;
    return one->whole != two->whole ? one->whole : one < two;
}

/* Comes after that one, which did not have the record. Segments of a history do not overlap:
 * one that begins earlier does not have it either. */
static bool is_copy(const struct listed_segment *after, const struct listed_segment *segment)
{
    return segment != after && segment->first_lsn == after->first_lsn &&
           is_better(after, segment);
}

const struct listed_segment *segment_list_find(const struct segment_list *list, uint64_t lsn,
                                               const struct listed_segment *after)
{
    const struct history_part *part = segment_list_part(list, lsn);
    const struct listed_segment *best = NULL;

    for (size_t i = 0; i < list->count && part != NULL; i++) {
        const struct listed_segment *segment = &list->segments[i];

        if (segment->history.id == part->id && segment->first_lsn <= lsn && !segment->damaged &&
            (after == NULL || is_copy(after, segment)) &&
            (best == NULL || is_better(segment, best)))
            best = segment;
    }
    return best;
}

const struct listed_segment *segment_list_next(const struct segment_list *list, uint64_t lsn)
{
    const struct listed_segment *next = NULL;

    for (size_t i = 0; i < list->count; i++) {
        const struct listed_segment *segment = &list->segments[i];
        const struct history_part *part = segment_list_part(list, segment->first_lsn);

        if (part != NULL && part->id == segment->history.id && segment->first_lsn > lsn &&
            (next == NULL || segment->first_lsn < next->first_lsn))
            next = segment;
    }
    return next;
}
