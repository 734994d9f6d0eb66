/* The profile for small devices: its memory, its start, and what is chosen besides it. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { JOBS = 100000, AT_ONCE = 200, IDLE_KB = 2048, LOADED_KB = 5120 };

static bool is_sanitized(const struct server_process *server)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)server->pid);
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL)
        found |= strstr(line, "asan") != NULL;
    fclose(maps);
    return found;
}

/* What is not code: memory of its own, and pages of data.mdb. */
static long resident_kb(const struct server_process *server)
{
    char path[64], line[512];
    long kb = 0, one;
    bool counts = true;
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strchr(line, '-') != NULL)
            counts = strstr(line, ".so") == NULL && strstr(line, "/dueq\n") == NULL;
        if (counts && sscanf(line, "Rss: %ld", &one) == 1)
            kb += one;
    }
    fclose(file);
    return kb;
}

static void push_delayed(redisContext *client)
{
    char body[101];
    memset(body, 'b', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    for (int i = 0; i < JOBS; i += AT_ONCE) {
        for (int j = i; j < i + AT_ONCE; j++)
            say(client, "Q.PUSH mail %s DELAY %d", body, 3600000 + j * 7919 % 1000000);
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
    if (is_sanitized(server))
        skip();
    expect_resident(client, server, IDLE_KB);
    push_delayed(client);
    expect(client, "100000", "Q.LEN mail");
    expect_resident(client, server, LOADED_KB);
    for (int i = 0; i < JOBS; i += 10000) /* what is only read does not stay, either */
        expect(client, "*", "Q.PEEK mail COUNT 10000");
    expect_resident(client, server, LOADED_KB);
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
        serving_test(what_is_in_effect_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
