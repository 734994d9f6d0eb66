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

#endif
