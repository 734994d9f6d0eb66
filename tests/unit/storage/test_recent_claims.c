/* The last claims: a hint is that of the id and the token, and old ones make room. */
#include "storage/queue/core/recent_claims.h"

#include "tests/support/cmocka.h"

enum { CLAIMS = 64, A_TOPIC = 1, OTHER_TOPIC = 2 };

static struct recent_claims recent;

static int set_up(void **state)
{
    (void)state;
    recent_claims_init(&recent, CLAIMS * 3 * sizeof(uint64_t));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    recent_claims_release(&recent);
    return 0;
}

static struct id_index_key id(uint64_t number)
{
    return (struct id_index_key){.hash = number * 0x9e3779b97f4a7c15};
}

static void note(uint64_t topic, uint64_t name, int64_t token, uint64_t seq)
{
    struct id_index_key key = id(name);

    recent_claims_note(&recent, topic, &key, token, seq);
}

static uint64_t find(uint64_t topic, uint64_t name, int64_t token)
{
    struct id_index_key key = id(name);

    return recent_claims_find(&recent, topic, &key, token);
}

static void none_is_known_before_the_first(void **state)
{
    (void)state;
    assert_int_equal(find(A_TOPIC, 0, 0), 0);
    assert_null(recent.claims);
}

static void a_claim_is_known_by_its_id_and_token(void **state)
{
    (void)state;
    note(A_TOPIC, 7, 100, 5);
    assert_int_equal(find(A_TOPIC, 7, 100), 5);
    assert_int_equal(find(A_TOPIC, 8, 100), 0);
    assert_int_equal(find(A_TOPIC, 7, 101), 0);
    assert_int_equal(find(A_TOPIC, 7, 100 + CLAIMS), 0);
}

static void the_last_claims_are_known(void **state)
{
    (void)state;
    for (int64_t token = 1; token <= 3 * CLAIMS; token++)
        note(A_TOPIC, (uint64_t)token, token, (uint64_t)token * 2);
    for (int64_t token = 1; token <= 3 * CLAIMS; token++)
        assert_int_equal(find(A_TOPIC, (uint64_t)token, token),
                         token > 2 * CLAIMS ? token * 2 : 0);
}

static void topics_with_the_same_tokens_do_not_drive_each_other_out(void **state)
{
    (void)state;
    note(A_TOPIC, 7, 1, 5);
    note(OTHER_TOPIC, 9, 1, 6);
    assert_int_equal(find(A_TOPIC, 7, 1), 5);
    assert_int_equal(find(OTHER_TOPIC, 9, 1), 6);
}

/* A memtable of a few KB leaves less than one claim needs. */
static void it_needs_hardly_any_memory(void **state)
{
    (void)state;
    recent_claims_init(&recent, 0);
    note(A_TOPIC, 7, 1, 5);
    note(A_TOPIC, 8, 2, 6);
    assert_int_equal(find(A_TOPIC, 7, 1), 0);
    assert_int_equal(find(A_TOPIC, 8, 2), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(none_is_known_before_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_is_known_by_its_id_and_token, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_last_claims_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(topics_with_the_same_tokens_do_not_drive_each_other_out,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_needs_hardly_any_memory, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
