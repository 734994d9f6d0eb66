/* Directories that tests work in, under TMPDIR or /tmp. */
#ifndef DUEQ_TEMP_DIR_H
#define DUEQ_TEMP_DIR_H

/* Creates an empty directory. The path is the caller's, to be given to temp_dir_remove. Aborts
 * when there is nowhere to put it. */
char *temp_dir_new(void);

/* Removes the directory with all that is in it and frees the path. NULL is fine. */
void temp_dir_remove(char *path);

#endif
