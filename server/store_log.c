#include "server/store_log.h"

#include "server/opening.h"
#include "storage/store.h"

#include <inttypes.h>

void store_log_opened(struct server *server)
{
    struct dueq_stats stats;

    dueq_get_stats(server->store, &stats);
    log_write(LOG_NOTICE,
              "Store open in %s: %zu topics, %" PRIu64 " MB in data.mdb, %" PRIu64
              " journal records replayed, in %" PRId64 " ms%s",
              server->config.dir, dueq_topic_count(server->store), stats.data_file_bytes >> 20,
              stats.replayed_records, server->now.wall - server->opening_since,
              stats.cut_bytes > 0
                  ? "; its end was torn and is cut: what was under way when power or "
                    "process went, or a last record that was damaged right after"
                  : "");
}

void store_log_loading(struct server *server)
{
    struct dueq_progress progress;

    if (!server->loading || server->opening == NULL)
        return;
    opening_get_progress(server->opening, &progress);
    log_write(LOG_NOTICE,
              "Loading: %" PRIu64 " of %" PRIu64 " bytes of the journal replayed, %" PRIu64
              " topics loaded",
              progress.replayed_bytes, progress.journal_bytes, progress.topics);
}

/* Logs one line when room ends and one when there is room again. */
static void log_room_change(struct server *server, const struct dueq_stats *stats)
{
    if (stats->full == server->full_logged)
        return;
    server->full_logged = stats->full;
    if (stats->full)
        log_write(
            LOG_WARNING,
            "No room: pushes are refused until there is some; claims, acks and deletes go "
            "on. The disk has %" PRIu64 " MB free of which disk-reserve is %" PRId64
            ", data.mdb has %" PRIu64 " MB in use of %" PRIu64 ", map-size is %" PRIu64,
            stats->disk_free_bytes >> 20, server->config.disk_reserve >> 20,
            stats->map_used_bytes >> 20, stats->data_file_bytes >> 20, stats->map_bytes >> 20);
    else
        log_write(LOG_NOTICE, "There is room again: pushes are taken");
}

static void log_compacted(const struct dueq_stats *stats)
{
    log_write(LOG_NOTICE,
              "Compacted data.mdb: %" PRIu64 " MB, %" PRIu64 " before, in %" PRIu64 " ms",
              stats->compaction_after_bytes >> 20, stats->compaction_before_bytes >> 20,
              stats->compaction_usec_last / 1000);
}

/* One line for each that succeeds; the same failure is not logged again until one does. */
static void log_compaction(struct server *server, const struct dueq_stats *stats)
{
    if (stats->compactions > server->compactions) {
        log_compacted(stats);
        server->compaction_logged = DUEQ_OK;
    } else if (stats->compaction_failures > server->compaction_failures &&
               stats->compaction_status != server->compaction_logged) {
        log_write(LOG_WARNING,
                  "data.mdb is not compacted, and stays as it is: %s. It has %" PRIu64
                  " MB, %" PRIu64 " in use; the disk has %" PRIu64 " MB free",
                  stats->compaction_status == DUEQ_FULL
                      ? "besides disk-reserve there is no disk space for a copy"
                      : dueq_status_text(stats->compaction_status),
                  stats->data_file_bytes >> 20, stats->map_used_bytes >> 20,
                  stats->disk_free_bytes >> 20);
        server->compaction_logged = stats->compaction_status;
    }
    server->compactions = stats->compactions;
    server->compaction_failures = stats->compaction_failures;
}

static void log_backed_up(const struct dueq_stats *stats)
{
    log_write(LOG_NOTICE,
              "The backup is complete and checked: %" PRIu64 " bytes, up to LSN %" PRIu64
              ", in %" PRIu64 " ms",
              stats->backup_bytes, stats->backup_lsn, stats->backup_usec_last / 1000);
}

/* One line for each. */
static void log_backup(struct server *server, const struct dueq_stats *stats)
{
    if (stats->backups > server->backups)
        log_backed_up(stats);
    if (stats->backup_failures > server->backup_failures)
        log_write(LOG_WARNING, "The backup has failed, and is removed: %s",
                  stats->backup_status == DUEQ_FULL
                      ? "besides disk-reserve the disk of backup-dir has no room for it"
                      : dueq_status_text(stats->backup_status));
    server->backups = stats->backups;
    server->backup_failures = stats->backup_failures;
}

static const char *archive_reason(const struct dueq_archive_stats *archive)
{
    switch (archive->status) {
    case DUEQ_FULL:
        return "besides disk-reserve its disk has no room";
    case DUEQ_DUPLICATE:
        return "it has other records of the same numbers, from another server that goes on "
               "from "
               "the same data";
    case DUEQ_IO:
        return archive->error == 0 ? dueq_status_text(DUEQ_IO) : strerror(archive->error);
    default:
        return dueq_status_text(archive->status);
    }
}

/* The same failure is not logged again until a segment is archived; gaps always are. */
static void log_archive(struct server *server, const struct dueq_archive_stats *archive)
{
    if (archive->gaps > server->archive_gaps)
        log_write(LOG_WARNING,
                  "The archive has a gap: segments were given up before they were archived. A "
                  "restore cannot pass it: make a backup");
    if (archive->damaged > server->archive_damaged)
        log_write(LOG_WARNING,
                  "archive-dir (%s): %" PRIu64
                  " damaged segment(s) set aside as *.damaged, and "
                  "copied again from the journal. Check that disk",
                  server->config.archive_dir, archive->damaged - server->archive_damaged);
    if (archive->status != DUEQ_OK && archive->status != server->archive_logged)
        log_write(LOG_WARNING,
                  "archive-dir (%s): a segment is not archived: %s. %" PRIu64
                  " MB wait in the journal",
                  server->config.archive_dir, archive_reason(archive),
                  archive->waiting_bytes >> 20);
    if (archive->status == DUEQ_OK && server->archive_logged != DUEQ_OK)
        log_write(LOG_NOTICE, "archive-dir: segments are archived again, up to LSN %" PRIu64,
                  archive->last_lsn);
    server->archive_gaps = archive->gaps;
    server->archive_damaged = archive->damaged;
    server->archive_logged = archive->status;
}

void store_log_changes(struct server *server)
{
    struct dueq_stats stats;

    if (server->store == NULL)
        return;
    dueq_get_stats(server->store, &stats);
    log_room_change(server, &stats);
    log_compaction(server, &stats);
    log_backup(server, &stats);
    log_archive(server, &stats.archive);
}

void store_log_dropped(const struct server *server)
{
    struct dueq_stats stats;

    dueq_get_stats(server->store, &stats);
    if (stats.backup_running)
        log_write(LOG_WARNING,
                  "The backup is given up, and what there is of it is removed: the "
                  "store has failed");
}
