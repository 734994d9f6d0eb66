#include "tools/move/waiting_jobs.h"

#include "storage/xxh3.h"

#include <stdlib.h>

struct waiting_job {
    uint64_t name;
    long line; /* where it is in the file */
    size_t size;
    size_t after; /* where its names begin */
    enum { JOB_NEW, JOB_BEGUN, JOB_TOLD } state;
};

uint64_t waiting_name(struct dueq_slice topic, struct dueq_slice id)
{
    return XXH3_64bits_withSeed(id.data, id.size, XXH3_64bits(topic.data, topic.size));
}

/* ---- adding */

/* Room for one more. NULL: out of memory, and `list` is as it was. */
static void *grow(void *list, size_t count, size_t *room, size_t size)
{
    size_t more = *room == 0 ? 64 : 2 * *room;
    void *grown = list;

    if (count == *room) {
        grown = realloc(list, more * size);
        *room = grown == NULL ? *room : more;
    }
    return grown;
}

bool waiting_jobs_add(struct waiting_jobs *waiting, uint64_t name, const char *line,
                      size_t size)
{
    struct waiting_job *jobs =
        grow(waiting->jobs, waiting->count, &waiting->room, sizeof(*waiting->jobs));

    if (jobs == NULL)
        return false;
    waiting->jobs = jobs;
    if (waiting->lines == NULL)
        waiting->lines = tmpfile();
    if (waiting->lines == NULL)
        return false;
    jobs[waiting->count++] = (struct waiting_job){.name = name,
                                                  .line = ftell(waiting->lines),
                                                  .size = size,
                                                  .after = waiting->after_count};
    return fwrite(line, 1, size, waiting->lines) == size;
}

bool waiting_jobs_after(struct waiting_jobs *waiting, uint64_t name)
{
    uint64_t *after = grow(waiting->after, waiting->after_count, &waiting->after_room,
                           sizeof(*waiting->after));

    if (after == NULL)
        return false;
    waiting->after = after;
    after[waiting->after_count++] = name;
    return true;
}

/* ---- telling */

static int compare(const void *a, const void *b)
{
    const struct waiting_job *left = *(struct waiting_job *const *)a,
                             *right = *(struct waiting_job *const *)b;

    return left->name < right->name ? -1 : left->name > right->name;
}

struct telling {
    struct waiting_jobs *waiting;
    struct waiting_job **by_name, **path; /* path: each waits for the next one */
    size_t path_size;
    size_t *next; /* of each on the path: its name to look at */
    waiting_fn fn;
    void *arg;
    const char *wrong;
};

static bool refuse(struct telling *telling, const char *wrong)
{
    telling->wrong = wrong;
    return false;
}

/* NULL: it is not among those that wait. */
static struct waiting_job *find(const struct telling *telling, uint64_t name)
{
    struct waiting_job wanted = {.name = name}, *key = &wanted;
    struct waiting_job **found = bsearch(&key, telling->by_name, telling->waiting->count,
                                         sizeof(*telling->by_name), compare);

    return found == NULL ? NULL : *found;
}

static bool tell(struct telling *telling, struct waiting_job *job)
{
    FILE *lines = telling->waiting->lines;
    char *line = malloc(job->size + 1);
    bool told;

    job->state = JOB_TOLD;
    if (line == NULL)
        return refuse(telling, "out of memory");
    told =
        fseek(lines, job->line, SEEK_SET) == 0 && fread(line, 1, job->size, lines) == job->size;
    if (!told)
        refuse(telling, "the temporary file does not read");
    told = told && telling->fn(telling->arg, line, job->size);
    free(line);
    return told;
}

static void step_into(struct telling *telling, struct waiting_job *job)
{
    job->state = JOB_BEGUN;
    telling->path[telling->path_size] = job;
    telling->next[telling->path_size++] = job->after;
}

static size_t end_of(const struct waiting_jobs *waiting, const struct waiting_job *job)
{
    return job + 1 == waiting->jobs + waiting->count ? waiting->after_count : job[1].after;
}

/* One step at the end of the path: into one that comes first, or out of a job that is told. */
static bool step(struct telling *telling)
{
    size_t at = telling->path_size - 1;
    struct waiting_job *job = telling->path[at], *other;

    if (telling->next[at] == end_of(telling->waiting, job)) {
        telling->path_size--;
        return tell(telling, job);
    }
    other = find(telling, telling->waiting->after[telling->next[at]++]);
    if (other == NULL || other->state == JOB_TOLD)
        return true;
    if (other->state == JOB_BEGUN)
        return refuse(telling, "jobs wait for each other in a circle");
    step_into(telling, other);
    return true;
}

static bool tell_all(struct telling *telling)
{
    struct waiting_jobs *waiting = telling->waiting;

    for (size_t i = 0; i < waiting->count; i++)
        telling->by_name[i] = &waiting->jobs[i];
    qsort(telling->by_name, waiting->count, sizeof(*telling->by_name), compare);
    if (fflush(waiting->lines) != 0)
        return refuse(telling, "the temporary file takes no more");
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->jobs[i].state == JOB_NEW)
            step_into(telling, &waiting->jobs[i]);
        while (telling->path_size > 0)
            if (!step(telling))
                return false;
    }
    return true;
}

bool waiting_jobs_each(struct waiting_jobs *waiting, waiting_fn fn, void *arg,
                       const char **ret_wrong)
{
    struct telling telling = {.waiting = waiting, .fn = fn, .arg = arg};
    bool told = true;

    if (waiting->count == 0)
        return true;
    telling.by_name = calloc(waiting->count, sizeof(struct waiting_job *));
    telling.path = calloc(waiting->count, sizeof(struct waiting_job *));
    telling.next = calloc(waiting->count, sizeof(*telling.next));
    told = telling.by_name != NULL && telling.path != NULL && telling.next != NULL
               ? tell_all(&telling)
               : refuse(&telling, "out of memory");
    free((void *)telling.by_name);
    free((void *)telling.path);
    free(telling.next);
    if (telling.wrong != NULL)
        *ret_wrong = telling.wrong;
    return told;
}

void waiting_jobs_release(struct waiting_jobs *waiting)
{
    if (waiting->lines != NULL)
        fclose(waiting->lines);
    free(waiting->jobs);
    free(waiting->after);
    *waiting = (struct waiting_jobs){.lines = NULL};
}
