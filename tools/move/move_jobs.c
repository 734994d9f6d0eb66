/* Queues of a Redis into the topics of a dueq. */
#include "tools/move/job_push.h"
#include "tools/move/job_verify.h"
#include "tools/move/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE = 1000 };

static uint64_t size_of(const struct layout_plan *plan)
{
    uint64_t size = 0;

    for (size_t i = 0; i < plan->count; i++)
        size += (uint64_t)plan->keys[i].size;
    return size;
}

static void report(const struct layout_walk *walk, const struct job_push *push)
{
    printf("%" PRIu64 " jobs found, %" PRIu64 " pushed, %" PRIu64 " were there already\n",
           walk->found, push->pushed, push->there);
    move_count(walk->move, "found", walk->found);
    move_count(walk->move, "moved", push->pushed);
    move_count(walk->move, "there", push->there);
    move_count(walk->move, "left_out", walk->left_out);
    move_count(walk->move, "changed", walk->changed);
    if (walk->left_out > 0)
        printf("%" PRIu64 " jobs left out; of the last one: %s\n", walk->left_out, walk->why);
    if (walk->changed > 0)
        printf("%" PRIu64 " lists changed while they were read: stop their programs, and run "
               "it again\n",
               walk->changed);
}

static bool push_all(struct move *move, const struct layout_plan *plan, bool *ret_partly)
{
    struct job_push push = {.move = move};
    struct layout_walk walk = {.move = move, .plan = plan, .job = job_push, .arg = &push};
    bool done;

    progress_begin(&move->progress, "jobs", size_of(plan));
    done = layout_walk(&walk);
    /* What was read before a failure of the source is still pushed. */
    done = job_push_settle(&push) && done && job_push_bury(&push, &walk.seen);
    progress_end(&move->progress);
    report(&walk, &push);
    *ret_partly = walk.left_out > 0 || walk.changed > 0 || plan->foreign > 0;
    seen_release(&walk.seen);
    job_push_release(&push);
    return done;
}

static bool verify_all(struct move *move, const struct layout_plan *plan, bool *ret_partly)
{
    static struct job_verify verify;
    struct layout_walk walk = {.move = move, .plan = plan, .job = job_verify, .arg = &verify};
    uint64_t size = size_of(plan);
    bool done;

    verify = (struct job_verify){.move = move, .step = 1};
    if (move->options->verify == VERIFY_SAMPLE && size > SAMPLE)
        verify.step = size / SAMPLE;
    progress_begin(&move->progress, "verify", size);
    done = layout_walk(&walk);
    done = job_verify_settle(&verify) && done;
    progress_end(&move->progress);
    seen_release(&walk.seen);
    move_count(move, "compared", verify.compared);
    move_count(move, "different", verify.different);
    if (done)
        printf("verified: %" PRIu64 " of %" PRIu64 " jobs; %" PRIu64 " differ\n",
               verify.compared, verify.seen, verify.different);
    *ret_partly = *ret_partly || verify.different > 0;
    return done;
}

int move_jobs(struct move *move)
{
    struct layout_plan plan;
    enum layout layout = layout_of(move->options->layout);
    bool partly = false, done = layout_find(move, layout, &plan);

    if (done)
        layout_plan_print(&plan);
    if (done && !move->options->dry_run) {
        done = push_all(move, &plan, &partly);
        if (done && move->options->verify != VERIFY_NONE)
            done = verify_all(move, &plan, &partly);
    }
    layout_plan_release(&plan);
    if (!done)
        return move_tell_failure(move);
    return partly ? MOVE_PARTLY : MOVE_DONE;
}

bool move_knows_layout(const char *name)
{
    return strcmp(name, "auto") == 0 || layout_of(name) != LAYOUTS;
}
