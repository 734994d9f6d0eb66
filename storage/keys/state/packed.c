#include "storage/keys/state/packed.h"

#include "storage/bytes.h"
#include "storage/kv/key.h"

#include <assert.h>
#include <stdlib.h>

enum { SPARE = 64 }; /* extra bytes, because more cells usually follow */

void packed_release(struct packed *packed)
{
    free(packed->bytes);
    *packed = (struct packed){.bytes = NULL};
}

size_t packed_cell_size(size_t content)
{
    uint8_t number[BYTES_NUMBER_MAX];

    return bytes_write_number(number, content) + content;
}

bool packed_read(struct dueq_slice cells, size_t *at, struct dueq_slice *ret_content)
{
    const uint8_t *bytes = cells.data, *content;
    uint64_t size;

    if (*at >= cells.size)
        return false;
    content = bytes_read_number(bytes + *at, bytes + cells.size, &size);
    if (content == NULL || size > (size_t)(bytes + cells.size - content))
        return false;
    *ret_content = dueq_slice(content, size);
    *at = (size_t)(content - bytes) + size;
    return true;
}

static bool reserve(struct packed *packed, size_t size)
{
    uint8_t *grown;

    if (packed->bytes != NULL && size <= packed->capacity)
        return true;
    grown = realloc(packed->bytes, size + size / 4 + SPARE);
    if (grown == NULL)
        return false;
    packed->bytes = grown;
    packed->capacity = size + size / 4 + SPARE;
    return true;
}

bool packed_splice(struct packed *packed, size_t from, size_t to,
                   const struct dueq_slice *contents, size_t count)
{
    size_t added = 0;
    uint8_t *at;

    assert(from <= to && to <= packed->size);
    for (size_t i = 0; i < count; i++)
        added += packed_cell_size(contents[i].size);
    if (!reserve(packed, packed->size - (to - from) + added))
        return false;
    at = packed->bytes + from;
    memmove(at + added, packed->bytes + to, packed->size - to);
    for (size_t i = 0; i < count; i++) {
        at += bytes_write_number(at, contents[i].size);
        if (contents[i].size > 0)
            memcpy(at, contents[i].data, contents[i].size);
        at += contents[i].size;
    }
    packed->size = packed->size - (to - from) + added;
    return true;
}

bool packed_load(struct packed *packed, struct dueq_slice cells)
{
    if (!reserve(packed, cells.size))
        return false;
    if (cells.size > 0)
        memcpy(packed->bytes, cells.data, cells.size);
    packed->size = cells.size;
    return true;
}

/* ---- integers */

enum { DIGITS_MAX = 19 };

static bool is_negative(struct dueq_slice text)
{
    return text.size > 0 && *(const char *)text.data == '-';
}

static struct dueq_slice digits_of(struct dueq_slice text)
{
    size_t sign = is_negative(text);

    return dueq_slice((const char *)text.data + sign, text.size - sign);
}

/* Of numbers without leading zeros. */
static int compare_digits(struct dueq_slice left, struct dueq_slice right)
{
    if (left.size != right.size)
        return left.size < right.size ? -1 : 1;
    return memcmp(left.data, right.data, left.size);
}

bool packed_is_integer(struct dueq_slice text)
{
    static const char most[] = "9223372036854775807", least[] = "9223372036854775808";
    struct dueq_slice digits = digits_of(text);
    const char *digit = digits.data;

    if (digits.size == 0 || digits.size > DIGITS_MAX)
        return false;
    if (digit[0] == '0' && text.size > 1)
        return false;
    for (size_t i = 0; i < digits.size; i++)
        if (digit[i] < '0' || digit[i] > '9')
            return false;
    return compare_digits(digits, dueq_slice(is_negative(text) ? least : most, DIGITS_MAX)) <=
           0;
}

int packed_compare_integers(struct dueq_slice left, struct dueq_slice right)
{
    if (is_negative(left) != is_negative(right))
        return is_negative(left) ? -1 : 1;
    if (is_negative(left))
        return compare_digits(digits_of(right), digits_of(left));
    return compare_digits(left, right);
}
