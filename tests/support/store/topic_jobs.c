#include "tests/support/store/topic_jobs.h"

#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

void topic_jobs_push(struct store_fixture *fixture, const char *id, const char *group,
                     int64_t weight)
{
    struct dueq_push push;
    struct dueq_pushed pushed;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = push.body = text(id);
    push.group = text(group);
    push.weight = weight;
    assert_int_equal(dueq_push_unique(fixture->store, &push, fixture->time, &pushed), DUEQ_OK);
}

const char *topic_jobs_claim(struct store_fixture *fixture, int64_t lease, int64_t *ret_token)
{
    static char id[DUEQ_NAME_MAX + 1];
    struct dueq_job job;
    enum dueq_status status = dueq_claim(fixture->store, text("t"), lease, fixture->time, &job);

    if (status != DUEQ_OK) {
        assert_int_equal(status, DUEQ_NOTFOUND);
        return "";
    }
    if (ret_token != NULL)
        *ret_token = job.token;
    snprintf(id, sizeof(id), "%.*s", (int)job.id.size, (const char *)job.id.data);
    return id;
}

void topic_jobs_ack(struct store_fixture *fixture, const char *id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(fixture->store, text("t"), text(id), fixture->time, &job),
                     DUEQ_OK);
    assert_int_equal(dueq_ack(fixture->store, text("t"), text(id), job.token, fixture->time),
                     DUEQ_OK);
}

bool topic_jobs_are_signalled(struct store_fixture *fixture)
{
    struct dueq_slice name;
    bool any = false;

    while (dueq_next_signal(fixture->store, &name) == DUEQ_OK)
        any = true;
    return any;
}

void topic_jobs_pass(struct store_fixture *fixture, int64_t ms)
{
    store_fixture_pass(fixture, ms);
    store_fixture_tick(fixture, 1000);
}

void topic_jobs_check(struct store_fixture *fixture)
{
    const char *wrong = queue_check(fixture->store->queue);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}
