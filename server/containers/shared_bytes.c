#include "server/containers/shared_bytes.h"

#include "server/containers/spent.h"

#include <assert.h>
#include <stdlib.h>

struct shared_bytes {
    const void *data;
    size_t size, holders;
    void *memory; /* NULL: somebody else's */
    size_t memory_size;
    void (*spend)(void *memory, size_t size);
};

struct shared_bytes *shared_bytes_new(const void *data, size_t size)
{
    struct shared_bytes *shared = malloc(sizeof(*shared));

    if (shared != NULL)
        *shared = (struct shared_bytes){.data = data, .size = size, .holders = 1};
    return shared;
}

void shared_bytes_own(struct shared_bytes *shared, void *memory, size_t size)
{
    assert(shared->memory == NULL);
    shared->memory = memory;
    shared->memory_size = size;
    shared->spend = spent_memory;
}

void shared_bytes_own_buffer(struct shared_bytes *shared, struct buffer *buffer)
{
    shared_bytes_own(shared, buffer->data, buffer->capacity);
    shared->spend = spent_grown_memory;
    buffer->data = NULL;
    buffer->start = buffer->end = buffer->capacity = 0;
}

void shared_bytes_hold(struct shared_bytes *shared)
{
    shared->holders++;
}

/* Large memory is freed a part a turn, so not before the command that has it has ended. */
void shared_bytes_let_go(struct shared_bytes *shared)
{
    if (shared == NULL)
        return;
    assert(shared->holders > 0);
    if (--shared->holders > 0)
        return;
    if (shared->memory != NULL)
        shared->spend(shared->memory, shared->memory_size);
    free(shared);
}

size_t shared_bytes_holders(const struct shared_bytes *shared)
{
    return shared->holders;
}

static void let_go(void *owner)
{
    shared_bytes_let_go(owner);
}

void shared_bytes_write(struct shared_bytes *shared, struct resp_writer *writer)
{
    struct buffer_source source = {shared->data, shared->size, shared, let_go};

    shared_bytes_hold(shared);
    if (resp_bulk_later(writer, &source))
        return;
    shared->holders--; /* not the last: the caller holds them, too */
    resp_bulk(writer, shared->data, shared->size);
}

void shared_bytes_write_plain(struct shared_bytes *shared, struct resp_writer *writer)
{
    struct buffer_source source = {shared->data, shared->size, shared, let_go};

    if (writer->lender == NULL || shared->size < RESP_LARGE_BULK) {
        buffer_append(writer->out, shared->data, shared->size);
        return;
    }
    shared_bytes_hold(shared);
    buffer_append_later(writer->out, &source);
}
