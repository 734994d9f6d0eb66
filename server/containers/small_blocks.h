/* The many small blocks that a client may make the server keep: a subscription, a watch, the
 * queue of those that wait for a key. malloc keeps the room of small blocks that are freed, so
 * somebody has to know how much that is, and to give it back to the system before it is so much
 * that this takes long (client_memory_turn). One count for the process. Only for the loop. */
#ifndef DUEQ_SMALL_BLOCKS_H
#define DUEQ_SMALL_BLOCKS_H

#include <stddef.h>

void *small_block_new(size_t size); /* zeroed; NULL: out of memory */
void small_block_free(void *block, size_t size);

size_t small_blocks_held(void); /* bytes */
/* How many fewer these are than at their most since small_blocks_given_back. */
size_t small_blocks_freed(void);
/* Free memory has gone back to the system. */
void small_blocks_given_back(void);

#endif
