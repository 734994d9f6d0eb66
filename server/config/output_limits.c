#include "server/config/output_limits.h"

#include "protocol/number.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const class_names[CLIENT_CLASSES] = {"normal", "slave", "pubsub"};

/* Returns CLIENT_CLASSES for an unknown name. */
static enum client_class find_class(struct argument name)
{
    enum client_class class = CLIENT_NORMAL;

    if (argument_is(name, "replica"))
        return CLIENT_REPLICA;
    while (class < CLIENT_CLASSES && !argument_is(name, class_names[class]))
        class ++;
    return class;
}

static bool parse_size(struct argument value, int64_t *ret_bytes)
{
    uint64_t bytes;

    if (!number_parse_bytes(value.data, value.size, &bytes) || bytes > INT64_MAX)
        return false;
    *ret_bytes = (int64_t)bytes;
    return true;
}

static bool parse_limit(const struct argument *values, struct output_limit *ret_limit)
{
    return parse_size(values[0], &ret_limit->hard) && parse_size(values[1], &ret_limit->soft) &&
           number_parse_integer(values[2].data, values[2].size, &ret_limit->seconds) &&
           ret_limit->seconds >= 0;
}

const char *output_limits_parse(struct output_limits *limits, const struct argument *values,
                                size_t count)
{
    struct output_limits parsed = *limits;

    if (count == 0 || count % 4 != 0)
        return "Wrong number of arguments in buffer limit configuration.";
    for (size_t i = 0; i < count; i += 4) {
        enum client_class class = find_class(values[i]);

        if (class == CLIENT_CLASSES)
            return "Invalid client class specified in buffer limit configuration.";
        if (!parse_limit(values + i + 1, &parsed.of[class]))
            return "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    }
    *limits = parsed;
    return NULL;
}

void output_limits_format(const struct output_limits *limits, char *text, size_t room)
{
    size_t used = 0;

    for (int class = 0; class < CLIENT_CLASSES && used < room; class ++) {
        const struct output_limit *limit = &limits->of[class];

        used += (size_t)snprintf(text + used, room - used,
                                 "%s%s %" PRId64 " %" PRId64 " %" PRId64, used > 0 ? " " : "",
                                 class_names[class], limit->hard, limit->soft, limit->seconds);
    }
}
