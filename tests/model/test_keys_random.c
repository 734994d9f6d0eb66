/* Random changes of keys of all types, compared with plain arrays: contents, counts, orders,
 * expiry, results of scans and random picks, reported changes; across commits, ticks that stop
 * half way, checkpoints, clean reopening and crashes. Reclaiming leaves no record. SEED=
 * reproduces, STEPS= scales. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/dice.h"
#include "tests/support/models/keys_compare.h"
#include "tests/support/store/store_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { DATABASES = KEYS_MODEL_DATABASES, NAMES = KEYS_MODEL_NAMES, TEXTS = KEYS_MODEL_TEXTS };

/* Which changes a step must, may, or must not report. */
enum telling { SILENT, MAY_TELL, MUST_TELL };

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct keys_model model, committed;
    enum telling telling[DATABASES][NAMES]; /* of the present step */
    bool there[DATABASES][NAMES];           /* before the present step */
    bool flushed[DATABASES];
    struct keys_build *build; /* from nothing, with its elements so far; or NULL */
    struct model_key built;
} test;

/* The key that a step changes. */
struct target {
    struct keys_view view;
    int number;
    struct dueq_slice name;
    struct model_key *key;
};

static int roll(int sides)
{
    return (int)dice_roll(&test.dice, (uint64_t)sides);
}

static bool once_in(uint64_t times)
{
    return dice_once_in(&test.dice, times);
}

static struct target target_in(unsigned database, int name)
{
    return (struct target){{store_keys(fixture.store), database, fixture.time},
                           name,
                           model_text(name),
                           &test.model.keys[database][name]};
}

/* Mostly in the first database. */
static struct target any_target(void)
{
    return target_in(once_in(3) ? (unsigned)roll(DATABASES) : 0, roll(NAMES));
}

static enum dueq_status status_for(const struct target *at, enum keys_type type)
{
    if (at->key->type == KEYS_NONE)
        return DUEQ_NOTFOUND;
    return at->key->type == type ? DUEQ_OK : DUEQ_WRONGTYPE;
}

/* ---- changes */

static void told(const struct target *at, enum telling telling)
{
    enum telling *known = &test.telling[at->view.database][at->number];

    if (telling > *known)
        *known = telling;
}

/* The changes of a name that a step has reported. */
struct came {
    bool at_all, created;
};

static void take_change(const struct keys_change *change, struct came came[DATABASES][NAMES])
{
    int name = model_number(change->name);
    struct model_key *key = &test.model.keys[change->database][name];

    assert_in_range(name, 0, NAMES - 1);
    if (change->expired) {
        assert_true(key->lapsed); /* once for each key that expires */
        key->lapsed = false;
        return;
    }
    assert_int_not_equal(test.telling[change->database][name], SILENT);
    came[change->database][name].at_all = true;
    came[change->database][name].created |= change->created;
}

/* A key that did not exist before the step is reported as created. */
static void check_name(unsigned database, int name, struct came came)
{
    bool there = test.model.keys[database][name].type != KEYS_NONE;

    assert_true(came.at_all || test.telling[database][name] != MUST_TELL);
    if (there && !test.there[database][name] && !test.flushed[database])
        assert_true(came.created);
    test.there[database][name] = there;
}

/* Each change is reported, and nothing that is no change. */
static void check_changes(void)
{
    struct came came[DATABASES][NAMES] = {{{false, false}}};
    bool emptied[KEYS_DATABASES_MAX] = {false};
    struct keys_change change;

    while (changes_next(store_keys(fixture.store), &change) == DUEQ_OK)
        if (change.flushed)
            emptied[change.database] = true;
        else
            take_change(&change, came);
    for (int database = 0; database < DATABASES; database++) {
        assert_int_equal(emptied[database], test.flushed[database]);
        for (int name = 0; name < NAMES; name++)
            check_name((unsigned)database, name, came[database][name]);
    }
    memset(test.telling, 0, sizeof(test.telling));
    memset(test.flushed, 0, sizeof(test.flushed));
}

/* ---- time */

static void tick(unsigned budget)
{
    dueq_tick(fixture.store, fixture.time, budget);
}

static void pass(void)
{
    int64_t ms = once_in(4) ? roll(3000) : roll(30);

    store_fixture_pass(&fixture, ms);
    model_pass(&test.model, fixture.time);
}

/* A near time on one of the two clocks. */
static int64_t soon(void)
{
    int64_t ms = 1 + roll(once_in(4) ? 200000 : 2000);

    return once_in(2) ? expiry_after(fixture.time, ms) : expiry_at(fixture.time.wall + ms);
}

/* Steps the wall clock. A step back makes keys exist again that had expired and are not
 * reclaimed, which the model does not know; so all of them are reclaimed before. */
static void step_wall(void)
{
    while (dueq_tick(fixture.store, fixture.time, 1 + (unsigned)roll(300)))
        continue;
    check_changes();
    store_fixture_commit(&fixture); /* else a key that is over comes back with a crash */
    test.committed = test.model;
    fixture.time.wall += roll(20000) - 10000;
    model_pass(&test.model, fixture.time);
}

static void check_reclaimed(void)
{
    uint64_t lsn;

    store_fixture_tick(&fixture, 1 + (unsigned)roll(300));
    check_changes();
    for (int database = 0; database < DATABASES; database++)
        for (int name = 0; name < NAMES; name++)
            assert_false(test.model.keys[database][name].lapsed);
    assert_int_equal(dueq_commit(fixture.store, fixture.time, &lsn), DUEQ_OK);
    test.committed = test.model;
    compare_space(fixture.store, &test.model);
    assert_true(dueq_next_tick(fixture.store, fixture.time) > 0);
}

/* ---- strings */

static void set_string(struct target *at)
{
    int value = roll(TEXTS);
    int64_t kept = at->key->type != KEYS_NONE ? at->key->expires : DUEQ_NEVER;
    int64_t expires = once_in(2) ? DUEQ_NEVER : once_in(2) ? KEYS_KEEP_EXPIRY : soon();

    assert_int_equal(string_set(&at->view, at->name, model_text(value), expires, STRING_GIVEN),
                     DUEQ_OK);
    model_open(&test.model, at->key, KEYS_STRING);
    at->key->expires = expires == KEYS_KEEP_EXPIRY ? kept : expires;
    model_set_string(at->key, value);
    told(at, MUST_TELL);
}

static void get_string(struct target *at)
{
    struct dueq_slice value;
    enum dueq_status status = string_get(&at->view, at->name, &value);

    assert_int_equal(status, status_for(at, KEYS_STRING));
    if (status == DUEQ_OK)
        assert_int_equal(model_number(value), at->key->slots[0]);
}

/* ---- members of sets, hashes and sorted sets */

/* Mostly one of few members, so that the key is created and removed often; for some keys mostly
 * short ones and for some sets integers, so that these stay small, or leave their small
 * encoding by their count. */
static int any_member_of(const struct target *at, enum keys_type type)
{
    int member = roll(once_in(3) ? TEXTS : 12);

    if (type == KEYS_SET && at->number % 3 == 0 && !once_in(200))
        return KEYS_MODEL_INTEGERS + roll(TEXTS - KEYS_MODEL_INTEGERS);
    if (at->number % 2 == 0 && !once_in(100))
        return member & ~1;
    return member;
}

static enum dueq_status put_member(const struct target *at, enum keys_type type, int member,
                                   int value, bool *ret_added)
{
    switch (type) {
    case KEYS_SET:
        return set_add(&at->view, at->name, model_text(member), ret_added);
    case KEYS_HASH:
        return hash_set(&at->view, at->name, model_text(member), model_text(value), ret_added);
    default:
        return zset_put(&at->view, at->name, model_text(member), model_score(value), ret_added);
    }
}

static int any_value(const struct target *at, enum keys_type type)
{
    switch (type) {
    case KEYS_SET:
        return 0;
    case KEYS_HASH:
        return any_member_of(at, type);
    default:
        return roll(KEYS_MODEL_SCORES);
    }
}

/* A hash reports each field that is set, other types only new members and values. */
static bool is_change(const struct target *at, enum keys_type type, int member, int value)
{
    int before = at->key->type == type ? at->key->slots[member] : -1;

    if (before < 0 || type == KEYS_HASH)
        return true;
    return type == KEYS_ZSET && model_score(before) != model_score(value);
}

static void add_member(struct target *at, enum keys_type type)
{
    int member = any_member_of(at, type), value = any_value(at, type);
    bool added, clash = status_for(at, type) == DUEQ_WRONGTYPE;
    enum dueq_status status = put_member(at, type, member, value, &added);

    assert_int_equal(status, clash ? DUEQ_WRONGTYPE : DUEQ_OK);
    if (status != DUEQ_OK)
        return;
    if (is_change(at, type, member, value))
        told(at, MUST_TELL);
    model_open(&test.model, at->key, type);
    assert_int_equal(model_set_slot(&test.model, at->key, member, value), added);
}

static enum keys_type any_keyed_type(const struct target *at)
{
    static const enum keys_type types[] = {KEYS_SET, KEYS_HASH, KEYS_ZSET};
    bool keyed = at->key->type >= KEYS_SET;

    return keyed && !once_in(20) ? at->key->type : types[roll(3)];
}

static void add_members(struct target *at)
{
    enum keys_type type = any_keyed_type(at);

    for (int left = once_in(4) ? roll(200) : 1; left > 0; left--)
        add_member(at, type);
}

static enum dueq_status take_member(const struct target *at, enum keys_type type, int member)
{
    switch (type) {
    case KEYS_SET:
        return set_remove(&at->view, at->name, model_text(member));
    case KEYS_HASH:
        return hash_del(&at->view, at->name, model_text(member));
    default:
        return zset_remove(&at->view, at->name, model_text(member));
    }
}

static void remove_member(struct target *at, enum keys_type type)
{
    int member = any_member_of(at, type);
    enum dueq_status status = take_member(at, type, member), wanted = status_for(at, type);

    if (wanted == DUEQ_OK && !model_clear_slot(at->key, member))
        wanted = DUEQ_NOTFOUND;
    assert_int_equal(status, wanted);
    if (status == DUEQ_OK)
        told(at, MUST_TELL);
}

static void remove_members(struct target *at)
{
    enum keys_type type = any_keyed_type(at);

    for (int left = once_in(4) ? roll(100) : 1; left > 0; left--)
        remove_member(at, type);
}

static void find_member(struct target *at)
{
    enum keys_type type = any_keyed_type(at);
    int member = any_member_of(at, type);
    struct dueq_slice value = {NULL, 0};
    double score = 0;
    enum dueq_status wanted = status_for(at, type), status;

    if (wanted == DUEQ_OK && at->key->slots[member] < 0)
        wanted = DUEQ_NOTFOUND;
    if (type == KEYS_SET)
        status = set_has(&at->view, at->name, model_text(member));
    else if (type == KEYS_HASH)
        status = hash_get(&at->view, at->name, model_text(member), &value);
    else
        status = zset_score(&at->view, at->name, model_text(member), &score);
    assert_int_equal(status, wanted);
    if (status == DUEQ_OK && type == KEYS_ZSET)
        assert_true(score == model_score(at->key->slots[member]));
    else if (status == DUEQ_OK)
        assert_int_equal(model_number(value), at->key->slots[member]);
}

static enum dueq_status pick_member(const struct target *at, enum keys_type type,
                                    struct dueq_slice *ret_member)
{
    uint64_t random = dice_bits(&test.dice);
    struct dueq_slice value;
    struct zset_entry entry = {.score = 0};
    enum dueq_status status;

    if (type == KEYS_SET)
        return set_random(&at->view, at->name, random, ret_member);
    if (type == KEYS_HASH)
        return hash_random(&at->view, at->name, random, ret_member, &value);
    status = zset_random(&at->view, at->name, random, &entry);
    *ret_member = entry.member;
    return status;
}

static void choose_member(struct target *at)
{
    enum keys_type type = any_keyed_type(at);
    struct dueq_slice member;
    enum dueq_status status = pick_member(at, type, &member);

    assert_int_equal(status, status_for(at, type));
    if (status != DUEQ_OK)
        return;
    assert_in_range(model_number(member), 0, TEXTS - 1);
    assert_true(at->key->slots[model_number(member)] >= 0);
}

/* ---- scans of members that are added and removed meanwhile */

struct scan {
    bool seen[TEXTS];
    bool steady[TEXTS]; /* present during the whole scan */
    const struct model_key *key;
};

static bool see_member(void *arg, struct dueq_slice text, struct dueq_slice value)
{
    struct scan *scan = arg;
    int member = model_number(text);

    (void)value;
    assert_in_range(member, 0, TEXTS - 1);
    assert_true(scan->key->slots[member] >= 0);
    scan->seen[member] = true;
    return true;
}

static bool see_entry(void *arg, const struct zset_entry *entry)
{
    return see_member(arg, entry->member, dueq_slice(NULL, 0));
}

static uint64_t scan_members(const struct target *at, uint64_t cursor, struct scan *scan)
{
    uint64_t count = 1 + (uint64_t)roll(40), next = 0;
    enum dueq_status status;

    if (at->key->type == KEYS_SET)
        status = set_scan(&at->view, at->name, cursor, count, see_member, scan, &next);
    else if (at->key->type == KEYS_HASH)
        status = hash_scan(&at->view, at->name, cursor, count, see_member, scan, &next);
    else
        status = zset_scan(&at->view, at->name, cursor, count, see_entry, scan, &next);
    assert_int_equal(status, DUEQ_OK);
    return next;
}

static void scan_all_members(struct target *at)
{
    struct scan scan = {.key = at->key};
    uint64_t life = at->key->life, cursor = 0;

    if (at->key->type < KEYS_SET)
        return;
    for (int member = 0; member < TEXTS; member++)
        scan.steady[member] = at->key->slots[member] >= 0;
    do {
        cursor = scan_members(at, cursor, &scan);
        if (once_in(2))
            add_members(at);
        else
            remove_members(at);
        for (int member = 0; member < TEXTS; member++)
            scan.steady[member] &= at->key->slots[member] >= 0;
        if (at->key->life != life || at->key->type == KEYS_NONE)
            return;
    } while (cursor != 0);
    for (int member = 0; member < TEXTS; member++)
        assert_true(scan.seen[member] || !scan.steady[member]);
}

/* ---- sorted sets */

static void increment(struct target *at)
{
    static const struct zset_rule add = {.increment = true};
    int member = any_member_of(at, KEYS_ZSET);
    double before, score, after;
    enum zset_effect effect;

    if (at->key->type != KEYS_ZSET || at->key->slots[member] < 0)
        return;
    before = model_score(at->key->slots[member]);
    score = isinf(before) ? -before : 0;
    assert_int_equal(zset_add(&at->view, at->name, model_text(member), &add, &score, &effect),
                     DUEQ_OK);
    assert_int_equal(effect, isinf(before) ? ZSET_NAN : ZSET_SAME);
    assert_int_equal(zset_score(&at->view, at->name, model_text(member), &after), DUEQ_OK);
    assert_true(after == before);
}

static void pop_entry(struct target *at)
{
    bool reverse = once_in(2);
    struct zset_entry entry;
    enum dueq_status status;
    int member;

    if (at->key->type != KEYS_ZSET)
        return;
    member = model_ranked(at->key, 0, reverse);
    status = zset_pop(&at->view, at->name, reverse, &entry);
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(model_number(entry.member), member);
    assert_true(entry.score == model_score(at->key->slots[member]));
    model_clear_slot(at->key, member);
    told(at, MUST_TELL);
}

static void rank_entry(struct target *at)
{
    bool reverse = once_in(2);
    uint64_t rank, found;

    if (at->key->type != KEYS_ZSET)
        return;
    rank = dice_roll(&test.dice, at->key->count);
    assert_int_equal(zset_rank(&at->view, at->name,
                               model_text(model_ranked(at->key, rank, reverse)), reverse,
                               &found),
                     DUEQ_OK);
    assert_int_equal(found, rank);
}

static void remove_scores(struct target *at)
{
    int least = roll(KEYS_MODEL_SCORES), most = least + roll(3);
    struct zset_range range = {{.kind = ZSET_SCORE, .score = model_score(least)},
                               {.kind = ZSET_SCORE, .exclusive = true},
                               false};
    uint64_t removed = 0, wanted = 0;

    if (at->key->type != KEYS_ZSET || most >= KEYS_MODEL_SCORES)
        return;
    range.most.score = model_score(most);
    assert_int_equal(zset_remove_range(&at->view, at->name, &range, &removed), DUEQ_OK);
    for (int member = 0; member < TEXTS; member++) {
        int slot = at->key->slots[member];

        if (slot >= 0 && model_score(slot) >= model_score(least) &&
            model_score(slot) < model_score(most))
            wanted += model_clear_slot(at->key, member);
    }
    assert_int_equal(removed, wanted);
    if (removed > 0)
        told(at, MUST_TELL);
}

/* ---- lists */

static enum list_end any_end(void)
{
    return once_in(2) ? LIST_HEAD : LIST_TAIL;
}

static void push_element(struct target *at)
{
    enum list_end end = any_end();
    int element = any_member_of(at, KEYS_LIST);
    bool clash = status_for(at, KEYS_LIST) == DUEQ_WRONGTYPE;

    if (at->key->type == KEYS_LIST && at->key->count == TEXTS)
        return;
    assert_int_equal(list_push(&at->view, at->name, end, model_text(element)),
                     clash ? DUEQ_WRONGTYPE : DUEQ_OK);
    if (clash)
        return;
    model_open(&test.model, at->key, KEYS_LIST);
    model_insert(&test.model, at->key, end == LIST_HEAD ? 0 : at->key->count, element);
    told(at, MUST_TELL);
}

static void push_elements(struct target *at)
{
    for (int left = once_in(4) ? roll(200) : 1; left > 0; left--)
        push_element(at);
}

static int model_pop(struct model_key *list, enum list_end end)
{
    int element = list->slots[end == LIST_HEAD ? 0 : list->count - 1];

    model_trim(list, end == LIST_HEAD ? 1 : 0, list->count - 1);
    return element;
}

static void pop_element(struct target *at)
{
    enum list_end end = any_end();
    struct dueq_slice value;
    enum dueq_status status = list_peek(&at->view, at->name, end, &value);
    int seen = status == DUEQ_OK ? model_number(value) : 0;

    assert_int_equal(status, status_for(at, KEYS_LIST));
    assert_int_equal(list_pop(&at->view, at->name, end), status);
    if (status != DUEQ_OK)
        return;
    assert_int_equal(seen, model_pop(at->key, end));
    told(at, MUST_TELL);
}

static void move_element(struct target *at)
{
    struct target to = target_in(at->view.database, roll(NAMES));
    enum list_end from_end = any_end(), to_end = any_end();
    struct dueq_slice value;
    int moved;
    enum dueq_status status, wanted = status_for(at, KEYS_LIST);

    if (to.key->type == KEYS_LIST && to.key->count == TEXTS)
        return;
    if (wanted == DUEQ_OK && status_for(&to, KEYS_LIST) == DUEQ_WRONGTYPE)
        wanted = DUEQ_WRONGTYPE;
    status = list_move(&at->view, at->name, from_end, to.name, to_end, &value);
    assert_int_equal(status, wanted);
    if (status != DUEQ_OK)
        return;
    /* The element is added before it is removed, so that a list of one element that is rotated
     * is not deleted. */
    moved = at->key->slots[from_end == LIST_HEAD ? 0 : at->key->count - 1];
    assert_int_equal(model_number(value), moved);
    model_open(&test.model, to.key, KEYS_LIST);
    model_insert(&test.model, to.key, to_end == LIST_HEAD ? 0 : to.key->count, moved);
    model_pop(at->key, from_end);
    told(at, MUST_TELL);
    told(&to, MUST_TELL);
}

static void trim_list(struct target *at)
{
    size_t first, count;

    if (at->key->type != KEYS_LIST)
        return;
    first = (size_t)roll((int)at->key->count);
    count = (size_t)roll((int)(at->key->count - first) + 1);
    assert_int_equal(list_trim(&at->view, at->name, first, count), DUEQ_OK);
    model_trim(at->key, first, count);
    told(at, MAY_TELL);
}

/* ---- keys of any type */

static void delete_key(struct target *at)
{
    bool there = at->key->type != KEYS_NONE;

    assert_int_equal(keys_del(&at->view, at->name), there ? DUEQ_OK : DUEQ_NOTFOUND);
    model_drop(at->key);
    if (there)
        told(at, MUST_TELL);
}

static void expire_key_at(struct target *at, int64_t moment)
{
    bool there = at->key->type != KEYS_NONE;

    assert_int_equal(keys_expire(&at->view, at->name, moment), there ? DUEQ_OK : DUEQ_NOTFOUND);
    if (!there)
        return;
    told(at, MUST_TELL);
    if (expiry_is_due(moment, fixture.time))
        model_drop(at->key);
    else
        at->key->expires = moment;
}

static void expire_key(struct target *at)
{
    if (once_in(8))
        expire_key_at(at, once_in(2) ? expiry_at(fixture.time.wall - roll(5))
                                     : expiry_after(fixture.time, -roll(5)));
    else
        expire_key_at(at, once_in(4) ? DUEQ_NEVER : soon());
}

/* The old value is removed, even if it had expired and was not reclaimed. */
static void overwrite(struct target *to, const struct model_key *from)
{
    model_assign(&test.model, to->key, from);
    told(to, MUST_TELL);
}

static void rename_key(struct target *at)
{
    struct target to = target_in(at->view.database, roll(NAMES));
    bool there = at->key->type != KEYS_NONE;

    assert_int_equal(keys_rename(&at->view, at->name, to.name),
                     there ? DUEQ_OK : DUEQ_NOTFOUND);
    if (!there)
        return;
    told(at, MUST_TELL);
    if (to.key == at->key)
        return;
    overwrite(&to, at->key);
    model_drop(at->key);
}

static void move_key(struct target *at)
{
    struct target to = target_in((unsigned)roll(DATABASES), at->number);
    bool there = at->key->type != KEYS_NONE, taken = to.key->type != KEYS_NONE;

    assert_int_equal(keys_move(&at->view, at->name, to.view.database), taken   ? DUEQ_DUPLICATE
                                                                       : there ? DUEQ_OK
                                                                               : DUEQ_NOTFOUND);
    if (taken || !there)
        return;
    overwrite(&to, at->key);
    told(at, MUST_TELL);
    model_drop(at->key);
}

static void copy_key(struct target *at)
{
    struct target to = any_target();
    bool there = at->key->type != KEYS_NONE;

    assert_int_equal(keys_copy(&at->view, at->name, to.view.database, to.name),
                     there ? DUEQ_OK : DUEQ_NOTFOUND);
    if (there && to.key != at->key)
        overwrite(&to, at->key);
}

/* ---- keys built from nothing, a few elements per step */

static void give_up_build(void)
{
    keys_build_free(test.build);
    test.build = NULL;
}

static void begin_build(const struct target *at)
{
    static const enum keys_type types[] = {KEYS_LIST, KEYS_SET, KEYS_ZSET};
    enum keys_type type = types[roll(3)];

    assert_int_equal(keys_build_empty(&at->view, type, 0, &test.build), DUEQ_OK);
    model_drop(&test.built);
    model_open(&test.model, &test.built, type);
    test.built.packed = false;
    if (type == KEYS_SET)
        test.built.encoding = KEYS_HASHTABLE;
}

static void build_member(void)
{
    int member = roll(TEXTS), value = test.built.type == KEYS_SET ? 0 : roll(KEYS_MODEL_SCORES);
    double score = model_score(value), old = 0;
    bool there = keys_build_find(test.build, model_text(member), &old) == DUEQ_OK;

    assert_int_equal(there, test.built.slots[member] >= 0);
    if (there && test.built.type == KEYS_ZSET)
        assert_true(old == model_score(test.built.slots[member]));
    if (there && old == score) /* the member has that score already */
        return;
    assert_int_equal(keys_build_put(test.build, model_text(member), score, there ? &old : NULL),
                     DUEQ_OK);
    model_set_slot(&test.model, &test.built, member, value);
}

static void build_element(void)
{
    int element = roll(TEXTS);

    if (test.built.count == TEXTS)
        return;
    assert_int_equal(keys_build_push(test.build, model_text(element)), DUEQ_OK);
    model_insert(&test.model, &test.built, test.built.count, element);
}

static void place_build(struct target *at)
{
    uint64_t count = 0;
    bool any = test.built.count > 0;

    assert_int_equal(keys_build_store(test.build, &at->view, at->name, &count),
                     any ? DUEQ_OK : DUEQ_NOTFOUND);
    assert_int_equal(count, test.built.count);
    if (any)
        overwrite(at, &test.built);
    give_up_build();
}

static void build(struct target *at)
{
    if (test.build == NULL)
        begin_build(at);
    for (int left = roll(60); left > 0; left--)
        if (test.built.type == KEYS_LIST)
            build_element();
        else
            build_member();
    if (once_in(3))
        place_build(at);
    else if (once_in(10))
        give_up_build();
}

static void flush(struct target *at)
{
    assert_int_equal(keys_flush(store_keys(fixture.store), at->view.database), DUEQ_OK);
    model_flush(&test.model, at->view.database);
    test.flushed[at->view.database] = true;
}

static void swap(struct target *at)
{
    unsigned other = (unsigned)roll(DATABASES);

    assert_int_equal(keys_swap(store_keys(fixture.store), at->view.database, other), DUEQ_OK);
    model_swap(&test.model, at->view.database, other);
    test.flushed[at->view.database] = test.flushed[other] = true;
}

/* An existing value keeps its encoding until something is added. */
static void change_limits(struct target *at)
{
    struct keys_limits *limits = &test.model.limits;

    *limits = (struct keys_limits){512, 64, 512, 128, 64, UINT64_MAX};
    if (once_in(2))
        *limits =
            (struct keys_limits){(uint64_t)roll(60), (uint64_t)roll(30), (uint64_t)roll(60),
                                 (uint64_t)roll(60), (uint64_t)roll(30), (uint64_t)roll(60)};
    keys_set_limits(at->view.keys, limits);
}

static void choose_key(struct target *at)
{
    struct dueq_slice name;
    enum dueq_status status = keys_random(&at->view, dice_bits(&test.dice), &name);
    bool any = model_keys(&test.model, at->view.database) > 0;

    assert_int_equal(status, any ? DUEQ_OK : DUEQ_NOTFOUND);
    if (!any)
        return;
    assert_in_range(model_number(name), 0, NAMES - 1);
    assert_int_not_equal(test.model.keys[at->view.database][model_number(name)].type,
                         KEYS_NONE);
}

/* Those that are next are looked for together, as for a pipeline. */
static void prefetch(struct target *at)
{
    struct dueq_slice names[KEYS_PREFETCH_MOST];
    size_t count = (size_t)roll(KEYS_PREFETCH_MOST + 1);

    for (size_t i = 0; i < count; i++)
        names[i] = model_text(roll(NAMES));
    keys_prefetch(&at->view, names, count);
}

static void compare(struct target *at)
{
    compare_key(&at->view, at->number, at->key);
}

static const struct step {
    void (*run)(struct target *at);
    int weight;
} steps[] = {{set_string, 12},   {get_string, 5},    {add_members, 40},   {remove_members, 30},
             {find_member, 10},  {choose_member, 5}, {increment, 3},      {pop_entry, 8},
             {rank_entry, 3},    {remove_scores, 3}, {push_elements, 15}, {pop_element, 10},
             {move_element, 10}, {trim_list, 4},     {delete_key, 8},     {expire_key, 20},
             {rename_key, 8},    {move_key, 8},      {copy_key, 8},       {flush, 1},
             {swap, 2},          {choose_key, 5},    {compare, 10},       {scan_all_members, 4},
             {change_limits, 2}, {build, 10},        {prefetch, 10}};

static void step(void)
{
    struct target at = any_target();
    int total = 0, left;
    size_t i = 0;

    for (size_t each = 0; each < sizeof(steps) / sizeof(steps[0]); each++)
        total += steps[each].weight;
    for (left = roll(total); left >= steps[i].weight; i++)
        left -= steps[i].weight;
    steps[i].run(&at);
    check_changes();
}

/* ---- scans of keys that are created and removed meanwhile */

struct key_scan {
    unsigned database;
    bool seen[NAMES];
};

static bool see_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct key_scan *scan = arg;
    const struct model_key *key;

    assert_in_range(model_number(name), 0, NAMES - 1);
    key = &test.model.keys[scan->database][model_number(name)];
    assert_int_equal(info->type, key->type);
    assert_int_equal(info->expires, key->expires);
    scan->seen[model_number(name)] = true;
    return true;
}

/* The life of each key that has existed since the scan began; 0 for other keys. A key that a
 * swap of databases took away and brought back has another life. */
static void keep_those_there(uint64_t lives[NAMES], const struct model_key *keys)
{
    for (int name = 0; name < NAMES; name++)
        if (keys[name].life != lives[name] || keys[name].type == KEYS_NONE)
            lives[name] = 0;
}

static void scan_keys(void)
{
    struct key_scan scan = {.database = (unsigned)roll(DATABASES)};
    const struct model_key *keys = test.model.keys[scan.database];
    uint64_t lives[NAMES], cursor = 0;

    for (int name = 0; name < NAMES; name++)
        lives[name] = keys[name].life;
    keep_those_there(lives, keys);
    do {
        struct keys_view view = {store_keys(fixture.store), scan.database, fixture.time};

        assert_int_equal(
            keys_scan(&view, cursor, 1 + (uint64_t)roll(8), see_key, &scan, &cursor), DUEQ_OK);
        step();
        keep_those_there(lives, keys);
    } while (cursor != 0);
    for (int name = 0; name < NAMES; name++)
        assert_true(scan.seen[name] || lives[name] == 0);
}

/* ---- life */

static void open_store(void)
{
    store_fixture_open(&fixture);
    changes_enable(store_keys(fixture.store), true);
    keys_set_limits(store_keys(fixture.store), &test.model.limits);
}

static void commit(void)
{
    store_fixture_commit(&fixture);
    test.committed = test.model;
    dueq_maintain(fixture.store, once_in(100));
}

static void checkpoint(void)
{
    store_fixture_checkpoint(&fixture);
    test.committed = test.model;
}

static void note_there(void)
{
    for (int database = 0; database < DATABASES; database++)
        for (int name = 0; name < NAMES; name++)
            test.there[database][name] = test.model.keys[database][name].type != KEYS_NONE;
}

/* After a crash everything is as it was at the last commit. */
static void reopen(void)
{
    bool is_left = test.build != NULL && once_in(2);

    if (!is_left)
        give_up_build();
    if (once_in(2)) {
        store_fixture_abandon(&fixture);
        test.model = test.committed;
        model_pass(&test.model, fixture.time);
        note_there();
    } else {
        commit();
        store_fixture_close(&fixture);
    }
    if (is_left) /* its store does not exist any more */
        give_up_build();
    open_store();
    store_fixture_verify(&fixture);
    compare_keys(fixture.store, fixture.time, &test.model);
}

static void live(void)
{
    step();
    if (once_in(3))
        pass();
    if (once_in(300))
        step_wall();
    if (once_in(3))
        tick(1 + (unsigned)roll(40));
    check_changes();
    if (once_in(3))
        commit();
    if (once_in(50))
        scan_keys();
    if (once_in(100))
        compare_keys(fixture.store, fixture.time, &test.model);
    if (once_in(200)) {
        give_up_build();
        check_reclaimed();
    }
    if (once_in(1000))
        checkpoint();
    if (once_in(600))
        reopen();
}

/* In one of several ways. */
static void remove_everything(void)
{
    for (unsigned database = 0; database < DATABASES; database++) {
        for (int name = 0; name < NAMES; name++) {
            struct target at = target_in(database, name);

            if (once_in(2))
                delete_key(&at);
            else
                expire_key_at(&at, expiry_after(fixture.time, 0) + 1);
        }
        check_changes();
    }
    store_fixture_pass(&fixture, 2);
    model_pass(&test.model, fixture.time);
    check_reclaimed();
}

static int set_up(void **state)
{
    *state = &fixture;
    dice_begin(&test.dice);
    store_fixture_init(&fixture);
    fixture.options.memtable_bytes = 200000;
    fixture.options.journal_bytes = 4 << 20;
    fixture.options.map_bytes = 256 << 20;
    fixture.options.seed = 42;
    model_init(&test.model);
    test.committed = test.model;
    open_store();
    return 0;
}

static void keys_are_arrays(void **state)
{
    (void)state;
    for (long left = dice_setting("STEPS", 40000); left > 0; left--)
        live();
    give_up_build();
    compare_keys(fixture.store, fixture.time, &test.model);
    check_reclaimed();
    remove_everything();
    store_fixture_checkpoint(&fixture);
    compare_space(fixture.store, &test.model);
}

/* ---- more keys than the store keeps open at a time */

enum { CROWD = 6000, CROWD_FIELDS = 4, CROWD_TURN = 5000 };

static struct dueq_slice crowd_name(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "key-%d", number));
}

/* A hash with the first texts as fields gets one more, or loses the last one. */
static void grow_or_shrink(const struct keys_view *view, int number, int *fields)
{
    struct dueq_slice name = crowd_name(number);
    bool grow = *fields == 0 || (*fields < CROWD_FIELDS && once_in(2)), added = false;
    struct dueq_slice field = model_text(grow ? *fields : *fields - 1);

    if (grow)
        assert_int_equal(hash_set(view, name, field, field, &added), DUEQ_OK);
    else
        assert_int_equal(hash_del(view, name, field), DUEQ_OK);
    assert_int_equal(added, grow);
    *fields += grow ? 1 : -1;
}

static void compare_crowd(const struct keys_view *view, const int *fields)
{
    uint64_t there = 0;

    for (int i = 0; i < CROWD; i++) {
        struct keys_info info = {.count = 0};

        assert_int_equal(keys_info(view, crowd_name(i), &info),
                         fields[i] > 0 ? DUEQ_OK : DUEQ_NOTFOUND);
        assert_int_equal(info.count, fields[i]);
        there += fields[i] > 0;
    }
    assert_int_equal(keys_count(view->keys, view->database), there);
}

static void more_keys_change_in_a_turn_than_are_kept_open(void **state)
{
    int fields[CROWD] = {0};

    (void)state;
    changes_enable(store_keys(fixture.store), false);
    for (int turn = 0; turn < 10; turn++) {
        struct keys_view view = {store_keys(fixture.store), 0, fixture.time};

        for (int left = CROWD_TURN; left > 0; left--) {
            int number = roll(CROWD);

            grow_or_shrink(&view, number, &fields[number]);
        }
        commit();
        compare_crowd(&view, fields);
    }
    store_fixture_abandon(&fixture);
    open_store();
    compare_crowd(&(struct keys_view){store_keys(fixture.store), 0, fixture.time}, fields);
    assert_int_equal(keys_flush(store_keys(fixture.store), 0), DUEQ_OK);
    test.flushed[0] = true;
    check_reclaimed();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_arrays, set_up, store_fixture_tear_down),
        cmocka_unit_test_setup_teardown(more_keys_change_in_a_turn_than_are_kept_open, set_up,
                                        store_fixture_tear_down),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
