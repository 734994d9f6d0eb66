/* DEBUG, for those who test clients. */
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/keyspace.h"

#include <errno.h>
#include <math.h>
#include <time.h>

/* Holds everybody up, which is what it is for, also when a signal comes. */
static void sleep_for(double seconds)
{
    struct timespec wait = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};

    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        continue;
}

enum outcome run_debug(struct context *context)
{
    double seconds;

    if (context_is(context, 1, "object") && context_count(context) == 3)
        return run_debug_object(context);
    if (!context_is(context, 1, "sleep") || context_count(context) != 3)
        return context_subcommand_error(context);
    if (!context_double(context, 2, &seconds))
        return OUTCOME_DONE;
    if (seconds > 0 && seconds < 3600)
        sleep_for(seconds);
    return context_ok(context);
}
