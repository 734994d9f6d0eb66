#include "storage/kv/journal/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 4096, KEEP = 256 * 1024 };

void stage_release(struct stage *stage)
{
    free(stage->bytes);
    *stage = (struct stage){0};
}

bool stage_reserve(struct stage *stage, size_t space)
{
    size_t capacity = stage->capacity == 0 ? LEAST : stage->capacity;
    uint8_t *grown;

    while (capacity - stage->size < space)
        capacity *= 2;
    if (capacity == stage->capacity)
        return true;
    grown = realloc(stage->bytes, capacity);
    if (grown == NULL)
        return false;
    stage->bytes = grown;
    stage->capacity = capacity;
    return true;
}

void stage_add(struct stage *stage, const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len == 0)
            continue;
        assert(stage->capacity - stage->size >= parts[i].iov_len);
        memcpy(stage->bytes + stage->size, parts[i].iov_base, parts[i].iov_len);
        stage->size += parts[i].iov_len;
    }
}

void stage_clear(struct stage *stage)
{
    if (stage->capacity > KEEP)
        stage_release(stage);
    stage->size = 0;
    stage->first = 0;
    stage->segment = NULL;
}
