/* What is true for any input of the request reader: however it is split, the result is the same
 * requests and the same error. The fuzzer and the test that replays the corpus share this. */
#ifndef DUEQ_REQUEST_CHECK_H
#define DUEQ_REQUEST_CHECK_H

#include "protocol/resp_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Feeds pieces of `step` bytes and returns a hash of the requests and the error. Arguments of
 * `large` bytes and more have memory of their own. */
static inline uint64_t request_digest(const uint8_t *data, size_t size, size_t step,
                                      size_t large)
{
    struct resp_limits limits = {.arguments = 1000,
                                 .bulk_bytes = 1 << 20,
                                 .inline_bytes = 1 << 16,
                                 .query_bytes = 1 << 21,
                                 .large_bytes = large};
    struct resp_reader *reader = resp_reader_new(&limits);
    uint64_t digest = 14695981039346656037U; /* FNV-1a */
    struct resp_ahead ahead[4];
    struct request request;

    for (size_t at = 0; at < size; at += step) {
        enum resp_read read;

        if (!resp_reader_feed(reader, (const char *)data + at,
                              size - at < step ? size - at : step))
            break;
        resp_reader_look_ahead(reader, ahead, 4);
        while ((read = resp_reader_next(reader, &request)) == RESP_REQUEST)
            for (size_t i = 0; i < request.count; i++)
                for (size_t byte = 0; byte <= request.arguments[i].size; byte++)
                    digest =
                        (digest ^ (uint8_t)request.arguments[i].data[byte]) * 1099511628211U;
        if (read == RESP_ERROR) {
            for (const char *text = resp_reader_error(reader); *text != '\0'; text++)
                digest = (digest ^ (uint8_t)*text) * 1099511628211U;
            break;
        }
    }
    resp_reader_free(reader);
    return digest;
}

static inline bool request_splits_agree(const uint8_t *data, size_t size)
{
    uint64_t whole = request_digest(data, size, size == 0 ? 1 : size, 0);

    for (size_t large = 0; large < 5; large += 2)
        if (whole != request_digest(data, size, 1, large) ||
            whole != request_digest(data, size, 7, large))
            return 0;
    return 1;
}

#endif
