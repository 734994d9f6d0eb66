/* The payload of a journal record: puts and deletes, written and read back. */
#include "storage/kv/batch.h"
#include "tests/support/text.h"

#include "storage/kv/memtable/large_value.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { LARGE = BATCH_COPY_MAX + 1, ROOM = 400000 };

static uint8_t large[LARGE];

static void put(struct batch *batch, const char *key, const char *value)
{
    assert_true(batch_put(batch, text(key), (const uint8_t *)value, strlen(value)));
}

/* Only the batch holds the value. */
static void put_large(struct batch *batch, const char *key)
{
    struct dueq_slice part = dueq_slice(large, LARGE);
    struct large_value *value = large_value_new(&part, 1);

    assert_non_null(value);
    assert_true(batch_put_large(batch, text(key), value));
    large_value_release(value);
}

/* Writes the payload in one piece, as it would be on disk. */
static size_t payload_of(struct batch *batch, uint8_t *payload)
{
    int count;
    const struct iovec *parts = batch_parts(batch, &count);
    size_t size = 0;

    assert_non_null(parts);
    for (int i = 0; i < count; i++) {
        assert_true(size + parts[i].iov_len <= ROOM);
        if (parts[i].iov_len > 0)
            memcpy(payload + size, parts[i].iov_base, parts[i].iov_len);
        size += parts[i].iov_len;
    }
    assert_int_equal(size, batch_bytes(batch));
    return size;
}

static void expect(const uint8_t **at, const uint8_t *end, const char *key,
                   struct dueq_slice value, bool is_put)
{
    struct batch_operation operation = {0};

    assert_true(*at < end && batch_read(at, end, &operation));
    assert_int_equal(operation.put, is_put);
    assert_true(dueq_slice_equal(operation.key, text(key)));
    assert_true(dueq_slice_equal(operation.value, value));
}

static void operations_come_back_in_order(void **state)
{
    static uint8_t payload[ROOM];
    struct batch batch = {0};
    const uint8_t *at = payload, *end;

    (void)state;
    put(&batch, "a", "one");
    assert_true(batch_del(&batch, text("b")));
    put(&batch, "c", "");
    end = payload + payload_of(&batch, payload);
    expect(&at, end, "a", text("one"), true);
    expect(&at, end, "b", text(""), false);
    expect(&at, end, "c", text(""), true);
    assert_ptr_equal(at, end);
    batch_release(&batch);
}

static void the_bytes_are_those_that_the_format_says(void **state)
{
    static const uint8_t expected[] = "\x01\x01"
                                      "a"
                                      "\x80\x01";
    static uint8_t payload[ROOM], value[128];
    struct batch batch = {0};

    (void)state;
    assert_true(batch_put(&batch, text("a"), value, sizeof(value)));
    assert_true(batch_del(&batch, text("b")));
    assert_int_equal(payload_of(&batch, payload), 5 + sizeof(value) + 3);
    assert_memory_equal(payload, expected, 5);
    assert_memory_equal(payload + 5 + sizeof(value),
                        "\x02\x01"
                        "b",
                        3);
    batch_release(&batch);
}

static void large_values_are_referred_to_and_come_back_in_place(void **state)
{
    static uint8_t payload[ROOM];
    struct batch batch = {0};
    const uint8_t *at = payload, *end;

    (void)state;
    memset(large, 'x', LARGE);
    put(&batch, "a", "one");
    for (int i = 0; i < 20; i++)
        put_large(&batch, "big");
    put(&batch, "z", "last");
    assert_true(batch.size < 1000);
    end = payload + payload_of(&batch, payload);
    expect(&at, end, "a", text("one"), true);
    for (int i = 0; i < 20; i++)
        expect(&at, end, "big", dueq_slice(large, LARGE), true);
    expect(&at, end, "z", text("last"), true);
    assert_ptr_equal(at, end);
    batch_release(&batch);
}

static void a_cleared_batch_is_empty(void **state)
{
    static uint8_t payload[ROOM];
    struct batch batch = {0};

    (void)state;
    put(&batch, "a", "one");
    put_large(&batch, "big");
    assert_true(batch_bytes(&batch) > LARGE);
    batch_clear(&batch);
    assert_int_equal(batch_bytes(&batch), 0);
    assert_int_equal(payload_of(&batch, payload), 0);
    batch_release(&batch);
}

/* Each part is at the end of its allocation, so that ASan finds a read past its end. */
static void a_payload_cut_anywhere_but_between_operations_is_malformed(void **state)
{
    static uint8_t payload[ROOM];
    struct batch batch = {0};
    size_t size;

    (void)state;
    put(&batch, "key", "value");
    size = payload_of(&batch, payload);
    for (size_t cut = 1; cut < size; cut++) {
        uint8_t *bytes = malloc(cut);
        const uint8_t *at = bytes;
        struct batch_operation operation;

        assert_non_null(bytes);
        memcpy(bytes, payload, cut);
        assert_false(batch_read(&at, bytes + cut, &operation));
        free(bytes);
    }
    batch_release(&batch);
}

static void what_no_batch_writes_is_malformed(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } payloads[] = {
        {"\x00\x01"
         "a",
         3}, /* not an operation */
        {"\x03\x01"
         "a",
         3},
        {"\x02\x02"
         "a",
         3}, /* a key longer than the payload */
        {"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* a size that does not end */
        {"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},     /* 2^64 - 1 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        const uint8_t *at = (const uint8_t *)payloads[i].bytes;
        struct batch_operation operation;

        assert_false(batch_read(&at, at + payloads[i].size, &operation));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_come_back_in_order),
        cmocka_unit_test(the_bytes_are_those_that_the_format_says),
        cmocka_unit_test(large_values_are_referred_to_and_come_back_in_place),
        cmocka_unit_test(a_cleared_batch_is_empty),
        cmocka_unit_test(a_payload_cut_anywhere_but_between_operations_is_malformed),
        cmocka_unit_test(what_no_batch_writes_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
