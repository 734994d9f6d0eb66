/* Temporary directories of tests, under TMPDIR or /tmp. */
#ifndef DUEQ_TEMP_DIR_H
#define DUEQ_TEMP_DIR_H

/* Creates an empty directory. The caller gives the path to temp_dir_remove. Aborts when the
 * directory cannot be created. */
char *temp_dir_new(void);

/* Removes the directory with all that is in it and frees the path. NULL is fine. */
void temp_dir_remove(char *path);

/* Removes the directory and gives its name to another. -1: errno. */
int temp_dir_replace(const char *from, const char *path);

#endif
