/* Replays the inputs that fuzzing has kept. */
#include "tests/fuzz/request_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_input_reads_the_same_however_it_is_split(void **state)
{
    (void)state;
    corpus_replay("request", request_splits_agree, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kept_input_reads_the_same_however_it_is_split)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
