/* The sections of INFO about the store. Each appends its lines, also while the store is closed
 * (context->store NULL). Cost: O(databases), whatever the number of topics, jobs and keys. */
#ifndef DUEQ_INFO_STORE_H
#define DUEQ_INFO_STORE_H

#include "server/dispatch/context.h"

void info_store_persistence(struct context *context, struct buffer *text);
void info_store_journal(struct context *context, struct buffer *text);
void info_store_queue(struct context *context, struct buffer *text);
void info_store_keyspace(struct context *context, struct buffer *text);

#endif
