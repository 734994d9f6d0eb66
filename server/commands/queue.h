/* Handlers of the Q. commands, by what they do to jobs; their table is in queue.c. */
#ifndef DUEQ_SERVER_COMMANDS_QUEUE_H
#define DUEQ_SERVER_COMMANDS_QUEUE_H

#include "server/command.h"

enum outcome queue_push(struct context *context); /* push.c */

enum outcome queue_claim(struct context *context); /* claim.c */
enum outcome queue_mclaim(struct context *context);

enum outcome queue_ack(struct context *context); /* settle.c */
enum outcome queue_nack(struct context *context);
enum outcome queue_extend(struct context *context);
enum outcome queue_del(struct context *context);

enum outcome queue_get(struct context *context); /* inspect.c */
enum outcome queue_len(struct context *context);
enum outcome queue_stats(struct context *context);
enum outcome queue_topics(struct context *context);

#endif
