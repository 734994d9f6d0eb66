/* Replays the inputs that fuzzing has kept: changed records and pages, under commands; and what
 * repairs and restores make of changed files. */
#include "tests/fuzz/pages_check.h"
#include "tests/fuzz/repair_check.h"
#include "tests/fuzz/restore_check.h"
#include "tests/fuzz/table_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_change_of_records_is_survived(void **state)
{
    (void)state;
    corpus_replay("table", table_holds_up, 5);
}

static void every_kept_change_of_pages_is_survived(void **state)
{
    (void)state;
    corpus_replay("pages", pages_hold_up, 4);
}

static void every_kept_damage_is_repaired_or_refused(void **state)
{
    (void)state;
    corpus_replay("repair", repair_holds_up, 4);
}

static void every_kept_backup_is_restored_or_refused(void **state)
{
    (void)state;
    corpus_replay("restore", restore_holds_up, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kept_change_of_records_is_survived),
        cmocka_unit_test(every_kept_change_of_pages_is_survived),
        cmocka_unit_test(every_kept_damage_is_repaired_or_refused),
        cmocka_unit_test(every_kept_backup_is_restored_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
