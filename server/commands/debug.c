/* DEBUG, for those who test clients. */
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/keyspace.h"
#include "server/server.h"

#include <math.h>
#include <time.h>

static bool is_allowed(struct context *context)
{
    if (context->server->config.enable_debug_command)
        return true;
    resp_error(context->reply,
               "ERR DEBUG command not allowed. If the enable-debug-command option is set to "
               "\"local\", you can run it from a local connection, otherwise you need to set "
               "this option in the configuration file, and then restart the server.");
    return false;
}

/* Holds everybody up, which is what it is for. */
static void sleep_for(double seconds)
{
    struct timespec wait = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};

    nanosleep(&wait, NULL);
}

enum outcome run_debug(struct context *context)
{
    double seconds;

    if (!is_allowed(context))
        return OUTCOME_DONE;
    if (!context_is(context, 1, "sleep") || context_count(context) != 3)
        return context_subcommand_error(context);
    if (!context_double(context, 2, &seconds))
        return OUTCOME_DONE;
    if (seconds > 0 && seconds < 3600)
        sleep_for(seconds);
    return context_ok(context);
}
