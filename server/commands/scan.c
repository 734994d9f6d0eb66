#include "server/commands/scan.h"

#include "storage/glob.h"
#include "protocol/number.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/hash.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

/* COUNT is a hint: a larger one is cut, so that other clients are served between two SCANs. */
enum { COUNT_MOST = LONG_ENOUGH };

struct scan_options {
    uint64_t cursor, count;
    size_t match, type; /* arguments; 0: all */
};

struct scanning {
    struct context *context;
    const struct scan_options *options;
    size_t written;
    bool small; /* a sorted set that Redis would keep as a listpack */
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

static bool matches(const struct scanning *scanning, struct dueq_slice name)
{
    struct argument pattern;

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

enum outcome scan_keys(struct context *context)
{
    struct keys_view view = database_view(context);
    struct scan_options options = {0};
    struct scanning scanning = {.context = context, .options = &options};
    uint64_t next;
    size_t mark;

    if (!arguments_cursor(context, 1, &options.cursor) ||
        !parse_options(context, 2, scan_table, &options))
        return OUTCOME_DONE;
    mark = resp_deferred(context->reply);
    keys_scan(&view, options.cursor, options.count, write_key, &scanning, &next);
    return finish(context, mark, &scanning, next);
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

static void scan_zset(const struct keys_view *view, struct dueq_slice name,
                      struct scanning *scanning, uint64_t *ret_next)
{
    struct keys_info info;

    scanning->small = keys_info(view, name, &info) == DUEQ_OK && info.encoding == KEYS_LISTPACK;
    zset_scan(view, name, scanning->options->cursor, scanning->options->count, write_scored,
              scanning, ret_next);
}

static void scan_type(const struct keys_view *view, struct dueq_slice name, enum keys_type type,
                      struct scanning *scanning, uint64_t *ret_next)
{
    uint64_t cursor = scanning->options->cursor, count = scanning->options->count;

    if (type == KEYS_HASH)
        hash_scan(view, name, cursor, count, write_field, scanning, ret_next);
    else if (type == KEYS_SET)
        set_scan(view, name, cursor, count, write_member, scanning, ret_next);
    else
        scan_zset(view, name, scanning, ret_next);
}

enum outcome scan_elements(struct context *context, enum keys_type type)
{
    struct keys_view view = database_view(context);
    struct scan_options options = {0};
    struct scanning scanning = {.context = context, .options = &options};
    struct keys_info info;
    enum dueq_status status;
    uint64_t next = 0;
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
    if (status == DUEQ_OK)
        scan_type(&view, context_slice(context, 1), type, &scanning, &next);
    return finish(context, mark, &scanning, next);
}
