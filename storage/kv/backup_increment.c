#include "storage/kv/backup_increment.h"

#include "storage/kv/archive_file.h"
#include "storage/kv/segment_list.h"

static bool goes_on(void *arg)
{
    struct increment *increment = arg;

    return increment->goes_on(increment->arg, increment->bytes);
}

static enum dueq_status copy(struct increment *increment, const char *path)
{
    struct archive_copy copy = {.io = increment->io,
                                .dir = increment->dir,
                                .seed = increment->seed,
                                .disk_reserve = increment->disk_reserve,
                                .goes_on = goes_on,
                                .arg = increment};
    enum dueq_status status = archive_copy(&copy, path, 0);

    increment->bytes += status == DUEQ_OK ? copy.bytes : 0;
    increment->last_lsn = copy.last_lsn;
    return status == DUEQ_NOTFOUND || status == DUEQ_DUPLICATE ? DUEQ_CORRUPT : status;
}

static enum dueq_status copy_all(struct increment *increment, const struct segment_list *list,
                                 uint64_t after, uint64_t to)
{
    enum dueq_status status = DUEQ_OK;

    increment->last_lsn = after;
    while (status == DUEQ_OK && increment->last_lsn < to) {
        uint64_t before = increment->last_lsn;
        const struct listed_segment *segment = segment_list_find(list, before + 1, NULL);

        status = segment == NULL ? DUEQ_CORRUPT : copy(increment, segment->path);
        if (status == DUEQ_OK && increment->last_lsn <= before)
            status = DUEQ_CORRUPT; /* a gap */
    }
    return status;
}

enum dueq_status increment_write(struct increment *increment, uint64_t after, uint64_t to)
{
    struct segment_list list = {.count = 0};
    enum dueq_status status =
        segment_list_add(&list, increment->io, increment->archive, increment->seed, NULL);

    increment->bytes = 0;
    if (status == DUEQ_OK)
        status = segment_list_plan(&list, increment->history, after, increment->history, NULL);
    if (status == DUEQ_OK)
        status = copy_all(increment, &list, after, to);
    segment_list_release(&list);
    return status == DUEQ_NOTFOUND ? DUEQ_IO : status;
}
