#include "storage/keys/record/zset_order.h"

#include "storage/bytes.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <math.h>

enum { ORDER_PREFIX = 1 + 8 };
enum { ORDER_FOLDED = 1, ORDER_NEGATIVE_ZERO = 2 }; /* flags: -0 sorts as 0 */
#define SIGN_BIT ((uint64_t)1 << 63)

/* ---- scores as bytes */

static uint64_t bits_of(double score)
{
    uint64_t bits;

    memcpy(&bits, &score, sizeof(bits));
    return bits;
}

void zset_order_write_score(uint8_t *bytes, double score)
{
    bytes_write_u64(bytes, bits_of(score));
}

double zset_order_read_score(struct dueq_slice value)
{
    uint64_t bits = bytes_read_u64(value.data);
    double score;

    memcpy(&score, &bits, sizeof(score));
    return score;
}

/* Returns an integer; these integers have the order of the doubles. -0 and 0 are the same. */
static uint64_t sortable(double score)
{
    uint64_t bits = score == 0 ? 0 : bits_of(score);

    return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

static double unsortable(uint64_t order)
{
    uint8_t bytes[8];

    bytes_write_u64(bytes, order & SIGN_BIT ? order & ~SIGN_BIT : ~order);
    return zset_order_read_score(dueq_slice(bytes, sizeof(bytes)));
}

/* ---- keys */

struct kv_key zset_order_first(const struct keys_entry *entry)
{
    return object_key_prefix(TABLE_ORDER, entry->object);
}

struct kv_key zset_order_end(const struct keys_entry *entry)
{
    return object_key_prefix(TABLE_ORDER, entry->object + 1);
}

struct kv_key zset_order_edge(const struct keys_entry *entry, double score, bool above)
{
    struct kv_key key = zset_order_first(entry);

    kv_key_u64(&key, sortable(score) + above);
    return key;
}

struct kv_key zset_order_key(const struct keys *keys, const struct keys_entry *entry,
                             double score, struct dueq_slice member)
{
    struct kv_key key = zset_order_edge(entry, score, false);

    if (member.size > 0)
        kv_key_name(&key, member, keys->seed);
    return key;
}

void zset_order_expect(const struct keys *keys, const struct keys_entry *entry, double score,
                       struct dueq_slice member)
{
    struct kv_key key;

    if (entry->packed)
        return;
    key = zset_order_key(keys, entry, score, member);
    kv_expect(keys->kv, kv_key_slice(&key));
}

/* The value is empty when the key contains everything. */
void zset_order_put(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member, bool absent)
{
    struct kv_key key = zset_order_key(keys, entry, score, member);
    uint8_t flags = (key.folded ? ORDER_FOLDED : 0) |
                    (score == 0 && signbit(score) ? ORDER_NEGATIVE_ZERO : 0);
    struct dueq_slice parts[2] = {dueq_slice(&flags, 1), member};

    kv_putv(keys->kv, kv_key_slice(&key), parts, flags == 0 ? 0 : 1 + key.folded, absent);
}

void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member)
{
    struct kv_key key = zset_order_key(keys, entry, score, member);

    kv_del(keys->kv, kv_key_slice(&key));
}

/* ---- records */

bool zset_order_holds(const struct keys_entry *entry, const struct kv_cursor *at)
{
    struct dueq_slice key = kv_cursor_key(at);
    const uint8_t *bytes = key.data;

    return key.size >= ZSET_ORDER_KEY_FIXED && bytes[0] == TABLE_ORDER &&
           bytes_read_u64(bytes + 1) == entry->object;
}

void zset_order_read(const struct kv_cursor *at, struct zset_entry *ret_entry)
{
    struct dueq_slice key = kv_cursor_key(at), value = kv_cursor_value(at);
    const uint8_t *bytes = key.data, *flags = value.data;

    ret_entry->member =
        dueq_slice(bytes + ZSET_ORDER_KEY_FIXED, key.size - ZSET_ORDER_KEY_FIXED);
    ret_entry->score = unsortable(bytes_read_u64(bytes + ORDER_PREFIX));
    if (value.size == 0)
        return;
    if (*flags & ORDER_NEGATIVE_ZERO)
        ret_entry->score = -0.0;
    if (*flags & ORDER_FOLDED)
        ret_entry->member = dueq_slice(flags + 1, value.size - 1);
}
