/* Puts LMDB's data file on a fake disk, although LMDB calls the kernel and not struct dueq_io:
 * replaces pwrite, writev and fdatasync of the program for files named *.mdb or *.mdb.new.
 * A cut or a failed sync then has the same effect on them as on other files of that disk. */
#ifndef DUEQ_LMDB_DISK_H
#define DUEQ_LMDB_DISK_H

#include "tests/support/faults/fake_disk.h"

#include <sys/types.h>

/* NULL: ends it. */
void lmdb_disk_attach(struct fake_disk *disk);
/* What LMDB writes behind that byte of its file finds no room: of a write that begins before it
 * a part is done. 0: there is room. Needs no disk. */
void lmdb_disk_set_end(off_t end);
/* While true, fdatasync does nothing, for any file: for tests that open thousands of stores. */
void lmdb_disk_skip_syncs(bool skip);

#endif
