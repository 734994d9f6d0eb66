/* ACL: users and their rights, as in Redis 7.0. */
#include "server/acl/acl_check.h"
#include "server/acl/acl_file.h"
#include "server/acl/acl_hash.h"
#include "server/acl/hasher.h"
#include "server/commands/admin/acl_texts.h"
#include "server/commands/admin/new_passwords.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_docs.h"
#include "server/dispatch/docs/command_help.h"
#include "server/dispatch/long_work.h"
#include "server/net/user_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENPASS_BITS = 256, GENPASS_MOST = 4096, LOG_SHOWN = 10 };

static enum acl_channels channels_of(const struct context *context)
{
    return (enum acl_channels)context->server->config.acl_pubsub_default;
}

static struct acl_user *named_user(const struct context *context, size_t index)
{
    return acl_find(context->server->acl, context_slice(context, index));
}

/* Ends a text that was composed, as a bulk. */
static void reply_text(struct context *context, struct buffer *text)
{
    if (text->overflowed)
        context_status(context, DUEQ_NOMEM);
    else
        resp_bulk(context->reply, buffer_size(text) == 0 ? "" : buffer_content(text),
                  buffer_size(text));
    buffer_release(text);
}

/* ---- WHOAMI, USERS, GETUSER */

static enum outcome run_acl_whoami(struct context *context)
{
    const struct acl_user *user = context->session->user;

    resp_bulk(context->reply, user->name, user->name_size);
    return OUTCOME_DONE;
}

static enum outcome run_acl_users(struct context *context)
{
    struct acl *acl = context->server->acl;

    resp_array(context->reply, acl_count(acl));
    for (const struct acl_user *user = acl_first(acl); user != NULL; user = acl_next(user))
        resp_bulk(context->reply, user->name, user->name_size);
    return OUTCOME_DONE;
}

static void write_flags(struct resp_writer *reply, const struct acl_user *user)
{
    resp_set(reply, 1 + user->no_password + (user->payload != PAYLOAD_UNSAID));
    resp_string(reply, user->enabled ? "on" : "off");
    if (user->no_password)
        resp_string(reply, "nopass");
    if (user->payload != PAYLOAD_UNSAID)
        resp_string(reply, user->payload == PAYLOAD_SKIPPED ? "skip-sanitize-payload"
                                                            : "sanitize-payload");
}

static void write_channels(const struct acl_rules *rules, struct buffer *text)
{
    acl_rules_write_channels(rules, false, text);
}

static void write_rules(struct context *context, const struct acl_rules *rules)
{
    static const struct {
        const char *name;
        void (*write)(const struct acl_rules *rules, struct buffer *text);
    } parts[] = {{"commands", acl_rules_write_commands},
                 {"keys", acl_rules_write_keys},
                 {"channels", write_channels}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct buffer text;

        buffer_init(&text, SIZE_MAX);
        parts[i].write(rules, &text);
        resp_string(context->reply, parts[i].name);
        reply_text(context, &text);
    }
}

static enum outcome run_acl_getuser(struct context *context)
{
    struct resp_writer *reply = context->reply;
    const struct acl_user *user = named_user(context, 2);

    if (user == NULL) {
        resp_null(reply);
        return OUTCOME_DONE;
    }
    resp_map(reply, 6);
    resp_string(reply, "flags");
    write_flags(reply, user);
    resp_string(reply, "passwords");
    resp_array(reply, text_set_count(&user->passwords));
    for (const struct text *at = user->passwords.first; at != NULL; at = text_next(at))
        resp_bulk(reply, at->bytes, at->size);
    write_rules(context, &user->root);
    resp_string(reply, "selectors");
    resp_array(reply, user->selector_count);
    for (size_t i = 0; i < user->selector_count; i++) {
        resp_map(reply, 3);
        write_rules(context, &user->selectors[i]);
    }
    return OUTCOME_DONE;
}

/* ---- SETUSER */

struct setting {
    struct context *context;
    struct acl_user *user; /* a copy, or a new one */
    size_t passwords;      /* rules so far that set one */
};

static bool apply_rule(void *arg, struct dueq_slice rule)
{
    struct setting *setting = arg;
    char hash[ACL_ARGON_SIZE + 1];
    enum acl_error error;

    if (new_passwords_is_one(rule) &&
        new_passwords_rule(setting->context, setting->passwords++, hash))
        rule = dueq_slice(hash, strlen(hash));
    error = acl_user_apply(setting->user, rule, channels_of(setting->context));
    if (error == ACL_GOOD && setting->user->steps > ACL_STEPS_MOST)
        error = ACL_TOO_MUCH;
    if (error != ACL_GOOD)
        resp_errorf(setting->context->reply, "ERR Error in ACL SETUSER modifier '%.*s': %s",
                    (int)(rule.size < 256 ? rule.size : 256), (const char *)rule.data,
                    acl_error_text(error));
    return error == ACL_GOOD;
}

/* False: the error is written. */
static bool check_setuser(struct context *context)
{
    const struct argument *rules = context->request->arguments + 3;
    size_t count = context_count(context) - 3, open;

    if (!acl_user_name_is_good(context_slice(context, 2)))
        resp_error(context->reply, "ERR Usernames can't contain spaces or null characters");
    else if (context->request->bytes > ACL_RULES_BYTES)
        resp_errorf(context->reply, "ERR %s", acl_error_text(ACL_TOO_MUCH));
    else if (acl_user_find_open(rules, count, &open))
        resp_errorf(context->reply,
                    "ERR Unmatched parenthesis in acl selector starting at '%.128s'.",
                    rules[open].data);
    else
        return true;
    return false;
}

/* The user gets what its copy has got: all rules or none. */
static void replace_user(struct context *context, struct acl_user *user, struct acl_user *copy)
{
    acl_user_take(user, copy);
    acl_user_free(copy);
    acl_note_change(context->server->acl, user);
    user_sessions_recheck(context->server, user, context->session);
    if (user == acl_default(context->server->acl))
        user_sessions_admit(context->server);
}

static enum outcome run_acl_setuser(struct context *context)
{
    struct acl_user *user = named_user(context, 2);
    struct setting setting = {.context = context};
    size_t mark = buffer_size(context->reply->out);
    enum outcome outcome;

    if (!check_setuser(context))
        return OUTCOME_DONE;
    if (!new_passwords_are_ready(context, 3, &outcome))
        return outcome;
    setting.user = user == NULL ? acl_user_new(context_slice(context, 2), channels_of(context))
                                : acl_user_copy(user);
    if (setting.user == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (!acl_user_each_rule(context->request->arguments + 3, context_count(context) - 3,
                            apply_rule, &setting)) {
        acl_user_free(setting.user);
        return buffer_size(context->reply->out) > mark ? OUTCOME_DONE
                                                       : context_status(context, DUEQ_NOMEM);
    }
    if (!acl_user_fits(setting.user)) {
        acl_user_free(setting.user);
        resp_errorf(context->reply, "ERR %s", acl_error_text(ACL_TOO_MUCH));
        return OUTCOME_DONE;
    }
    if (user != NULL)
        replace_user(context, user, setting.user);
    else if (!acl_add(context->server->acl, setting.user))
        return context_status(context, DUEQ_NOMEM);
    return context_ok(context);
}

/* ---- DELUSER */

enum { MARKINGS_MOST = 4 }; /* from the beginning, with other clients in between */

/* The users are marked, some names a slice, and then deleted in one step. Their clients are cut
 * off some a turn, and the reply comes after that. */
struct deletion {
    uint64_t number;  /* the mark */
    uint64_t version; /* of the users, when it began */
    size_t at;        /* argument that is next */
    unsigned markings;
    bool is_done;
    int64_t deleted;
};

static void begin_marking(struct acl *acl, struct deletion *deletion)
{
    deletion->number = ++acl->deletions;
    deletion->version = acl->version;
    deletion->at = 2;
    deletion->markings++;
}

/* False: the error is written. */
static bool mark_some(struct context *context, struct deletion *deletion, size_t most)
{
    struct acl *acl = context->server->acl;
    size_t left = context_count(context) - deletion->at;
    size_t end = deletion->at + (left < most ? left : most);

    for (; deletion->at < end; deletion->at++) {
        struct acl_user *user = named_user(context, deletion->at);

        if (user == acl_default(acl)) {
            resp_error(context->reply, "ERR The 'default' user cannot be removed");
            return false;
        }
        if (user != NULL)
            user->deletion = deletion->number;
    }
    return true;
}

/* OUTCOME_WAIT: clients are yet to be cut off. */
static enum outcome delete_marked(struct context *context, struct deletion *deletion)
{
    deletion->deleted = (int64_t)acl_bury_marked(context->server->acl, deletion->number);
    deletion->is_done = true;
    if (user_sessions_end(context->server, context->session, context->may_wait))
        return OUTCOME_WAIT;
    return context_reply_integer(context, deletion->deleted);
}

static enum outcome mark_on(struct context *context, struct deletion *deletion, size_t most)
{
    if (!mark_some(context, deletion, most))
        return OUTCOME_DONE;
    return deletion->at < context_count(context) ? OUTCOME_WAIT
                                                 : delete_marked(context, deletion);
}

static enum outcome go_on_deleting(struct context *context, struct deletion *deletion)
{
    struct acl *acl = context->server->acl;

    if (deletion->is_done)
        return context->server->killed != NULL
                   ? OUTCOME_WAIT
                   : context_reply_integer(context, deletion->deleted);
    if (deletion->version != acl->version)
        begin_marking(acl, deletion);
    return mark_on(context, deletion,
                   deletion->markings < MARKINGS_MOST ? LONG_STEPS : SIZE_MAX);
}

static enum outcome run_acl_deluser(struct context *context)
{
    struct deletion *deletion = long_work_state(context), first = {0};

    if (deletion != NULL)
        return go_on_deleting(context, deletion);
    begin_marking(context->server->acl, &first);
    if (mark_on(context, &first, LONG_ENOUGH) != OUTCOME_WAIT)
        return OUTCOME_DONE;
    if (long_work_try(context, &first, sizeof(first), free))
        return OUTCOME_WAIT;
    return first.is_done ? context_reply_integer(context, first.deleted)
                         : mark_on(context, &first, SIZE_MAX);
}

/* ---- LOAD, SAVE */

/* False: the error is written. */
static bool has_file(struct context *context)
{
    if (context->server->config.aclfile[0] != '\0')
        return true;
    resp_error(context->reply,
               "ERR This Redis instance is not configured to use an ACL file. You may want to "
               "specify users via the ACL SETUSER command and then issue a CONFIG REWRITE "
               "(assuming you have a Redis configuration file set) in order to store users in "
               "the Redis configuration.");
    return false;
}

enum { LINES_AT_ONCE = 100 }; /* of a file: 0.3 ms, when they are short */

struct loading {
    struct acl_reading *reading; /* NULL: done, and clients are cut off */
    uint64_t files;              /* hasher_files, when it began */
};

static void free_loading(void *state)
{
    struct loading *loading = state;

    if (loading->reading != NULL)
        acl_file_abandon(loading->reading);
    free(loading);
}

/* True: the reply waits until the clients of users that are gone are cut off. */
static bool end_loading(struct context *context, struct loading *loading)
{
    struct buffer why;
    struct acl *loaded;
    bool later = false;

    buffer_init(&why, SIZE_MAX);
    loaded = acl_file_end(loading->reading, &why);
    loading->reading = NULL;
    if (loaded == NULL) {
        resp_errorf(context->reply, "ERR %.*s", (int)buffer_size(&why), buffer_content(&why));
    } else {
        later =
            user_sessions_replace(context->server, loaded, context->session, context->may_wait);
        server_warn_of_users(context->server);
        if (!later)
            context_ok(context);
    }
    buffer_release(&why);
    return later;
}

/* NULL: the error is written. */
static struct acl_reading *begin_reading(struct context *context)
{
    struct buffer why;
    struct acl_reading *reading;

    buffer_init(&why, SIZE_MAX);
    reading = acl_file_open(context->server->config.aclfile, channels_of(context), &why);
    if (reading == NULL && buffer_size(&why) == 0)
        context_status(context, DUEQ_NOMEM);
    else if (reading == NULL)
        resp_errorf(context->reply, "ERR %.*s", (int)buffer_size(&why), buffer_content(&why));
    buffer_release(&why);
    return reading;
}

/* What was read may be older than a file that ACL SAVE has written since. */
static enum outcome load_again(struct context *context, struct loading *loading)
{
    acl_file_abandon(loading->reading);
    loading->files = hasher_files(context->server->hasher);
    loading->reading = begin_reading(context);
    return loading->reading == NULL ? OUTCOME_DONE : OUTCOME_WAIT;
}

/* While an EXEC runs nobody else writes the file. */
static enum outcome load_on(struct context *context, struct loading *loading)
{
    const struct hasher *hasher = context->server->hasher;

    if (loading->reading == NULL)
        return context->server->killed != NULL ? OUTCOME_WAIT : context_ok(context);
    if (context->may_wait && hasher_is_writing(hasher))
        return long_work_continue_when_written(context);
    if (!acl_file_read_on(loading->reading, LINES_AT_ONCE))
        return OUTCOME_WAIT;
    if (context->may_wait && hasher_has_written(hasher, loading->files))
        return load_again(context, loading);
    return end_loading(context, loading) ? OUTCOME_WAIT : OUTCOME_DONE;
}

static struct loading *begin_loading(struct context *context)
{
    struct loading *loading = calloc(1, sizeof(*loading));

    if (loading == NULL) {
        context_status(context, DUEQ_NOMEM);
        return NULL;
    }
    loading->files = hasher_files(context->server->hasher);
    loading->reading = begin_reading(context);
    if (loading->reading != NULL)
        return loading;
    free(loading);
    return NULL;
}

static enum outcome run_acl_load(struct context *context)
{
    struct loading *loading = long_work_state(context);

    if (loading != NULL)
        return load_on(context, loading);
    if (!has_file(context))
        return OUTCOME_DONE;
    if (!context->may_wait)
        hasher_finish_files(context->server->hasher);
    loading = begin_loading(context);
    return loading == NULL
               ? OUTCOME_DONE
               : long_work_continue(context, loading, free_loading, LONG_HOLDS_NOTHING);
}

static enum outcome run_acl_save(struct context *context)
{
    return has_file(context) ? run_acl_save_file(context) : OUTCOME_DONE;
}

/* ---- LOG */

static void write_entry(struct context *context, const struct acl_entry *entry)
{
    struct resp_writer *reply = context->reply;

    resp_map(reply, 7);
    resp_string(reply, "count");
    resp_integer(reply, (int64_t)entry->count);
    resp_string(reply, "reason");
    resp_string(reply, acl_reason_name(entry->reason));
    resp_string(reply, "context");
    resp_string(reply, entry->in_multi ? "multi" : "toplevel");
    resp_string(reply, "object");
    resp_slice(reply, entry->object);
    resp_string(reply, "username");
    resp_slice(reply, entry->user);
    resp_string(reply, "age-seconds");
    resp_double(reply, (double)(context->server->clock.last.wall - entry->time) / 1000);
    resp_string(reply, "client-info");
    resp_slice(reply, entry->client);
}

static enum outcome run_acl_log(struct context *context)
{
    struct acl_log *log = &context->server->acl->log;
    const struct acl_entry *entry = log->newest;
    int64_t most = LOG_SHOWN;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 3 && arguments_is(context, 2, "reset")) {
        acl_log_reset(log);
        return context_ok(context);
    }
    if (context_count(context) == 3 && !arguments_integer(context, 2, NULL, &most))
        return OUTCOME_DONE;
    if (most < 0)
        most = 0;
    if ((uint64_t)most > log->count)
        most = (int64_t)log->count;
    resp_array(context->reply, (size_t)most);
    for (; most > 0; most--, entry = entry->next)
        write_entry(context, entry);
    return OUTCOME_DONE;
}

/* ---- GENPASS */

static enum outcome run_acl_genpass(struct context *context)
{
    char digits[GENPASS_MOST / 4];
    int64_t bits = GENPASS_BITS;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 3 &&
        !arguments_integer(
            context, 2,
            INTEGER_BOUND(1, GENPASS_MOST,
                          "ERR ACL GENPASS argument must be the number of bits for the output "
                          "password, a positive number up to 4096"),
            &bits))
        return OUTCOME_DONE;
    if (!acl_hash_random(digits, (size_t)(bits + 3) / 4))
        return context_status(context, DUEQ_IO);
    resp_bulk(context->reply, digits, (size_t)(bits + 3) / 4);
    return OUTCOME_DONE;
}

/* ---- DRYRUN */

enum { INNER = 3 }; /* where the command of a DRYRUN begins */

static enum outcome reply_verdict(struct context *context, const struct command *command,
                                  struct acl_verdict verdict)
{
    char text[128];

    if (verdict.reason == ACL_DENIED_COMMAND) {
        snprintf(text, sizeof(text), "This user has no permissions to run the '%s' command",
                 command_full_name(command));
        resp_string(context->reply, text);
        return OUTCOME_DONE;
    }
    return context_reply_between(context, "This user has no permissions to access the '",
                                 INNER + verdict.argument,
                                 verdict.reason == ACL_DENIED_KEY ? "' key" : "' channel");
}

/* A slice. A user that has changed is checked anew. */
static enum outcome try_some(struct context *context, const struct acl_user *user,
                             const struct request *inner, struct acl_memo *memo, size_t steps)
{
    const struct command *command = command_find_request(inner);
    uint64_t version = context->server->acl->version;
    struct acl_verdict verdict;

    if (memo->user != user || memo->version != version)
        *memo = (struct acl_memo){.user = user, .version = version};
    memo->pace.steps = steps;
    verdict = acl_check_some(user, command, inner, &memo->pace);
    if (verdict.reason == ACL_UNDECIDED)
        return OUTCOME_WAIT;
    return verdict.reason == ACL_ALLOWED ? context_ok(context)
                                         : reply_verdict(context, command, verdict);
}

static enum outcome try_out(struct context *context, const struct acl_user *user,
                            const struct request *inner)
{
    struct acl_memo *memo = long_work_state(context), begun = {0};

    if (memo != NULL)
        return try_some(context, user, inner, memo, ACL_SLICE_STEPS);
    if (try_some(context, user, inner, &begun, ACL_SLICE_STEPS) == OUTCOME_DONE)
        return OUTCOME_DONE;
    if (long_work_try(context, &begun, sizeof(begun), free))
        return OUTCOME_WAIT;
    return try_some(context, user, inner, &begun, SIZE_MAX);
}

static enum outcome run_acl_dryrun(struct context *context)
{
    const struct request *outer = context->request;
    struct request inner = {outer->count - INNER, outer->arguments + INNER, outer->bytes};
    const struct acl_user *user = named_user(context, 2);
    const struct command *command = command_find_request(&inner);

    if (user == NULL) {
        resp_errorf(context->reply, "ERR User '%.128s' not found",
                    context_argument(context, 2).data);
        return OUTCOME_DONE;
    }
    if (command == NULL) {
        resp_errorf(context->reply, "ERR Command '%.128s' not found", inner.arguments[0].data);
        return OUTCOME_DONE;
    }
    if (!command_arity_fits(command, inner.count)) {
        resp_errorf(context->reply, "ERR wrong number of arguments for '%s' command",
                    command_full_name(command));
        return OUTCOME_DONE;
    }
    return try_out(context, user, &inner);
}

/* ---- CAT */

static enum outcome list_categories(struct context *context)
{
    size_t mark = resp_deferred(context->reply), count = 0;

    for (; command_docs_category(count) != NULL; count++)
        resp_string(context->reply, command_docs_category(count));
    resp_deferred_array(context->reply, mark, count);
    return OUTCOME_DONE;
}

static size_t write_members(struct context *context, const struct command *command,
                            struct argument category)
{
    const struct command *sub = command->subcommands;
    size_t count = 0;

    if (sub == NULL && command_docs_in_category(command, category)) {
        resp_string(context->reply, command_full_name(command));
        return 1;
    }
    for (; sub != NULL && sub->name != NULL; sub++)
        count += write_members(context, sub, category);
    return count;
}

static bool is_category(struct argument name)
{
    for (size_t i = 0; command_docs_category(i) != NULL; i++)
        if (argument_is(name, command_docs_category(i)))
            return true;
    return false;
}

static enum outcome run_acl_cat(struct context *context)
{
    struct argument category;
    size_t mark, count = 0;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 2)
        return list_categories(context);
    category = context_argument(context, 2);
    if (!is_category(category)) {
        resp_errorf(context->reply, "ERR Unknown category '%.128s'", category.data);
        return OUTCOME_DONE;
    }
    mark = resp_deferred(context->reply);
    for (size_t i = 0; i < command_count(); i++)
        count += write_members(context, command_at(i), category);
    resp_deferred_array(context->reply, mark, count);
    return OUTCOME_DONE;
}

/* ---- commands */

#define ADMIN (COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE)
#define SUB(sub_name, sub_arity, sub_flags, sub_since, sub_complexity, sub_syntax,             \
            sub_summary, handler)                                                              \
    {                                                                                          \
        .name = sub_name, .arity = sub_arity, .flags = sub_flags, .group = "server",           \
        .since = sub_since, .summary = sub_summary, .complexity = sub_complexity,              \
        .syntax = sub_syntax, .run = handler                                                   \
    }

static const struct command acl_subcommands[] = {
    SUB("deluser", -3, ADMIN, "6.0.0", "O(1) amortized time considering the typical user.",
        "username [username ...]", "Remove the specified ACL users and the associated rules",
        run_acl_deluser),
    SUB("dryrun", -4, ADMIN, "7.0.0", "O(1).", "username command [arg [arg ...]]",
        "Returns whether the user can execute the given command without executing the command.",
        run_acl_dryrun),
    SUB("genpass", -2, COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE, "6.0.0", "O(1)",
        "[bits]", "Generate a pseudorandom secure password to use for ACL users",
        run_acl_genpass),
    SUB("load", 2, ADMIN, "6.0.0", "O(N). Where N is the number of configured users.", "",
        "Reload the ACLs from the configured ACL file", run_acl_load),
    SUB("log", -2, ADMIN, "6.0.0", "O(N) with N being the number of entries shown.",
        "[count|RESET]", "List latest events denied because of ACLs in place", run_acl_log),
    SUB("save", 2, ADMIN, "6.0.0", "O(N). Where N is the number of configured users.", "",
        "Save the current ACL rules in the configured ACL file", run_acl_save),
    SUB("setuser", -3, ADMIN, "6.0.0", "O(N). Where N is the number of rules provided.",
        "username [rule [rule ...]]", "Modify or create the rules for a specific ACL user",
        run_acl_setuser),
    {.name = "list",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the current ACL rules in ACL config file format",
     .complexity = "O(N). Where N is the number of configured users.",
     .syntax = "",
     .run = run_acl_list},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "getuser",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Get the rules for a specific ACL user",
     .complexity = "O(N). Where N is the number of password, command and pattern rules that "
                   "the user has.",
     .syntax = "username",
     .run = run_acl_getuser},
    {.name = "cat",
     .arity = -2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the ACL categories or the commands inside a category",
     .complexity = "O(1) since the categories and commands are a fixed set.",
     .syntax = "[categoryname]",
     .run = run_acl_cat},
    {.name = "whoami",
     .arity = 2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Return the name of the user associated to the current connection",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_acl_whoami},
    {.name = "users",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the username of all the configured ACL rules",
     .complexity = "O(N). Where N is the number of configured users.",
     .syntax = "",
     .run = run_acl_users},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "acl",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "6.0.0",
     .summary = "A container for Access List Control commands ",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = acl_subcommands},
    {.name = NULL}};

COMMANDS(acl, entries)
