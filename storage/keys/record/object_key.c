#include "storage/keys/record/object_key.h"

const uint8_t *object_key_tables(enum keys_type type)
{
    static const uint8_t tables[][3] = {
        [KEYS_NONE] = {0},
        [KEYS_STRING] = {TABLE_STRING, 0},
        [KEYS_LIST] = {TABLE_ELEMENT, 0},
        [KEYS_SET] = {TABLE_MEMBER, 0},
        [KEYS_ZSET] = {TABLE_MEMBER, TABLE_ORDER, 0},
        [KEYS_HASH] = {TABLE_MEMBER, 0},
    };
    return tables[type];
}

struct kv_key object_key_prefix(uint8_t table, uint64_t object)
{
    struct kv_key key;

    kv_key_start(&key, table);
    kv_key_u64(&key, object);
    return key;
}

struct kv_key object_key_element(uint64_t object, int64_t index)
{
    struct kv_key key = object_key_prefix(TABLE_ELEMENT, object);

    kv_key_time(&key, index);
    return key;
}
