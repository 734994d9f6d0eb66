/* A plain model of keys of all types: arrays, with which the store is compared. Names, members,
 * fields, elements and values are numbers of texts. */
#ifndef DUEQ_KEYS_MODEL_H
#define DUEQ_KEYS_MODEL_H

#include "storage/keys/keys.h"

enum {
    KEYS_MODEL_DATABASES = 3,
    KEYS_MODEL_NAMES = 24, /* the first of the texts */
    KEYS_MODEL_TEXTS = 300,
    KEYS_MODEL_INTEGERS = 200, /* from this one on the texts are integers */
    KEYS_MODEL_SCORES = 10
};

struct model_key {
    enum keys_type type; /* KEYS_NONE: there is no such key */
    int64_t expires;
    uint64_t life; /* a number that no other key of this run has had */
    bool lapsed;   /* the key before this one expired; the store has not reported it yet */
    enum keys_encoding encoding;
    bool packed;  /* in the key's own record */
    size_t count; /* of elements */
    /* List: the text of each element. String: the text of the value, in the first. Set, hash
     * and sorted set, by member: 0, the text of the value, the number of the score; or -1, no
     * such member. */
    int slots[KEYS_MODEL_TEXTS];
    uint64_t serials[KEYS_MODEL_TEXTS]; /* of members: ascending in order of insertion */
};

struct keys_model {
    struct model_key keys[KEYS_MODEL_DATABASES][KEYS_MODEL_NAMES];
    uint64_t lives, serial;
    struct keys_limits limits;
};

/* Text 0 is empty; others are short, binary, long, different at the end only, or about as long
 * as a key of the space. */
struct dueq_slice model_text(int number);
/* The number of that text; -1: there is none. */
int model_number(struct dueq_slice text);
double model_score(int number); /* ascending, some are equal */

void model_init(struct keys_model *model);
/* Makes the key a new, empty one of that type, unless it has the type already. */
void model_open(struct keys_model *model, struct model_key *key, enum keys_type type);
void model_drop(struct model_key *key);
/* Copies the value and expiry; the copy gets a new `life`. */
void model_assign(struct keys_model *model, struct model_key *to, const struct model_key *from);
void model_flush(struct keys_model *model, unsigned database);
void model_swap(struct keys_model *model, unsigned a, unsigned b);
/* Removes keys that have expired. */
void model_pass(struct keys_model *model, struct dueq_time time);

void model_set_string(struct model_key *key, int value);
/* True: the member is new. */
bool model_set_slot(struct keys_model *model, struct model_key *key, int member, int value);
/* False: there is no such member. Clearing the last one removes the key. */
bool model_clear_slot(struct model_key *key, int member);
void model_insert(const struct keys_model *model, struct model_key *list, size_t index,
                  int element);
/* Keeps `count` elements from `first` on. */
void model_trim(struct model_key *list, size_t first, size_t count);

/* The member at that rank from the lowest score (reverse: from the highest); -1: none. */
int model_ranked(const struct model_key *zset, uint64_t rank, bool reverse);

uint64_t model_keys(const struct keys_model *model, unsigned database);
uint64_t model_expiring(const struct keys_model *model, unsigned database);

#endif
