#include "server/commands/admin/acl_texts.h"

#include "server/acl/acl_file.h"
#include "server/dispatch/long_work.h"
#include "server/process/file_replace.h"
#include "server/server.h"
#include "server/session/hashing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    USERS_AT_ONCE = 300, /* 0.2 ms, when they are short, */
    BYTES_AT_ONCE = 32 * 1024,
    LINES_AT_ONCE = 100, /* of a check: 0.3 ms */
    RESTARTS_MOST = 3    /* because users have changed; then all at once */
};

/* The lines are those of one moment: they begin anew when a user changes. */
struct texts {
    void (*write)(const struct acl_user *user, struct buffer *out);
    struct buffer text;
    uint64_t version; /* of the users, when it began */
    const struct acl_user *next;
    size_t count;
    unsigned restarts;
    /* of ACL SAVE */
    struct acl_reading *check; /* of the text; NULL: it has not begun, or has ended */
    uint64_t hash;
    bool is_checked, is_given;
};

static void free_texts(void *state)
{
    struct texts *texts = state;

    if (texts->check != NULL)
        acl_file_abandon(texts->check);
    buffer_release(&texts->text);
    free(texts);
}

/* NULL: out of memory. */
static struct texts *begin(struct acl *acl,
                           void (*write)(const struct acl_user *user, struct buffer *out))
{
    struct texts *texts = calloc(1, sizeof(*texts));

    if (texts == NULL)
        return NULL;
    texts->write = write;
    buffer_init(&texts->text, SIZE_MAX);
    texts->version = acl->version;
    texts->next = acl_first(acl);
    texts->count = acl_count(acl);
    return texts;
}

static bool is_new(const struct texts *texts, const struct acl *acl)
{
    return texts->version == acl->version;
}

static void restart(struct texts *texts, struct acl *acl)
{
    if (texts->check != NULL)
        acl_file_abandon(texts->check);
    texts->check = NULL;
    texts->is_checked = false;
    buffer_clear(&texts->text);
    texts->version = acl->version;
    texts->next = acl_first(acl);
    texts->count = acl_count(acl);
    texts->restarts++;
}

/* False: more users are left. */
static bool write_some(struct texts *texts, size_t most)
{
    size_t before = buffer_size(&texts->text);

    for (;
         texts->next != NULL && most > 0 && buffer_size(&texts->text) - before < BYTES_AT_ONCE;
         most--) {
        texts->write(texts->next, &texts->text);
        texts->next = acl_next(texts->next);
    }
    return texts->next == NULL;
}

static void write_all(struct texts *texts)
{
    while (!write_some(texts, SIZE_MAX))
        ;
}

/* A slice. False: more users are left. */
static bool write_on(struct context *context, struct texts *texts)
{
    struct acl *acl = context->server->acl;

    if (!is_new(texts, acl))
        restart(texts, acl);
    if (texts->restarts <= RESTARTS_MOST)
        return write_some(texts, USERS_AT_ONCE);
    write_all(texts);
    return true;
}

static enum outcome wait_on(struct context *context, const struct texts *texts)
{
    long_work_state_holds(context, sizeof(*texts) + texts->text.capacity);
    return OUTCOME_WAIT;
}

/* ---- LIST */

static void write_element(const struct acl_user *user, struct buffer *out)
{
    struct resp_writer writer = {out, 2, NULL};
    struct buffer line;

    buffer_init(&line, SIZE_MAX);
    acl_write_user(user, false, &line);
    if (line.overflowed)
        out->overflowed = true;
    else
        resp_bulk(&writer, buffer_content(&line), buffer_size(&line) - 1);
    buffer_release(&line);
}

static enum outcome reply_list(struct context *context, const struct texts *texts)
{
    if (texts->text.overflowed)
        return context_status(context, DUEQ_NOMEM);
    resp_array(context->reply, texts->count);
    buffer_append(context->reply->out, buffer_content(&texts->text), buffer_size(&texts->text));
    return OUTCOME_DONE;
}

enum outcome run_acl_list(struct context *context)
{
    struct texts *texts = long_work_state(context);
    enum outcome outcome;

    if (texts != NULL)
        return write_on(context, texts) ? reply_list(context, texts) : wait_on(context, texts);
    texts = begin(context->server->acl, write_element);
    if (texts == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (!write_some(texts, USERS_AT_ONCE))
        return long_work_continue(context, texts, free_texts, LONG_HOLDS_NOTHING);
    outcome = reply_list(context, texts);
    free_texts(texts);
    return outcome;
}

/* ---- SAVE: the lines, whether they read back, and the file, which a thread writes */

static void write_line(const struct acl_user *user, struct buffer *out)
{
    acl_write_user(user, false, out);
}

static enum outcome refuse(struct context *context, int why)
{
    log_write_limited(LOG_WARNING, "ACL SAVE: cannot write %s: %s",
                      context->server->config.aclfile, strerror(why));
    resp_error(context->reply, "ERR There was an error trying to save the ACLs. Please check "
                               "the server logs for more information");
    return OUTCOME_DONE;
}

static void end_check(struct context *context, struct texts *texts, struct acl_reading *check)
{
    struct buffer why;
    struct acl *read;

    buffer_init(&why, SIZE_MAX);
    read = acl_file_end(check, &why);
    buffer_release(&why);
    texts->is_checked = read != NULL;
    if (read == NULL)
        return;
    texts->hash = read->file_hash;
    acl_discard(context->server->acl, read);
}

/* A slice. OUTCOME_DONE: the error is written, or texts->is_checked. */
static enum outcome check_on(struct context *context, struct texts *texts)
{
    size_t most = texts->restarts <= RESTARTS_MOST ? LINES_AT_ONCE : SIZE_MAX;
    struct acl_reading *check = texts->check;

    if (check == NULL)
        check = texts->check = acl_file_check(&texts->text, context->server->config.aclfile);
    if (check == NULL)
        return context_status(context, DUEQ_NOMEM);
    while (!acl_file_read_on(check, most))
        if (most == LINES_AT_ONCE)
            return wait_on(context, texts);
    texts->check = NULL;
    end_check(context, texts, check);
    return texts->is_checked ? OUTCOME_DONE : refuse(context, EILSEQ);
}

/* In an EXEC, which cannot wait for the thread: after the files that the thread is yet to
 * write, as they have older users. Blocks for two fsync. */
static enum outcome write_now(struct context *context, const struct texts *texts)
{
    struct server *server = context->server;

    hasher_finish_files(server->hasher);
    if (!file_replace(server->config.aclfile, buffer_content(&texts->text),
                      buffer_size(&texts->text)))
        return refuse(context, errno);
    hasher_note_file(server->hasher);
    server->acl->file_hash = texts->hash;
    return context_ok(context);
}

/* The thread writes one file after the other: the last one has the newest users, because each
 * has those of the moment when it is given to the thread. */
static enum outcome give(struct context *context, struct texts *texts)
{
    struct hash_job *job;

    if (!hashing_has_room(context))
        return wait_on(context, texts);
    job = hash_job_new_write(context->server->config.aclfile, &texts->text, context->session);
    if (job == NULL)
        return context_status(context, DUEQ_NOMEM);
    job->hash = texts->hash;
    texts->is_given = true;
    return hashing_wait(context, job) == OUTCOME_WAIT ? long_work_continue_when_read(context)
                                                      : OUTCOME_DONE;
}

/* It is with the thread: nothing runs before that is done. */
static enum outcome end_save(struct context *context)
{
    const struct hash_job *job = hashing_result(context);

    if (job == NULL)
        return long_work_continue_when_read(context);
    return job->error == 0 ? context_ok(context) : refuse(context, job->error);
}

static enum outcome save_on(struct context *context, struct texts *texts)
{
    enum outcome outcome;

    if (texts->is_given)
        return end_save(context);
    if (!write_on(context, texts))
        return wait_on(context, texts);
    if (texts->text.overflowed)
        return context_status(context, DUEQ_NOMEM);
    if (!texts->is_checked) {
        outcome = check_on(context, texts);
        if (outcome == OUTCOME_WAIT || !texts->is_checked)
            return outcome;
    }
    return context->may_wait ? give(context, texts) : write_now(context, texts);
}

enum outcome run_acl_save_file(struct context *context)
{
    struct texts *texts = long_work_state(context);

    if (texts != NULL)
        return save_on(context, texts);
    texts = begin(context->server->acl, write_line);
    return texts == NULL ? context_status(context, DUEQ_NOMEM)
                         : long_work_continue(context, texts, free_texts, LONG_HOLDS_NOTHING);
}
