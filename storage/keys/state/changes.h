/* The log of changed keys, in RAM, for WATCH, blocked clients and notifications. */
#ifndef DUEQ_CHANGES_H
#define DUEQ_CHANGES_H

#include "storage/keys/state/keys_types.h"

struct keys_change {
    unsigned database;
    struct dueq_slice name; /* size 0 with `flushed` */
    bool expired;           /* deleted because its expiry had passed */
    bool created;           /* the name had no value before, or the value was renamed to it */
    bool flushed;           /* any key of the database may have changed */
};

/* Starts or stops recording; drops what is recorded. Off in a new store. */
void changes_enable(struct keys *keys, bool on);
/* Takes the oldest change out of the log. A key may come several times. The name lives until
 * the next change. DUEQ_NOTFOUND: the log is empty. When there was no memory to record a
 * change, each database is reported as flushed, after the changes that were recorded. */
enum dueq_status changes_next(struct keys *keys, struct keys_change *ret_change);
/* The change that changes_next would return, which stays in the log. DUEQ_NOTFOUND: there is
 * none, or one was lost. */
enum dueq_status changes_look(const struct keys *keys, struct keys_change *ret_change);
/* Returns expirations and creations that are not yet published, each once, so that the caller
 * can publish them before later events on the same key. They stay in the log for
 * changes_next. */
enum dueq_status changes_peek(struct keys *keys, struct keys_change *ret_change);

/* ---- private to storage/keys */

enum change_kind { CHANGE_VALUE, CHANGE_CREATED, CHANGE_EXPIRED, CHANGE_FLUSHED };

struct change_log {
    uint8_t *bytes; /* records: struct change_header, name */
    size_t size, capacity;
    size_t read;   /* where changes_next continues */
    size_t peeked; /* where changes_peek continues */
    size_t shown;  /* changes after `peeked` that changes_peek returns, at the most */
    size_t last;   /* where the newest record begins, if there is one */
    unsigned lost; /* databases to report as flushed, because a change was lost */
    bool on;
};

/* CHANGE_FLUSHED has no name. */
void changes_record(struct keys *keys, unsigned database, struct dueq_slice name,
                    enum change_kind kind);

#endif
