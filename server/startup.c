#include "server/startup.h"

#include "server/acl/acl.h"
#include "server/dispatch/long_work.h"
#include "server/events.h"
#include "server/http/http.h"
#include "server/inheritance.h"
#include "server/live_config.h"
#include "server/net/connection.h"
#include "server/net/listener.h"
#include "server/opening.h"
#include "server/process/handover.h"
#include "server/process/pidfile.h"
#include "server/process/process_memory.h"
#include "server/process/rights.h"
#include "server/process/sandbox.h"
#include "server/process/supervisor.h"
#include "server/session/pubsub.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "server/store_life.h"
#include "server/store_log.h"
#include "server/users.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_PATIENCE_MS = 200 }; /* an opening that is done by then costs no client an error */

/* Large buffers go back to the system when they are freed, and threads share two arenas: memory
 * does not grow under a load that comes and goes. Freed blocks are joined at once: those of a
 * quarter of a million topics, joined by the next large allocation, took 50 ms of one turn.
 * musl has no such settings, and gives free memory back by itself. */
static void tune_malloc(void)
{
#ifdef __GLIBC__
    mallopt(M_MXFAST, 0);
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
#endif
}

/* While the first opening runs nobody knows where the queue's clock has stopped: it runs from
 * the wall clock. */
static void begin_clock(struct server *server)
{
    uint8_t boot[DUEQ_BOOT_SIZE];

    clock_read_boot(boot);
    clock_init(&server->clock, clock_read(), boot, NULL, 0);
    server_update_clock(server);
}

static bool refuse_rights(const struct rights_error *error)
{
    log_write(LOG_WARNING, "%s", error->text);
    return false;
}

/* After the ports, which root may open, and the key for TLS, which root may read. False: the
 * log says why. */
static bool take_rights(const struct config *config)
{
    const char *log = config->logfile[0] == '\0' ? NULL : config->logfile;
    struct rights_error error;
    struct rights rights;
    char name[64];

    if (!rights_check_directory(config->dir, &error))
        return refuse_rights(&error);
    if (config->run_as[0] == '\0')
        return true;
    if (!rights_find(config->run_as, name, &rights, &error) ||
        !rights_hand_over(&rights, config->dir, log, &error) || !rights_drop(&rights, &error))
        return refuse_rights(&error);
    return true;
}

static bool enter_sandbox(const struct config *config)
{
    const char *why;

    if (!config->sandbox || sandbox_enter(&why))
        return true;
    log_write(LOG_WARNING, "sandbox: %s", why);
    return false;
}

static void write_pidfile(struct server *server)
{
    const char *path = server->config.pidfile;

    if (path[0] == '\0' || server->pidfile_written)
        return;
    server->pidfile_written = pidfile_write(path);
    if (!server->pidfile_written)
        log_write(LOG_WARNING, "Cannot write the pid file %s: %s", path, strerror(errno));
}

static void log_ready(const struct config *config)
{
    if (config->port > 0 || config->tls_port == 0)
        log_write(LOG_NOTICE, "Ready to accept connections on port %" PRId64, config->port);
    if (config->tls_port > 0)
        log_write(LOG_NOTICE, "Ready to accept connections with TLS on port %" PRId64,
                  config->tls_port);
}

void startup_end(struct server *server)
{
    write_pidfile(server);
    log_ready(&server->config);
    connections_adopt(server);
    handover_settle();
    supervisor_ready();
}

/* What the configuration names besides directories and sockets. */
static bool open_files(struct server *server)
{
    return (!config_wants_tls(&server->config) ||
            live_config_use_certificates(server, &server->config)) &&
           users_open(server);
}

bool startup_check(struct server *server)
{
    struct rights_error error;

    return (rights_check_directory(server->config.dir, &error) || refuse_rights(&error)) &&
           open_files(server);
}

bool startup_run(struct server *server)
{
    tune_malloc();
    log_write(LOG_NOTICE, "dueq %s starting, pid %d", DUEQ_VERSION, (int)getpid());
    supervisor_open();
    if (!inheritance_take_options(server))
        return false;
    live_config_limit_clients(&server->config);
    if (!events_open(server)) {
        log_write(LOG_WARNING, "Cannot start the event loop: %s", strerror(errno));
        return false;
    }
    if (!open_files(server) || !listeners_open(server) || !http_open(server) ||
        !take_rights(&server->config) || !enter_sandbox(&server->config))
        return false;
    begin_clock(server);
    server->next_session = connections_last_id();
    server->waiters = waiters_new(server->now.now);
    server->watches = watches_new();
    server->long_works = long_works_new();
    server->pubsub = pubsub_new();
    server->stats.start_wall = server->clock.last.wall;
    server->stats.start_monotonic = server->clock.last.monotonic;
    server->stats.start_memory = process_memory_read().own;
    server->loading = true;
    if (server->waiters == NULL || server->watches == NULL || server->pubsub == NULL ||
        server->long_works == NULL || !store_life_begin(server))
        return false;
    listeners_warn(&server->config, acl_wants_login(server->acl));
    if (opening_await(server->opening, OPEN_PATIENCE_MS))
        store_life_end_opening(server);
    if (server->opening != NULL) {
        write_pidfile(server); /* no other server has the directory, or it had ended */
        store_log_loading(server);
        server->last_second = server->clock.last.monotonic;
    }
    return true;
}
