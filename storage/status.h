/* The result of a call: DUEQ_OK (0) or the reason of the failure. One list has the codes and
 * their texts. */
#ifndef DUEQ_STATUS_H
#define DUEQ_STATUS_H

#define DUEQ_STATUS_LIST(X)                                                                    \
    X(DUEQ_OK, "ok")                                                                           \
    X(DUEQ_NOTFOUND, "no such entry")                                                          \
    X(DUEQ_DUPLICATE, "the id is already present in the topic")                                \
    X(DUEQ_WRONGTYPE, "the key holds a value of another type")                                 \
    X(DUEQ_STALE, "the job was given to somebody else since")                                  \
    X(DUEQ_WRONGSTATE, "not possible in the state that the job has")                           \
    X(DUEQ_CANCELLED, "the job was cancelled")                                                 \
    X(DUEQ_PAUSED, "the topic is paused")                                                      \
    X(DUEQ_LIMIT, "the topic has as many jobs or bytes as it may have")                        \
    X(DUEQ_INVALID, "argument out of range")                                                   \
    X(DUEQ_TOOBIG, "larger than the limit")                                                    \
    X(DUEQ_FULL, "no room: only claims, acks and deletes until room returns")                  \
    X(DUEQ_LOCKED, "the data directory is in use by another process")                          \
    X(DUEQ_FORMAT, "the data directory has a format this version does not know")               \
    X(DUEQ_CORRUPT, "the data on disk is damaged")                                             \
    X(DUEQ_BUSY, "other work comes first: try again")                                          \
    X(DUEQ_IO, "the disk failed")                                                              \
    X(DUEQ_NOMEM, "out of memory")                                                             \
    X(DUEQ_STOPPED, "the opening was stopped")

enum dueq_status {
#define DUEQ_STATUS_ENUM(code, text) code,
    DUEQ_STATUS_LIST(DUEQ_STATUS_ENUM)
#undef DUEQ_STATUS_ENUM
};

/* The reason why an opening failed, in words: what failed, on which file, and what the operator
 * can do. A C string. */
struct dueq_error {
    char text[512];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Static text for a status; never NULL. */
const char *dueq_status_text(enum dueq_status status);

/* Formats into error->text when error is not NULL, and returns status. */
enum dueq_status dueq_fail(struct dueq_error *error, enum dueq_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
