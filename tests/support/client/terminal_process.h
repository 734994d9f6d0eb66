/* The program on a terminal of its own, for what people type and see. One at a time; a test
 * that fails leaves none behind. */
#ifndef DUEQ_TERMINAL_PROCESS_H
#define DUEQ_TERMINAL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Runs a line of the shell on a terminal of that size. */
void terminal_begin(int rows, int columns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Types these keys: "\r" is Enter, "\3" Ctrl-C, "\4" Ctrl-D. */
void terminal_type(const char *keys);
/* Waits until the program has written this since the last terminal_await that found something;
 * fails the test when it does not come. */
void terminal_await(const char *text);
/* All that it has written, so far. */
const char *terminal_output(size_t *ret_size);
void terminal_resize(int rows, int columns);
void terminal_signal(int signal_number);
/* Waits for its end: the exit status, or 128 and the signal. */
int terminal_end(void);
/* Does the terminal work as at its beginning: lines, echo? To be asked before the end. */
bool terminal_is_restored(void);
/* Ends what runs; for a teardown. */
void terminal_cleanup(void);

#endif
