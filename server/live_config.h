/* What options do when the server starts and when they change: limits of the system,
 * certificates, ports, settings of the store. server_check_config and server_apply_config
 * (server.h) are here, too. Only the loop's own files include this. */
#ifndef DUEQ_LIVE_CONFIG_H
#define DUEQ_LIVE_CONFIG_H

#include "server/server.h"

/* Certificates for new connections; those that are open keep theirs. False: the log says why,
 * and nothing has changed. */
bool live_config_use_certificates(struct server *server, const struct config *config);
/* Fewer descriptors than wanted mean fewer clients: the log says so at the start. */
void live_config_limit_clients(struct config *config);

#endif
