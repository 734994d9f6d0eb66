/* The system calls that the journal and data.mdb need, in a table, so that tests can count,
 * delay and shorten them and let them fail. Each function returns what the call of the same
 * name returns, and sets errno. Several threads call the functions. The lock of the data
 * directory (kv/data_dir.c) and LMDB's own calls do not use this table. */
#ifndef DUEQ_IO_H
#define DUEQ_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct dueq_io {
    void *arg; /* passed to every function */
    int (*open)(void *arg, const char *path, int flags, mode_t mode);
    int (*close)(void *arg, int fd);
    ssize_t (*pread)(void *arg, int fd, void *data, size_t size, off_t offset);
    ssize_t (*pwritev)(void *arg, int fd, const struct iovec *parts, int count, off_t offset);
    int (*fdatasync)(void *arg, int fd);
    /* Real blocks, mode 0; where the file system cannot do that, zeros after the file's end. */
    int (*fallocate)(void *arg, int fd, off_t offset, off_t size);
    int (*rename)(void *arg, const char *from, const char *to);
    int (*unlink)(void *arg, const char *path);
    int (*fsync_dir)(void *arg, const char *path); /* opens, syncs, closes a directory */
    int (*fsync_open_dir)(void *arg, int fd); /* the same for one that open has opened, with
                                                 O_DIRECTORY: needs no free descriptor */
    int (*forget)(void *arg, int fd);         /* POSIX_FADV_DONTNEED: later reads of a
                                                  synced file come from the disk */
    int (*free_bytes)(void *arg, const char *path, uint64_t *ret_bytes); /* statvfs f_bavail */
    uint64_t (*monotonic_usec)(void *arg); /* to pace and to measure, never stored */
};

/* The calls of the operating system. */
extern const struct dueq_io io_system;

/* False: a pipe, a device, a directory. What others may have put into a place is opened with
 * O_NONBLOCK, and asked about: to open or to read a pipe may take for ever. */
bool io_is_file(int fd);

/* Writes all of it, also when a signal or the kernel's mood makes that several calls. 0; or -1
 * and errno: a part may be written. */
int io_write(const struct dueq_io *io, int fd, const void *bytes, size_t size, uint64_t offset);

#endif
