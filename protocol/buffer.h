/* A growable run of bytes that cannot exist without its maximum. What is appended past the
 * maximum is dropped and the buffer says so for ever after (buffer_overflowed), so a writer may
 * append without checking each time. */
#ifndef DUEQ_BUFFER_H
#define DUEQ_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data;
    size_t start; /* bytes before are consumed */
    size_t end;   /* bytes from start to end are the content */
    size_t capacity;
    size_t maximum;
    bool overflowed; /* too big, or out of memory */
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

/* Room for `size` more bytes at the end: where to write them (then buffer_commit), or NULL on
 * overflow. */
char *buffer_reserve(struct buffer *buffer, size_t size);
void buffer_commit(struct buffer *buffer, size_t size);

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_insert(struct buffer *buffer, size_t offset, const void *data,
                   size_t size);                         /* from start */
void buffer_consume(struct buffer *buffer, size_t size); /* from the front */
/* Takes `size` bytes out at the offset; what stands before them moves. */
void buffer_cut(struct buffer *buffer, size_t offset, size_t size);
void buffer_truncate(struct buffer *buffer, size_t size); /* keeps the first size bytes */
/* The same, and forgets that there was no room for what came behind. */
void buffer_recover(struct buffer *buffer, size_t size);
/* There is room for so much more without an overflow, memory allowing. */
bool buffer_has_room(const struct buffer *buffer, size_t size);
void buffer_clear(struct buffer *buffer); /* empty, memory kept */
void buffer_shrink(struct buffer *buffer,
                   size_t keep); /* gives memory above `keep` back when empty */

#endif
