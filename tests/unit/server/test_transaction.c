/* Queued requests: copies of small arguments, the memory of large ones. */
#include "tests/support/cmocka.h"

#include "server/session/session.h"
#include "server/session/transaction.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_arguments_are_taken_over_and_small_ones_copied),
        cmocka_unit_test(a_request_that_is_refused_keeps_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
