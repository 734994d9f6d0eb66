/* Room: how much the store may still take. Room is reserved when growth is requested: space in
 * a journal segment for the record, and blocks of data.mdb for the checkpoint; free pages of
 * data.mdb count. So a disk that fills later stops neither what was accepted nor what drains
 * the store (claims, acks, deletes). For the owner's thread. */
#ifndef DUEQ_ROOM_H
#define DUEQ_ROOM_H

#include "storage/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv;

/* May the batch grow by about `bytes` bytes of keys and values? Call it before anything is
 * changed.
 *
 * DUEQ_OK: yes; the space is reserved until the commit.
 * DUEQ_FULL: no; what drains the store still fits. The map is at its high-water mark, or the
 * disk at its reserve.
 * DUEQ_NOMEM: no, without memory or a descriptor.
 * DUEQ_TOOBIG: no: one record cannot hold the batch.
 * Others: the store has failed.
 *
 * O(1), but sometimes it makes a file. */
enum dueq_status kv_room(struct kv *kv, uint64_t bytes);

/* The same for several changes of which all or none are made: after DUEQ_OK each kv_room within
 * these bytes answers DUEQ_OK until the commit. A greater grant of the same batch stays. */
enum dueq_status kv_room_grant(struct kv *kv, uint64_t bytes);

/* May what adds a little to records, or moves them, be written? A claim does, and a nack with
 * its texts (with_text). When the store is full they use what is set aside for what drains:
 * texts one half of it, claims another quarter. The last quarter is kept for what removes
 * records, because a removal copies pages too. DUEQ_FULL: no more of it is left. O(1), but
 * sometimes the file grows. */
enum dueq_status kv_room_moves(struct kv *kv, bool with_text);

/* May changes that drain the store be written? DUEQ_FULL: the disk is full and the space that
 * is reserved for them is used up; only reads are possible. O(1). */
enum dueq_status kv_room_drains(struct kv *kv);

#endif
