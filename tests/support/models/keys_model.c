#include "tests/support/models/keys_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts: filler, and the number in the last two bytes */

enum { NUMBER_SIZE = 2, TEXT_MAX = 5000 };

static size_t filling_size(int number)
{
    switch (number % 8) {
    case 1:
        return 460 + (size_t)number % 60; /* about as long as a key may be */
    case 3:
        return 600; /* longer, and with the same beginning */
    case 5:
        return number % 16 == 5 ? TEXT_MAX - NUMBER_SIZE : 0;
    default:
        return (size_t)number % 20;
    }
}

static uint8_t filler(int number)
{
    static const uint8_t fillers[] = {'a', 'p', 0, 'p', 0xff, 'z', '\n', 'p'};

    return fillers[number % 8];
}

/* An integer with either sign; their order is not that of the numbers of the texts. */
static struct dueq_slice integer_text(char *text, int number)
{
    long long scale = number % 3 == 0 ? 1 : number % 3 == 1 ? 1001 : 92233720368547758;
    int size = snprintf(text, TEXT_MAX, "%lld", (number - 250) * scale);

    return dueq_slice(text, (size_t)size);
}

struct dueq_slice model_text(int number)
{
    static uint8_t texts[KEYS_MODEL_TEXTS][TEXT_MAX];
    uint8_t *text = texts[number];
    size_t size = filling_size(number);

    if (number == 0)
        return dueq_slice("", 0);
    if (number >= KEYS_MODEL_INTEGERS)
        return integer_text((char *)text, number);
    memset(text, filler(number), size);
    text[size] = (uint8_t)(number >> 8);
    text[size + 1] = (uint8_t)number;
    return dueq_slice(text, size + NUMBER_SIZE);
}

int model_number(struct dueq_slice text)
{
    const uint8_t *end = (const uint8_t *)text.data + text.size;
    int number = 0;

    if (text.size >= NUMBER_SIZE)
        number = end[-2] << 8 | end[-1];
    if (number < KEYS_MODEL_INTEGERS && dueq_slice_equal(text, model_text(number)))
        return number;
    for (number = KEYS_MODEL_INTEGERS; number < KEYS_MODEL_TEXTS; number++)
        if (dueq_slice_equal(text, model_text(number)))
            return number;
    return -1;
}

double model_score(int number)
{
    static const double scores[KEYS_MODEL_SCORES] = {
        -INFINITY, -1e300, -2.5, -1, 0, 0.1, 1, 1, 9007199254740993.0, INFINITY};

    return scores[number];
}

/* ---- keys */

void model_drop(struct model_key *key)
{
    key->type = KEYS_NONE;
    key->expires = DUEQ_NEVER;
    key->count = 0;
    memset(key->slots, -1, sizeof(key->slots));
}

void model_init(struct keys_model *model)
{
    memset(model, 0, sizeof(*model));
    model->limits = (struct keys_limits){512, 64, 512, 128, 64, UINT64_MAX};
    for (unsigned database = 0; database < KEYS_MODEL_DATABASES; database++)
        model_flush(model, database);
}

void model_open(struct keys_model *model, struct model_key *key, enum keys_type type)
{
    static const enum keys_encoding encodings[] = {[KEYS_STRING] = KEYS_RAW,
                                                   [KEYS_LIST] = KEYS_QUICKLIST,
                                                   [KEYS_SET] = KEYS_INTSET,
                                                   [KEYS_ZSET] = KEYS_LISTPACK,
                                                   [KEYS_HASH] = KEYS_LISTPACK};

    if (key->type == type)
        return;
    model_drop(key);
    key->type = type;
    key->encoding = encodings[type];
    key->packed = true;
    key->life = ++model->lives;
}

void model_assign(struct keys_model *model, struct model_key *to, const struct model_key *from)
{
    bool lapsed = to->lapsed;

    *to = *from;
    to->life = ++model->lives;
    to->lapsed = lapsed;
}

void model_flush(struct keys_model *model, unsigned database)
{
    for (int name = 0; name < KEYS_MODEL_NAMES; name++) {
        model_drop(&model->keys[database][name]);
        model->keys[database][name].lapsed = false;
    }
}

void model_swap(struct keys_model *model, unsigned a, unsigned b)
{
    for (int name = 0; name < KEYS_MODEL_NAMES; name++) {
        struct model_key swapped = model->keys[a][name];

        model->keys[a][name] = model->keys[b][name];
        model->keys[b][name] = swapped;
    }
}

void model_pass(struct keys_model *model, struct dueq_time time)
{
    for (unsigned database = 0; database < KEYS_MODEL_DATABASES; database++)
        for (int name = 0; name < KEYS_MODEL_NAMES; name++) {
            struct model_key *key = &model->keys[database][name];

            if (key->type == KEYS_NONE || !expiry_is_over(key->expires, time))
                continue;
            model_drop(key);
            key->lapsed = true;
        }
}

/* ---- elements */

static void drop_when_empty(struct model_key *key)
{
    if (key->count == 0)
        model_drop(key);
}

static size_t cell(size_t size)
{
    return size + (size < 248 ? 1 : size < 256 ? 2 : 3);
}

static size_t member_size(const struct model_key *key, int member, int value)
{
    size_t name = cell(model_text(member).size);

    switch (key->type) {
    case KEYS_SET:
        return name;
    case KEYS_HASH:
        return name + cell(model_text(value).size);
    default:
        return name + cell(sizeof(double));
    }
}

/* The greatest size of a packed value, bytes. */
static size_t packed_max(const struct model_key *key)
{
    bool ordered = (key->type == KEYS_HASH && key->encoding == KEYS_LISTPACK) ||
                   (key->type == KEYS_SET && key->encoding == KEYS_INTSET);

    return key->type == KEYS_LIST ? 1024 : ordered ? 8192 : 2048;
}

/* Call it before the member is set. */
static void unpack_for(struct model_key *key, int member, int value)
{
    size_t size = member_size(key, member, value);

    for (int i = 0; i < KEYS_MODEL_TEXTS; i++)
        if (i != member && key->slots[i] >= 0)
            size += member_size(key, i, key->slots[i]);
    if (!key->packed || size <= packed_max(key))
        return;
    key->packed = false;
    if (key->type != KEYS_ZSET)
        key->encoding = KEYS_HASHTABLE;
}

static void widen(const struct keys_limits *limits, struct model_key *key, int member)
{
    if (key->count + 1 > limits->zset_entries || model_text(member).size > limits->zset_value)
        key->encoding = KEYS_SKIPLIST;
}

/* Call it after the member was set. */
static void settle(const struct keys_limits *limits, struct model_key *key, int member,
                   int value)
{
    bool large =
        key->encoding == KEYS_LISTPACK &&
        (key->count > limits->hash_entries || model_text(member).size > limits->hash_value ||
         model_text(value).size > limits->hash_value);
    bool mixed = key->encoding == KEYS_INTSET &&
                 (key->count > limits->intset_entries || member < KEYS_MODEL_INTEGERS);

    if (large || mixed)
        key->encoding = KEYS_HASHTABLE;
}

bool model_set_slot(struct keys_model *model, struct model_key *key, int member, int value)
{
    bool added = key->slots[member] < 0;

    if (!added && key->type == KEYS_SET)
        return false;
    if (key->type == KEYS_ZSET && added)
        widen(&model->limits, key, member);
    if (key->type != KEYS_ZSET || added ||
        model_score(value) != model_score(key->slots[member]))
        unpack_for(key, member, value);
    if (added)
        key->serials[member] = ++model->serial;
    key->slots[member] = value;
    key->count += added;
    if (key->type != KEYS_ZSET)
        settle(&model->limits, key, member, value);
    return added;
}

void model_set_string(struct model_key *key, int value)
{
    size_t size = model_text(value).size;

    key->slots[0] = value;
    key->count = 1;
    key->encoding = value >= KEYS_MODEL_INTEGERS ? KEYS_INT
                    : size <= 44                 ? KEYS_EMBSTR
                                                 : KEYS_RAW;
    key->packed = size <= 256;
}

bool model_clear_slot(struct model_key *key, int member)
{
    if (key->slots[member] < 0)
        return false;
    key->slots[member] = -1;
    key->count--;
    drop_when_empty(key);
    return true;
}

void model_insert(const struct keys_model *model, struct model_key *list, size_t index,
                  int element)
{
    size_t size = cell(model_text(element).size);

    for (size_t i = 0; i < list->count; i++)
        size += cell(model_text(list->slots[i]).size);
    list->packed =
        list->packed && size <= packed_max(list) && list->count < model->limits.list_entries;
    memmove(list->slots + index + 1, list->slots + index,
            (list->count - index) * sizeof(list->slots[0]));
    list->slots[index] = element;
    list->count++;
}

void model_trim(struct model_key *list, size_t first, size_t count)
{
    memmove(list->slots, list->slots + first, count * sizeof(list->slots[0]));
    list->count = count;
    drop_when_empty(list);
}

/* ---- sorted sets in order */

struct ranked {
    int member;
    double score;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;

    if (left->score != right->score)
        return left->score < right->score ? -1 : 1;
    return dueq_slice_compare(model_text(left->member), model_text(right->member));
}

int model_ranked(const struct model_key *zset, uint64_t rank, bool reverse)
{
    struct ranked ranked[KEYS_MODEL_TEXTS];
    size_t count = 0;

    for (int member = 0; member < KEYS_MODEL_TEXTS; member++)
        if (zset->slots[member] >= 0)
            ranked[count++] = (struct ranked){member, model_score(zset->slots[member])};
    qsort(ranked, count, sizeof(ranked[0]), compare_ranked);
    if (rank >= count)
        return -1;
    return ranked[reverse ? count - 1 - rank : rank].member;
}

/* ---- sums */

uint64_t model_keys(const struct keys_model *model, unsigned database)
{
    uint64_t keys = 0;

    for (int name = 0; name < KEYS_MODEL_NAMES; name++)
        keys += model->keys[database][name].type != KEYS_NONE;
    return keys;
}

uint64_t model_expiring(const struct keys_model *model, unsigned database)
{
    uint64_t expiring = 0;

    for (int name = 0; name < KEYS_MODEL_NAMES; name++)
        expiring += model->keys[database][name].expires != DUEQ_NEVER;
    return expiring;
}
