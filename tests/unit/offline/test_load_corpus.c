/* Replays the inputs that fuzzing has kept. */
#include "tests/fuzz/load_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_dump_is_loaded_or_refused(void **state)
{
    (void)state;
    corpus_replay("load", load_holds_up, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kept_dump_is_loaded_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
