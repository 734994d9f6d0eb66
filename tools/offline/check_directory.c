/* `dueq check`: is the data directory of a stopped server sound? */
#include "server/subcommands.h"
#include "tools/offline/offline.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_MOST = 1000 /* findings; a damaged directory may have millions */ };

static void show_finding(void *arg, const char *where, const char *what)
{
    const struct dueq_verify *verify = arg;

    if (verify->findings > SHOWN_MOST)
        return;
    offline_show("", 0);
    printf("%s: %s\n", where, what);
}

static bool show_progress(void *arg, uint64_t records)
{
    (void)arg;
    offline_show("check", records);
    return true;
}

static int report(const char *dir, const struct dueq_verify *verify, enum dueq_status status)
{
    offline_show("", 0);
    if (verify->findings > SHOWN_MOST)
        printf("and %" PRIu64 " more\n", verify->findings - SHOWN_MOST);
    if (status == DUEQ_OK) {
        printf("%s is sound: %" PRIu64 " records\n", dir, verify->records);
        return OFFLINE_DONE;
    }
    fprintf(stderr, "dueq: %s: %s\n", dir, dueq_status_text(status));
    return status == DUEQ_CORRUPT ? OFFLINE_DAMAGED : OFFLINE_FAILED;
}

/* Opens the directory as a start does, which checks the journal, and then checks everything. */
int check_main(const char *dir)
{
    struct dueq_verify verify = {.on_finding = show_finding, .on_progress = show_progress};
    struct dueq *store;
    int status = offline_open(dir, false, NULL, offline_time(), &store);

    if (status != OFFLINE_DONE)
        return status;
    verify.arg = &verify;
    status = report(dir, &verify, dueq_verify(store, &verify));
    dueq_abandon(store);
    return status;
}
