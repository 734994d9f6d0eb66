#include "server/statistics/slowlog.h"

#include "server/dispatch/redaction.h"
#include "server/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void free_entry(struct slowlog_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++)
        free((char *)(uintptr_t)entry->arguments[i].data);
    free(entry->address);
    free(entry->name);
    free(entry);
}

/* No-op when there is none. */
static void drop_last(struct slowlog *slowlog)
{
    struct slowlog_entry *last;

    if (slowlog->entries == NULL)
        return;
    assert(slowlog->count > 0);
    last = slowlog->entries->prev;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed is in the list no more */
    DL_DELETE(slowlog->entries, last);
    slowlog->count--;
    free_entry(last);
}

/* The argument as it is kept: long ones are cut, and the last says how many more there were. */
static struct argument keep(const struct context *context, size_t index)
{
    const struct request *request = context->request;
    struct argument argument = redaction_shown(context->command, request, index);
    size_t more = request->count - index;
    char *text = NULL;
    int size = -1;

    if (index + 1 == SLOWLOG_ARGUMENTS && more > 1)
        size = asprintf(&text, "... (%zu more arguments)", more);
    else if (argument.size > SLOWLOG_BYTES)
        size = asprintf(&text, "%.*s... (%zu more bytes)", SLOWLOG_BYTES, argument.data,
                        argument.size - SLOWLOG_BYTES);
    if (size >= 0)
        return (struct argument){text, (size_t)size};
    text = malloc(argument.size + 1);
    if (text == NULL)
        return (struct argument){NULL, 0};
    memcpy(text, argument.data, argument.size);
    text[argument.size] = '\0';
    return (struct argument){text, argument.size};
}

static struct slowlog_entry *new_entry(const struct context *context, uint64_t usec)
{
    struct slowlog_entry *entry = calloc(1, sizeof(*entry));
    const struct session *session = context->session;

    if (entry == NULL)
        return NULL;
    entry->time = context->now.wall / 1000;
    entry->usec = usec;
    for (; entry->count < context->request->count && entry->count < SLOWLOG_ARGUMENTS;
         entry->count++)
        entry->arguments[entry->count] = keep(context, entry->count);
    entry->address = strdup(session->address);
    entry->name = strdup(session->name == NULL ? "" : session->name);
    return entry;
}

void slowlog_note(const struct context *context, uint64_t usec)
{
    struct slowlog *slowlog = &context->server->slowlog;
    const struct config *config = &context->server->config;
    struct slowlog_entry *entry;

    if (config->slowlog_slower_than < 0 || usec < (uint64_t)config->slowlog_slower_than)
        return;
    entry = new_entry(context, usec);
    if (entry == NULL)
        return;
    entry->id = slowlog->next_id++;
    DL_PREPEND(slowlog->entries, entry);
    slowlog->count++;
    while (slowlog->count > (uint64_t)config->slowlog_max_len)
        drop_last(slowlog);
}

void slowlog_reset(struct slowlog *slowlog)
{
    while (slowlog->count > 0)
        drop_last(slowlog);
}
