/* Settings of topics: Q.CONFIG SET, GET, RESET, LIST. */
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "protocol/tokens.h"
#include "server/commands/queue/push_options.h"
#include "server/dispatch/docs/command_help.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the names */

enum kind {
    KIND_DURATION,
    KIND_NUMBER,
    KIND_BYTES,
    KIND_CHOICE,
    KIND_BACKOFF,
    KIND_TOPIC,
    KIND_GROUPS,
    KIND_RATE
};

struct setting {
    const char *name;
    enum kind kind;
    unsigned number;     /* enum dueq_setting; DUEQ_SETTINGS: the dead-letter topic */
    int64_t least, most; /* of KIND_NUMBER and KIND_BYTES */
    const char *words;   /* of KIND_CHOICE and KIND_GROUPS: in order, with " or " in between */
};

static const struct setting settings[] = {
    {"lease", KIND_DURATION, DUEQ_SET_LEASE, 0, 0, NULL},
    {"retries", KIND_NUMBER, DUEQ_SET_RETRIES, 0, INT32_MAX, NULL},
    {"crashes", KIND_NUMBER, DUEQ_SET_CRASHES, 0, INT32_MAX, NULL},
    {"backoff", KIND_BACKOFF, DUEQ_SET_BACKOFF, 0, 0, NULL},
    {"ttl", KIND_DURATION, DUEQ_SET_TTL, 0, 0, NULL},
    {"ttl-action", KIND_CHOICE, DUEQ_SET_TTL_ACTION, 0, 0, "dead or drop"},
    {"keep", KIND_DURATION, DUEQ_SET_KEEP, 0, 0, NULL},
    {"dead-keep", KIND_DURATION, DUEQ_SET_DEAD_KEEP, 0, 0, NULL},
    {"dead-max", KIND_NUMBER, DUEQ_SET_DEAD_MAX, 0, INT64_MAX, NULL},
    {"dead-topic", KIND_TOPIC, DUEQ_SETTINGS, 0, 0, NULL},
    {"max-length", KIND_NUMBER, DUEQ_SET_MAX_LENGTH, 1, INT64_MAX, NULL},
    {"max-bytes", KIND_BYTES, DUEQ_SET_MAX_BYTES, 1, INT64_MAX, NULL},
    {"overflow", KIND_CHOICE, DUEQ_SET_OVERFLOW, 0, 0, "reject or drop-oldest"},
    {"max-body", KIND_BYTES, DUEQ_SET_MAX_BODY, 0, DUEQ_BODY_MAX, NULL},
    {"durability", KIND_CHOICE, DUEQ_SET_DURABILITY, 0, 0, "always or interval"},
    {"group-mode", KIND_GROUPS, DUEQ_SET_GROUP_MODE, 0, 0, "none or serial or fair"},
    {"group-on-failure", KIND_CHOICE, DUEQ_SET_GROUP_ON_FAILURE, 0, 0, "hold or pass"},
    {"age-after", KIND_DURATION, DUEQ_SET_AGE_AFTER, 0, 0, NULL},
    {"concurrency", KIND_NUMBER, DUEQ_SET_CONCURRENCY, 1, DUEQ_CAP_MAX, NULL},
    {"group-concurrency", KIND_NUMBER, DUEQ_SET_GROUP_CONCURRENCY, 1, DUEQ_CAP_MAX, NULL},
    {"rate", KIND_RATE, DUEQ_SET_RATE, 0, 0, NULL},
    {"group-rate", KIND_RATE, DUEQ_SET_GROUP_RATE, 0, 0, NULL},
    {"events", KIND_NUMBER, DUEQ_SET_EVENTS, 0, DUEQ_RING_MAX, NULL}};

enum { SETTINGS = sizeof(settings) / sizeof(*settings) };

static const struct setting *find_setting(const struct context *context, size_t index)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (arguments_is(context, index, settings[i].name))
            return &settings[i];
    return NULL;
}

/* NULL: the error is written. */
static const struct setting *read_setting(struct context *context, size_t index)
{
    const struct setting *setting = find_setting(context, index);

    if (setting == NULL)
        resp_errorf(context->reply, "ERR unknown setting '%.64s': see Q.CONFIG HELP",
                    context_argument(context, index).data);
    return setting;
}

/* The storage has the same rule. */
static bool is_pattern(struct dueq_slice scope)
{
    for (size_t i = 0; i < scope.size; i++)
        if (memchr("*?[", ((const char *)scope.data)[i], 3) != NULL)
            return true;
    return false;
}

/* ---- reading values */

static bool read_duration(struct context *context, size_t index, const struct setting *setting,
                          int64_t *ret_number)
{
    struct argument text = context_argument(context, index);

    if (number_parse_duration(text.data, text.size, ret_number))
        return true;
    resp_errorf(context->reply,
                "ERR %s must be a duration from 0 to 100 years: milliseconds, or a number with "
                "ms, s, m, h or d",
                setting->name);
    return false;
}

static bool read_number(struct context *context, size_t index, const struct setting *setting,
                        int64_t *ret_number)
{
    struct argument text = context_argument(context, index);
    int64_t number = -1;
    uint64_t bytes;

    if (setting->kind == KIND_NUMBER && !number_parse_integer(text.data, text.size, &number))
        number = -1;
    if (setting->kind == KIND_BYTES && number_parse_bytes(text.data, text.size, &bytes) &&
        bytes <= INT64_MAX)
        number = (int64_t)bytes;
    if (number >= setting->least && number <= setting->most) {
        *ret_number = number;
        return true;
    }
    resp_errorf(context->reply, "ERR %s must be between %" PRId64 " and %" PRId64 "%s",
                setting->name, setting->least, setting->most,
                setting->kind == KIND_BYTES ? " bytes" : "");
    return false;
}

/* The n-th of the words; *ret_size 0: there are no more. */
static const char *word_at(const char *words, int64_t n, size_t *ret_size)
{
    static const char between[] = " or ";
    const char *end;

    for (; n > 0 && words != NULL; n--) {
        words = strstr(words, between);
        if (words != NULL)
            words += sizeof(between) - 1;
    }
    end = words == NULL ? NULL : strstr(words, between);
    *ret_size = words == NULL ? 0 : end == NULL ? strlen(words) : (size_t)(end - words);
    return words;
}

static bool read_choice(struct context *context, size_t index, const struct setting *setting,
                        int64_t *ret_number)
{
    struct argument text = context_argument(context, index);

    for (int64_t n = 0;; n++) {
        size_t size;
        const char *word = word_at(setting->words, n, &size);

        if (size == 0)
            break;
        if (size == text.size && strncasecmp(word, text.data, size) == 0) {
            *ret_number = n;
            return true;
        }
    }
    resp_errorf(context->reply, "ERR %s must be %s", setting->name, setting->words);
    return false;
}

/* 'cap n', in one argument. */
static bool parse_cap(struct argument text, int64_t *ret_mode)
{
    struct argument words[2];
    char space[64];
    int64_t most;

    if (text.size >= sizeof(space) / 2 ||
        tokens_split(text.data, text.size, space, words, 2) != 2 ||
        !argument_is(words[0], "cap") ||
        !number_parse_integer(words[1].data, words[1].size, &most) || most < 1 ||
        most > DUEQ_CAP_MAX)
        return false;
    *ret_mode = DUEQ_GROUP_CAP(most);
    return true;
}

static bool read_group_mode(struct context *context, size_t index, int64_t *ret_mode)
{
    struct argument text = context_argument(context, index);

    if (argument_is(text, "none"))
        *ret_mode = DUEQ_GROUP_NONE;
    else if (argument_is(text, "serial"))
        *ret_mode = DUEQ_GROUP_SERIAL;
    else if (argument_is(text, "fair"))
        *ret_mode = DUEQ_GROUP_FAIR;
    else if (!parse_cap(text, ret_mode)) {
        resp_error(context->reply,
                   "ERR group-mode must be none, serial, fair or 'cap n', in one "
                   "argument, n from 1 to 1000000000");
        return false;
    }
    return true;
}

/* The words of a backoff are those of BACKOFF in a push, in one argument. */
enum { BACKOFF_WORDS_MAX = DUEQ_STEPS_MAX + 2, BACKOFF_TEXT_MAX = 512 };

static bool parse_backoff(const struct context *context, struct argument text,
                          struct dueq_push *ret_push)
{
    struct argument words[BACKOFF_WORDS_MAX];
    char space[2 * BACKOFF_TEXT_MAX + 1];
    int count = text.size > BACKOFF_TEXT_MAX
                    ? 0
                    : tokens_split(text.data, text.size, space, words, BACKOFF_WORDS_MAX);
    struct request request = {.arguments = words, .bytes = text.size};
    struct context part = *context;
    struct buffer unused; /* the error of a part says nothing of the setting */
    struct resp_writer writer = {.out = &unused, .version = 2};
    size_t at = 0;
    bool valid;

    if (count <= 0)
        return false;
    request.count = (size_t)count;
    part.request = &request;
    part.reply = &writer;
    dueq_push_init(ret_push);
    buffer_init(&unused, BACKOFF_TEXT_MAX);
    valid = push_options_backoff(&part, &at, ret_push) && at == request.count;
    buffer_release(&unused);
    return valid;
}

static bool read_backoff(struct context *context, size_t index, struct dueq_settings *changed)
{
    struct dueq_push push;

    if (!parse_backoff(context, context_argument(context, index), &push)) {
        resp_errorf(context->reply,
                    "ERR backoff must be one argument: 'duration [max]', 'FIXED duration', "
                    "'EXP base max [JITTER 0-100]', max not less than base, or 'STEPS' with 1 "
                    "to %d durations",
                    DUEQ_STEPS_MAX);
        return false;
    }
    changed->numbers[DUEQ_SET_BACKOFF] = push.backoff;
    changed->numbers[DUEQ_SET_BACKOFF_MAX] = push.backoff_max;
    changed->numbers[DUEQ_SET_JITTER] = push.jitter;
    changed->step_count = push.step_count;
    memcpy(changed->steps, push.steps, sizeof(changed->steps));
    return true;
}

/* 'n/duration' and 'burst n', in one argument. */
static bool parse_rate(struct argument text, int64_t *ret_numbers)
{
    const char *slash = memchr(text.data, '/', text.size);
    struct argument words[3];
    char space[128];
    size_t count_size = slash == NULL ? 0 : (size_t)(slash - text.data);
    int64_t count, period, burst = DUEQ_DEFAULT;
    int found;

    if (slash == NULL || text.size >= sizeof(space) / 2 ||
        !number_parse_integer(text.data, count_size, &count))
        return false;
    found = tokens_split(slash + 1, text.size - count_size - 1, space, words, 3);
    if ((found != 1 && found != 3) ||
        !number_parse_duration(words[0].data, words[0].size, &period) ||
        (found == 3 &&
         (!argument_is(words[1], "burst") ||
          !number_parse_integer(words[2].data, words[2].size, &burst) || burst < 1)))
        return false;
    ret_numbers[0] = count;
    ret_numbers[1] = period;
    ret_numbers[2] = burst;
    return count >= 1 && count <= DUEQ_RATE_MAX && period >= 1 && burst <= DUEQ_RATE_MAX;
}

static bool read_rate(struct context *context, size_t index, const struct setting *setting,
                      struct dueq_settings *changed)
{
    int64_t numbers[3];

    if (!parse_rate(context_argument(context, index), numbers)) {
        resp_errorf(context->reply,
                    "ERR %s must be 'n/duration' or 'n/duration burst n', in one argument, n "
                    "from 1 to %d, the duration 1 ms or more",
                    setting->name, DUEQ_RATE_MAX);
        return false;
    }
    memcpy(changed->numbers + setting->number, numbers, sizeof(numbers));
    return true;
}

static bool read_topic(struct context *context, size_t index, const struct setting *setting,
                       struct dueq_settings *changed)
{
    struct dueq_slice topic = context_slice(context, index);

    if (!arguments_name(context, index, setting->name))
        return false;
    if (dueq_slice_equal(topic, context_slice(context, 2))) {
        resp_errorf(context->reply, "ERR %s must be another topic", setting->name);
        return false;
    }
    memcpy(changed->dead_topic, topic.data, topic.size);
    changed->dead_topic_size = topic.size;
    return true;
}

static bool read_value(struct context *context, size_t index, const struct setting *setting,
                       struct dueq_settings *changed)
{
    switch (setting->kind) {
    case KIND_DURATION:
        return read_duration(context, index, setting, &changed->numbers[setting->number]);
    case KIND_NUMBER:
    case KIND_BYTES:
        return read_number(context, index, setting, &changed->numbers[setting->number]);
    case KIND_CHOICE:
        return read_choice(context, index, setting, &changed->numbers[setting->number]);
    case KIND_BACKOFF:
        return read_backoff(context, index, changed);
    case KIND_GROUPS:
        return read_group_mode(context, index, &changed->numbers[setting->number]);
    case KIND_RATE:
        return read_rate(context, index, setting, changed);
    case KIND_TOPIC:
        break;
    }
    return read_topic(context, index, setting, changed);
}

static void unset(const struct setting *setting, struct dueq_settings *changed)
{
    if (setting->kind == KIND_TOPIC) {
        changed->dead_topic_size = 0;
    } else if (setting->kind == KIND_BACKOFF) {
        changed->numbers[DUEQ_SET_BACKOFF] = DUEQ_DEFAULT;
        changed->numbers[DUEQ_SET_BACKOFF_MAX] = DUEQ_DEFAULT;
        changed->numbers[DUEQ_SET_JITTER] = DUEQ_DEFAULT;
        changed->step_count = 0;
    } else if (setting->kind == KIND_RATE) {
        for (unsigned i = 0; i < 3; i++)
            changed->numbers[setting->number + i] = DUEQ_DEFAULT;
    } else {
        changed->numbers[setting->number] = DUEQ_DEFAULT;
    }
}

/* ---- SET, RESET */

/* What the scope of argument 2 sets. False: the error is written. */
static bool load(struct context *context, struct dueq_settings *ret_settings)
{
    dueq_settings_init(ret_settings);
    return arguments_name(context, 2, "topic") &&
           context_check_status(
               context,
               dueq_get_settings(context->store, context_slice(context, 2), ret_settings));
}

static enum outcome store(struct context *context, const struct dueq_settings *changed)
{
    enum dueq_status status =
        dueq_put_settings(context->store, context_slice(context, 2), changed);

    if (status == DUEQ_TOOBIG) {
        resp_errorf(context->reply,
                    "ERR %d topics and patterns have settings: reset some first",
                    DUEQ_SCOPES_MAX);
        return OUTCOME_DONE;
    }
    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

static enum outcome run_set(struct context *context)
{
    struct dueq_settings changed;

    if (context_count(context) % 2 == 0)
        return context_syntax_error(context);
    if (!load(context, &changed))
        return OUTCOME_DONE;
    for (size_t i = 3; i < context_count(context); i += 2) {
        const struct setting *setting = read_setting(context, i);

        if (setting == NULL || !read_value(context, i + 1, setting, &changed))
            return OUTCOME_DONE;
    }
    return store(context, &changed);
}

static enum outcome run_reset(struct context *context)
{
    struct dueq_settings changed;

    if (!load(context, &changed))
        return OUTCOME_DONE;
    if (context_count(context) == 3)
        dueq_settings_init(&changed);
    for (size_t i = 3; i < context_count(context); i++) {
        const struct setting *setting = read_setting(context, i);

        if (setting == NULL)
            return OUTCOME_DONE;
        unset(setting, &changed);
    }
    return store(context, &changed);
}

/* ---- GET */

/* The server's own values: they apply where no scope says otherwise. */
static void server_settings(const struct context *context, struct dueq_settings *ret_settings)
{
    struct dueq_defaults defaults;

    dueq_get_defaults(context->store, &defaults);
    dueq_settings_init(ret_settings);
    ret_settings->numbers[DUEQ_SET_LEASE] = defaults.lease;
    ret_settings->numbers[DUEQ_SET_RETRIES] = defaults.retries;
    ret_settings->numbers[DUEQ_SET_CRASHES] = defaults.crashes;
    ret_settings->numbers[DUEQ_SET_BACKOFF] = defaults.backoff;
    ret_settings->numbers[DUEQ_SET_BACKOFF_MAX] = defaults.backoff_max;
    ret_settings->numbers[DUEQ_SET_TTL_ACTION] = DUEQ_TTL_DEAD;
    ret_settings->numbers[DUEQ_SET_OVERFLOW] = DUEQ_OVERFLOW_REJECT;
    ret_settings->numbers[DUEQ_SET_MAX_BODY] = DUEQ_BODY_MAX;
    ret_settings->numbers[DUEQ_SET_DURABILITY] = dueq_get_durability(context->store);
    ret_settings->numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_NONE;
    ret_settings->numbers[DUEQ_SET_GROUP_ON_FAILURE] = DUEQ_GROUP_HOLD;
    ret_settings->numbers[DUEQ_SET_EVENTS] = 0;
}

static bool is_set(const struct dueq_settings *values, const struct setting *setting)
{
    if (setting->kind == KIND_TOPIC)
        return values->dead_topic_size > 0;
    return values->numbers[setting->number] != DUEQ_DEFAULT ||
           (setting->kind == KIND_BACKOFF && values->step_count > 0);
}

/* As Q.CONFIG SET takes it. */
static void write_backoff(struct resp_writer *reply, const struct dueq_settings *values)
{
    const int64_t *numbers = values->numbers;
    int64_t base = numbers[DUEQ_SET_BACKOFF], most = numbers[DUEQ_SET_BACKOFF_MAX],
            jitter = numbers[DUEQ_SET_JITTER];
    char text[BACKOFF_TEXT_MAX];
    int size;

    if (values->step_count > 0) {
        size = snprintf(text, sizeof(text), "steps");
        for (size_t i = 0; i < values->step_count; i++)
            size += snprintf(text + size, sizeof(text) - (size_t)size, " %" PRId64,
                             values->steps[i]);
    } else if (most == DUEQ_DEFAULT) {
        size = snprintf(text, sizeof(text), "%" PRId64, base);
    } else if (most == base && jitter == 0) {
        size = snprintf(text, sizeof(text), "fixed %" PRId64, base);
    } else {
        size = snprintf(text, sizeof(text), "exp %" PRId64 " %" PRId64, base, most);
        if (jitter != DUEQ_DEFAULT)
            size +=
                snprintf(text + size, sizeof(text) - (size_t)size, " jitter %" PRId64, jitter);
    }
    resp_bulk(reply, text, (size_t)size);
}

static void write_cap(struct resp_writer *reply, int64_t most)
{
    char text[32];

    resp_bulk(reply, text, (size_t)snprintf(text, sizeof(text), "cap %" PRId64, most));
}

/* As Q.CONFIG SET takes it. */
static void write_rate(struct resp_writer *reply, const int64_t *numbers)
{
    char text[96];
    int size =
        snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64 "ms", numbers[0], numbers[1]);

    if (numbers[2] != DUEQ_DEFAULT)
        size +=
            snprintf(text + size, sizeof(text) - (size_t)size, " burst %" PRId64, numbers[2]);
    resp_bulk(reply, text, (size_t)size);
}

static void write_value(struct resp_writer *reply, const struct dueq_settings *values,
                        const struct setting *setting)
{
    size_t size;
    const char *word;

    if (!is_set(values, setting)) {
        resp_null(reply);
    } else if (setting->kind == KIND_BACKOFF) {
        write_backoff(reply, values);
    } else if (setting->kind == KIND_TOPIC) {
        resp_bulk(reply, values->dead_topic, values->dead_topic_size);
    } else if (setting->kind == KIND_RATE) {
        write_rate(reply, values->numbers + setting->number);
    } else if (setting->kind == KIND_GROUPS &&
               values->numbers[setting->number] > DUEQ_GROUP_FAIR) {
        write_cap(reply, values->numbers[setting->number] - DUEQ_GROUP_CAP(0));
    } else if (setting->kind == KIND_CHOICE || setting->kind == KIND_GROUPS) {
        word = word_at(setting->words, values->numbers[setting->number], &size);
        if (word == NULL) /* only a server has this durability */
            resp_string(reply, "none");
        else
            resp_bulk(reply, word, size);
    } else {
        resp_bulk_integer(reply, values->numbers[setting->number]);
    }
}

/* A pattern shows what it sets itself. False: it does not set this. */
static bool write_of_pattern(struct context *context, const struct setting *setting)
{
    struct dueq_slice scope = context_slice(context, 2);
    struct dueq_settings values;

    if (dueq_get_settings(context->store, scope, &values) != DUEQ_OK ||
        !is_set(&values, setting))
        return false;
    resp_string(context->reply, setting->name);
    resp_array(context->reply, 2);
    write_value(context->reply, &values, setting);
    resp_bulk(context->reply, scope.data, scope.size);
    return true;
}

static bool write_of_topic(struct context *context, const struct setting *setting)
{
    struct dueq_slice topic = context_slice(context, 2);
    struct dueq_slice source = dueq_setting_source(context->store, topic, setting->number);
    struct dueq_settings values;

    if (source.size == 0 || dueq_get_settings(context->store, source, &values) != DUEQ_OK)
        server_settings(context, &values);
    resp_string(context->reply, setting->name);
    resp_array(context->reply, 2);
    write_value(context->reply, &values, setting);
    if (source.size == 0)
        resp_string(context->reply, "server");
    else if (dueq_slice_equal(source, topic))
        resp_string(context->reply, "topic");
    else
        resp_bulk(context->reply, source.data, source.size);
    return true;
}

static enum outcome run_get(struct context *context)
{
    size_t mark, count = context_count(context), written = 0;
    bool wanted[SETTINGS] = {false};
    bool (*write)(struct context *, const struct setting *);

    if (!arguments_name(context, 2, "topic"))
        return OUTCOME_DONE;
    for (size_t i = 3; i < count; i++) {
        const struct setting *setting = read_setting(context, i);

        if (setting == NULL)
            return OUTCOME_DONE;
        wanted[setting - settings] = true;
    }
    write = is_pattern(context_slice(context, 2)) ? write_of_pattern : write_of_topic;
    mark = resp_deferred(context->reply);
    for (size_t i = 0; i < SETTINGS; i++)
        if (count == 3 || wanted[i])
            written += write(context, &settings[i]);
    resp_deferred_map(context->reply, mark, written);
    return OUTCOME_DONE;
}

/* ---- LIST */

static enum outcome run_list(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;
    struct dueq_slice scope = {NULL, 0};
    enum dueq_status status;

    while ((status = dueq_settings_after(context->store, scope, &scope)) == DUEQ_OK) {
        resp_bulk(context->reply, scope.data, scope.size);
        found++;
    }
    if (status != DUEQ_NOTFOUND)
        return context_status(context, status);
    resp_deferred_array(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* ---- names */

static bool find_scope(const struct request *request, const char *of_topic,
                       const char *of_pattern, command_key_fn fn, void *arg)
{
    struct argument scope = request->arguments[2];
    const char *flags = is_pattern(dueq_slice(scope.data, scope.size)) ? of_pattern : of_topic;

    fn(arg, 2, flags, strlen(flags));
    return true;
}

static bool find_read_scope(const struct request *request, command_key_fn fn, void *arg)
{
    return find_scope(request, "RO,access", "RO,access,pattern", fn, arg);
}

static bool find_changed_scope(const struct request *request, command_key_fn fn, void *arg)
{
    return find_scope(request, "RW,update", "RW,update,pattern", fn, arg);
}

/* The dead-letter topic gets jobs: it is written. */
static bool find_set_keys(const struct request *request, command_key_fn fn, void *arg)
{
    static const char insert[] = "RW,insert";

    find_changed_scope(request, fn, arg);
    for (size_t at = 3; at + 1 < request->count; at += 2)
        if (argument_is(request->arguments[at], "dead-topic"))
            fn(arg, at + 1, insert, sizeof(insert) - 1);
    return true;
}

/* ---- commands */

static const struct command config_subcommands[] = {
    {.name = "get",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {2, 2, 1},
     .key_specs = "RO,access@2/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Settings of a topic, and where each comes from; of a pattern, what it sets",
     .complexity = "O(P) with P the number of patterns that have settings",
     .syntax = "topic-or-pattern [name ...]",
     .categories = "queue",
     .run = run_get,
     .find_keys = find_read_scope},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "queue",
     .run = run_container_help},
    {.name = "list",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Topics and patterns that have settings",
     .complexity = "O(P) with P the number of topics and patterns that have settings",
     .syntax = "",
     .categories = "queue",
     .run = run_list},
    {.name = "reset",
     .arity = -3,
     .flags = COMMAND_WRITE,
     .keys = {2, 2, 1},
     .key_specs = "RW,update@2/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Forget settings of a topic or pattern, all of them without a name",
     .complexity = "O(P+T) with P the number of patterns that have settings, T of topics",
     .syntax = "topic-or-pattern [name ...]",
     .categories = "queue",
     .run = run_reset,
     .find_keys = find_changed_scope},
    {.name = "set",
     .arity = -5,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {2, 2, 1},
     .key_specs = "RW,update@2/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Set lease, retries, backoff and others for a topic, or all topics that match",
     .complexity = "O(P+T) with P the number of patterns that have settings, T of topics",
     .syntax = "topic-or-pattern name value [name value ...]",
     .categories = "queue",
     .run = run_set,
     .find_keys = find_set_keys},
    {.name = NULL}};

static const struct command entries[] = {{.name = "q.config",
                                          .arity = -2,
                                          .group = "queue",
                                          .since = "1.0.0",
                                          .summary = "A container for settings of topics",
                                          .complexity = "Depends on subcommand.",
                                          .syntax = "",
                                          .subcommands = config_subcommands},
                                         {.name = NULL}};

COMMANDS(queue_config, entries)
