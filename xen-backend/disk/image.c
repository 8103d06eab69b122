// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code that all image formats share: the list of formats, opening, and reading by runs; see
 * image.h.
 *
 * A run that may move is mapped before the read and again after the read.  If both maps agree, the
 * bytes were read from the right place.
 */
#include "disk/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "disk/image_impl.h"
#include "disk/naming.h"
#include "disk/source_impl.h"

#define ATTEMPTS 8 /* to read a run that moves meanwhile */
#define MAX_LAYERS 32

static const struct image_format formats[] = {
	{"raw", &image_raw},
	{"qcow2", &image_qcow2},
	{"vhd", &image_vhd},
};
#define NUM_FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct image_format *find_format(const char *name, size_t length)
{
	for (size_t i = 0; i < NUM_FORMATS; i++)
		if (strlen(formats[i].name) == length && !memcmp(formats[i].name, name, length))
			return &formats[i];
	return NULL;
}

/* As image_spec_split(). */
static const struct image_format *split(const char *spec, const char **ret_path)
{
	const char *name = image_spec_split(spec, ret_path);

	return name ? find_format(name, strlen(name)) : NULL;
}

/* ---- opening ----------------------------------------------------------------- */

/* Opens the file of img, which the image above names. */
static int open_named(struct image *img, const char *path, char **ret_error)
{
	struct naming naming = {.image = image_path(img->above), .folders = img->folders};

	for (const struct image *a = img->above; a; a = a->above)
		naming.top = image_path(a);
	return source_open_named(path, img->mode, &naming, &img->source, ret_error);
}

static int open_format(struct image *img, const char *path, char **ret_error)
{
	int r = img->above ? open_named(img, path, ret_error)
			   : source_open(path, img->mode, &img->source, ret_error);

	if (r < 0)
		return r;
	r = source_identity(img->source, &img->known);
	if (r < 0)
		return error_text(ret_error, r, "image %s: %s", path, strerror(-r));
	return 0;
}

/* Refuses a chain of backing files that contains a file twice, or is too long. */
static int check_chain(const struct image *img, char **ret_error)
{
	unsigned layers = 1;

	for (const struct image *a = img->above; a; a = a->above, layers++) {
		if (a->known.dev == img->known.dev && a->known.ino == img->known.ino)
			return error_text(ret_error, -ELOOP,
					  "image %s is its own backing file, through %s",
					  image_path(img), image_path(img->above));
		if (layers == MAX_LAYERS)
			return error_text(
				ret_error, -ELOOP,
				"image %s: its chain of backing files has more than %u files; "
				"shorten the chain, as with qemu-img rebase or qemu-img commit",
				image_path(img), MAX_LAYERS);
	}
	return 0;
}

int image_open_layer(const struct image_format *format, const char *path, enum source_mode mode,
		     const struct image_folders *folders, struct image *above, struct image **ret,
		     char **ret_error)
{
	struct image *img = calloc(1, sizeof(*img));
	int r;

	if (!img)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	pthread_mutex_init(&img->lock, NULL);
	img->format = format;
	img->mode = mode;
	img->above = above;
	img->folders = folders;
	r = open_format(img, path, ret_error);
	if (r == 0)
		r = check_chain(img, ret_error);
	if (r == 0)
		r = format->ops->open(img, ret_error);
	if (r < 0) {
		image_close(img);
		return r;
	}
	img->folders = NULL;
	*ret = img;
	return 0;
}

int image_open(const char *spec, enum source_mode mode, struct image **ret, char **ret_error)
{
	static const struct image_folders none;

	return image_open_within(spec, mode, &none, ret, ret_error);
}

int image_open_within(const char *spec, enum source_mode mode, const struct image_folders *folders,
		      struct image **ret, char **ret_error)
{
	const char *path;
	const struct image_format *format = split(spec, &path);

	if (!format)
		return error_text(ret_error, -EINVAL, "image %s: unknown format; expected %s", spec,
				  image_format_names());
	return image_open_layer(format, path, mode, folders, NULL, ret, ret_error);
}

/* Returns the path of name, which is relative to the folder of file; free() it. */
static char *path_beside(const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	char *path = NULL;

	if (name[0] == '/' || !slash)
		return strdup(name);
	if (asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0)
		return NULL;
	return path;
}

/*
 * True if img->backing was written after the image that was named, as far as the times of files
 * tell.  After a commit that ends with a pivot, or if somebody starts a domain from the backing
 * file, the owner writes the backing file, and the file above it stays behind: part of the disk
 * would be of another time.  A tool may also have touched the backing file; then the owner's next
 * write puts it right.
 */
static bool is_overtaken(const struct image *img)
{
	struct source_identity named, below;
	const struct image *top = img;

	while (top->above)
		top = top->above;
	if (source_identity(top->source, &named) < 0 ||
	    source_identity(img->backing->source, &below) < 0 || named.mtime.tv_sec == 0)
		return false;
	return below.mtime.tv_sec > named.mtime.tv_sec ||
	       (below.mtime.tv_sec == named.mtime.tv_sec &&
		below.mtime.tv_nsec > named.mtime.tv_nsec);
}

int image_open_backing(struct image *img, const char *name, const char *format, char **ret_error)
{
	const struct image_format *f = find_format(format, strlen(format));
	char *path;
	int r;

	if (!f)
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s: its backing file %s has format %s; expected %s",
				  image_path(img), name, format, image_format_names());
	if (name[strcspn(name, ":/")] == ':')
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s: its backing file is %s; expected the path of a file; "
				  "if it is a file of this host, name it while no domain uses the "
				  "image: qemu-img rebase -u -F %s -b PATH %s",
				  image_path(img), name, format, image_path(img));
	path = path_beside(image_path(img), name);
	if (!path)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", image_path(img));
	r = image_open_layer(f, path, img->mode, img->folders, img, &img->backing, ret_error);
	if (r == 0 && is_overtaken(img)) {
		image_close(img->backing);
		img->backing = NULL;
		r = error_text(ret_error, -EBUSY,
			       "image %s: its backing file %s was written later than the disk; if "
			       "a domain uses the backing file itself (after blockcommit --pivot, "
			       "or from a snapshot), name the file that the domain uses; "
			       "otherwise the disk is served once its domain writes to it",
			       image_path(img), path);
	}
	free(path);
	return r;
}

int image_look_below(struct image *img, uint64_t offset, uint64_t length, uint64_t *ret)
{
	const struct image *backing = img->backing;

	*ret = 0;
	if (!backing || offset >= backing->size)
		return 0;
	*ret = length < backing->size - offset ? length : backing->size - offset;
	return is_overtaken(img) ? -EAGAIN : 0;
}

void image_close(struct image *img)
{
	if (!img)
		return;
	if (img->format->ops->close)
		img->format->ops->close(img);
	image_close(img->backing);
	source_close(img->source);
	pthread_mutex_destroy(&img->lock);
	free(img);
}

int image_for_each_file(struct image *img, int (*cb)(void *ctx, struct source *file), void *ctx)
{
	int r = 0;

	for (struct image *layer = img; layer && r == 0; layer = layer->backing)
		r = cb(ctx, layer->source);
	return r;
}

/* ---- properties ---------------------------------------------------------------- */

const char *image_path(const struct image *img)
{
	return source_path(img->source);
}

const char *image_format(const struct image *img)
{
	return img->format->name;
}

const struct image *image_backing(const struct image *img)
{
	return img->backing;
}

uint64_t image_size(const struct image *img)
{
	return img->size;
}

bool image_is_direct(const struct image *img)
{
	return source_is_direct(img->source);
}

bool image_moves(const struct image *img)
{
	return img->format->ops->moves;
}

/* ---- reading -------------------------------------------------------------------- */

int image_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	if (length == 0 || offset > img->size || length > img->size - offset)
		return -EIO;
	return img->format->ops->map(img, offset, length, ret);
}

static bool same_run(const struct image_run *a, const struct image_run *b)
{
	return a->source == b->source && a->offset == b->offset && a->length == b->length;
}

/* Reads the first run at offset.  -EAGAIN: the run moved during the read. */
static int try_run(struct image *img, uint64_t offset, void *buf, size_t length, size_t *ret_done)
{
	const struct image_ops *ops = img->format->ops;
	struct image_run run, again;
	int r = ops->map(img, offset, length, &run);

	if (r == -EOPNOTSUPP && ops->unpack)
		return ops->unpack(img, offset, buf, length, ret_done);
	if (r < 0)
		return r;
	if (run.length == 0 || run.length > length)
		return -EIO;
	if (run.source)
		r = source_read(run.source, run.offset, buf, run.length);
	else
		memset(buf, 0, run.length);
	if (r == 0 && ops->moves) {
		r = ops->map(img, offset, length, &again);
		if (r == -EOPNOTSUPP || (r == 0 && !same_run(&run, &again)))
			r = -EAGAIN;
	}
	*ret_done = (size_t)run.length;
	return r;
}

static int read_run(struct image *img, uint64_t offset, void *buf, size_t length, size_t *ret_done)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < ATTEMPTS && r == -EAGAIN; i++)
		r = try_run(img, offset, buf, length, ret_done);
	return r;
}

int image_read(struct image *img, uint64_t offset, void *buf, size_t length)
{
	uint8_t *to = buf;

	if (offset > img->size || length > img->size - offset)
		return -EIO;
	while (length > 0) {
		size_t done = 0;
		int r = read_run(img, offset, to, length, &done);

		if (r < 0)
			return r;
		if (done == 0 || done > length)
			return -EIO; /* a bug in a format must not become an endless loop */
		to += done;
		offset += done;
		length -= done;
	}
	return 0;
}

/* ---- whether it changed ------------------------------------------------------------ */

static int file_changes(struct image *img, uint64_t *ret)
{
	struct source_identity now;
	int r = source_identity(img->source, &now);

	if (r < 0)
		return r;
	pthread_mutex_lock(&img->lock);
	if (memcmp(&now, &img->known, sizeof(now))) {
		img->known = now;
		img->changes++;
	}
	*ret = img->changes;
	pthread_mutex_unlock(&img->lock);
	return 0;
}

int image_changes(struct image *img, uint64_t *ret)
{
	uint64_t sum = 0; /* of counts that only grow, so it is equal only if each is */

	for (struct image *layer = img; layer; layer = layer->backing) {
		uint64_t changes;
		int r = file_changes(layer, &changes);

		if (r < 0)
			return r;
		sum += changes;
	}
	*ret = sum;
	return 0;
}

static bool is_stale(struct image *img)
{
	return (img->backing && is_overtaken(img)) ||
	       (img->format->ops->is_stale && img->format->ops->is_stale(img));
}

static struct source_identity known(struct image *img)
{
	struct source_identity identity;

	pthread_mutex_lock(&img->lock);
	identity = img->known;
	pthread_mutex_unlock(&img->lock);
	return identity;
}

bool image_is_same(struct image *a, struct image *b)
{
	struct source_identity x, y;

	if (!a || !b)
		return a == b;
	x = known(a);
	y = known(b);
	return a->format == b->format && a->size == b->size && !is_stale(a) && !is_stale(b) &&
	       x.dev == y.dev && x.ino == y.ino && image_is_same(a->backing, b->backing);
}
