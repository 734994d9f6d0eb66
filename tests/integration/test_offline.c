/* Subcommands that work on the directory of a stopped server: what they find, print and exit
 * with. tests/unit/storage/test_verify.c has what a check finds. */
#include "tests/support/client/client.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

static char output[20000];

static int tear_down(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    return 0;
}

static struct server_process *fill_server(const char *options)
{
    struct server_process *server = server_process_start(options);
    redisContext *client = client_open(server);

    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body-number-%d-%0900d ID job-%d DELAY 1h", i, i, i);
    expect(client, "OK", "SET key value EX 1000");
    expect(client, "3", "ZADD scores 1 a 2 b 3 c");
    client_close(client);
    return server;
}

static int check(const char *data)
{
    return run_shell(output, sizeof(output), "%s check %s", server_binary(), data);
}

static void expect_output(const char *wanted)
{
    if (strstr(output, wanted) == NULL)
        fail_msg("no \"%s\" in: %s", wanted, output);
}

/* Flips a bit where that text is. Returns whether the file has it. */
static bool damage_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "r+e");
    static char bytes[8 << 20];
    size_t size;
    char *at;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    at = memmem(bytes, size, text, strlen(text));
    if (at != NULL) {
        assert_int_equal(fseek(file, at - bytes, SEEK_SET), 0);
        assert_int_equal(fputc(*at ^ 4, file), *at ^ 4);
    }
    assert_int_equal(fclose(file), 0);
    return at != NULL;
}

static void damage_journal(const char *data, const char *text)
{
    char path[PATH_MAX], file[PATH_MAX * 2];
    bool damaged = false;
    struct dirent *found;
    DIR *journal;

    snprintf(path, sizeof(path), "%s/journal", data);
    journal = opendir(path);
    assert_non_null(journal);
    while (!damaged && (found = readdir(journal)) != NULL) {
        snprintf(file, sizeof(file), "%s/%s", path, found->d_name);
        damaged = strstr(found->d_name, ".seg") != NULL && damage_file(file, text);
    }
    closedir(journal);
    assert_true(damaged);
}

/* ---- check */

static void a_sound_directory_is_called_sound(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_stop(server);
    assert_int_equal(check(server->data), 0);
    expect_output("is sound");
    server_process_run(server);
    server_process_kill(server);
    assert_int_equal(check(server->data), 0); /* what a kill left in the journal too */
}

static void what_cannot_be_checked_is_no_damage(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    assert_int_equal(check(server->data), 2);
    expect_output("in use");
    assert_int_equal(check("/nonexistent"), 2);
    expect_output("holds no store");
    assert_int_equal(check(""), 2);
    expect_output("check takes a directory");
}

static void a_damaged_page_is_named(void **state)
{
    struct server_process *server = fill_server("");
    char path[PATH_MAX];

    (void)state;
    server_process_stop(server);
    snprintf(path, sizeof(path), "%s/data.mdb", server->data);
    assert_true(damage_file(path, "body-number-50"));
    assert_int_equal(check(server->data), 1);
    expect_output("page");
    expect_output("topic \"mail\"");
}

static void a_damaged_journal_is_named(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_kill(server);
    damage_journal(server->data, "body-number-50");
    assert_int_equal(check(server->data), 1);
    expect_output(".seg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sound_directory_is_called_sound, tear_down),
        cmocka_unit_test_teardown(what_cannot_be_checked_is_no_damage, tear_down),
        cmocka_unit_test_teardown(a_damaged_page_is_named, tear_down),
        cmocka_unit_test_teardown(a_damaged_journal_is_named, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
