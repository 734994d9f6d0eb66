/* The table of topics: it grows and shrinks by one bucket at a time, and loses nobody. */
#include "storage/queue/core/topic_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { MANY = 3000 };

static struct dueq_slice name(int number)
{
    static char text[32];

    return dueq_slice(text, (size_t)snprintf(text, sizeof(text), "topic %d", number));
}

static int number_of(struct dueq_slice wanted)
{
    char text[32];

    snprintf(text, sizeof(text), "%.*s", (int)wanted.size, (const char *)wanted.data);
    return atoi(text + strlen("topic "));
}

static void free_all(struct topic_table *table)
{
    unsigned budget = UINT32_MAX;
    struct topic_entry *entry;

    while ((entry = topic_table_take(table, &budget)) != NULL)
        free(entry);
    assert_int_equal(table->buckets, 0);
}

static void check_names(const struct topic_table *table, int from, int to)
{
    size_t found = 0;

    for (int i = 0; i < MANY; i++) {
        const struct topic_entry *entry = topic_table_find(table, name(i));

        assert_int_equal(entry != NULL, i >= from && i < to);
        assert_true(entry == NULL || dueq_slice_equal(topic_entry_name(entry), name(i)));
    }
    for (size_t bucket = 0; bucket < table->buckets; bucket++)
        for (const struct topic_entry *entry = topic_table_bucket(table, bucket); entry != NULL;
             entry = entry->next)
            found++;
    assert_int_equal(found, to - from);
    assert_int_equal(table->count, to - from);
}

static void names_are_found_while_it_grows_and_shrinks(void **state)
{
    struct topic_table table = {.seed = 7};

    (void)state;
    assert_null(topic_table_find(&table, name(0)));
    for (int i = 0; i < MANY; i++) {
        size_t buckets = table.buckets;

        assert_non_null(topic_table_add(&table, name(i)));
        assert_true(buckets == 0 || table.buckets <= buckets + 1);
        if (i % 97 == 0)
            check_names(&table, 0, i + 1);
    }
    assert_int_equal(table.buckets, MANY);
    for (int i = 0; i < MANY - 1; i++) {
        size_t buckets = table.buckets;

        topic_table_remove(&table, topic_table_find(&table, name(i)));
        assert_true(table.buckets + 4 >= buckets);
        if (i % 97 == 0)
            check_names(&table, i + 1, MANY);
    }
    assert_int_equal(table.buckets, TOPIC_TABLE_LEAST);
    free_all(&table);
}

static void a_table_that_is_filled_at_once_is_the_same(void **state)
{
    struct topic_table table = {.seed = 7};
    struct topic_entry *entries = NULL;

    (void)state;
    assert_true(topic_table_fill(&table, NULL, 0));
    for (int i = 0; i < MANY; i++) {
        struct topic_entry *entry = topic_entry_new(name(i));

        assert_non_null(entry);
        entry->next = entries;
        entries = entry;
    }
    assert_true(topic_table_fill(&table, entries, MANY));
    check_names(&table, 0, MANY);
    topic_table_remove(&table, topic_table_find(&table, name(0)));
    check_names(&table, 1, MANY);
    free_all(&table);
}

/* A sweep from the first bucket to the last sees all that stay, whatever comes meanwhile. */
static void growth_hides_no_entry_from_a_walk(void **state)
{
    struct topic_table table = {.seed = 7};
    bool seen[MANY] = {false};
    int added = MANY / 2;

    (void)state;
    for (int i = 0; i < added; i++)
        topic_table_add(&table, name(i));
    for (size_t bucket = 0; bucket < table.buckets; bucket++) {
        for (const struct topic_entry *entry = topic_table_bucket(&table, bucket);
             entry != NULL; entry = entry->next)
            seen[number_of(topic_entry_name(entry))] = true;
        if (added < MANY)
            topic_table_add(&table, name(added++));
    }
    for (int i = 0; i < MANY / 2; i++)
        assert_true(seen[i]);
    free_all(&table);
}

static size_t bucket_of_name(const struct topic_table *table, struct dueq_slice wanted)
{
    size_t bucket = 0;

    for (const struct topic_entry *entry = topic_table_find(table, wanted);
         bucket < table->buckets; bucket++)
        for (const struct topic_entry *at = topic_table_bucket(table, bucket); at != NULL;
             at = at->next)
            if (at == entry)
                return bucket;
    fail();
    return 0;
}

static void names_are_hashed_by_a_secret(void **state)
{
    struct topic_table one = {.seed = 1}, other = {.seed = 2};
    int same = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        topic_table_add(&one, name(i));
        topic_table_add(&other, name(i));
    }
    for (int i = 0; i < 100; i++)
        same += bucket_of_name(&one, name(i)) == bucket_of_name(&other, name(i));
    assert_in_range(same, 0, 20);
    free_all(&one);
    free_all(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_while_it_grows_and_shrinks),
        cmocka_unit_test(a_table_that_is_filled_at_once_is_the_same),
        cmocka_unit_test(growth_hides_no_entry_from_a_walk),
        cmocka_unit_test(names_are_hashed_by_a_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
