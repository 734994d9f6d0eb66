#include "tests/support/store/full_store.h"

#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MEMBERS = 300, DELAYED = 120, LONG_NAME = 700 };

static struct dueq_slice numbered(char *space, const char *kind, int number)
{
    return dueq_slice(space, (size_t)sprintf(space, "%s%d", kind, number));
}

/* ---- jobs */

static void push(struct store_fixture *test, const char *topic, struct dueq_slice id,
                 int64_t delay, int64_t ttl)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = id;
    push.body = text("a body \x80\n with any bytes");
    push.delay = delay;
    push.ttl = ttl;
    assert_int_equal(dueq_push(test->store, &push, test->time, &given), DUEQ_OK);
}

static void fill_waiting(struct store_fixture *test)
{
    struct dueq_settings settings;
    char id[32];

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_LEASE] = 5000;
    assert_int_equal(dueq_put_settings(test->store, text("mail*"), &settings), DUEQ_OK);
    for (int i = 0; i < DELAYED; i++)
        push(test, "mail", i % 2 == 0 ? text("") : numbered(id, "id", i), i * 1000,
             i % 3 == 0 ? 90000 : DUEQ_DEFAULT);
    push(test, "mail", text("an id of more than sixteen bytes"), 5, DUEQ_DEFAULT);
    push(test, "paused", text("p"), 0, DUEQ_DEFAULT);
    assert_int_equal(dueq_pause(test->store, text("paused"), true, true, 5000, test->time),
                     DUEQ_OK);
}

static int64_t claim(struct store_fixture *test, const char *topic)
{
    struct dueq_job job;

    assert_int_equal(
        dueq_claim_as(test->store, text(topic), 60000, text("worker"), test->time, &job),
        DUEQ_OK);
    return job.token;
}

static void fill_ended(struct store_fixture *test)
{
    struct dueq_done done = {true, text("a result"), 100000};
    struct dueq_nack nack = {
        .delay = DUEQ_DEFAULT, .error = text("why"), .outcome = DUEQ_FATAL};
    enum dueq_state state;

    push(test, "claimed", text("c"), 0, 100000);
    claim(test, "claimed");
    push(test, "done", text("d"), 0, DUEQ_DEFAULT);
    assert_int_equal(dueq_finish(test->store, text("done"), text("d"), claim(test, "done"),
                                 &done, test->time),
                     DUEQ_OK);
    push(test, "dead", text("e"), 0, DUEQ_DEFAULT);
    assert_int_equal(dueq_nack(test->store, text("dead"), text("e"), claim(test, "dead"), &nack,
                               test->time, &state),
                     DUEQ_OK);
    push(test, "retried", text("r"), 0, DUEQ_DEFAULT);
    nack.outcome = DUEQ_FAILED;
    assert_int_equal(dueq_nack(test->store, text("retried"), text("r"), claim(test, "retried"),
                               &nack, test->time, &state),
                     DUEQ_OK);
}

/* ---- keys */

static void set_string(const struct keys_view *view, const char *name, struct dueq_slice value,
                       int64_t expires)
{
    assert_int_equal(string_set(view, text(name), value, expires, STRING_GIVEN), DUEQ_OK);
}

static void fill_collections(const struct keys_view *view, const char *suffix, int members)
{
    const struct zset_rule rule = {.if_absent = false};
    char names[4][16], member[32];

    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof(names[i]), "%s%s",
                 (const char *[]){"hash", "set", "zset", "list"}[i], suffix);
    for (int i = 0; i < members; i++) {
        struct dueq_slice name = numbered(member, "member", i);
        enum zset_effect effect;
        double score = i / 4.0;
        bool added;

        assert_int_equal(hash_set(view, text(names[0]), name, name, &added), DUEQ_OK);
        assert_int_equal(set_add(view, text(names[1]), name, &added), DUEQ_OK);
        assert_int_equal(zset_add(view, text(names[2]), name, &rule, &score, &effect), DUEQ_OK);
        assert_int_equal(list_push(view, text(names[3]), LIST_TAIL, name), DUEQ_OK);
    }
}

static void fill_keys(struct store_fixture *test)
{
    struct keys_view other = test->view;
    char space[LONG_NAME + 1] = "";

    memset(space, 'n', LONG_NAME);
    other.database = 3;
    set_string(&test->view, "number", text("12345"), DUEQ_NEVER);
    set_string(&test->view, "expires", text("soon"), expiry_after(test->time, 50000));
    set_string(&test->view, "at", text("later"), expiry_at(test->time.wall + 70000));
    set_string(&test->view, "large", dueq_slice(space, LONG_NAME), DUEQ_NEVER);
    set_string(&test->view, space, text("folded"), expiry_after(test->time, 60000));
    fill_collections(&test->view, "", MEMBERS);
    fill_collections(&test->view, "-small", 3);
    fill_collections(&other, "-other", MEMBERS);
}

/* Deleted, and not erased: no tick runs. */
static void leave_garbage(struct store_fixture *test)
{
    struct keys_view flushed = test->view;

    flushed.database = 5;
    fill_collections(&test->view, "-gone", MEMBERS);
    fill_collections(&flushed, "-flushed", MEMBERS);
    store_fixture_commit(test);
    assert_int_equal(keys_del(&test->view, text("zset-gone")), DUEQ_OK);
    assert_int_equal(keys_del(&test->view, text("hash-gone")), DUEQ_OK);
    assert_int_equal(list_trim(&test->view, text("list-gone"), 100, 100), DUEQ_OK);
    assert_int_equal(keys_flush(test->view.keys, 5), DUEQ_OK);
    push(test, "dropped", text("x"), 0, DUEQ_DEFAULT);
    store_fixture_commit(test);
    assert_int_equal(dueq_drop(test->store, text("dropped"), test->time), DUEQ_OK);
}

void full_store_fill(struct store_fixture *fixture)
{
    fill_waiting(fixture);
    fill_ended(fixture);
    store_fixture_commit(fixture);
    fill_keys(fixture);
    store_fixture_commit(fixture);
    leave_garbage(fixture);
    store_fixture_commit(fixture);
}
