/* The command line of a subcommand. */
#include "tools/client/client_call.h"

#include "protocol/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *client_allocate(void *old, size_t size)
{
    void *new = realloc(old, size == 0 ? 1 : size);

    if (new == NULL) {
        fputs("dueq: out of memory\n", stderr);
        exit(CLIENT_REFUSED);
    }
    return new;
}

const char *client_options_mark(const struct client_command *command)
{
    return command->takes_program || command->takes_command ? "" : " [OPTIONS]";
}

int client_misused(const struct client_command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "dueq %s: ", command->name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nUsage: dueq %s %s%s; dueq help %s tells more\n", command->name,
            command->arguments, client_options_mark(command), command->name);
    return CLIENT_USAGE;
}

static const struct client_option *find_in(const struct client_option *options,
                                           const char *name, size_t size)
{
    for (; options != NULL && options->name != NULL; options++)
        if (strncmp(options->name, name, size) == 0 && options->name[size] == '\0')
            return options;
    return NULL;
}

/* ---- options that all have */

static void take_where(struct client_call *call, const char *name, const char *value)
{
    struct online_options *where = &call->where;

    if (strcmp(name, "json") == 0)
        call->json = true;
    else if (!online_take_flag(where, name))
        online_take_text(where, name, value);
}

/* ---- one argument after the other */

struct reading {
    struct client_call *call;
    int argc, at;
    char **argv;
};

static bool takes_value(const struct client_option *option)
{
    return option->value != NULL;
}

/* What follows "=" or stands in the next argument. NULL: there is none. */
static const char *read_value(struct reading *reading, const char *equals)
{
    if (equals != NULL)
        return equals + 1;
    return reading->at + 1 < reading->argc ? reading->argv[++reading->at] : NULL;
}

static bool read_option(struct reading *reading, const char *text)
{
    struct client_call *call = reading->call;
    const char *equals = strchr(text, '='), *value = "";
    size_t size = equals == NULL ? strlen(text) : (size_t)(equals - text);
    const struct client_option *option = find_in(call->command->options, text, size);
    bool is_own = option != NULL;

    if (!is_own)
        option = find_in(client_shared_options, text, size);
    if (option == NULL) {
        client_misused(call->command, "there is no option --%.*s", (int)size, text);
        return false;
    }
    if (takes_value(option) && (value = read_value(reading, equals)) == NULL) {
        client_misused(call->command, "--%s needs a value: %s", option->name, option->value);
        return false;
    }
    if (!takes_value(option) && equals != NULL) {
        client_misused(call->command, "--%s takes no value", option->name);
        return false;
    }
    if (option->kind == CLIENT_EACH)
        call->each[call->each_count++] = value;
    if (is_own)
        call->values[option - call->command->options] = value;
    else
        take_where(call, option->name, value);
    return true;
}

/* "-n 4": an option of one letter. */
static bool is_short(const char *text)
{
    return text[0] == '-' && text[1] != '\0' && text[1] != '-' && text[2] == '\0';
}

/* redis-cli's letter for an option that all have; NULL: there is none. */
static const char *long_name(char letter)
{
    return letter == 'h' ? "host" : letter == 'p' ? "port" : letter == 's' ? "unix" : NULL;
}

/* One that is not in the subcommand's table. No command of a server begins with "-". */
static bool read_letter(struct reading *reading, const char *text)
{
    const char *name = long_name(text[1]);

    if (name != NULL)
        return read_option(reading, name);
    client_misused(reading->call->command, "there is no option %s", text);
    return false;
}

static bool read_argument(struct reading *reading)
{
    struct client_call *call = reading->call;
    char *text = reading->argv[reading->at];

    if (call->command->takes_command && call->count > 0) {
        call->words[call->count] = text;
        call->sizes[call->count++] = strlen(text);
        return true;
    }
    if (strcmp(text, "--") == 0) {
        call->rest = &reading->argv[reading->at + 1];
        reading->at = reading->argc;
        return true;
    }
    if (strncmp(text, "--", 2) == 0)
        return read_option(reading, text + 2);
    if (is_short(text) && find_in(call->command->options, text + 1, 1) != NULL)
        return read_option(reading, text + 1);
    if (is_short(text) && call->command->takes_command)
        return read_letter(reading, text);
    call->words[call->count] = text;
    call->sizes[call->count++] = strlen(text);
    return true;
}

/* The first word that looks like an option of one letter; NULL: none. */
static const char *find_short(const struct client_call *call)
{
    for (int i = 0; i < call->count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): read_argument has set so many */
        if (is_short(call->words[i]))
            return call->words[i];
    return NULL;
}

static bool check_count(const struct client_call *call)
{
    const struct client_command *command = call->command;
    const char *unknown;

    if (call->count < command->least) {
        client_misused(command, "there are too few arguments");
        return false;
    }
    if (command->most < 0 || call->count <= command->most)
        return true;
    unknown = find_short(call); /* -p, perhaps, as of redis-cli */
    if (unknown != NULL)
        client_misused(command, "there is no option %s", unknown);
    else
        client_misused(command, "one argument is too many: %s", call->words[command->most]);
    return false;
}

static size_t count_options(const struct client_option *options)
{
    size_t count = 0;

    for (; options != NULL && options[count].name != NULL;)
        count++;
    return count;
}

/* "--" ends the options: what follows are arguments, unless the subcommand wants it itself. */
static void take_rest(struct client_call *call)
{
    if (call->rest == NULL || call->command->takes_program)
        return;
    for (; *call->rest != NULL; call->rest++) {
        call->words[call->count] = *call->rest;
        call->sizes[call->count++] = strlen(*call->rest);
    }
}

bool client_parse(struct client_call *call, const struct client_command *command, int argc,
                  char **argv)
{
    struct reading reading = {.call = call, .argc = argc, .at = 1, .argv = argv};
    size_t room = (size_t)argc + 2, options = count_options(command->options) + 1;

    *call = (struct client_call){.command = command};
    online_take_environment(&call->where);
    call->words = client_allocate(NULL, room * sizeof(*call->words));
    call->sizes = client_allocate(NULL, room * sizeof(*call->sizes));
    call->each = client_allocate(NULL, room * sizeof(*call->each));
    call->values = client_allocate(NULL, options * sizeof(*call->values));
    memset(call->values, 0, options * sizeof(*call->values));
    for (; reading.at < argc; reading.at++)
        if (!read_argument(&reading))
            return false;
    take_rest(call);
    return check_count(call);
}

void client_release(struct client_call *call)
{
    online_close(call->client);
    free(call->words);
    free(call->sizes);
    free(call->each);
    free(call->values);
    free(call->body);
}

const char *client_option(const struct client_call *call, const char *name)
{
    const struct client_option *options = call->command->options;

    for (size_t i = 0; options != NULL && options[i].name != NULL; i++)
        if (strcmp(options[i].name, name) == 0)
            return call->values[i];
    return NULL;
}

bool client_duration(const struct client_call *call, const char *name, int64_t otherwise,
                     int64_t least, int64_t most, int64_t *ret_ms)
{
    const char *text = client_option(call, name);

    *ret_ms = otherwise;
    if (text == NULL)
        return true;
    if (number_parse_duration(text, strlen(text), ret_ms) && *ret_ms >= least &&
        *ret_ms <= most)
        return true;
    client_misused(call->command, "--%s %s: a duration as 90s, 5m or 1h", name, text);
    return false;
}

bool client_number(const struct client_call *call, const char *name, int64_t otherwise,
                   int64_t least, int64_t most, int64_t *ret_number)
{
    const char *text = client_option(call, name);
    int64_t number = otherwise;

    if (text != NULL && (!number_parse_integer(text, strlen(text), &number) || number < least ||
                         number > most)) {
        client_misused(call->command, "%s%s is %" PRId64 " to %" PRId64,
                       name[1] == '\0' ? "-" : "--", name, least, most);
        return false;
    }
    *ret_number = number;
    return true;
}

const char *client_worker(const struct client_call *call)
{
    static char name[128];
    char host[64] = "worker";

    if (client_option(call, "worker") != NULL)
        return client_option(call, "worker");
    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "%.48s:%d", host, (int)getpid());
    return name;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

bool client_is_final(const char *text)
{
    if (begins(text, "ERR max number of clients") || begins(text, "ERR out of memory") ||
        strstr(text, "try again") != NULL) /* the login, or the server's other work */
        return false;
    return begins(text, "NOAUTH") || begins(text, "WRONGPASS") || begins(text, "NOPERM") ||
           begins(text, "ERR ") || begins(text, "no password");
}
