/* The files of the dashboard's page, server/page/, compressed when the program is built
 * (tools/embed-page). They contain no secrets: whoever reaches the port gets them, and learns
 * what everybody can read in the source. */
#ifndef DUEQ_ASSETS_H
#define DUEQ_ASSETS_H

#include "protocol/http_head.h"

struct asset {
    const char *path;           /* "/ui/app.js"; index.html is "/ui/" */
    const char *type;           /* of the content */
    const char *tag;            /* of the version, in quotation marks */
    const unsigned char *bytes; /* gzip */
    size_t size;
};

extern const struct asset assets[];
extern const size_t asset_count;

/* NULL: there is none. O(assets). */
const struct asset *asset_find(struct http_part path);

#endif
