/* Writes metrics in the two text formats that Prometheus reads: its own, version 0.0.4, and
 * OpenMetrics 1.0. A family comes first (metric_family), then each of its samples:
 * metric_start, any number of labels, and one value. Numbers are written exactly, without
 * floating point. */
#ifndef DUEQ_METRIC_TEXT_H
#define DUEQ_METRIC_TEXT_H

#include "protocol/buffer.h"
#include "storage/dueq.h"

#include <stdbool.h>
#include <stdint.h>

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM };

struct metric_text {
    struct buffer *out;
    bool is_open; /* OpenMetrics */
    const char *name;
    enum metric_type type;
    unsigned labels; /* of the sample that is written */
};

void metric_text_init(struct metric_text *text, struct buffer *out, bool is_open);
/* name: lives as long as its samples are written; of a counter without "_total", which is
 * added. help: without a backslash or a line feed. */
void metric_family(struct metric_text *text, enum metric_type type, const char *name,
                   const char *help);
void metric_start(struct metric_text *text);
/* value: a text without a backslash, a quote or a line feed. */
void metric_label(struct metric_text *text, const char *name, const char *value);
/* The same for any bytes, in UTF-8. A backslash is doubled, and a control character or a byte
 * that belongs to no character becomes \xHH, so that two values never look the same and none
 * has a single backslash before any other letter. */
void metric_label_bytes(struct metric_text *text, const char *name, struct dueq_slice value);
void metric_value(struct metric_text *text, uint64_t value);
/* Writes value / scale with all its digits, "1.5"; scale: a power of ten. */
void metric_fraction(struct metric_text *text, uint64_t value, uint64_t scale);
/* All samples of a histogram in seconds; scale: how many units of `spans` are a second, a power
 * of ten. */
void metric_spans(struct metric_text *text, const struct dueq_spans *spans, uint64_t scale);
/* What OpenMetrics wants at the end. */
void metric_end(struct metric_text *text);

/* A family of one sample without labels. */
void metric_one(struct metric_text *text, enum metric_type type, const char *name,
                const char *help, uint64_t value);
void metric_one_fraction(struct metric_text *text, enum metric_type type, const char *name,
                         const char *help, uint64_t value, uint64_t scale);

#endif
