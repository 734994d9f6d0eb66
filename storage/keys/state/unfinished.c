#include "storage/keys/state/unfinished.h"

#include "storage/keys/state/keys_internal.h"

#include <assert.h>
#include <utlist.h>

void unfinished_begin(struct unfinished *work, struct keys *keys, uint64_t source,
                      uint64_t built)
{
    assert(work->keys == NULL);
    work->keys = keys;
    work->source = source;
    work->built = built;
    work->stale = false;
    DL_APPEND(keys->unfinished, work);
}

void unfinished_end(struct unfinished *work)
{
    if (work->keys != NULL)
        DL_DELETE(work->keys->unfinished, work);
    work->keys = NULL;
}

bool unfinished_builds(const struct keys *keys, uint64_t object)
{
    const struct unfinished *work;

    DL_FOREACH(keys->unfinished, work)
        if (work->built != 0 && work->built == object)
            return true;
    return false;
}

void unfinished_note_change(struct keys *keys, uint64_t object)
{
    struct unfinished *work;

    DL_FOREACH(keys->unfinished, work)
        if (work->source != 0 && work->source == object)
            work->stale = true;
}

void unfinished_forget_all(struct keys *keys)
{
    while (keys->unfinished != NULL)
        unfinished_end(keys->unfinished);
}
