#include "tools/move/move_json.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static int output = -1; /* standard output, as it was */

void move_json_begin(struct move *move)
{
    output = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    move->counts = json_object();
}

void move_count(struct move *move, const char *name, uint64_t count)
{
    if (move->counts != NULL)
        json_object_set_new(move->counts, name, json_integer((json_int_t)count));
}

void move_json_end(struct move *move, int status)
{
    if (move->counts == NULL)
        return;
    fflush(stdout); /* what people are told */
    dup2(output, STDOUT_FILENO);
    close(output);
    json_object_set_new(move->counts, "status", json_integer(status));
    json_dumpf(move->counts, stdout, JSON_COMPACT);
    puts("");
    fflush(stdout);
    json_decref(move->counts);
    move->counts = NULL;
}
