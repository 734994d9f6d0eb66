/* XXH3, the hash of names, keys and records on disk. Compiled into each caller, where the size
 * of what is hashed is often known. libdueq-small (DUEQ_SMALL) has it once, in xxh3_small.c. */
#ifndef DUEQ_XXH3_H
#define DUEQ_XXH3_H

#ifdef DUEQ_SMALL
#define XXH_STATIC_LINKING_ONLY /* XXH3_state_t is complete */
#else
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#endif
