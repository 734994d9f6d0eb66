/* What /metrics says of the server and its store, in groups of families. */
#ifndef DUEQ_METRICS_H
#define DUEQ_METRICS_H

#include "server/http/metric_text.h"
#include "server/server.h"

/* Taken at the begin of a scrape, so that figures that belong together fit. */
struct metrics {
    struct server *server;
    bool has_store;
    struct dueq_stats stats;       /* zero without a store */
    bool has_total;                /* `total` is known */
    struct dueq_topic_stats total; /* of all topics */
    size_t topics;                 /* all that exist */
};

void metrics_take(struct metrics *metrics, struct server *server);

/* How many groups there are; `group` is less. Some 20 us each. */
size_t metrics_groups(void);
void metrics_write(const struct metrics *metrics, size_t group, struct metric_text *text);

#endif
