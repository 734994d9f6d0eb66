#include "protocol/buffer.h"

#include "protocol/grown_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BUFFER_FIRST = 256,
    BUFFER_COMPACT = 4096,
    BUFFER_DOUBLED = 1024 * 1024,
    BUFFER_FRONT = 64, /* kept free before bytes that come later: heads are inserted there */
    BUFFER_GIVE_BACK = 4 * 1024 * 1024
};

/* Bytes that are content, but are not copied yet. */
struct buffer_promise {
    struct buffer_promise *next;
    size_t at; /* index in `data` of the first that is not copied */
    struct buffer_source source;
    size_t done; /* of the source's bytes */
};

void buffer_init(struct buffer *buffer, size_t maximum)
{
    *buffer = (struct buffer){.maximum = maximum};
}

/* ---- promises */

static size_t promise_left(const struct buffer_promise *promise)
{
    return promise->source.size - promise->done;
}

static void free_promise(struct buffer_promise *promise)
{
    promise->source.release(promise->source.owner);
    free(promise);
}

/* Drops those that do not end before the index. */
static void drop_promises(struct buffer *buffer, size_t index)
{
    struct buffer_promise **link = &buffer->promises, *promise;

    while (*link != NULL && (*link)->at + promise_left(*link) <= index)
        link = &(*link)->next;
    while ((promise = *link) != NULL) {
        *link = promise->next;
        free_promise(promise);
    }
}

/* The bytes between the two indexes have moved. */
static void move_promises(struct buffer *buffer, size_t from, size_t to, ptrdiff_t distance)
{
    for (struct buffer_promise *at = buffer->promises; at != NULL; at = at->next)
        if (at->at >= from && at->at < to)
            at->at = (size_t)((ptrdiff_t)at->at + distance);
}

void buffer_release(struct buffer *buffer)
{
    drop_promises(buffer, 0);
    grown_memory_free(buffer->data, buffer->capacity);
    *buffer = (struct buffer){.maximum = buffer->maximum};
}

/* Moves the content to the front of the memory. */
static void compact(struct buffer *buffer)
{
    size_t size = buffer_size(buffer);

    if (buffer->data != NULL && size > 0)
        memmove(buffer->data, buffer_content(buffer), size);
    move_promises(buffer, 0, SIZE_MAX, -(ptrdiff_t)buffer->start);
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

    data = grown_memory_resize(buffer->data, buffer->capacity, capacity);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

/* What was after the end is written over now. */
char *buffer_make_room(struct buffer *buffer, size_t size)
{
    if (buffer->promises != NULL)
        drop_promises(buffer, buffer->end);
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

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    char *space = size > 0 ? buffer_reserve(buffer, size) : NULL;

    if (space == NULL)
        return;
    memcpy(space, data, size);
    buffer_commit(buffer, size);
}

/* Moves the content up, so that there is room before it. */
static bool leave_front(struct buffer *buffer)
{
    size_t size = buffer_size(buffer);

    if (buffer->promises != NULL || buffer->start >= BUFFER_FRONT)
        return true;
    if (buffer_reserve(buffer, BUFFER_FRONT) == NULL)
        return false;
    memmove(buffer_content(buffer) + BUFFER_FRONT, buffer_content(buffer), size);
    buffer->start += BUFFER_FRONT;
    buffer->end += BUFFER_FRONT;
    return true;
}

static struct buffer_promise *new_promise(struct buffer *buffer,
                                          const struct buffer_source *source)
{
    struct buffer_promise *promise = calloc(1, sizeof(*promise));

    if (promise == NULL || buffer_reserve(buffer, source->size + BUFFER_FRONT) == NULL ||
        !leave_front(buffer)) {
        free(promise);
        buffer->overflowed = true;
        return NULL;
    }
    promise->at = buffer->end;
    promise->source = *source;
    return promise;
}

void buffer_append_later(struct buffer *buffer, const struct buffer_source *source)
{
    struct buffer_promise *promise = new_promise(buffer, source);
    struct buffer_promise **link = &buffer->promises;

    if (promise == NULL) {
        source->release(source->owner);
        return;
    }
    while (*link != NULL)
        link = &(*link)->next;
    *link = promise;
    buffer_commit(buffer, source->size);
}

void buffer_fill(struct buffer *buffer, size_t most)
{
    struct buffer_promise *promise;

    while ((promise = buffer->promises) != NULL && most > 0) {
        size_t left = promise_left(promise), step = left < most ? left : most;

        memcpy(buffer->data + promise->at, (const char *)promise->source.data + promise->done,
               step);
        promise->at += step;
        promise->done += step;
        most -= step;
        if (step < left)
            return;
        buffer->promises = promise->next;
        free_promise(promise);
    }
}

size_t buffer_ready(const struct buffer *buffer)
{
    size_t size = buffer_size(buffer);

    if (buffer->promises == NULL || buffer->promises->at - buffer->start > size)
        return size;
    return buffer->promises->at - buffer->start;
}

/* Moves what is before the place when that is less and there is room; else what is after it. */
void buffer_insert(struct buffer *buffer, size_t offset, const void *data, size_t size)
{
    size_t after = buffer_size(buffer) - offset, place;
    char *content;

    if (buffer_reserve(buffer, size) == NULL)
        return;
    content = buffer_content(buffer);
    place = buffer->start + offset;
    if (offset < after && buffer->start >= size) {
        memmove(content - size, content, offset);
        move_promises(buffer, 0, place, -(ptrdiff_t)size);
        buffer->start -= size;
    } else {
        memmove(content + offset + size, content + offset, after);
        move_promises(buffer, place, SIZE_MAX, (ptrdiff_t)size);
        buffer->end += size;
    }
    memcpy(buffer_content(buffer) + offset, data, size);
}

/* The whole pages between the indexes go back to the system, at most so often that it pays. */
static void give_back(struct buffer *buffer, size_t from, size_t to)
{
    uintptr_t first = ((uintptr_t)buffer->data / BUFFER_GIVE_BACK + 1) * BUFFER_GIVE_BACK;
    uintptr_t begin = (uintptr_t)buffer->data + from, end = (uintptr_t)buffer->data + to;

    begin = begin / BUFFER_GIVE_BACK * BUFFER_GIVE_BACK;
    end = end / BUFFER_GIVE_BACK * BUFFER_GIVE_BACK;
    if (begin < first)
        begin = first;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void buffer_consume(struct buffer *buffer, size_t size)
{
    if (buffer->capacity > BUFFER_GIVE_BACK)
        give_back(buffer, buffer->start, buffer->start + size);
    buffer->start += size;
    if (buffer->start == buffer->end)
        buffer->start = buffer->end = 0;
}

void buffer_cut(struct buffer *buffer, size_t offset, size_t size)
{
    if (size == 0)
        return;
    memmove(buffer_content(buffer) + size, buffer_content(buffer), offset);
    move_promises(buffer, 0, buffer->start + offset, (ptrdiff_t)size);
    buffer_consume(buffer, size);
}

void buffer_truncate(struct buffer *buffer, size_t size)
{
    buffer->end = buffer->start + size;
    drop_promises(buffer, buffer->end);
    if (size == 0)
        buffer->start = buffer->end = 0;
}

void buffer_recover(struct buffer *buffer, size_t size)
{
    buffer_truncate(buffer, size);
    buffer->overflowed = false;
}

void buffer_clear(struct buffer *buffer)
{
    drop_promises(buffer, 0);
    buffer->start = buffer->end = 0;
}

void buffer_shrink(struct buffer *buffer, size_t keep)
{
    if (buffer_size(buffer) == 0 && buffer->capacity > keep) {
        grown_memory_free(buffer->data, buffer->capacity);
        buffer->data = NULL;
        buffer->start = buffer->end = buffer->capacity = 0;
    }
}
