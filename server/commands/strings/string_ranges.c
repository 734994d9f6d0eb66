/* Parts of strings: append, length, ranges of bytes. */
#include "server/commands/database.h"
#include "server/commands/range.h"
#include "server/commands/string_value.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/string.h"

#include <stdlib.h>
#include <string.h>

static enum outcome too_long(struct context *context)
{
    resp_error(context->reply, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    return OUTCOME_DONE;
}

/* Writes the old value with `piece` laid over it at `offset`, and zeros between them. */
static bool overlay(struct context *context, struct dueq_slice old, size_t offset,
                    struct dueq_slice piece, enum string_origin origin, const char *event)
{
    size_t end = offset + piece.size, size = end > old.size ? end : old.size;
    char *whole = calloc(1, size > 0 ? size : 1);
    bool written;

    if (whole == NULL)
        return context_check_status(context, DUEQ_NOMEM);
    if (old.size > 0)
        memcpy(whole, old.data, old.size);
    if (piece.size > 0)
        memcpy(whole + offset, piece.data, piece.size);
    written = string_value_write(context, context_slice(context, 1), dueq_slice(whole, size),
                                 KEYS_KEEP_EXPIRY, origin, event);
    free(whole);
    return written ? (resp_integer(context->reply, (int64_t)size), true) : false;
}

static enum outcome run_append(struct context *context)
{
    struct dueq_slice value, tail = context_slice(context, 2);
    bool found;

    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return OUTCOME_DONE;
    if (value.size + tail.size > string_value_max(context))
        return too_long(context);
    overlay(context, value, value.size, tail, found ? STRING_EDITED : STRING_GIVEN, "append");
    return OUTCOME_DONE;
}

static enum outcome run_setrange(struct context *context)
{
    struct dueq_slice value, piece = context_slice(context, 3);
    uint64_t most = string_value_max(context);
    int64_t offset;

    if (!arguments_integer(context, 2, NULL, &offset))
        return OUTCOME_DONE;
    if (offset < 0) {
        resp_error(context->reply, "ERR offset is out of range");
        return OUTCOME_DONE;
    }
    if (!string_value_read(context, context_slice(context, 1), &value, NULL))
        return OUTCOME_DONE;
    if (piece.size == 0)
        return context_reply_integer(context, (int64_t)value.size);
    if ((uint64_t)offset > most || (uint64_t)offset + piece.size > most)
        return too_long(context);
    overlay(context, value, (size_t)offset, piece, STRING_EDITED, "setrange");
    return OUTCOME_DONE;
}

static enum outcome run_strlen(struct context *context)
{
    struct dueq_slice value;

    if (!string_value_read(context, context_slice(context, 1), &value, NULL))
        return OUTCOME_DONE;
    return context_reply_integer(context, (int64_t)value.size);
}

static enum outcome run_getrange(struct context *context)
{
    struct dueq_slice value;
    int64_t start, stop;
    uint64_t first, count;

    if (!arguments_integer(context, 2, NULL, &start) ||
        !arguments_integer(context, 3, NULL, &stop))
        return OUTCOME_DONE;
    if (!string_value_read(context, context_slice(context, 1), &value, NULL))
        return OUTCOME_DONE;
    if (!range_clamp_string(start, stop, value.size, &first, &count)) {
        resp_bulk(context->reply, "", 0);
        return OUTCOME_DONE;
    }
    resp_bulk(context->reply, (const char *)value.data + first, count);
    return OUTCOME_DONE;
}

/* The name of GETRANGE before 2.0. */
static enum outcome run_substr(struct context *context)
{
    return run_getrange(context);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "append",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "string",
     .since = "2.0.0",
     .summary = "Append a value to a key",
     .complexity =
         "O(1). The amortized time complexity is O(1) assuming the appended value is small and "
         "the already present value is of any size, since the dynamic string library used by "
         "Redis will double the free space available on every reallocation.",
     .syntax = "key value",
     .categories = "string",
     .run = run_append},
    {.name = "strlen",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "string",
     .since = "2.2.0",
     .summary = "Get the length of the value stored in a key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "string",
     .run = run_strlen},
    {.name = "getrange",
     .arity = 4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "string",
     .since = "2.4.0",
     .summary = "Get a substring of the string stored at a key",
     .complexity =
         "O(N) where N is the length of the returned string. The complexity is ultimately "
         "determined by the returned length, but because creating a substring from an existing "
         "string is very cheap, it can be considered O(1) for small strings.",
     .syntax = "key start end",
     .categories = "string",
     .run = run_getrange},
    {.name = "substr",
     .arity = 4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Get a substring of the string stored at a key",
     .complexity =
         "O(N) where N is the length of the returned string. The complexity is ultimately "
         "determined by the returned length, but because creating a substring from an existing "
         "string is very cheap, it can be considered O(1) for small strings.",
     .syntax = "key start end",
     .categories = "string",
     .run = run_substr},
    {.name = "setrange",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "string",
     .since = "2.2.0",
     .summary = "Overwrite part of a string at key starting at the specified offset",
     .complexity =
         "O(1), not counting the time taken to copy the new string in place. Usually, this "
         "string is very small so the amortized complexity is O(1). Otherwise, complexity is "
         "O(M) with M being the length of the value argument.",
     .syntax = "key offset value",
     .categories = "string",
     .run = run_setrange},
    {.name = NULL}};

COMMANDS(string_ranges, entries)
