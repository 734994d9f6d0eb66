/* Replays the inputs that fuzzing has kept. */
#include "tests/fuzz/journal_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_input_is_taken_or_refused(void **state)
{
    (void)state;
    corpus_replay("journal", journal_holds_up, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kept_input_is_taken_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
