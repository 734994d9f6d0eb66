/* The lines that were typed before, in a file that only its owner may read:
 * $XDG_STATE_HOME/dueq/history, or ~/.dueq_history. */
#ifndef DUEQ_HISTORY_FILE_H
#define DUEQ_HISTORY_FILE_H

typedef void (*history_line_fn)(void *context, const char *line);

/* Tells each line, the oldest first; a file that has become long is shortened. A file that
 * cannot be read is an empty history. */
void history_file_read(history_line_fn tell, void *context);
/* Adds a line, without its line feed. Several programs may do so at a time. */
void history_file_add(const char *line);

#endif
