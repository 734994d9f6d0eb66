/* The table of the subcommands that are clients. */
#include "tools/client/client_call.h"

#include <string.h>

#define OPTION_END                                                                             \
    {                                                                                          \
        .name = NULL                                                                           \
    }

const struct client_option client_shared_options[] = {
    {"host", "NAME", NULL, CLIENT_OWN, "where the server is (DUEQ_HOST, or 127.0.0.1)"},
    {"port", "N", NULL, CLIENT_OWN, "its port (DUEQ_PORT, or 6379)"},
    {"unix", "PATH", NULL, CLIENT_OWN, "its unix socket (DUEQ_UNIX)"},
    {"user", "NAME", NULL, CLIENT_OWN,
     "who logs in (DUEQ_USER), with the password in DUEQ_PASSWORD or REDISCLI_AUTH"},
    {"password-file", "FILE", NULL, CLIENT_OWN, "the password is the first line of it"},
    {"tls", NULL, NULL, CLIENT_OWN_FLAG, "TLS, and the server's certificate is checked"},
    {"cacert", "FILE", NULL, CLIENT_OWN, "who signs certificates (those the system trusts)"},
    {"cert", "FILE", NULL, CLIENT_OWN, "a certificate of the client's own"},
    {"key", "FILE", NULL, CLIENT_OWN, "its key"},
    {"insecure", NULL, NULL, CLIENT_OWN_FLAG, "whatever certificate the server has"},
    {"json", NULL, NULL, CLIENT_OWN_FLAG, "for programs: one JSON object a line"},
    OPTION_END};

#define STATES "delayed|ready|claimed|dead|done|waiting"

static const struct client_option push_options[] = {
    {"file", "FILE", NULL, CLIENT_OWN, "the body is what is in it"},
    {"id", "ID", "ID", CLIENT_AS_IT_IS, "the job's id (the server makes one)"},
    {"delay", "DURATION", "DELAY", CLIENT_AS_IT_IS, "due that long from now: 30s, 5m, 2h, 7d"},
    {"at", "TIME", "AT", CLIENT_MOMENT,
     "due then: '2026-12-01 09:00' here, 2026-12-01T09:00Z, @unix-seconds"},
    {"priority", "0-255", "PRIORITY", CLIENT_AS_IT_IS, "0 is the most urgent (128)"},
    {"lease", "DURATION", "LEASE", CLIENT_AS_IT_IS, "how long a claim lasts"},
    {"retries", "N", "RETRIES", CLIENT_AS_IT_IS, "dead after N + 1 failures"},
    {"crashes", "N", "CRASHES", CLIENT_AS_IT_IS, "dead after N + 1 leases that ran out"},
    {"backoff", "WORDS", "BACKOFF", CLIENT_WORDS, "'5s 1h', 'FIXED 10s', 'STEPS 2m 10m 1h'"},
    {"ttl", "DURATION", "TTL", CLIENT_AS_IT_IS, "dead when nobody claims it that long"},
    {"ondup", "WHAT", "ONDUP", CLIENT_AS_IT_IS,
     "the id is there: reject, ignore, replace, debounce or throttle"},
    {"window", "DURATION", "WINDOW", CLIENT_AS_IT_IS, "the id stays taken that long"},
    {"ignore-dead", NULL, "IGNOREDEAD", CLIENT_FLAG, "a dead job with this id goes first"},
    {"group", "GROUP", "GROUP", CLIENT_AS_IT_IS, "the group that the job belongs to"},
    {"weight", "1-1000", "WEIGHT", CLIENT_AS_IT_IS, "its share of its group's turn"},
    {"on-dead", "fail|run|wait", "ON-DEAD", CLIENT_AS_IT_IS,
     "when one of --after dies or is removed (fail)"},
    {"after", "ID|TOPIC:ID", "AFTER", CLIENT_EACH,
     "wait until that job is done; once for each of several"},
    OPTION_END};

static const struct client_option claim_options[] = {
    {"count", "N", "COUNT", CLIENT_AS_IT_IS, "at most so many jobs (1)"},
    {"lease", "DURATION", "LEASE", CLIENT_AS_IT_IS, "how long the claim lasts"},
    {"block", "DURATION", "BLOCK", CLIENT_AS_IT_IS, "wait that long for a job; 0: for ever"},
    {"worker", "NAME", "WORKER", CLIENT_AS_IT_IS, "who claims"},
    OPTION_END};

static const struct client_option ack_options[] = {
    {"result", "TEXT", "RESULT", CLIENT_AS_IT_IS, "kept with the done job"},
    {"keep", "DURATION", "KEEP", CLIENT_AS_IT_IS, "the done job is kept that long"},
    OPTION_END};

static const struct client_option nack_options[] = {
    {"delay", "DURATION", "DELAY", CLIENT_AS_IT_IS, "due again then (the job's backoff)"},
    {"error", "TEXT", "ERROR", CLIENT_AS_IT_IS, "what went wrong"},
    {"progress", "TEXT", "PROGRESS", CLIENT_AS_IT_IS, "how far the work came"},
    {"silent", NULL, "SILENT", CLIENT_FLAG, "does not count as a failure"},
    {"fatal", NULL, "FATAL", CLIENT_FLAG, "dead at once"},
    OPTION_END};

static const struct client_option extend_options[] = {
    {"progress", "TEXT", "PROGRESS", CLIENT_AS_IT_IS, "how far the work has come"}, OPTION_END};

static const struct client_option get_options[] = {
    {"raw", NULL, NULL, CLIENT_OWN_FLAG, "only the body, byte for byte"}, OPTION_END};

static const struct client_option ls_options[] = {
    {"names", NULL, NULL, CLIENT_OWN_FLAG, "only the names"}, OPTION_END};

static const struct client_option peek_options[] = {
    {"state", STATES, "STATE", CLIENT_AS_IT_IS, "only these (ready, then delayed)"},
    {"count", "N", "COUNT", CLIENT_AS_IT_IS, "at most so many (10)"},
    {"body", NULL, "WITHBODY", CLIENT_FLAG, "with their bodies"},
    OPTION_END};

static const struct client_option scan_options[] = {
    {"state", STATES, "STATE", CLIENT_AS_IT_IS, "only these"},
    {"match", "GLOB", "MATCH", CLIENT_AS_IT_IS, "only those whose id matches"},
    {"group", "GROUP", "GROUP", CLIENT_AS_IT_IS, "only those of the group"},
    {"from", "TIME", "FROM", CLIENT_MOMENT, "only those that are due then or later"},
    {"to", "TIME", "TO", CLIENT_MOMENT, "only those that are due then or earlier"},
    {"body", NULL, "WITHBODY", CLIENT_FLAG, "with their bodies"},
    {"limit", "N", NULL, CLIENT_OWN, "stop after so many jobs"},
    OPTION_END};

static const struct client_option dead_options[] = {
    {"match", "GLOB", "MATCH", CLIENT_AS_IT_IS, "only those whose id matches"},
    {"error", "GLOB", "ERROR", CLIENT_AS_IT_IS, "only those whose last error matches"},
    {"older", "DURATION", "OLDER", CLIENT_AS_IT_IS, "only those dead for so long"},
    {"limit", "N", "LIMIT", CLIENT_AS_IT_IS, "at most so many (100)"},
    OPTION_END};

static const struct client_option redrive_options[] = {
    {"match", "GLOB", "MATCH", CLIENT_AS_IT_IS, "only those whose id matches"},
    {"error", "GLOB", "ERROR", CLIENT_AS_IT_IS, "only those whose last error matches"},
    {"older", "DURATION", "OLDER", CLIENT_AS_IT_IS, "only those dead for so long"},
    {"limit", "N", "LIMIT", CLIENT_AS_IT_IS, "at most so many (all)"},
    {"to", "TOPIC", "TO", CLIENT_AS_IT_IS, "into another topic"},
    {"rate", "'N DURATION'", "RATE", CLIENT_WORDS, "so many fall due in each duration"},
    {"dry-run", NULL, "DRYRUN", CLIENT_FLAG, "only say how many it would be"},
    OPTION_END};

static const struct client_option pause_options[] = {
    {"in", NULL, "IN", CLIENT_FLAG, "only pushes are refused"},
    {"out", NULL, "OUT", CLIENT_FLAG, "only claims find nothing"},
    {"for", "DURATION", "FOR", CLIENT_AS_IT_IS, "it ends then (with dueq resume)"},
    OPTION_END};

static const struct client_option purge_options[] = {
    {"state", "delayed|ready|dead|done|waiting", "STATE", CLIENT_AS_IT_IS,
     "only these (all of them)"},
    {"match", "GLOB", "MATCH", CLIENT_AS_IT_IS, "only those whose id matches"},
    OPTION_END};

static const struct client_option work_options[] = {
    {"n", "N", NULL, CLIENT_OWN, "so many commands at a time (1)"},
    {"time-limit", "DURATION", NULL, CLIENT_OWN,
     "a command that takes longer is killed (none)"},
    {"grace", "DURATION", NULL, CLIENT_OWN, "from TERM to KILL (10s)"},
    {"later", "DURATION", NULL, CLIENT_OWN,
     "a job whose command exits with 75 is due then (10s)"},
    {"lease", "DURATION", NULL, CLIENT_OWN,
     "of a claim; it is extended while a command runs (60s)"},
    {"worker", "NAME", NULL, CLIENT_OWN, "who claims (host and process)"},
    {"drain", NULL, NULL, CLIENT_OWN_FLAG, "end when no job is due"},
    {"verbose", NULL, NULL, CLIENT_OWN_FLAG, "a line for each job that is done, too"},
    OPTION_END};

static const struct client_option forward_options[] = {
    {"prefix", "TEXT", NULL, CLIENT_OWN,
     "stands before the ids at the target, so that no other source has the same"},
    {"batch", "N", NULL, CLIENT_OWN, "at most so many jobs are claimed at a time (100)"},
    {"rate", "N/DURATION", NULL, CLIENT_OWN, "no more than that: 100/1s (no limit)"},
    {"once", NULL, NULL, CLIENT_OWN_FLAG, "end when no job is due, or the target is away"},
    {"refused", "fail|dead", NULL, CLIENT_OWN,
     "what a job is that the target never takes: a failure, or dead (fail)"},
    {"count-later", NULL, NULL, CLIENT_OWN_FLAG,
     "what the target does not take now is a failure, too"},
    {"timeout", "DURATION", NULL, CLIENT_OWN, "how long the target may be silent (30s)"},
    {"later-most", "DURATION", NULL, CLIENT_OWN, "the longest wait of one job (5m)"},
    {"away-most", "DURATION", NULL, CLIENT_OWN,
     "the longest wait while the target is away (1m)"},
    {"grace", "DURATION", NULL, CLIENT_OWN, "for what is begun, after SIGTERM (10s)"},
    {"lease", "DURATION", NULL, CLIENT_OWN, "of a claim; it is extended while needed (60s)"},
    {"worker", "NAME", NULL, CLIENT_OWN, "who claims (host and process)"},
    {"parallel", "N", NULL, CLIENT_OWN, "so many HTTP requests at a time (8)"},
    {"content-type", "TYPE", NULL, CLIENT_OWN,
     "of the bodies, for HTTP (application/octet-stream)"},
    {"header-file", "FILE", NULL, CLIENT_OWN, "more headers for HTTP, one a line"},
    {"secret-file", "FILE", NULL, CLIENT_OWN, "signs HTTP requests: Dueq-Signature"},
    {"target-password-file", "FILE", NULL, CLIENT_OWN,
     "the target's password is its first line (DUEQ_OTHER_PASSWORD)"},
    {"target-cacert", "FILE", NULL, CLIENT_OWN,
     "who signs the target's certificate (those the system trusts)"},
    {"target-cert", "FILE", NULL, CLIENT_OWN, "a certificate for the target"},
    {"target-key", "FILE", NULL, CLIENT_OWN, "its key"},
    {"target-insecure", NULL, NULL, CLIENT_OWN_FLAG, "whatever certificate the target has"},
    {"verbose", NULL, NULL, CLIENT_OWN_FLAG, "a line for each job"},
    OPTION_END};

static const struct client_option cli_options[] = {
    {"r", "N", NULL, CLIENT_OWN, "each command N times; -1: for ever"},
    {"i", "SECONDS", NULL, CLIENT_OWN, "with -r: so long between two"},
    {"x", NULL, NULL, CLIENT_OWN_FLAG, "the last argument is what standard input has"},
    {"3", NULL, NULL, CLIENT_OWN_FLAG, "RESP3: maps, sets, numbers and messages"},
    {"raw", NULL, NULL, CLIENT_OWN_FLAG, "replies as bytes (so it is without a terminal)"},
    {"no-raw", NULL, NULL, CLIENT_OWN_FLAG, "replies with their types (so it is on one)"},
    OPTION_END};

static const struct client_option top_options[] = {
    {"interval", "DURATION", NULL, CLIENT_OWN,
     "between two looks (2s); with --once: looks twice, for rates"},
    {"once", NULL, NULL, CLIENT_OWN_FLAG, "print the topics and end"},
    OPTION_END};

static const struct client_option reschedule_options[] = {
    {"delay", "DURATION", "DELAY", CLIENT_AS_IT_IS, "that long from now"},
    {"at", "TIME", "AT", CLIENT_MOMENT, "then"},
    OPTION_END};

static const struct client_option config_options_of_topic[] = {
    {"reset", NULL, NULL, CLIENT_OWN_FLAG, "forget the settings that are named, or all"},
    OPTION_END};

static const char push_more[] = "BODY is the body itself; - reads it from standard input, and "
                                "--file FILE from a file.\n";
static const char cli_more[] =
    "One command in the arguments, one a line on standard input, or, on a terminal, typed: "
    "with\n"
    "history, completion and hints. Options stand before the command; -h, -p and -s are "
    "--host,\n"
    "--port and --unix, as of redis-cli. man dueq-cli tells more.\n";
static const char token_more[] = "TOKEN is the number that the claim gave.\n";
static const char config_more[] =
    "Without a topic: the topics and patterns that have settings. With a topic: what holds "
    "for\n"
    "it, and where each comes from. NAME=VALUE sets: lease, retries, crashes, backoff, ttl,\n"
    "max-length, concurrency and others; docs/commands.md has all under Q.CONFIG. A topic\n"
    "that contains *, ? or [ is a pattern.\n";

static const char work_more[] =
    "The body is COMMAND's standard input; DUEQ_ID, DUEQ_TOPIC, DUEQ_ATTEMPT, DUEQ_TOKEN and\n"
    "DUEQ_WORKER are in its environment, and no password of dueq. No shell is between; for "
    "one: -- sh -c '...'.\n"
    "Its exit status: 0 the job is done; 75 not now, which counts as no failure; 100 the job "
    "is\n"
    "dead; any other one is a failure, and the end of standard error is kept with the job.\n"
    "SIGTERM: what runs is finished, then dueq work ends; a second one gives it back.\n";

static const char forward_more[] =
    "URL is dueq://HOST[:PORT]/TOPIC, redis://HOST[:PORT][/DB]?list=KEY or ?stream=KEY,\n"
    "http://HOST[:PORT]/PATH, mqtt://HOST[:PORT]/TOPIC; with TLS dueqs://, rediss://,\n"
    "https://, mqtts://. A job is acked when the "
    "target has confirmed it: at least once. "
    "While\n"
    "the target is away nothing is claimed. SIGTERM: what was begun is finished. With --once "
    "the\n"
    "exit status is also 3: jobs were refused or put off; 5: the target cannot be reached.\n"
    "More: man dueq-forward\n";

const struct client_command client_table[] = {
    {.name = "push",
     .arguments = "TOPIC BODY|-|--file FILE",
     .what = "add a job; its id is printed",
     .least = 1,
     .most = 2,
     .sends = "Q.PUSH",
     .options = push_options,
     .run = client_push,
     .show = client_show_id,
     .more = push_more},
    {.name = "claim",
     .arguments = "TOPIC",
     .what = "take jobs that are due",
     .least = 1,
     .most = 1,
     .sends = "Q.CLAIM",
     .options = claim_options,
     .show = client_show_claimed,
     .more = "A claimed job is to be acked (dueq ack) before its lease ends. dueq work does "
             "all of\n"
             "that for a command.\n"},
    {.name = "ack",
     .arguments = "TOPIC ID TOKEN",
     .what = "a claimed job is done",
     .least = 3,
     .most = 3,
     .sends = "Q.ACK",
     .says = "acked",
     .options = ack_options,
     .show = client_show_count,
     .more = token_more},
    {.name = "nack",
     .arguments = "TOPIC ID TOKEN",
     .what = "give a claimed job back",
     .least = 3,
     .most = 3,
     .sends = "Q.NACK",
     .options = nack_options,
     .show = client_show_state,
     .more = token_more},
    {.name = "extend",
     .arguments = "TOPIC ID TOKEN DURATION",
     .what = "the lease ends that long from now",
     .least = 4,
     .most = 4,
     .sends = "Q.EXTEND",
     .says = "leased until",
     .options = extend_options,
     .show = client_show_until,
     .more = token_more},
    {.name = "get",
     .arguments = "TOPIC ID",
     .what = "everything about a job",
     .least = 2,
     .most = 2,
     .sends = "Q.GET",
     .options = get_options,
     .show = client_show_job},
    {.name = "explain",
     .arguments = "TOPIC ID",
     .what = "why does the job not run now?",
     .least = 2,
     .most = 2,
     .sends = "Q.EXPLAIN",
     .show = client_show_map},
    {.name = "ls",
     .arguments = "[GLOB]",
     .what = "the topics, with their counts of jobs",
     .least = 0,
     .most = 1,
     .options = ls_options,
     .run = client_list_topics},
    {.name = "stats",
     .arguments = "TOPIC",
     .what = "a topic in figures",
     .least = 1,
     .most = 1,
     .sends = "Q.STATS",
     .show = client_show_map},
    {.name = "peek",
     .arguments = "TOPIC",
     .what = "the next jobs of a topic",
     .least = 1,
     .most = 1,
     .sends = "Q.PEEK",
     .options = peek_options,
     .show = client_show_jobs},
    {.name = "scan",
     .arguments = "TOPIC",
     .what = "all jobs of a topic, or some of them",
     .least = 1,
     .most = 1,
     .sends = "Q.SCAN",
     .options = scan_options,
     .run = client_scan},
    {.name = "run",
     .arguments = "TOPIC ID ...",
     .what = "delayed jobs are due now",
     .least = 2,
     .most = -1,
     .sends = "Q.RUN",
     .says = "due now",
     .show = client_show_count},
    {.name = "reschedule",
     .arguments = "TOPIC ID",
     .what = "a waiting job is due at another time",
     .least = 2,
     .most = 2,
     .sends = "Q.RESCHEDULE",
     .says = "due",
     .options = reschedule_options,
     .show = client_show_until},
    {.name = "move",
     .arguments = "TOPIC ID OTHER",
     .what = "a waiting job goes to another topic",
     .least = 3,
     .most = 3,
     .sends = "Q.MOVE",
     .says = "moved",
     .show = client_show_count},
    {.name = "cancel",
     .arguments = "TOPIC ID",
     .what = "remove a job, or tell its worker to stop",
     .least = 2,
     .most = 2,
     .sends = "Q.CANCEL",
     .show = client_show_state},
    {.name = "del",
     .arguments = "TOPIC ID ...",
     .what = "remove jobs in any state",
     .least = 2,
     .most = -1,
     .sends = "Q.DEL",
     .says = "removed",
     .show = client_show_count},
    {.name = "dead",
     .arguments = "TOPIC",
     .what = "the dead jobs, with their errors",
     .least = 1,
     .most = 1,
     .sends = "Q.DEAD",
     .action = "LIST",
     .options = dead_options,
     .show = client_show_dead},
    {.name = "redrive",
     .arguments = "TOPIC",
     .what = "dead jobs begin anew",
     .least = 1,
     .most = 1,
     .sends = "Q.DEAD",
     .action = "REDRIVE",
     .options = redrive_options,
     .show = client_show_redriven},
    {.name = "pause",
     .arguments = "TOPIC",
     .what = "a topic takes and gives no jobs",
     .least = 1,
     .most = 1,
     .sends = "Q.PAUSE",
     .says = "paused",
     .options = pause_options,
     .show = client_show_done},
    {.name = "resume",
     .arguments = "TOPIC",
     .what = "ends the pause",
     .least = 1,
     .most = 1,
     .sends = "Q.RESUME",
     .says = "resumed",
     .show = client_show_done},
    {.name = "purge",
     .arguments = "TOPIC",
     .what = "remove all jobs that nobody has claimed",
     .least = 1,
     .most = 1,
     .sends = "Q.PURGE",
     .says = "removed",
     .options = purge_options,
     .show = client_show_count},
    {.name = "drop",
     .arguments = "TOPIC",
     .what = "remove a topic with all its jobs and settings",
     .least = 1,
     .most = 1,
     .sends = "Q.DROP",
     .says = "dropped",
     .show = client_show_count},
    {.name = "config",
     .arguments = "[TOPIC [NAME=VALUE ...]]",
     .what = "the settings of topics",
     .least = 0,
     .most = -1,
     .options = config_options_of_topic,
     .run = client_config,
     .more = config_more},
    {.name = "work",
     .arguments = "TOPIC [OPTIONS] -- COMMAND ...",
     .what = "run a command for each job",
     .least = 1,
     .most = 1,
     .takes_program = true,
     .options = work_options,
     .run = client_work,
     .more = work_more},
    {.name = "forward",
     .arguments = "TOPIC TO URL",
     .what = "bring each job to another server",
     .least = 2,
     .most = 3,
     .options = forward_options,
     .run = client_forward,
     .more = forward_more},
    {.name = "cli",
     .arguments = "[OPTIONS] [COMMAND ...]",
     .what = "the server's commands as they are, typed or read",
     .least = 0,
     .most = -1,
     .takes_command = true,
     .options = cli_options,
     .run = client_cli,
     .more = cli_more},
    {.name = "top",
     .arguments = "[--once]",
     .what = "the topics on the whole terminal, live",
     .least = 0,
     .most = 0,
     .options = top_options,
     .run = client_top,
     .more = "The key h shows all keys. With --json, which means --once, each topic is an "
             "object.\n"},
    {.name = "workers",
     .arguments = "[TOPIC]",
     .what = "who has claimed what",
     .least = 0,
     .most = 1,
     .sends = "Q.WORKERS",
     .show = client_show_workers},
};

const size_t client_table_size = sizeof(client_table) / sizeof(client_table[0]);

const struct client_command *client_find(const char *name)
{
    for (size_t i = 0; i < client_table_size; i++)
        if (strcmp(client_table[i].name, name) == 0)
            return &client_table[i];
    return NULL;
}
