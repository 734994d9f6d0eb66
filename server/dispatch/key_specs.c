#include "server/dispatch/key_specs.h"

#include "protocol/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 24 };

/* One specification, taken apart. */
struct key_spec {
    const char *flags, *note;
    size_t flags_size, note_size; /* note_size 0: none */
    enum { BEGIN_INDEX, BEGIN_KEYWORD, BEGIN_UNKNOWN } begin;
    char keyword[WORD_MAX]; /* of BEGIN_UNKNOWN: what only the server finds; "": nothing */
    int index;              /* of the begin; of a keyword: where to look from */
    enum { FIND_RANGE, FIND_NUMBER, FIND_UNKNOWN } find;
    int numbers[3];
};

/* ---- reading the notation */

static const char *read_begin(const char *at, struct key_spec *spec)
{
    size_t size;

    spec->begin = *at == '?' ? BEGIN_UNKNOWN : BEGIN_INDEX;
    at += *at == '?';
    size = strcspn(at, "^/");
    if (at[size] == '^') {
        if (spec->begin == BEGIN_INDEX)
            spec->begin = BEGIN_KEYWORD;
        snprintf(spec->keyword, sizeof(spec->keyword), "%.*s", (int)size, at);
        spec->index = atoi(at + size + 1);
    } else {
        spec->index = atoi(at);
    }
    return strchr(at, '/') + 1;
}

static void read_find(const char *at, struct key_spec *spec)
{
    spec->find = *at == 'r' ? FIND_RANGE : *at == 'n' ? FIND_NUMBER : FIND_UNKNOWN;
    if (spec->find == FIND_UNKNOWN)
        return;
    for (int i = 0; i < 3; i++) {
        spec->numbers[i] = atoi(at + 1);
        at += 1 + strcspn(at + 1, ": ");
    }
}

/* Takes the next specification off the text; false at its end. */
static bool next_spec(const char **specs, struct key_spec *ret_spec)
{
    const char *at = *specs;

    if (*at == '\0')
        return false;
    *ret_spec = (struct key_spec){.flags = at, .flags_size = strcspn(at, "@")};
    read_find(read_begin(at + ret_spec->flags_size + 1, ret_spec), ret_spec);
    at += strcspn(at, " !");
    if (*at == '!') {
        ret_spec->note = at + 1;
        ret_spec->note_size = strcspn(at + 1, "!");
        at += ret_spec->note_size + 2;
    }
    *specs = *at == ' ' ? at + 1 : at;
    return true;
}

static size_t count_specs(const char *specs)
{
    struct key_spec spec;
    size_t count = 0;

    while (next_spec(&specs, &spec))
        count++;
    return count;
}

/* ---- the reply */

static void write_number(struct resp_writer *reply, const char *name, int number)
{
    resp_string(reply, name);
    resp_integer(reply, number);
}

void key_specs_write_flags(struct resp_writer *reply, const char *flags, size_t size)
{
    size_t mark = resp_deferred(reply), count = 0;
    char word[WORD_MAX];

    for (size_t at = 0; at < size; count++) {
        size_t length = strcspn(flags + at, ",@");

        snprintf(word, sizeof(word), "%.*s", (int)length, flags + at);
        resp_simple(reply, word);
        at += length + 1;
    }
    resp_deferred_set(reply, mark, count);
}

static void write_begin(struct resp_writer *reply, const struct key_spec *spec)
{
    static const char *const types[] = {"index", "keyword", "unknown"};

    resp_string(reply, "begin_search");
    resp_map(reply, 2);
    resp_string(reply, "type");
    resp_string(reply, types[spec->begin]);
    resp_string(reply, "spec");
    resp_map(reply, spec->begin == BEGIN_UNKNOWN ? 0 : spec->begin == BEGIN_KEYWORD ? 2 : 1);
    if (spec->begin == BEGIN_KEYWORD) {
        resp_string(reply, "keyword");
        resp_string(reply, spec->keyword);
        write_number(reply, "startfrom", spec->index);
    } else if (spec->begin == BEGIN_INDEX) {
        write_number(reply, "index", spec->index);
    }
}

static void write_find(struct resp_writer *reply, const struct key_spec *spec)
{
    static const char *const types[] = {"range", "keynum", "unknown"};
    static const char *const names[][3] = {{"lastkey", "keystep", "limit"},
                                           {"keynumidx", "firstkey", "keystep"}};

    resp_string(reply, "find_keys");
    resp_map(reply, 2);
    resp_string(reply, "type");
    resp_string(reply, types[spec->find]);
    resp_string(reply, "spec");
    resp_map(reply, spec->find == FIND_UNKNOWN ? 0 : 3);
    for (int i = 0; i < 3 && spec->find != FIND_UNKNOWN; i++)
        write_number(reply, names[spec->find][i], spec->numbers[i]);
}

void key_specs_write(struct resp_writer *reply, const char *specs)
{
    struct key_spec spec;

    resp_set(reply, count_specs(specs));
    while (next_spec(&specs, &spec)) {
        resp_map(reply, spec.note_size > 0 ? 4 : 3);
        if (spec.note_size > 0) {
            resp_string(reply, "notes");
            resp_bulk(reply, spec.note, spec.note_size);
        }
        resp_string(reply, "flags");
        key_specs_write_flags(reply, spec.flags, spec.flags_size);
        write_begin(reply, &spec);
        write_find(reply, &spec);
    }
}

/* ---- keys of a request */

typedef void (*key_fn)(void *arg, size_t index, const char *flags, size_t flags_size);

struct key_walk {
    const struct request *request;
    bool loosely; /* numbers are read as atoi does */
    struct key_part *part;
    key_fn fn;
    void *arg;
};

static void found_key(const struct key_walk *walk, size_t index, const struct key_spec *spec)
{
    size_t number = walk->part->count++;

    if (number >= walk->part->from && number < walk->part->to)
        walk->fn(walk->arg, index, spec->flags, spec->flags_size);
}

/* How many values follow the word as an option of SORT; 0: it is none that has values. */
static size_t option_values(struct argument word)
{
    static const struct {
        const char *name;
        size_t values;
    } options[] = {{"store", 1}, {"limit", 2}, {"get", 1}, {"by", 1}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (argument_is(word, options[i].name))
            return options[i].values;
    return 0;
}

/* Finds the value of each option that has the keyword's name, as SORT reads its options: no
 * value is taken for an option. The last of several counts, but the user needs a right to each.
 */
static void find_option_values(const struct key_spec *spec, const struct key_walk *walk)
{
    const struct request *request = walk->request;

    for (size_t i = (size_t)spec->index; i + 1 < request->count; i++) {
        if (argument_is(request->arguments[i], spec->keyword))
            found_key(walk, i + 1, spec);
        i += option_values(request->arguments[i]);
    }
}

/* The index of the argument at which the keys begin; 0: there is none. */
static size_t begin_of(const struct key_spec *spec, const struct request *request)
{
    if (spec->begin == BEGIN_INDEX)
        return (size_t)spec->index < request->count ? (size_t)spec->index : 0;
    for (size_t i = (size_t)abs(spec->index); i + 1 < request->count; i++)
        if (argument_is(request->arguments[i], spec->keyword))
            return i + 1;
    return 0;
}

struct range {
    size_t first, last, step;
};

/* How many keys the argument says; Redis takes the lower 32 bits of what is a number. */
static int read_count(struct argument argument, bool loosely)
{
    int64_t count;

    if (loosely)
        return (int)strtoll(argument.data, NULL, 10); /* a NUL follows it */
    return number_parse_integer(argument.data, argument.size, &count) && count > 0 ? (int)count
                                                                                   : 0;
}

static bool range_of(const struct key_spec *spec, size_t begin, const struct key_walk *walk,
                     struct range *ret_range)
{
    const struct request *request = walk->request;
    const int *numbers = spec->numbers;
    int64_t last;
    int keys;

    if (spec->find == FIND_UNKNOWN) {
        *ret_range = (struct range){begin, begin, 1};
        return true;
    }
    if (spec->find == FIND_RANGE) {
        last =
            numbers[0] < 0 ? (int64_t)request->count + numbers[0] : (int64_t)begin + numbers[0];
        *ret_range = (struct range){begin, (size_t)last, (size_t)numbers[1]};
        return last >= (int64_t)begin && last < (int64_t)request->count;
    }
    keys = read_count(request->arguments[begin + (size_t)numbers[0]], walk->loosely);
    if (keys < 1)
        return false;
    begin += (size_t)numbers[1];
    last = (int64_t)begin + (int64_t)(keys - 1) * numbers[2];
    *ret_range = (struct range){begin, (size_t)last, (size_t)numbers[2]};
    return last < (int64_t)request->count;
}

static bool has_option(const struct request *request, size_t from, const char *word)
{
    for (size_t i = from; i < request->count; i++)
        if (argument_is(request->arguments[i], word))
            return true;
    return false;
}

/* SET reads the key only when GET is among its options. */
static void resolve_flags(struct key_spec *spec, const struct request *request)
{
    static const char read_too[] = "RW,access,update", written[] = "OW,update";

    if (memmem(spec->flags, spec->flags_size, "variable_flags", 14) == NULL)
        return;
    spec->flags = has_option(request, 3, "get") ? read_too : written;
    spec->flags_size = strlen(spec->flags);
}

static void find_in_range(const struct key_spec *spec, const struct range *range,
                          const struct key_walk *walk)
{
    struct key_part *part = walk->part;
    size_t keys = (range->last - range->first) / range->step + 1, base = part->count;
    size_t at = part->from > base ? part->from - base : 0;

    for (; at < keys && base + at < part->to; at++)
        walk->fn(walk->arg, range->first + at * range->step, spec->flags, spec->flags_size);
    part->count += keys;
}

/* False: the arguments do not fit. */
static bool find_of_spec(struct key_spec *spec, const struct key_walk *walk)
{
    bool is_key = strncmp(spec->flags, "not_key", 7) != 0;
    struct range range;
    size_t begin;

    if (spec->begin == BEGIN_UNKNOWN) {
        if (spec->keyword[0] != '\0')
            find_option_values(spec, walk);
        return true;
    }
    begin = is_key ? begin_of(spec, walk->request) : 0;
    if (begin == 0)
        return true;
    if (!range_of(spec, begin, walk, &range))
        return false;
    if (walk->loosely)
        spec->flags_size = 0;
    else
        resolve_flags(spec, walk->request);
    find_in_range(spec, &range, walk);
    return true;
}

/* Does the number of keys fit, if there is one? Each request of a user with rights to some keys
 * comes here. */
static bool fits(const char *specs, const struct key_walk *walk)
{
    struct key_spec spec;
    struct range range;

    if (strstr(specs, "/n") == NULL)
        return true;
    while (next_spec(&specs, &spec)) {
        size_t begin = spec.find == FIND_NUMBER ? begin_of(&spec, walk->request) : 0;

        if (begin > 0 && !range_of(&spec, begin, walk, &range))
            return false;
    }
    return true;
}

/* The keys of those specifications that have a number, or of the others. */
static bool find_counted(const char *specs, const struct key_walk *walk, bool counted)
{
    struct key_spec spec;

    while (next_spec(&specs, &spec))
        if ((spec.find == FIND_NUMBER) == counted && !find_of_spec(&spec, walk))
            return false;
    return true;
}

bool key_specs_find_some(const char *specs, const struct request *request, key_fn fn, void *arg,
                         struct key_part *part)
{
    struct key_walk walk = {request, false, part, fn, arg};
    struct key_spec spec;

    part->count = 0;
    walk.loosely = !fits(specs, &walk);
    if (walk.loosely)
        return fits(specs, &walk) && find_counted(specs, &walk, true) &&
               find_counted(specs, &walk, false);
    while (next_spec(&specs, &spec))
        if (!find_of_spec(&spec, &walk))
            return false;
    return true;
}

bool key_specs_find(const char *specs, const struct request *request, key_fn fn, void *arg)
{
    struct key_part all = {.to = SIZE_MAX};

    return key_specs_find_some(specs, request, fn, arg, &all);
}
