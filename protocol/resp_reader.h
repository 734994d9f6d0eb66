/* Reads requests (RESP arrays of bulk strings, and inline commands) from a stream of bytes.
 * One that has arrived as a whole is copied as one piece into a memory block of the reader.
 * What comes in pieces is parsed by hiredis' redisReader, which calls our object functions;
 * they put the arguments into the same block, without an allocation per argument. A large
 * argument bypasses hiredis and gets memory of its own, which the caller can take over: its
 * bytes are copied once.
 *
 * The reader checks each number that a client sends against the limits before it touches
 * memory. After an error it stays in error: send resp_reader_error() and close the connection.
 * Cost: O(bytes). */
#ifndef DUEQ_RESP_READER_H
#define DUEQ_RESP_READER_H

#include "protocol/request.h"

struct resp_limits {
    size_t arguments;    /* the most in one request; Redis has 1024 * 1024, before login 10 */
    size_t bulk_bytes;   /* the most in one argument; proto-max-bulk-len, before login 16384 */
    size_t inline_bytes; /* the most in one inline command or header line; 65536 */
    size_t query_bytes;  /* the most that unread bytes and the arguments of one request take
                            together; 1 GiB */
    bool before_login;   /* true: errors say that the login is missing, as in Redis */
    size_t large_bytes;  /* an argument from this size on gets memory of its own; 0: never */
};

/* An argument in memory of its own. Before `data` are RESP_LARGE_BEFORE free bytes, which the
 * caller may overwrite. */
struct resp_large {
    void *memory; /* to be freed with free(); NULL: the caller has taken it over */
    char *data;
    size_t size;  /* bytes of the argument */
    size_t got;   /* bytes received so far, the CRLF included */
    size_t index; /* of the argument in the request */
};
enum { RESP_LARGE_BEFORE = 1024 };

enum resp_read {
    RESP_REQUEST, /* *ret_request is filled in */
    RESP_MORE,    /* the request is incomplete: call resp_reader_feed */
    RESP_ERROR    /* protocol error: resp_reader_error */
};

struct resp_reader;

struct resp_reader *resp_reader_new(const struct resp_limits *limits); /* NULL: out of memory */
void resp_reader_free(struct resp_reader *reader);                     /* NULL is fine */

/* Sets the limits from the next request on. *limits is copied. */
void resp_reader_set_limits(struct resp_reader *reader, const struct resp_limits *limits);

/* Copies the bytes into the reader. False: there would be more than query_bytes, or there is no
 * memory; then the reader is in error. */
bool resp_reader_feed(struct resp_reader *reader, const char *data, size_t size);

enum resp_read resp_reader_next(struct resp_reader *reader, struct request *ret_request);

/* What requests that have arrived, and were not returned yet, begin with. */
struct resp_ahead {
    struct argument name, first; /* first: the argument after the name; size 0: none */
};
/* Returns how many it has found, the next one first; at most `most`. It looks at short requests
 * that have arrived whole, checks nothing, and changes nothing: they are still to be read. The
 * arguments live until the next call of resp_reader_feed or resp_reader_next. O(bytes of
 * these). */
size_t resp_reader_look_ahead(const struct resp_reader *reader, struct resp_ahead *ret_ahead,
                              size_t most);

/* The large arguments of the last request that was returned. A caller that sets `memory` to
 * NULL takes it over, and keeps the bytes valid as long as the request is in use. */
struct resp_large *resp_reader_large(struct resp_reader *reader, size_t *ret_count);

/* The memory of a request: its arguments, their bytes, and those of large ones. */
struct resp_given {
    void *block; /* these two: grown_memory.h */
    struct argument *arguments;
    size_t block_bytes, argument_bytes;
    struct resp_large *large; /* to be freed with free(), as each `memory` */
    size_t large_count;
};

/* Is it the last request that was returned? */
bool resp_reader_has(const struct resp_reader *reader, const struct request *request);
/* The caller takes over all memory of the last request that was returned, which is valid until
 * it is freed. O(1): nothing is copied, so a request of a million arguments can be kept. */
void resp_reader_give(struct resp_reader *reader, struct resp_given *ret_given);

/* The reply to send, in Redis' words, without `-` and CRLF: "ERR Protocol error: invalid bulk
 * length". Lives as long as the reader. */
const char *resp_reader_error(const struct resp_reader *reader);

/* Has no part of a next request been fed? */
bool resp_reader_is_empty(const struct resp_reader *reader);
size_t resp_reader_unread(const struct resp_reader *reader); /* bytes fed, not yet scanned */

/* Memory of a reader, in bytes. */
struct resp_memory {
    size_t input;      /* bytes of requests that were not returned yet */
    size_t input_free; /* allocated for more of them */
    size_t arguments;  /* of the last request that was returned, or of the next one so far */
    size_t total;      /* allocated for everything */
};

void resp_reader_measure(const struct resp_reader *reader, struct resp_memory *ret_memory);

/* Call it when nothing was received for a while. Frees the memory that is kept for the next
 * request, unless that request has begun. The last request that was returned is void
 * afterwards. */
void resp_reader_shrink(struct resp_reader *reader);

#endif
