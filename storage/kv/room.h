/* Room: how much the store may still take. Everything that is taken has its room already: space
 * in a journal segment for its record, and blocks of data.mdb for what the checkpoint makes of
 * it. Both are set aside when growth is asked for, so a disk that fills later can stop neither
 * what was taken nor what drains the store. Owner's thread. */
#ifndef DUEQ_ROOM_H
#define DUEQ_ROOM_H

#include "storage/status.h"

#include <stddef.h>

struct kv;

/* May the batch grow by about `bytes` bytes of keys and values? Call it before anything is
 * changed.
 *   DUEQ_OK      yes; the space in the journal is set aside until the commit
 *   DUEQ_FULL    no, so that what drains the store still fits: the map is at its high-water
 * mark or the disk is at its reserve DUEQ_NOMEM   no, for want of memory or a descriptor
 *   DUEQ_TOOBIG  no: one record cannot hold the batch
 *   others       the store failed
 * O(1), but sometimes it makes a file. */
enum dueq_status kv_room(struct kv *kv, size_t bytes);

/* The same for several changes of which all or none are made: after DUEQ_OK each kv_room within
 * these bytes answers DUEQ_OK until the commit. */
enum dueq_status kv_grant(struct kv *kv, size_t bytes);

/* May what drains the store be written? DUEQ_FULL: the disk is full and what was set aside for
 * draining is used up; only reads go on. O(1). */
enum dueq_status kv_drains(struct kv *kv);

#endif
