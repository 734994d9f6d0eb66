/* What a user of the dashboard may not run, so that the page shows nothing that would be
 * refused. The requests themselves are checked when they come. */
#ifndef DUEQ_WEB_RIGHTS_H
#define DUEQ_WEB_RIGHTS_H

#include "protocol/buffer.h"
#include "server/acl/acl_user.h"

/* {"write":true,"denied":["q.push"]}: the commands of the API's routes that the user may run on
 * no topic at all, and with `read_only` those that are not a GET; write: is any of these left?
 * O(routes). */
void web_rights_write(const struct acl_user *user, bool read_only, struct buffer *out);

/* "CLIENT LIST": may the user run it at all? */
bool web_rights_allow(const struct acl_user *user, const char *command);
/* May the user see the figures of the topic? O(patterns). */
bool web_rights_allow_topic(const struct acl_user *user, struct dueq_slice topic);

#endif
