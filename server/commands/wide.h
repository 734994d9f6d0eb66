/* Commands that do the same for each of their arguments, which may be a million. Beyond some
 * thousands they go on in later turns, alone with the store (server/dispatch/alone.h): they are
 * one step for all other clients, and one record. Those that are about no key, or only about
 * their client, let the others go on between their slices; when the client goes, they end. */
#ifndef DUEQ_WIDE_H
#define DUEQ_WIDE_H

#include "server/dispatch/context.h"

struct wide {
    size_t at;                 /* argument that is next */
    int64_t count, more_count; /* the command's; 0 at first */
    struct dueq_time began;    /* context->now of all slices */
    uint64_t since;            /* usec: when this slice began, if takes_jobs */
    void *arg;                 /* the caller's, of this slice */
};

struct wide_form {
    size_t first, stride; /* arguments, of which a step takes `stride` */
    size_t weight;        /* of an argument, which may take as long as so many; 0: one */
    bool takes_keys;      /* an argument, the first of a stride, is a key */
    bool takes_jobs;      /* it is a job: few are many, if their bodies are on the disk */
    bool lets_others;     /* it changes no key, and need not see one state of all */
    /* Before the first step; may write the beginning of the reply. False: the reply is written.
     * NULL: nothing to do. */
    bool (*begin)(struct context *context, struct wide *wide);
    /* Takes the argument wide->at. False: the error is written. */
    bool (*take)(struct context *context, struct wide *wide);
    /* Writes the end of the reply. */
    enum outcome (*end)(struct context *context, const struct wide *wide);
};

/* To be called with the same form in each slice. */
enum outcome wide_run(struct context *context, const struct wide_form *form);
enum outcome wide_run_with(struct context *context, const struct wide_form *form, void *arg);
/* Has it begun in an earlier slice? */
bool wide_has_begun(const struct context *context);

/* ---- beginnings */

/* The reply is an array with an element for each argument. */
bool wide_begin_array(struct context *context, struct wide *wide);
/* The reply is a map; count: its pairs, more_count: not the command's. With wide_end_map. */
bool wide_begin_map(struct context *context, struct wide *wide);
/* The reply is a text (RESP3: txt); more_count: not the command's. With wide_end_text. */
bool wide_begin_text(struct context *context, struct wide *wide);

/* ---- ends */

enum outcome wide_end(struct context *context, const struct wide *wide); /* nothing more */
enum outcome wide_end_count(struct context *context, const struct wide *wide);
enum outcome wide_end_ok(struct context *context, const struct wide *wide);
enum outcome wide_end_map(struct context *context, const struct wide *wide);
enum outcome wide_end_text(struct context *context, const struct wide *wide);

/* For what takes, and fails, after a beginning of a map or text: an error takes the place of
 * what is written. Returns false. */
bool wide_fail(struct context *context, const struct wide *wide, const char *error);

#endif
