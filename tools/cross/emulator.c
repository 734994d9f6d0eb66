/* Loaded into each emulated program of 64 bits, for what qemu-user does not have.
 * - Robust mutexes (set_robust_list): glibc 2.41 refuses to make one. Here they are not robust;
 * only a process that dies with LMDB's lock would notice.
 * - Maps of 64 GB and more: data.mdb is mapped as 1 TB. Here it is 1 GB, and no test fills
 * that. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAP_MOST (1UL << 30)

static size_t at_most(size_t length)
{
    return length < MAP_MOST ? length : MAP_MOST;
}

/* What the program starts in its turn is of this machine, and cannot load this library: its
 * loader would say so between the program's own words. */
__attribute__((constructor)) static void load_nowhere_else(void)
{
    unsetenv("LD_PRELOAD");
}

int pthread_mutexattr_setrobust(pthread_mutexattr_t *attributes, int robustness)
{
    (void)attributes;
    (void)robustness;
    return 0;
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
#ifdef __s390x__ /* takes them in memory */
    long arguments[] = {(long)address, (long)at_most(length), protection, flags, file, offset};

    return (void *)syscall(SYS_mmap, arguments);
#else
    return (void *)syscall(SYS_mmap, address, at_most(length), protection, flags, file, offset);
#endif
}

int munmap(void *address, size_t length)
{
    return (int)syscall(SYS_munmap, address, at_most(length));
}
