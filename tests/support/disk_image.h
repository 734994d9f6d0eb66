/* What a power cut would leave of some files: which bytes, sizes and names are on the platter,
 * and what has been asked of the disk since and may be there or not.
 *
 * A cut keeps, of every 512-byte sector, any of the versions written since the file was last
 * synced, or the one before; of the sizes, any; of the changes to names (a rename is one
 * change), any subset. What was synced is kept. Nothing is written to a real disk here. */
#ifndef DUEQ_DISK_IMAGE_H
#define DUEQ_DISK_IMAGE_H

#include "tests/support/dice.h"

struct disk_image;
struct disk_file;

struct disk_image *disk_image_new(void);
void disk_image_free(struct disk_image *image);

/* A file lives as long as a name is or could be its, or somebody holds it. */
void disk_file_hold(struct disk_file *file);
void disk_file_let_go(struct disk_file *file);

/* The file that has the name now; NULL. */
struct disk_file *disk_image_find(const struct disk_image *image, const char *path);
/* A file that was there before: all of it is on the platter. */
struct disk_file *disk_image_adopt(struct disk_image *image, const char *path,
                                   const uint8_t *bytes, size_t size);
struct disk_file *disk_image_create(struct disk_image *image, const char *path);
void disk_image_rename(struct disk_image *image, const char *from, const char *to);
void disk_image_unlink(struct disk_image *image, const char *path);
/* The names in that directory are on the platter. */
void disk_image_sync_names(struct disk_image *image, const char *dir);

size_t disk_file_size(const struct disk_file *file);
void disk_file_write(struct disk_file *file, size_t offset, const uint8_t *bytes, size_t size);
void disk_file_resize(struct disk_file *file, size_t size);
/* Everything asked so far is on the platter. */
void disk_file_sync(struct disk_file *file);
/* A sync that failed: some of what was asked is on the platter, and the rest never will be. */
void disk_file_lose(struct disk_file *file, struct dice *dice);
/* True once after such a loss: what the kernel shows is not what the disk has. */
bool disk_file_is_stale(struct disk_file *file);
/* The file as the disk will have it when it is asked nothing more. The caller frees it. */
uint8_t *disk_file_bytes(const struct disk_file *file, size_t *ret_size);

/* The power goes. From then on everything left is on the platter. */
void disk_image_cut(struct disk_image *image, struct dice *dice);

/* Every name that is, or could come back. file: NULL when there is none under it now. */
void disk_image_each(const struct disk_image *image,
                     void (*fn)(void *arg, const char *path, const struct disk_file *file),
                     void *arg);

#endif
