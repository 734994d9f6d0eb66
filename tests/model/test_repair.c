/* Damages a data directory in a random way and repairs it: the repaired store is sound, each of
 * its jobs and keys is as it was, and what is missing or changed was said. The damage: flipped
 * bits, pages and sectors of zeros or of other pages, files that are cut or gone.
 *
 * The seed is fixed; SEED= sets another, STEPS= scales. */
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/keys_restore.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "storage/queue/restore.h"
#include "storage/salvage.h"
#include "tests/support/dice.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/store/full_store.h"
#include "tests/support/store/kept_files.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#define XXH_INLINE_ALL
#include <uthash.h>
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { TIME_LIMIT = 120 /* s: a hang */, NAME_MOST = 1200, JOBS = 3000 };

/* A job or a key. */
struct item {
    UT_hash_handle hh;
    struct item *made_before;
    uint64_t sum;
    bool seen;
    char name[]; /* what it is and of which topic or database, its id or name */
};

static struct {
    struct dice dice;
    struct store_fixture fixture;
    struct kept_files kept;
    struct item *items, *made_last; /* of the undamaged store */
    char *work;                     /* where repairs are made */
    struct salvage salvage;
    unsigned missing, changed, alien;
    unsigned long lost_all;
    bool lost_topic;   /* the jobs of a topic have got another one */
    bool lost_journal; /* what its records have deleted is back */
    bool lost_number;  /* the keys of a database are in another one, flushed ones too */
} test;

/* ---- items */

struct summing {
    XXH3_state_t *sum;
    const char *kind;
    bool comparing; /* with the items of the undamaged store; else they are made */
    const struct keys_view *view;
};

static void add(struct summing *summing, struct dueq_slice bytes)
{
    XXH3_64bits_update(summing->sum, &bytes.size, sizeof(bytes.size));
    if (bytes.size > 0)
        XXH3_64bits_update(summing->sum, bytes.data, bytes.size);
}

static void add_numbers(struct summing *summing, const int64_t *numbers, size_t count)
{
    add(summing, dueq_slice(numbers, count * sizeof(*numbers)));
}

static void make_item(const char *name, size_t size, uint64_t sum)
{
    struct item *item = calloc(1, sizeof(*item) + size);

    assert_non_null(item);
    memcpy(item->name, name, size);
    item->sum = sum;
    item->made_before = test.made_last;
    test.made_last = item;
    HASH_ADD(hh, test.items, name[0], (unsigned)size, item);
}

static void compare_item(const char *name, size_t size, uint64_t sum)
{
    struct item *item;

    HASH_FIND(hh, test.items, name, (unsigned)size, item);
    if (item == NULL) {
        test.alien++;
        if (memmem(name, size, "lost-topic-", 11) != NULL)
            test.lost_topic = true;
        return;
    }
    assert_false(item->seen);
    item->seen = true;
    test.changed += item->sum != sum;
}

static void end_item(struct summing *summing, const char *kind, struct dueq_slice of,
                     struct dueq_slice id)
{
    char name[NAME_MOST];
    size_t size = (size_t)snprintf(name, sizeof(name), "%s %zu ", kind, of.size);
    uint64_t sum = XXH3_64bits_digest(summing->sum);

    assert_true(size + of.size + id.size < sizeof(name));
    memcpy(name + size, of.data, of.size);
    memcpy(name + size + of.size, id.data, id.size);
    (summing->comparing ? compare_item : make_item)(name, size + of.size + id.size, sum);
    XXH3_64bits_reset(summing->sum);
}

struct in_topic {
    struct summing *summing;
    struct dueq_slice topic;
};

static bool see_job(void *arg, const struct whole_job *job)
{
    struct in_topic *in = arg;
    const struct job_body *body = &job->body;
    const struct job_state *state = &job->state;
    const int64_t numbers[] = {
        (int64_t)job->seq, body->priority, body->clock,    body->due,       body->lease,
        body->retries,     body->ttl,      body->pushed,   body->stamp,     job->moved,
        state->state,      state->due,     state->attempt, state->token,    state->token_valid,
        state->failures,   state->crashes, state->expires, job->has_result, state->followed};

    add_numbers(in->summing, numbers, sizeof(numbers) / sizeof(numbers[0]));
    add(in->summing, body->body);
    if (job->moved) {
        add(in->summing, state->worker);
        add(in->summing, state->error);
        add(in->summing, state->history);
    }
    if (job->has_result)
        add(in->summing, job->result);
    end_item(in->summing, "job", in->topic, dueq_slice(&job->seq, sizeof(job->seq)));
    return true;
}

static void see_topics(struct summing *summing, struct dueq *store)
{
    char name[DUEQ_NAME_MAX];
    struct dueq_slice topic = {name, 0}, next;

    while (dueq_topic_after(store, topic, &next) == DUEQ_OK) {
        struct in_topic in = {summing, {name, next.size}};

        memcpy(name, next.data, next.size);
        topic.size = next.size;
        assert_int_equal(queue_each_whole_job(store->queue, topic, see_job, &in), DUEQ_OK);
    }
}

static bool see_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    add(arg, element);
    add(arg, value);
    return true;
}

static bool see_scored(void *arg, const struct zset_entry *entry)
{
    add(arg, entry->member);
    add(arg, dueq_slice(&entry->score, sizeof(entry->score)));
    return true;
}

static enum dueq_status see_value(struct summing *summing, struct dueq_slice name,
                                  enum keys_type type)
{
    struct dueq_slice value;
    enum dueq_status status;

    switch (type) {
    case KEYS_STRING:
        status = string_get(summing->view, name, &value);
        if (status == DUEQ_OK)
            add(summing, value);
        return status;
    case KEYS_HASH:
        return hash_each(summing->view, name, see_element, summing);
    case KEYS_SET:
        return set_each(summing->view, name, see_element, summing);
    case KEYS_LIST:
        return list_each(summing->view, name, 0, LIST_TAIL, see_element, summing);
    default:
        return zset_each_from(summing->view, name, 0, false, see_scored, summing);
    }
}

static bool see_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct summing *summing = arg;
    const int64_t numbers[] = {(int64_t)info->type, (int64_t)info->count, info->expires,
                               (int64_t)info->encoding};

    add_numbers(summing, numbers, sizeof(numbers) / sizeof(numbers[0]));
    assert_int_equal(see_value(summing, name, info->type), DUEQ_OK);
    end_item(summing, "key",
             dueq_slice(&summing->view->database, sizeof(summing->view->database)), name);
    return true;
}

static void see_all(struct dueq *store, bool comparing)
{
    struct summing summing = {.sum = XXH3_createState(), .comparing = comparing};

    assert_non_null(summing.sum);
    XXH3_64bits_reset(summing.sum);
    see_topics(&summing, store);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++) {
        struct keys_view view = keys_restore_view(store_keys(store), i);
        uint64_t cursor = 0;

        summing.view = &view;
        do {
            assert_int_equal(keys_scan(&view, cursor, 100, see_key, &summing, &cursor),
                             DUEQ_OK);
        } while (cursor != 0);
    }
    XXH3_freeState(summing.sum);
}

/* ---- the undamaged directory */

static void push_some(unsigned from, unsigned count)
{
    struct dueq_push push;
    struct dueq_slice id;
    char name[32], body[300];

    memset(body, 'b', sizeof(body));
    dueq_push_init(&push);
    push.topic = text("many");
    for (unsigned i = from; i < from + count; i++) {
        push.id = i % 3 == 0 ? dueq_slice(name, (size_t)sprintf(name, "id%u", i)) : text("");
        push.body = dueq_slice(body, dice_roll(&test.dice, sizeof(body)));
        push.delay = (int64_t)dice_roll(&test.dice, 100000);
        assert_int_equal(dueq_push(test.fixture.store, &push, test.fixture.time, &id), DUEQ_OK);
    }
    store_fixture_commit(&test.fixture);
}

static void delete_some(unsigned from, unsigned count)
{
    char name[32];

    for (unsigned i = from; i < from + count; i++)
        if (i % 3 == 0)
            assert_int_equal(dueq_del(test.fixture.store, text("many"),
                                      dueq_slice(name, (size_t)sprintf(name, "id%u", i)),
                                      test.fixture.time),
                             DUEQ_OK);
    store_fixture_commit(&test.fixture);
}

/* Pages of all ages: several checkpoints, with deletions between, and at last some records that
 * are in the journal only. */
static void make_directory(void)
{
    store_fixture_init(&test.fixture);
    test.fixture.options.seed = 42;
    test.fixture.options.segment_bytes = 65536; /* what is before the checkpoint is gone */
    test.fixture.options.durability = DUEQ_SYNC_ALWAYS;
    store_fixture_open(&test.fixture);
    full_store_fill(&test.fixture);
    for (unsigned i = 0; i < JOBS; i += 500) {
        push_some(i, 500);
        store_fixture_checkpoint(&test.fixture);
        delete_some(i + 100, 200);
        store_fixture_checkpoint(&test.fixture);
    }
    push_some(JOBS, 100);
    for (unsigned i = 0; i < 100; i += 10)
        delete_some(JOBS + i, 3);
    see_all(test.fixture.store, false);
    kept_files_take_at_rest(&test.kept, test.fixture.dir);
    store_fixture_abandon(&test.fixture);
    test.fixture.options.durability = DUEQ_SYNC_NONE;
}

/* ---- damage */

static struct kept_file *choose_file(void)
{
    struct kept_file *data = kept_files_find(&test.kept, "data.mdb");

    assert_non_null(data);
    return dice_once_in(&test.dice, 3)
               ? &test.kept.files[dice_roll(&test.dice, test.kept.count)]
               : data;
}

/* Most of a file is after its content. */
static size_t choose_place(const struct kept_file *file)
{
    size_t most = file->size;

    while (most > 4096 && file->bytes[most - 1] == 0)
        most--;
    return most == 0 ? 0 : dice_roll(&test.dice, most);
}

static void damage(struct kept_file *file)
{
    size_t at = choose_place(file), size = (size_t)512 << dice_roll(&test.dice, 5),
           from = choose_place(file);

    if (file->size == 0)
        return;
    switch (dice_roll(&test.dice, 6)) {
    case 0:
        at = at / size * size;
        memset(file->bytes + at, 0, file->size - at < size ? file->size - at : size);
        return;
    case 1: /* another page of the file, or an older one */
        at = at / 4096 * 4096;
        from = from / 4096 * 4096;
        if (at + 4096 <= file->size && from + 4096 <= file->size)
            memmove(file->bytes + at, file->bytes + from, 4096);
        return;
    case 2:
        if (dice_once_in(&test.dice, 4))
            file->size = at;
        return;
    default:
        file->bytes[at] ^= (uint8_t)(1 << dice_roll(&test.dice, 8));
    }
}

/* ---- repair */

static void on_finding(void *arg, enum salvage_finding finding, const char *what)
{
    (void)arg;
    (void)finding;
    if (strncmp(what, "journal", 7) == 0)
        test.lost_journal = true;
    if (strncmp(what, "the number of a database", 24) == 0)
        test.lost_number = true;
    if (getenv("SHOW") != NULL)
        printf("  %d %s\n", (int)finding, what);
}

static void count_missing(void)
{
    for (struct item *item = test.items; item != NULL; item = item->hh.next) {
        test.missing += !item->seen;
        item->seen = false;
    }
}

static void look_at(const char *dir)
{
    struct dueq_verify verify = {.on_finding = NULL};
    struct dueq_error error = {""};
    struct dueq *store;

    test.missing = test.changed = test.alien = 0;
    test.lost_topic = false;
    if (dueq_open(dir, &test.fixture.options, test.fixture.time, &store, &error) != DUEQ_OK)
        fail_msg("the repaired store: %s", error.text);
    assert_int_equal(dueq_verify(store, &verify), DUEQ_OK);
    see_all(store, true);
    dueq_abandon(store);
    count_missing();
}

/* False: nothing could be read. */
static bool repair(void)
{
    char scratch[PATH_MAX], to[PATH_MAX];
    struct dueq_error error = {""};
    enum dueq_status status;

    snprintf(scratch, sizeof(scratch), "%s/scratch", test.work);
    snprintf(to, sizeof(to), "%s/to", test.work);
    test.lost_journal = test.lost_number = false;
    test.salvage = (struct salvage){.on_finding = on_finding};
    status = salvage_store(test.fixture.dir, scratch, to, &test.salvage, &error);
    if (status == DUEQ_OK)
        look_at(to);
    else if (status != DUEQ_CORRUPT && status != DUEQ_FORMAT)
        fail_msg("repair: %s", error.text);
    temp_dir_remove(test.work);
    return status == DUEQ_OK;
}

static uint64_t findings(void)
{
    return test.salvage.findings[SALVAGE_DAMAGE] + test.salvage.findings[SALVAGE_LOST] +
           test.salvage.findings[SALVAGE_DOUBTFUL];
}

static void check_repair(void)
{
    uint64_t told =
        test.salvage.findings[SALVAGE_LOST] + test.salvage.findings[SALVAGE_DOUBTFUL];

    if (getenv("SHOW") != NULL)
        printf("missing %u, changed %u, alien %u; damaged %lu, lost %lu, doubtful %lu\n",
               test.missing, test.changed, test.alien,
               (unsigned long)test.salvage.findings[SALVAGE_DAMAGE],
               (unsigned long)test.salvage.findings[SALVAGE_LOST],
               (unsigned long)test.salvage.findings[SALVAGE_DOUBTFUL]);
    if (findings() == 0)
        assert_int_equal(test.missing + test.changed + test.alien, 0);
    if (!test.lost_topic && !test.lost_journal && !test.lost_number)
        assert_true(test.changed + test.alien <= told);
}

static void set_up_work(void)
{
    test.work = temp_dir_new();
}

static void what_a_sound_directory_has_is_all_there(void **state)
{
    (void)state;
    kept_files_put_back(&test.kept);
    set_up_work();
    assert_true(repair());
    assert_int_equal(findings(), 0);
    check_repair();
}

static void a_damaged_directory_is_repaired(void **state)
{
    long steps = dice_setting("STEPS", 40);

    (void)state;
    for (long step = 0; step < steps; step++) {
        struct kept_file *file = choose_file(), before = *file;
        unsigned places = 1 + (unsigned)dice_roll(&test.dice, 3);

        before.bytes = malloc(file->size + 1);
        assert_non_null(before.bytes);
        memcpy(before.bytes, file->bytes, file->size);
        while (places-- > 0)
            damage(file);
        kept_files_put_back(&test.kept);
        memcpy(file->bytes, before.bytes, before.size);
        file->size = before.size;
        free(before.bytes);
        alarm(TIME_LIMIT);
        set_up_work();
        if (getenv("SHOW") != NULL)
            printf("step %ld: %s\n", step, file->name);
        if (repair())
            check_repair();
        else
            test.lost_all++;
    }
    alarm(0);
    printf("%lu of %ld could not be read at all\n", test.lost_all, steps);
    assert_true(test.lost_all <= (unsigned long)steps / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sound_directory_has_is_all_there),
        cmocka_unit_test(a_damaged_directory_is_repaired)};
    int failed;

    if (getenv("SEED") != NULL)
        dice_begin(&test.dice);
    else
        test.dice.state = 11;
    lmdb_disk_skip_syncs(true); /* there is no power cut in this test */
    make_directory();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    kept_files_release(&test.kept);
    store_fixture_release(&test.fixture);
    HASH_CLEAR(hh, test.items);
    while (test.made_last != NULL) {
        struct item *before = test.made_last->made_before;

        free(test.made_last);
        test.made_last = before;
    }
    return failed;
}
