/* What the files that write INFO share. */
#ifndef DUEQ_INFO_SECTIONS_H
#define DUEQ_INFO_SECTIONS_H

#include "server/dispatch/command.h"

/* One "name:value" line; longer than 511 bytes is cut. */
void info_line(struct buffer *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The sections about the store (info_store.c); each works without one, too. */
void info_persistence(struct context *context, struct buffer *text);
void info_journal(struct context *context, struct buffer *text);
void info_queue(struct context *context, struct buffer *text);
void info_keyspace(struct context *context, struct buffer *text);

#endif
