#include "storage/keys/state/changes.h"

#include "storage/keys/state/keys_internal.h"

#include <assert.h>
#include <stdlib.h>

struct change_header {
    size_t name_size;
    unsigned database;
    enum change_kind kind;
};

/* Consecutive equal changes of one key, for instance by elements that are added one by one, are
 * recorded once. */
static bool is_repeated(const struct change_log *log, const struct change_header *header,
                        struct dueq_slice name)
{
    struct change_header last;

    if (log->last < log->read || log->size == log->read)
        return false;
    memcpy(&last, log->bytes + log->last, sizeof(last));
    return last.database == header->database && last.kind == header->kind &&
           dueq_slice_equal(dueq_slice(log->bytes + log->last + sizeof(last), last.name_size),
                            name);
}

static void append(struct keys *keys, const struct change_header *header,
                   struct dueq_slice name)
{
    struct change_log *log = &keys->changes;
    size_t size = sizeof(*header) + name.size;

    if (!log->on || is_repeated(log, header, name))
        return;
    if (log->size + size > log->capacity) {
        size_t capacity = (log->size + size) * 2;
        uint8_t *grown = realloc(log->bytes, capacity);

        if (grown == NULL) {
            log->lost = KEYS_DATABASES_MAX;
            return;
        }
        log->bytes = grown;
        log->capacity = capacity;
    }
    memcpy(log->bytes + log->size, header, sizeof(*header));
    if (name.size > 0)
        memcpy(log->bytes + log->size + sizeof(*header), name.data, name.size);
    log->shown += header->kind == CHANGE_EXPIRED || header->kind == CHANGE_CREATED;
    log->last = log->size;
    log->size += size;
}

void changes_record(struct keys *keys, unsigned database, struct dueq_slice name,
                    enum change_kind kind)
{
    append(keys, &(struct change_header){name.size, database, kind}, name);
}

void changes_enable(struct keys *keys, bool on)
{
    struct change_log *log = &keys->changes;

    log->on = on;
    log->size = log->read = log->peeked = log->shown = 0;
    log->lost = 0;
}

/* Reads the change at *at and advances *at. False: there is none. */
static bool take(const struct change_log *log, size_t *at, struct keys_change *ret_change)
{
    struct change_header header;

    if (*at == log->size)
        return false;
    memcpy(&header, log->bytes + *at, sizeof(header));
    *ret_change = (struct keys_change){
        header.database, dueq_slice(log->bytes + *at + sizeof(header), header.name_size),
        header.kind == CHANGE_EXPIRED, header.kind == CHANGE_CREATED,
        header.kind == CHANGE_FLUSHED};
    *at += sizeof(header) + header.name_size;
    return true;
}

enum dueq_status changes_next(struct keys *keys, struct keys_change *ret_change)
{
    struct change_log *log = &keys->changes;

    assert(log->read <= log->size && log->peeked <= log->size);
    if (take(log, &log->read, ret_change))
        return DUEQ_OK;
    if (log->lost > 0) {
        *ret_change = (struct keys_change){.database = --log->lost, .flushed = true};
        return DUEQ_OK;
    }
    log->read = log->size = log->peeked = log->shown = 0;
    return DUEQ_NOTFOUND;
}

enum dueq_status changes_look(const struct keys *keys, struct keys_change *ret_change)
{
    size_t at = keys->changes.read;

    return take(&keys->changes, &at, ret_change) ? DUEQ_OK : DUEQ_NOTFOUND;
}

enum dueq_status changes_peek(struct keys *keys, struct keys_change *ret_change)
{
    struct change_log *log = &keys->changes;
    struct keys_change change;

    if (log->peeked < log->read)
        log->peeked = log->read;
    while (log->shown > 0 && take(log, &log->peeked, &change)) {
        if (!change.expired && !change.created)
            continue;
        log->shown--;
        *ret_change = change;
        return DUEQ_OK;
    }
    return DUEQ_NOTFOUND;
}
