/* The section of INFO with percentiles: of commands as in Redis, of what the loop and the disk
 * took, and of all jobs. */
#ifndef DUEQ_INFO_LATENCY_H
#define DUEQ_INFO_LATENCY_H

#include "protocol/buffer.h"
#include "server/dispatch/context.h"

void info_latency(struct context *context, struct buffer *text);

#endif
