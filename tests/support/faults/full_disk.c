#include "tests/support/faults/full_disk.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { BODY = 1000, PUSHES_MAX = 2000000 };

int push_until_full(redisContext *client, int first)
{
    char body[BODY];
    memset(body, 'b', sizeof(body));
    for (int i = 0; i < PUSHES_MAX; i++) {
        redisReply *reply =
            redisCommand(client, "Q.PUSH mail %b ID %d", body, sizeof(body), first + i);
        if (!reply)
            fail_at(__FILE__, __LINE__, "push %d: %s", i, client->errstr);
        bool full = reply->type == REDIS_REPLY_ERROR;
        if (full && strncmp(reply->str, "FULL ", 5) != 0)
            fail_at(__FILE__, __LINE__, "push %d: %s", i, reply->str);
        freeReplyObject(reply);
        if (full)
            return i;
    }
    fail_at(__FILE__, __LINE__, "never full");
}

void await_room(redisContext *client)
{
    for (int waited = 0; waited < 12000; waited++) {
        redisReply *reply = redisCommand(client, "Q.PUSH fresh body");
        bool taken = reply && reply->type == REDIS_REPLY_STRING;
        freeReplyObject(reply);
        if (taken)
            return;
        sleep_ms(5);
    }
    fail_at(__FILE__, __LINE__, "pushes are refused for ever");
}

void await_spare(const struct server_process *server)
{
    char pattern[PATH_MAX];
    bool there = false;
    snprintf(pattern, sizeof(pattern), "%s/journal/spare-*", server->data);
    for (int waited = 0; waited < 12000 && !there; waited++) {
        glob_t found;
        there = glob(pattern, 0, NULL, &found) == 0;
        globfree(&found);
        if (!there)
            sleep_ms(5);
    }
    assert_true(there);
}
