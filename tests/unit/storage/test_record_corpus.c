/* Replays the inputs that fuzzing has kept. */
#include "tests/fuzz/record_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_record_is_read_or_refused(void **state)
{
    (void)state;
    corpus_replay("record", record_holds_up, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kept_record_is_read_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
