/* Keys of the space: their order, and the folding of names that are too long. */
#include "storage/bytes.h"
#include "storage/kv/key.h"

#include <string.h>

#include "tests/support/cmocka.h"

enum { SEED = 42, ROOM = KV_KEY_MAX - 1 /* for a name after the table byte */ };

static struct kv_key named(const void *name, size_t size, uint64_t seed)
{
    struct kv_key key;

    kv_key_start(&key, 'T');
    kv_key_name(&key, dueq_slice(name, size), seed);
    return key;
}

static int order(const struct kv_key *a, const struct kv_key *b)
{
    return dueq_slice_compare(kv_key_slice(a), kv_key_slice(b));
}

static void a_key_is_its_parts_one_after_the_other(void **state)
{
    static const uint8_t expected[] = {'T', 7, 1, 2, 3, 4, 5, 6, 7, 8, 'a', 0, 'b'};
    struct kv_key key;

    (void)state;
    kv_key_start(&key, 'T');
    kv_key_u8(&key, 7);
    kv_key_u64(&key, UINT64_C(0x0102030405060708));
    kv_key_name(&key, dueq_slice("a\0b", 3), SEED);
    assert_int_equal(key.size, sizeof(expected));
    assert_memory_equal(key.bytes, expected, sizeof(expected));
    assert_false(key.folded);
}

static void numbers_are_ordered_as_their_bytes(void **state)
{
    static const uint64_t numbers[] = {0, 1, 255, 256, 65536, UINT64_C(1) << 63, UINT64_MAX};

    (void)state;
    for (size_t i = 1; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct kv_key low, high;

        kv_key_start(&low, 'T');
        kv_key_u64(&low, numbers[i - 1]);
        kv_key_start(&high, 'T');
        kv_key_u64(&high, numbers[i]);
        assert_true(order(&low, &high) < 0);
        assert_int_equal(bytes_read_u64(high.bytes + 1), numbers[i]);
    }
}

/* The numbers around each edge of the encoding. */
static const uint64_t edges[] = {0,
                                 1,
                                 247,
                                 248,
                                 249,
                                 255,
                                 256,
                                 65535,
                                 65536,
                                 (1 << 24) - 1,
                                 1 << 24,
                                 UINT32_MAX,
                                 (uint64_t)UINT32_MAX + 1,
                                 (UINT64_C(1) << 40) - 1,
                                 UINT64_C(1) << 40,
                                 (UINT64_C(1) << 48) - 1,
                                 UINT64_C(1) << 48,
                                 (UINT64_C(1) << 56) - 1,
                                 UINT64_C(1) << 56,
                                 UINT64_MAX};

static void short_numbers_are_ordered_as_their_bytes(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof(edges) / sizeof(edges[0]); i++) {
        struct kv_key low, high;

        kv_key_start(&low, 'T');
        kv_key_number(&low, edges[i - 1]);
        kv_key_start(&high, 'T');
        kv_key_number(&high, edges[i]);
        kv_key_u8(&low, 255); /* the greatest byte */
        assert_true(order(&low, &high) < 0);
    }
}

static void a_short_number_is_read_as_it_was_written(void **state)
{
    static const uint8_t expected[] = {250, 1, 0, 0};
    uint8_t bytes[BYTES_NUMBER_MAX];
    uint64_t number;

    (void)state;
    assert_int_equal(bytes_write_number(bytes, 65536), sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        size_t size = bytes_write_number(bytes, edges[i]);

        assert_in_range(size, 1, BYTES_NUMBER_MAX);
        assert_ptr_equal(bytes_read_number(bytes, bytes + size, &number), bytes + size);
        assert_int_equal(number, edges[i]);
        for (size_t cut = 0; cut < size; cut++)
            assert_null(bytes_read_number(bytes, bytes + cut, &number));
    }
    assert_null(bytes_read_number(NULL, bytes, &number));
}

static void times_before_1970_come_first(void **state)
{
    static const int64_t times[] = {INT64_MIN, -86400000, -1, 0, 1, 1700000000000, INT64_MAX};

    (void)state;
    for (size_t i = 1; i < sizeof(times) / sizeof(times[0]); i++) {
        struct kv_key low, high;

        kv_key_start(&low, 'T');
        kv_key_time(&low, times[i - 1]);
        kv_key_start(&high, 'T');
        kv_key_time(&high, times[i]);
        assert_true(order(&low, &high) < 0);
        assert_int_equal(bytes_read_time(high.bytes + 1), times[i]);
    }
}

static void an_empty_name_adds_nothing(void **state)
{
    struct kv_key key = named(NULL, 0, SEED);

    (void)state;
    assert_int_equal(key.size, 1);
    assert_false(key.folded);
}

static void a_name_is_whole_as_long_as_the_key_stays_below_the_limit(void **state)
{
    uint8_t name[ROOM];
    struct kv_key key;

    (void)state;
    memset(name, 'n', sizeof(name));
    key = named(name, ROOM - 1, SEED);
    assert_false(key.folded);
    assert_int_equal(key.size, KV_KEY_MAX - 1);
    assert_memory_equal(key.bytes + 1, name, ROOM - 1);
}

static void a_folded_key_is_of_the_greatest_size_and_keeps_the_name_s_beginning(void **state)
{
    uint8_t name[5000];

    (void)state;
    memset(name, 'n', sizeof(name));
    for (size_t size = ROOM; size <= sizeof(name); size += size < ROOM + 3 ? 1 : 997) {
        struct kv_key key = named(name, size, SEED);

        assert_true(key.folded);
        assert_int_equal(key.size, KV_KEY_MAX);
        assert_memory_equal(key.bytes + 1, name, ROOM - 16);
    }
}

/* A name that is equal to the folded key of another name must have another key. */
static void no_whole_name_makes_the_key_of_a_folded_one(void **state)
{
    uint8_t name[1000];
    struct kv_key folded, imitated;

    (void)state;
    memset(name, 'n', sizeof(name));
    folded = named(name, sizeof(name), SEED);
    imitated = named(folded.bytes + 1, ROOM, SEED);
    assert_int_not_equal(order(&folded, &imitated), 0);
}

static void names_that_differ_in_one_late_byte_have_keys_of_their_own(void **state)
{
    uint8_t name[4096] = {0};
    struct kv_key last = named(name, sizeof(name), SEED);

    (void)state;
    for (size_t at = ROOM; at < sizeof(name); at++) {
        struct kv_key key;

        name[at] = 1;
        key = named(name, sizeof(name), SEED);
        assert_int_not_equal(order(&key, &last), 0);
        last = key;
    }
}

static void names_that_differ_in_length_alone_have_keys_of_their_own(void **state)
{
    uint8_t name[4096] = {0};
    struct kv_key last = named(name, 0, SEED);

    (void)state;
    for (size_t size = 1; size <= sizeof(name); size++) {
        struct kv_key key = named(name, size, SEED);

        assert_int_not_equal(order(&key, &last), 0);
        last = key;
    }
}

static void order_holds_in_what_is_kept_of_long_names(void **state)
{
    uint8_t name[2000];
    struct kv_key low, high, whole;

    (void)state;
    memset(name, 'n', sizeof(name));
    low = named(name, sizeof(name), SEED);
    name[ROOM - 17]++; /* the last byte of the kept prefix */
    high = named(name, sizeof(name), SEED);
    whole = named("o", 1, SEED);
    assert_true(order(&low, &high) < 0);
    assert_true(order(&high, &whole) < 0);
}

static void the_seed_decides_where_long_names_go(void **state)
{
    uint8_t name[1000] = {0};
    struct kv_key one = named(name, sizeof(name), 1), same = named(name, sizeof(name), 1),
                  two = named(name, sizeof(name), 2);

    (void)state;
    assert_int_equal(order(&one, &same), 0);
    assert_int_not_equal(order(&one, &two), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_its_parts_one_after_the_other),
        cmocka_unit_test(numbers_are_ordered_as_their_bytes),
        cmocka_unit_test(short_numbers_are_ordered_as_their_bytes),
        cmocka_unit_test(a_short_number_is_read_as_it_was_written),
        cmocka_unit_test(times_before_1970_come_first),
        cmocka_unit_test(an_empty_name_adds_nothing),
        cmocka_unit_test(a_name_is_whole_as_long_as_the_key_stays_below_the_limit),
        cmocka_unit_test(a_folded_key_is_of_the_greatest_size_and_keeps_the_name_s_beginning),
        cmocka_unit_test(no_whole_name_makes_the_key_of_a_folded_one),
        cmocka_unit_test(names_that_differ_in_one_late_byte_have_keys_of_their_own),
        cmocka_unit_test(names_that_differ_in_length_alone_have_keys_of_their_own),
        cmocka_unit_test(order_holds_in_what_is_kept_of_long_names),
        cmocka_unit_test(the_seed_decides_where_long_names_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
