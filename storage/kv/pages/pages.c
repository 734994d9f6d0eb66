#include "storage/kv/pages/pages.h"

#include "storage/kv/pages/free_pages.h"
#include "storage/kv/pages/pages_cursor.h"
#include "storage/kv/pages/pages_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { UNWRITTEN_MOST = 65536 }; /* pages that may be after the end of the file */

/* ---- failing */

enum dueq_status pages_damaged(struct pages *pages, uint64_t page, const char *what)
{
    snprintf(pages->damage, sizeof(pages->damage), "page %" PRIu64 " is damaged: %s", page,
             what);
    return DUEQ_CORRUPT;
}

enum dueq_status pages_unreadable(struct pages *pages, uint64_t page, int error)
{
    snprintf(pages->damage, sizeof(pages->damage), "cannot read page %" PRIu64 ": %s", page,
             strerror(error));
    return DUEQ_IO;
}

const char *pages_damage(const struct pages *pages)
{
    return pages->damage;
}

void pages_forget_damage(struct pages *pages)
{
    pages->damage[0] = '\0';
}

/* ---- metas */

int pages_read_file(const struct dueq_io *io, int fd, uint64_t offset, uint8_t *bytes,
                    size_t size)
{
    while (size > 0) {
        ssize_t got = io->pread(io->arg, fd, bytes, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EILSEQ;
        bytes += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* A page that is given back in the transaction that took it is never written. */
static bool fits_file(const struct page_meta *meta, int fd)
{
    struct stat stats;

    return fstat(fd, &stats) == 0 &&
           meta->last_page < (uint64_t)stats.st_size / meta->page_size + UNWRITTEN_MOST;
}

static enum dueq_status load_meta(const struct dueq_io *io, int fd, uint64_t offset,
                                  struct page_meta *ret_meta)
{
    uint8_t bytes[META_SIZE];
    int error = pages_read_file(io, fd, offset + PAGE_HEADER, bytes, sizeof(bytes));

    if (error != 0)
        return error == EILSEQ ? DUEQ_CORRUPT : DUEQ_IO;
    *ret_meta = page_meta_read(bytes);
    return page_meta_possible(ret_meta, PAGES_LEVELS) && fits_file(ret_meta, fd) ? DUEQ_OK
                                                                                 : DUEQ_CORRUPT;
}

/* LMDB's numbers are the machine's, so a file does not move to a machine with others. */
static enum dueq_status refuse_machine(const struct dueq_io *io, int fd,
                                       struct dueq_error *error)
{
    uint8_t bytes[PAGE_MACHINE_BYTES];
    const char *machine = NULL;

    if (pages_read_file(io, fd, 0, bytes, sizeof(bytes)) == 0)
        machine = page_meta_machine(bytes);
    if (machine == NULL || machine == page_machine())
        return DUEQ_OK;
    return dueq_fail(
        error, DUEQ_FORMAT,
        "data.mdb is of a machine with other numbers (%s; this one is %s). Move the "
        "data with dueq dump there and dueq load here",
        machine, page_machine());
}

enum dueq_status pages_check_metas(const struct dueq_io *io, int fd, struct dueq_error *error)
{
    struct page_meta metas[2];
    enum dueq_status status = refuse_machine(io, fd, error);

    if (status != DUEQ_OK)
        return status;
    status = load_meta(io, fd, 0, &metas[0]);
    if (status == DUEQ_OK)
        status = load_meta(io, fd, metas[0].page_size, &metas[1]);
    if (status == DUEQ_OK &&
        (metas[0].page_size != metas[1].page_size || metas[0].txnid % 2 != 0 ||
         metas[1].txnid % 2 != 1 ||
         (metas[0].txnid + 1 != metas[1].txnid && metas[1].txnid + 1 != metas[0].txnid)))
        status = DUEQ_CORRUPT;
    if (status != DUEQ_OK)
        dueq_fail(error, status,
                  status == DUEQ_CORRUPT
                      ? "a meta page of data.mdb is damaged. Restore a backup"
                      : "cannot read data.mdb");
    return status;
}

/* ---- life */

/* A view that has no map yet. */
static struct pages *view_new(const struct dueq_io *io, int fd, bool for_writer)
{
    struct pages *pages = calloc(1, sizeof(*pages));

    if (pages == NULL)
        return NULL;
    pages->io = io;
    pages->fd = fd;
    pages->for_writer = for_writer;
    pages->scratch = malloc(PAGES_READ_STEP);
    pages->sum = XXH3_createState();
    if (pages->scratch != NULL && pages->sum != NULL)
        return pages;
    pages_free(pages);
    return NULL;
}

struct pages *pages_new(const struct dueq_io *io, int fd, uint64_t map_bytes, bool for_writer)
{
    struct pages *pages = view_new(io, fd, for_writer);
    void *map = MAP_FAILED;

    if (pages == NULL)
        return NULL;
    if (map_bytes <= SIZE_MAX)
        map = mmap(NULL, (size_t)map_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        pages_free(pages);
        return NULL;
    }
    madvise(map, (size_t)map_bytes, MADV_RANDOM);
    pages->map = map;
    pages->map_bytes = (size_t)map_bytes;
    pages->owns_map = true;
    return pages;
}

struct pages *pages_new_on(const struct dueq_io *io, int fd, const void *map, size_t map_bytes,
                           bool for_writer)
{
    struct pages *pages = view_new(io, fd, for_writer);

    if (pages == NULL)
        return NULL;
    pages->map = map;
    pages->map_bytes = map_bytes;
    return pages;
}

struct pages *pages_new_beside(const struct pages *first, bool for_writer)
{
    return pages_new_on(first->io, first->fd, first->map, first->map_bytes, for_writer);
}

void pages_drop(struct pages *pages)
{
    madvise((void *)(uintptr_t)pages->map, pages->map_bytes, MADV_DONTNEED);
}

void pages_free(struct pages *pages)
{
    if (pages == NULL)
        return;
    if (pages->owns_map)
        munmap((void *)(uintptr_t)pages->map, pages->map_bytes);
    free(pages->sound);
    free(pages->unused);
    free(pages->scratch);
    XXH3_freeState(pages->sum);
    free(pages);
}

void pages_limit(struct pages *pages, struct pages_limit *limit)
{
    pages->limit = limit;
}

bool pages_contain(const struct pages *pages, const void *byte)
{
    return (uintptr_t)byte - (uintptr_t)pages->map < pages->map_bytes;
}

/* ---- what is shown */

static uint8_t *grown(uint8_t *bits, size_t from, size_t to)
{
    uint8_t *larger = realloc(bits, to / 8);

    if (larger != NULL)
        memset(larger + from / 8, 0, (to - from) / 8);
    return larger;
}

bool pages_make_bits(struct pages *pages)
{
    size_t wanted = (size_t)(pages->meta.last_page / 65536 + 1) * 65536;
    uint8_t *bits;

    if (wanted <= pages->bits)
        return true;
    bits = grown(pages->sound, pages->bits, wanted);
    if (bits == NULL)
        return false;
    pages->sound = bits;
    bits = grown(pages->unused, pages->bits, wanted);
    if (bits == NULL)
        return false;
    pages->unused = bits;
    pages->bits = wanted;
    return true;
}

/* LMDB writes a meta page when the one that it replaces is two transactions old. */
static bool take_meta(struct pages *pages, uint64_t txnid)
{
    const uint8_t *bytes;
    struct page_meta meta;

    if (pages->page_size == 0)
        pages->page_size = page_u32(pages->map + PAGE_HEADER + META_FREE);
    bytes = pages_at(pages, txnid % 2) + PAGE_HEADER;
    meta = page_meta_read(bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (meta.txnid != txnid || page_word(bytes + META_TXNID) != txnid)
        return false;
    pages->meta = meta;
    return true;
}

/* What pages->meta says now; `after`: what was shown before it, 0: nothing. */
static enum dueq_status take_over(struct pages *pages, uint64_t after)
{
    const struct page_meta *meta = &pages->meta;

    if (!page_meta_possible(meta, PAGES_LEVELS) || meta->page_size != pages->page_size ||
        meta->main.root == NO_ROOT || meta->last_page >= pages->map_bytes / pages->page_size)
        return pages_damaged(pages, meta->txnid % 2, "it is no meta page");
    if (!pages_make_bits(pages))
        return DUEQ_NOMEM;
    if (after == 0)
        return free_pages_list_anew(pages, true);
    pages->unused_exact = false;
    return free_pages_list(pages, after, false);
}

enum dueq_status pages_begin(struct pages *pages, uint64_t txnid)
{
    return take_meta(pages, txnid) ? DUEQ_OK : DUEQ_NOTFOUND;
}

enum dueq_status pages_begin_list(struct pages *pages)
{
    return take_over(pages, 0);
}

/* On failure the view stays as it was, and so do the bits. */
enum dueq_status pages_show(struct pages *pages, uint64_t txnid)
{
    struct page_meta before = pages->meta;
    enum dueq_status status;

    if (before.txnid == txnid && pages->sound != NULL)
        return DUEQ_OK;
    if (!take_meta(pages, txnid)) {
        pages_damaged(pages, txnid % 2, "it is not what the last transaction has written");
        return DUEQ_NOTFOUND;
    }
    page_places_clear(&pages->places);
    pages->allowed = false;
    status = take_over(pages, before.txnid);
    if (status != DUEQ_OK)
        pages->meta = before;
    return status;
}
