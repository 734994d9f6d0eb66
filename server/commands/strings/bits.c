/* Strings as arrays of bits. Bit 0 is the most significant bit of byte 0. */
#include "server/commands/database.h"
#include "server/commands/range.h"
#include "server/commands/string_value.h"
#include "server/commands/strings/bit_scan.h"
#include "server/commands/strings/string_build.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/string.h"

#include <string.h>

static const char bad_offset[] = "ERR bit offset is not an integer or out of range";
static const char bad_bit[] = "ERR bit is not an integer or out of range";

/* ---- SETBIT, GETBIT */

static bool parse_offset(struct context *context, uint64_t *ret_offset)
{
    int64_t offset, bits = (int64_t)string_value_max(context) * 8;

    if (!arguments_integer(context, 2, INTEGER_OR(0, bits - 1, bad_offset), &offset))
        return false;
    *ret_offset = (uint64_t)offset;
    return true;
}

static unsigned bit_at(const uint8_t *bytes, uint64_t offset)
{
    return (bytes[offset / 8] >> (7 - offset % 8)) & 1U;
}

static unsigned bit_of(struct dueq_slice value, uint64_t offset)
{
    return offset / 8 < value.size ? bit_at(value.data, offset) : 0;
}

/* The old value with one bit set or cleared. */
struct bit_edit {
    struct dueq_slice old;
    uint64_t offset;
    unsigned bit;
};

static bool fill_edit(struct context *context, void *arg, uint8_t *bytes, size_t from,
                      size_t to)
{
    const struct bit_edit *edit = arg;
    size_t copied = edit->old.size < to ? edit->old.size : to, at = (size_t)(edit->offset / 8);
    unsigned mask = 1U << (7 - edit->offset % 8);

    (void)context;
    if (from < copied)
        memcpy(bytes + from, (const uint8_t *)edit->old.data + from, copied - from);
    if (copied < from)
        copied = from;
    memset(bytes + copied, 0, to - copied);
    if (at >= from && at < to)
        bytes[at] = (uint8_t)(edit->bit ? bytes[at] | mask : bytes[at] & ~mask);
    return true;
}

static enum outcome write_edit(struct context *context, void *arg, struct dueq_slice value)
{
    const struct bit_edit *edit = arg;
    unsigned old = bit_of(edit->old, edit->offset);

    if (string_value_write(context, context_slice(context, 1), value, KEYS_KEEP_EXPIRY,
                           STRING_EDITED, "setbit"))
        resp_integer(context->reply, old);
    return OUTCOME_DONE;
}

static enum outcome run_setbit(struct context *context)
{
    static const struct string_build_form form = {fill_edit, write_edit};
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    struct bit_edit edit;
    int64_t bit;
    size_t size;

    if (!parse_offset(context, &edit.offset) ||
        !arguments_integer(context, 3, INTEGER_OR(0, 1, bad_bit), &bit) ||
        !string_value_read(context, name, &edit.old, NULL))
        return OUTCOME_DONE;
    edit.bit = (unsigned)bit;
    size = edit.offset / 8 < edit.old.size ? edit.old.size : (size_t)(edit.offset / 8) + 1;
    if (size > edit.old.size || bit_of(edit.old, edit.offset) != edit.bit)
        return string_build(context, &form, &edit, size, 1);
    string_make_raw(&view, name);
    return context_reply_integer(context, bit); /* nothing changes, nothing is published */
}

static enum outcome run_getbit(struct context *context)
{
    struct dueq_slice value;
    uint64_t offset;

    if (parse_offset(context, &offset) &&
        string_value_read(context, context_slice(context, 1), &value, NULL))
        resp_integer(context->reply, bit_of(value, offset));
    return OUTCOME_DONE;
}

/* ---- ranges */

/* Reads BYTE or BIT, if there is one. False: the error is written. */
static bool parse_unit(struct context *context, size_t index, bool *ret_bits)
{
    static const char *const units[] = {"byte", "bit", NULL};
    unsigned unit;

    if (index >= context_count(context))
        return true;
    if (!arguments_choice(context, index, units, &unit))
        return false;
    *ret_bits = unit == 1;
    return true;
}

static struct bit_range range_of(int64_t start, int64_t end, bool bits, size_t size)
{
    uint64_t first, count;

    uint64_t limit = bits ? (uint64_t)size * 8 : size;

    if (end < -(int64_t)limit)
        end = -(int64_t)limit; /* the range ends at the first one or later */
    if (!range_clamp(start, end, limit, &first, &count))
        return (struct bit_range){.empty = true};
    if (bits)
        return (struct bit_range){first, first + count - 1, false};
    return (struct bit_range){first * 8, (first + count) * 8 - 1, false};
}

/* ---- BITCOUNT */

static void count_bits(struct bit_scan *scan, const uint8_t *bytes, struct bit_range part)
{
    uint64_t at = part.first, word;

    for (; at <= part.last && at % 8 != 0; at++)
        scan->result += bit_at(bytes, at);
    for (; at + 63 <= part.last; at += 64) {
        memcpy(&word, bytes + at / 8, sizeof(word));
        scan->result += __builtin_popcountll(word);
    }
    for (; at <= part.last; at++)
        scan->result += bit_at(bytes, at);
}

static bool parse_count_range(struct context *context, int64_t *start, int64_t *end, bool *bits)
{
    size_t arguments = context_count(context);

    if (arguments == 3 || arguments > 5) {
        context_syntax_error(context);
        return false;
    }
    return arguments == 2 ||
           (arguments_integer(context, 2, NULL, start) &&
            arguments_integer(context, 3, NULL, end) && parse_unit(context, 4, bits));
}

static enum outcome run_bitcount(struct context *context)
{
    struct bit_scan scan = {.look = count_bits};
    struct dueq_slice value;
    int64_t start = 0, end = -1;
    bool bits = false, found;
    enum outcome outcome;

    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return OUTCOME_DONE;
    if (!found)
        return context_reply_integer(context, 0);
    if (!parse_count_range(context, &start, &end, &bits))
        return OUTCOME_DONE;
    if (start < 0 && end < 0 && start > end)
        return context_reply_integer(context, 0);
    if (!bit_scan_run(context, value.data, range_of(start, end, bits, value.size), &scan,
                      &outcome))
        return outcome;
    return context_reply_integer(context, scan.result);
}

/* ---- BITPOS */

/* The result is the index of the first bit that equals scan->bit. */
static void find_bit(struct bit_scan *scan, const uint8_t *bytes, struct bit_range part)
{
    uint64_t skipped = scan->bit ? 0 : UINT64_MAX, word; /* eight bytes without such a bit */

    for (uint64_t at = part.first; at <= part.last; at++) {
        for (; at % 8 == 0 && at + 63 <= part.last; at += 64) {
            memcpy(&word, bytes + at / 8, sizeof(word));
            if (word != skipped)
                break;
        }
        if (at <= part.last && bit_at(bytes, at) == scan->bit) {
            scan->result = (int64_t)at;
            scan->is_over = true;
            return;
        }
    }
}

/* Without a given end, zeros follow the string: the first of them is a match for 0. */
static int64_t position(const struct bit_scan *scan, struct dueq_slice value,
                        struct bit_range range, bool end_given)
{
    if (!scan->is_over && scan->bit == 0 && !end_given && !range.empty)
        return (int64_t)value.size * 8;
    return scan->result;
}

static bool parse_position_range(struct context *context, int64_t *start, int64_t *end,
                                 bool *bits)
{
    size_t arguments = context_count(context);

    if (arguments > 6) {
        context_syntax_error(context);
        return false;
    }
    return (arguments <= 3 || arguments_integer(context, 3, NULL, start)) &&
           parse_unit(context, 5, bits) &&
           (arguments <= 4 || arguments_integer(context, 4, NULL, end));
}

static enum outcome run_bitpos(struct context *context)
{
    struct bit_scan scan = {.look = find_bit, .result = -1};
    struct dueq_slice value;
    struct bit_range range;
    int64_t bit, start = 0, end = -1;
    bool bits = false, found;
    enum outcome outcome;

    if (!arguments_integer(context, 2, NULL, &bit))
        return OUTCOME_DONE;
    if (bit != 0 && bit != 1) {
        resp_error(context->reply, "ERR The bit argument must be 1 or 0.");
        return OUTCOME_DONE;
    }
    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return OUTCOME_DONE;
    if (!found)
        return context_reply_integer(context, bit == 1 ? -1 : 0);
    if (!parse_position_range(context, &start, &end, &bits))
        return OUTCOME_DONE;
    scan.bit = (unsigned)bit;
    range = range_of(start, end, bits, value.size);
    if (!bit_scan_run(context, value.data, range, &scan, &outcome))
        return outcome;
    return context_reply_integer(context,
                                 position(&scan, value, range, context_count(context) > 4));
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "setbit",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_ANEW,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "bitmap",
     .since = "2.2.0",
     .summary = "Sets or clears the bit at offset in the string value stored at key",
     .complexity = "O(1)",
     .syntax = "key offset value",
     .categories = "bitmap",
     .run = run_setbit},
    {.name = "getbit",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "bitmap",
     .since = "2.2.0",
     .summary = "Returns the bit value at offset in the string value stored at key",
     .complexity = "O(1)",
     .syntax = "key offset",
     .categories = "bitmap",
     .run = run_getbit},
    {.name = "bitcount",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_READS_ANEW,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "bitmap",
     .since = "2.6.0",
     .summary = "Count set bits in a string",
     .complexity = "O(N)",
     .syntax = "key [start end [BYTE|BIT]]",
     .categories = "bitmap",
     .run = run_bitcount},
    {.name = "bitpos",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_READS_ANEW,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "bitmap",
     .since = "2.8.7",
     .summary = "Find first bit set or clear in a string",
     .complexity = "O(N)",
     .syntax = "key bit [start [end [BYTE|BIT]]]",
     .categories = "bitmap",
     .run = run_bitpos},
    {.name = NULL}};

COMMANDS(bits, entries)
