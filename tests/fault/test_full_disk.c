/* A full disk: the server refuses pushes, what drains the queue still works, and pushes are
 * accepted again without a restart when there is room. */
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/faults/full_disk.h"
#include "tests/support/models/job_load.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <setjmp.h>
#include <cmocka.h>

/* Claims, nacks, extends, acks and deletes so many of the first jobs. */
static void drain(redisContext *client, int count)
{
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        long long token = claim(client, "mail", id);
        if (i % 4 == 0) {
            ask_integer(client, "Q.EXTEND mail %s %lld 1h", id, token);
            expect(client, "\"delayed\"", "Q.NACK mail %s %lld DELAY 1h", id, token);
            expect(client, "1", "Q.DEL mail %s", id);
        } else {
            expect(client, "1", "Q.ACK mail %s %lld", id, token);
        }
    }
}

static void a_full_disk_refuses_pushes_and_can_be_drained(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int i = 0; i < 500; i++)
        expect(client, "*", "Q.PUSH early body ID %d", i);
    await_spare(server);
    faulty_disk_break(server, "grow ENOSPC");
    int pushed = push_until_full(client, 0);
    assert_true(pushed > 0);
    expect(client, "!FULL *", "Q.PUSH mail body");
    drain(client, pushed < 300 ? pushed : 300);
    expect(client, "PONG", "PING");
    expect(client, "500", "Q.LEN early");

    faulty_disk_repair(server);
    await_room(client);
    server_process_kill(server);
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed - (pushed < 300 ? pushed : 300));
    expect(client, "500", "Q.LEN early");
}

static void a_kill_on_a_full_disk_loses_nothing(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int i = 0; i < 500; i++)
        expect(client, "*", "Q.PUSH early body ID %d", i);
    await_spare(server);
    faulty_disk_break(server, "grow ENOSPC");
    int pushed = push_until_full(client, 0), drained = pushed < 50 ? pushed : 50;
    assert_true(pushed > 0);
    drain(client, drained);
    server_process_kill(server);
    faulty_disk_repair(server);
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed - drained);
    expect(client, "500", "Q.LEN early");
}

/* The server uses its own blocks, and takes no more of the disk than the reserve leaves. */
static void the_disk_reserve_is_kept(void **state)
{
    struct statvfs disk;
    (void)state;
    struct server_process *server = server_process_start("segment-size 1mb");
    statvfs(server->data, &disk);
    if (disk.f_bavail > ((uint64_t)1 << 40) / disk.f_frsize)
        skip(); /* more than the largest reserve is free */
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH early body");
    server_process_stop(server);
    server_process_option(server, "disk-reserve", "1024gb");
    server_process_run(server);
    client = client_open(server);
    int pushed = push_until_full(client, 0);
    assert_true(pushed < 20000);
    expect(client, "!FULL *", "Q.PUSH mail body");
    drain(client, pushed);
    expect(client, "0", "Q.LEN mail");
    server_process_stop(server);
    server_process_option(server, "disk-reserve", "1mb");
    server_process_run(server);
    expect(client_open(server), "*", "Q.PUSH mail body ID again");
    expect(client_open(server), "[[\"again\" *]]", "Q.CLAIM mail");
}

static void take_what_is_left(const char *path)
{
    static char block[65536];
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    setvbuf(file, NULL, _IONBF, 0);
    for (size_t size = sizeof(block); size > 0; size /= 2)
        while (fwrite(block, 1, size, file) == size)
            continue;
    fclose(file);
}

static void live_without_a_byte(struct server_process *server, const char *hog)
{
    struct statvfs disk;
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int i = 0; i < 10; i++)
        expect(client, "*", "Q.PUSH early body ID %d", i);
    int pushed = push_until_full(client, 0);
    assert_true(pushed > 1000);
    take_what_is_left(hog);
    statvfs(server->data, &disk);
    assert_int_equal(disk.f_bavail, 0);
    expect(client, "!FULL *", "Q.PUSH mail body");
    drain(client, 300);
    server_process_kill(server);
    client_cleanup();
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed - 300);
    expect(client, "10", "Q.LEN early");
    for (int i = 300; i < pushed; i++)
        expect(client, "1", "Q.DEL mail %d", i);
    expect(client, "OK", "SAVE");
    await_room(client); /* within its own files: the disk has none */
    server_process_stop(server);
    server_process_run(server);
    client = client_open(server);
    expect(client, "10", "Q.LEN early");
    assert_true(ask_integer(client, "Q.LEN fresh") > 0);
}

/* On a real file system that another program has filled to the last byte. */
static void a_disk_without_a_byte_is_lived_with(void **state)
{
    char hog[PATH_MAX];
    (void)state;
    struct server_process *server = server_process_new();
    mkdir(server->data, 0700);
    if (mount("tmpfs", server->data, "tmpfs", 0, "size=48m,mode=700") != 0) {
        print_message("skipped: mounting a small file system needs root\n");
        skip();
    }
    snprintf(hog, sizeof(hog), "%s/hog", server->data);
    server_process_option(server, "segment-size", "2mb");
    server_process_option(server, "memtable-size", "2mb");
    server_process_option(server, "disk-reserve", "2mb");
    live_without_a_byte(server, hog);
    server_process_stop(server);
    umount2(server->data, MNT_DETACH);
}

static void a_full_map_can_be_drained_whole(void **state)
{
    (void)state;
    struct server_process *server =
        server_process_start("map-size 16mb, memtable-size 1mb, journal-size 4mb");
    redisContext *client = client_open(server);
    for (int round = 0; round < 2; round++) {
        int pushed = push_until_full(client, 0);
        assert_true(pushed > 1000);
        server_process_kill(server); /* it starts, full or not */
        client_cleanup();
        server_process_run(server);
        client = client_open(server);
        assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed);
        drain(client, pushed);
        expect(client, "0", "Q.LEN mail");
        expect(client, "OK", "SAVE"); /* or the end of the drain may be in memory still */
        await_room(client);
    }
}

static void a_full_server_keeps_its_word_under_load(void **state)
{
    struct dice dice;
    struct job_model model;
    struct job_load load = {
        .model = &model, .dice = &dice, .population = 20000, .refusals = true};
    (void)state;
    dice_begin(&dice);
    job_model_init(&model);
    struct server_process *server =
        server_process_start("map-size 8mb, memtable-size 256kb, journal-size 2mb");
    for (int round = 0; round < 4; round++) {
        job_load_open(&load, server);
        for (int step = 0; step < 500; step++)
            assert_true(job_load_step(&load));
        job_load_finish(&load);
        if (round % 2)
            server_process_kill(server);
        else
            server_process_stop(server);
        server_process_run(server);
        job_model_check(&model, client_open(server));
        client_cleanup();
    }
    print_message("%llu replies, %llu pushes refused\n", (unsigned long long)load.replies,
                  (unsigned long long)load.refused_pushes);
    assert_true(load.refused_pushes > 0);
    assert_int_equal(load.refused_others, 0);
    job_model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(a_full_disk_refuses_pushes_and_can_be_drained),
        serving_test(a_kill_on_a_full_disk_loses_nothing),
        serving_test(the_disk_reserve_is_kept),
        serving_test(a_disk_without_a_byte_is_lived_with),
        serving_test(a_full_map_can_be_drained_whole),
        serving_test(a_full_server_keeps_its_word_under_load),
    };
    return cmocka_run_group_tests_name("full disk", tests, NULL, NULL);
}
