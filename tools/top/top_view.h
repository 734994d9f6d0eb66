/* Lays out what `dueq top` shows, for a size of the terminal. */
#ifndef DUEQ_TOP_VIEW_H
#define DUEQ_TOP_VIEW_H

#include "tools/top/frame.h"
#include "tools/top/top_state.h"

enum { TOP_CELL = 64 };

/* A cell of the table as text of at most TOP_CELL - 1 bytes, "" when there is nothing to say;
 * `now` is the server's clock. Not for TOPIC_NAME. */
const char *top_cell(const struct top_topic *row, enum topic_column column, int64_t now,
                     char *text);

/* Fills a frame that has begun. */
void top_view_draw(const struct top_state *state, struct frame *frame);

#endif
