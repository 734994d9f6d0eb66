/* The whole terminal, by ncurses, which is loaded when it is used. Only one may be open. */
#ifndef DUEQ_SCREEN_H
#define DUEQ_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_HEAD,   /* bold */
    SCREEN_MARKED, /* reversed: what is selected */
    SCREEN_GOOD,
    SCREEN_BUSY,
    SCREEN_WAIT,
    SCREEN_BAD,
};

/* Other keys are their byte; those of a character above 127 come byte by byte. */
enum screen_key {
    SCREEN_NO_KEY = 0,
    SCREEN_UP = 0x100,
    SCREEN_DOWN,
    SCREEN_LEFT,
    SCREEN_RIGHT,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_BEGIN,
    SCREEN_END,
    SCREEN_ENTER,
    SCREEN_BACKSPACE,
    SCREEN_OTHER_KEY,
};

/* Signals are to be caught before (end_signals.h). False: *why, `size` bytes, says why,
 * and nothing has changed. */
bool screen_open(char *why, size_t size);
/* Restores the terminal; does nothing when it is not open. */
void screen_close(void);
/* At least 1 each. */
void screen_size(int *ret_rows, int *ret_columns);
/* Takes the size that the terminal has now. */
void screen_resize(void);
/* What is drawn from here on is shown by screen_show, all at once. */
void screen_clear(void);
/* Text for the locale's characters, without control bytes, which fits. */
void screen_put(int row, int column, enum screen_style style, const char *text);
void screen_show(void);
/* The next screen_show paints all of it, whatever another program has left there. */
void screen_repaint(void);
/* A key that was typed, or SCREEN_NO_KEY: it does not wait. */
int screen_key(void);

#endif
