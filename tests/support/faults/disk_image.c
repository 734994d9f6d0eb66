#include "tests/support/faults/disk_image.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512 };

/* A write or a change of size, which has no bytes. */
struct request {
    struct request *next;
    size_t offset, size;
    size_t file_size; /* of the file afterwards */
    uint8_t bytes[];
};

struct disk_file {
    struct disk_file *next;
    uint8_t *platter;
    size_t platter_size;
    size_t size; /* now */
    struct request *first, **end;
    unsigned held;
    bool stale;
};

struct disk_name {
    struct disk_name *next;
    struct disk_file *now, *platter;
    char path[];
};

/* One change of the directory: a name is added, removed, or (from) renamed. */
struct name_change {
    struct name_change *next;
    struct disk_name *name, *from;
    struct disk_file *file;
};

struct disk_image {
    struct disk_file *files;
    struct disk_name *names;
    struct name_change *first, **end;
};

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* ---- files */

static struct disk_file *file_new(struct disk_image *image)
{
    struct disk_file *file = allocate(sizeof(*file));

    file->end = &file->first;
    file->next = image->files;
    image->files = file;
    return file;
}

static void drop_requests(struct disk_file *file)
{
    while (file->first != NULL) {
        struct request *request = file->first;

        file->first = request->next;
        free(request);
    }
    file->end = &file->first;
}

static struct request *ask(struct disk_file *file, size_t offset, size_t size)
{
    struct request *request = allocate(sizeof(*request) + size);

    request->offset = offset;
    request->size = size;
    *file->end = request;
    file->end = &request->next;
    return request;
}

static void file_free(struct disk_file *file)
{
    drop_requests(file);
    free(file->platter);
    free(file);
}

void disk_file_hold(struct disk_file *file)
{
    file->held++;
}

void disk_file_let_go(struct disk_file *file)
{
    file->held--;
}

size_t disk_file_size(const struct disk_file *file)
{
    return file->size;
}

void disk_file_write(struct disk_file *file, size_t offset, const uint8_t *bytes, size_t size)
{
    struct request *request = ask(file, offset, size);

    memcpy(request->bytes, bytes, size);
    if (offset + size > file->size)
        file->size = offset + size;
    request->file_size = file->size;
}

void disk_file_resize(struct disk_file *file, size_t size)
{
    if (size < file->size) /* if it grows again, it has zeros there */
        ask(file, size, file->size - size)->file_size = file->size;
    ask(file, 0, 0)->file_size = size;
    file->size = size;
}

/* The greatest size of the file since the last sync. */
static size_t greatest_size(const struct disk_file *file)
{
    size_t greatest = file->platter_size;

    for (const struct request *request = file->first; request; request = request->next)
        if (request->file_size > greatest)
            greatest = request->file_size;
    return greatest;
}

static uint8_t *copy_of_platter(const struct disk_file *file)
{
    uint8_t *bytes = allocate(greatest_size(file) + 1);

    if (file->platter_size > 0)
        memcpy(bytes, file->platter, file->platter_size);
    return bytes;
}

uint8_t *disk_file_bytes(const struct disk_file *file, size_t *ret_size)
{
    uint8_t *bytes = copy_of_platter(file);

    *ret_size = file->platter_size;
    for (const struct request *request = file->first; request; request = request->next) {
        memcpy(bytes + request->offset, request->bytes, request->size);
        *ret_size = request->file_size;
    }
    return bytes;
}

static void replace_platter(struct disk_file *file, uint8_t *bytes, size_t size)
{
    free(file->platter);
    file->platter = bytes;
    file->platter_size = size;
    drop_requests(file);
}

/* Applies the requests in place: data.mdb is large, and they are few. */
void disk_file_sync(struct disk_file *file)
{
    size_t greatest = greatest_size(file);

    if (greatest > file->platter_size || file->platter == NULL) {
        file->platter = realloc(file->platter, greatest + 1);
        if (file->platter == NULL)
            abort();
        memset(file->platter + file->platter_size, 0, greatest - file->platter_size);
    }
    for (const struct request *request = file->first; request; request = request->next)
        memcpy(file->platter + request->offset, request->bytes, request->size);
    file->platter_size = file->size;
    drop_requests(file);
}

/* Calls fn for each piece of the request that lies in one sector. */
static void each_sector(const struct request *request,
                        void (*fn)(void *arg, size_t sector, size_t offset,
                                   const uint8_t *bytes, size_t size),
                        void *arg)
{
    for (size_t at = 0; at < request->size;) {
        size_t offset = request->offset + at, room = SECTOR - offset % SECTOR;
        size_t size = request->size - at < room ? request->size - at : room;

        fn(arg, offset / SECTOR, offset, request->bytes + at, size);
        at += size;
    }
}

struct tearing {
    uint32_t
        *versions; /* of each sector: the versions written; later, the versions still to keep */
    uint8_t *bytes;
};

static void count_version(void *arg, size_t sector, size_t offset, const uint8_t *bytes,
                          size_t size)
{
    struct tearing *tearing = arg;

    (void)offset;
    (void)bytes;
    (void)size;
    tearing->versions[sector]++;
}

static void keep_version(void *arg, size_t sector, size_t offset, const uint8_t *bytes,
                         size_t size)
{
    struct tearing *tearing = arg;

    if (tearing->versions[sector] == 0)
        return;
    tearing->versions[sector]--;
    memcpy(tearing->bytes + offset, bytes, size);
}

bool disk_file_is_stale(struct disk_file *file)
{
    bool stale = file->stale;

    file->stale = false;
    return stale;
}

static size_t any_size(const struct disk_file *file, struct dice *dice)
{
    size_t size = file->platter_size, seen = 1;

    for (const struct request *request = file->first; request; request = request->next)
        if (request->file_size != size && dice_once_in(dice, ++seen))
            size = request->file_size;
    return size;
}

void disk_file_lose(struct disk_file *file, struct dice *dice)
{
    size_t sectors = greatest_size(file) / SECTOR + 1;
    struct tearing tearing = {allocate(sectors * sizeof(uint32_t)), copy_of_platter(file)};
    size_t size = any_size(file, dice);

    for (const struct request *request = file->first; request; request = request->next)
        each_sector(request, count_version, &tearing);
    for (size_t i = 0; i < sectors; i++)
        if (tearing.versions[i] > 0)
            tearing.versions[i] = (uint32_t)dice_roll(dice, tearing.versions[i] + 1);
    for (const struct request *request = file->first; request; request = request->next)
        each_sector(request, keep_version, &tearing);
    free(tearing.versions);
    replace_platter(file, tearing.bytes, size);
    file->stale = true;
}

/* ---- names */

static struct disk_name *find_name(const struct disk_image *image, const char *path)
{
    for (struct disk_name *name = image->names; name != NULL; name = name->next)
        if (strcmp(name->path, path) == 0)
            return name;
    return NULL;
}

static struct disk_name *name_of(struct disk_image *image, const char *path)
{
    struct disk_name *name = find_name(image, path);

    if (name != NULL)
        return name;
    name = allocate(sizeof(*name) + strlen(path) + 1);
    memcpy(name->path, path, strlen(path));
    name->next = image->names;
    image->names = name;
    return name;
}

static void change(struct disk_image *image, struct disk_name *name, struct disk_name *from,
                   struct disk_file *file)
{
    struct name_change *change = allocate(sizeof(*change));

    *change = (struct name_change){.name = name, .from = from, .file = file};
    *image->end = change;
    image->end = &change->next;
    if (from != NULL)
        from->now = NULL;
    name->now = file;
}

struct disk_file *disk_image_find(const struct disk_image *image, const char *path)
{
    const struct disk_name *name = find_name(image, path);

    return name == NULL ? NULL : name->now;
}

struct disk_file *disk_image_adopt(struct disk_image *image, const char *path,
                                   const uint8_t *bytes, size_t size)
{
    struct disk_name *name = name_of(image, path);
    struct disk_file *file = file_new(image);

    disk_file_write(file, 0, bytes, size);
    disk_file_sync(file);
    name->now = name->platter = file;
    return file;
}

struct disk_file *disk_image_create(struct disk_image *image, const char *path)
{
    struct disk_file *file = file_new(image);

    change(image, name_of(image, path), NULL, file);
    return file;
}

void disk_image_rename(struct disk_image *image, const char *from, const char *to)
{
    struct disk_name *old = name_of(image, from);

    change(image, name_of(image, to), old, old->now);
}

void disk_image_unlink(struct disk_image *image, const char *path)
{
    change(image, name_of(image, path), NULL, NULL);
}

static bool is_in(const struct disk_name *name, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(name->path, dir, size) == 0 && name->path[size] == '/' &&
           strchr(name->path + size + 1, '/') == NULL;
}

/* dir: NULL for all of them. */
static void drop_changes(struct disk_image *image, const char *dir)
{
    struct name_change **at = &image->first;

    while (*at != NULL) {
        struct name_change *change = *at;

        if (dir != NULL && !is_in(change->name, dir)) {
            at = &change->next;
            continue;
        }
        *at = change->next;
        free(change);
    }
    image->end = at;
}

static bool is_changing(const struct disk_image *image, const struct disk_name *name)
{
    for (const struct name_change *one = image->first; one != NULL; one = one->next)
        if (one->name == name || one->from == name)
            return true;
    return false;
}

/* Forgets names that no file has or could have any more. */
static void forget_names(struct disk_image *image)
{
    for (struct disk_name **at = &image->names; *at != NULL;) {
        struct disk_name *name = *at;

        if (name->now != NULL || name->platter != NULL || is_changing(image, name)) {
            at = &name->next;
            continue;
        }
        *at = name->next;
        free(name);
    }
}

static bool is_named(const struct disk_image *image, const struct disk_file *file)
{
    for (const struct disk_name *name = image->names; name != NULL; name = name->next)
        if (name->now == file || name->platter == file)
            return true;
    for (const struct name_change *one = image->first; one != NULL; one = one->next)
        if (one->file == file)
            return true;
    return false;
}

/* Forgets files that no name leads to and that are not held. */
static void forget_files(struct disk_image *image)
{
    for (struct disk_file **at = &image->files; *at != NULL;) {
        struct disk_file *file = *at;

        if (file->held > 0 || is_named(image, file)) {
            at = &file->next;
            continue;
        }
        *at = file->next;
        file_free(file);
    }
}

void disk_image_sync_names(struct disk_image *image, const char *dir)
{
    drop_changes(image, dir);
    for (struct disk_name *name = image->names; name != NULL; name = name->next)
        if (is_in(name, dir))
            name->platter = name->now;
    forget_names(image);
    forget_files(image);
}

/* ---- the image */

struct disk_image *disk_image_new(void)
{
    struct disk_image *image = allocate(sizeof(*image));

    image->end = &image->first;
    return image;
}

void disk_image_free(struct disk_image *image)
{
    drop_changes(image, NULL);
    for (struct disk_name *name = image->names; name != NULL; name = name->next)
        name->now = name->platter = NULL;
    forget_names(image);
    while (image->files != NULL) {
        struct disk_file *file = image->files;

        image->files = file->next;
        file_free(file);
    }
    free(image);
}

static void keep_some_names(struct disk_image *image, struct dice *dice)
{
    for (const struct name_change *one = image->first; one != NULL; one = one->next) {
        if (dice_once_in(dice, 2))
            continue;
        if (one->from != NULL)
            one->from->platter = NULL;
        one->name->platter = one->file;
    }
}

/* If only half of a rename reached the disk, both names exist; then they are two files. */
static void part_twins(struct disk_image *image)
{
    for (struct disk_name *name = image->names; name != NULL; name = name->next)
        for (struct disk_name *other = name->next; other != NULL; other = other->next)
            if (name->now != NULL && other->now == name->now) {
                struct disk_file *file = name->now;

                other->now = other->platter = file_new(image);
                disk_file_write(other->now, 0, file->platter, file->platter_size);
                disk_file_sync(other->now);
            }
}

void disk_image_cut(struct disk_image *image, struct dice *dice)
{
    keep_some_names(image, dice);
    drop_changes(image, NULL);
    for (struct disk_file *file = image->files; file != NULL; file = file->next) {
        disk_file_lose(file, dice);
        file->size = file->platter_size;
        file->stale = false; /* after a restart the cache shows what the disk has */
    }
    for (struct disk_name *name = image->names; name != NULL; name = name->next)
        name->now = name->platter;
    part_twins(image);
    forget_files(image);
}

void disk_image_each(const struct disk_image *image,
                     void (*fn)(void *arg, const char *path, const struct disk_file *file),
                     void *arg)
{
    for (const struct disk_name *name = image->names; name != NULL; name = name->next)
        fn(arg, name->path, name->now);
}
