/* Reads requests (RESP arrays of bulk strings, and inline commands) out of a stream of bytes.
 * RESP is parsed by hiredis' redisReader through our own object functions: the arguments go
 * into one memory block per reader, without an allocation per argument. Large ones go around
 * hiredis into memory of their own, which can be taken over: their bytes are copied once.
 *
 * Every number a client sends is checked against the limits before memory is touched. After an
 * error the reader stays in error: send resp_reader_error() and close. */
#ifndef DUEQ_RESP_READER_H
#define DUEQ_RESP_READER_H

#include "protocol/request.h"

struct resp_limits {
    size_t arguments;    /* of one request; Redis: 1024 * 1024; before login 10 */
    size_t bulk_bytes;   /* of one argument; proto-max-bulk-len; before login 16384 */
    size_t inline_bytes; /* of one inline command or header line; 65536 */
    size_t query_bytes;  /* unread bytes and arguments of one request together; 1 GiB */
    bool before_login;   /* errors then name the missing login, as Redis' do */
    size_t large_bytes;  /* from that size on an argument has memory of its own; 0: never */
};

/* An argument in memory of its own. In front of its bytes RESP_LARGE_BEFORE others may be
 * written to. */
struct resp_large {
    void *memory; /* for free(); NULL: taken over */
    char *data;
    size_t size;  /* of the argument */
    size_t got;   /* bytes that have come, the CRLF included */
    size_t index; /* which argument it is */
};
enum { RESP_LARGE_BEFORE = 1024 };

enum resp_read {
    RESP_REQUEST, /* *ret_request is filled in */
    RESP_MORE,    /* feed more */
    RESP_ERROR    /* protocol error: see resp_reader_error */
};

struct resp_reader;

struct resp_reader *resp_reader_new(const struct resp_limits *limits); /* NULL: out of memory */
void resp_reader_free(struct resp_reader *reader);                     /* NULL is fine */

/* Limits from the next request on (after login). */
void resp_reader_set_limits(struct resp_reader *reader, const struct resp_limits *limits);

/* Copies the bytes in. False: query_bytes would be exceeded; the reader is in error. */
bool resp_reader_feed(struct resp_reader *reader, const char *data, size_t size);

enum resp_read resp_reader_next(struct resp_reader *reader, struct request *ret_request);

/* The large arguments of the request handed out last. Whoever sets `memory` to NULL has taken
 * it over, and sees to it that the bytes stay as long as the request is looked at. */
struct resp_large *resp_reader_large(struct resp_reader *reader, size_t *ret_count);

/* The reply to send, without `-` and CRLF: "ERR Protocol error: invalid bulk length". Redis'
 * own words. Lives as long as the reader. */
const char *resp_reader_error(const struct resp_reader *reader);

size_t resp_reader_unread(const struct resp_reader *reader); /* bytes fed, not yet scanned */

/* What it holds, in bytes. */
struct resp_memory {
    size_t input;      /* bytes of requests that were not handed out yet */
    size_t input_free; /* allocated for more of them */
    size_t arguments;  /* of the request handed out last, or the next so far */
    size_t total;      /* allocated for everything */
};

void resp_reader_measure(const struct resp_reader *reader, struct resp_memory *ret_memory);

/* Nothing has come for a while: gives back what is kept for the next request, unless that has
 * begun. The request handed out last ends. */
void resp_reader_shrink(struct resp_reader *reader);

#endif
