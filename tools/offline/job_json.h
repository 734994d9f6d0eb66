/* Topics, settings and jobs as JSON objects, and back. */
#ifndef DUEQ_JOB_JSON_H
#define DUEQ_JOB_JSON_H

#include "storage/queue/cron_entries.h"
#include "storage/queue/restore.h"

#include <jansson.h>

/* These add to an object. False: out of memory. */
bool job_json_write_topic(json_t *object, const struct whole_topic *topic);
bool job_json_write_job(json_t *object, const struct whole_job *job);
bool job_json_write_settings(json_t *object, const struct dueq_settings *settings);
bool job_json_write_cron(json_t *object, const struct cron *cron);
bool job_json_write_timeline(json_t *object, const struct dueq_timeline *line);

/* False: the object is no such thing. The slices live as long as the object; history:
 * JOB_RECORD_HISTORY_MAX bytes, for the attempts. */
bool job_json_read_topic(const json_t *object, struct whole_topic *ret_topic);
bool job_json_write_bucket(json_t *object, const struct whole_bucket *bucket);
bool job_json_read_bucket(const json_t *object, struct whole_bucket *ret_bucket);
bool job_json_write_edge(json_t *object, const struct whole_edge *edge);
bool job_json_read_edge(const json_t *object, struct whole_edge *ret_edge);
bool job_json_read_job(const json_t *object, uint8_t *history, struct whole_job *ret_job);
bool job_json_read_settings(json_t *object, struct dueq_settings *ret_settings);
bool job_json_read_cron(const json_t *object, struct cron *ret_cron);
bool job_json_read_timeline(json_t *object, struct dueq_timeline *ret_line);

#endif
