/* A store without backups and archive, for `make libdueq-small`: in place of backup.c and
 * archive.c. Asked for either, it answers DUEQ_INVALID. */
#include "storage/kv/archive.h"
#include "storage/kv/backup.h"
#include "storage/kv/kv.h"

/* ---- backups */

enum dueq_status kv_backup_from(struct kv *kv, const char *path, const char *base)
{
    (void)kv;
    (void)path;
    (void)base;
    return DUEQ_INVALID;
}

enum dueq_status kv_backup(struct kv *kv, const char *path)
{
    return kv_backup_from(kv, path, NULL);
}

void kv_backup_turn(struct kv *kv)
{
    (void)kv;
}

void kv_backup_checkpoint_ended(struct kv *kv)
{
    (void)kv;
}

void kv_backup_stop(struct kv *kv)
{
    (void)kv;
}

bool kv_backup_rests(const struct kv *kv)
{
    (void)kv;
    return true;
}

void kv_backup_get_stats(const struct kv *kv, struct dueq_stats *ret_stats)
{
    (void)kv;
    (void)ret_stats;
}

/* ---- the archive: there is never one */

enum dueq_status archive_new(const struct archive_options *options, struct journal *journal,
                             struct archive **ret_archive)
{
    (void)options;
    (void)journal;
    *ret_archive = NULL;
    return DUEQ_INVALID;
}

void archive_free(struct archive *archive)
{
    (void)archive;
}

bool archive_wants_switch(struct archive *archive)
{
    (void)archive;
    return false;
}

const char *archive_dir(const struct archive *archive)
{
    (void)archive;
    return NULL;
}

void archive_get_stats(const struct archive *archive, struct dueq_archive_stats *ret_stats)
{
    (void)archive;
    *ret_stats = (struct dueq_archive_stats){0};
}
