/* SCAN, HSCAN, SSCAN, ZSCAN. */
#ifndef DUEQ_SCAN_H
#define DUEQ_SCAN_H

#include "server/commands/database.h"

enum outcome scan_keys(struct context *context);
/* HSCAN, SSCAN, ZSCAN by the type of the key. */
enum outcome scan_elements(struct context *context, enum keys_type type);

#endif
