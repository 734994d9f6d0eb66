/* Parts of strings: append, length, ranges of bytes. */
#include "server/commands/database.h"
#include "server/commands/range.h"
#include "server/commands/string_value.h"
#include "server/commands/strings/string_build.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/string.h"

#include <string.h>

static enum outcome too_long(struct context *context)
{
    resp_error(context->reply, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    return OUTCOME_DONE;
}

/* The old value with `piece` laid over it at `offset`, and zeros between them. */
struct overlay {
    struct dueq_slice old, piece;
    size_t offset;
    enum string_origin origin;
    const char *event;
};

/* Copies what part has of the bytes from `from` to `to`; it begins at `offset`. */
static void lay(uint8_t *bytes, size_t from, size_t to, struct dueq_slice part, size_t offset)
{
    size_t first = from > offset ? from : offset;
    size_t last = to < offset + part.size ? to : offset + part.size;

    if (first < last)
        memcpy(bytes + first, (const uint8_t *)part.data + (first - offset), last - first);
}

static bool fill_overlay(struct context *context, void *arg, uint8_t *bytes, size_t from,
                         size_t to)
{
    const struct overlay *overlay = arg;
    size_t zeros = from > overlay->old.size ? from : overlay->old.size;

    (void)context;
    lay(bytes, from, to, overlay->old, 0);
    if (zeros < to)
        memset(bytes + zeros, 0, to - zeros);
    lay(bytes, from, to, overlay->piece, overlay->offset);
    return true;
}

static enum outcome write_overlay(struct context *context, void *arg, struct dueq_slice value)
{
    const struct overlay *overlay = arg;

    if (string_value_write(context, context_slice(context, 1), value, KEYS_KEEP_EXPIRY,
                           overlay->origin, overlay->event))
        resp_integer(context->reply, (int64_t)value.size);
    return OUTCOME_DONE;
}

static enum outcome lay_over(struct context *context, struct overlay *overlay)
{
    static const struct string_build_form form = {fill_overlay, write_overlay};
    size_t end = overlay->offset + overlay->piece.size;

    return string_build(context, &form, overlay,
                        end > overlay->old.size ? end : overlay->old.size, 1);
}

static enum outcome run_append(struct context *context)
{
    struct dueq_slice value, tail = context_slice(context, 2);
    struct overlay overlay;
    bool found;

    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return OUTCOME_DONE;
    if (value.size + tail.size > string_value_max(context))
        return too_long(context);
    overlay = (struct overlay){value, tail, value.size, found ? STRING_EDITED : STRING_GIVEN,
                               "append"};
    return lay_over(context, &overlay);
}

static enum outcome run_setrange(struct context *context)
{
    struct dueq_slice value, piece = context_slice(context, 3);
    uint64_t most = string_value_max(context);
    struct overlay overlay;
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
    overlay = (struct overlay){value, piece, (size_t)offset, STRING_EDITED, "setrange"};
    return lay_over(context, &overlay);
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
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST | COMMAND_READS_FIRST |
              COMMAND_READS_ANEW,
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
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_FIRST | COMMAND_READS_ANEW,
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
