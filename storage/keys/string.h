/* Strings. A short one is in the key's record, a longer one has a record of its own. */
#ifndef DUEQ_STRING_H
#define DUEQ_STRING_H

#include "storage/keys/state/keys_types.h"

enum dueq_status string_get(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice *ret_value);
/* How the text was made decides its encoding. */
enum string_origin {
    STRING_GIVEN, /* by a client, as a whole: an integer gets KEYS_INT */
    STRING_MADE,  /* by the server, as a whole */
    STRING_EDITED /* a part of it was changed */
};
/* Replaces a value of any type. expires: as for keys_expire, or KEYS_KEEP_EXPIRY. */
enum dueq_status string_set(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice value, int64_t expires,
                            enum string_origin origin);
/* Sets KEYS_RAW, as Redis does when an edit leaves the text unchanged. Records no change. */
enum dueq_status string_make_raw(const struct keys_view *view, struct dueq_slice name);

#endif
