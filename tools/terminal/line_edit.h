/* Lines that a person types: with libedit if it is there, else as the terminal gives them. */
#ifndef DUEQ_LINE_EDIT_H
#define DUEQ_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

struct line_edit_hooks {
    void *context;
    const char *(*prompt)(void *context); /* plain text, valid until the next call */
    /* What may follow these bytes, in `room` bytes; "" is fine. */
    void (*hint)(void *context, const char *line, size_t size, char *hint, size_t room);
    /* What to insert after these bytes: the size of it. The choices are printed when there are
     * more of them; *ret_printed says so. */
    size_t (*complete)(void *context, const char *line, size_t size, char *insert, size_t room,
                       bool *ret_printed);
};

struct line_edit;
enum line_outcome {
    LINE_READ,
    LINE_INTERRUPTED, /* Ctrl-C: what was typed does not count */
    LINE_ENDED,       /* end of input, or a signal to end */
};

/* Catches signals (end_signals.h). Only one may be at a time. */
struct line_edit *line_edit_new(const struct line_edit_hooks *hooks);
/* Is it edited by libedit? */
bool line_edit_is_full(const struct line_edit *edit);
/* The line has no line feed, and is valid until the next call. */
enum line_outcome line_edit_read(struct line_edit *edit, const char **ret_line);
/* The arrow keys bring it back. */
void line_edit_remember(struct line_edit *edit, const char *line);
void line_edit_free(struct line_edit *edit); /* restores the terminal; NULL is fine */

#endif
