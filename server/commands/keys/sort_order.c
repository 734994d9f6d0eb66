#include "server/commands/keys/sort_order.h"

#include "server/commands/keys/sort_pattern.h"
#include "server/dispatch/long_work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARISONS = 8 * LONG_STEPS }; /* of a turn */

/* As in Redis a NUL ends the number and the bytes after it are ignored. */
static bool parse_score(const char *text, double *ret_score)
{
    char *end;

    errno = 0;
    *ret_score = strtod(text, &end);
    return *end == '\0' && errno != ERANGE && !isnan(*ret_score);
}

/* Sets the key by which the element is compared. False: its score is not a number. */
static bool weigh_one(struct sort *sort, struct gathered_item *element)
{
    struct dueq_slice value;
    const char *text = element->bytes;

    if (sort->by > 0) {
        sort_spend(sort, SORT_LOOKUP_STEPS);
        if (!sort_pattern_look_up(sort, context_argument(sort->context, sort->by), element,
                                  &value))
            return true;
        sort_spend_on(sort, value);
        element->by = gathered_keep(&sort->elements, value);
        if (element->by == NULL) {
            sort->status = DUEQ_NOMEM;
            return true;
        }
        text = element->by->bytes;
    }
    return sort->alpha || parse_score(text, &element->score);
}

bool sort_order_weigh(struct sort *sort)
{
    assert(sort->phase == SORT_WEIGHS && sort->weighed <= sort->elements.count);
    if (sort->alpha && sort->by == 0)
        sort->weighed = sort->elements.count;
    while (sort->weighed < sort->elements.count && sort->budget > 0 &&
           sort->status == DUEQ_OK && !sort_is_too_long(sort)) {
        if (!weigh_one(sort, sort->elements.slots[sort->weighed++].item))
            return false;
        sort_spend(sort, 1);
    }
    if (sort->weighed == sort->elements.count)
        sort->phase = SORT_ORDERS;
    return true;
}

static struct dueq_slice text_of(const struct gathered_text *text)
{
    return dueq_slice(text->bytes, text->size);
}

/* Compares by the locale for a reply and by bytes for STORE, as Redis does. */
static int compare_texts(const struct sort *sort, struct dueq_slice a, struct dueq_slice b)
{
    return sort->store > 0 ? dueq_slice_compare(a, b) : strcoll(a.data, b.data);
}

static int compare_alpha(const struct sort *sort, const struct gathered_item *a,
                         const struct gathered_item *b)
{
    if (sort->by == 0)
        return compare_texts(sort, gathered_bytes(a), gathered_bytes(b));
    if (a->by == NULL || b->by == NULL)
        return (a->by != NULL) - (b->by != NULL);
    return compare_texts(sort, text_of(a->by), text_of(b->by));
}

/* Equal elements are ordered by their bytes, as in Redis. */
static int compare(const struct gathered_slot *a, const struct gathered_slot *b,
                   const void *arg)
{
    const struct sort *sort = arg;
    int order = sort->alpha ? compare_alpha(sort, a->item, b->item)
                            : (a->score > b->score) - (a->score < b->score);

    if (order == 0 && !sort->alpha)
        order = dueq_slice_compare(gathered_bytes(a->item), gathered_bytes(b->item));
    return sort->direction == SORT_DESCENDS ? -order : order;
}

void sort_order_step(struct sort *sort)
{
    unsigned budget = sort->budget == GATHERED_WHOLE ? GATHERED_WHOLE : COMPARISONS;

    sort->order.compare = compare;
    sort->order.arg = sort;
    if (!gathered_sort_step(&sort->elements, &sort->order, budget))
        return;
    if (sort->elements.failed)
        sort->status = DUEQ_NOMEM;
    sort->phase = SORT_GIVES;
}
