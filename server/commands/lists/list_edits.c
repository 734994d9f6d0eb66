/* LINSERT and LREM: search for elements, then insert or remove in the middle of a list. Short
 * work is done at once. A long search goes on in later turns (long_work.h). When many elements
 * would have to move, a new list is built in slices; other clients read the old one until the
 * new one replaces it. */
#include "server/commands/database.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/dueq.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/list.h"

#include <stdlib.h>

enum {
    MOVED_AT_ONCE = 1024,  /* elements; a packed list has fewer */
    INDEXES = 64,          /* of elements to remove that are kept in memory */
    SLICE_ROOM = 1 << 20,  /* bytes by which the new list may grow in a turn */
    DRAIN_BYTES = 1 << 16, /* that a removal may write on a full disk */
    RECORD_BYTES = 64,     /* that an element has beside its value */
    STEP_BYTES = 16384,    /* a larger element is several steps when it is compared ... */
    COPY_BYTES = 2048      /* ... and when it moves */
};

/* One edit: a search from one end, then the change. */
struct editing {
    struct list_edit edit;
    bool searched;
    uint64_t size;             /* of the list */
    uint64_t looked;           /* elements compared */
    uint64_t bytes;            /* of the elements compared */
    uint64_t found;            /* equal elements */
    uint64_t indexes[INDEXES]; /* of the first equal elements */
    unsigned budget;           /* steps left in this slice */
    struct dueq_slice wanted;
    struct keys_build *build;
};

static struct dueq_slice list_key(const struct context *context)
{
    return context_slice(context, 1);
}

static void free_editing(void *state)
{
    struct editing *editing = state;

    keys_build_free(editing->build);
    free(editing);
}

/* ---- looking for what equals */

static uint64_t search_index(const struct editing *editing)
{
    return editing->edit.towards == LIST_TAIL ? editing->looked
                                              : editing->size - 1 - editing->looked;
}

static void spend(struct editing *editing, size_t bytes)
{
    size_t cost = 1 + bytes / STEP_BYTES;

    editing->bytes += bytes;
    editing->budget -= cost < editing->budget ? (unsigned)cost : editing->budget;
}

static bool look_at(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct editing *editing = arg;

    (void)unused;
    spend(editing, value.size);
    if (dueq_slice_equal(value, editing->wanted)) {
        if (editing->found < INDEXES)
            editing->indexes[editing->found] = search_index(editing);
        editing->found++;
    }
    editing->looked++;
    return editing->found < editing->edit.limit && editing->budget > 0;
}

/* A slice of the search. */
static enum dueq_status search(const struct keys_view *view, struct dueq_slice name,
                               struct editing *editing, unsigned budget)
{
    enum dueq_status status;

    editing->budget = budget;
    status =
        list_each(view, name, search_index(editing), editing->edit.towards, look_at, editing);
    editing->searched =
        editing->looked == editing->size || editing->found == editing->edit.limit;
    return status;
}

/* ---- the change */

/* Bytes of an element, as far as is known. */
static uint64_t average(const struct editing *editing)
{
    return editing->bytes / (editing->looked == 0 ? 1 : editing->looked);
}

/* Are the elements that would move few and small? */
static bool move_at_once(const struct editing *editing, uint64_t moved)
{
    return moved * (1 + average(editing) / COPY_BYTES) <= MOVED_AT_ONCE;
}

/* Elements that move are written again: many need room, also when the list becomes shorter.
 * Sets *status. */
static bool has_room(const struct context *context, const struct editing *editing,
                     uint64_t moved, enum dueq_status *status)
{
    uint64_t bytes = moved * (average(editing) + RECORD_BYTES);

    *status = bytes <= DRAIN_BYTES ? DUEQ_OK : dueq_room(context->store, bytes);
    return *status == DUEQ_OK;
}

/* True: done, with its *status. False: too many elements would move. */
static bool insert_at_once(struct context *context, struct editing *editing,
                           enum dueq_status *status)
{
    struct keys_view view = database_view(context);
    uint64_t index = editing->edit.index;
    uint64_t moved = index < editing->size / 2 ? index : editing->size - index;

    if (!move_at_once(editing, moved))
        return false;
    if (has_room(context, editing, moved, status))
        *status = list_insert(&view, list_key(context), index, editing->edit.value);
    return true;
}

static void in_ascending_order(struct editing *editing)
{
    for (uint64_t i = 0; editing->edit.towards == LIST_HEAD && i < editing->found / 2; i++) {
        uint64_t *other = &editing->indexes[editing->found - 1 - i], kept = *other;

        *other = editing->indexes[i];
        editing->indexes[i] = kept;
    }
}

static bool remove_at_once(struct context *context, struct editing *editing,
                           enum dueq_status *status)
{
    struct keys_view view = database_view(context);
    uint64_t moved, removed;

    if (editing->found == editing->size) {
        *status = keys_del(&view, list_key(context));
        return true;
    }
    if (editing->found > INDEXES && move_at_once(editing, editing->size)) {
        if (has_room(context, editing, editing->size, status))
            *status = list_remove_equal(&view, list_key(context), editing->wanted,
                                        editing->edit.towards, editing->edit.limit, &removed);
        return true;
    }
    if (editing->found > INDEXES)
        return false;
    in_ascending_order(editing);
    moved = list_removal_moves(editing->indexes, (size_t)editing->found, editing->size);
    if (!move_at_once(editing, moved)) {
        in_ascending_order(editing); /* as before */
        return false;
    }
    if (has_room(context, editing, moved, status))
        *status =
            list_remove_at(&view, list_key(context), editing->indexes, (size_t)editing->found);
    return true;
}

static enum outcome answer_insert(struct context *context, const struct editing *editing)
{
    database_notify(context, EVENT_LIST, "linsert", list_key(context));
    return context_reply_integer(context, (int64_t)editing->size + 1);
}

static enum outcome answer_remove(struct context *context, const struct editing *editing)
{
    database_notify(context, EVENT_LIST, "lrem", list_key(context));
    database_notify_if_removed(context, list_key(context));
    return context_reply_integer(context, (int64_t)editing->found);
}

static enum outcome answer(struct context *context, const struct editing *editing)
{
    return editing->edit.kind == LIST_INSERTED ? answer_insert(context, editing)
                                               : answer_remove(context, editing);
}

/* No element was equal. */
static enum outcome answer_nothing(struct context *context, const struct editing *editing)
{
    return context_reply_integer(context, editing->edit.kind == LIST_INSERTED ? -1 : 0);
}

/* True: the reply is written, whether something changed, nothing had to, or it failed. */
static bool change_at_once(struct context *context, struct editing *editing)
{
    enum dueq_status status = DUEQ_OK;

    if (editing->found == 0) {
        answer_nothing(context, editing);
        return true;
    }
    if (editing->edit.kind == LIST_INSERTED) {
        editing->edit.index = editing->indexes[0] + arguments_is(context, 2, "after");
        if (!insert_at_once(context, editing, &status))
            return false;
    } else if (!remove_at_once(context, editing, &status)) {
        return false;
    }
    if (context_check_status(context, status))
        answer(context, editing);
    return true;
}

/* ---- in slices */

static enum outcome later(struct context *context, struct editing *editing)
{
    return long_work_continue(context, editing, free_editing, LONG_HOLDS_SOURCES);
}

/* From here on the build notices changes of the list. */
static enum outcome begin(struct context *context, struct editing *editing, uint64_t size)
{
    struct keys_view view = database_view(context);

    if (editing->build != NULL)
        long_work_restarts(context);
    keys_build_free(editing->build);
    editing->build = NULL;
    editing->searched = false;
    editing->size = size;
    editing->looked = editing->bytes = editing->found = 0;
    if (!context_check_status(
            context, keys_build_new(&view, list_key(context), &editing->edit, &editing->build)))
        return OUTCOME_DONE;
    return later(context, editing);
}

static enum outcome search_on(struct context *context, struct editing *editing)
{
    struct keys_view view = database_view(context);

    if (!context_check_status(context, search(&view, list_key(context), editing, LONG_STEPS)))
        return OUTCOME_DONE;
    if (editing->searched && change_at_once(context, editing))
        return OUTCOME_DONE;
    if (editing->searched && editing->edit.kind == LIST_INSERTED)
        keys_build_insert_at(editing->build, editing->edit.index);
    return later(context, editing);
}

static enum outcome build_on(struct context *context, struct editing *editing)
{
    struct keys_view view = database_view(context);
    bool finished = false;
    uint64_t left;
    uint64_t room = SLICE_ROOM + keys_build_holds(editing->build);
    enum dueq_status status = dueq_room(context->store, room);

    if (status == DUEQ_OK)
        status = keys_build_step(editing->build, &view, LONG_STEPS, &finished);
    if (status == DUEQ_OK && finished)
        status = keys_build_replace(editing->build, &view, &left);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (finished)
        return answer(context, editing);
    long_work_state_holds(context, keys_build_holds(editing->build));
    return later(context, editing);
}

/* When the list has changed, the search begins again, as if the command came now. */
static enum outcome go_on(struct context *context, struct editing *editing, uint64_t size)
{
    struct keys_view view = database_view(context);

    if (size == 0)
        return context_reply_integer(context, 0);
    editing->wanted = context_slice(context, 3);
    editing->edit.value = context_slice(context, editing->edit.kind == LIST_INSERTED ? 4 : 3);
    if (editing->build == NULL || !keys_build_is_sound(editing->build, &view))
        return begin(context, editing, size);
    return editing->searched ? build_on(context, editing) : search_on(context, editing);
}

static enum outcome put_off(struct context *context, const struct editing *editing)
{
    struct editing *state = malloc(sizeof(*state));

    if (state == NULL)
        return context_status(context, DUEQ_NOMEM);
    *state = *editing;
    return later(context, state);
}

/* ---- the commands */

/* size: of the list. The value of an insertion must live as long as the request. */
static enum outcome perform_edit(struct context *context, const struct list_edit *edit,
                                 uint64_t size)
{
    struct editing editing = {.edit = *edit, .size = size, .wanted = context_slice(context, 3)};
    struct keys_view view = database_view(context);

    if (!long_work_fits(context, size))
        return OUTCOME_DONE;
    if (!context_check_status(context, search(&view, list_key(context), &editing, LONG_STEPS)))
        return OUTCOME_DONE;
    if (editing.searched && change_at_once(context, &editing))
        return OUTCOME_DONE;
    return put_off(context, &editing);
}

static enum outcome run_linsert(struct context *context)
{
    struct list_edit edit = {.kind = LIST_INSERTED,
                             .towards = LIST_TAIL,
                             .limit = 1,
                             .value = context_slice(context, 4)};
    bool after = arguments_is(context, 2, "after");
    uint64_t size;

    if (!after && !arguments_is(context, 2, "before"))
        return context_syntax_error(context);
    if (!database_read_count(context, list_key(context), KEYS_LIST, &size))
        return OUTCOME_DONE;
    if (long_work_state(context) != NULL)
        return go_on(context, long_work_state(context), size);
    return size == 0 ? context_reply_integer(context, 0) : perform_edit(context, &edit, size);
}

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static enum outcome run_lrem(struct context *context)
{
    struct list_edit edit = {.kind = LIST_REMOVED, .value = context_slice(context, 3)};
    int64_t count;
    uint64_t size;

    if (!arguments_integer(context, 2, NULL, &count) ||
        !database_read_count(context, list_key(context), KEYS_LIST, &size))
        return OUTCOME_DONE;
    if (long_work_state(context) != NULL)
        return go_on(context, long_work_state(context), size);
    edit.towards = count < 0 ? LIST_HEAD : LIST_TAIL;
    edit.limit = count == 0 ? UINT64_MAX : magnitude(count);
    return size == 0 ? context_reply_integer(context, 0) : perform_edit(context, &edit, size);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "linsert",
     .arity = 5,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "list",
     .since = "2.2.0",
     .summary = "Insert an element before or after another element in a list",
     .complexity = "O(N) where N is the number of elements to traverse before seeing the "
                   "value pivot. This means that inserting somewhere on the left end on "
                   "the list (head) can be considered O(1) and inserting somewhere on "
                   "the right end (tail) is O(N).",
     .syntax = "key <BEFORE|AFTER> pivot element",
     .categories = "list",
     .run = run_linsert},
    {.name = "lrem",
     .arity = 4,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Remove elements from a list",
     .complexity = "O(N+M) where N is the length of the list and M is the "
                   "number of elements removed.",
     .syntax = "key count element",
     .categories = "list",
     .run = run_lrem},
    {.name = NULL}};

COMMANDS(list_edits, entries)
