/* dueq_verify: a sound store has no findings; a record that is missing, or one too many, is
 * found and named, in whichever table it is. */
#include "storage/dueq.h"
#include "storage/bytes.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/store.h"
#include "tests/support/store/full_store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { FINDINGS = 40 };

static struct store_fixture test;

static struct {
    char text[FINDINGS][1400]; /* "where: what" */
    int count;
} found;

static void note(void *arg, const char *where, const char *what)
{
    (void)arg;
    if (found.count < FINDINGS)
        snprintf(found.text[found.count++], sizeof(found.text[0]), "%s: %s", where, what);
}

static enum dueq_status verify(void)
{
    struct dueq_verify verify = {.on_finding = note};

    found.count = 0;
    return dueq_verify(test.store, &verify);
}

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    store_fixture_open(&test);
    full_store_fill(&test);
    return 0;
}

static void a_sound_store_has_no_findings(void **state)
{
    (void)state;
    store_fixture_verify(&test);
    store_fixture_checkpoint(&test);
    store_fixture_reopen(&test);
    store_fixture_verify(&test);
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

/* ---- damage that no checksum shows: a record is deleted or added with its checksum */

static void commit_and_reopen(void)
{
    uint64_t lsn;

    assert_int_equal(kv_commit(test.store->kv, test.time.now, &lsn), DUEQ_OK);
    store_fixture_crash(&test);
}

/* The first record of the table, or the last. The value is the caller's to free. */
static struct dueq_slice find_record(char table, bool last, struct kv_key *ret_key)
{
    struct kv_cursor *cursor = kv_cursor_new(test.store->kv);
    char next = (char)(table + 1);
    struct dueq_slice value;
    char *copy;

    assert_int_equal(last ? kv_cursor_seek_last(cursor, dueq_slice(&next, 1))
                          : kv_cursor_seek(cursor, dueq_slice(&table, 1)),
                     DUEQ_OK);
    kv_key_copy(ret_key, kv_cursor_key(cursor));
    assert_int_equal(ret_key->bytes[0], table);
    value = kv_cursor_value(cursor);
    copy = malloc(value.size + 1);
    assert_non_null(copy);
    if (value.size > 0)
        memcpy(copy, value.data, value.size);
    kv_cursor_free(cursor);
    return dueq_slice(copy, value.size);
}

static void delete_one(char table, bool last)
{
    struct kv_key key;

    free((void *)find_record(table, last, &key).data);
    kv_del(test.store->kv, kv_key_slice(&key));
    commit_and_reopen();
}

/* Another record with the same value, and a key of which one byte differs. */
static void add_one(char table, size_t byte)
{
    struct kv_key key;
    struct dueq_slice value = find_record(table, false, &key);

    key.bytes[byte < key.size ? byte : key.size - 1u] ^= 0x40;
    kv_put(test.store->kv, kv_key_slice(&key), value, false);
    free((void *)value.data);
    commit_and_reopen();
}

static void expect(const char *wanted)
{
    if (verify() != DUEQ_CORRUPT)
        fail_msg("not \"%s\", but no findings", wanted);
    for (int i = 0; i < found.count; i++)
        if (strstr(found.text[i], wanted) != NULL)
            return;
    fail_msg("not \"%s\", but %d findings, the first: %s", wanted, found.count, found.text[0]);
}

static void a_missing_record_is_found(void **state)
{
    static const struct {
        char table;
        bool last;
        const char *wanted;
    } cases[] = {
        {'Q', false, "topic \"mail\", job \"01"},
        {'U', false, "a job is not found by its id"},
        {'B', false, "an entry of the schedule belongs to no job"},
        {'S', false, "a pending job has no lane"},
        {'T', false, "records belong to no topic"},
        {'e', false, "a key that expires is not among those that do"},
        {'k', false, "the number of keys is wrong"},
        {'h', false, "the size of the value is wrong"},
        {'y', false, "a member is not in the order by scores"},
        {'l', false, "the size of the list is wrong"},
        {'v', false, "key \"large\": the value is missing"},
        {'d', false, "the number of keys is wrong"},
        {'g', false, "records belong to no key"},
        {'G', true, "records belong to no topic"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        store_fixture_release(&test);
        set_up(state);
        delete_one(cases[i].table, cases[i].last);
        expect(cases[i].wanted);
    }
}

static void a_record_too_many_is_found(void **state)
{
    static const struct {
        char table;
        size_t byte;
        const char *wanted;
    } cases[] = {
        {'Q', 5, "an entry of the schedule belongs to no job"},
        {'Q', 1, "records belong to no topic"},
        {'U', 2, "an id of the index belongs to no job"},
        {'B', 2, "is not in the schedule"},
        {'R', 2, "a result has no done job"},
        {'S', 2, "a state has no body"},
        {'e', 3, "no such key expires then"},
        {'k', 20, "a key is not where its name says"},
        {'k', 3, "keys belong to no database"},
        {'h', 3, "records belong to no key"},
        {'h', 20, "a member does not read"},
        {'y', 20, "the order by scores has an entry too many"},
        {'l', 10, "an element is outside of the list"},
        {'v', 3, "records belong to no key"},
        {'g', 9, "what is to be erased does not read"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        store_fixture_release(&test);
        set_up(state);
        add_one(cases[i].table, cases[i].byte);
        expect(cases[i].wanted);
    }
}

/* A range of indexes that ticks are to erase, at an end of the list, which has one element or
 * more. first, end: from its first element on. */
static void add_range(uint8_t kind, int64_t first, int64_t end)
{
    struct kv_key element, key;
    uint8_t value[16];
    int64_t head;

    free((void *)(uintptr_t)find_record('l', false, &element).data);
    head = bytes_read_time(element.bytes + 9);
    key = garbage_record_key(bytes_read_u64(element.bytes + 1), kind);
    bytes_write_u64(value, (uint64_t)(head + first));
    bytes_write_u64(value + 8, (uint64_t)(head + end));
    kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(value, sizeof(value)), false);
    commit_and_reopen();
}

static void a_range_of_elements_that_cannot_be_is_found(void **state)
{
    static const struct {
        uint8_t kind;
        int64_t first, end;
        const char *wanted; /* NULL: it can be */
    } cases[] = {
        {GARBAGE_HEAD, -100, 0, NULL},
        {GARBAGE_HEAD, -100, -7, NULL},
        {GARBAGE_TAIL, 1000000, 1000100, NULL},
        {GARBAGE_HEAD, -((int64_t)1 << 56), 0, "more elements are to be erased than"},
        {GARBAGE_TAIL, 1000000, (int64_t)1 << 56, "more elements are to be erased than"},
        {GARBAGE_HEAD, -100, 1, "elements of the list are to be erased"},
        {GARBAGE_TAIL, 0, 1000, "elements of the list are to be erased"},
        {GARBAGE_HEAD, 0, -100, "what is to be erased does not read"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        store_fixture_release(&test);
        set_up(state);
        add_range(cases[i].kind, cases[i].first, cases[i].end);
        if (cases[i].wanted != NULL)
            expect(cases[i].wanted);
        else
            assert_int_equal(verify(), DUEQ_OK);
    }
}

/* Of records that no dueq writes, with the right checksum. */
static void records_of_no_form_are_found_and_left(void **state)
{
    static const struct {
        char table;
        const char *value;
        size_t size;
    } cases[] = {{'h', "\2x", 2}, /* neither plain nor folded */
                 {'h', "", 0},
                 {'h', "\1\xff\xff\xff\xff\xff\xff\xff\xff", 9}, /* of a name beyond the end */
                 {'k', "\1\1\1\4\0", 5}};                        /* no elements */
    struct kv_key key;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free((void *)(uintptr_t)find_record(cases[i].table, false, &key).data);
        kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(cases[i].value, cases[i].size),
               false);
    }
    kv_put(test.store->kv, text("g2345678U"), text(""), false);  /* too short */
    kv_put(test.store->kv, text("g23456789U"), text(""), false); /* of an unknown type */
    kv_put(test.store->kv, text("k2"), text("\1\1\1\4\1"), false);
    commit_and_reopen();
    assert_int_equal(verify(), DUEQ_CORRUPT);
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
    assert_int_equal(verify(), DUEQ_CORRUPT);
}

static void push_two(void)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = text("twice");
    for (int i = 0; i < 2; i++)
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

/* With the entry of the schedule that a claim has deleted. */
static void a_claimed_job_is_given_to_nobody_else(void **state)
{
    struct dueq_job job;
    struct kv_key entry;

    (void)state;
    store_fixture_release(&test);
    store_fixture_init(&test);
    store_fixture_open(&test);
    push_two();
    free((void *)(uintptr_t)find_record('Q', false, &entry).data);
    assert_int_equal(dueq_claim(test.store, text("twice"), 1000, test.time, &job), DUEQ_OK);
    store_fixture_commit(&test);
    kv_put(test.store->kv, kv_key_slice(&entry), text(""), false);
    commit_and_reopen();
    assert_int_equal(dueq_claim(test.store, text("twice"), 1000, test.time, &job),
                     DUEQ_CORRUPT);
}

static void an_unknown_table_is_found(void **state)
{
    (void)state;
    kv_put(test.store->kv, text("X record"), text("value"), false);
    commit_and_reopen();
    expect("table \\x58: no such table is known");
}

/* ---- the call */

static void a_batch_must_be_committed_first(void **state)
{
    (void)state;
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    kv_put(test.store->kv, text("k"), text(""), false);
    assert_int_equal(verify(), DUEQ_INVALID);
}

static bool stop(void *arg, uint64_t records)
{
    *(uint64_t *)arg = records;
    return false;
}

static void progress_can_stop_it(void **state)
{
    struct dueq_verify verify = {.on_progress = stop};
    struct dueq_push push;
    struct dueq_slice id;
    uint64_t seen = 0;

    (void)state;
    verify.arg = &seen;
    dueq_push_init(&push);
    push.topic = text("many");
    for (int i = 0; i < 10000; i++)
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(dueq_verify(test.store, &verify), DUEQ_STOPPED);
    assert_int_equal(seen, 10000);
}

int main(void)
{
#define with_store(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        with_store(a_sound_store_has_no_findings),
        with_store(a_missing_record_is_found),
        with_store(a_record_too_many_is_found),
        with_store(a_range_of_elements_that_cannot_be_is_found),
        with_store(records_of_no_form_are_found_and_left),
        with_store(a_claimed_job_is_given_to_nobody_else),
        with_store(an_unknown_table_is_found),
        with_store(a_batch_must_be_committed_first),
        with_store(progress_can_stop_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
