/* The head of an HTTP/1.x request: the request line and the fields that a server needs. Reads
 * strictly what RFC 9112 says: no bare line feeds, no folded fields, no space before a colon,
 * no field twice that must be there once; so nobody in between can read it in another way.
 * O(size).
 */
#ifndef DUEQ_HTTP_HEAD_H
#define DUEQ_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OTHER /* known to HTTP, not to this server, or not at all */
};

/* A part of the head's bytes. data is NULL when the request has no such field. */
struct http_part {
    const char *data;
    size_t size;
};

struct http_head {
    enum http_method method;
    struct http_part path, query; /* of the target, not decoded; the query without '?' */
    bool is_1_1;
    bool keeps;   /* the client wants to send more requests */
    bool expects; /* it waits for "100 Continue" before it sends the body */
    bool has_length, is_chunked;
    uint64_t length; /* of the body */
    struct http_part host, origin, authorization, accept, content_type, fetch_site, cookie,
        csrf_token, accept_encoding, if_none_match;
};

/* Bytes up to and with the empty line that ends the head; 0: it is not there yet. */
size_t http_head_size(const char *bytes, size_t size);
/* Reads a whole head. The parts are in `bytes`. 0: good; else the status to refuse it with. */
int http_head_read(const char *bytes, size_t size, struct http_head *ret_head);

/* Undoes %XX, and with `is_query` '+' for a space. to: as many bytes as `part` has. False: a
 * '%' without two digits. */
bool http_decode(struct http_part part, bool is_query, char *to, size_t *ret_size);
/* Reads base64 with its padding. to: as many bytes as `part` has. False: it is none. */
bool http_read_base64(struct http_part part, char *to, size_t *ret_size);

/* Is the part the text, with ASCII's letters in any case? */
bool http_part_is(struct http_part part, const char *text);
/* Is the media type, without its parameters, that one? */
bool http_type_is(struct http_part part, const char *type);
/* Does the list, "gzip, br;q=0", name the encoding, or *, with a quality above 0? No field:
 * yes. */
bool http_takes_encoding(struct http_part list, const char *encoding);
/* The value of the cookie of that name; data NULL: there is none. Of several the first. */
struct http_part http_cookie(struct http_part cookies, const char *name);
/* The name or address of a Host field: without its port, and without the brackets of IPv6. */
struct http_part http_host_name(struct http_part host);

#endif
