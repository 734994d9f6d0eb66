#include "tools/move/layout_shelves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1 };

struct dueq_slice shelf_name(const struct shelf *shelf)
{
    return dueq_slice(shelf->name, shelf->hh.keylen);
}

struct shelf *shelves_find(struct shelf *shelves, struct dueq_slice name)
{
    struct shelf *shelf;

    HASH_FIND(hh, shelves, name.data, name.size, shelf);
    return shelf;
}

bool shelves_ask(struct shelf **shelves, struct peer *to, const struct layout_put *put)
{
    struct shelf *shelf = shelves_find(*shelves, put->key);

    if (shelf != NULL)
        return true;
    shelf = calloc(1, sizeof(*shelf) + put->key.size);
    if (shelf == NULL)
        return peer_fail(to, "out of memory");
    memcpy(shelf->name, put->key.data, put->key.size);
    shelf->type = put_type(put->kind);
    shelf->is_note = put->is_note;
    shelf->before = UNKNOWN;
    HASH_ADD(hh, *shelves, name, put->key.size, shelf);
    peer_say(to, 2, (struct dueq_slice[]){text_slice("TYPE"), put->key});
    value_ask_size(to, shelf->type, put->key);
    return true;
}

static bool hear_one(struct shelf *shelf, struct peer *to)
{
    redisReply *type = peer_take(to), *size;
    char why[ONLINE_WHY];
    bool fits;

    if (type == NULL)
        return false;
    size = peer_hear(to); /* an error if it is of another type */
    fits = type->str != NULL && (strcmp(type->str, "none") == 0 ||
                                 strcmp(type->str, value_type_name(shelf->type)) == 0);
    if (!fits) {
        snprintf(why, sizeof(why), "%.*s is a %.20s there, and should be a %s: remove it",
                 shelf->hh.keylen < 100 ? (int)shelf->hh.keylen : 100, shelf->name,
                 type->str == NULL ? "?" : type->str, value_type_name(shelf->type));
        peer_fail(to, why);
    }
    shelf->before = size != NULL && size->type == REDIS_REPLY_INTEGER ? size->integer : 0;
    freeReplyObject(type);
    freeReplyObject(size);
    return !to->failed;
}

/* New ones are at the end: the hash keeps the order. */
bool shelves_hear(struct shelf *shelves, struct peer *to)
{
    const struct UT_hash_table *table = shelves == NULL ? NULL : shelves->hh.tbl;
    struct shelf *shelf = table == NULL ? NULL : ELMT_FROM_HH(table, table->tail);
    struct shelf *first = NULL;

    while (shelf != NULL && shelf->before == UNKNOWN) {
        first = shelf;
        shelf = shelf->hh.prev;
    }
    for (shelf = first; shelf != NULL; shelf = shelf->hh.next)
        if (!hear_one(shelf, to))
            return false;
    return !to->failed;
}

void shelves_print(const struct shelf *shelves, enum layout layout)
{
    for (const struct shelf *shelf = shelves; shelf != NULL; shelf = shelf->hh.next) {
        if (shelf->is_note || shelf->type == VALUE_HASH)
            continue;
        printf("%s: ", layout_name(layout));
        move_print_name(shelf_name(shelf));
        printf(": %" PRIu64 " jobs", shelf->put);
        if (shelf->before > 0)
            printf("; %lld elements were there before", shelf->before);
        puts("");
    }
}

void shelves_release(struct shelf **shelves)
{
    struct shelf *shelf, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what was freed is in the table no more */
    HASH_ITER(hh, *shelves, shelf, next) {
        HASH_DEL(*shelves, shelf);
        free(shelf);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}
