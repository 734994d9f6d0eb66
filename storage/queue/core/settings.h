/* Settings of topics. A scope is the name of a topic or a glob pattern (it contains one of
 * `*?[`); it need not have a topic. What a job does not set itself comes from the scope with
 * the topic's name, else from the longest pattern that matches and sets it, else from the
 * queue's defaults. Scopes are kept in RAM, and one record each on disk. Private to
 * storage/queue. */
#ifndef DUEQ_QUEUE_SETTINGS_H
#define DUEQ_QUEUE_SETTINGS_H

#include "storage/slice.h"
#include "storage/status.h"
#include "storage/types.h"

struct queue;
struct scope;
struct topic;

/* Reads the record of a scope. False: it is none. */
bool settings_read(struct dueq_slice record, struct dueq_settings *ret_settings);
/* Loads all scopes. */
enum dueq_status settings_load(struct queue *queue);
/* Frees the memory of all scopes; saves nothing. */
void settings_release(struct queue *queue);

/* The settings of the topic, from all scopes together; NULL: there are none. Computed at the
 * first use after a change of any scope: O(scopes) then. Valid until the next change. When
 * there is no memory for them, the queue's defaults apply until there is. */
const struct dueq_settings *settings_of(struct queue *queue, struct topic *topic);

/* One number of the topic; `otherwise` when no scope sets it. */
int64_t settings_number(struct queue *queue, struct topic *topic, enum dueq_setting setting,
                        int64_t otherwise);

/* A call is about the topic, or about one of that name, which may not exist: what its
 * durability asks for is added to what queue_take_asks returns. O(1); of a name O(patterns). */
void settings_note_use(struct queue *queue, struct topic *topic);
void settings_note_use_of(struct queue *queue, struct dueq_slice name);
/* A call is about all topics. */
void settings_note_use_of_all(struct queue *queue);

/* Replaces the settings of a scope; settings without any value remove it. DUEQ_INVALID: the
 * scope's size, a value is out of range, or the dead-letter topic of a topic is itself.
 * DUEQ_TOOBIG: there are too many scopes. DUEQ_FULL: see kv_room. */
enum dueq_status settings_put(struct queue *queue, struct dueq_slice scope,
                              const struct dueq_settings *settings);
/* DUEQ_NOTFOUND: the scope sets nothing. */
enum dueq_status settings_get(struct queue *queue, struct dueq_slice scope,
                              struct dueq_settings *ret_settings);
/* The scope that sets this for a topic of that name; size 0: none does. The slice is valid
 * until the next change of a scope. For DUEQ_SETTINGS: the one that sets the dead-letter topic.
 */
struct dueq_slice settings_source(struct queue *queue, struct dueq_slice topic,
                                  unsigned setting);
/* The first scope in byte order after `after`; size 0: the first of all. DUEQ_NOTFOUND.
 * O(log n). */
enum dueq_status settings_after(struct queue *queue, struct dueq_slice after,
                                struct dueq_slice *ret_scope);

#endif
