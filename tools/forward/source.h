/* The server whose jobs are forwarded: what became of jobs, and claims, in one pipeline. */
#ifndef DUEQ_SOURCE_H
#define DUEQ_SOURCE_H

#include "tools/forward/forward.h"
#include "tools/move/peer.h"

struct source {
    const struct forward_options *options;
    struct peer peer;
    bool connected, told; /* told: the log says that it is away */
    int64_t pause_ms, try_at;
    unsigned random;
    bool failed; /* it refuses for good; the log says why */
};

/* A list of jobs in order, which grows. */
struct job_list {
    struct forward_job **jobs;
    size_t count, room;
};
void job_list_add(struct job_list *list, struct forward_job *job);

void source_init(struct source *source, const struct forward_options *options);
void source_release(struct source *source);

/* Is it to be asked now? In so many ms otherwise. */
int64_t source_wait(const struct source *source);

/* Tells what became of the jobs of `told`: those that the server has heard are added to `ended`
 * and leave `told`, the others stay, to be told again. Claims up to `count` jobs (0: none),
 * which it adds to `claimed`; block_ms: so long it waits for the first one. False: it was not
 * to be reached, or does not answer that now. */
bool source_ask(struct source *source, struct job_list *told, struct job_list *ended,
                size_t count, int block_ms, struct job_list *claimed);

void forward_job_free(struct forward_job *job);

/* Doubles, up to `most`, with a part by chance: thousands do not come back at one moment. */
int64_t lengthen(int64_t pause_ms, int64_t most, unsigned *random);

#endif
