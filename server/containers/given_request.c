#include "server/containers/given_request.h"

#include "server/containers/spent.h"

#include <stdlib.h>

size_t given_request_bytes(const struct resp_given *given)
{
    size_t bytes = given->block_bytes + given->argument_bytes;

    for (size_t i = 0; i < given->large_count; i++)
        bytes += sizeof(*given->large) + given->large[i].size;
    return bytes;
}

void given_request_release(struct resp_given *given)
{
    spent_grown_memory(given->block, given->block_bytes);
    spent_grown_memory(given->arguments, given->argument_bytes);
    for (size_t i = 0; i < given->large_count; i++)
        spent_memory(given->large[i].memory, RESP_LARGE_BEFORE + given->large[i].size);
    free(given->large);
    *given = (struct resp_given){.block = NULL};
}

void given_request_free(struct resp_given *given)
{
    if (given != NULL)
        given_request_release(given);
    free(given);
}
