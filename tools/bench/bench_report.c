#include "tools/bench/bench_report.h"

#include <inttypes.h>
#include <string.h>

enum { BAR = 50, WORDS = 64 };

/* ---- while it runs */

static struct {
    const struct load *load;
    bool people, json;
    uint64_t jobs;
} progress;

void bench_report_begin(const struct load *load, bool people, bool json)
{
    progress.load = load;
    progress.people = people;
    progress.json = json;
    progress.jobs = 0;
}

static void show_progress(const struct load_part *part, double rate)
{
    const struct online_options *where = &progress.load->where;
    uint64_t all = progress.load->jobs;
    bool is_unix = where->unix_path != NULL;

    fprintf(stderr, "\r%s %s%s%s: %" PRIu64 " of %" PRIu64 " jobs, %.0f a second",
            progress.load->driver->name, is_unix ? where->unix_path : where->host,
            is_unix ? "" : ":", is_unix ? "" : where->port, progress.jobs, all, rate);
    if (progress.jobs > 0 && progress.jobs < all)
        fprintf(stderr, ", %.0f s left",
                (double)(all - progress.jobs) * part->at / (double)progress.jobs);
    fputs("\033[K", stderr);
}

void bench_report_part(const struct load_part *part)
{
    double rate = part->seconds > 0 ? (double)part->jobs / part->seconds : 0;

    progress.jobs += part->jobs;
    if (progress.people) {
        show_progress(part, rate);
        return;
    }
    printf(progress.json ? "{\"at\":%.1f,\"jobs\":%" PRIu64 ",\"rate\":%.0f,\"max\":%" PRIu64
                           "}\n"
                         : "at=%.1f jobs=%" PRIu64 " rate=%.0f max=%" PRIu64 "\n",
           part->at, part->jobs, rate, part->latency_max);
    fflush(stdout);
}

void bench_report_end(void)
{
    if (progress.people)
        fputs("\r\033[K", stderr);
}

/* ---- at the end */

static unsigned power_of(uint64_t usec)
{
    unsigned power = 0;

    for (; usec > 1; usec >>= 1)
        power++;
    return power;
}

static void print_row(FILE *to, unsigned power, uint64_t count, uint64_t most, uint64_t all)
{
    int bar = (int)((double)count / (double)most * BAR + 0.5);
    char stars[BAR + 1];

    memset(stars, '#', sizeof(stars));
    fprintf(to, "%10" PRIu64 " to %10" PRIu64 " us  %10" PRIu64 "  %5.1f %%  %.*s\n",
            power == 0 ? 0 : (uint64_t)1 << power, ((uint64_t)2 << power) - 1, count,
            100.0 * (double)count / (double)all, count > 0 && bar == 0 ? 1 : bar, stars);
}

void bench_report_histogram(FILE *to, const struct load_result *result)
{
    uint64_t counts[WORDS] = {0}, most = 1;
    unsigned first = WORDS, last = 0;

    for (unsigned i = 0; i < LOAD_BUCKETS; i++) {
        unsigned power = power_of(load_bucket_value(i));

        if (result->latency[i] == 0)
            continue;
        counts[power] += result->latency[i];
        most = counts[power] > most ? counts[power] : most;
        first = power < first ? power : first;
        last = power;
    }
    for (unsigned power = first; power <= last; power++)
        print_row(to, power, counts[power], most, result->requests);
}

static double part_of(double one, double other)
{
    return other > 0 ? one / other : 0;
}

void bench_report_ratio(FILE *to, const char *name, const struct load_result *result,
                        const char *base_name, const struct load_result *base, bool json)
{
    fprintf(to,
            json ? "{\"ratio\":\"%s\",\"of\":\"%s\",\"rate\":%.2f,\"p50\":%.2f,\"p99\":%.2f,"
                   "\"max\":%.2f}\n"
                 : "ratio=%s of=%s rate=%.2f p50=%.2f p99=%.2f max=%.2f\n",
            name, base_name,
            part_of((double)result->jobs / result->seconds, (double)base->jobs / base->seconds),
            part_of((double)load_percentile(result, 0.5), (double)load_percentile(base, 0.5)),
            part_of((double)load_percentile(result, 0.99), (double)load_percentile(base, 0.99)),
            part_of((double)result->latency_max, (double)base->latency_max));
}
