/* The dashboard's page: "/" leads to "/ui/", below which its files are. */
#ifndef DUEQ_PAGE_H
#define DUEQ_PAGE_H

#include "server/http/http_connection.h"

/* "/", "/ui" and what is below it. */
bool page_has_path(struct http_part path);
/* A GET or HEAD without a body. */
void page_serve(struct http_connection *connection);

#endif
