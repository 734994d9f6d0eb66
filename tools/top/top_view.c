#include "tools/top/top_view.h"

#include "tools/client/client_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_NAME = 16, LEAST_NAME_NARROW = 8, GAP = 1, LINE = 400 };

/* How wide each is, and how early it goes when the terminal is narrow: 0 never does. */
static const struct {
    const char *head;
    int width, goes;
} columns[TOPIC_COLUMNS] = {
    [TOPIC_NAME] = {"TOPIC", 0, 0},      [TOPIC_READY] = {"READY", 7, 0},
    [TOPIC_DELAYED] = {"DELAYED", 7, 8}, [TOPIC_WAITING] = {"WAITING", 7, 2},
    [TOPIC_CLAIMED] = {"CLAIMED", 7, 7}, [TOPIC_DEAD] = {"DEAD", 7, 9},
    [TOPIC_OLDEST] = {"OLDEST", 7, 5},   [TOPIC_NEXT] = {"NEXT", 7, 1},
    [TOPIC_IN] = {"IN/S", 7, 3},         [TOPIC_OUT] = {"OUT/S", 7, 4},
    [TOPIC_PAUSED] = {"PAUSED", 6, 6},
};

/* ---- cells */

/* At most 7 characters. */
static void show_count(int64_t count, char *text)
{
    static const char units[] = "kMGTPE";
    double size = (double)count / 1000;
    size_t unit = 0;

    if (count < 10000000) {
        snprintf(text, TOP_CELL, "%" PRId64, count);
        return;
    }
    for (; size >= 999.95 && unit < 5; unit++)
        size /= 1000;
    snprintf(text, TOP_CELL, "%.1f%c", size, units[unit]);
}

/* At most 7 characters. */
static void show_age(int64_t ms, char *text)
{
    int64_t s = ms / 1000;

    if (ms < 10000)
        snprintf(text, TOP_CELL, "%.1fs", (double)ms / 1000);
    else if (s < 100)
        snprintf(text, TOP_CELL, "%" PRId64 "s", s);
    else if (s < 6000)
        snprintf(text, TOP_CELL, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 360000)
        snprintf(text, TOP_CELL, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(text, TOP_CELL, "%" PRId64 "d", s / 86400);
}

static void show_rate(double rate, char *text)
{
    if (rate < 0)
        text[0] = '\0';
    else if (rate < 1000)
        snprintf(text, TOP_CELL, "%.1f", rate);
    else
        show_count(rate < 1e15 ? (int64_t)rate : (int64_t)1e15, text);
}

const char *top_cell(const struct top_topic *row, enum topic_column column, int64_t now,
                     char *text)
{
    const struct topic_figures *figures = &row->now;

    text[0] = '\0';
    if (row->asked == 0)
        return text;
    switch (column) {
    case TOPIC_READY:
        show_count(figures->ready, text);
        break;
    case TOPIC_DELAYED:
        show_count(figures->delayed, text);
        break;
    case TOPIC_WAITING:
        show_count(figures->waiting, text);
        break;
    case TOPIC_CLAIMED:
        show_count(figures->claimed, text);
        break;
    case TOPIC_DEAD:
        show_count(figures->dead, text);
        break;
    case TOPIC_OLDEST:
        if (figures->oldest > 0)
            show_age(figures->oldest, text);
        break;
    case TOPIC_NEXT:
        if (figures->next_due >= 0)
            show_age(figures->next_due > now ? figures->next_due - now : 0, text);
        break;
    case TOPIC_IN:
        show_rate(row->in, text);
        break;
    case TOPIC_OUT:
        show_rate(row->out, text);
        break;
    case TOPIC_PAUSED:
        snprintf(text, TOP_CELL, "%s", figures->paused);
        break;
    default:
        break;
    }
    return text;
}

static enum screen_style style_of(const struct top_topic *row, enum topic_column column)
{
    const struct topic_figures *figures = &row->now;

    return column == TOPIC_READY && figures->ready > 0       ? SCREEN_GOOD
           : column == TOPIC_CLAIMED && figures->claimed > 0 ? SCREEN_BUSY
           : column == TOPIC_DELAYED && figures->delayed > 0 ? SCREEN_WAIT
           : column == TOPIC_WAITING && figures->waiting > 0 ? SCREEN_WAIT
           : column == TOPIC_DEAD && figures->dead > 0       ? SCREEN_BAD
           : column == TOPIC_PAUSED                          ? SCREEN_BAD
                                                             : SCREEN_PLAIN;
}

/* ---- the table */

struct layout {
    bool shown[TOPIC_COLUMNS];
    int name_width;
};

/* What the topic's name has when all columns stay that go at `stays` or later. */
static int name_width(int width, int stays, struct layout *layout)
{
    for (int i = 0; i < TOPIC_COLUMNS; i++) {
        layout->shown[i] = columns[i].goes == 0 || columns[i].goes >= stays;
        if (layout->shown[i] && i != TOPIC_NAME)
            width -= columns[i].width + GAP;
    }
    return width;
}

static struct layout lay_out(int width)
{
    struct layout layout;
    int stays = 1;

    do {
        int least = stays < 7 ? LEAST_NAME : LEAST_NAME_NARROW;

        layout.name_width = name_width(width, stays, &layout);
        if (layout.name_width >= least)
            break;
    } while (++stays <= 10);
    if (layout.name_width < 4) {
        layout.shown[TOPIC_READY] = false;
        layout.name_width = width;
    }
    return layout;
}

static void draw_heads(const struct top_state *state, struct frame *frame,
                       const struct layout *layout, int row)
{
    int column = layout->name_width + GAP;
    char text[32];

    for (int i = 0; i < TOPIC_COLUMNS; i++) {
        bool sorted = (enum topic_column)i == state->rows.order;

        if (!layout->shown[i])
            continue;
        snprintf(text, sizeof(text), "%s", columns[i].head);
        if (i == TOPIC_NAME) {
            frame_put_text(frame, row, 0, layout->name_width,
                           sorted ? SCREEN_MARKED : SCREEN_HEAD, text);
            continue;
        }
        frame_put_right(frame, row, column, columns[i].width,
                        sorted ? SCREEN_MARKED : SCREEN_HEAD, text);
        column += columns[i].width + GAP;
    }
}

static void draw_row(const struct top_state *state, struct frame *frame,
                     const struct layout *layout, int at, const struct top_topic *row)
{
    bool selected = row == state->rows.selected;
    int column = layout->name_width + GAP;
    char text[TOP_CELL];

    if (selected)
        frame_fill(frame, at, SCREEN_MARKED);
    frame_put(frame, at, 0, layout->name_width, selected ? SCREEN_MARKED : SCREEN_PLAIN,
              row->name, row->size);
    if (row->forbidden) {
        frame_put_text(frame, at, column, frame->columns, selected ? SCREEN_MARKED : SCREEN_BAD,
                       "no right to read");
        return;
    }
    for (int i = TOPIC_NAME + 1; i < TOPIC_COLUMNS; i++) {
        if (!layout->shown[i])
            continue;
        frame_put_right(frame, at, column, columns[i].width,
                        selected ? SCREEN_MARKED : style_of(row, (enum topic_column)i),
                        top_cell(row, (enum topic_column)i, state->server.now, text));
        column += columns[i].width + GAP;
    }
}

static void draw_table(const struct top_state *state, struct frame *frame)
{
    struct layout layout = lay_out(frame->columns);
    int head = top_state_head(state);
    size_t room = top_state_room(state);

    if (head > 0)
        draw_heads(state, frame, &layout, head - 1);
    for (size_t i = 0; i < room && state->first + i < state->rows.shown_count; i++)
        draw_row(state, frame, &layout, head + (int)i, state->rows.shown[state->first + i]);
    if (state->rows.shown_count == 0 && room > 0 && state->connected)
        frame_put_text(frame, head, 0, frame->columns, SCREEN_PLAIN,
                       state->rows.count == 0 ? "There are no topics."
                                              : "No topic has that in its name.");
}

/* ---- what stands around it */

static void draw_server(const struct top_state *state, struct frame *frame)
{
    const struct server_figures *server = &state->server;
    char line[LINE], span[CLIENT_TIME_TEXT], memory[CLIENT_TIME_TEXT],
        journal[CLIENT_TIME_TEXT];

    if (top_state_head(state) < 2)
        return;
    snprintf(line, sizeof(line), "dueq %s  %s  up %s  topics %zu%s  connections %" PRId64,
             server->version, state->where, client_show_span(server->uptime * 1000, span),
             state->rows.count, state->rows.filter[0] == '\0' ? "" : " (filtered)",
             server->clients);
    frame_put_text(frame, 0, 0, frame->columns, SCREEN_HEAD, line);
    if (top_state_head(state) < 3)
        return;
    snprintf(line, sizeof(line),
             "memory %s  journal %s  longest turn %.1f ms  pressure %" PRId64 "%%",
             client_show_bytes(server->memory, memory),
             client_show_bytes(server->journal, journal), (double)server->longest / 1000,
             server->pressure / 10);
    frame_put_text(frame, 1, 0, frame->columns,
                   server->pressure >= 1000 ? SCREEN_BAD : SCREEN_PLAIN, line);
}

static const char *keys_of(enum top_page page)
{
    return page == TOP_TABLE     ? "h help  q quit  Enter details  / filter  < > sort  p pause"
           : page == TOP_DETAILS ? "q back  p pause  up and down"
                                 : "q back  up and down";
}

static void draw_question(const struct top_state *state, struct frame *frame, int row)
{
    int used = frame_put_text(frame, row, 0, frame->columns, SCREEN_HEAD,
                              state->subject_paused ? "resume? (y/n) " : "pause? (y/n) ");

    frame_put(frame, row, used, frame->columns, SCREEN_HEAD, state->subject,
              state->subject_size);
}

static void draw_bottom(const struct top_state *state, struct frame *frame)
{
    int row = frame->rows - 1, used;

    if (frame->rows < 2)
        return;
    if (state->prompt == TOP_ASK_PAUSE)
        draw_question(state, frame, row);
    else if (state->prompt == TOP_ASK_FILTER) {
        used = frame_put_text(frame, row, 0, frame->columns, SCREEN_HEAD, "filter: ");
        used +=
            frame_put_text(frame, row, used, frame->columns, SCREEN_PLAIN, state->rows.filter);
        frame_put_text(frame, row, used, 1, SCREEN_MARKED, " ");
    } else if (state->message[0] != '\0')
        frame_put_text(frame, row, 0, frame->columns,
                       state->connected ? SCREEN_HEAD : SCREEN_BAD, state->message);
    else
        frame_put_text(frame, row, 0, frame->columns, SCREEN_PLAIN, keys_of(state->page));
}

static void draw_lines(const struct top_state *state, struct frame *frame)
{
    const struct top_lines *lines = &state->lines;
    size_t room = top_state_line_room(state);

    for (size_t i = 0; i < room && state->line + i < lines->count; i++)
        frame_put_text(frame, (int)i, 0, frame->columns, lines->styles[state->line + i],
                       lines->texts[state->line + i]);
}

void top_view_draw(const struct top_state *state, struct frame *frame)
{
    if (state->page == TOP_TABLE) {
        draw_server(state, frame);
        draw_table(state, frame);
    } else
        draw_lines(state, frame);
    draw_bottom(state, frame);
}
