/* BACKUP, with the real server: what is in the copy while others push, what a kill and a full
 * disk leave. tests/unit/storage/test_backup.c has the store's side. */
#include "tests/support/client/client.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { JOBS = 4000 };

static char output[20000];
static char *place;

static int tear_down(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    temp_dir_remove(place);
    place = NULL;
    return 0;
}

static struct server_process *new_server(void)
{
    struct server_process *server = server_process_new();

    place = temp_dir_new();
    server_process_option(server, "backup-dir", place);
    server_process_option(server, "memtable-size", "256kb");
    server_process_option(server, "disk-reserve", "0");
    return server;
}

static void push_jobs(redisContext *client, const char *topic, int from, int count)
{
    for (int i = from; i < from + count; i++)
        say(client, "Q.PUSH %s body-%d-%0500d ID %d", topic, i, i, i);
    for (int i = 0; i < count; i++)
        expect_reply(client, "*");
}

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%.100s", place, name);
    return path;
}

static bool exists(const char *name)
{
    struct stat found;

    return lstat(path_of(name), &found) == 0;
}

static void await_end(redisContext *client)
{
    for (int i = 0; i < 6000 && ask_info(client, "journal", "backup_in_progress") != 0; i++)
        sleep_ms(10);
    assert_int_equal(ask_info(client, "journal", "backup_in_progress"), 0);
}

static void expect_sound(const char *path)
{
    assert_int_equal(run_shell(output, sizeof(output), "%s check %s", server_binary(), path),
                     0);
    assert_non_null(strstr(output, "is sound"));
}

static void expect_backup(redisContext *client, const char *name)
{
    expect(client, "Background backup started", "BACKUP %s", name);
    await_end(client);
    assert_true(exists(name));
}

static const char *absolute_binary(void)
{
    static char path[PATH_MAX];

    assert_non_null(realpath(server_binary(), path));
    return path;
}

static void a_dump_of_the_backup_is_that_of_the_store(void **state)
{
    struct server_process *server = new_server();
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, "mail", 0, 300);
    expect(client, "*", "Q.PUSH later body ID x DELAY 1h PRIORITY 3");
    ask_integer(client, "ZADD scores 1 a 2 b");
    claim(client, "mail", "0");
    say(client, "SET last before-the-backup");
    say(client, "BACKUP night-1");
    expect_reply(client, "OK");
    expect_reply(client, "Background backup started");
    await_end(client);
    assert_true(ask_info(client, "journal", "backup_last_bytes") > 300 * 500);
    assert_true(ask_info(client, "journal", "backup_last_lsn") > 0);
    server_process_stop(server);
    expect_sound(path_of("night-1"));
    /* The copy has a history of its own, with greater numbers. */
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && plain() { sed 's/\"next_[a-z]*\":[0-9]*,*//g; "
                               "s/,}/}/g'; } && "
                               "%s dump %s | plain > one && %s dump night-1 | plain > two && "
                               "test -s one && cmp one two",
                               place, absolute_binary(), server->data, absolute_binary()),
                     0);
}

/* All that was replied before the reply of BACKUP is in it, and each record that it has is
 * whole: the topics' jobs come in one transaction. */
static void a_backup_of_a_busy_server_is_whole(void **state)
{
    struct server_process *server = new_server(), *restored;
    redisContext *client, *other;
    int pushed = JOBS, many;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    other = client_open(server);
    push_jobs(client, "mail", 0, JOBS);
    expect(other, "Background backup started", "BACKUP copy");
    while (ask_info(other, "journal", "backup_in_progress") == 1) {
        for (int i = 0; i < 50; i++, pushed++) {
            say(client, "MULTI");
            say(client, "Q.PUSH mail body-%d ID %d", pushed, pushed);
            say(client, "Q.PUSH twin body-%d ID %d", pushed, pushed);
            say(client, "EXEC");
            for (int reply = 0; reply < 4; reply++)
                expect_reply(client, "*");
        }
    }
    assert_true(exists("copy"));
    expect(client, "\"*backup_last_status:ok*\"", "INFO journal");
    assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed);
    server_process_stop(server);
    expect_sound(path_of("copy"));

    restored = server_process_new();
    server_process_option(restored, "dir", path_of("copy"));
    server_process_run(restored);
    client = client_open(restored);
    many = (int)ask_integer(client, "Q.LEN mail");
    assert_true(many >= JOBS && many <= pushed);
    assert_int_equal(ask_integer(client, "Q.LEN twin"), many - JOBS);
    expect_field(client, "body", "\"body-1-*\"", "Q.GET mail 1");
    push_jobs(client, "mail", 1000000, 10);
    server_process_stop(restored);
    expect_sound(path_of("copy"));
}

static void names_are_plain_and_new(void **state)
{
    struct server_process *server = new_server();
    char longest[202];
    redisContext *client;

    (void)state;
    memset(longest, 'a', 201);
    longest[201] = '\0';
    server_process_run(server);
    client = client_open(server);
    expect(client, "!ERR the name of a backup *", "BACKUP ../copy");
    expect(client, "!ERR the name of a backup *", "BACKUP .copy");
    expect(client, "!ERR the name of a backup *", "BACKUP copy.partial");
    expect(client, "!ERR the name of a backup *", "BACKUP %b", "a\0b", (size_t)3);
    expect(client, "!ERR the name of a backup *", "BACKUP %b", "", (size_t)0);
    expect(client, "!ERR the name of a backup *", "BACKUP %s", longest);
    expect(client, "!ERR wrong number of arguments for 'backup' command", "BACKUP");
    expect(client, "!ERR *", "CONFIG SET backup-dir /tmp");
    expect_backup(client, "copy");
    expect(client, "!ERR backup-dir has something of that name already", "BACKUP copy");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "BACKUP two");
    expect(client, "QUEUED", "BACKUP three");
    expect(client, "*Background backup started*ERR a backup is in progress*", "EXEC");
    await_end(client);
    assert_false(exists("three"));
}

static void without_a_place_it_is_refused(void **state)
{
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);

    (void)state;
    expect(client, "!ERR backup-dir is not set", "BACKUP copy");
    assert_int_equal(ask_info(client, "journal", "backup_in_progress"), 0);
    expect(client, "\"*backup_last_status:none*\"", "INFO journal");
}

static void a_disk_without_room_is_said(void **state)
{
    struct server_process *server = new_server();
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, "mail", 0, 100);
    server_process_stop(server);
    server_process_option(server, "disk-reserve", "1tb");
    server_process_run(server);
    client = client_open(server);
    expect(client, "Background backup started", "BACKUP copy");
    await_end(client);
    assert_int_equal(ask_info(client, "journal", "backup_failures"), 1);
    assert_false(exists("copy"));
    assert_false(exists("copy.partial"));
    for (int i = 0; i < 500; i++) {
        run_shell(output, sizeof(output), "grep -c 'no room for it' %s || true", server->log);
        if (atoi(output) == 1)
            break;
        sleep_ms(20);
    }
    assert_int_equal(atoi(output), 1);
}

/* Either it has its name and is whole, or it has not and the next one takes its place. */
static void a_kill_leaves_a_whole_backup_or_none(void **state)
{
    struct server_process *server = new_server();
    redisContext *client;
    char name[32];

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, "mail", 0, JOBS);
    for (int round = 0; round < 8; round++) {
        snprintf(name, sizeof(name), "copy-%d", round);
        expect(client, "Background backup started", "BACKUP %s", name);
        sleep_ms(round * 3);
        server_process_kill(server);
        if (exists(name))
            expect_sound(path_of(name));
        server_process_run(server);
        client = client_open(server);
        if (!exists(name))
            expect_backup(client, name);
        expect_sound(path_of(name));
        strcat(name, ".partial");
        assert_false(exists(name));
        assert_int_equal(ask_integer(client, "Q.LEN mail"), JOBS);
    }
}

static void a_stop_in_the_middle_leaves_nothing_half(void **state)
{
    struct server_process *server = new_server();
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, "mail", 0, JOBS);
    expect(client, "Background backup started", "BACKUP copy");
    server_process_stop(server);
    assert_false(exists("copy.partial"));
    if (exists("copy"))
        expect_sound(path_of("copy"));
}

static void a_sandbox_lets_it_be_made(void **state)
{
    struct server_process *server = new_server();
    redisContext *client;

    (void)state;
    if (server_is_emulated()) {
        print_message("an emulator has no filter of system calls\n");
        skip();
    }
    server_process_option(server, "sandbox", "yes");
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, "mail", 0, 100);
    expect_backup(client, "copy");
    expect_sound(path_of("copy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_dump_of_the_backup_is_that_of_the_store, tear_down),
        cmocka_unit_test_teardown(a_backup_of_a_busy_server_is_whole, tear_down),
        cmocka_unit_test_teardown(names_are_plain_and_new, tear_down),
        cmocka_unit_test_teardown(without_a_place_it_is_refused, tear_down),
        cmocka_unit_test_teardown(a_disk_without_room_is_said, tear_down),
        cmocka_unit_test_teardown(a_kill_leaves_a_whole_backup_or_none, tear_down),
        cmocka_unit_test_teardown(a_stop_in_the_middle_leaves_nothing_half, tear_down),
        cmocka_unit_test_teardown(a_sandbox_lets_it_be_made, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
