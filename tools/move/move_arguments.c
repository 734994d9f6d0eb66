#include "tools/move/move_arguments.h"

#include "tools/online/online_advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOPIC_MAX = 200 }; /* of a name that may get an ending */

static bool fail_usage(const struct move_arguments *arguments, const char *usage,
                       const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n\n%s", arguments->options.command, what, why, usage);
    return false;
}

static bool take_flag(struct move_arguments *arguments, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--dry-run", &arguments->options.dry_run},
                 {"--replace", &arguments->options.replace},
                 {"--keep", &arguments->options.keep},
                 {"--json", &arguments->options.json}};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = true;
            return true;
        }
    return strncmp(name, "--", 2) == 0 && online_take_flag(&arguments->dueq.options, name + 2);
}

static const char **place_of(struct move_arguments *arguments, const char *name)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--pattern", &arguments->options.pattern}, {"--layout", &arguments->options.layout},
        {"--topic", &arguments->options.topic},     {"--names", &arguments->options.names},
        {"--window", &arguments->options.window},   {"--prefix", &arguments->options.prefix},
        {"--scores", &arguments->options.scores}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(name, options[i].name) == 0)
            return options[i].value;
    return NULL;
}

static const char *take_verify(struct move_arguments *arguments, const char *value)
{
    static const char *const names[] = {"none", "sample", "all"};

    for (int i = VERIFY_NONE; i <= VERIFY_ALL; i++)
        if (strcmp(value, names[i]) == 0) {
            arguments->options.verify = (enum move_verify)i;
            return NULL;
        }
    return "it is none, sample or all";
}

/* host:port, or a URL. */
static const char *take_dueq(struct move_arguments *arguments, const char *value)
{
    struct place *dueq = &arguments->dueq;
    struct online_options before = dueq->options;
    const char *why = NULL, *rest = strstr(value, "://");
    char url[PLACE_TEXT];

    if (strlen(value) + sizeof("redis://") > sizeof(url))
        return "it is too long";
    snprintf(url, sizeof(url), "%s%s", rest == NULL ? "redis://" : "", value);
    if (!place_parse(dueq, url, &why))
        return why;
    if (dueq->kind != PLACE_REDIS)
        return "a dueq is redis://, rediss:// or redis+unix://";
    arguments->says_database = strchr(rest == NULL ? value : rest + 3, '/') != NULL;
    if (dueq->options.password == NULL) {
        dueq->options.password = before.password;
        dueq->options.user = before.user;
    }
    dueq->options.tls = dueq->options.tls || before.tls;
    dueq->options.password_file = before.password_file;
    dueq->options.insecure = before.insecure;
    dueq->options.ca = before.ca;
    dueq->options.cert = before.cert;
    dueq->options.key = before.key;
    return NULL;
}

/* NULL: taken. */
static const char *take_value(struct move_arguments *arguments, const char *name,
                              const char *value)
{
    const char **place = place_of(arguments, name);

    if (strcmp(name, "--verify") == 0)
        return take_verify(arguments, value);
    if (strcmp(name, "--to") == 0 || strcmp(name, "--from") == 0)
        return take_dueq(arguments, value);
    if (place != NULL)
        *place = value;
    else if (strncmp(name, "--", 2) != 0 ||
             !online_take_text(&arguments->dueq.options, name + 2, value))
        return "there is no such option";
    return NULL;
}

static bool take_place(struct move_arguments *arguments, const char *usage)
{
    const char *why;

    if (arguments->place == NULL)
        return fail_usage(arguments, usage, "where", "a URL or a file is missing");
    arguments->is_url = strstr(arguments->place, "://") != NULL;
    if (!arguments->is_url)
        return true;
    if (!place_parse(&arguments->other, arguments->place, &why))
        return fail_usage(arguments, usage, "the URL", why);
    if (getenv("DUEQ_OTHER_PASSWORD") != NULL) {
        struct online_options *other = &arguments->other.options;

        if (other->user == NULL)
            other->user = other->password; /* user@host */
        other->password = getenv("DUEQ_OTHER_PASSWORD");
    }
    return true;
}

static bool is_beanstalkd(const struct move_arguments *arguments)
{
    return arguments->is_url && arguments->other.kind == PLACE_BEANSTALKD;
}

static bool check_layout(const struct move_arguments *arguments, const char *usage)
{
    const struct move_options *options = &arguments->options;

    if (options->layout != NULL && !move_knows_layout(options->layout))
        return fail_usage(arguments, usage, options->layout, "there is no such layout");
    if (options->topic != NULL &&
        (options->topic[0] == '\0' || strlen(options->topic) > TOPIC_MAX))
        return fail_usage(arguments, usage, "--topic", "a name has 1 to 200 bytes");
    if (is_beanstalkd(arguments))
        return (options->layout == NULL && options->names == NULL && options->pattern == NULL &&
                !options->replace) ||
               fail_usage(arguments, usage, "a beanstalkd",
                          "--layout, --names, --pattern and --replace are for a Redis");
    if (options->keep)
        return fail_usage(arguments, usage, "--keep", "is for a beanstalkd: a Redis keeps all");
    if (options->layout == NULL && options->names != NULL)
        return fail_usage(arguments, usage, "--names", "belongs to a --layout");
    if (options->layout != NULL && !arguments->is_url)
        return fail_usage(arguments, usage, "--layout", "is for a Redis");
    if (options->layout == NULL && options->topic != NULL && arguments->is_url)
        return fail_usage(arguments, usage, "--topic", "belongs to a --layout");
    if (options->layout != NULL && options->replace)
        return fail_usage(arguments, usage, "--replace", "is for keys, not for a --layout");
    if (options->names != NULL &&
        (strchr(options->names, '=') == NULL || strchr(options->names, '*') == NULL))
        return fail_usage(arguments, usage, options->names,
                          "it is FIRST=SECOND, each with a * for the topic");
    return true;
}

static void begin(struct move_arguments *arguments)
{
    const char *why;

    place_parse(&arguments->dueq, "redis://127.0.0.1:6379", &why);
    online_take_environment(&arguments->dueq.options);
    arguments->options.verify = VERIFY_SAMPLE;
    arguments->options.window = "1d";
}

bool move_arguments_read(struct move_arguments *arguments, const char *usage, int argc,
                         char **argv)
{
    begin(arguments);
    for (int at = 1; at < argc; at++) {
        const char *why;

        if (strncmp(argv[at], "--", 2) != 0) {
            if (arguments->place != NULL)
                return fail_usage(arguments, usage, argv[at], "one place is enough");
            arguments->place = argv[at];
        } else if (!take_flag(arguments, argv[at])) {
            if (at + 1 == argc)
                return fail_usage(arguments, usage, argv[at],
                                  "its value is missing, or there is no such option");
            why = take_value(arguments, argv[at], argv[at + 1]);
            if (why != NULL)
                return fail_usage(arguments, usage, argv[at], why);
            at++;
        }
    }
    return take_place(arguments, usage) && check_layout(arguments, usage);
}

/* ---- both servers */

static bool open_dueq(struct peer *here, const struct move_arguments *arguments)
{
    const struct place *dueq = &arguments->dueq;
    unsigned database = arguments->says_database ? dueq->database : arguments->other.database;

    return peer_open(here, &dueq->options, "dueq", database);
}

static int tell_not_open(const struct move_arguments *arguments, const struct peer *other,
                         const struct peer *dueq)
{
    const struct peer *failed = other->failed ? other : dueq;

    fprintf(stderr, "%s: %s\n", arguments->options.command, failed->why);
    if (failed == dueq && failed->advice != NULL)
        fprintf(stderr, "%s\n", failed->advice);
    if (failed->unreachable)
        fputs(online_where_to_look(failed == dueq ? &arguments->dueq.options : NULL), stderr);
    return failed->unreachable ? MOVE_UNREACHABLE : MOVE_NOT_BEGUN;
}

int move_open(struct move *move, const struct move_arguments *arguments, bool from_other)
{
    const struct place *other = &arguments->other;
    struct peer *here = from_other ? &move->to : &move->from,
                *there = from_other ? &move->from : &move->to;
    bool open;

    move->options = &arguments->options;
    part_make_name(move->part);
    open = (is_beanstalkd(arguments) || !arguments->is_url ||
            peer_open(there, &other->options, other->name, other->database)) &&
           open_dueq(here, arguments);
    return open ? MOVE_DONE : tell_not_open(arguments, there, here);
}

void move_close(struct move *move)
{
    peer_close(&move->from);
    peer_close(&move->to);
}
