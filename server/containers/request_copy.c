#include "server/containers/request_copy.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static bool is_kept(struct argument argument, const uint8_t *const *kept, size_t kept_count)
{
    for (size_t i = 0; i < kept_count; i++)
        if ((const uint8_t *)argument.data == kept[i])
            return true;
    return false;
}

size_t request_copy_size_but(const struct request *request, const uint8_t *const *kept,
                             size_t kept_count)
{
    size_t size = request->count * (sizeof(struct argument) + 1) + request->bytes;

    for (size_t i = 0; i < request->count && kept_count > 0; i++)
        if (is_kept(request->arguments[i], kept, kept_count))
            size -= request->arguments[i].size;
    return size;
}

size_t request_copy_size(const struct request *request)
{
    return request_copy_size_but(request, NULL, 0);
}

struct request request_copy_but(const struct request *request, void *space,
                                const uint8_t *const *kept, size_t kept_count)
{
    struct argument *arguments = space;
    char *bytes = (char *)(arguments + request->count);

    assert((uintptr_t)space % _Alignof(struct argument) == 0);
    for (size_t i = 0; i < request->count; i++) {
        struct argument argument = request->arguments[i];

        arguments[i] = argument;
        if (is_kept(argument, kept, kept_count))
            continue;
        arguments[i].data = bytes;
        memcpy(bytes, argument.data, argument.size);
        bytes[argument.size] = '\0';
        bytes += argument.size + 1;
    }
    return (struct request){request->count, arguments, request->bytes};
}

struct request request_copy(const struct request *request, void *space)
{
    return request_copy_but(request, space, NULL, 0);
}
