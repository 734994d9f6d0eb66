/* SCAN, HSCAN, SSCAN, ZSCAN: read a part of the names or elements and reply a cursor. An
 * element that exists during the whole scan is returned at least once. */
#ifndef DUEQ_SCAN_H
#define DUEQ_SCAN_H

#include "server/commands/database.h"

/* SCAN: the whole command. */
enum outcome scan_keys(struct context *context);
/* HSCAN, SSCAN or ZSCAN, by the type. */
enum outcome scan_elements(struct context *context, enum keys_type type);

#endif
