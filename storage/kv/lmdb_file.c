#include "storage/kv/lmdb_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
    RUN_WORDS = 4, /* 1 MiB of pages */
    LOCK_FILE_BYTES = 16 * 1024
};

/* ---- life */

struct lmdb_file *lmdb_file_new(const struct dueq_io *io)
{
    struct lmdb_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    file->io = io;
    file->fd = -1;
    return file;
}

void lmdb_file_free(struct lmdb_file *file)
{
    if (file == NULL)
        return;
    pages_free(file->writer);
    pages_free(file->reader);
    if (file->env != NULL)
        mdb_env_close(file->env);
    if (file->fd >= 0)
        file->io->close(file->io->arg, file->fd);
    free(file);
}

int lmdb_file_open(struct lmdb_file *file, const char *path, uint64_t map_bytes, unsigned flags)
{
    int error = mdb_env_create(&file->env);

    if (error == MDB_SUCCESS)
        error = mdb_env_set_mapsize(file->env, (size_t)map_bytes);
    if (error == MDB_SUCCESS)
        error = mdb_env_open(file->env, path, MDB_NOTLS | MDB_NORDAHEAD | flags, 0600);
    return error;
}

static int open_records(struct lmdb_file *file)
{
    MDB_txn *txn;
    int error = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);

    if (error != MDB_SUCCESS)
        return error;
    error = mdb_dbi_open(txn, NULL, 0, &file->dbi);
    mdb_txn_abort(txn);
    return error;
}

/* One line of the process's maps: is it a map of the file? */
static bool is_map_of(const char *line, const struct stat *file, uintptr_t *ret_from,
                      uintptr_t *ret_to)
{
    unsigned major_number, minor_number;
    uintmax_t inode;

    return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*x %x:%x %ju", ret_from, ret_to,
                  &major_number, &minor_number, &inode) == 5 &&
           inode == file->st_ino && major_number == major(file->st_dev) &&
           minor_number == minor(file->st_dev);
}

/* LMDB does not say where its map is. At this time it is the only one of the file. */
static void find_map(struct lmdb_file *file)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    struct stat stats;
    uintptr_t from, to;

    if (maps != NULL && fstat(file->fd, &stats) == 0)
        while (fgets(line, sizeof(line), maps) != NULL)
            if (is_map_of(line, &stats, &from, &to)) {
                file->map = (void *)from;
                file->map_bytes = to - from;
            }
    if (maps != NULL)
        fclose(maps);
}

/* LMDB's own map, where it is known as a whole; else a second one. LMDB maps a file that is
 * larger than asked for as a whole. */
static struct pages *new_reader(const struct lmdb_file *file)
{
    MDB_envinfo info;

    mdb_env_info(file->env, &info);
    if (file->map != NULL && file->map_bytes >= info.me_mapsize)
        return pages_new_on(file->io, file->fd, file->map, info.me_mapsize, false);
    return pages_new(file->io, file->fd, info.me_mapsize, false);
}

void lmdb_file_drop(struct lmdb_file *file)
{
    pages_drop(file->reader);
    if (file->map != NULL)
        madvise(file->map, file->map_bytes, MADV_DONTNEED);
}

int lmdb_file_look(struct lmdb_file *file)
{
    int error = open_records(file);

    if (error != MDB_SUCCESS)
        return error;
    find_map(file);
    file->reader = new_reader(file);
    if (file->reader != NULL)
        file->writer = pages_new_beside(file->reader, true);
    return file->reader == NULL || file->writer == NULL ? ENOMEM : 0;
}

/* ---- the table of readers */

static int allocate_lock_file(const struct dueq_io *io, const char *path)
{
    int fd = io->open(io->arg, path, O_RDWR | O_CREAT, 0600), error = 0;

    if (fd < 0)
        return errno;
    if (io->fallocate(io->arg, fd, 0, LOCK_FILE_BYTES) != 0)
        error = errno;
    io->close(io->arg, fd);
    return error;
}

/* A lock file that has the right size and all its blocks is not touched: a full disk may refuse
 * an allocation of blocks that exist. */
int lmdb_file_prepare_lock(const struct dueq_io *io, const char *path)
{
    struct stat stats;

    if (stat(path, &stats) == 0 && stats.st_size >= LOCK_FILE_BYTES &&
        (int64_t)stats.st_blocks * 512 >= stats.st_size)
        return 0;
    return allocate_lock_file(io, path);
}

/* ---- space */

/* Makes a bitmap of pages, which the caller frees. NULL: out of memory. */
static uint64_t *new_bitmap(uint64_t pages)
{
    return calloc((size_t)(pages / 64 + 1), sizeof(uint64_t));
}

/* Reads the free list (dbi 0): each record is a count and so many page numbers. Returns the
 * number of free pages. */
static uint64_t read_free_list(MDB_txn *txn, uint64_t *bitmap, uint64_t end)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t pages = 0;

    if (mdb_cursor_open(txn, 0, &cursor) != MDB_SUCCESS)
        return 0;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
        const uint8_t *at = value.mv_data;
        size_t count, page;

        memcpy(&count, at, sizeof(count));
        pages += count;
        for (size_t i = 1;
             bitmap != NULL && i <= count && (i + 1) * sizeof(page) <= value.mv_size; i++) {
            memcpy(&page, at + i * sizeof(page), sizeof(page));
            if (page < end)
                bitmap[page / 64] |= (uint64_t)1 << page % 64;
        }
    }
    mdb_cursor_close(cursor);
    return pages;
}

/* Counts free pages in runs of at least RUN_WORDS whole words of 64 pages. */
static uint64_t count_runs(const uint64_t *bitmap, uint64_t end)
{
    uint64_t pages = 0, words = 0;

    for (uint64_t i = 0; bitmap != NULL && i <= end / 64; i++) {
        if (bitmap[i] == UINT64_MAX) {
            words++;
            continue;
        }
        pages += words >= RUN_WORDS ? words * 64 : 0;
        words = 0;
    }
    return pages + (words >= RUN_WORDS ? words * 64 : 0);
}

int lmdb_file_allocate(struct lmdb_file *file, uint64_t size)
{
    const struct dueq_io *io = file->io;
    uint64_t from = atomic_load(&file->allocated);
    int result = 0;

    while (from < size &&
           (result = io->fallocate(io->arg, file->fd, (off_t)from, (off_t)(size - from))) !=
               0 &&
           errno == EINTR)
        ;
    while (result == 0 && from < size &&
           !atomic_compare_exchange_weak(&file->allocated, &from, size))
        ;
    return result == 0 ? 0 : errno;
}

uint64_t lmdb_file_end(struct lmdb_file *file)
{
    uint64_t allocated = atomic_load(&file->allocated);
    struct stat stats;

    return fstat(file->fd, &stats) == 0 && (uint64_t)stats.st_size > allocated
               ? (uint64_t)stats.st_size
               : allocated;
}

/* LMDB may have made the file longer, with holes: these get blocks, or do not count. */
static uint64_t allocated_bytes(struct lmdb_file *file)
{
    struct stat stats;

    if (fstat(file->fd, &stats) != 0)
        return 0;
    if (atomic_load(&file->allocated) == 0 &&
        (uint64_t)stats.st_blocks * 512 >= (uint64_t)stats.st_size)
        atomic_store(&file->allocated, (uint64_t)stats.st_size);
    if ((uint64_t)stats.st_size > atomic_load(&file->allocated))
        lmdb_file_allocate(file, (uint64_t)stats.st_size);
    return atomic_load(&file->allocated);
}

void lmdb_file_room(struct lmdb_file *file, struct lmdb_room *ret_room)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_txn *txn;
    uint64_t end, *bitmap;

    mdb_env_info(file->env, &info);
    mdb_env_stat(file->env, &stat);
    end = info.me_last_pgno + 1;
    bitmap = new_bitmap(end);
    *ret_room = (struct lmdb_room){.file = allocated_bytes(file), .end = end * stat.ms_psize};
    ret_room->used = ret_room->end;
    if (mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn) == MDB_SUCCESS) {
        ret_room->used -= read_free_list(txn, bitmap, end) * stat.ms_psize;
        mdb_txn_abort(txn);
    }
    ret_room->runs = count_runs(bitmap, end) * stat.ms_psize;
    free(bitmap);
}
