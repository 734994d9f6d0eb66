/* In programs that are built without libmosquitto. */
#include "tools/forward/target.h"

#include <stdio.h>

static struct target *new (const struct target_options *options, char *why)
{
    (void)options;
    snprintf(why, TARGET_WHY, "this dueq is built without libmosquitto: it knows no mqtt://");
    return NULL;
}

const struct target_kind target_mqtt = {.schemes = "mqtt mqtts", .new = new};
