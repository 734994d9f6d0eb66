/* A model of what a power cut leaves of some files: the bytes, sizes and names that are on
 * disk, and the writes since, each of which may be lost.
 *
 * A cut keeps, of every 512-byte sector, any of the versions written since the file was last
 * synced, or the one before; of the sizes, any; of the changes of names (a rename is one
 * change), any subset. It keeps what was synced. Nothing here writes to a real disk. */
#ifndef DUEQ_DISK_IMAGE_H
#define DUEQ_DISK_IMAGE_H

#include "tests/support/dice.h"

struct disk_image;
struct disk_file;

struct disk_image *disk_image_new(void);
void disk_image_free(struct disk_image *image);

/* A file exists while a name leads to it or could after a cut, or while it is held. */
void disk_file_hold(struct disk_file *file);
void disk_file_let_go(struct disk_file *file);

/* The file that has the name now, or NULL. */
struct disk_file *disk_image_find(const struct disk_image *image, const char *path);
/* Adds a file that existed before: all of it is on disk. */
struct disk_file *disk_image_adopt(struct disk_image *image, const char *path,
                                   const uint8_t *bytes, size_t size);
struct disk_file *disk_image_create(struct disk_image *image, const char *path);
void disk_image_rename(struct disk_image *image, const char *from, const char *to);
void disk_image_unlink(struct disk_image *image, const char *path);
/* All changes of names in that directory are now on disk. */
void disk_image_sync_names(struct disk_image *image, const char *dir);

size_t disk_file_size(const struct disk_file *file);
void disk_file_write(struct disk_file *file, size_t offset, const uint8_t *bytes, size_t size);
void disk_file_resize(struct disk_file *file, size_t size);
/* All writes so far are now on disk. */
void disk_file_sync(struct disk_file *file);
/* A sync that failed: some of the writes are on disk, and the rest is lost for ever. */
void disk_file_lose(struct disk_file *file, struct dice *dice);
/* True once after such a loss: the kernel shows bytes that the disk does not have. */
bool disk_file_is_stale(struct disk_file *file);
/* The file as it will be on disk when all writes so far arrive. The caller frees it. */
uint8_t *disk_file_bytes(const struct disk_file *file, size_t *ret_size);

/* The power cut. What it leaves counts as on disk from then on. */
void disk_image_cut(struct disk_image *image, struct dice *dice);

/* Every name that exists or could exist after a cut. file: NULL when it does not exist now. */
void disk_image_each(const struct disk_image *image,
                     void (*fn)(void *arg, const char *path, const struct disk_file *file),
                     void *arg);

#endif
