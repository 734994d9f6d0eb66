#include "server/dispatch/argument_options.h"

enum { OPTIONS_MAX = 64 }; /* bits of `given` */

static size_t least_values(const struct argument_option *option)
{
    switch (option->kind) {
    case ARGUMENT_OPTION_FLAG:
    case ARGUMENT_OPTION_SETS:
    case ARGUMENT_OPTION_ADDS:
        return 0;
    case ARGUMENT_OPTION_LIMIT:
        return 2;
    case ARGUMENT_OPTION_CUSTOM:
        return option->values;
    default:
        return 1;
    }
}

/* Is the option, or another one of its group, given already? */
static bool is_excluded(const struct argument_option *options,
                        const struct argument_option *option, uint64_t given)
{
    if (given == 0) /* the first option: no walk over the table */
        return false;
    for (const struct argument_option *other = options; other->name != NULL; other++)
        if ((given & UINT64_C(1) << (other - options)) != 0 &&
            (other == option ? option->once
                             : option->group != 0 && other->group == option->group))
            return true;
    return false;
}

/* NULL: the argument is no option that may stand here. */
static const struct argument_option *find_option(const struct context *context, size_t at,
                                                 const struct argument_option *options,
                                                 uint64_t given)
{
    for (const struct argument_option *option = options; option->name != NULL; option++) {
        assert(option - options < OPTIONS_MAX);
        if (arguments_is(context, at, option->name))
            return least_values(option) < context_count(context) - at &&
                           !is_excluded(options, option, given)
                       ? option
                       : NULL;
    }
    return NULL;
}

static bool read_int(struct context *context, size_t at, const struct integer_rule *rule,
                     int *ret_number)
{
    int64_t number;

    assert(rule != NULL && rule->least >= INT32_MIN && rule->most <= INT32_MAX);
    if (!arguments_integer(context, at, rule, &number))
        return false;
    *ret_number = (int)number;
    return true;
}

static bool read_name(struct context *context, size_t at, const char *what,
                      struct dueq_slice *ret_name)
{
    if (!arguments_name(context, at, what))
        return false;
    *ret_name = context_slice(context, at);
    return true;
}

static bool read_limit(struct context *context, size_t *at, struct argument_limit *limit)
{
    return arguments_integer(context, (*at)++, NULL, &limit->offset) &&
           arguments_integer(context, (*at)++, NULL, &limit->count);
}

/* Reads one value into a field. */
static bool read_value(struct context *context, size_t at, const struct argument_option *option,
                       void *field)
{
    switch (option->kind) {
    case ARGUMENT_OPTION_INTEGER:
        return arguments_integer(context, at, option->rule, field);
    case ARGUMENT_OPTION_INT:
        return read_int(context, at, option->rule, field);
    case ARGUMENT_OPTION_FLOAT:
        return arguments_float(context, at, field);
    case ARGUMENT_OPTION_DURATION:
        return arguments_duration(context, at, field);
    case ARGUMENT_OPTION_CHOICE:
        return arguments_choice(context, at, option->words, field);
    case ARGUMENT_OPTION_NAME:
        return read_name(context, at, option->what, field);
    case ARGUMENT_OPTION_BYTES:
        *(struct dueq_slice *)field = context_slice(context, at);
        return true;
    default:
        assert(option->kind == ARGUMENT_OPTION_INDEX);
        *(size_t *)field = at;
        return true;
    }
}

/* Reads what follows the option's name; *at is the argument after the name, and then the first
 * one that does not belong to the option. */
static bool read_option(struct context *context, size_t *at,
                        const struct argument_option *option, void *form)
{
    void *field = (char *)form + option->field;

    switch (option->kind) {
    case ARGUMENT_OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case ARGUMENT_OPTION_SETS:
        *(unsigned *)field = option->number;
        return true;
    case ARGUMENT_OPTION_ADDS:
        *(unsigned *)field |= option->number;
        return true;
    case ARGUMENT_OPTION_LIMIT:
        return read_limit(context, at, field);
    case ARGUMENT_OPTION_CUSTOM:
        return option->read(context, at, option, form);
    default:
        return read_value(context, (*at)++, option, field);
    }
}

bool argument_options_read_leading(struct context *context, size_t *at,
                                   const struct argument_option *options, void *form)
{
    uint64_t given = 0;

    while (*at < context_count(context)) {
        const struct argument_option *option = find_option(context, *at, options, given);

        if (option == NULL)
            return true;
        given |= UINT64_C(1) << (option - options);
        ++*at;
        if (!read_option(context, at, option, form))
            return false;
        assert(*at <= context_count(context));
    }
    return true;
}

bool argument_options_read(struct context *context, size_t at,
                           const struct argument_option *options, void *form)
{
    if (!argument_options_read_leading(context, &at, options, form))
        return false;
    if (at >= context_count(context))
        return true;
    context_syntax_error(context);
    return false;
}

bool argument_options_read_one(struct context *context, size_t *at,
                               const struct argument_option *options, void *form)
{
    const struct argument_option *option = find_option(context, *at, options, 0);

    if (option == NULL)
        return context_syntax_error(context), false;
    ++*at;
    return read_option(context, at, option, form);
}

size_t argument_options_find(const struct request *request, size_t at,
                             const struct argument_option *options, const char *name)
{
    while (at < request->count && !argument_is(request->arguments[at], name)) {
        const struct argument_option *option = options;

        while (option->name != NULL && !argument_is(request->arguments[at], option->name))
            option++;
        at += option->name == NULL ? 1 : 1 + least_values(option);
    }
    return at < request->count ? at : request->count;
}
