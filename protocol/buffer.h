/* A growable run of bytes with a maximum size. Bytes that do not fit, or for which there is no
 * memory, are dropped, and `overflowed` is set until buffer_recover; so a writer can append
 * several times and check once. */
#ifndef DUEQ_BUFFER_H
#define DUEQ_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer_promise;

struct buffer {
    char *data;   /* grown_memory.h, of `capacity` bytes */
    size_t start; /* bytes before this offset are consumed */
    size_t end;   /* bytes from start to end are the content */
    size_t capacity;
    size_t maximum;
    bool overflowed;                 /* too big, or out of memory */
    struct buffer_promise *promises; /* in the order of their places */
};

/* Bytes of somebody else, who keeps them unchanged until `release` is called. */
struct buffer_source {
    const void *data;
    size_t size;
    void *owner;
    void (*release)(void *owner);
};

void buffer_init(struct buffer *buffer, size_t maximum); /* allocates nothing */
void buffer_release(struct buffer *buffer);

static inline size_t buffer_size(const struct buffer *buffer)
{
    return buffer->end - buffer->start;
}
static inline char *buffer_content(const struct buffer *buffer)
{
    return buffer->data + buffer->start;
}

/* True: `size` more bytes are within the maximum. */
static inline bool buffer_has_room(const struct buffer *buffer, size_t size)
{
    return !buffer->overflowed && size <= buffer->maximum &&
           buffer_size(buffer) <= buffer->maximum - size;
}

char *buffer_make_room(struct buffer *buffer, size_t size); /* for buffer_reserve */

/* Makes room for `size` more bytes and returns where to write them; buffer_commit then adds
 * them to the content. NULL: overflow. The pointer is valid until the next change of the
 * buffer. */
static inline char *buffer_reserve(struct buffer *buffer, size_t size)
{
    if (buffer->promises == NULL && buffer->data != NULL &&
        buffer->capacity - buffer->end >= size && buffer_has_room(buffer, size))
        return buffer->data + buffer->end;
    return buffer_make_room(buffer, size);
}
static inline void buffer_commit(struct buffer *buffer, size_t size)
{
    buffer->end += size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size);
/* Makes room for the bytes of the source, which count as content at once; buffer_fill copies
 * them. Releases the source when they are copied or dropped; at once, when they do not fit. */
void buffer_append_later(struct buffer *buffer, const struct buffer_source *source);
/* Copies up to `most` of the bytes that are still to be copied, the first ones first. */
void buffer_fill(struct buffer *buffer, size_t most);
/* Bytes of the content before the first one that is still to be copied. */
size_t buffer_ready(const struct buffer *buffer);
static inline bool buffer_is_filled(const struct buffer *buffer)
{
    return buffer->promises == NULL;
}

/* Inserts before the byte at `offset` of the content. O(bytes after it, or before it). */
void buffer_insert(struct buffer *buffer, size_t offset, const void *data, size_t size);
/* Removes `size` bytes from the front, all of which must be ready. Gives the memory of a large
 * buffer back piece by piece. O(1). */
void buffer_consume(struct buffer *buffer, size_t size);
/* Removes `size` bytes at the offset. O(offset): the bytes before move. */
void buffer_cut(struct buffer *buffer, size_t offset, size_t size);
void buffer_truncate(struct buffer *buffer, size_t size); /* keeps the first `size` bytes */
/* The same, and clears `overflowed`. */
void buffer_recover(struct buffer *buffer, size_t size);
void buffer_clear(struct buffer *buffer); /* empty, memory kept */
/* Frees the memory when the buffer is empty and has more than `keep` bytes of capacity. */
void buffer_shrink(struct buffer *buffer, size_t keep);

#endif
