/* LCS: the longest common subsequence of two strings, by the table of lengths of all pairs of
 * prefixes (Cormen et al., Introduction to Algorithms, 15.4). O(N * M) time and memory; a large
 * table is computed in slices. */
#include "server/commands/database.h"
#include "server/containers/spent.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "server/server.h"
#include "storage/keys/string.h"

#include <stdlib.h>

enum { SLICE_CELLS = 200 * 1000 }; /* half a millisecond */

struct lcs {
    struct context *context;
    const char *a, *b;
    size_t a_size, b_size;
    uint32_t *lengths; /* (a_size + 1) rows of b_size + 1 */
    size_t at;         /* the next one to be computed */
    bool length_only, ranges, with_lengths;
    int64_t least; /* MINMATCHLEN: shorter matches are not replied */
    size_t written;
};

/* ---- arguments */

static const struct argument_option options[] = {
    {"idx", OPTION_FLAG(struct lcs, ranges)},
    {"len", OPTION_FLAG(struct lcs, length_only)},
    {"withmatchlen", OPTION_FLAG(struct lcs, with_lengths)},
    {"minmatchlen", OPTION_INTEGER(struct lcs, least)},
    {.name = NULL}};

static bool parse(struct context *context, struct lcs *lcs)
{
    if (!argument_options_read(context, 3, options, lcs))
        return false;
    if (lcs->least < 0)
        lcs->least = 0;
    if (lcs->ranges && lcs->length_only) {
        resp_error(context->reply,
                   "ERR If you want both the length and indexes, please just use IDX.");
        return false;
    }
    return true;
}

/* Both slices stay valid: nothing is written between the two reads. */
static bool read_both(struct context *context, struct lcs *lcs)
{
    struct keys_view view = database_view(context);
    struct dueq_slice values[2] = {{"", 0}, {"", 0}};

    for (size_t i = 0; i < 2; i++) {
        enum dueq_status status = string_get(&view, context_slice(context, i + 1), &values[i]);

        if (status == DUEQ_WRONGTYPE) {
            resp_error(context->reply, "ERR The specified keys must contain string values");
            return false;
        }
        if (!context_check_status(context, status))
            return false;
    }
    lcs->a = values[0].data;
    lcs->a_size = values[0].size;
    lcs->b = values[1].data;
    lcs->b_size = values[1].size;
    return true;
}

/* ---- the table */

static uint32_t *cell(const struct lcs *lcs, size_t i, size_t j)
{
    return &lcs->lengths[i * (lcs->b_size + 1) + j];
}

/* False: the error is written. */
static bool make_table(struct lcs *lcs)
{
    struct context *context = lcs->context;
    uint64_t cells = ((uint64_t)lcs->a_size + 1) * ((uint64_t)lcs->b_size + 1);

    if (cells * sizeof(uint32_t) > (uint64_t)context->server->config.proto_max_bulk_len) {
        resp_error(context->reply, "ERR Insufficient memory, transient memory for LCS exceeds "
                                   "proto-max-bulk-len");
        return false;
    }
    if (cells <= SIZE_MAX / sizeof(uint32_t))
        lcs->lengths = malloc((size_t)cells * sizeof(uint32_t));
    if (lcs->lengths == NULL) {
        resp_error(context->reply,
                   "ERR Insufficient memory, failed allocating transient memory for LCS");
        return false;
    }
    lcs->at = 0;
    return true;
}

static void free_table(struct lcs *lcs)
{
    spent_memory(lcs->lengths, (lcs->a_size + 1) * (lcs->b_size + 1) * sizeof(uint32_t));
    lcs->lengths = NULL;
}

static void compute(struct lcs *lcs, size_t i, size_t j)
{
    uint32_t up, left;

    if (i == 0 || j == 0) {
        *cell(lcs, i, j) = 0;
        return;
    }
    up = *cell(lcs, i - 1, j);
    left = *cell(lcs, i, j - 1);
    if (lcs->a[i - 1] == lcs->b[j - 1])
        *cell(lcs, i, j) = *cell(lcs, i - 1, j - 1) + 1;
    else
        *cell(lcs, i, j) = up > left ? up : left;
}

/* True: the table is complete. */
static bool compute_some(struct lcs *lcs, size_t most)
{
    size_t width = lcs->b_size + 1, cells = (lcs->a_size + 1) * width;
    size_t end = cells - lcs->at < most ? cells : lcs->at + most;

    for (size_t i = lcs->at / width, j = lcs->at % width; lcs->at < end; lcs->at++) {
        compute(lcs, i, j);
        j = j + 1 < width ? j + 1 : 0;
        i += j == 0;
    }
    return lcs->at == cells;
}

/* ---- the way back through the table */

/* A run of bytes that is common to both strings, at a_first in a and b_first in b. */
struct match {
    size_t a_first, b_first, size;
};

static void write_pair(struct resp_writer *reply, size_t first, size_t size)
{
    resp_array(reply, 2);
    resp_integer(reply, (int64_t)first);
    resp_integer(reply, (int64_t)(first + size - 1));
}

static void end_match(struct lcs *lcs, struct match *match)
{
    struct resp_writer *reply = lcs->context->reply;

    if (match->size > 0 && lcs->ranges && (int64_t)match->size >= lcs->least) {
        resp_array(reply, lcs->with_lengths ? 3 : 2);
        write_pair(reply, match->a_first, match->size);
        write_pair(reply, match->b_first, match->size);
        if (lcs->with_lengths)
            resp_integer(reply, (int64_t)match->size);
        lcs->written++;
    }
    match->size = 0;
}

/* a[i - 1] equals b[j - 1]: extends the match that begins at a[i], b[j] or begins another. */
static void add_common(struct lcs *lcs, struct match *match, size_t i, size_t j)
{
    if (match->size > 0 && (match->a_first != i || match->b_first != j))
        end_match(lcs, match);
    match->a_first = i - 1;
    match->b_first = j - 1;
    match->size++;
}

/* text: NULL, or a buffer that gets the subsequence. */
static void walk_back(struct lcs *lcs, char *text)
{
    size_t i = lcs->a_size, j = lcs->b_size, left = *cell(lcs, i, j);
    struct match match = {0, 0, 0};

    while (i > 0 && j > 0) {
        if (lcs->a[i - 1] == lcs->b[j - 1]) {
            add_common(lcs, &match, i, j);
            if (text != NULL)
                text[--left] = lcs->a[i - 1];
            i--;
            j--;
            continue;
        }
        end_match(lcs, &match);
        if (*cell(lcs, i - 1, j) > *cell(lcs, i, j - 1))
            i--;
        else
            j--;
    }
    end_match(lcs, &match);
}

/* ---- replies */

static void write_ranges(struct lcs *lcs)
{
    struct resp_writer *reply = lcs->context->reply;
    size_t mark;

    resp_map(reply, 2);
    resp_string(reply, "matches");
    mark = resp_deferred(reply);
    walk_back(lcs, NULL);
    resp_deferred_array(reply, mark, lcs->written);
    resp_string(reply, "len");
    resp_integer(reply, *cell(lcs, lcs->a_size, lcs->b_size));
}

static void write_text(struct lcs *lcs)
{
    size_t size = *cell(lcs, lcs->a_size, lcs->b_size);
    char *text = malloc(size + 1);

    if (text == NULL) {
        context_status(lcs->context, DUEQ_NOMEM);
        return;
    }
    walk_back(lcs, text);
    resp_bulk(lcs->context->reply, text, size);
    free(text);
}

static enum outcome reply(struct lcs *lcs)
{
    if (lcs->ranges)
        write_ranges(lcs);
    else if (lcs->length_only)
        resp_integer(lcs->context->reply, *cell(lcs, lcs->a_size, lcs->b_size));
    else
        write_text(lcs);
    return OUTCOME_DONE;
}

/* ---- in slices */

static void free_lcs(void *state)
{
    struct lcs *lcs = state;

    free_table(lcs);
    free(lcs);
}

static enum outcome put_off(struct lcs *lcs)
{
    struct lcs *state = malloc(sizeof(*state));

    if (state == NULL) {
        free_table(lcs);
        return context_status(lcs->context, DUEQ_NOMEM);
    }
    *state = *lcs;
    return long_work_continue(lcs->context, state, free_lcs, LONG_HOLDS_KEYS);
}

/* With values that have changed it begins again. */
static enum outcome go_on(struct context *context, struct lcs *lcs)
{
    struct lcs now = *lcs;

    now.context = lcs->context = context;
    if (!read_both(context, &now))
        return OUTCOME_DONE;
    if (long_work_keys_changed(context) || now.a_size != lcs->a_size ||
        now.b_size != lcs->b_size) {
        free_table(lcs);
        now.lengths = NULL;
        if (!make_table(&now))
            return OUTCOME_DONE;
    }
    *lcs = now;
    long_work_state_holds(context, (lcs->a_size + 1) * (lcs->b_size + 1) * sizeof(uint32_t));
    return compute_some(lcs, SLICE_CELLS)
               ? reply(lcs)
               : long_work_continue(context, lcs, free_lcs, LONG_HOLDS_KEYS);
}

static enum outcome run_lcs(struct context *context)
{
    struct lcs lcs = {.context = context};

    if (long_work_state(context) != NULL)
        return go_on(context, long_work_state(context));
    if (!read_both(context, &lcs) || !parse(context, &lcs) || !make_table(&lcs))
        return OUTCOME_DONE;
    if (!compute_some(&lcs, SLICE_CELLS))
        return put_off(&lcs);
    reply(&lcs);
    free_table(&lcs);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "lcs",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_READS_ANEW,
     .keys = {1, 2, 1},
     .key_specs = "RO,access@1/r1:1:0",
     .group = "string",
     .since = "7.0.0",
     .summary = "Find longest common substring",
     .complexity = "O(N*M) where N and M are the lengths of s1 and s2, respectively",
     .syntax = "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
     .categories = "string",
     .run = run_lcs},
    {.name = NULL}};

COMMANDS(lcs, entries)
