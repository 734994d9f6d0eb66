/* What both ways of moving need of the two servers. */
#include "tools/move/move.h"

#include <stdio.h>
#include <string.h>

enum { SCAN_COUNT = 2000, NAME_SHOWN = 255 };

int move_tell_failure(const struct move *move)
{
    const struct peer *failed = move->from.failed ? &move->from : &move->to;

    fprintf(stderr, "%s: %s\n%s: what is moved stays moved; run it again to go on\n",
            move->options->command, failed->why, move->options->command);
    return MOVE_FAILED;
}

void move_print_name(struct dueq_slice name)
{
    const unsigned char *bytes = name.data;

    for (size_t i = 0; i < name.size && i < NAME_SHOWN; i++)
        printf(bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '\\' ? "\\x%02x" : "%c",
               bytes[i]);
}

static void ask_scan(struct move *move, const char *cursor)
{
    struct peer *from = &move->from;
    const char *pattern = move->options->pattern;

    peer_begin(from, pattern != NULL ? 6 : 4);
    peer_text(from, "SCAN");
    peer_text(from, cursor);
    peer_text(from, "COUNT");
    peer_number(from, SCAN_COUNT);
    if (pattern != NULL) {
        peer_text(from, "MATCH");
        peer_text(from, pattern);
    }
}

bool move_scan(struct move *move, scan_fn page, void *arg)
{
    char cursor[32] = "0";
    bool going = true;

    do {
        redisReply *reply;

        ask_scan(move, cursor);
        reply = peer_take(&move->from);
        if (reply == NULL)
            return false;
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[0]->str == NULL || reply->element[1]->type != REDIS_REPLY_ARRAY) {
            freeReplyObject(reply);
            return peer_fail(&move->from, "SCAN replies something else");
        }
        snprintf(cursor, sizeof(cursor), "%.31s", reply->element[0]->str);
        going = reply->element[1]->elements == 0 || page(arg, reply->element[1]);
        freeReplyObject(reply);
    } while (going && strcmp(cursor, "0") != 0);
    return going;
}
