#include "storage/kv/kv_begin.h"

#include "storage/io.h"
#include "storage/kv/kv_options.h"
#include "storage/kv/mark.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum dueq_status kv_begin(const char *dir, const struct dueq_options *options, uint64_t epoch,
                          struct dueq_error *error)
{
    const struct dueq_io *io = options->io != NULL ? options->io : &io_system;
    struct checkpoint_mark mark = {.runs = {.next = 1}};
    uint64_t random;

    if (kv_options_seed(options, &mark.seed) != DUEQ_OK ||
        kv_options_random(&random) != DUEQ_OK)
        return dueq_fail(error, DUEQ_IO, "the system gives no random numbers");
    if (epoch > KV_EPOCH_MOST)
        epoch = KV_EPOCH_MOST;
    mark.history = (struct history){.id = history_id(epoch, random), .first_lsn = 1};
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return dueq_fail(error, DUEQ_IO, "cannot create %s: %s", dir, strerror(errno));
    return mark_create(dir, io, &mark, error);
}
