#include "server/info/info_store.h"

#include "server/info/info_sections.h"
#include "server/server.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

#include <inttypes.h>
#include <string.h>

/* Redis' own arithmetic. */
static void show_loading(const struct server *server, const struct dueq_progress *progress,
                         struct buffer *text)
{
    uint64_t total = progress->journal_bytes, loaded = progress->replayed_bytes;
    int64_t start = server->opening_since / 1000, elapsed = server->now.wall / 1000 - start;
    uint64_t left = total > 0 ? total - loaded : 1;

    info_line(text, "loading_start_time:%" PRId64, start);
    info_line(text, "loading_total_bytes:%" PRIu64, total);
    info_line(text, "loading_loaded_bytes:%" PRIu64, loaded);
    info_line(text, "loading_loaded_perc:%.2f",
              total > 0 ? (double)loaded * 100 / (double)total : 0.0);
    info_line(text, "loading_eta_seconds:%" PRIu64,
              elapsed <= 0 ? 1 : (uint64_t)elapsed * left / (loaded + 1));
    info_line(text, "loading_topics:%" PRIu64, progress->topics);
}

void info_store_persistence(struct context *context, struct buffer *text)
{
    const struct checkpoint_watch *checkpoints = &context->server->checkpoints;
    bool sound = context->store == NULL ? context->server->loading
                                        : dueq_status(context->store) == DUEQ_OK;
    struct dueq_progress progress;
    struct dueq_stats stats = {0};

    if (context->store != NULL)
        dueq_get_stats(context->store, &stats);
    info_line(text, "loading:%d", context->store == NULL);
    info_line(text, "async_loading:0");
    info_line(text, "rdb_changes_since_last_save:%zu", stats.memtable_entries);
    info_line(text, "rdb_bgsave_in_progress:%d", stats.checkpoint_running);
    info_line(text, "rdb_last_save_time:%" PRId64, server_last_save(context->server));
    info_line(text, "rdb_last_bgsave_status:%s", !sound || checkpoints->failing ? "err" : "ok");
    info_line(text, "rdb_last_bgsave_time_sec:%" PRIu64, stats.checkpoint_usec_last / 1000000);
    info_line(text, "rdb_current_bgsave_time_sec:-1");
    info_line(text, "aof_enabled:1");
    info_line(text, "aof_rewrite_in_progress:0");
    info_line(text, "aof_last_write_status:%s", sound ? "ok" : "err");
    if (server_opening(context->server, &progress))
        show_loading(context->server, &progress, text);
}

static void info_compaction(struct buffer *text, const struct dueq_stats *stats)
{
    info_line(text, "compaction_running:%d", stats->compaction_running);
    info_line(text, "compactions:%" PRIu64, stats->compactions);
    info_line(text, "compaction_failures:%" PRIu64, stats->compaction_failures);
    info_line(text, "compaction_last_status:%s", dueq_status_text(stats->compaction_status));
    info_line(text, "compaction_last_usec:%" PRIu64, stats->compaction_usec_last);
    info_line(text, "compaction_copied_bytes:%" PRIu64, stats->compaction_copied_bytes);
    info_line(text, "compaction_used_bytes:%" PRIu64, stats->compaction_used_bytes);
    info_line(text, "compaction_before_bytes:%" PRIu64, stats->compaction_before_bytes);
    info_line(text, "compaction_after_bytes:%" PRIu64, stats->compaction_after_bytes);
    info_line(text, "compaction_returned_bytes:%" PRIu64, stats->compaction_returned_bytes);
}

static void info_backup(struct buffer *text, const struct dueq_stats *stats)
{
    bool ended = stats->backups + stats->backup_failures > 0;

    info_line(text, "backup_in_progress:%d", stats->backup_running);
    info_line(text, "backups:%" PRIu64, stats->backups);
    info_line(text, "backup_failures:%" PRIu64, stats->backup_failures);
    info_line(text, "backup_last_status:%s",
              ended ? dueq_status_text(stats->backup_status) : "none");
    info_line(text, "backup_last_lsn:%" PRIu64, stats->backup_lsn);
    info_line(text, "backup_last_bytes:%" PRIu64, stats->backup_bytes);
    info_line(text, "backup_last_usec:%" PRIu64, stats->backup_usec_last);
    info_line(text, "backup_copied_bytes:%" PRIu64, stats->backup_copied_bytes);
}

static void info_archive(struct buffer *text, const struct dueq_archive_stats *stats)
{
    info_line(text, "archive_enabled:%d", stats->on);
    info_line(text, "archive_last_status:%s", dueq_status_text(stats->status));
    info_line(text, "archive_last_lsn:%" PRIu64, stats->last_lsn);
    info_line(text, "archive_segments:%" PRIu64, stats->segments);
    info_line(text, "archive_bytes:%" PRIu64, stats->bytes);
    info_line(text, "archive_failures:%" PRIu64, stats->failures);
    info_line(text, "archive_gaps:%" PRIu64, stats->gaps);
    info_line(text, "archive_damaged:%" PRIu64, stats->damaged);
    info_line(text, "archive_waiting_segments:%" PRIu64, stats->waiting_segments);
    info_line(text, "archive_waiting_bytes:%" PRIu64, stats->waiting_bytes);
}

void info_store_journal(struct context *context, struct buffer *text)
{
    struct dueq_stats stats;

    if (context->store == NULL) {
        info_line(text, "store_status:%s",
                  context->server->loading ? "loading" : server_failure(context->server));
        return;
    }
    dueq_get_stats(context->store, &stats);
    info_line(text, "store_status:ok");
    info_line(text, "store_full:%d", stats.full);
    info_line(text, "store_failures:%" PRIu64, context->server->stats.store_failures);
    info_line(text, "journal_lsn:%" PRIu64, stats.lsn);
    info_line(text, "journal_synced_lsn:%" PRIu64, stats.synced_lsn);
    info_line(text, "journal_bytes:%" PRIu64, stats.journal_bytes);
    info_line(text, "journal_segments:%" PRIu64, stats.journal_segments);
    info_line(text, "journal_written_bytes:%" PRIu64, stats.journal_written_bytes);
    info_line(text, "journal_syncs:%" PRIu64, stats.syncs);
    info_line(text, "journal_sync_usec_mean:%" PRIu64,
              stats.syncs == 0 ? 0 : stats.sync_usec_total / stats.syncs);
    info_line(text, "journal_sync_usec_max:%" PRIu64, stats.sync_usec_max);
    info_line(text, "journal_replayed_records:%" PRIu64, stats.replayed_records);
    info_line(text, "journal_cut_bytes:%" PRIu64, stats.cut_bytes);
    info_line(text, "memtable_bytes:%zu", stats.memtable_bytes);
    info_line(text, "memtable_entries:%zu", stats.memtable_entries);
    info_line(text, "memtable_frozen_bytes:%zu", stats.frozen_bytes);
    info_line(text, "checkpoints:%" PRIu64, stats.checkpoints);
    info_line(text, "checkpoint_running:%d", stats.checkpoint_running);
    info_line(text, "checkpoint_lsn:%" PRIu64, stats.checkpoint_lsn);
    info_line(text, "checkpoint_usec_last:%" PRIu64, stats.checkpoint_usec_last);
    info_line(text, "checkpoint_retries:%" PRIu64, stats.checkpoint_failures);
    info_line(text, "pressure:%u", dueq_pressure(context->store));
    info_line(text, "throttled_clients:%zu",
              context->server->held[HOLD_GROWTH].count +
                  context->server->held[HOLD_WORK].count);
    info_line(text, "throttled_requests:%" PRIu64, context->server->throttle.delayed);
    info_line(text, "checkpoint_runs:%" PRIu64, stats.runs);
    info_line(text, "checkpoint_run_filter_bytes:%zu", stats.run_filter_bytes);
    info_line(text, "checkpoint_folded_records:%" PRIu64, stats.folded_records);
    info_line(text, "commit_stalls:%" PRIu64, stats.stalls);
    info_line(text, "commit_stall_usec:%" PRIu64, stats.stall_usec_total);
    info_line(text, "map_bytes:%" PRIu64, stats.map_bytes);
    info_line(text, "map_used_bytes:%" PRIu64, stats.map_used_bytes);
    info_line(text, "data_file_bytes:%" PRIu64, stats.data_file_bytes);
    info_line(text, "disk_free_bytes:%" PRIu64, stats.disk_free_bytes);
    info_compaction(text, &stats);
    info_backup(text, &stats);
    info_archive(text, &stats.archive);
}

/* The store keeps these sums, so that the cost does not grow with the topics: monitoring
 * programs ask every few seconds. An age that is not known is not shown. */
void info_store_queue(struct context *context, struct buffer *text)
{
    struct dueq_topic_stats sum = {.oldest_ready_age = DUEQ_DEFAULT};
    struct dueq_cron_stats crons = {.entries = 0};
    struct dueq_stats stats = {.lsn = 0};

    if (context->store != NULL) {
        dueq_total_stats(context->store, context->now, &sum);
        dueq_get_stats(context->store, &stats);
    }
    info_line(text, "topics:%zu",
              context->store == NULL ? 0 : dueq_topic_count(context->store));
    for (int state = 0; state < DUEQ_STATES; state++)
        info_line(text, "jobs_%s:%" PRIu64, dueq_state_name((enum dueq_state)state),
                  sum.counts[state]);
    info_line(text, "jobs_counting:%d", sum.counting);
    if (sum.oldest_ready_age >= 0)
        info_line(text, "oldest_ready_age_ms:%" PRId64, sum.oldest_ready_age);
    info_line(text, "total_pushed:%" PRIu64, sum.pushed);
    info_line(text, "total_claimed:%" PRIu64, sum.claimed);
    info_line(text, "total_acked:%" PRIu64, sum.acked);
    info_line(text, "total_nacked:%" PRIu64, sum.nacked);
    info_line(text, "total_expired:%" PRIu64, sum.leases_expired);
    info_line(text, "total_dead:%" PRIu64, sum.dead);
    info_line(text, "rate_refused_claims:%" PRIu64, stats.rate_refusals);
    info_line(text, "rate_released_groups:%" PRIu64, stats.rate_releases);
    if (context->store != NULL)
        dueq_get_cron_stats(context->store, &crons);
    info_line(text, "crons:%" PRIu64, crons.entries);
    info_line(text, "crons_paused:%" PRIu64, crons.paused);
    info_line(text, "cron_fired:%" PRIu64, crons.fired);
    info_line(text, "cron_missed:%" PRIu64, crons.missed);
    info_line(text, "cron_overlapped:%" PRIu64, crons.overlapped);
    info_line(text, "cron_failures:%" PRIu64, crons.failures);
}

void info_store_keyspace(struct context *context, struct buffer *text)
{
    for (unsigned i = 0; context->store != NULL && i < KEYS_DATABASES_MAX; i++)
        if (keys_count(store_keys(context->store), i) > 0)
            info_line(text, "db%u:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=0", i,
                      keys_count(store_keys(context->store), i),
                      keys_expiring(store_keys(context->store), i));
}
