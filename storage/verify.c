#include "storage/verify.h"

#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROGRESS_EVERY = 10000 /* records */ };

/* ---- findings */

void findings_add(struct findings *findings, const char *what, const char *format, ...)
{
    char where[FINDINGS_TEXT_MAX];
    va_list arguments;

    if (findings->first == NULL)
        findings->first = what;
    if (findings->verify == NULL)
        return;
    findings->verify->findings++;
    if (findings->verify->on_finding == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(where, sizeof(where), format, arguments);
    va_end(arguments);
    findings->verify->on_finding(findings->verify->arg, where, what);
}

/* The damaged page is named once, by the first that meets it: later reads find that it was
 * reported. */
void findings_unreadable(struct findings *findings, struct kv *kv, enum dueq_status status,
                         const char *place)
{
    const char *page = kv_damage(kv);

    findings_add(findings, dueq_status_text(status), "%s%s%s", place,
                 page[0] == '\0' ? "" : ", ", page);
}

void findings_stop(struct findings *findings, enum dueq_status why)
{
    findings->stopped = true;
    findings->why = why;
}

bool findings_step(struct findings *findings)
{
    struct dueq_verify *verify = findings->verify;

    if (verify != NULL && ++verify->records % PROGRESS_EVERY == 0 &&
        verify->on_progress != NULL && !verify->on_progress(verify->arg, verify->records))
        findings_stop(findings, DUEQ_STOPPED);
    return !findings->stopped;
}

char *findings_quote(char *text, struct dueq_slice name)
{
    const uint8_t *bytes = name.data;
    size_t shown = name.size < FINDINGS_NAME_MAX ? name.size : FINDINGS_NAME_MAX;
    char *at = text;

    *at++ = '"';
    for (size_t i = 0; i < shown; i++) {
        if (bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '"' && bytes[i] != '\\')
            *at++ = (char)bytes[i];
        else
            at += snprintf(at, 5, "\\x%02x", bytes[i]);
    }
    strcpy(at, shown < name.size ? "\"..." : "\"");
    return text;
}

/* ---- walks */

static void blame_table(struct findings *findings, struct kv *kv, enum dueq_status status,
                        const struct kv_key *prefix)
{
    char place[32];

    snprintf(place, sizeof(place), "table %c", prefix->bytes[0]);
    findings_unreadable(findings, kv, status, place);
}

static bool end_walk(struct findings *findings, struct kv *kv, enum dueq_status status,
                     const struct kv_key *prefix)
{
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        return true;
    blame_table(findings, kv, status, prefix);
    return false;
}

bool findings_walk(struct findings *findings, struct kv *kv, const struct kv_key *prefix,
                   findings_fn fn, void *arg)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    enum dueq_status status =
        cursor == NULL ? DUEQ_NOMEM : kv_cursor_seek(cursor, kv_key_slice(prefix));

    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), prefix) &&
           findings_step(findings) && fn(arg, kv_cursor_key(cursor), kv_cursor_value(cursor)))
        status = kv_cursor_next(cursor);
    kv_cursor_free(cursor);
    return end_walk(findings, kv, status, prefix);
}

/* Changes the key to the least one that does not begin with it. False: there is none. */
static bool pass_over(struct kv_key *key)
{
    while (key->size > 0 && key->bytes[key->size - 1] == UINT8_MAX)
        key->size--;
    if (key->size > 0)
        key->bytes[key->size - 1]++;
    return key->size > 0;
}

bool findings_walk_heads(struct findings *findings, struct kv *kv, const struct kv_key *prefix,
                         findings_head_fn head, findings_fn fn, void *arg)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    enum dueq_status status =
        cursor == NULL ? DUEQ_NOMEM : kv_cursor_seek(cursor, kv_key_slice(prefix));

    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), prefix)) {
        struct dueq_slice key = kv_cursor_key(cursor);
        size_t size = head(key);
        struct kv_key next;

        kv_key_copy(&next, dueq_slice(key.data, size));
        if (!findings_step(findings) || !fn(arg, key, kv_cursor_value(cursor)) ||
            !pass_over(&next))
            break;
        status = kv_cursor_seek(cursor, kv_key_slice(&next));
    }
    kv_cursor_free(cursor);
    return end_walk(findings, kv, status, prefix);
}

/* ---- ids */

bool id_list_add(struct id_list *list, uint64_t id)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
        uint64_t *ids = realloc(list->ids, capacity * sizeof(*ids));

        if (ids == NULL)
            return false;
        list->ids = ids;
        list->capacity = capacity;
    }
    list->ids[list->count++] = id;
    return true;
}

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

uint64_t id_list_sort(struct id_list *list)
{
    if (list->count > 0)
        qsort(list->ids, list->count, sizeof(*list->ids), compare_ids);
    for (size_t i = 1; i < list->count; i++)
        if (list->ids[i] == list->ids[i - 1])
            return list->ids[i];
    return 0;
}

bool id_list_has(const struct id_list *list, uint64_t id)
{
    return list->count > 0 &&
           bsearch(&id, list->ids, list->count, sizeof(*list->ids), compare_ids) != NULL;
}

void id_list_release(struct id_list *list)
{
    free(list->ids);
    *list = (struct id_list){NULL, 0, 0};
}

/* ---- the store */

static void check_pages(struct findings *findings, struct kv *kv)
{
    uint64_t records;
    enum dueq_status status = kv_check(kv, &records);

    if (status != DUEQ_OK)
        findings_unreadable(findings, kv, status, "data.mdb");
    kv_forget_damage(kv);
}

static bool at_unknown(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    (void)value;
    findings_add(arg, "no such table is known", "table \\x%02x",
                 (unsigned)*(const uint8_t *)key.data);
    return false;
}

static void check_tables(struct findings *findings, struct kv *kv)
{
    static const char tables[] = "ABCDEFGJMNOPQRSTUWcdeghklvyz";

    for (int table = 1; table < UINT8_MAX; table++) {
        struct kv_key prefix;

        if (memchr(tables, table, sizeof(tables) - 1) != NULL)
            continue;
        kv_key_start(&prefix, (uint8_t)table);
        findings_walk(findings, kv, &prefix, at_unknown, findings);
    }
}

enum dueq_status dueq_verify(struct dueq *store, struct dueq_verify *verify)
{
    struct findings findings = {.verify = verify};

    verify->records = verify->findings = 0;
    if (kv_batch_bytes(store->kv) > 0)
        return DUEQ_INVALID;
    check_pages(&findings, store->kv);
    check_tables(&findings, store->kv);
    queue_verify(store->queue, &findings);
    if (!findings.stopped)
        keys_verify(store->keys, &findings);
    if (findings.stopped)
        return findings.why;
    return findings.first == NULL ? DUEQ_OK : DUEQ_CORRUPT;
}
