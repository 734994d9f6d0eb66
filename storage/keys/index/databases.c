#include "storage/keys/index/databases.h"

#include "storage/bytes.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/kv.h"

#include <assert.h>

struct keys_database *databases_find(struct keys *keys, uint64_t physical)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        if (keys->databases[i].physical == physical)
            return &keys->databases[i];
    return NULL; /* flushed: its entries are closed */
}

struct kv_key databases_key(unsigned number)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_DATABASE);
    kv_key_u8(&key, (uint8_t)number);
    return key;
}

static struct kv_key counters_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_COUNTERS);
    return key;
}

static void save_database(struct keys *keys, unsigned number)
{
    struct keys_database *database = &keys->databases[number];
    struct kv_key key = databases_key(number);
    uint8_t record[24];

    bytes_write_u64(record, database->physical);
    bytes_write_u64(record + 8, database->count);
    bytes_write_u64(record + 16, database->expiring);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    database->dirty = false;
}

static void save_counters(struct keys *keys)
{
    struct kv_key key = counters_key();
    uint8_t record[16];

    bytes_write_u64(record, keys->next_object);
    bytes_write_u64(record + 8, keys->next_physical);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    keys->counters_dirty = false;
}

void databases_save(struct keys *keys)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        if (keys->databases[i].dirty)
            save_database(keys, i);
    if (keys->counters_dirty)
        save_counters(keys);
}

static enum dueq_status load_database(struct keys *keys, unsigned number)
{
    struct keys_database *database = &keys->databases[number];
    struct kv_key key = databases_key(number);
    struct dueq_slice record;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    database->physical = number;
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (record.size != 24)
        return DUEQ_CORRUPT;
    database->physical = bytes_read_u64(record.data);
    database->count = bytes_read_u64((const uint8_t *)record.data + 8);
    database->expiring = bytes_read_u64((const uint8_t *)record.data + 16);
    return DUEQ_OK;
}

enum dueq_status databases_load(struct keys *keys)
{
    struct kv_key key = counters_key();
    struct dueq_slice record;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    keys->next_object = 1;
    keys->next_physical = KEYS_DATABASES_MAX;
    if (status == DUEQ_OK && record.size == 16) {
        keys->next_object = bytes_read_u64(record.data);
        keys->next_physical = bytes_read_u64((const uint8_t *)record.data + 8);
    } else if (status != DUEQ_NOTFOUND) {
        return status == DUEQ_OK ? DUEQ_CORRUPT : status;
    }
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++) {
        status = load_database(keys, i);
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}
