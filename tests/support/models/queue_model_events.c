#include "tests/support/models/queue_model_events.h"

#include "tests/support/models/queue_model.h"

#include "tests/support/cmocka.h"

/* FNV-1a: nobody chooses these ids. */
uint64_t model_event_id(struct dueq_slice id)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < id.size; i++)
        hash = (hash ^ ((const uint8_t *)id.data)[i]) * UINT64_C(1099511628211);
    return hash;
}

static struct model_wanted *add(struct queue_model *model, const struct model_job *job,
                                enum dueq_event_type type)
{
    struct model_wishes *wishes = model->wishes;
    struct model_wanted *wanted = &wishes->list[wishes->count++];

    assert_true(wishes->count < MODEL_WANTED_MOST);
    *wanted = (struct model_wanted){.topic = job->topic, .type = type, .attempt = job->attempt};
    return wanted;
}

void model_note(struct queue_model *model, const struct model_job *job,
                enum dueq_event_type type)
{
    if (model->wishes != NULL)
        add(model, job, type)->id = model_event_id(model_id(job));
}

void model_note_arrival(struct queue_model *model, const struct model_job *job)
{
    if (model->wishes != NULL)
        add(model, job, DUEQ_EVENT_PUSHED)->job = job;
}
