/* Replays the inputs that fuzzing has kept. */
#include "tests/fuzz/journal_check.h"

#include <dirent.h>

#include "tests/support/cmocka.h"

static const char folder[] = "tests/fuzz/corpus/journal";

static size_t read_file(const char *name, uint8_t *bytes, size_t room)
{
    char path[512];
    FILE *file;
    size_t size;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

static void every_kept_input_is_taken_or_refused(void **state)
{
    static uint8_t bytes[1 << 20];
    DIR *dir = opendir(folder);
    struct dirent *found;
    int count = 0;

    (void)state;
    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL) {
        if (found->d_name[0] == '.')
            continue;
        if (!journal_holds_up(bytes, read_file(found->d_name, bytes, sizeof(bytes))))
            fail_msg("%s/%s", folder, found->d_name);
        count++;
    }
    closedir(dir);
    assert_true(count > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kept_input_is_taken_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
