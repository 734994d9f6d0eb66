/* Runs a server on a disk that fails on command (tests/fault/preload/preload_faulty_disk.c). */
#ifndef DUEQ_FAULTY_DISK_H
#define DUEQ_FAULTY_DISK_H

#include "tests/support/client/server_process.h"

/* In its next runs the server has its data on such a disk, which works at first. After
 * faulty_disk_break, `countdown` calls succeed before the first one fails. */
void faulty_disk_prepare(struct server_process *server, long countdown);

/* From now on these calls fail: "fdatasync EIO", "grow ENOSPC", ... */
void faulty_disk_break(const struct server_process *server, const char *faults);
void faulty_disk_repair(const struct server_process *server);

#endif
