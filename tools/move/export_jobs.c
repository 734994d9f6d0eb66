/* `dueq export --layout`: topics into the queues of a Redis. */
#include "protocol/number.h"
#include "tools/move/held_jobs.h"
#include "tools/move/layout_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ms in one of a score. 0: no such unit. */
static double scores_of(const char *unit)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"s", 1000}, {"ms", 1}, {"us", 1e-3}, {"ns", 1e-6}};

    for (size_t i = 0; unit != NULL && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ms;
    return unit == NULL ? 1000 : 0;
}

/* NULL: fine. */
static const char *read_options(const struct move_options *options, struct layout_export *all)
{
    all->style = (struct layout_style){.layout = layout_of(options->layout),
                                       .prefix = options->prefix == NULL ? "" : options->prefix,
                                       .names = options->names,
                                       .scores = scores_of(options->scores)};
    if (all->style.layout == LAYOUTS)
        return "--layout auto is for import: say which one";
    if (all->style.scores == 0)
        return "--scores is s, ms, us or ns";
    if (options->scores != NULL && all->style.layout < LAYOUT_ZSET_HASH)
        return "--scores is of zset-hash, zset-list and zset: the others have seconds";
    if (!number_parse_duration(options->window, strlen(options->window), &all->window))
        return "--window is a duration, as 1d";
    return layout_style_check(&all->style);
}

static void report(const struct layout_export *all)
{
    bool dry = all->move->options->dry_run;

    shelves_print(all->shelves, all->style.layout);
    printf("%" PRIu64 " jobs found, %" PRIu64 " %s, %" PRIu64 " were there already\n",
           all->found, all->written, dry ? "would be written" : "written", all->there);
    move_count(all->move, "found", all->found);
    move_count(all->move, "moved", all->written);
    move_count(all->move, "there", all->there);
    move_count(all->move, "claimed", all->claimed);
    move_count(all->move, "left_out", all->left_out);
    if (all->claimed > 0)
        printf("%" PRIu64
               " of them are with workers here, and due there when their leases end: "
               "stop these first\n",
               all->claimed);
    if (all->left_out > 0)
        printf("%" PRIu64 " jobs left out; of the last one: %s\n", all->left_out, all->why);
}

static bool write_all(struct layout_export *all)
{
    struct move *move = all->move;
    bool done;

    progress_begin(&move->progress, "jobs", held_count(move));
    done = layout_export_write(all);
    progress_end(&move->progress);
    report(all);
    return done;
}

int export_jobs(struct move *move)
{
    struct layout_export all = {.move = move};
    uint64_t different = 0;
    bool done, dry = move->options->dry_run;

    read_options(move->options, &all);
    done = write_all(&all);
    if (done && !dry && move->options->verify != VERIFY_NONE)
        done = layout_export_verify(&all, &different);
    done = done && layout_export_end(&all);
    shelves_release(&all.shelves);
    seen_release(&all.jobs);
    seen_release(&all.members);
    if (!done)
        return move_tell_failure(move);
    return all.left_out + different > 0 && !dry ? MOVE_PARTLY : MOVE_DONE;
}

const char *export_jobs_check(const struct move_options *options)
{
    struct layout_export all = {.window = 0};

    return read_options(options, &all);
}
