"""The syncs of the source, each with the change that removes it."""

# The name of a sync, and the changes that remove it: file, text that stands there once, what takes
# its place. Where a second sync covers for the first, both are removed: the test of one without the
# other could not fail.
PLACES = {
    "the name of a new data directory": [
        ("storage/kv/data_dir.c",
         "return io->fsync_dir(io->arg, parent) == 0 || errno == EACCES ? 0 : -1;",
         "(void)io;\n    return 0;")],
    "a new data.mdb": [
        ("storage/kv/lmdb_store.c",
         "return error == MDB_SUCCESS ? mdb_env_sync(file->env, 1) : error;",
         "return error;")],
    "the names of data.mdb and of the journal's directory": [
        ("storage/kv/lmdb_store.c",
         "if (result == 0 && io->fsync_dir(io->arg, dir) != 0)",
         "(void)dir;\n    if (0)"),
        ("storage/kv/journal/journal_files.c",
         "if (io->fsync_dir(io->arg, dir) !=\n        0)",
         "if (0)")],
    "data.mdb at an opening: when it is read, when its mark has no room, when the mark is written": [
        ("storage/kv/lmdb_store.c",
         "if (file->fd < 0 || io->fdatasync(io->arg, file->fd) != 0)",
         "if (file->fd < 0)"),
        ("storage/kv/mark.c",
         "return status == DUEQ_OK || status == DUEQ_FULL ? lmdb_sync(lmdb) : status;",
         "return status == DUEQ_FULL ? DUEQ_OK : status;"),
        ("storage/kv/lmdb_store.c",
         "if (file->io->fdatasync(file->io->arg, file->fd) != 0)\n        return DUEQ_IO;",
         "")],
    "data.mdb is read off the disk, and its mark written twice": [
        ("storage/kv/lmdb_store.c",
         "io->forget(io->arg, file->fd);",
         ""),
        ("storage/kv/mark.c",
         "    if (status == DUEQ_OK)\n        status = commit_mark(lmdb, mark);\n"
         "    return status == DUEQ_OK || status == DUEQ_FULL",
         "    return status == DUEQ_OK || status == DUEQ_FULL")],
    "a checkpoint": [
        ("storage/kv/lmdb_store.c",
         "enum dueq_status status = lmdb_status_of(store, mdb_env_sync(file->env, 1));",
         "enum dueq_status status = lmdb_status_of(store, file == NULL);")],
    "the copy of a compaction": [
        ("storage/kv/pages/pages_copy.c",
         "if (io->fdatasync(io->arg, copying->copy->fd) != 0)",
         "if (io == NULL)")],
    "the name of a compacted data.mdb": [
        ("storage/kv/lmdb_copy.c",
         "} else if (io->fsync_open_dir(io->arg, dir) != 0) {",
         "} else if (io == NULL) {")],
    "the directory of a backup": [
        ("storage/kv/backup.c",
         "if (status == DUEQ_OK && io->fsync_dir(io->arg, backup->partial) != 0)",
         "if (status == DUEQ_OK && io == NULL)")],
    "the name of a backup": [
        ("storage/kv/backup.c",
         "if (io->fsync_dir(io->arg, path_in(backup->path, \"..\", parent)) == 0)",
         "if (path_in(backup->path, \"..\", parent) != NULL)")],
    "what a backup says of itself": [
        ("storage/kv/backup_label.c",
         "if (result == 0)\n        result = io->fdatasync(io->arg, fd);",
         "")],
    "a segment in the archive": [
        ("storage/kv/archive_file.c",
         "if (status == DUEQ_OK && io->fdatasync(io->arg, to) != 0)",
         "if (status == DUEQ_OK && io == NULL)")],
    "the name of a segment in the archive": [
        ("storage/kv/archive_file.c",
         "if (io->fsync_dir(io->arg, copy->dir) == 0)",
         "if (io != NULL)")],
    "what is restored": [
        ("storage/kv/kv_recovery.c",
         "if (out >= 0 && got >= 0 && io->fdatasync(io->arg, out) != 0)",
         "if (io == NULL)")],
    "the name of what is restored": [
        ("storage/kv/kv_recovery.c",
         "if (io->fsync_dir(io->arg, path_in(recovery->ask->dir, \"..\", path)) != 0)",
         "if (path_in(recovery->ask->dir, \"..\", path) == NULL)")],
    "the records of a commit": [
        ("storage/kv/journal/journal.c",
         "result = io->fdatasync(io->arg, segment->fd);",
         "result = 0;")],
    "the name of a segment": [
        ("storage/kv/journal/journal.c",
         "result = journal_files_sync_names(&journal->files);",
         "result = 0;")],
    "a segment at an opening": [
        ("storage/kv/journal/journal_files.c",
         "if (io->fdatasync(io->arg, fd) != 0 || fstat(fd, &stats) != 0)",
         "if (fstat(fd, &stats) != 0)")],
    "a segment is read off the disk": [
        ("storage/kv/journal/journal_files.c",
         "io->forget(io->arg, fd);",
         "")],
    "the zeros of a new file": [
        ("storage/kv/journal/journal_files.c",
         "return io->fdatasync(io->arg, fd);",
         "return 0;")],
    "the new name of the reserve": [
        ("storage/kv/journal/journal_files.c",
         "if (fd < 0 || journal_files_sync_names(files) == 0)",
         "if (fd < 0 || 1)")],
    "the names of spare and reserve": [
        ("storage/kv/journal/journal_files.c",
         "return !made || journal_files_sync_names(files) == 0;",
         "return true;")],
    "the removal of segments at an opening": [
        ("storage/kv/journal/journal_replay.c",
         "if (journal_files_sync_names(reading->files) != 0)",
         "if (0)")],
    "the journal before a checkpoint": [
        ("storage/kv/checkpoint.c",
         "enum dueq_status status = journal_sync_to(checkpoint->journal, checkpoint->mark.lsn);",
         "enum dueq_status status = DUEQ_OK;")],
    "data.mdb before the journal lets go of it": [
        ("storage/kv/checkpoint.c",
         "if (status == DUEQ_OK && lmdb_sync(checkpoint->lmdb) != DUEQ_OK)",
         "if (0)")],
    "the journal before a segment is archived": [
        ("storage/kv/archive.c",
         "enum dueq_status status = journal_sync_to(archive->journal, segment->last_lsn);",
         "enum dueq_status status = DUEQ_OK;")],
    "the journal at the end, when a batch is left": [
        ("storage/kv/kv_open.c",
         "status = kv_batch_bytes(kv) == 0 ? kv_checkpoint(kv) : journal_sync(kv->journal);",
         "status = kv_batch_bytes(kv) == 0 ? kv_checkpoint(kv) : DUEQ_OK;")],
    "the format": [
        ("storage/kv/data_dir.c",
         "pwrite(fd, format, sizeof(format) - 1, 0) != (ssize_t)sizeof(format) - 1 ||\n        fsync(fd) != 0)",
         "pwrite(fd, format, sizeof(format) - 1, 0) != (ssize_t)sizeof(format) - 1)")],
    "a copy that the archive has": [
        ("storage/kv/archive_file.c",
         "(io->fdatasync(io->arg, two) != 0 ||\n",
         "(\n")],
    "the name of a copy that the archive has": [
        ("storage/kv/archive_file.c",
         "(io->fdatasync(io->arg, two) != 0 ||\n         io->fsync_dir(io->arg, copy->dir) != 0)) /* who made it was killed */",
         "io->fdatasync(io->arg, two) != 0)")],
    "what is no longer in a restored directory": [
        ("storage/kv/kv_recovery.c",
         "if (io->fsync_dir(io->arg, recovery->partial) != 0)",
         "if (io == NULL)")],
    "a file of settings": [
        ("server/process/file_replace.c",
         "good = write_all(fd, content, size) && fsync(fd) == 0 && rename(temporary, path) == 0;",
         "good = write_all(fd, content, size) && rename(temporary, path) == 0;")],
    "the name of a file of settings": [
        ("server/process/file_replace.c",
         "bool good = fd >= 0 && fsync(fd) == 0;",
         "bool good = fd >= 0;")],
    "owner and mode of a directory that is made offline": [
        ("tools/offline/new_directory.c",
         "fchmod(fd, kept->st_mode & 07777) == 0 && syncfs(fd) == 0;",
         "fchmod(fd, kept->st_mode & 07777) == 0;")],
    "the name of a directory that is made offline": [
        ("tools/offline/new_directory.c",
         "done = fd >= 0 && fsync(fd) == 0;",
         "done = fd >= 0;")],
}

# Syncs on which nothing relies, and what they are for.
OTHERS = {
    ("storage/kv/journal/journal.c", "if (io->fdatasync(io->arg, fd) != 0)"):
        "a large record in steps, so that others wait less; the sync of its segment follows",
}
