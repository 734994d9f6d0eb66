/* /metrics: a reply is made in slices, of which each turn does one, so that a scrape with a
 * thousand topics and their names does not hold the loop. One is made at a time; others wait
 * without memory of their own. What is not counted by topic is O(1) in the number of topics. */
#ifndef DUEQ_SCRAPE_H
#define DUEQ_SCRAPE_H

#include "server/server.h"

struct http_connection;

void scrape_start(struct server *server, struct http_connection *connection);

#endif
