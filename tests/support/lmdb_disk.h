/* Puts LMDB's data file on a fake disk, although LMDB asks the kernel and not struct dueq_io: a
 * program that uses this has its pwrite, writev and fdatasync watched for files named *.mdb or
 * *.mdb.new. What a cut or a failed sync does to them is what it does to every file of that
 * disk. */
#ifndef DUEQ_LMDB_DISK_H
#define DUEQ_LMDB_DISK_H

#include "tests/support/fake_disk.h"

/* NULL: nothing is watched any more. */
void lmdb_disk_attach(struct fake_disk *disk);
/* fdatasync does nothing, to no file: for what opens stores by the thousand. */
void lmdb_disk_skip_syncs(bool skip);

#endif
