/* In programs that are built without libcurl. */
#include "tools/forward/target.h"

#include <stdio.h>

static struct target *new (const struct target_options *options, char *why)
{
    (void)options;
    snprintf(why, TARGET_WHY,
             "this dueq is built without libcurl: it knows no http:// (make CURL=yes)");
    return NULL;
}

const struct target_kind target_http = {.schemes = "http https", .new = new};
