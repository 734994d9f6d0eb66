/* The command line of `dueq forward`. */
#include "tools/forward/forward.h"

#include "tools/client/client_log.h"

#include <string.h>
#include <strings.h>

enum {
    LEASE_LEAST = 1000,
    DAY_MS = 86400000,
    PARALLEL_MOST = 100,
    PATIENCE_MS = 10000 /* with the server; more than a claim blocks */
};

/* TOPIC TO URL, or TOPIC URL. NULL: it has said what is wrong. */
static const char *read_url(const struct client_call *call)
{
    if (call->count == 2)
        return call->words[1];
    if (strcasecmp(call->words[1], "to") == 0)
        return call->words[2];
    client_misused(call->command, "%s is not TO", call->words[1]);
    return NULL;
}

static bool read_prefix(const struct client_call *call, const char **ret_prefix)
{
    *ret_prefix = client_option(call, "prefix");
    if (*ret_prefix == NULL || strlen(*ret_prefix) <= PREFIX_MOST)
        return true;
    client_misused(call->command, "--prefix is at most %d bytes", PREFIX_MOST);
    return false;
}

static bool read_target(const struct client_call *call, struct target_options *target)
{
    int64_t parallel;

    target->url = read_url(call);
    target->topic = dueq_slice(call->words[0], call->sizes[0]);
    target->password_file = client_option(call, "target-password-file");
    target->ca = client_option(call, "target-cacert");
    target->cert = client_option(call, "target-cert");
    target->key = client_option(call, "target-key");
    target->secret_file = client_option(call, "secret-file");
    target->header_file = client_option(call, "header-file");
    target->content_type = client_option(call, "content-type");
    if (target->content_type == NULL)
        target->content_type = "application/octet-stream";
    target->insecure = client_option(call, "target-insecure") != NULL;
    if (target->url == NULL || !read_prefix(call, &target->prefix) ||
        !client_duration(call, "timeout", 30000, 100, DAY_MS, &target->timeout_ms) ||
        !client_number(call, "parallel", 8, 1, PARALLEL_MOST, &parallel))
        return false;
    target->parallel = (int)parallel;
    return true;
}

static bool read_rate(const struct client_call *call, struct pace *pace)
{
    const char *text = client_option(call, "rate");

    if (text == NULL || pace_parse(pace, text))
        return true;
    client_misused(call->command, "--rate %s: as 100/1s; 1 to %d in at most a day", text,
                   PACE_MOST);
    return false;
}

static bool read_refused(const struct client_call *call, bool *ret_dies)
{
    const char *text = client_option(call, "refused");

    *ret_dies = text != NULL && strcmp(text, "dead") == 0;
    if (text == NULL || *ret_dies || strcmp(text, "fail") == 0)
        return true;
    client_misused(call->command, "--refused is fail or dead");
    return false;
}

static bool read_options(const struct client_call *call, struct forward_options *options)
{
    options->where = call->where;
    options->where.patience_ms = PATIENCE_MS;
    options->topic = dueq_slice(call->words[0], call->sizes[0]);
    options->worker = client_worker(call);
    options->once = client_option(call, "once") != NULL;
    options->later_fails = client_option(call, "count-later") != NULL;
    options->verbose = client_option(call, "verbose") != NULL;
    return read_target(call, &options->target) && read_rate(call, &options->pace) &&
           read_refused(call, &options->refused_dies) &&
           client_number(call, "batch", 100, 1, FORWARD_BATCH_MOST, &options->batch) &&
           client_duration(call, "lease", 60000, LEASE_LEAST, DAY_MS, &options->lease_ms) &&
           client_duration(call, "grace", 10000, 0, DAY_MS, &options->grace_ms) &&
           client_duration(call, "later-most", 300000, 1, DAY_MS, &options->later_most_ms) &&
           client_duration(call, "away-most", 60000, 1, DAY_MS, &options->away_most_ms);
}

int client_forward(struct client_call *call)
{
    static struct forward_options options;
    const struct target_kind *kind;
    struct target *target;
    char why[TARGET_WHY];
    int status;

    client_log_as("forward");
    if (!read_options(call, &options))
        return CLIENT_USAGE;
    kind = target_kind_of(options.target.url);
    if (kind == NULL)
        return client_misused(
            call->command, "the URL does not begin with dueq://, redis://, http:// or mqtt://");
    target = kind->new (&options.target, why);
    if (target == NULL)
        return client_misused(call->command, "%s: %s", options.target.url, why);
    status = forward_run(&options, target);
    kind->free(target);
    return status;
}
