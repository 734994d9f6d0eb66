#include "tools/move/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30, EACH_MS = 200 };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
    *progress = (struct progress){.what = what, .total = total};
    progress->shows = isatty(STDERR_FILENO) ? 1 : -1;
}

static void show(const struct progress *progress)
{
    char bar[BAR + 1];
    uint64_t done = progress->done < progress->total ? progress->done : progress->total;
    size_t filled;

    if (progress->total == 0) {
        fprintf(stderr, "\r%s: %" PRIu64, progress->what, progress->done);
        return;
    }
    filled = (size_t)((double)done / (double)progress->total * BAR);
    memset(bar, '-', BAR);
    memset(bar, '#', filled);
    bar[BAR] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f%% %" PRIu64 " of %" PRIu64, progress->what, bar,
            (double)done / (double)progress->total * 100, progress->done, progress->total);
}

void progress_add(struct progress *progress, uint64_t count)
{
    int64_t now;

    progress->done += count;
    if (progress->shows != 1)
        return;
    now = now_ms();
    if (now - progress->shown < EACH_MS)
        return;
    progress->shown = now;
    show(progress);
}

void progress_end(struct progress *progress)
{
    if (progress->shows == 1)
        fputs("\r\033[K", stderr);
    progress->shows = -1;
}
