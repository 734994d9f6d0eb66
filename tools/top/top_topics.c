#include "tools/top/top_topics.h"

#include "tools/client/client_call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void free_row(struct top_topic *row)
{
    free(row->name);
    free(row);
}

void top_topics_release(struct top_topics *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free_row(rows->all[i]);
    free(rows->all);
    free(rows->shown);
    *rows = (struct top_topics){0};
}

/* ---- the names */

static int compare_names(const char *name, size_t size, const char *other, size_t other_size)
{
    int order = memcmp(name, other, size < other_size ? size : other_size);

    return order != 0 ? order : (size > other_size) - (size < other_size);
}

static struct top_topic *new_row(const char *name, size_t size)
{
    struct top_topic *row = client_allocate(NULL, sizeof(*row));

    *row = (struct top_topic){.size = size, .in = -1, .out = -1, .now = {.next_due = -1}};
    row->name = client_allocate(NULL, size + 1);
    memcpy(row->name, name, size);
    row->name[size] = '\0';
    return row;
}

static size_t place_of(const struct top_topics *rows, const struct top_topic *row)
{
    for (size_t i = 0; i < rows->shown_count; i++)
        if (rows->shown[i] == row)
            return i;
    return 0;
}

/* `shown` may name it until the rows are arranged. */
static void forget_row(struct top_topics *rows, struct top_topic *row)
{
    if (rows->selected != NULL && rows->selected == row)
        rows->selected = NULL;
    free_row(row);
}

static void arrange_at(struct top_topics *rows, size_t place);

void top_topics_list(struct top_topics *rows, const char *const *names, const size_t *sizes,
                     size_t count)
{
    struct top_topic **all = client_allocate(NULL, (count + 1) * sizeof(struct top_topic *));
    struct top_topic **old = rows->all;
    size_t at = 0, place = top_topics_selected(rows);

    for (size_t i = 0; i < count; i++) {
        int order = 1;

        while (at < rows->count &&
               (order = compare_names(old[at]->name, old[at]->size, names[i], sizes[i])) < 0)
            forget_row(rows, old[at++]);
        if (at < rows->count && order == 0)
            all[i] = old[at++];
        else
            all[i] = new_row(names[i], sizes[i]);
    }
    while (at < rows->count)
        forget_row(rows, old[at++]);
    free(old);
    rows->all = all;
    rows->count = count;
    arrange_at(rows, place);
}

/* ---- the figures */

/* A topic that was removed and made again counts from 0. */
static double rate(int64_t before, int64_t now, int64_t ms)
{
    return now < before || ms <= 0 ? -1 : (double)(now - before) * 1000 / (double)ms;
}

void top_topic_take(struct top_topic *row, const struct topic_figures *figures, int64_t now)
{
    bool known = row->asked != 0;

    row->in = known ? rate(row->now.pushed, figures->pushed, now - row->asked) : -1;
    row->out = known ? rate(row->now.acked, figures->acked, now - row->asked) : -1;
    row->now = *figures;
    row->asked = now;
}

/* ---- filter and order */

static bool passes(const struct top_topic *row, const char *filter)
{
    size_t size = strlen(filter);

    for (size_t at = 0; at + size <= row->size; at++) {
        size_t same = 0;

        while (same < size && tolower((unsigned char)row->name[at + same]) ==
                                  tolower((unsigned char)filter[same]))
            same++;
        if (same == size)
            return true;
    }
    return false;
}

/* A topic without a next job comes after all that have one. */
static double value_of(const struct top_topic *row, enum topic_column column)
{
    const struct topic_figures *now = &row->now;

    switch (column) {
    case TOPIC_READY:
        return (double)now->ready;
    case TOPIC_DELAYED:
        return (double)now->delayed;
    case TOPIC_WAITING:
        return (double)now->waiting;
    case TOPIC_CLAIMED:
        return (double)now->claimed;
    case TOPIC_DEAD:
        return (double)now->dead;
    case TOPIC_OLDEST:
        return (double)now->oldest;
    case TOPIC_NEXT:
        return now->next_due < 0 ? -1e300 : -(double)now->next_due;
    case TOPIC_IN:
        return row->in;
    case TOPIC_OUT:
        return row->out;
    case TOPIC_PAUSED:
        return now->paused[0] != '\0';
    default:
        return 0;
    }
}

struct sorting {
    enum topic_column order;
    bool reverse;
};

/* The most stands above, what falls due next too; equal ones in the order of their names. */
static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct top_topic *row = *(struct top_topic *const *)a,
                           *other = *(struct top_topic *const *)b;
    double value = value_of(row, sorting->order), other_value = value_of(other, sorting->order);
    int order = (value < other_value) - (value > other_value);
    int by_name = compare_names(row->name, row->size, other->name, other->size);

    if (sorting->order == TOPIC_NAME)
        order = by_name;
    if (order == 0)
        return by_name;
    return sorting->reverse ? -order : order;
}

/* What is selected when the selected topic is gone stands at that place. */
static void arrange_at(struct top_topics *rows, size_t place)
{
    struct sorting sorting = {rows->order, rows->reverse};
    bool stays = false;

    rows->shown = client_allocate(rows->shown, (rows->count + 1) * sizeof(*rows->shown));
    rows->shown_count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (passes(rows->all[i], rows->filter))
            rows->shown[rows->shown_count++] = rows->all[i];
    qsort_r(rows->shown, rows->shown_count, sizeof(*rows->shown), compare, &sorting);
    for (size_t i = 0; i < rows->shown_count; i++)
        stays = stays || rows->shown[i] == rows->selected;
    if (!stays)
        top_topics_select(rows, place);
}

void top_topics_arrange(struct top_topics *rows)
{
    arrange_at(rows, top_topics_selected(rows));
}

size_t top_topics_selected(const struct top_topics *rows)
{
    return rows->selected == NULL ? 0 : place_of(rows, rows->selected);
}

void top_topics_select(struct top_topics *rows, size_t at)
{
    if (at >= rows->shown_count && rows->shown_count > 0)
        at = rows->shown_count - 1;
    rows->selected = rows->shown_count == 0 ? NULL : rows->shown[at];
}

/* ---- whom to ask about */

size_t top_topics_choose(struct top_topics *rows, size_t from, size_t visible, size_t others,
                         struct top_topic **ret_chosen)
{
    size_t chosen = 0;

    for (size_t i = from; i < rows->shown_count && i - from < visible; i++)
        ret_chosen[chosen++] = rows->shown[i];
    visible = chosen;
    for (size_t looked = 0; looked < rows->count && looked < others; looked++) {
        struct top_topic *row;
        bool there = false;

        if (rows->turn >= rows->count)
            rows->turn = 0;
        row = rows->all[rows->turn++];
        for (size_t i = 0; i < visible; i++)
            there = there || ret_chosen[i] == row;
        if (!there)
            ret_chosen[chosen++] = row;
    }
    return chosen;
}
