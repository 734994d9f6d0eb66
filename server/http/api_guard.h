/* What protects the API from browsers that show somebody else's page, before anybody logs in:
 * the Host must be an address, or a name that is allowed (a page that has its name point here,
 * "DNS rebinding", has another one); a request that a browser says is of another page is
 * refused; and what changes something has a Content-Type that no page may send without asking,
 * to which the API has no answer. */
#ifndef DUEQ_API_GUARD_H
#define DUEQ_API_GUARD_H

#include "protocol/http_head.h"

/* hosts: names with spaces between them; "*": any. 0: good; else the status, and why. */
int api_check_host(const struct http_head *head, const char *hosts, const char **ret_why);
int api_check_origin(const struct http_head *head, const char **ret_why);
/* may_be_raw: also application/octet-stream; then *ret_raw. */
int api_check_body(const struct http_head *head, bool may_be_raw, bool *ret_raw,
                   const char **ret_why);

#endif
