#include "tests/support/models/queue_model_limits.h"

#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_settings.h"

enum { DROPS_SPARE = 200 }; /* jobs that a call may drop beside one for each that is added */

bool model_takes_body(const struct queue_model *model, int topic, int64_t size)
{
    return size <= model_setting(model, topic, DUEQ_SET_MAX_BODY, INT64_MAX);
}

static struct model_amount amount_of(const struct queue_model *model, int topic)
{
    struct model_amount amount = {0, 0};

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &model->jobs[i];

        if (!job->there || job->topic != topic)
            continue;
        amount.jobs += job->state == MODEL_PENDING || job->state == MODEL_CLAIMED ||
                       job->state == MODEL_WAITING;
        amount.bytes += model_bytes(job);
    }
    return amount;
}

static bool fits(const struct model_amount *amount, const struct model_amount *most)
{
    return amount->jobs <= most->jobs && amount->bytes <= most->bytes;
}

static bool is_before(const struct model_job *a, const struct model_job *b,
                      struct dueq_time time)
{
    int64_t due_a = model_shown_due(a, time), due_b = model_shown_due(b, time);

    return due_a != due_b ? due_a < due_b : a->seq < b->seq;
}

/* The waiting job that is due first and stays so far; -1: none. */
static int find_oldest(const struct queue_model *model, int topic, struct dueq_time time,
                       const struct model_fates *fates)
{
    int oldest = -1;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &model->jobs[i];

        if (!job->there || job->topic != topic || job->state != MODEL_PENDING || job->spared ||
            fates->jobs[i] != MODEL_MAY_GO)
            continue;
        if (oldest < 0 || is_before(job, &model->jobs[oldest], time))
            oldest = i;
    }
    return oldest;
}

static struct model_amount most_of(const struct queue_model *model, int topic,
                                   const struct model_amount *added)
{
    return (struct model_amount){
        added->jobs > 0 ? model_setting(model, topic, DUEQ_SET_MAX_LENGTH, INT64_MAX)
                        : INT64_MAX,
        added->bytes > 0 ? model_setting(model, topic, DUEQ_SET_MAX_BYTES, INT64_MAX)
                         : INT64_MAX};
}

bool model_fits(const struct queue_model *model, int topic, const struct model_amount *added)
{
    struct model_amount most = most_of(model, topic, added), amount = amount_of(model, topic);

    amount.jobs += added->jobs;
    amount.bytes += added->bytes;
    return fits(&amount, &most);
}

enum dueq_status model_admit(const struct queue_model *model, int topic,
                             const struct model_amount *added, struct dueq_time time,
                             struct model_fates *fates)
{
    struct model_amount most = most_of(model, topic, added);
    struct model_amount before = amount_of(model, topic);
    struct model_amount amount = {before.jobs + added->jobs, before.bytes + added->bytes};
    int64_t drops_most = DROPS_SPARE + (added->jobs > 0 ? added->jobs : 0);

    if (model_fits(model, topic, added))
        return DUEQ_OK;
    if (model_setting(model, topic, DUEQ_SET_OVERFLOW, DUEQ_OVERFLOW_REJECT) ==
        DUEQ_OVERFLOW_REJECT)
        return DUEQ_LIMIT;
    for (int64_t i = 0; i < drops_most && !fits(&amount, &most); i++) {
        int oldest = find_oldest(model, topic, time, fates);

        if (oldest < 0)
            return DUEQ_LIMIT;
        fates->jobs[oldest] = MODEL_GOES;
        amount.jobs--;
        amount.bytes -= model_bytes(&model->jobs[oldest]);
    }
    return fits(&amount, &most) || fits(&amount, &before) ? DUEQ_OK : DUEQ_LIMIT;
}

void model_drop_jobs(struct queue_model *model, const struct model_fates *fates)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (fates->jobs[i] == MODEL_GOES) {
            model_remove(model, &model->jobs[i], DUEQ_END_GONE);
            model->topics[model->jobs[i].topic].totals.dropped++;
        }
}
