/* What `dueq top` shows and in which way, and what keys change in it. No sockets, no terminal.
 */
#ifndef DUEQ_TOP_STATE_H
#define DUEQ_TOP_STATE_H

#include "tools/terminal/screen.h"
#include "tools/top/server_figures.h"
#include "tools/top/top_topics.h"

enum top_page { TOP_TABLE, TOP_DETAILS, TOP_HELP };
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_PAUSE };

/* What a key asks the program to do. */
enum top_action {
    TOP_NOTHING,
    TOP_QUIT,
    TOP_REFRESH, /* ask the server now */
    TOP_PAUSE,   /* the subject */
    TOP_RESUME,
};

struct top_lines {
    char **texts;
    enum screen_style *styles;
    size_t count;
};

struct top_state {
    struct top_topics rows;
    struct server_figures server;
    char where[160];   /* the server */
    char message[300]; /* what went wrong, or what was done; "": nothing */
    bool connected;
    enum top_page page;
    enum top_prompt prompt;
    char filter_before[TOPIC_FILTER_MAX]; /* comes back when a new one is given up */
    int height, width;                    /* of the terminal */
    size_t first;                         /* of `shown`: the topmost row */
    /* The topic that is shown in detail, or to be paused: a copy, for it may go meanwhile. */
    char *subject;
    size_t subject_size;
    bool subject_paused;
    struct top_lines lines; /* of the details, or the help */
    size_t line;            /* the topmost one */
};

void top_state_begin(struct top_state *state);
void top_state_release(struct top_state *state);

/* To be called when the size of the terminal or the rows have changed. */
void top_state_fit(struct top_state *state, int height, int width);

/* A key of screen.h. */
enum top_action top_state_key(struct top_state *state, int key);

/* Lines above the rows of the table, and how many rows there is room for. */
int top_state_head(const struct top_state *state);
size_t top_state_room(const struct top_state *state);
/* How many lines of details or help there is room for. */
size_t top_state_line_room(const struct top_state *state);

void top_lines_add(struct top_lines *lines, enum screen_style style, const char *text);
void top_lines_clear(struct top_lines *lines);

#endif
