/* The inside of a view. Private to storage/kv/pages. */
#ifndef DUEQ_PAGES_INTERNAL_H
#define DUEQ_PAGES_INTERNAL_H

#include "storage/kv/pages/page_layout.h"
#include "storage/kv/pages/page_places.h"
#include "storage/kv/pages/pages_cursor.h"
#include "storage/xxh3.h"

enum {
    PAGES_READ_STEP = 65536,
    PAGES_CHECKED_MOST = 1024, /* sliced values that are known to be sound */
    PAGES_NEAR = 8
};
#ifdef DUEQ_SMALL /* small code rather than short searches */
enum { PAGES_NEAR_USED = 0 };
#else
enum { PAGES_NEAR_USED = 1 };
#endif

/* A value of more than PAGES_SLICED: its first page, of which key, its size with the checksum.
 * Nothing else covers the number of the page, which the disk may have changed; so a page that
 * was checked is right for that key only. */
struct pages_checked {
    uint64_t page, key_hash;
    size_t size;
};

/* The way to the leaf that was found last, of the keys with some first bytes. */
struct pages_near {
    struct pages_cursor at; /* depth 0: none */
    bool again;             /* the search before it found the same leaf */
};

struct pages_bound {
    size_t size;
    uint8_t bytes[PAGE_KEY_MAX];
};

struct pages {
    const struct dueq_io *io;
    int fd;
    const uint8_t *map;
    size_t map_bytes, page_size;
    bool owns_map, for_writer;
    struct page_meta meta;   /* of the transaction that is shown; txnid 0: none yet */
    uint8_t *sound, *unused; /* a bit for each page: checked; on the list of free pages */
    size_t bits;             /* in each */
    bool unused_exact;       /* else pages may have been used again since */
    uint8_t *scratch;        /* a page, or a step of a large value */
    uint64_t marks[PAGE_SIZE_MOST / 2 / 64]; /* where nodes begin */
    /* the leaf that was allowed last, and the keys that lie in it */
    bool allowed, allowed_last;
    uint64_t allowed_leaves; /* so far */
    struct pages_bound allowed_from, allowed_to;
    struct page_places places; /* of the transaction that is shown */
    struct pages_limit *limit; /* NULL: none */
    /* a ring; void without the bit in `sound` */
    struct pages_checked checked[PAGES_CHECKED_MOST];
    unsigned next_checked;
    struct pages_checked under_check; /* page 0: none */
    size_t done;                      /* bytes of it */
    XXH3_state_t *sum;                /* of these bytes */
    char damage[256];
    struct pages_near near[PAGES_NEAR];
};

/* Say what is wrong with the page, and return DUEQ_CORRUPT or DUEQ_IO. error: of
 * pages_read_file. */
enum dueq_status pages_damaged(struct pages *pages, uint64_t page, const char *what);
enum dueq_status pages_unreadable(struct pages *pages, uint64_t page, int error);

/* 0, or errno; EILSEQ: the file is shorter. */
int pages_read_file(const struct dueq_io *io, int fd, uint64_t offset, uint8_t *bytes,
                    size_t size);

/* Makes a bit in `sound` and `unused` for each page of pages->meta. False: out of memory. */
bool pages_make_bits(struct pages *pages);

/* Bytes of sliced values that may be checked; NULL: no limit. */
static inline size_t *pages_allowance(const struct pages *pages)
{
    return pages->limit == NULL ? NULL : pages->limit->allowance;
}

/* The page in the map. */
static inline const uint8_t *pages_at(const struct pages *pages, uint64_t page)
{
    return pages->map + page * pages->page_size;
}

static inline bool pages_has_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static inline void pages_set_bit(uint8_t *bits, uint64_t at)
{
    bits[at / 8] |= (uint8_t)(1 << at % 8);
}

static inline void pages_clear_bit(uint8_t *bits, uint64_t at)
{
    bits[at / 8] &= (uint8_t) ~(1 << at % 8);
}

#endif
