/* Reads what is sound in a damaged journal, and changes nothing. For a repair; nothing else
 * reads past damage. */
#ifndef DUEQ_JOURNAL_SALVAGE_H
#define DUEQ_JOURNAL_SALVAGE_H

#include "storage/kv/journal/journal.h"

struct journal_salvage_sink {
    /* A record that checks, in the order of the LSNs. `after_gap`: a durable record before it
     * is lost. Any status but DUEQ_OK ends the reading. */
    enum dueq_status (*on_record)(void *arg, const struct journal_record *record,
                                  bool after_gap);
    /* What is damaged, in words that live until it returns. */
    void (*on_damage)(void *arg, const char *what);
    void *arg;
};

/* DUEQ_IO: this user may not read DIR/journal, or a file in it; error says which one. DUEQ_OK:
 * whatever else is wrong with them is damage. O(files). */
enum dueq_status journal_salvage_ask(const struct dueq_io *io, const char *dir,
                                     struct dueq_error *error);

/* Reads DIR/journal: from the record `first` on those that are missing are lost, earlier ones
 * may be missing; 0: it is not known where the journal should begin. salt: as of journal_open.
 * A torn tail is no damage. DUEQ_NOMEM. O(journal); takes the memory of one segment. */
enum dueq_status journal_salvage(const struct dueq_io *io, const char *dir, uint64_t salt,
                                 uint64_t first, const struct journal_salvage_sink *sink);

#endif
