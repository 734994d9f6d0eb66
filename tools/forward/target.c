#include "tools/forward/target.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct target_kind *const kinds[] = {&target_dueq, &target_redis, &target_http,
                                                  &target_mqtt};

static bool has_word(const char *words, const char *word, size_t size)
{
    for (; *words != '\0'; words += strspn(words, " ")) {
        size_t length = strcspn(words, " ");

        if (length == size && memcmp(words, word, size) == 0)
            return true;
        words += length;
    }
    return false;
}

const struct target_kind *target_kind_of(const char *url)
{
    const char *end = strstr(url, "://");

    for (size_t i = 0; end != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (has_word(kinds[i]->schemes, url, (size_t)(end - url)))
            return kinds[i];
    return NULL;
}

bool target_leave(struct target *target, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(target->why, sizeof(target->why), format, arguments);
    va_end(arguments);
    target->away = true;
    return false;
}

void job_settle(struct forward_job *job, enum outcome outcome, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(job->why, sizeof(job->why), format, arguments);
    va_end(arguments);
    job->outcome = outcome;
}

struct dueq_slice target_id(const struct target_options *options, const struct forward_job *job,
                            char room[TARGET_ID])
{
    size_t size = options->prefix == NULL ? 0 : strlen(options->prefix);

    if (size > 0)
        memcpy(room, options->prefix, size);
    memcpy(room + size, job->id.data, job->id.size); /* 255 bytes at most: take_job */
    return dueq_slice(room, size + job->id.size);
}

size_t target_escape(struct dueq_slice bytes, char text[TARGET_ESCAPED])
{
    const unsigned char *from = bytes.data;
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < bytes.size; i++)
        used += (size_t)snprintf(
            text + used, 4, from[i] <= ' ' || from[i] > '~' || from[i] == '%' ? "%%%02X" : "%c",
            from[i]);
    return used;
}
