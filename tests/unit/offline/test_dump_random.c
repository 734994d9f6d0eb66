/* Random stores through dump and load: the dump of what was loaded is the same, byte for byte,
 * and its jobs go on as the model of the queue says. Keys of all types, with any bytes and with
 * expiries, are compared by the dump only. SEED= reproduces, STEPS= scales. */
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/fuzz/load_check.h"
#include "tests/support/models/queue_walk.h"

#include <math.h>

#include "tests/support/cmocka.h"

enum { NAMES = 12, ELEMENT = 90, LOAD_EVERY = 600 };

/* ---- keys */

/* Any bytes, UTF-8 in half of the cases; valid until the next but one. */
static struct dueq_slice choose_bytes(uint64_t least)
{
    static char spaces[2][ELEMENT];
    static unsigned turn;
    char *space = spaces[turn++ % 2];
    size_t size = least + (size_t)walk_roll(walk_once_in(4) ? ELEMENT - least : 6);
    bool is_text = walk_once_in(2);

    for (size_t i = 0; i < size; i++)
        space[i] = (char)(is_text ? 'a' + walk_roll(26) : walk_roll(256));
    return dueq_slice(space, size);
}

static struct dueq_slice choose_number(void)
{
    static char text[24];

    return dueq_slice(text, (size_t)sprintf(text, "%lld", (long long)walk_roll(2000) - 1000));
}

static double choose_score(void)
{
    static const double scores[] = {0, -0.0, 1.5, -1e300, 1e-300, INFINITY, -INFINITY, 0.1};

    return scores[walk_roll(sizeof(scores) / sizeof(scores[0]))];
}

static void add_element(const struct keys_view *view, struct dueq_slice name, int type)
{
    const struct zset_rule rule = {.if_absent = false};
    struct dueq_slice element = walk_once_in(3) ? choose_number() : choose_bytes(0);
    enum zset_effect effect;
    double score = choose_score();
    bool added;

    switch (type) {
    case 0:
        string_set(view, name, element, DUEQ_NEVER, STRING_GIVEN);
        break;
    case 1:
        hash_set(view, name, element, choose_bytes(0), &added);
        break;
    case 2:
        list_push(view, name, walk_once_in(2) ? LIST_HEAD : LIST_TAIL, element);
        break;
    case 3:
        set_add(view, name, element, &added);
        break;
    default:
        zset_add(view, name, element, &rule, &score, &effect);
    }
}

/* A name belongs to one type. */
static void change_key(void)
{
    struct keys_view view = {walk.fixture.view.keys, (unsigned)walk_roll(3), walk.fixture.time};
    int number = (int)walk_roll(NAMES);
    char space[16];
    struct dueq_slice name = dueq_slice(space, (size_t)sprintf(space, "k%d\xff", number));
    int64_t elements = walk_once_in(40) ? 300 : 1 + walk_roll(3);

    for (int64_t i = 0; i < elements; i++)
        add_element(&view, name, number % 5);
    if (walk_once_in(8))
        keys_expire(&view, name,
                    walk_once_in(2) ? expiry_after(walk.fixture.time, 1 + walk_roll(1000000))
                                    : expiry_at(walk.fixture.time.wall + walk_roll(1000000)));
    if (walk_once_in(10))
        keys_del(&view, name);
}

/* ---- the walk */

static void commit(void)
{
    store_fixture_commit(&walk.fixture);
    walk.is_split = false;
}

static void random_step(void)
{
    static void (*const moves[])(void) = {
        walk_push, walk_push,         walk_push,    walk_claim,  walk_claim,  walk_ack,
        walk_nack, walk_extend,       walk_advance, walk_get,    walk_delete, walk_update,
        walk_move, walk_reschedule,   walk_cancel,  walk_finish, walk_pop,    walk_push_many,
        walk_dead, walk_put_settings, walk_pause,   change_key,  change_key,  commit};

    moves[walk_roll(sizeof(moves) / sizeof(moves[0]))]();
    walk_follow_arrivals(true);
    if (walk_once_in(50))
        walk_check_stats();
    if (walk.is_split)
        commit();
}

/* The walk goes on in the directory that was loaded. */
static void dump_and_load(void)
{
    char *dir = temp_dir_new();

    commit();
    store_fixture_close(&walk.fixture);
    assert_true(load_reads_back(walk.fixture.dir, dir)); /* it is empty, and replaced */
    temp_dir_remove(walk.fixture.dir);
    walk.fixture.dir = dir;
    store_fixture_open(&walk.fixture);
    store_fixture_verify(&walk.fixture);
    walk_check_settings();
    walk_forget();
    walk_check_stats();
}

static void what_was_dumped_and_loaded_goes_on_as_it_was(void **state)
{
    long steps = dice_setting("STEPS", 6000);

    (void)state;
    dice_begin(&walk.dice);
    walk.groups = walk_once_in(2);
    queue_model_init(&walk.model);
    store_fixture_init(&walk.fixture);
    walk.fixture.time = (struct dueq_time){1000000, 1000000, 1000000};
    walk.fixture.options.memtable_bytes = 200000;
    store_fixture_open(&walk.fixture);
    for (long step = 0; step < steps; step++) {
        random_step();
        if (walk_once_in(LOAD_EVERY))
            dump_and_load();
    }
    dump_and_load();
    store_fixture_close(&walk.fixture);
    store_fixture_release(&walk.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_dumped_and_loaded_goes_on_as_it_was)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
