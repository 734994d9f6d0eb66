/* Flips one bit of a file in the data directory, in whichever: the directory is refused with
 * words, or reads say what is damaged, or every answer is what it was. No answer is wrong, and
 * nothing crashes or hangs: each flip is looked at by a process of its own, with a time limit.
 * What reads say is damaged, a check (dueq_verify) says too.
 *
 * The store has every kind of record, some in data.mdb and some in the journal only. The seed
 * is fixed; SEED= sets another, STEPS= scales (make check-flips: thousands). */
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "storage/store.h"
#include "tests/support/dice.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/store/full_store.h"
#include "tests/support/store/kept_files.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { TIME_LIMIT = 60 /* s: a hang */ };
enum { FOUND = 10, HARMLESS, WRONG, UNCHECKED, WORDLESS, ODD }; /* how a child ends */

static struct {
    struct dice dice;
    struct store_fixture fixture;
    struct kept_files kept; /* of the undamaged directory */
    uint64_t answers;       /* of the undamaged store */
    unsigned long found, harmless;
} test;

/* ---- all answers of a store, as one number */

struct reading {
    struct dueq *store;
    XXH3_state_t *sum;
    bool damaged; /* some read has said so */
};

static void add(struct reading *reading, struct dueq_slice bytes)
{
    XXH3_64bits_update(reading->sum, &bytes.size, sizeof(bytes.size));
    if (bytes.size > 0)
        XXH3_64bits_update(reading->sum, bytes.data, bytes.size);
}

static void add_number(struct reading *reading, int64_t number)
{
    add(reading, dueq_slice(&number, sizeof(number)));
}

/* True: the read has answered. */
static bool answered(struct reading *reading, enum dueq_status status)
{
    if (status == DUEQ_CORRUPT || status == DUEQ_IO)
        reading->damaged = true;
    else
        add_number(reading, status);
    return status == DUEQ_OK;
}

static void add_job(struct reading *reading, const struct dueq_job *job)
{
    const int64_t numbers[] = {(int64_t)job->state,
                               job->due,
                               job->pushed,
                               job->token,
                               job->attempt,
                               job->failures,
                               job->priority,
                               job->leases_expired,
                               job->lease,
                               job->retries,
                               job->ttl,
                               job->window,
                               job->claimed_at,
                               job->kept_until,
                               job->has_result,
                               job->followed,
                               (int64_t)job->cancelled};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        add_number(reading, numbers[i]);
    add(reading, job->id);
    add(reading, job->body);
    add(reading, job->error);
    add(reading, job->worker);
    add(reading, job->progress);
    add(reading, job->history);
}

/* Finds the job again, by its id. */
static bool read_job(void *arg, const struct dueq_job *job)
{
    struct reading *reading = arg;

    add_job(reading, job);
    return true;
}

static void read_by_id(struct reading *reading, struct dueq_slice topic, const char *id)
{
    struct dueq_job job;

    if (answered(reading, dueq_get(reading->store, topic, text(id), test.fixture.time, &job))) {
        add_job(reading, &job);
        add(reading, job.has_result ? job.result : text(""));
    }
}

static void read_jobs(struct reading *reading, struct dueq_slice topic)
{
    static const char *const ids[] = {
        "id1", "id3", "id77", "c", "d", "e", "r", "p", "x", "an id of more than sixteen bytes"};
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    struct dueq_topic_stats stats;
    struct dueq_scan scan;

    add(reading, topic);
    if (answered(reading, dueq_topic_stats(reading->store, topic, test.fixture.time, &stats)))
        for (size_t i = 0; i < DUEQ_STATES; i++)
            add_number(reading, (int64_t)stats.counts[i]);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        read_by_id(reading, topic, ids[i]);
    dueq_scan_init(&scan);
    scan.topic = topic;
    scan.count = 1000;
    do {
        struct dueq_slice from = text(cursor);
        char next[DUEQ_CURSOR_SIZE];

        if (!answered(reading, dueq_scan(reading->store, &scan, from, test.fixture.time,
                                         read_job, reading, next)))
            break;
        strcpy(cursor, next);
    } while (strcmp(cursor, "0") != 0);
    for (int state = 0; state < (int)DUEQ_STATES; state++) {
        struct dueq_peek peek = {topic, state, 1000};

        answered(reading,
                 dueq_peek(reading->store, &peek, test.fixture.time, read_job, reading));
    }
}

static void read_topics(struct reading *reading)
{
    char name[DUEQ_NAME_MAX];
    struct dueq_slice topic = {name, 0}, next;
    struct dueq_settings settings;

    while (dueq_topic_after(reading->store, topic, &next) == DUEQ_OK) {
        memcpy(name, next.data, next.size);
        topic.size = next.size;
        read_jobs(reading, topic);
    }
    if (answered(reading, dueq_get_settings(reading->store, text("mail*"), &settings)))
        add_number(reading, settings.numbers[DUEQ_SET_LEASE]);
}

/* ---- keys */

static bool read_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    add(arg, element);
    add(arg, value);
    return true;
}

static bool read_scored(void *arg, const struct zset_entry *entry)
{
    add(arg, entry->member);
    add(arg, dueq_slice(&entry->score, sizeof(entry->score)));
    return true;
}

static void read_value(struct reading *reading, const struct keys_view *view,
                       struct dueq_slice name, enum keys_type type)
{
    struct dueq_slice value;

    switch (type) {
    case KEYS_STRING:
        if (answered(reading, string_get(view, name, &value)))
            add(reading, value);
        break;
    case KEYS_HASH:
        answered(reading, hash_each(view, name, read_element, reading));
        break;
    case KEYS_SET:
        answered(reading, set_each(view, name, read_element, reading));
        break;
    case KEYS_LIST:
        answered(reading, list_each(view, name, 0, LIST_TAIL, read_element, reading));
        break;
    default:
        answered(reading, zset_each_from(view, name, 0, false, read_scored, reading));
    }
}

struct scanned {
    struct reading *reading;
    const struct keys_view *view;
};

static bool read_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct scanned *scanned = arg;
    struct reading *reading = scanned->reading;

    add(reading, name);
    add_number(reading, (int64_t)info->count);
    add_number(reading, info->expires);
    add_number(reading, info->encoding);
    read_value(reading, scanned->view, name, info->type);
    return true;
}

static void read_database(struct reading *reading, unsigned database)
{
    struct keys_view view = {store_keys(reading->store), database, test.fixture.time};
    struct scanned scanned = {reading, &view};
    uint64_t cursor = 0;

    add_number(reading, (int64_t)keys_count(view.keys, database));
    add_number(reading, (int64_t)keys_expiring(view.keys, database));
    do {
        if (!answered(reading, keys_scan(&view, cursor, 100, read_key, &scanned, &cursor)))
            break;
    } while (cursor != 0);
}

/* *ret_damaged: a read has said that something is damaged. */
static uint64_t read_answers(struct dueq *store, bool *ret_damaged)
{
    struct reading reading = {store, XXH3_createState(), false};
    uint64_t sum;

    assert_non_null(reading.sum);
    XXH3_64bits_reset(reading.sum);
    read_topics(&reading);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        read_database(&reading, i);
    sum = XXH3_64bits_digest(reading.sum);
    XXH3_freeState(reading.sum);
    *ret_damaged = reading.damaged;
    return sum;
}

/* ---- the undamaged directory */

/* Half of the records are in data.mdb, the other half in the journal only. */
static void make_directory(void)
{
    struct dueq_push push;
    struct dueq_slice id;
    bool damaged;

    store_fixture_init(&test.fixture);
    test.fixture.options.durability = DUEQ_SYNC_ALWAYS;
    test.fixture.options.seed = 42;
    store_fixture_open(&test.fixture);
    full_store_fill(&test.fixture);
    store_fixture_checkpoint(&test.fixture);
    dueq_push_init(&push);
    push.topic = text("late");
    for (int i = 0; i < 100; i++) {
        push.delay = i % 10 * 1000;
        assert_int_equal(dueq_push(test.fixture.store, &push, test.fixture.time, &id), DUEQ_OK);
        store_fixture_commit(&test.fixture);
    }
    test.answers = read_answers(test.fixture.store, &damaged);
    assert_false(damaged);
    kept_files_take_at_rest(&test.kept, test.fixture.dir);
    store_fixture_abandon(&test.fixture);
    test.fixture.options.durability = DUEQ_SYNC_NONE;
}

/* ---- a flip */

/* The work of the child: what has become of the flip. */
static int look(void)
{
    struct dueq_verify verify = {.on_finding = NULL};
    struct dueq_error error = {""};
    bool damaged, found;
    uint64_t answers;
    enum dueq_status status = dueq_open(test.fixture.dir, &test.fixture.options,
                                        test.fixture.time, &test.fixture.store, &error);

    if (status != DUEQ_OK)
        return status != DUEQ_CORRUPT && status != DUEQ_FORMAT && status != DUEQ_IO ? ODD
               : error.text[0] == '\0'                                              ? WORDLESS
                                                                                    : FOUND;
    answers = read_answers(test.fixture.store, &damaged);
    found = dueq_verify(test.fixture.store, &verify) != DUEQ_OK;
    dueq_abandon(test.fixture.store);
    if (damaged)
        return found ? FOUND : UNCHECKED;
    if (answers != test.answers)
        return WRONG;
    return found ? FOUND : HARMLESS;
}

static void flip(size_t file, size_t bit)
{
    static const char *const outcomes[] = {[WRONG] = "an answer is wrong, and nothing says so",
                                           [UNCHECKED] = "reads find it, a check does not",
                                           [WORDLESS] = "refused without words",
                                           [ODD] = "refused for another reason"};
    int status = 0;
    pid_t child;

    test.kept.files[file].bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    kept_files_put_back(&test.kept);
    test.kept.files[file].bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(TIME_LIMIT);
        _exit(look());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("bit %zu of %s: signal %d", bit, test.kept.files[file].name, WTERMSIG(status));
    if (WEXITSTATUS(status) != FOUND && WEXITSTATUS(status) != HARMLESS)
        fail_msg("bit %zu of %s: %s", bit, test.kept.files[file].name,
                 WEXITSTATUS(status) > ODD || outcomes[WEXITSTATUS(status)] == NULL
                     ? "the child failed"
                     : outcomes[WEXITSTATUS(status)]);
    if (WEXITSTATUS(status) == FOUND)
        test.found++;
    else
        test.harmless++;
}

/* Half in data.mdb; the others in any file, mostly at its beginning, where its content is. */
static void flip_somewhere(void)
{
    size_t file = dice_roll(&test.dice, test.kept.count), size;

    for (size_t i = 0; dice_once_in(&test.dice, 2) && i < test.kept.count; i++)
        if (strcmp(test.kept.files[i].name, "data.mdb") == 0)
            file = i;
    size = test.kept.files[file].size;
    if (size == 0)
        return;
    if (strcmp(test.kept.files[file].name, "data.mdb") != 0 && !dice_once_in(&test.dice, 4))
        size = size < 20000 ? size : 20000;
    flip(file, dice_roll(&test.dice, size * 8));
}

static void a_flipped_bit_of_the_directory_is_found_or_harmless(void **state)
{
    long steps = dice_setting("STEPS", 200);

    (void)state;
    if (getenv("SEED") != NULL)
        dice_begin(&test.dice);
    else
        test.dice.state = 11;
    lmdb_disk_skip_syncs(true); /* there is no power cut in this test */
    make_directory();
    for (long step = 0; step < steps; step++)
        flip_somewhere();
    printf("%lu found, %lu harmless\n", test.found, test.harmless);
    assert_true(test.found > (unsigned long)steps / 16);
    kept_files_release(&test.kept);
    store_fixture_release(&test.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_of_the_directory_is_found_or_harmless)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
