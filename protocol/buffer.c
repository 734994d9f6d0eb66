#include "protocol/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_FIRST = 256, BUFFER_COMPACT = 4096, BUFFER_DOUBLED = 1024 * 1024 };

void buffer_init(struct buffer *buffer, size_t maximum)
{
    *buffer = (struct buffer){.maximum = maximum};
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){.maximum = buffer->maximum};
}

/* Moves the content to the front of the memory. */
static void compact(struct buffer *buffer)
{
    size_t size = buffer_size(buffer);

    if (buffer->data != NULL && size > 0)
        memmove(buffer->data, buffer_content(buffer), size);
    buffer->start = 0;
    buffer->end = size;
}

/* Doubles small buffers and adds an eighth to large ones; both copy each byte a bounded number
 * of times. */
static size_t next_capacity(size_t capacity, size_t needed)
{
    size_t grown = capacity == 0 ? BUFFER_FIRST : capacity;

    while (grown < needed)
        grown = grown < BUFFER_DOUBLED ? grown * 2 : needed + needed / 8;
    return grown;
}

static bool grow(struct buffer *buffer, size_t size)
{
    size_t needed = buffer->end + size, capacity = next_capacity(buffer->capacity, needed);
    char *data;

    data = realloc(buffer->data, capacity);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *buffer_reserve(struct buffer *buffer, size_t size)
{
    if (!buffer_has_room(buffer, size)) {
        buffer->overflowed = true;
        return NULL;
    }
    if (buffer->capacity - buffer->end >= size && buffer->data != NULL)
        return buffer->data + buffer->end;
    if (buffer->start >= BUFFER_COMPACT && buffer->start >= buffer_size(buffer))
        compact(buffer);
    if ((buffer->data == NULL || buffer->capacity - buffer->end < size) &&
        !grow(buffer, size)) {
        buffer->overflowed = true;
        return NULL;
    }
    return buffer->data + buffer->end;
}

void buffer_commit(struct buffer *buffer, size_t size)
{
    buffer->end += size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    char *space = size > 0 ? buffer_reserve(buffer, size) : NULL;

    if (space == NULL)
        return;
    memcpy(space, data, size);
    buffer_commit(buffer, size);
}

void buffer_insert(struct buffer *buffer, size_t offset, const void *data, size_t size)
{
    char *at;

    if (buffer_reserve(buffer, size) == NULL)
        return;
    at = buffer_content(buffer) + offset;
    memmove(at + size, at, buffer_size(buffer) - offset);
    memcpy(at, data, size);
    buffer_commit(buffer, size);
}

void buffer_consume(struct buffer *buffer, size_t size)
{
    buffer->start += size;
    if (buffer->start == buffer->end)
        buffer->start = buffer->end = 0;
}

void buffer_cut(struct buffer *buffer, size_t offset, size_t size)
{
    if (size == 0)
        return;
    memmove(buffer_content(buffer) + size, buffer_content(buffer), offset);
    buffer_consume(buffer, size);
}

void buffer_truncate(struct buffer *buffer, size_t size)
{
    buffer->end = buffer->start + size;
    if (size == 0)
        buffer->start = buffer->end = 0;
}

void buffer_recover(struct buffer *buffer, size_t size)
{
    buffer_truncate(buffer, size);
    buffer->overflowed = false;
}

bool buffer_has_room(const struct buffer *buffer, size_t size)
{
    return !buffer->overflowed && size <= buffer->maximum &&
           buffer_size(buffer) <= buffer->maximum - size;
}

void buffer_clear(struct buffer *buffer)
{
    buffer->start = buffer->end = 0;
}

void buffer_shrink(struct buffer *buffer, size_t keep)
{
    if (buffer_size(buffer) == 0 && buffer->capacity > keep) {
        free(buffer->data);
        buffer->data = NULL;
        buffer->start = buffer->end = buffer->capacity = 0;
    }
}
