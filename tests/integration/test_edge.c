/* The profile for small devices: its memory, its start, and what is chosen besides it. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { JOBS = 100000, AT_ONCE = 200 };

/* Of a program that shares its libraries with others only what is not code counts. */
struct bound {
    long idle_kb, loaded_kb;
};
static const struct bound of_static = {4096, 8192}, of_shared = {2048, 5120};

/* Is there such a file in the memory of the program? */
static bool maps(const struct server_process *server, const char *name)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        found |= strstr(line, name) != NULL;
    fclose(file);
    return found;
}

static bool is_static(const struct server_process *server)
{
    return !maps(server, ".so");
}

static long resident_kb(const struct server_process *server)
{
    char path[64], line[512];
    long kb = 0, one;
    bool all = is_static(server), counts = true;
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strchr(line, '-') != NULL)
            counts = all || (strstr(line, ".so") == NULL && strstr(line, "/dueq\n") == NULL);
        if (counts && sscanf(line, "Rss: %ld", &one) == 1)
            kb += one;
    }
    fclose(file);
    return kb;
}

/* With ids of the client, in no order: these need an index. */
static void push_delayed(redisContext *client)
{
    char body[101];
    memset(body, 'b', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    for (int i = 0; i < JOBS; i += AT_ONCE) {
        for (int j = i; j < i + AT_ONCE; j++)
            say(client, "Q.PUSH mail %s ID %08x DELAY %d", body, (unsigned)j * 2654435761U,
                3600000 + j * 7919 % 1000000);
        for (int j = 0; j < AT_ONCE; j++)
            expect_reply(client, "*");
    }
}

/* A turn gives pages back 200 ms after the one before that did so. */
static void expect_resident(redisContext *client, const struct server_process *server,
                            long most)
{
    long kb = 0;
    for (int i = 0; i < 1000; i++) {
        expect(client, "*", "Q.LEN mail");
        kb = resident_kb(server);
        if (kb <= most)
            return;
        sleep_ms(20);
    }
    fail_msg("resident: %ld KB", kb);
}

static void memory_stays_small(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("profile edge");
    redisContext *client = client_open(server);
    struct bound bound = is_static(server) ? of_static : of_shared;
    if (maps(server, "asan"))
        skip();
    if (server_is_emulated()) {
        print_message("not measured: the memory is the emulator's\n");
        skip();
    }
    expect_resident(client, server, bound.idle_kb);
    push_delayed(client);
    expect(client, "100000", "Q.LEN mail");
    expect_resident(client, server, bound.loaded_kb);
    for (int i = 0; i < JOBS; i += 10000) /* what is only read does not stay, either */
        expect(client, "*", "Q.PEEK mail COUNT 10000");
    expect_resident(client, server, bound.loaded_kb);
    client_close(client);
    server_process_kill(server); /* nor what an opening reads */
    server_process_run(server);
    assert_in_range(resident_kb(server), 0, bound.loaded_kb);
}

/* ---- what a start does, which is what its time is made of */

struct work {
    long long read_bytes, calls,
        faults; /* read by calls; calls to read; pages that it touched */
};

/* The number after `name` in a file of lines "name: number". */
static long long number_in(const char *file, const char *name)
{
    char text[4096];
    const char *found;
    FILE *input = fopen(file, "r");
    assert_non_null(input);
    text[fread(text, 1, sizeof(text) - 1, input)] = '\0';
    fclose(input);
    found = strstr(text, name);
    assert_non_null(found);
    return atoll(found + strlen(name));
}

static long long faults_of(const struct server_process *server)
{
    char path[64], line[512];
    long long minor, major;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    assert_int_equal(sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %lld %*u %lld",
                            &minor, &major),
                     2);
    return minor + major;
}

static struct work start_again(struct server_process *server)
{
    char path[64];
    server_process_kill(server);
    server_process_run(server);
    snprintf(path, sizeof(path), "/proc/%d/io", (int)server->pid);
    return (struct work){number_in(path, "rchar: "), number_in(path, "syscr: "),
                         faults_of(server)};
}

/* The aim is 50 ms, which is no assertion: it would be about the machine. A start reads the
 * journal, which has 4 MB and a segment at most, and of data.mdb the pages where the ids of the
 * jobs in it belong: how many that are depends on how far the checkpoint had come. All of
 * data.mdb is several times as much. */
static void a_start_does_not_depend_on_the_jobs(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("profile edge");
    redisContext *client;
    struct work empty, full;
    enum { MORE_BYTES = 8 * 1024 * 1024 };
    if (maps(server, "asan"))
        skip();
    if (server_is_emulated()) {
        print_message("not measured: the emulator reads and touches more\n");
        skip();
    }
    empty = start_again(server);
    client = client_open(server);
    push_delayed(client);
    client_close(client);
    full = start_again(server);
    print_message("start: %lld bytes, %lld calls, %lld faults; with jobs %lld, %lld, %lld\n",
                  empty.read_bytes, empty.calls, empty.faults, full.read_bytes, full.calls,
                  full.faults);
    assert_in_range(full.read_bytes, 0, empty.read_bytes + MORE_BYTES);
    assert_in_range(full.calls, 0, empty.calls + MORE_BYTES / 4096);
    assert_in_range(full.faults, 0, empty.faults + MORE_BYTES / 4096);
}

static void what_is_in_effect_is_shown(void **state)
{
    (void)state;
    struct server_process *server =
        server_process_start("memtable-size 1mb, profile edge, maxclients 5");
    redisContext *client = client_open(server);
    expect(client, "[\"profile\" \"edge\"]", "CONFIG GET profile");
    expect(client, "[\"memtable-size\" \"1048576\"]", "CONFIG GET memtable-size");
    expect(client, "[\"segment-size\" \"1048576\"]", "CONFIG GET segment-size");
    expect(client, "[\"maxclients\" \"5\"]", "CONFIG GET maxclients");
    expect(client, "!ERR *", "CONFIG SET profile default");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(memory_stays_small),
        serving_test(a_start_does_not_depend_on_the_jobs),
        serving_test(what_is_in_effect_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
