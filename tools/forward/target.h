/* Where `dueq forward` brings jobs: one interface for a dueq, a Redis, an HTTP(S) server and an
 * MQTT broker. One thread uses a target; its calls wait no longer than they say.
 *
 * new, then open until it succeeds; begin gives it jobs, turn lets it work and writes their
 * outcomes. When it sets `away`, it gets no more jobs; once each of those it has got has an
 * outcome, it is shut and opened again later. */
#ifndef DUEQ_TARGET_H
#define DUEQ_TARGET_H

#include "storage/slice.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

enum { TARGET_WHY = 512, JOB_WHY = 240, PREFIX_MOST = 200, TARGET_ID = PREFIX_MOST + 256 };

enum outcome {
    OUTCOME_NONE,    /* not known yet */
    OUTCOME_SENT,    /* the target has confirmed it */
    OUTCOME_LATER,   /* it does not take this job now */
    OUTCOME_REFUSED, /* it never takes this job */
    OUTCOME_AWAY,    /* nobody knows, as it is away: the job goes again, maybe twice */
};

/* A job that is claimed. */
struct forward_job {
    struct forward_job *prev, *next; /* of the keeper's list */
    redisReply *reply;               /* has the bytes of id and body */
    struct dueq_slice id, body;
    long long token, attempt;
    int64_t extend_at; /* the keeper's; monotonic ms */
    enum outcome outcome;
    int64_t later_ms; /* OUTCOME_LATER: the target has said when; 0: it has not */
    char why[JOB_WHY];
    bool begun;    /* the target has it, or had it */
    void *request; /* the target's own, while it has the job */
};

/* Says what came of a job. O(1). */
void job_settle(struct forward_job *job, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of the command line. The texts live as long as the target. */
struct target_options {
    const char *url;
    struct dueq_slice topic;   /* the source's */
    const char *password_file; /* NULL: none, as with the files that follow */
    const char *ca, *cert, *key;
    bool insecure; /* the target's certificate is not checked */
    const char *secret_file, *header_file, *content_type;
    const char *prefix; /* of ids, so that those of several sources differ; NULL: not given */
    int64_t timeout_ms; /* for a connection, and for the confirmation of a job */
    int parallel;       /* requests at a time, where each has a reply of its own */
};

/* The id by which the target knows the job; the bytes are in `room`. */
struct dueq_slice target_id(const struct target_options *options, const struct forward_job *job,
                            char room[TARGET_ID]);

/* Names and ids are any bytes: what is not printable, a blank or a % becomes %XX, so that it
 * can stand in a header. Returns the length. */
enum { TARGET_ESCAPED = 3 * TARGET_ID + 1 };
size_t target_escape(struct dueq_slice bytes, char text[TARGET_ESCAPED]);

struct target_kind;

struct target {
    const struct target_kind *kind;
    bool away;
    int64_t away_ms;      /* it has asked to be left alone that long; 0: it has not */
    char why[TARGET_WHY]; /* why it is away */
};

struct target_kind {
    const char *schemes; /* of its URLs, separated by blanks */
    /* Reads the URL and what goes with it; connects to nobody. NULL: `why`, of TARGET_WHY
     * bytes, is a sentence for who has written the command line. */
    struct target *(*new)(const struct target_options *options, char *why);
    void (*free)(struct target *target);
    /* Connects, within options->timeout_ms. False: target->why. */
    bool (*open)(struct target *target);
    void (*shut)(struct target *target);
    /* Takes a job, which stays until it has its outcome. False: it has no room now. */
    bool (*begin)(struct target *target, struct forward_job *job);
    /* With or without jobs, while it is open. Works for wait_ms at most, less if a job gets its
     * outcome; a peer that has begun to answer and stops may hold it for options->timeout_ms.
     */
    void (*turn)(struct target *target, int wait_ms);
};

extern const struct target_kind target_dueq, target_redis, target_http, target_mqtt;

/* The kind for a URL. NULL: there is none. */
const struct target_kind *target_kind_of(const char *url);

/* Notes why it is away. Returns false. */
bool target_leave(struct target *target, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
