/* The options of `dueq bench`, and what it prints. */
#include "protocol/number.h"
#include "server/subcommands.h"
#include "tools/bench/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    "  --user NAME                      its password is in DUEQ_PASSWORD or REDISCLI_AUTH\n"
    "  --connections N                  clients (50)\n"
    "  --pipeline N                     pushes in flight on each connection (1)\n"
    "  --batch N                        jobs that one request pushes (1)\n"
    "  --count N                        jobs of one claim (1)\n"
    "  --jobs N                         jobs in all (100000)\n"
    "  --body BYTES                     size of a body (200)\n"
    "  --delay DURATION                 random delays up to this (none)\n"
    "  --topic NAME                     topic (bench)\n"
    "  --ids random|none                none: the server gives them (random)\n"
    "  --seed N                         of ids and delays (1)\n"
    "  --every N                        a line every N seconds: rate, longest request (0: "
    "none)\n"
    "  --histogram yes|no               how many requests took so long, after each run (no)\n"
    "  --json                           the lines as JSON objects\n"
    "\n"
    "Prints one line at the end: name=value pairs; rate is jobs a second, p50, p99 and max are "
    "the\n"
    "latencies of requests in microseconds. With several targets: a line for each, and what "
    "the\n"
    "others' figures are of the first one's. A terminal shows how far it is. The rate of a "
    "whole run hides one that falls: a\n"
    "store is slower when its memory is full, which takes seconds, and when its checkpoints "
    "are\n"
    "late, which takes minutes. Give it --jobs for some minutes and --every 1 to see that; "
    "the\n"
    "rate and the longest request of each line are those since the line before.\n"
    "\n"
    "Exit status: 0 the run is done; 1 it failed; 2 wrong options.\n";

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

enum { TARGETS_MOST = 8, TARGET_NAME = 32 };

struct target {
    const struct bench_driver *driver;
    int port; /* 0: not said */
    char name[TARGET_NAME];
};

struct bench {
    struct load load;
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
    uint64_t port = 0;

    if (size >= sizeof(target->name))
        return false;
    snprintf(target->name, sizeof(target->name), "%.*s", (int)size, text);
    target->driver = find_driver(text, colon == NULL ? size : (size_t)(colon - text));
    if (colon != NULL && !parse_number(target->name + (colon + 1 - text), 1, 65535, &port))
        return false;
    target->port = (int)port;
    return target->driver != NULL;
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

static const char **text_of(struct load *load, const char *name)
{
    const struct {
        const char *name, **text;
    } texts[] = {{"--host", &load->where.host},
                 {"--unix", &load->where.unix_path},
                 {"--user", &load->where.user},
                 {"--topic", &load->topic}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(name, texts[i].name) == 0)
            return texts[i].text;
    return NULL;
}

static bool parse_option(struct bench *bench, const char *name, const char *value)
{
    struct load *load = &bench->load;
    const char **text = text_of(load, name);
    uint64_t number;

    if (text != NULL) {
        *text = value;
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
    if (strcmp(name, "--port") == 0 && parse_number(value, 1, 65535, &number)) {
        load->where.port = (int)number;
        return true;
    }
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

/* Its driver and port. False: it has no request for the work. */
static bool choose_target(struct load *load, struct target *target, int port)
{
    if (target->port == 0)
        target->port = port != 0 ? port : target->driver->port;
    load->driver = target->driver;
    load->where.port = target->port;
    return target_can(load);
}

static bool choose_targets(struct bench *bench)
{
    int port = bench->load.where.port;

    if (port != 0 && bench->count > 1) {
        fputs(
            "dueq bench: several targets have their own ports: --target dueq:6379,redis:6380\n",
            stderr);
        return false;
    }
    for (unsigned i = 0; i < bench->count; i++)
        if (!choose_target(&bench->load, &bench->targets[i], port))
            return false;
    return true;
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

static bool run_target(const struct bench *bench, unsigned at, const char *work,
                       struct load_result *ret_result)
{
    struct load load = bench->load;
    bool people = load.every == 0 && isatty(STDERR_FILENO), done;

    load.driver = bench->targets[at].driver;
    load.where.port = bench->targets[at].port;
    load.every = people ? 1 : load.every;
    if (load.driver == &bench_beanstalkd)
        load.where.password = NULL; /* it knows no logins */
    bench_report_begin(&load, people, bench->json);
    done = load_run(&load, ret_result);
    bench_report_end();
    if (!done) {
        if (load.where.unix_path != NULL)
            fprintf(stderr, "dueq bench: %s: %s\n", load.where.unix_path, ret_result->error);
        else
            fprintf(stderr, "dueq bench: %s:%d: %s\n", load.where.host, load.where.port,
                    ret_result->error);
        return false;
    }
    print_result(&load, work, ret_result, bench->json);
    if (bench->histogram && !bench->json)
        bench_report_histogram(stdout, ret_result);
    fflush(stdout);
    return true;
}

int bench_main(int argc, char **argv)
{
    static struct load_result results[TARGETS_MOST];
    struct bench bench = {.load = {.where = {.host = "127.0.0.1"},
                                   .topic = "bench",
                                   .connections = 50,
                                   .pipeline = 1,
                                   .batch = 1,
                                   .count = 1,
                                   .jobs = 100000,
                                   .body_size = 200,
                                   .seed = 1,
                                   .progress = bench_report_part},
                          .targets = {{&bench_dueq, 0, "dueq"}},
                          .count = 1};

    if (argc == 2 && strcmp(argv[1], "help") == 0) {
        fputs(bench_usage, stdout);
        return 0;
    }
    bench.load.where.password =
        getenv("DUEQ_PASSWORD") != NULL ? getenv("DUEQ_PASSWORD") : getenv("REDISCLI_AUTH");
    if (!parse_arguments(&bench, argc, argv)) {
        fputs(bench_usage, stderr);
        return 2;
    }
    for (unsigned i = 0; i < bench.count; i++)
        if (!run_target(&bench, i, argv[1], &results[i]))
            return 1;
    for (unsigned i = 1; i < bench.count; i++)
        bench_report_ratio(stdout, bench.targets[i].name, &results[i], bench.targets[0].name,
                           &results[0], bench.json);
    return 0;
}
