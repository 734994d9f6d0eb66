/* The options of `dueq bench`, and what it prints. */
#include "protocol/number.h"
#include "server/subcommands.h"
#include "tools/bench/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

const char bench_usage[] =
    "Usage: dueq bench push|claim|work [options]\n"
    "\n"
    "  push   pushes jobs with random ids\n"
    "  claim  claims and acks what is due, until --jobs are done or nothing is left\n"
    "  work   the same, one request at a time: each acks the jobs of the one before\n"
    "\n"
    "  --target dueq|redis|beanstalkd   what is spoken to (dueq); redis: zset, hash and Lua\n"
    "                                   several, one after the other: dueq,redis:6380\n"
    "  --host NAME --port N             where (127.0.0.1, the target's own port)\n"
    "  --unix PATH                      a unix socket\n"
    "  --user NAME                      its password is in DUEQ_PASSWORD or REDISCLI_AUTH, or\n"
    "                                   the first line of --password-file FILE\n"
    "  --tls                            with --cacert FILE, --cert FILE, --key FILE, and\n"
    "                                   --insecure: whatever certificate the server has\n"
    "  --connections N                  clients (50)\n"
    "  --pipeline N                     pushes in flight on each connection (1)\n"
    "  --batch N                        jobs that one request pushes (1)\n"
    "  --count N                        jobs of one claim (1)\n"
    "  --jobs N                         jobs in all (100000)\n"
    "  --body BYTES                     size of a body (200)\n"
    "  --delay DURATION                 random delays up to this (none)\n"
    "  --topic NAME                     topic (bench)\n"
    "  --ids random|none                none: the server gives them (random)\n"
    "  --seed N                         of ids and delays (random); with the same one a\n"
    "                                   second run pushes ids that are there\n"
    "  --every N                        a line every N seconds: rate, longest request (0: "
    "none)\n"
    "  --histogram yes|no               how many requests took so long, after each run (no)\n"
    "  --json                           the lines as JSON objects\n"
    "\n"
    "Prints one line at the end: name=value pairs; rate is jobs a second, p50, p99 and max are "
    "the\n"
    "latencies of requests in microseconds. With several targets: a line for each, and what "
    "the\n"
    "others' figures are of the first one's. A terminal shows how far it is.\n"
    "DUEQ_HOST, DUEQ_PORT, DUEQ_UNIX and DUEQ_USER say where a dueq is if the options do not.\n"
    "\n"
    "The rate of a whole run hides one that falls: a store is slower when its memory is full,\n"
    "which takes seconds, and when its checkpoints are late, which takes minutes. Give it "
    "--jobs\n"
    "for some minutes and --every 1 to see that; the rate and the longest request of each "
    "line\n"
    "are those since the line before.\n"
    "\n"
    "Exit status: 0 the run is done; 1 it failed, or the server refused it; 2 wrong options; 4 "
    "the\n"
    "server cannot be reached, or the connection was lost.\n";

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
    int64_t number;

    if (!number_parse_integer(text, strlen(text), &number) || number < 0 ||
        (uint64_t)number < least || (uint64_t)number > most)
        return false;
    *ret = (uint64_t)number;
    return true;
}

static bool parse_unsigned(const char *text, uint64_t most, unsigned *ret)
{
    uint64_t number;

    if (!parse_number(text, 1, most, &number))
        return false;
    *ret = (unsigned)number;
    return true;
}

enum { TARGETS_MOST = 8, TARGET_NAME = 32, PATIENCE_MS = 30000 };

struct target {
    const struct bench_driver *driver;
    const char *port; /* in `name`; NULL: not said */
    char name[TARGET_NAME];
};

struct bench {
    struct load load;
    struct online_options said; /* on the command line */
    struct target targets[TARGETS_MOST];
    unsigned count;
    bool histogram, json;
};

static const struct bench_driver *find_driver(const char *name, size_t size)
{
    static const struct bench_driver *const drivers[] = {&bench_dueq, &bench_redis,
                                                         &bench_beanstalkd};

    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strlen(drivers[i]->name) == size && strncmp(drivers[i]->name, name, size) == 0)
            return drivers[i];
    return NULL;
}

/* "redis:6380" */
static bool parse_target(struct target *target, const char *text, size_t size)
{
    const char *colon = memchr(text, ':', size);
    uint64_t port;

    if (size >= sizeof(target->name))
        return false;
    snprintf(target->name, sizeof(target->name), "%.*s", (int)size, text);
    target->driver = find_driver(text, colon == NULL ? size : (size_t)(colon - text));
    target->port = colon == NULL ? NULL : target->name + (colon + 1 - text);
    return target->driver != NULL &&
           (target->port == NULL || parse_number(target->port, 1, 65535, &port));
}

static bool parse_targets(struct bench *bench, const char *text)
{
    bench->count = 0;
    for (;;) {
        size_t size = strcspn(text, ",");

        if (bench->count == TARGETS_MOST ||
            !parse_target(&bench->targets[bench->count++], text, size))
            return false;
        if (text[size] == '\0')
            return true;
        text += size + 1;
    }
}

static bool parse_option(struct bench *bench, const char *name, const char *value)
{
    struct load *load = &bench->load;
    uint64_t number;

    if (strcmp(name, "--port") == 0 && !parse_number(value, 1, 65535, &number))
        return false;
    if (strncmp(name, "--", 2) == 0 && online_take_text(&bench->said, name + 2, value))
        return true;
    if (strcmp(name, "--topic") == 0) {
        load->topic = value;
        return true;
    }
    if (strcmp(name, "--target") == 0)
        return parse_targets(bench, value);
    if (strcmp(name, "--histogram") == 0) {
        bench->histogram = strcmp(value, "yes") == 0;
        return bench->histogram || strcmp(value, "no") == 0;
    }
    if (strcmp(name, "--connections") == 0)
        return parse_unsigned(value, 20000, &load->connections);
    if (strcmp(name, "--pipeline") == 0)
        return parse_unsigned(value, 10000, &load->pipeline);
    if (strcmp(name, "--ids") == 0) {
        load->no_ids = strcmp(value, "none") == 0;
        return load->no_ids || strcmp(value, "random") == 0;
    }
    if (strcmp(name, "--batch") == 0)
        return parse_unsigned(value, 1000, &load->batch);
    if (strcmp(name, "--every") == 0 && parse_number(value, 0, 86400, &number)) {
        load->every = (unsigned)number;
        return true;
    }
    if (strcmp(name, "--count") == 0)
        return parse_unsigned(value, BENCH_COUNT_MAX, &load->count);
    if (strcmp(name, "--jobs") == 0)
        return parse_number(value, 1, INT64_MAX, &load->jobs);
    if (strcmp(name, "--seed") == 0)
        return parse_number(value, 0, INT64_MAX, &load->seed);
    if (strcmp(name, "--delay") == 0)
        return number_parse_duration(value, strlen(value), &load->delay_max);
    if (strcmp(name, "--body") == 0 && parse_number(value, 0, 512 << 20, &number)) {
        load->body_size = number;
        return true;
    }
    return false;
}

static bool parse_kind(struct load *load, const char *name)
{
    static const char *const names[] = {
        [LOAD_PUSH] = "push", [LOAD_CLAIM] = "claim", [LOAD_WORK] = "work"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0) {
            load->kind = (enum load_kind)i;
            return true;
        }
    return false;
}

/* Not every target has a request for it. */
static bool target_can(const struct load *load)
{
    const struct bench_driver *driver = load->driver;

    if ((load->kind != LOAD_WORK || driver->work != NULL) &&
        (load->batch == 1 || driver->push_many != NULL) &&
        (!load->no_ids || driver != &bench_redis))
        return true;
    fprintf(stderr, "dueq bench: %s has no request for that\n", driver->name);
    return false;
}

static bool choose_targets(struct bench *bench)
{
    if ((bench->said.port != NULL || bench->said.unix_said) && bench->count > 1) {
        fputs(
            "dueq bench: several targets have their own ports: --target dueq:6379,redis:6380\n",
            stderr);
        return false;
    }
    for (unsigned i = 0; i < bench->count; i++) {
        bench->load.driver = bench->targets[i].driver;
        if (!target_can(&bench->load))
            return false;
    }
    return true;
}

static const char *first_of(const char *one, const char *other)
{
    return one != NULL ? one : other;
}

/* Where a target is: as the command line says, or else, of a dueq, the environment. */
static struct online_options place_of(const struct bench *bench, const struct target *target)
{
    struct online_options where = bench->said, around = {.host = NULL};
    bool is_dueq = target->driver == &bench_dueq, logs_in = target->driver != &bench_beanstalkd;

    online_take_environment(&around);
    if (is_dueq && where.host == NULL && where.port == NULL && target->port == NULL)
        where.unix_path = first_of(where.unix_path, around.unix_path);
    where.host = first_of(where.host, is_dueq ? around.host : "127.0.0.1");
    where.port = first_of(where.port, target->port);
    where.port = first_of(where.port, is_dueq ? around.port : target->driver->port);
    where.user = logs_in ? first_of(where.user, is_dueq ? around.user : NULL) : NULL;
    where.password = logs_in ? around.password : NULL;
    where.password_file = logs_in ? where.password_file : NULL;
    where.patience_ms = PATIENCE_MS;
    return where;
}

static bool parse_arguments(struct bench *bench, int argc, char **argv)
{
    struct load *load = &bench->load;

    if (argc < 2 || !parse_kind(load, argv[1]))
        return false;
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--json") == 0) {
            bench->json = true;
            continue;
        }
        if (strncmp(argv[i], "--", 2) == 0 && online_take_flag(&bench->said, argv[i] + 2))
            continue;
        if (value == NULL || !parse_option(bench, argv[i], value)) {
            fprintf(stderr, "dueq bench: bad option: %s %s\n", argv[i],
                    value == NULL ? "(without a value)" : value);
            return false;
        }
        i++;
    }
    if (load->kind != LOAD_PUSH)
        load->pipeline = 1;
    return choose_targets(bench);
}

static void print_result(const struct load *load, const char *work,
                         const struct load_result *result, bool json)
{
    printf(json ? "{\"work\":\"%s\",\"target\":\"%s\",\"connections\":%u,\"pipeline\":%u,"
                  "\"batch\":%u,"
                  "\"count\":%u,\"body\":%zu,\"delay\":%" PRId64 ",\"jobs\":%" PRIu64
                  ",\"seconds\":%.3f,\"rate\":%.0f,\"p50\":%" PRIu64 ",\"p99\":%" PRIu64
                  ",\"max\":%" PRIu64 "}\n"
                : "work=%s target=%s connections=%u pipeline=%u batch=%u count=%u body=%zu "
                  "delay=%" PRId64 " jobs=%" PRIu64 " seconds=%.3f rate=%.0f p50=%" PRIu64
                  " p99=%" PRIu64 " max=%" PRIu64 "\n",
           work, load->driver->name, load->connections, load->pipeline, load->batch,
           load->count, load->body_size, load->delay_max, result->jobs, result->seconds,
           (double)result->jobs / result->seconds, load_percentile(result, 0.5),
           load_percentile(result, 0.99), result->latency_max);
}

enum { DONE = 0, FAILED = 1, MISUSED = 2, UNREACHABLE = 4 };

/* Returns the exit status. */
static int tell_failure(const struct load *load, const struct load_result *result)
{
    const struct online_options *where = &load->where;
    const char *advice = online_advice(result->why);

    if (where->unix_path != NULL)
        fprintf(stderr, "dueq bench: %s: ", where->unix_path);
    else
        fprintf(stderr, "dueq bench: %s:%s: ", where->host, where->port);
    fprintf(stderr, "%s: %s\n", result->failed, result->why);
    if (result->blame == ONLINE_UNREACHABLE && result->requests == 0)
        fputs(online_where_to_look(where), stderr);
    else if (advice != NULL)
        fprintf(stderr, "%s\n", advice);
    if (result->blame == ONLINE_MISUSED)
        return MISUSED;
    return result->blame == ONLINE_REFUSED ? FAILED : UNREACHABLE;
}

static int run_target(const struct bench *bench, unsigned at, const char *work,
                      struct load_result *ret_result)
{
    struct load load = bench->load;
    bool people = load.every == 0 && isatty(STDERR_FILENO), done;

    load.driver = bench->targets[at].driver;
    load.where = place_of(bench, &bench->targets[at]);
    load.every = people ? 1 : load.every;
    bench_report_begin(&load, people, bench->json);
    done = load_run(&load, ret_result);
    bench_report_end();
    if (!done)
        return tell_failure(&load, ret_result);
    print_result(&load, work, ret_result, bench->json);
    if (bench->histogram && !bench->json)
        bench_report_histogram(stdout, ret_result);
    fflush(stdout);
    return DONE;
}

/* Of its own for each run: the ids of another one may still be there. */
static uint64_t random_seed(void)
{
    uint64_t seed = 1;

    return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : (uint64_t)time(NULL);
}

int bench_main(int argc, char **argv)
{
    static struct load_result results[TARGETS_MOST];
    struct bench bench = {.load = {.topic = "bench",
                                   .connections = 50,
                                   .pipeline = 1,
                                   .batch = 1,
                                   .count = 1,
                                   .jobs = 100000,
                                   .body_size = 200,
                                   .progress = bench_report_part},
                          .targets = {{&bench_dueq, NULL, "dueq"}},
                          .count = 1};
    int status = DONE;

    if (argc == 2 && strcmp(argv[1], "help") == 0) {
        fputs(bench_usage, stdout);
        return DONE;
    }
    bench.load.seed = random_seed();
    if (!parse_arguments(&bench, argc, argv)) {
        fputs(bench_usage, stderr);
        return MISUSED;
    }
    for (unsigned i = 0; i < bench.count && status == DONE; i++)
        status = run_target(&bench, i, argv[1], &results[i]);
    if (status != DONE)
        return status;
    for (unsigned i = 1; i < bench.count; i++)
        bench_report_ratio(stdout, bench.targets[i].name, &results[i], bench.targets[0].name,
                           &results[0], bench.json);
    return DONE;
}
