#include "tools/cli/history_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, KEPT = 1000, MOST = 2 * KEPT };

/* False: there is no place for it. */
static bool find_path(char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length;

    if (state != NULL && state[0] == '/') {
        snprintf(path, size, "%s/dueq", state);
        mkdir(state, 0700);
        mkdir(path, 0700);
        length = snprintf(path, size, "%s/dueq/history", state);
    } else {
        length = snprintf(path, size, "%s/.dueq_history", home == NULL ? "" : home);
    }
    return (state != NULL || home != NULL) && length > 0 && (size_t)length < size;
}

/* No one else may read it, not even when it was there before. */
static FILE *open_file(const char *path, int flags, const char *mode)
{
    int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fchmod(fd, 0600) == 0)
        file = fdopen(fd, mode);
    if (file == NULL)
        close(fd);
    return file;
}

void history_file_add(const char *line)
{
    char path[PATH_ROOM];
    FILE *file =
        find_path(path, sizeof(path)) ? open_file(path, O_WRONLY | O_APPEND, "a") : NULL;

    if (file == NULL)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

/* Only the last ones stay. */
static void shorten(const char *path, FILE *file, size_t drop)
{
    char other[PATH_ROOM + 8], *line = NULL;
    size_t room = 0;
    FILE *to;

    snprintf(other, sizeof(other), "%s.new", path);
    unlink(other);
    to = open_file(other, O_WRONLY | O_EXCL, "w");
    if (to == NULL)
        return;
    rewind(file);
    for (size_t i = 0; getline(&line, &room, file) > 0; i++)
        if (i >= drop)
            fputs(line, to);
    free(line);
    if (fclose(to) == 0)
        rename(other, path);
}

void history_file_read(history_line_fn tell, void *context)
{
    char path[PATH_ROOM], *line = NULL;
    size_t room = 0, count = 0;
    FILE *file = find_path(path, sizeof(path)) ? open_file(path, O_RDONLY, "r") : NULL;

    if (file == NULL)
        return;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        tell(context, line);
        count++;
    }
    free(line);
    if (count > MOST)
        shorten(path, file, count - KEPT);
    fclose(file);
}
