#include "tools/top/top_state.h"

#include "tools/client/client_call.h"

#include <stdlib.h>
#include <string.h>

enum { ESCAPE = 27, HIGH_FOR_SERVER = 9, HIGH_FOR_ONE = 6, HIGH_FOR_HEADS = 3 };

void top_state_begin(struct top_state *state)
{
    *state = (struct top_state){.height = 24, .width = 80};
}

void top_state_release(struct top_state *state)
{
    top_topics_release(&state->rows);
    top_lines_clear(&state->lines);
    free(state->subject);
}

/* ---- lines */

void top_lines_add(struct top_lines *lines, enum screen_style style, const char *text)
{
    size_t room = lines->count + 1;

    lines->texts = client_allocate(lines->texts, room * sizeof(*lines->texts));
    lines->styles = client_allocate(lines->styles, room * sizeof(*lines->styles));
    lines->texts[lines->count] = client_allocate(NULL, strlen(text) + 1);
    strcpy(lines->texts[lines->count], text);
    lines->styles[lines->count++] = style;
}

void top_lines_clear(struct top_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->texts[i]);
    free(lines->texts);
    free(lines->styles);
    *lines = (struct top_lines){0};
}

/* ---- where things stand */

int top_state_head(const struct top_state *state)
{
    return state->height >= HIGH_FOR_SERVER  ? 3
           : state->height >= HIGH_FOR_ONE   ? 2
           : state->height >= HIGH_FOR_HEADS ? 1
                                             : 0;
}

/* The last line is for messages, if there are two. */
size_t top_state_room(const struct top_state *state)
{
    int room = state->height - top_state_head(state) - (state->height >= 2);

    return room > 0 ? (size_t)room : 0;
}

size_t top_state_line_room(const struct top_state *state)
{
    return state->height >= 2 ? (size_t)state->height - 1 : 1;
}

void top_state_fit(struct top_state *state, int height, int width)
{
    size_t selected = top_topics_selected(&state->rows), room, count = state->rows.shown_count;

    state->height = height;
    state->width = width;
    room = top_state_room(state);
    if (state->first + room > count)
        state->first = count > room ? count - room : 0;
    if (selected < state->first)
        state->first = selected;
    if (selected >= state->first + room)
        state->first = room > 0 ? selected - room + 1 : selected;
    room = top_state_line_room(state);
    if (state->line + room > state->lines.count)
        state->line = state->lines.count > room ? state->lines.count - room : 0;
}

/* ---- keys */

/* Where a key moves to, from one of `count` places. */
static size_t move(int key, size_t at, size_t count, size_t page)
{
    size_t last = count > 0 ? count - 1 : 0;

    page = page > 0 ? page : 1;
    switch (key) {
    case SCREEN_UP:
    case 'k':
        return at > 0 ? at - 1 : 0;
    case SCREEN_DOWN:
    case 'j':
        return at < last ? at + 1 : last;
    case SCREEN_PAGE_UP:
        return at > page ? at - page : 0;
    case SCREEN_PAGE_DOWN:
    case ' ':
        return at + page < last ? at + page : last;
    case SCREEN_BEGIN:
    case 'g':
        return 0;
    case SCREEN_END:
    case 'G':
        return last;
    default:
        return at;
    }
}

static void take_subject(struct top_state *state)
{
    const struct top_topic *row = state->rows.selected;

    free(state->subject);
    state->subject = client_allocate(NULL, row->size + 1);
    memcpy(state->subject, row->name, row->size + 1);
    state->subject_size = row->size;
    state->subject_paused = row->now.paused[0] != '\0';
}

static const char *const help[] = {
    "Keys of dueq top",
    "",
    "  up down, j k       another topic",
    "  PgUp PgDn, Home End, g G",
    "  Enter              everything about the topic",
    "  < >, left right    sort by the column before, behind",
    "  n r d w c x o u i t s  sort by name, ready, delayed, waiting, claimed,",
    "                     dead (x), oldest, next due (u), in, out (t), paused (s)",
    "  R                  the other way round",
    "  /                  only topics whose name contains what you type",
    "                     (Enter keeps it, Esc gives it up)",
    "  p                  pause the topic, or end its pause (asks first)",
    "  Ctrl-L             paint the whole screen anew",
    "  h ?                this help",
    "  q                  back; from the table: end",
    "",
    "READY, DELAYED, WAITING (for other jobs), CLAIMED, DEAD: jobs in that state.",
    "OLDEST: how long the oldest ready job waits. NEXT: until the next delayed job",
    "is due. IN/S, OUT/S: jobs that were pushed and acked, a second, since the last",
    "look. All rows that you see are new at each look; of the others, if there are",
    "many, 500 at a time.",
};

static void open_help(struct top_state *state)
{
    top_lines_clear(&state->lines);
    for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
        top_lines_add(&state->lines, i == 0 ? SCREEN_HEAD : SCREEN_PLAIN, help[i]);
    state->line = 0;
    state->page = TOP_HELP;
}

static void sort_by(struct top_state *state, enum topic_column order)
{
    state->rows.order = order;
    top_topics_arrange(&state->rows);
}

static bool sort_key(struct top_state *state, int key)
{
    static const char letters[TOPIC_COLUMNS + 1] = "nrdwcxouits";
    const char *letter = key > 0 && key < 0x80 ? strchr(letters, key) : NULL;
    enum topic_column order = state->rows.order;

    if (letter != NULL)
        sort_by(state, (enum topic_column)(letter - letters));
    else if (key == '<' || key == SCREEN_LEFT)
        sort_by(state, order == 0 ? TOPIC_COLUMNS - 1 : order - 1);
    else if (key == '>' || key == SCREEN_RIGHT)
        sort_by(state, order + 1 == TOPIC_COLUMNS ? 0 : order + 1);
    else
        return false;
    return true;
}

static enum top_action open_details(struct top_state *state)
{
    if (state->rows.selected == NULL)
        return TOP_NOTHING;
    take_subject(state);
    top_lines_clear(&state->lines);
    state->line = 0;
    state->page = TOP_DETAILS;
    return TOP_REFRESH;
}

static void begin_filter(struct top_state *state)
{
    memcpy(state->filter_before, state->rows.filter, sizeof(state->filter_before));
    state->prompt = TOP_ASK_FILTER;
}

static enum top_action table_key(struct top_state *state, int key)
{
    size_t at = top_topics_selected(&state->rows);

    state->message[0] = '\0';
    if (sort_key(state, key))
        return TOP_REFRESH;
    switch (key) {
    case 'q':
        return TOP_QUIT;
    case 'R':
        state->rows.reverse = !state->rows.reverse;
        top_topics_arrange(&state->rows);
        return TOP_REFRESH;
    case '/':
        begin_filter(state);
        return TOP_NOTHING;
    case 'h':
    case '?':
        open_help(state);
        return TOP_NOTHING;
    case 'p':
        if (state->rows.selected != NULL) {
            take_subject(state);
            state->prompt = TOP_ASK_PAUSE;
        }
        return TOP_NOTHING;
    case SCREEN_ENTER:
        return open_details(state);
    default:
        top_topics_select(&state->rows,
                          move(key, at, state->rows.shown_count, top_state_room(state)));
        return TOP_NOTHING;
    }
}

static enum top_action lines_key(struct top_state *state, int key)
{
    if (key == 'q' || key == ESCAPE || key == SCREEN_ENTER || key == SCREEN_LEFT) {
        state->page = TOP_TABLE;
        return TOP_REFRESH;
    }
    if (key == 'p' && state->page == TOP_DETAILS) {
        state->prompt = TOP_ASK_PAUSE;
        return TOP_NOTHING;
    }
    state->line = move(key, state->line, state->lines.count, top_state_line_room(state));
    return TOP_NOTHING;
}

static void drop_character(char *text, size_t size)
{
    while (size > 0 && ((unsigned char)text[size - 1] & 0xc0) == 0x80)
        size--; /* its last bytes */
    text[size > 0 ? size - 1 : 0] = '\0';
}

static enum top_action filter_key(struct top_state *state, int key)
{
    char *filter = state->rows.filter;
    size_t size = strlen(filter);

    if (key == SCREEN_ENTER || key == ESCAPE)
        state->prompt = TOP_NO_PROMPT;
    if (key == ESCAPE)
        memcpy(filter, state->filter_before, TOPIC_FILTER_MAX);
    else if (key == SCREEN_BACKSPACE)
        drop_character(filter, size);
    else if (key >= ' ' && key < 0x100 && size + 1 < TOPIC_FILTER_MAX) {
        filter[size] = (char)key;
        filter[size + 1] = '\0';
    }
    top_topics_arrange(&state->rows);
    return TOP_REFRESH;
}

static enum top_action pause_key(struct top_state *state, int key)
{
    state->prompt = TOP_NO_PROMPT;
    if (key != 'y' && key != 'Y')
        return TOP_NOTHING;
    return state->subject_paused ? TOP_RESUME : TOP_PAUSE;
}

enum top_action top_state_key(struct top_state *state, int key)
{
    enum top_action action = state->prompt == TOP_ASK_FILTER  ? filter_key(state, key)
                             : state->prompt == TOP_ASK_PAUSE ? pause_key(state, key)
                             : state->page == TOP_TABLE       ? table_key(state, key)
                                                              : lines_key(state, key);

    top_state_fit(state, state->height, state->width);
    return action;
}
