/* Replays the specs that fuzzing has kept. */
#include "tests/fuzz/cron_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_spec_has_times_or_is_refused(void **state)
{
    (void)state;
    corpus_replay("cron", cron_holds_up, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kept_spec_has_times_or_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
