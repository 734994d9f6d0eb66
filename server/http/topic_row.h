/* One topic in figures, as JSON: a row of the dashboard's list. */
#ifndef DUEQ_TOPIC_ROW_H
#define DUEQ_TOPIC_ROW_H

#include "protocol/buffer.h"
#include "server/server.h"

struct topic_row {
    struct dueq_topic_stats stats;
    bool is_limited;          /* claims have a rate, or so many jobs may be claimed at a time */
    double in_rate, out_rate; /* jobs a second that come, and that are done; below 0: unknown */
};

/* Reads the topic; its rates are unknown. False: there is none, or it cannot be read. Leaves it
 * to the caller to settle the store (store_settle). As dueq_topic_stats. */
bool topic_row_take(struct server *server, struct dueq_slice name, struct topic_row *ret_row);
/* Since the same topic had those totals, `ms` ago. */
void topic_row_measure(struct topic_row *row, uint64_t pushed, uint64_t ended, int64_t ms);
/* Jobs that have left the topic as done or dead. */
uint64_t topic_row_ended(const struct dueq_topic_stats *stats);
/* The fields of an object that is open. */
void topic_row_write(const struct topic_row *row, struct dueq_slice name, struct buffer *out);

#endif
