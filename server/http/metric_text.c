#include "server/http/metric_text.h"

#include "protocol/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void metric_text_init(struct metric_text *text, struct buffer *out, bool is_open)
{
    *text = (struct metric_text){.out = out, .is_open = is_open};
}

static void add(struct metric_text *text, const char *word)
{
    buffer_append(text->out, word, strlen(word));
}

static void add_number(struct metric_text *text, uint64_t number)
{
    char digits[24];

    buffer_append(text->out, digits,
                  (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number));
}

/* ---- families */

static void add_head(struct metric_text *text, const char *what, const char *rest)
{
    add(text, what);
    add(text, text->name);
    if (text->type == METRIC_COUNTER && !text->is_open)
        add(text, "_total");
    add(text, " ");
    add(text, rest);
    add(text, "\n");
}

void metric_family(struct metric_text *text, enum metric_type type, const char *name,
                   const char *help)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};

    text->name = name;
    text->type = type;
    add_head(text, "# HELP ", help);
    add_head(text, "# TYPE ", types[type]);
}

/* ---- samples */

static void start(struct metric_text *text, const char *suffix)
{
    add(text, text->name);
    add(text, suffix);
    text->labels = 0;
}

void metric_start(struct metric_text *text)
{
    start(text, text->type == METRIC_COUNTER ? "_total" : "");
}

static void begin_label(struct metric_text *text, const char *name)
{
    add(text, text->labels++ == 0 ? "{" : ",");
    add(text, name);
    add(text, "=\"");
}

void metric_label(struct metric_text *text, const char *name, const char *value)
{
    begin_label(text, name);
    add(text, value);
    add(text, "\"");
}

/* The formats double a backslash themselves. */
static size_t add_character(struct metric_text *text, const uint8_t *bytes, size_t left)
{
    size_t size = utf8_character(bytes, left);
    char code[8];

    if (size == 0 || bytes[0] < ' ' || bytes[0] == 0x7f) {
        snprintf(code, sizeof(code), "\\\\x%02x", bytes[0]);
        add(text, code);
        return 1;
    }
    if (bytes[0] == '\\')
        add(text, "\\\\\\\\");
    else if (bytes[0] == '"')
        add(text, "\\\"");
    else
        buffer_append(text->out, bytes, size);
    return size;
}

void metric_label_bytes(struct metric_text *text, const char *name, struct dueq_slice value)
{
    begin_label(text, name);
    for (size_t at = 0; at < value.size;)
        at += add_character(text, (const uint8_t *)value.data + at, value.size - at);
    add(text, "\"");
}

static void end_labels(struct metric_text *text)
{
    add(text, text->labels > 0 ? "} " : " ");
}

void metric_value(struct metric_text *text, uint64_t value)
{
    end_labels(text);
    add_number(text, value);
    add(text, "\n");
}

static void add_fraction(struct metric_text *text, uint64_t value, uint64_t scale)
{
    char digits[24];
    int size = 0;

    add_number(text, value / scale);
    for (uint64_t unit = scale; unit > 1; unit /= 10)
        size++;
    if (size > 0)
        buffer_append(
            text->out, digits,
            (size_t)snprintf(digits, sizeof(digits), ".%0*" PRIu64, size, value % scale));
}

void metric_fraction(struct metric_text *text, uint64_t value, uint64_t scale)
{
    end_labels(text);
    add_fraction(text, value, scale);
    add(text, "\n");
}

/* ---- histograms */

static void add_bucket(struct metric_text *text, int bucket, uint64_t count, uint64_t scale)
{
    start(text, "_bucket");
    begin_label(text, "le");
    if (bucket == DUEQ_SPAN_BUCKETS - 1)
        add(text, "+Inf");
    else
        add_fraction(text, UINT64_C(1) << bucket, scale);
    add(text, "\"");
    metric_value(text, count);
}

void metric_spans(struct metric_text *text, const struct dueq_spans *spans, uint64_t scale)
{
    uint64_t sum = 0;

    for (int bucket = 0; bucket < DUEQ_SPAN_BUCKETS; bucket++) {
        sum += spans->buckets[bucket];
        add_bucket(text, bucket, sum, scale);
    }
    start(text, "_sum");
    metric_fraction(text, spans->sum, scale);
    start(text, "_count");
    metric_value(text, spans->count);
}

/* ---- the rest */

void metric_end(struct metric_text *text)
{
    if (text->is_open)
        add(text, "# EOF\n");
}

void metric_one(struct metric_text *text, enum metric_type type, const char *name,
                const char *help, uint64_t value)
{
    metric_one_fraction(text, type, name, help, value, 1);
}

void metric_one_fraction(struct metric_text *text, enum metric_type type, const char *name,
                         const char *help, uint64_t value, uint64_t scale)
{
    metric_family(text, type, name, help);
    metric_start(text);
    metric_fraction(text, value, scale);
}
