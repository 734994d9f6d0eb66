/* Bytes that no dueq has written, in the files of a directory.
 *
 * Input: changes: which file (1 byte, in the order of their names), what (1 byte), a position
 * (4 bytes), the number of bytes (2 bytes), the bytes. */
#ifndef DUEQ_FILES_CHECK_H
#define DUEQ_FILES_CHECK_H

#include "tests/fuzz/journal_check.h"
#include "tests/support/store/kept_files.h"

#include <sys/stat.h>

enum { FILES_CHANGE_HEAD = 8, FILES_CHANGES = 64 };
enum {
    FILES_OVERWRITE, /* what is after the end makes the file longer */
    FILES_REPLACE,   /* the whole file */
    FILES_CUT,
    FILES_REMOVE,
    FILES_ZERO, /* so many bytes as the first two of the bytes say */
    FILES_COPY, /* from the position that the first four say, so many as the next two say */
    FILES_WHATS
};

struct files_change {
    struct kept_file *file;
    unsigned what;
    size_t position;
    const uint8_t *bytes;
    size_t size;
};

static inline size_t files_number(const uint8_t *bytes, size_t size, size_t count)
{
    size_t number = 0;

    for (size_t i = 0; i < count && i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static inline void files_write(struct kept_file *file, size_t position, const uint8_t *bytes,
                               size_t size)
{
    if (position + size > file->size) {
        file->bytes = realloc(file->bytes, position + size + 1);
        if (file->bytes == NULL)
            abort();
        memset(file->bytes + file->size, 0, position + size - file->size);
        file->size = position + size;
    }
    if (size > 0)
        memcpy(file->bytes + position, bytes, size);
}

static inline size_t files_within(size_t size, size_t position, size_t most)
{
    return position >= most ? 0 : size < most - position ? size : most - position;
}

static inline void files_apply(const struct files_change *change)
{
    struct kept_file *file = change->file;
    size_t from, size;

    switch (change->what) {
    case FILES_OVERWRITE:
        files_write(file, change->position, change->bytes, change->size);
        break;
    case FILES_REPLACE:
        file->size = 0;
        files_write(file, 0, change->bytes, change->size);
        break;
    case FILES_CUT:
        file->size = change->position;
        break;
    case FILES_REMOVE:
        file->size = SIZE_MAX; /* no file */
        break;
    case FILES_ZERO:
        size = files_within(files_number(change->bytes, change->size, 2), change->position,
                            file->size);
        memset(file->bytes + change->position, 0, size);
        break;
    default:
        from = files_number(change->bytes, change->size, 4) % (file->size + 1);
        size = change->size < 6 ? 0 : files_number(change->bytes + 4, 2, 2);
        size = files_within(files_within(size, from, file->size), change->position, file->size);
        memmove(file->bytes + change->position, file->bytes + from, size);
    }
} /* NOLINT(clang-analyzer-unix.Malloc): the file keeps its bytes */

/* Returns where the next begins; NULL: there is none. */
static inline const uint8_t *files_read_change(struct kept_files *files, const uint8_t *at,
                                               const uint8_t *end, struct files_change *change)
{
    size_t left = (size_t)(end - at), size;

    if (left < FILES_CHANGE_HEAD)
        return NULL;
    size = files_number(at + 6, 2, 2);
    left -= FILES_CHANGE_HEAD;
    change->file = &files->files[at[0] % files->count];
    change->what = at[1] % FILES_WHATS;
    change->position = change->file->size == SIZE_MAX
                           ? 0
                           : files_number(at + 2, 4, 4) % (change->file->size + 1);
    change->bytes = at + FILES_CHANGE_HEAD;
    change->size = size < left ? size : left;
    return change->bytes + change->size;
}

static inline bool files_is_segment(const struct kept_file *file)
{
    return strstr(file->name, ".seg") != NULL;
}

/* Corrects the checksums of a segment, under the number that it claims. */
static inline void files_seal(struct kept_file *file)
{
    struct segment_header header;

    if (files_is_segment(file) && file->size >= SEGMENT_HEADER_SIZE &&
        segment_claims(file->bytes, &header))
        check_seal(file->bytes, file->size, header.number);
}

/* A copy with the changes; kept_files_release frees it. `seal`: checksums of segments fit. */
static inline void files_change(const struct kept_files *pattern, const uint8_t *data,
                                size_t size, bool seal, struct kept_files *ret_files)
{
    const uint8_t *at = data, *end = data + size;
    struct files_change change;

    *ret_files = *pattern;
    for (size_t i = 0; i < pattern->count; i++) {
        struct kept_file *file = &ret_files->files[i];

        file->bytes = malloc(file->size + 1);
        if (file->bytes == NULL)
            abort();
        memcpy(file->bytes, pattern->files[i].bytes, file->size);
    }
    for (int i = 0;
         i < FILES_CHANGES && (at = files_read_change(ret_files, at, end, &change)) != NULL;
         i++)
        if (change.file->size != SIZE_MAX)
            files_apply(&change);
    for (size_t i = 0; i < ret_files->count; i++)
        if (seal && ret_files->files[i].size != SIZE_MAX)
            files_seal(&ret_files->files[i]);
}

/* Makes the folder of a file, if it is in one. */
static inline void files_make_folder(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    *slash = '\0';
    mkdir(folder, 0700);
}

static inline void files_save(const struct kept_files *files, const char *dir)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < files->count; i++) {
        const struct kept_file *kept = &files->files[i];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%.1000s", dir, kept->name);
        files_make_folder(path);
        if (kept->size == SIZE_MAX)
            continue;
        file = fopen(path, "we");
        if (file == NULL || fwrite(kept->bytes, 1, kept->size, file) != kept->size ||
            fclose(file) != 0)
            abort();
    }
}

static inline int files_by_name(const void *one, const void *two)
{
    return strcmp(((const struct kept_file *)one)->name, ((const struct kept_file *)two)->name);
}

/* In the same order in each process. */
static inline void files_sort(struct kept_files *files)
{
    qsort(files->files, files->count, sizeof(files->files[0]), files_by_name);
}

/* Adds a file under a name of its own. */
static inline void files_add(struct kept_files *files, const char *dir, const char *name,
                             const char *as)
{
    struct kept_file *kept = &files->files[files->count];
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%.3000s/%.255s", dir, name);
    file = fopen(path, "re");
    if (file == NULL || files->count++ == KEPT_FILES_MOST || fseek(file, 0, SEEK_END) != 0)
        abort();
    kept->size = (size_t)ftell(file);
    kept->bytes = malloc(kept->size + 1);
    rewind(file);
    if (kept->bytes == NULL || fread(kept->bytes, 1, kept->size, file) != kept->size)
        abort();
    fclose(file);
    snprintf(kept->name, sizeof(kept->name), "%s", as);
}

#endif
