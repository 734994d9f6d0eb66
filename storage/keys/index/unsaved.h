/* Open entries that differ from their records, and packed values that are in memory until their
 * entry is saved. Private to storage/keys.
 *
 * A changed entry is usually written once, when the batch is committed, however many commands
 * of the turn changed it; earlier when KEYS_UNSAVED_MAX packed values are changed. */
#ifndef DUEQ_UNSAVED_H
#define DUEQ_UNSAVED_H

#include "storage/keys/state/keys_internal.h"

enum { KEYS_UNSAVED_MAX = 1024 }; /* packed values that are changed and not yet saved */

/* The entry will be saved. */
void unsaved_mark(struct keys *keys, struct keys_entry *entry);
/* The entry needs no saving any more; drops its value. */
void unsaved_unmark(struct keys *keys, struct keys_entry *entry);
/* Writes the entry's record and unmarks the entry. */
void unsaved_save(struct keys *keys, struct keys_entry *entry);
void unsaved_save_all(struct keys *keys);

/* Call it when entry->value was filled; the other two empty it again. The caller of
 * unsaved_take_value releases what it returns. */
void unsaved_add_value(struct keys *keys, const struct keys_entry *entry);
struct packed unsaved_take_value(struct keys *keys, struct keys_entry *entry);
void unsaved_drop_value(struct keys *keys, struct keys_entry *entry); /* no-op without value */

/* Makes room for one more unsaved value; may save all entries. DUEQ_TOOBIG: one journal record
 * cannot hold all unsaved values. DUEQ_FULL is no reason to refuse: commands that free space
 * change packed values, too, and commands that grow the store were refused before. */
enum dueq_status unsaved_admit(struct keys *keys);

#endif
