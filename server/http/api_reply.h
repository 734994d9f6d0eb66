/* A reply of RESP3 becomes JSON, a part at a time, as its bytes come: a map an object, an array
 * an array, or an object where the route gives its elements names; a null null. Bytes are as in
 * protocol/json_text.h, where a long string is written in parts. */
#ifndef DUEQ_API_REPLY_H
#define DUEQ_API_REPLY_H

#include "protocol/buffer.h"

#include <stdint.h>

/* What JSON has, and RESP has not. */
struct reply_shape {
    const char *wrap;          /* {"wrap": reply}; NULL: the reply as it is */
    const char *const *fields; /* names of an array's elements, NULL at the end; NULL: none */
    const char *const *short_fields; /* the same of arrays that have as many as these; NULL */
    unsigned depth;                  /* of those arrays; the reply itself is at 0 */
    bool null_is_empty;              /* instead of null: [] */
};

enum { REPLY_DEPTH_MAX = 8, REPLY_PART = 64 * 1024 };

struct reply_level {
    bool is_map;
    const char *const *fields; /* NULL: its elements have no names */
    uint64_t left, done;
};

struct api_reply {
    const struct reply_shape *shape;
    struct reply_level levels[REPLY_DEPTH_MAX];
    unsigned depth;
    uint64_t string_left; /* of a long string that is being written */
    bool is_in_string, has_begun, has_ended;
    bool is_null, is_zero; /* the whole reply is that */
};

enum reply_step {
    REPLY_MORE,  /* it needs more bytes of the reply */
    REPLY_AGAIN, /* it has written much: call it again */
    REPLY_DONE,
    REPLY_BROKEN /* that is no reply */
};

void api_reply_init(struct api_reply *json, const struct reply_shape *shape);
/* Writes the JSON of `bytes`, some REPLY_PART of it at most in a call. *ret_used: how many of
 * them are done with; the others come again, with more of them: more than `*ret_wanted`, with
 * REPLY_MORE. */
enum reply_step api_reply_run(struct api_reply *json, const char *bytes, size_t size,
                              struct buffer *out, size_t *ret_used, size_t *ret_wanted);

#endif
