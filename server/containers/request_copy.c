#include "server/containers/request_copy.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

size_t request_copy_size(const struct request *request)
{
    return request->count * (sizeof(struct argument) + 1) + request->bytes;
}

struct request request_copy(const struct request *request, void *space)
{
    struct argument *arguments = space;
    char *bytes = (char *)(arguments + request->count);

    assert((uintptr_t)space % _Alignof(struct argument) == 0);
    for (size_t i = 0; i < request->count; i++) {
        arguments[i] = (struct argument){bytes, request->arguments[i].size};
        memcpy(bytes, request->arguments[i].data, request->arguments[i].size);
        bytes[request->arguments[i].size] = '\0';
        bytes += request->arguments[i].size + 1;
    }
    return (struct request){request->count, arguments, request->bytes};
}
