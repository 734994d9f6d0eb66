/* Bytes and numbers of a store as JSON. Bytes that are UTF-8 are a string; others an object,
 * {"hex": "00ff"}, since JSON has no bytes. */
#ifndef DUEQ_JSON_BYTES_H
#define DUEQ_JSON_BYTES_H

#include "storage/slice.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: out of memory. */
json_t *json_bytes(struct dueq_slice bytes);
/* The bytes live as long as the value; those of an object are written over its text. False: it
 * is neither; then the rest of the line is of no use. */
bool json_read_bytes(json_t *value, struct dueq_slice *ret_bytes);

/* A member of a C struct under its name in JSON. */
struct json_field {
    const char *name;
    size_t offset;
    enum { JSON_INT64, JSON_UINT64, JSON_BYTE, JSON_BOOL, JSON_SLICE } kind;
    int64_t otherwise; /* what it is when the name is absent; slices: size 0 */
};
#define JSON_FIELD(struct_name, member, kind, otherwise)                                       \
    {                                                                                          \
#member, offsetof(struct struct_name, member), kind, otherwise                         \
    }

/* Sets those fields of the object that are not as when they are absent. False: out of memory.
 */
bool json_set_fields(json_t *object, const struct json_field *fields, size_t count,
                     const void *from);
/* Fills in these members of a struct. False: a value has the wrong type or is too large. */
bool json_get_fields(const json_t *object, const struct json_field *fields, size_t count,
                     void *to);

#endif
