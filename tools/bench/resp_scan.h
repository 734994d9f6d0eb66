/* Scans one RESP2 reply into a flat list of tokens, without copying, to keep the cost of the
 * load generator low. It trusts the server. */
#ifndef DUEQ_RESP_SCAN_H
#define DUEQ_RESP_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct resp_token {
    char type;        /* + - : $ * */
    const char *data; /* + - $: the text; NULL for a nil bulk */
    size_t size;
    int64_t number; /* : the integer; *: the element count, -1 for nil */
};

/* Returns the bytes of the whole reply and fills in tokens in reading order; 0: incomplete. A
 * reply of more than `maximum` tokens is scanned, the rest of its tokens dropped. */
size_t resp_scan(const char *data, size_t size, struct resp_token *tokens, size_t maximum,
                 size_t *ret_count);

#endif
