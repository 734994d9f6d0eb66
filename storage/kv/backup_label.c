#include "storage/kv/backup_label.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 16 /* of a path: for the name */, LINE_MOST = 512 };

static const char first_line[] = "dueq backup 1\n";

static const char *path_of(const char *dir, char *path)
{
    snprintf(path, PATH_MAX, "%.*s/" BACKUP_LABEL_FILE, PATH_MAX - ROOM, dir);
    return path;
}

enum dueq_status backup_label_write(const char *dir, const struct dueq_io *io,
                                    const struct backup_label *label)
{
    char path[PATH_MAX], text[LINE_MOST + 256];
    int size, fd, result, error;

    size = snprintf(text, sizeof(text),
                    "%sstore %016" PRIx64 "\nhistory %016" PRIx64 "\nlsn %" PRIu64 "\n%s%s%s",
                    first_line, label->store, label->history, label->lsn,
                    label->base[0] == '\0' ? "" : "base ", label->base,
                    label->base[0] == '\0' ? "" : "\n");
    fd = io->open(io->arg, path_of(dir, path), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return errno == ENOSPC || errno == EDQUOT ? DUEQ_FULL : DUEQ_IO;
    result = io_write(io, fd, text, (size_t)size, 0);
    if (result == 0)
        result = io->fdatasync(io->arg, fd);
    error = errno;
    io->close(io->arg, fd);
    errno = error;
    if (result == 0)
        return DUEQ_OK;
    return error == ENOSPC || error == EDQUOT ? DUEQ_FULL : DUEQ_IO;
}

static bool is_plain(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static void read_line(const char *line, struct backup_label *label)
{
    if (sscanf(line, "store %" SCNx64, &label->store) != 1 &&
        sscanf(line, "history %" SCNx64, &label->history) != 1 &&
        sscanf(line, "lsn %" SCNu64, &label->lsn) != 1 && strncmp(line, "base ", 5) == 0)
        snprintf(label->base, sizeof(label->base), "%.*s", (int)strcspn(line + 5, "\n"),
                 line + 5);
}

static FILE *open_label(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 && io_is_file(fd) ? fdopen(fd, "r") : NULL;

    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

bool backup_label_read(const char *dir, struct backup_label *ret_label)
{
    char path[PATH_MAX], line[LINE_MOST];
    FILE *file = open_label(path_of(dir, path));
    bool known;

    *ret_label = (struct backup_label){.store = 0};
    if (file == NULL)
        return false;
    known = fgets(line, sizeof(line), file) != NULL && strcmp(line, first_line) == 0;
    while (known && fgets(line, sizeof(line), file) != NULL)
        read_line(line, ret_label);
    fclose(file);
    return known && (ret_label->base[0] == '\0' || is_plain(ret_label->base));
}
