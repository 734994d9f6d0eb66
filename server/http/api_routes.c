#include "server/http/api_routes.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters */

#define END                                                                                    \
    {                                                                                          \
        NULL, PARAM_ALWAYS, false, NULL, NULL, NULL                                            \
    }
#define NEEDED(name, kind, what)                                                               \
    {                                                                                          \
        name, kind, true, NULL, NULL, what                                                     \
    }
#define OPTION(name, kind, keyword, what)                                                      \
    {                                                                                          \
        name, kind, false, keyword, NULL, what                                                 \
    }
#define CHOICE(name, keyword, choices, what)                                                   \
    {                                                                                          \
        name, PARAM_CHOICE, false, keyword, choices, what                                      \
    }
#define ALWAYS(keyword)                                                                        \
    {                                                                                          \
        "", PARAM_ALWAYS, false, keyword, NULL, NULL                                           \
    }

#define STATES "delayed|ready|claimed|dead|done|waiting"
#define JOB_OPTIONS                                                                            \
    OPTION("priority", PARAM_INTEGER, "PRIORITY", "0 to 255; 0 is the most urgent"),           \
        OPTION("lease", PARAM_DURATION, "LEASE", "of a claim that says nothing else"),         \
        OPTION("retries", PARAM_INTEGER, "RETRIES", "failures that the job survives"),         \
        OPTION("crashes", PARAM_INTEGER, "CRASHES", "ends of leases that the job survives"),   \
        {"backoff",                                                                            \
         PARAM_WORDS,                                                                          \
         false,                                                                                \
         "BACKOFF",                                                                            \
         "FIXED|EXP|JITTER|STEPS",                                                             \
         "words: 5s 1h, FIXED 10s, EXP 1s 1h JITTER 10, STEPS 2m 10m 1h"},                     \
        OPTION("ttl", PARAM_DURATION, "TTL", "unclaimed for so long after it was due: dead")
#define PUSH_OPTIONS                                                                           \
    OPTION("delay", PARAM_DURATION, "DELAY", "due that long from now"),                        \
        OPTION("at", PARAM_INTEGER, "AT", "due at that time, unix ms"), JOB_OPTIONS,           \
        CHOICE("ondup", "ONDUP", "REJECT|IGNORE|REPLACE|DEBOUNCE|THROTTLE",                    \
               "what happens when the topic has the id"),                                      \
        OPTION("window", PARAM_DURATION, "WINDOW", "the id stays taken that long"),            \
        OPTION("ignoredead", PARAM_FLAG, "IGNOREDEAD", "a dead job with the id goes first"),   \
        OPTION("group", PARAM_BYTES, "GROUP", "the group of the job"),                         \
        OPTION("weight", PARAM_INTEGER, "WEIGHT", "in a fair topic, 1 to 1000")

/* They come last: AFTER takes what follows for ids. */
#define AFTER_OPTIONS                                                                          \
    CHOICE("on-dead", "ON-DEAD", "FAIL|RUN|WAIT",                                              \
           "what it does when one that it waits for dies or is removed"),                      \
        OPTION("after", PARAM_AFTER, "AFTER",                                                  \
               "ids, or topic:id, of jobs that are to be done first; 10000 at most")

static const struct param push_params[] = {
    NEEDED("body", PARAM_BYTES, "what the job is; any bytes"),
    OPTION("id", PARAM_BYTES, "ID", "no other job of the topic may have it"),
    PUSH_OPTIONS,
    ALWAYS("WITHSTATUS"),
    AFTER_OPTIONS,
    END};
static const struct param follower_params[] = {
    NEEDED("topic", PARAM_BYTES, "where the job goes"),
    NEEDED("body", PARAM_BYTES, "what the job is; any bytes"),
    OPTION("id", PARAM_BYTES, "ID", "no other job of the topic may have it"),
    PUSH_OPTIONS,
    AFTER_OPTIONS,
    END};
static const struct param push_many_params[] = {
    NEEDED("jobs", PARAM_PUSHES,
           "1 to 1000; each has a body, and may have id, delay, priority"),
    PUSH_OPTIONS, AFTER_OPTIONS, END};

#define CLAIM_OPTIONS                                                                          \
    OPTION("count", PARAM_INTEGER, "COUNT", "at most so many jobs, 1 to 1000"),                \
        OPTION("lease", PARAM_DURATION, "LEASE", "how long the claim lasts"),                  \
        OPTION("wait", PARAM_WAIT, "BLOCK", "for the first job, 10 minutes at most"),          \
        OPTION("worker", PARAM_BYTES, "WORKER", "who claims")

static const struct param claim_params[] = {
    CLAIM_OPTIONS, OPTION("ack", PARAM_CLAIMS, "ACK", "jobs to ack before"), END};
static const struct param claim_many_params[] = {
    NEEDED("topics", PARAM_TOPICS, "the first one goes first"), CLAIM_OPTIONS, END};

static const struct param pop_params[] = {
    OPTION("count", PARAM_INTEGER, "COUNT", "at most so many jobs, 1 to 1000"),
    OPTION("wait", PARAM_WAIT, "BLOCK", "for the first job, 10 minutes at most"), END};

#define TOKEN NEEDED("token", PARAM_INTEGER, "of the claim")

static const struct param ack_params[] = {
    TOKEN, OPTION("result", PARAM_BYTES, "RESULT", "kept with the done job"),
    OPTION("keep", PARAM_DURATION, "KEEP", "the done job is kept that long"), END};
static const struct param ack_push_params[] = {
    TOKEN, OPTION("result", PARAM_BYTES, "RESULT", "kept with the done job"),
    OPTION("keep", PARAM_DURATION, "KEEP", "the done job is kept that long"),
    NEEDED("jobs", PARAM_NEXT, "1 to 1000; each has a topic, and what a push has"), END};
static const struct param ack_many_params[] = {
    NEEDED("jobs", PARAM_CLAIMS, "1 to 1000; each with id and token"), END};
static const struct param nack_params[] = {
    TOKEN,
    OPTION("delay", PARAM_DURATION, "DELAY", "due again after that"),
    OPTION("error", PARAM_BYTES, "ERROR", "what went wrong"),
    OPTION("progress", PARAM_BYTES, "PROGRESS", "how far the work came"),
    CHOICE("outcome", NULL, "FAIL|SILENT|FATAL|DEAD",
           "counts as a failure (FAIL), as none, ends it"),
    END};
static const struct param extend_params[] = {
    TOKEN, NEEDED("lease", PARAM_DURATION, "from now"),
    OPTION("progress", PARAM_BYTES, "PROGRESS", "how far the work has come"), END};

static const struct param get_params[] = {
    OPTION("withafter", PARAM_FLAG, "WITHAFTER",
           "all that it waits for, not only the first 100"),
    END};
static const struct param reschedule_params[] = {
    OPTION("delay", PARAM_DURATION, "DELAY", "due that long from now"),
    OPTION("at", PARAM_INTEGER, "AT", "due at that time, unix ms"), END};
static const struct param update_params[] = {
    OPTION("body", PARAM_BYTES, "BODY", "of a job that is not claimed"), JOB_OPTIONS, END};
static const struct param move_params[] = {NEEDED("to", PARAM_BYTES, "the other topic"), END};

#define MATCH OPTION("match", PARAM_BYTES, "MATCH", "only ids that match the glob")
#define COUNT OPTION("count", PARAM_INTEGER, "COUNT", "at most so many")

static const struct param scan_params[] = {
    {"cursor", PARAM_BYTES, false, NULL, "0", "of the reply before; the first call has none"},
    CHOICE("state", "STATE", STATES, "only jobs in that state"),
    MATCH,
    OPTION("group", PARAM_BYTES, "GROUP", "only jobs of that group"),
    OPTION("from", PARAM_INTEGER, "FROM", "due from then on, unix ms"),
    OPTION("to", PARAM_INTEGER, "TO", "due until then, unix ms"),
    OPTION("count", PARAM_INTEGER, "COUNT", "how many jobs are looked at"),
    OPTION("withbody", PARAM_FLAG, "WITHBODY", "with the bodies"),
    END};
static const struct param peek_params[] = {
    CHOICE("state", "STATE", STATES, "only jobs in that state"), COUNT,
    OPTION("withbody", PARAM_FLAG, "WITHBODY", "with the bodies"), END};
static const struct param forecast_params[] = {
    OPTION("bucket", PARAM_DURATION, "BUCKET", "how long each is"), COUNT, END};
static const struct param wait_params[] = {
    NEEDED("id", PARAM_LIST, "1 to 1000 of them"),
    OPTION("wait", PARAM_WAIT, "BLOCK", "until all have ended, 10 minutes at most"), END};

#define DEAD_OPTIONS                                                                           \
    MATCH, OPTION("error", PARAM_BYTES, "ERROR", "only errors that match the glob"),           \
        OPTION("older", PARAM_DURATION, "OLDER", "only jobs that have been dead for so long")
#define LIMIT  OPTION("limit", PARAM_INTEGER, "LIMIT", "at most so many jobs")
#define DRYRUN OPTION("dryrun", PARAM_FLAG, "DRYRUN", "only say what would happen")

static const struct param dead_params[] = {DEAD_OPTIONS, LIMIT, END};
static const struct param dead_count_params[] = {DEAD_OPTIONS, END};
static const struct param redrive_params[] = {
    DEAD_OPTIONS,
    LIMIT,
    DRYRUN,
    OPTION("to", PARAM_BYTES, "TO", "another topic"),
    OPTION("rate", PARAM_WORDS, "RATE", "words: 100 1s; so many fall due in each duration"),
    END};
static const struct param dead_purge_params[] = {DEAD_OPTIONS, LIMIT, DRYRUN, END};

static const struct param pause_params[] = {
    CHOICE("what", NULL, "IN|OUT|ALL", "pushes, claims, or both (ALL)"),
    OPTION("for", PARAM_DURATION, "FOR", "ends after that long"), END};
static const struct param purge_params[] = {
    CHOICE("state", "STATE", "delayed|ready|dead|done|waiting", "only jobs in that state"),
    MATCH, END};
static const struct param set_params[] = {
    NEEDED("settings", PARAM_SETTINGS, "names and values, as Q.CONFIG has them"), END};
static const struct param names_params[] = {
    OPTION("name", PARAM_LIST, NULL, "only these settings"), END};
static const struct param topics_params[] = {
    OPTION("match", PARAM_BYTES, "MATCH", "only names that match the glob"),
    OPTION("after", PARAM_BYTES, "AFTER", "the last name of the page before"),
    OPTION("count", PARAM_INTEGER, "COUNT", "at most so many; without it all"), END};

#define STATE CHOICE("state", NULL, STATES, "only jobs in that state")

static const struct param count_params[] = {STATE, END};
static const struct param events_params[] = {
    {"from", PARAM_BYTES, false, "FROM", "0",
     "the number of the last one seen; 0: from the oldest on; $: only new ones"},
    COUNT,
    OPTION("wait", PARAM_WAIT, "BLOCK", "for the next one, 10 minutes at most"),
    END};
static const struct param release_params[] = {
    OPTION("topic", PARAM_BYTES, "TOPIC", "only those of that topic"), END};

static const struct param crons_params[] = {
    OPTION("after", PARAM_BYTES, "AFTER", "the last name of the page before"), COUNT, END};
static const struct param cron_params[] = {
    NEEDED("topic", PARAM_BYTES, "where its jobs go"),
    NEEDED("body", PARAM_BYTES, "of its jobs; 64 KiB at most"),
    OPTION("every", PARAM_DURATION, "EVERY", "1 s and more; this or spec"),
    OPTION("spec", PARAM_BYTES, "SPEC", "5 or 6 fields as of cron, or @daily and the like"),
    OPTION("tz", PARAM_BYTES, "TZ", "the zone of the spec, Europe/Berlin; UTC"),
    OPTION("jitter", PARAM_DURATION, "JITTER", "all its firings are later by a part of that"),
    CHOICE("catchup", "CATCHUP", "NONE|ONE|ALL", "what happens with times that are missed"),
    CHOICE("overlap", "OVERLAP", "SKIP|QUEUE", "SKIP: nothing while its last job is there"),
    JOB_OPTIONS,
    OPTION("group", PARAM_BYTES, "GROUP", "the group of its jobs"),
    OPTION("weight", PARAM_INTEGER, "WEIGHT", "in a fair topic, 1 to 1000"),
    END};
static const struct param next_params[] = {
    {"count", PARAM_INTEGER, false, NULL, "1", "how many times, 1 to 100"}, END};

const struct param *api_follower_params(void)
{
    return follower_params;
}

/* ---- replies */

static const char *const push_fields[] = {"id", "status", NULL};
static const char *const claim_fields[] = {"id", "token", "body", "attempt", NULL};
static const char *const pop_fields[] = {"id", "body", NULL};
static const char *const event_fields[] = {"number", "event", "time", "id", "attempt", NULL};
static const char *const gap_fields[] = {"number", "event", "count", NULL};
static const char *const claim_many_fields[] = {"topic", "id",      "token",
                                                "body",  "attempt", NULL};
static const char *const scan_fields[] = {"cursor", "jobs", NULL};
static const char *const forecast_fields[] = {"begin", "count", NULL};
static const char *const wait_fields[] = {"id", "state", "text", NULL};
static const char *const redrive_fields[] = {"redriven", "left", NULL};
static const char *const setting_fields[] = {"value", "from", NULL};

#define AS_IS                                                                                  \
    {                                                                                          \
        .wrap = NULL                                                                           \
    }
#define UNDER(name)                                                                            \
    {                                                                                          \
        .wrap = name                                                                           \
    }
#define NAMED(names)                                                                           \
    {                                                                                          \
        .fields = names                                                                        \
    }
#define LIST(name, names)                                                                      \
    {                                                                                          \
        .wrap = name, .fields = names, .depth = 1, .null_is_empty = true                       \
    }
#define EVENTS                                                                                 \
    {                                                                                          \
        .wrap = "events", .fields = event_fields, .short_fields = gap_fields, .depth = 1,      \
        .null_is_empty = true                                                                  \
    }
#define MEMBERS(names)                                                                         \
    {                                                                                          \
        .fields = names, .depth = 1                                                            \
    }

#define TOPIC "/v1/topics/{topic}"
#define JOB   TOPIC "/jobs/{id}"
#define CRON  "/v1/cron/{name}"

#define NO_JOB   "NOJOB no such job in the topic"
#define NO_ENTRY "NOENTRY no such recurring job"

static const struct route routes[] = {
    {HTTP_GET, "/v1/topics", "Q.TOPICS", topics_params, UNDER("topics"), false, NULL,
     "The names of the topics"},
    {HTTP_GET, TOPIC, "Q.STATS {topic}", NULL, AS_IS, false, NULL, "A topic in figures"},
    {HTTP_DELETE, TOPIC, "Q.DROP {topic}", NULL, UNDER("dropped"), false, NULL,
     "Removes a topic with its jobs"},
    {HTTP_POST, TOPIC "/jobs", "Q.PUSH {topic}", push_params, NAMED(push_fields), true, NULL,
     "Adds a job"},
    {HTTP_POST, TOPIC "/push-many", "Q.MPUSH {topic}", push_many_params, UNDER("ids"), false,
     NULL, "Adds jobs, all of them or none"},
    {HTTP_POST, TOPIC "/claim", "Q.CLAIM {topic}", claim_params, LIST("jobs", claim_fields),
     false, NULL, "Takes jobs that are due, or waits for one"},
    {HTTP_POST, TOPIC "/pop", "Q.POP {topic}", pop_params, LIST("jobs", pop_fields), false,
     NULL, "Takes jobs that are due and removes them, or waits for one"},
    {HTTP_POST, "/v1/claim", "Q.MCLAIM", claim_many_params, LIST("jobs", claim_many_fields),
     false, NULL, "Takes jobs that are due from several topics, or waits for one"},
    {HTTP_POST, TOPIC "/ack", "Q.ACK {topic}", ack_many_params, UNDER("acked"), false, NULL,
     "The jobs are done"},
    {HTTP_GET, TOPIC "/jobs", "Q.SCAN {topic}", scan_params, NAMED(scan_fields), false, NULL,
     "Goes through the jobs, a part in each call"},
    {HTTP_GET, TOPIC "/peek", "Q.PEEK {topic}", peek_params, UNDER("jobs"), false, NULL,
     "The next jobs, in order"},
    {HTTP_GET, TOPIC "/forecast", "Q.FORECAST {topic}", forecast_params,
     LIST("buckets", forecast_fields), false, NULL, "How many jobs fall due in each bucket"},
    {HTTP_GET, TOPIC "/wait", "Q.WAIT {topic}", wait_params, LIST("jobs", wait_fields), false,
     NULL, "The states of jobs; waits for their ends"},
    {HTTP_GET, TOPIC "/events", "Q.EVENTS {topic}", events_params, EVENTS, false, NULL,
     "What has happened to the jobs; waits for the next event"},
    {HTTP_GET, TOPIC "/count", "Q.LEN {topic}", count_params, UNDER("count"), false, NULL,
     "How many jobs there are"},
    {HTTP_GET, TOPIC "/workers", "Q.WORKERS {topic}", NULL, UNDER("workers"), false, NULL,
     "Who holds jobs"},
    {HTTP_GET, JOB, "Q.GET {topic} {id}", get_params, AS_IS, false, NO_JOB, "All about a job"},
    {HTTP_PATCH, JOB, "Q.UPDATE {topic} {id}", update_params, UNDER("updated"), false, NO_JOB,
     "Changes what a job says"},
    {HTTP_DELETE, JOB, "Q.DEL {topic} {id}", NULL, UNDER("deleted"), false, NO_JOB,
     "Removes a job in any state"},
    {HTTP_GET, JOB "/explain", "Q.EXPLAIN {topic} {id}", NULL, AS_IS, false, NULL,
     "Why the job does not run now"},
    {HTTP_POST, JOB "/ack", "Q.ACK {topic} {id}", ack_params, UNDER("acked"), false, NULL,
     "The job is done"},
    {HTTP_POST, JOB "/ack-push", "Q.ACK {topic} {id}", ack_push_params, UNDER("ids"), false,
     NULL, "The job is done and others follow from it, all in one step"},
    {HTTP_POST, JOB "/nack", "Q.NACK {topic} {id}", nack_params, UNDER("state"), false, NULL,
     "Gives the job back"},
    {HTTP_POST, JOB "/extend", "Q.EXTEND {topic} {id}", extend_params, UNDER("lease-end"),
     false, NULL, "The lease ends that long from now"},
    {HTTP_POST, JOB "/reschedule", "Q.RESCHEDULE {topic} {id}", reschedule_params, UNDER("due"),
     false, NULL, "Changes when the job is due"},
    {HTTP_POST, JOB "/run", "Q.RUN {topic} {id}", NULL, UNDER("run"), false, NULL,
     "Makes a delayed job due now"},
    {HTTP_POST, JOB "/cancel", "Q.CANCEL {topic} {id}", NULL, UNDER("state"), false, NO_JOB,
     "Removes a job that waits, tells the worker of one that is claimed"},
    {HTTP_POST, JOB "/move", "Q.MOVE {topic} {id}", move_params, UNDER("moved"), false, NO_JOB,
     "Moves a job that waits to another topic"},
    {HTTP_GET, TOPIC "/dead", "Q.DEAD {topic} LIST", dead_params, UNDER("jobs"), false, NULL,
     "The dead jobs, those that died first before the others"},
    {HTTP_GET, TOPIC "/dead/count", "Q.DEAD {topic} COUNT", dead_count_params, UNDER("count"),
     false, NULL, "How many dead jobs there are"},
    {HTTP_POST, TOPIC "/dead/redrive", "Q.DEAD {topic} REDRIVE", redrive_params,
     NAMED(redrive_fields), false, NULL, "Dead jobs begin anew"},
    {HTTP_POST, TOPIC "/dead/purge", "Q.DEAD {topic} PURGE", dead_purge_params, UNDER("purged"),
     false, NULL, "Removes dead jobs"},
    {HTTP_GET, TOPIC "/settings", "Q.CONFIG GET {topic}", names_params, MEMBERS(setting_fields),
     false, NULL, "The settings of a topic or pattern, and where each comes from"},
    {HTTP_PATCH, TOPIC "/settings", "Q.CONFIG SET {topic}", set_params, UNDER("status"), false,
     NULL, "Changes settings, all that are given or none"},
    {HTTP_DELETE, TOPIC "/settings", "Q.CONFIG RESET {topic}", names_params, UNDER("status"),
     false, NULL, "Forgets settings"},
    {HTTP_POST, TOPIC "/pause", "Q.PAUSE {topic}", pause_params, UNDER("status"), false, NULL,
     "The topic takes no jobs, gives none, or both"},
    {HTTP_POST, TOPIC "/resume", "Q.RESUME {topic}", NULL, UNDER("status"), false, NULL,
     "Ends the pause"},
    {HTTP_POST, TOPIC "/purge", "Q.PURGE {topic}", purge_params, UNDER("purged"), false, NULL,
     "Removes jobs that are not claimed"},
    {HTTP_GET, "/v1/workers", "Q.WORKERS", NULL, UNDER("workers"), false, NULL,
     "Who holds jobs, or has claimed some, in all topics"},
    {HTTP_POST, "/v1/workers/{worker}/release", "Q.RELEASE WORKER {worker}", release_params,
     UNDER("released"), false, NULL, "Ends the leases of a worker that is lost"},
    {HTTP_GET, "/v1/cron", "Q.CRON LIST", crons_params, UNDER("entries"), false, NULL,
     "The recurring jobs, in the order of their names"},
    {HTTP_GET, CRON, "Q.CRON GET {name}", NULL, AS_IS, false, NO_ENTRY,
     "All about a recurring job"},
    {HTTP_PUT, CRON, "Q.CRON SET {name}", cron_params, UNDER("next"), false, NULL,
     "Makes or changes a recurring job"},
    {HTTP_DELETE, CRON, "Q.CRON DEL {name}", NULL, UNDER("deleted"), false, NO_ENTRY,
     "Removes a recurring job; the jobs that it has pushed stay"},
    {HTTP_POST, CRON "/pause", "Q.CRON PAUSE {name}", NULL, UNDER("paused"), false, NO_ENTRY,
     "It pushes nothing until it is resumed"},
    {HTTP_POST, CRON "/resume", "Q.CRON RESUME {name}", NULL, UNDER("resumed"), false, NO_ENTRY,
     "Ends the pause"},
    {HTTP_GET, CRON "/next", "Q.CRON NEXT {name}", next_params, UNDER("times"), false, NO_ENTRY,
     "When it is due next, unix ms"},
    {HTTP_POST, CRON "/run", "Q.CRON RUN {name}", NULL, UNDER("id"), false, NULL,
     "Pushes its job now"},
};

const struct route *api_routes(size_t *ret_count)
{
    *ret_count = sizeof(routes) / sizeof(routes[0]);
    return routes;
}

/* ---- finding one */

const char *api_method_name(enum http_method method)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

    return method < HTTP_OTHER ? names[method] : "?";
}

/* Cuts off the first part of a path; `path` is at a '/' or empty. */
static struct http_part next_part(struct http_part *path)
{
    struct http_part part = {path->data + 1, path->size - 1};
    const char *end = part.size == 0 ? NULL : memchr(part.data, '/', part.size);

    if (end != NULL)
        part.size = (size_t)(end - part.data);
    path->data += part.size + 1;
    path->size -= part.size + 1;
    return part;
}

static bool is_text(struct http_part part, struct http_part text)
{
    return part.size == text.size && memcmp(part.data, text.data, text.size) == 0;
}

/* The names stand in the path in their order. */
static bool matches(const struct route *route, struct http_part path, struct http_part *values)
{
    struct http_part pattern = {route->path, strlen(route->path)};
    size_t count = 0;

    while (pattern.size > 0 && path.size > 0) {
        struct http_part wanted = next_part(&pattern), part = next_part(&path);

        if (wanted.data[0] == '{')
            values[count++] = part;
        else if (!is_text(part, wanted))
            return false;
    }
    return pattern.size == 0 && path.size == 0;
}

static bool decode(const struct http_part *parts, struct route_values *ret_values)
{
    char text[3 * API_NAME_MAX];

    for (size_t i = 0; i < API_PARTS; i++) {
        ret_values->sizes[i] = 0;
        if (parts[i].data == NULL)
            continue;
        if (parts[i].size > sizeof(text) ||
            !http_decode(parts[i], false, text, &ret_values->sizes[i]) ||
            ret_values->sizes[i] == 0 || ret_values->sizes[i] > API_NAME_MAX)
            return false;
        memcpy(ret_values->bytes[i], text, ret_values->sizes[i]);
    }
    return true;
}

const struct route *api_find_route(enum http_method method, struct http_part path,
                                   struct route_values *ret_values, char *ret_methods,
                                   size_t room, bool *ret_bad)
{
    size_t size = 0;

    *ret_bad = false;
    ret_methods[0] = '\0';
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        struct http_part parts[API_PARTS] = {{NULL, 0}};

        if (!matches(&routes[i], path, parts))
            continue;
        if (routes[i].method == method) {
            *ret_bad = !decode(parts, ret_values);
            return &routes[i];
        }
        size += (size_t)snprintf(ret_methods + size, room - size, "%s%s", size == 0 ? "" : ", ",
                                 api_method_name(routes[i].method));
    }
    return NULL;
}
