#include "storage/salvage.h"

#include "storage/keys/keys_salvage.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/kv/kv_begin.h"
#include "storage/kv/room.h"
#include "storage/kv/kv_salvage.h"
#include "storage/queue/queue_salvage.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    COMMIT_BYTES = 1024 * 1024,
    SEGMENT_BYTES = 4 * COMMIT_BYTES, /* nobody goes on in these journals */
    PROGRESS_EVERY = 10000,           /* records */
    TEXT_MAX = 2048,
    ROOM_BESIDE = 4096, /* bytes, beside a value: its key, and what is noted of it */
    /* In what was read: a key after this byte has a value that is in doubt; value: why. No
     * table has it. */
    TABLE_DOUBT = '!'
};

/* ---- findings */

static void note(struct salvage *salvage, enum salvage_finding finding, const char *text)
{
    salvage->findings[finding]++;
    salvage->on_finding(salvage->arg, finding, text);
}

void salvage_note(struct salvage *salvage, enum salvage_finding finding, const char *format,
                  ...)
{
    char text[TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    note(salvage, finding, text);
}

static enum dueq_status count_record(struct salvage *salvage)
{
    return ++salvage->records % PROGRESS_EVERY != 0 || salvage->on_progress == NULL ||
                   salvage->on_progress(salvage->arg, salvage->records)
               ? DUEQ_OK
               : DUEQ_STOPPED;
}

/* ---- doubts */

static struct kv_key doubt_key(const struct kv *kv, struct dueq_slice key)
{
    struct kv_key doubt;

    kv_key_start(&doubt, TABLE_DOUBT);
    kv_key_name(&doubt, key, kv_seed(kv));
    return doubt;
}

static void note_doubt(struct salvage *salvage, struct dueq_slice key, uint8_t how)
{
    struct kv_key doubt = doubt_key(salvage->from, key);

    if (how != KV_SALVAGED) {
        kv_put(salvage->from, kv_key_slice(&doubt), dueq_slice(&how, 1), false);
        salvage->doubts = true;
    } else if (salvage->doubts) {
        kv_del(salvage->from, kv_key_slice(&doubt));
    }
}

static const char *explain(struct dueq_slice how)
{
    return how.size == 1 && *(const uint8_t *)how.data == KV_SALVAGED_STRAY
               ? "it was on a page that nothing leads to, and may be older than what is lost"
               : "it was written after records of the journal that are lost";
}

static const char *first_doubt(const struct salvage *salvage, const struct kv_key *doubt)
{
    struct kv_cursor *cursor = kv_cursor_new(salvage->from);
    const char *text = NULL;

    if (cursor != NULL && kv_cursor_seek(cursor, kv_key_slice(doubt)) == DUEQ_OK &&
        kv_key_begins(kv_cursor_key(cursor), doubt))
        text = explain(kv_cursor_value(cursor));
    kv_cursor_free(cursor);
    return text;
}

const char *salvage_doubt(const struct salvage *salvage, struct dueq_slice key, bool whole)
{
    struct dueq_slice how;
    struct kv_key doubt;

    if (!salvage->doubts)
        return NULL;
    doubt = doubt_key(salvage->from, key);
    if (!whole)
        return first_doubt(salvage, &doubt);
    return kv_get(salvage->from, kv_key_slice(&doubt), &how) == DUEQ_OK ? explain(how) : NULL;
}

/* ---- reading: all records go into a key space of their own */

static enum dueq_status commit_read(struct salvage *salvage, size_t least)
{
    enum dueq_status status;
    uint64_t lsn;

    if (kv_batch_bytes(salvage->from) < least)
        return DUEQ_OK;
    status = kv_commit(salvage->from, 1, &lsn);
    if (status == DUEQ_OK)
        kv_maintain(salvage->from, false);
    return status;
}

static enum dueq_status end_change(struct salvage *salvage)
{
    enum dueq_status status = commit_read(salvage, COMMIT_BYTES);

    return status == DUEQ_OK ? count_record(salvage) : status;
}

static enum dueq_status on_put(void *arg, struct dueq_slice key, struct dueq_slice value,
                               enum kv_salvaged how)
{
    struct salvage *salvage = arg;
    struct dueq_slice found;
    enum dueq_status status = kv_room(salvage->from, value.size + ROOM_BESIDE);

    if (status != DUEQ_OK)
        return status;
    if (queue_salvage_takes(key)) {
        queue_salvage_put(salvage->from, key, value, how == KV_SALVAGED_STRAY);
        return end_change(salvage);
    }
    if (how == KV_SALVAGED_STRAY && kv_get(salvage->from, key, &found) == DUEQ_OK)
        return DUEQ_OK;
    kv_put(salvage->from, key, value, false);
    note_doubt(salvage, key, (uint8_t)how);
    return end_change(salvage);
}

static enum dueq_status on_del(void *arg, struct dueq_slice key)
{
    struct salvage *salvage = arg;

    if (queue_salvage_takes(key)) {
        queue_salvage_del(salvage->from, key);
    } else {
        kv_del(salvage->from, key);
        note_doubt(salvage, key, KV_SALVAGED);
    }
    return end_change(salvage);
}

static void on_damage(void *arg, const char *what)
{
    note(arg, SALVAGE_DAMAGE, what);
}

/* Of the mark; without it, of the numbers that the store has given. */
static void find_epoch(struct salvage *salvage, const struct kv_salvage *damaged)
{
    uint64_t given = queue_salvage_epoch(salvage->from);

    salvage->epoch = kv_salvage_epoch(damaged);
    if (salvage->epoch < given)
        salvage->epoch = given;
}

static enum dueq_status read_all(struct salvage *salvage, struct kv_salvage *damaged,
                                 const char *scratch, struct dueq_options *ret_options,
                                 struct dueq_error *error)
{
    struct dueq_options options;
    enum dueq_status status;
    int64_t time;

    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE; /* the new store is synced as a whole, at the end */
    options.segment_bytes = SEGMENT_BYTES;
    options.disk_reserve_bytes = 0; /* a full disk may be why a repair is needed */
    options.seed = kv_salvage_seed(damaged);
    status = kv_open(scratch, &options, &salvage->from, error);
    if (status != DUEQ_OK)
        return status;
    *ret_options = options;
    ret_options->seed = kv_seed(salvage->from);
    status = kv_salvage_read(damaged, &time);
    if (status == DUEQ_OK)
        status = commit_read(salvage, 1);
    find_epoch(salvage, damaged);
    salvage->time = (struct dueq_time){time, time, time};
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(error, status, "what is sound cannot be read: %s",
                                         dueq_status_text(status));
}

static enum dueq_status read_directory(struct salvage *salvage, const char *dir,
                                       const char *scratch, struct dueq_options *ret_options,
                                       struct dueq_error *error)
{
    const struct kv_salvage_sink sink = {on_put, on_del, on_damage, salvage};
    struct kv_salvage *damaged = NULL;
    enum dueq_status status = kv_salvage_open(dir, &io_system, &sink, &damaged, error);

    if (status == DUEQ_OK)
        status = read_all(salvage, damaged, scratch, ret_options, error);
    kv_salvage_close(damaged);
    return status;
}

/* ---- the new store */

static enum dueq_status commit(struct salvage *salvage)
{
    uint64_t lsn;
    enum dueq_status status = dueq_commit(salvage->into, salvage->time, &lsn);

    if (status == DUEQ_OK)
        dueq_maintain(salvage->into, false);
    return status;
}

enum dueq_status salvage_step(struct salvage *salvage)
{
    enum dueq_status status = count_record(salvage);

    if (status != DUEQ_OK || dueq_batch_bytes(salvage->into) < COMMIT_BYTES)
        return status;
    return commit(salvage);
}

/* What is written is what a check will read. */
static enum dueq_status fill(struct salvage *salvage)
{
    struct dueq_verify verify = {.on_finding = NULL};
    enum dueq_status status = queue_salvage(salvage);

    if (status == DUEQ_OK)
        status = keys_salvage(salvage);
    if (status == DUEQ_OK)
        status = commit(salvage);
    return status == DUEQ_OK ? dueq_verify(salvage->into, &verify) : status;
}

static enum dueq_status make(struct salvage *salvage, const char *to,
                             const struct dueq_options *options, struct dueq_error *error)
{
    enum dueq_status status = kv_begin(to, options, salvage->epoch, error);

    if (status == DUEQ_OK)
        status = dueq_open(to, options, salvage->time, &salvage->into, error);
    if (status != DUEQ_OK)
        return status;
    status = fill(salvage);
    if (status == DUEQ_OK) {
        dueq_set_durability(salvage->into, DUEQ_SYNC_ALWAYS, 0);
        status = dueq_close(salvage->into);
    } else {
        dueq_abandon(salvage->into);
    }
    salvage->into = NULL;
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(error, status, "%s cannot be made: %s", to,
                                         dueq_status_text(status));
}

enum dueq_status salvage_store(const char *from, const char *scratch, const char *to,
                               struct salvage *salvage, struct dueq_error *error)
{
    struct dueq_options options;
    enum dueq_status status;

    salvage->from = NULL;
    salvage->into = NULL;
    salvage->topics = salvage->jobs = salvage->keys = salvage->records = 0;
    salvage->doubts = false;
    memset(salvage->findings, 0, sizeof(salvage->findings));
    status = read_directory(salvage, from, scratch, &options, error);
    if (status == DUEQ_OK)
        status = make(salvage, to, &options, error);
    kv_abandon(salvage->from);
    salvage->from = NULL;
    return status;
}
