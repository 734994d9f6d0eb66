#include "server/statistics/command_stats.h"

#include <assert.h>
#include <string.h>

static struct command_stats all[COMMANDS_MAX]; /* by command_number */

/* Few codes exist, and the common ones come first: a walk is as fast as a hash. */
static struct error_stats errors[ERROR_CODES_MAX];
static size_t error_count;

static struct error_stats *find_error(const char *code, size_t size)
{
    for (size_t i = 0; i < error_count; i++)
        if (strncmp(errors[i].code, code, size) == 0 && errors[i].code[size] == '\0')
            return &errors[i];
    if (error_count == ERROR_CODES_MAX)
        return NULL;
    memcpy(errors[error_count].code, code, size);
    return &errors[error_count++];
}

/* Redis keeps two digits of nanoseconds, in powers of two from 1024 on. */
uint64_t command_stats_bound(int bucket)
{
    assert(bucket >= 0 && bucket < HISTOGRAM_BUCKETS);
    return ((((uint64_t)1024 << bucket) / 128) * 129 - 1) / 1000;
}

void command_stats_time(struct command_stats *stats, uint64_t usec)
{
    int bucket = 0;

    while (bucket < HISTOGRAM_BUCKETS - 1 && usec > command_stats_bound(bucket))
        bucket++;
    stats->timed++;
    stats->histogram[bucket]++;
}

void error_stats_count(const char *reply, size_t size)
{
    struct error_stats *error;
    size_t end = 0;

    if (size > 0 && reply[0] == '-') {
        reply++;
        size--;
    }
    while (end < size && end < ERROR_CODE_SIZE - 1 && reply[end] > ' ')
        end++;
    error = find_error(reply, end);
    if (error != NULL)
        error->count++;
}

const struct error_stats *error_stats_all(size_t *ret_count)
{
    *ret_count = error_count;
    return errors;
}

struct command_stats *command_stats_of(const struct command *command)
{
    return &all[command_number(command)];
}

void command_stats_reset(void)
{
    memset(all, 0, sizeof(all));
    memset(errors, 0, sizeof(errors));
    error_count = 0;
}
