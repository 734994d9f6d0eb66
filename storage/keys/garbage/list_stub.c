#include "storage/keys/garbage/list_stub.h"

#include "storage/bytes.h"
#include "storage/keys/garbage/erase.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

enum { STUB_RUN = 1000 }; /* elements that are erased without a look whether they are there */

/* Indexes from `first` to before `end`. */
struct stub {
    int64_t first, end;
};

static struct kv_key stub_key(uint64_t object, enum list_end end)
{
    return garbage_record_key(object, end == LIST_HEAD ? GARBAGE_HEAD : GARBAGE_TAIL);
}

/* DUEQ_NOTFOUND: no elements are cut off at that end. */
static enum dueq_status read_stub(struct keys *keys, const struct kv_key *record,
                                  struct stub *ret_stub)
{
    struct dueq_slice value;
    enum dueq_status status = garbage_record_get(keys, record, &value);

    if (status != DUEQ_OK)
        return status;
    if (value.size != 16)
        return DUEQ_CORRUPT;
    ret_stub->first = (int64_t)bytes_read_u64(value.data);
    ret_stub->end = (int64_t)bytes_read_u64((const uint8_t *)value.data + 8);
    return DUEQ_OK;
}

static void write_stub(struct keys *keys, const struct kv_key *record, const struct stub *stub)
{
    uint8_t value[16];

    if (stub->first == stub->end) {
        kv_del(keys->kv, kv_key_slice(record));
        return;
    }
    bytes_write_u64(value, (uint64_t)stub->first);
    bytes_write_u64(value + 8, (uint64_t)stub->end);
    garbage_record_put(keys, record, dueq_slice(value, sizeof(value)), false);
}

/* Erases elements and takes them out of *stub. Returns what is left of the budget. */
static unsigned erase_stub(struct keys *keys, uint64_t object, struct stub *stub,
                           unsigned budget)
{
    for (; stub->first < stub->end && budget > 0; stub->first++, budget--) {
        struct kv_key key = object_key_element(object, stub->first);

        kv_del(keys->kv, kv_key_slice(&key));
    }
    return budget;
}

/* Elements that were cut off at that end before, and are not erased yet, are adjacent: one
 * record covers both. A record that cannot be read is overwritten; its elements are erased
 * together with the list. */
void list_stub_drop(struct keys *keys, uint64_t object, enum list_end end, int64_t first,
                    uint64_t count)
{
    struct stub stub = {first, first + (int64_t)count}, before;
    struct kv_key record = stub_key(object, end);

    if (count <= ERASE_SMALL) {
        erase_stub(keys, object, &stub, ERASE_SMALL);
        return;
    }
    if (read_stub(keys, &record, &before) == DUEQ_OK) {
        if (end == LIST_HEAD)
            stub.first = before.first;
        else
            stub.end = before.end;
    }
    write_stub(keys, &record, &stub);
}

enum dueq_status list_stub_take_back(struct keys *keys, uint64_t object, enum list_end end,
                                     int64_t index, bool *ret_taken)
{
    struct kv_key record = stub_key(object, end);
    struct stub stub;
    enum dueq_status status = read_stub(keys, &record, &stub);

    *ret_taken = status == DUEQ_OK && index >= stub.first && index < stub.end;
    if (!*ret_taken)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    if (end == LIST_HEAD)
        stub.end = index;
    else
        stub.first = index + 1;
    write_stub(keys, &record, &stub);
    return DUEQ_OK;
}

bool list_stub_forget(struct keys *keys, uint64_t object)
{
    bool any = false;

    for (enum list_end end = LIST_HEAD; end <= LIST_TAIL; end++) {
        struct kv_key record = stub_key(object, end);
        struct stub stub;

        if (read_stub(keys, &record, &stub) == DUEQ_NOTFOUND)
            continue;
        kv_del(keys->kv, kv_key_slice(&record));
        any = true;
    }
    return any;
}

/* Takes the indexes before the first element out of *stub. */
static enum dueq_status pass_gap(struct keys *keys, uint64_t object, struct stub *stub,
                                 unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(TABLE_ELEMENT, object);
    struct kv_key first = object_key_element(object, stub->first);
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;
    int64_t index = stub->end;

    if (at == NULL)
        return DUEQ_NOMEM;
    status = erase_seek(at, &first, &prefix, budget);
    if (status == DUEQ_OK && kv_cursor_key(at).size != first.size)
        status = DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        index = bytes_read_time((const uint8_t *)kv_cursor_key(at).data + prefix.size);
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        stub->first = index < stub->end ? index : stub->end;
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* In a damaged record the range can have 2^64 indexes: in a long one elements are looked for.
 */
static enum dueq_status erase_run(struct keys *keys, uint64_t object, struct stub *stub,
                                  unsigned *budget)
{
    enum dueq_status status = DUEQ_OK;
    unsigned run;

    if ((uint64_t)stub->end - (uint64_t)stub->first > STUB_RUN)
        status = pass_gap(keys, object, stub, budget);
    if (status != DUEQ_OK)
        return status;
    run = *budget < STUB_RUN ? *budget : STUB_RUN;
    *budget -= run - erase_stub(keys, object, stub, run);
    return DUEQ_OK;
}

enum dueq_status list_stub_erase(struct keys *keys, const struct kv_key *record,
                                 unsigned *budget)
{
    struct stub stub;
    enum dueq_status status = read_stub(keys, record, &stub);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    while (status == DUEQ_OK && stub.first<stub.end && * budget> 0)
        status = erase_run(keys, bytes_read_u64(record->bytes + 1), &stub, budget);
    write_stub(keys, record, &stub);
    return status == DUEQ_OK && stub.first < stub.end ? DUEQ_BUSY : status;
}
