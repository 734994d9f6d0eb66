#include "server/commands/scan.h"

#include "storage/glob.h"
#include "protocol/number.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/hash.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

/* COUNT is a hint: a larger one is cut, and large elements are enough before it, so that other
 * clients are served between two SCANs. */
enum {
    COUNT_MOST = LONG_ENOUGH,
    PART = 16,             /* elements after which the bytes are looked at */
    PART_BYTES = 64 * 1024 /* after fewer bytes the next part is twice as large */
};

struct scan_options {
    uint64_t cursor, count;
    size_t match, type; /* arguments; 0: all */
};

struct scanning {
    struct context *context;
    const struct scan_options *options;
    size_t written, bytes; /* names and values; and bytes of all that were seen */
    bool small;            /* a sorted set that Redis would keep as a listpack */
};

/* HSCAN, SSCAN and ZSCAN know all but the first. */
static const struct argument_option scan_table[] = {
    {"type", OPTION_INDEX(struct scan_options, type)},
    {"match", OPTION_INDEX(struct scan_options, match)},
    {"count", OPTION_COUNT(struct scan_options, count),
     .rule = INTEGER_BOUND(1, INT64_MAX, ARGUMENTS_SYNTAX_ERROR)},
    {.name = NULL}};

static bool parse_options(struct context *context, size_t index,
                          const struct argument_option *table, struct scan_options *options)
{
    options->count = 10;
    if (!argument_options_read(context, index, table, options))
        return false;
    if (options->count > COUNT_MOST)
        options->count = COUNT_MOST;
    return true;
}

static bool matches(struct scanning *scanning, struct dueq_slice name)
{
    struct argument pattern;

    scanning->bytes += name.size;
    if (scanning->options->match == 0)
        return true;
    pattern = context_argument(scanning->context, scanning->options->match);
    return argument_is(pattern, "*") ||
           glob_match(pattern.data, pattern.size, name.data, name.size, false);
}

/* The cursor and the number of elements are known last. */
static enum outcome finish(struct context *context, size_t mark,
                           const struct scanning *scanning, uint64_t next)
{
    char cursor[NUMBER_TEXT_MAX + 1];

    cursor[number_format_integer(cursor, (int64_t)next)] = '\0';
    resp_deferred_scan(context->reply, mark, cursor, scanning->written);
    return OUTCOME_DONE;
}

static bool write_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct scanning *scanning = arg;
    size_t type = scanning->options->type;

    if (!matches(scanning, name) ||
        (type > 0 && !arguments_is(scanning->context, type, keys_type_name(info->type))))
        return true;
    resp_slice(scanning->context->reply, name);
    scanning->written++;
    return true;
}

/* ---- elements */

static bool write_member(void *arg, struct dueq_slice member, struct dueq_slice value)
{
    struct scanning *scanning = arg;

    (void)value;
    if (!matches(scanning, member))
        return true;
    resp_slice(scanning->context->reply, member);
    scanning->written++;
    return true;
}

static bool write_field(void *arg, struct dueq_slice field, struct dueq_slice value)
{
    struct scanning *scanning = arg;

    if (!matches(scanning, field))
        return true;
    scanning->bytes += value.size;
    resp_slice(scanning->context->reply, field);
    resp_slice(scanning->context->reply, value);
    scanning->written += 2;
    return true;
}

/* Redis keeps whole scores of small sorted sets as integers and prints them so. */
static void write_score(const struct scanning *scanning, double score)
{
    double limit = (double)(INT64_MAX / 2);

    if (scanning->small && score >= -limit && score <= limit && (double)(int64_t)score == score)
        resp_bulk_integer(scanning->context->reply, (int64_t)score);
    else
        resp_bulk_double(scanning->context->reply, score);
}

static bool write_scored(void *arg, const struct zset_entry *entry)
{
    struct scanning *scanning = arg;

    if (!matches(scanning, entry->member))
        return true;
    resp_slice(scanning->context->reply, entry->member);
    write_score(scanning, entry->score);
    scanning->written += 2;
    return true;
}

/* ---- a part of them, and the next one */

static enum dueq_status scan_part(const struct keys_view *view, enum keys_type type,
                                  struct scanning *scanning, uint64_t *place, uint64_t count)
{
    struct dueq_slice name = context_slice(scanning->context, 1);

    switch (type) {
    case KEYS_HASH:
        return hash_scan(view, name, *place, count, write_field, scanning, place);
    case KEYS_SET:
        return set_scan(view, name, *place, count, write_member, scanning, place);
    case KEYS_ZSET:
        return zset_scan(view, name, *place, count, write_scored, scanning, place);
    default:
        return keys_scan(view, *place, count, write_key, scanning, place);
    }
}

/* Returns the cursor for the next command. */
static uint64_t scan(enum keys_type type, struct scanning *scanning)
{
    struct keys_view view = database_view(scanning->context);
    uint64_t place = scanning->options->cursor, left = scanning->options->count, part = PART;
    enum dueq_status status;

    do {
        size_t before = scanning->bytes;
        uint64_t count = part < left ? part : left;

        status = scan_part(&view, type, scanning, &place, count);
        left -= count;
        part = scanning->bytes - before < PART_BYTES ? 2 * part : PART;
    } while (status == DUEQ_OK && place != 0 && left > 0 &&
             scanning->bytes < LONG_ENOUGH_BYTES);
    return place;
}

/* ---- the commands */

enum outcome scan_keys(struct context *context)
{
    struct scan_options options = {0};
    struct scanning scanning = {.context = context, .options = &options};
    size_t mark;

    if (!arguments_cursor(context, 1, &options.cursor) ||
        !parse_options(context, 2, scan_table, &options))
        return OUTCOME_DONE;
    mark = resp_deferred(context->reply);
    return finish(context, mark, &scanning, scan(KEYS_NONE, &scanning));
}

enum outcome scan_elements(struct context *context, enum keys_type type)
{
    struct keys_view view = database_view(context);
    struct scan_options options = {0};
    struct scanning scanning = {.context = context, .options = &options};
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status;
    size_t mark;

    if (!arguments_cursor(context, 2, &options.cursor))
        return OUTCOME_DONE;
    status = keys_info(&view, context_slice(context, 1), &info);
    if (status == DUEQ_OK && info.type != type)
        status = DUEQ_WRONGTYPE;
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK && !parse_options(context, 3, scan_table + 1, &options))
        return OUTCOME_DONE;
    mark = resp_deferred(context->reply);
    scanning.small = type == KEYS_ZSET && info.encoding == KEYS_LISTPACK;
    return finish(context, mark, &scanning, status == DUEQ_OK ? scan(type, &scanning) : 0);
}
