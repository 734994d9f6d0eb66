/* Reads what is sound in a data.mdb whose pages are damaged: of the newest tree that can be
 * found each record that checks, and from pages that nothing leads to any more what can only
 * have been in the parts of the tree that are lost. For a repair; nothing else reads past
 * damage.
 *
 * The tree is that of the meta pages. When one of them is damaged, all pages are looked at for
 * roots; each tree begins with the stamp, a record whose value grows from transaction to
 * transaction, and the tree with the greatest stamp is the newest. */
#ifndef DUEQ_PAGES_SALVAGE_H
#define DUEQ_PAGES_SALVAGE_H

#include "storage/kv/pages/pages.h"

struct pages_salvage;

struct pages_salvage_sink {
    /* A record that checks. `stray`: nothing leads to its page, so it may be older than what
     * was lost; the first of several with one key is the best. Any status but DUEQ_OK ends the
     * reading. */
    enum dueq_status (*on_record)(void *arg, struct dueq_slice key, struct dueq_slice value,
                                  bool stray);
    /* What is damaged, in words that live until it returns. */
    void (*on_damage)(void *arg, const char *what);
    void *arg;
};

/* Finds the tree. fd is the caller's and stays open; the file does not change meanwhile. The
 * sink is copied. DUEQ_NOMEM, DUEQ_IO. O(1), or with a damaged meta page O(file). */
enum dueq_status pages_salvage_new(const struct dueq_io *io, int fd, struct dueq_slice stamp,
                                   const struct pages_salvage_sink *sink,
                                   struct pages_salvage **ret_salvage);
void pages_salvage_free(struct pages_salvage *salvage); /* NULL is fine */

/* The value of the stamp in the tree that was found, else in any page; lives as long as the
 * salvage. *ret_sure false: only in a page that is perhaps of an older tree. DUEQ_NOTFOUND. */
enum dueq_status pages_salvage_stamp(struct pages_salvage *salvage,
                                     struct dueq_slice *ret_value, bool *ret_sure);

/* Gives all that is sound to the sink. O(file). */
enum dueq_status pages_salvage_read(struct pages_salvage *salvage);

/* Did such a key lie in a part of the tree that was lost? After pages_salvage_read. O(log n).
 */
bool pages_salvage_lost(const struct pages_salvage *salvage, struct dueq_slice key);

#endif
