/* Queued requests: copies of small arguments, the memory of large ones, and of large requests.
 */
#include "tests/support/cmocka.h"

#include "protocol/resp_reader.h"
#include "server/session/session.h"
#include "server/session/transaction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 100000, BEFORE = 16 };

static const struct command command = {.name = "set"};

static struct dueq_loan lend(char fill)
{
    uint8_t *memory = malloc(BEFORE + LARGE + 1);

    assert_non_null(memory);
    memset(memory, fill, BEFORE + LARGE);
    memory[BEFORE + LARGE] = '\0';
    return (struct dueq_loan){memory, memory + BEFORE, LARGE, BEFORE};
}

static struct argument argument_of(const struct dueq_loan *loan)
{
    return (struct argument){(const char *)loan->data, loan->size};
}

static void large_arguments_are_taken_over_and_small_ones_copied(void **state)
{
    struct transaction *transaction = transaction_new();
    struct dueq_loan loans[2] = {lend('x'), lend('y')};
    char name[] = "key", end[] = "ex";
    struct argument arguments[] = {
        {"set", 3}, {name, 3}, argument_of(&loans[0]), {end, 2}, argument_of(&loans[1])};
    struct request request = {5, arguments, 3 + 3 + 2 + 2 * LARGE};
    struct session session = {.id = 1};
    struct context context = {.session = &session,
                              .request = &request,
                              .command = &command,
                              .loans = loans,
                              .loan_count = 2};
    const struct request *queued;
    struct dueq_loan *taken;
    size_t count;

    (void)state;
    assert_non_null(transaction);
    assert_int_equal(transaction_queue(transaction, &context), DUEQ_OK);
    assert_null(loans[0].memory);
    assert_null(loans[1].memory);
    assert_in_range(transaction_bytes(transaction), 2 * LARGE, 2 * LARGE + 1000);
    strcpy(name, "no!");
    queued = transaction_request(transaction, 0);
    assert_int_equal(queued->count, 5);
    assert_int_equal(queued->bytes, request.bytes);
    assert_string_equal(queued->arguments[1].data, "key");
    assert_string_equal(queued->arguments[3].data, "ex");
    assert_ptr_equal(queued->arguments[2].data, loans[0].data);
    assert_ptr_equal(queued->arguments[4].data, loans[1].data);
    taken = transaction_loans(transaction, 0, &count);
    assert_int_equal(count, 2);
    free(taken[1].memory); /* as the store does with what it takes over */
    taken[1].memory = NULL;
    transaction_free(transaction); /* frees the other one */
}

static void a_request_that_is_refused_keeps_its_memory(void **state)
{
    struct transaction *transaction = transaction_new();
    struct dueq_loan loan = lend('x');
    struct argument arguments[] = {{"set", 3}, argument_of(&loan)};
    struct request request = {2, arguments, (size_t)2 << 30};
    struct context context = {
        .request = &request, .command = &command, .loans = &loan, .loan_count = 1};

    (void)state;
    assert_non_null(transaction);
    assert_int_equal(transaction_queue(transaction, &context), DUEQ_TOOBIG);
    assert_true(transaction_failed(transaction));
    assert_non_null(loan.memory);
    free(loan.memory);
    transaction_free(transaction);
}

static void feed_text(struct resp_reader *reader, const char *text)
{
    assert_true(resp_reader_feed(reader, text, strlen(text)));
}

/* DEL of so many keys, and a value of LARGE bytes. */
static void feed_request(struct resp_reader *reader, int keys, char fill)
{
    char text[64];

    snprintf(text, sizeof(text), "*%d\r\n$3\r\nDEL\r\n$%d\r\n", keys + 2, LARGE);
    feed_text(reader, text);
    for (int i = 0; i < LARGE; i++)
        assert_true(resp_reader_feed(reader, &fill, 1));
    feed_text(reader, "\r\n");
    for (int i = 0; i < keys; i++) {
        snprintf(text, sizeof(text), "$6\r\n%c%05d\r\n", fill, i);
        feed_text(reader, text);
    }
}

static void queue_next(struct transaction *transaction, struct resp_reader *reader, int keys,
                       char fill)
{
    struct session session = {.id = 1};
    struct request request;
    struct dueq_loan loan;
    struct resp_large *large;
    size_t count;

    feed_request(reader, keys, fill);
    assert_int_equal(resp_reader_next(reader, &request), RESP_REQUEST);
    large = resp_reader_large(reader, &count);
    assert_int_equal(count, 1);
    loan = (struct dueq_loan){large->memory, (uint8_t *)large->data, large->size,
                              RESP_LARGE_BEFORE};
    struct context context = {.session = &session,
                              .request = &request,
                              .command = &command,
                              .reader = reader,
                              .loans = &loan,
                              .loan_count = 1};
    assert_int_equal(transaction_queue(transaction, &context), DUEQ_OK);
    assert_null(loan.memory);
    large->memory = loan.memory;
}

/* A million arguments: 20 ms for a copy. */
static void the_memory_of_a_large_request_is_taken_over(void **state)
{
    static const struct resp_limits limits = {.arguments = 1 << 20,
                                              .bulk_bytes = 1 << 20,
                                              .inline_bytes = 1 << 16,
                                              .query_bytes = 1 << 30,
                                              .large_bytes = LARGE};
    enum { MANY = 20000, FEW = 3 };
    struct resp_reader *reader = resp_reader_new(&limits);
    struct transaction *transaction = transaction_new();
    struct resp_memory memory;

    (void)state;
    queue_next(transaction, reader, MANY, 'a');
    resp_reader_measure(reader, &memory);
    assert_int_equal(memory.arguments, 0); /* the transaction has it */
    assert_in_range(transaction_bytes(transaction), LARGE + 7 * MANY,
                    LARGE + 64 * MANY + 10000);
    queue_next(transaction, reader, FEW, 'b');
    resp_reader_measure(reader, &memory);
    assert_int_not_equal(memory.arguments, 0);
    queue_next(transaction, reader, MANY, 'c');
    resp_reader_free(reader);
    for (size_t i = 0; i < 3; i++) {
        const struct request *queued = transaction_request(transaction, i);
        size_t count, last = queued->count - 1;

        assert_int_equal(queued->count, (i == 1 ? FEW : MANY) + 2);
        assert_int_equal(queued->arguments[1].size, LARGE);
        assert_int_equal(queued->arguments[1].data[LARGE - 1], 'a' + (int)i);
        assert_int_equal(queued->arguments[last].data[0], 'a' + (int)i);
        assert_int_equal(atoi(queued->arguments[last].data + 1), last - 2);
        assert_non_null(transaction_loans(transaction, i, &count)->memory);
        assert_int_equal(count, 1);
    }
    transaction_forget(transaction, 0);
    transaction_free(transaction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_of_a_large_request_is_taken_over),
        cmocka_unit_test(large_arguments_are_taken_over_and_small_ones_copied),
        cmocka_unit_test(a_request_that_is_refused_keeps_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
