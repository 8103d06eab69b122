// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What all formats share: which there are, and reading by runs; see image.h.
 *
 * A run that may move is looked up before it is read and again after: if it is
 * where it was, what was read was in it.
 */
#include "disk/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "disk/image_impl.h"

#define ATTEMPTS 8 /* at a run that moves while it is read */

static const struct image_ops *const formats[] = {&image_raw};

static const struct image_ops *find_format(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strlen(formats[i]->name) == length && !memcmp(formats[i]->name, name, length))
			return formats[i];
	return NULL;
}

static const struct image_ops *split(const char *spec, const char **ret_path)
{
	size_t prefix = strcspn(spec, ":/");

	*ret_path = spec[prefix] == ':' ? spec + prefix + 1 : spec;
	return spec[prefix] == ':' ? find_format(spec, prefix) : &image_raw;
}

const char *image_spec_split(const char *spec, const char **ret_path)
{
	const struct image_ops *ops = split(spec, ret_path);

	return ops ? ops->name : NULL;
}

const char *image_format_names(void)
{
	return "raw";
}

static int open_format(struct image *img, const char *path, char **ret_error)
{
	int r = source_open(path, img->mode, &img->source, ret_error);

	if (r < 0)
		return r;
	r = source_identity(img->source, &img->known);
	if (r < 0)
		return error_text(ret_error, r, "image %s: %s", path, strerror(-r));
	return img->ops->open(img, ret_error);
}

int image_open(const char *spec, enum source_mode mode, struct image **ret, char **ret_error)
{
	const char *path;
	const struct image_ops *ops = split(spec, &path);
	struct image *img;
	int r;

	if (!ops)
		return error_text(ret_error, -EINVAL, "image %s: expected one of the formats %s",
				  spec, image_format_names());
	img = calloc(1, sizeof(*img));
	if (!img)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	pthread_mutex_init(&img->lock, NULL);
	img->ops = ops;
	img->mode = mode;
	img->spec = strdup(spec);
	r = img->spec ? open_format(img, path, ret_error)
		      : error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	if (r < 0) {
		image_close(img);
		return r;
	}
	*ret = img;
	return 0;
}

void image_close(struct image *img)
{
	if (!img)
		return;
	if (img->ops->close)
		img->ops->close(img);
	source_close(img->source);
	free(img->spec);
	pthread_mutex_destroy(&img->lock);
	free(img);
}

int image_for_each_file(struct image *img, int (*cb)(void *ctx, struct source *file), void *ctx)
{
	int r = cb(ctx, img->source);

	if (r == 0 && img->ops->for_each_file)
		r = img->ops->for_each_file(img, cb, ctx);
	return r;
}

const char *image_spec(const struct image *img)
{
	return img->spec;
}

const char *image_path(const struct image *img)
{
	return source_path(img->source);
}

const char *image_format(const struct image *img)
{
	return img->ops->name;
}

uint64_t image_size(const struct image *img)
{
	return img->size;
}

bool image_is_direct(const struct image *img)
{
	return source_is_direct(img->source);
}

bool image_is_current(const struct image *img)
{
	return img->ops->current;
}

bool image_moves(const struct image *img)
{
	return img->ops->moves;
}

int image_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	if (!img->ops->map)
		return -EOPNOTSUPP;
	if (length == 0 || offset > img->size || length > img->size - offset)
		return -EIO;
	return img->ops->map(img, offset, length, ret);
}

static bool same_run(const struct image_run *a, const struct image_run *b)
{
	return a->source == b->source && a->offset == b->offset && a->length == b->length;
}

/* One run of the disk, which was found and read in one place. */
static int try_run(struct image *img, uint64_t offset, void *buf, size_t length, size_t *ret_done)
{
	struct image_run run, again;
	int r = img->ops->map(img, offset, length, &run);

	if (r < 0)
		return r;
	if (run.source)
		r = source_read(run.source, run.offset, buf, run.length);
	else
		memset(buf, 0, run.length);
	if (r == 0 && img->ops->moves) {
		r = img->ops->map(img, offset, length, &again);
		if (r == 0 && !same_run(&run, &again))
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
	if (img->ops->read)
		return img->ops->read(img, offset, buf, length);
	while (length > 0) {
		size_t done = 0;
		int r = read_run(img, offset, to, length, &done);

		if (r < 0)
			return r;
		to += done;
		offset += done;
		length -= done;
	}
	return 0;
}

int image_changes(struct image *img, uint64_t *ret)
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

bool image_is_same(struct image *a, struct image *b)
{
	struct source_identity x, y;

	return a->ops == b->ops && a->size == b->size && source_identity(a->source, &x) == 0 &&
	       source_identity(b->source, &y) == 0 && x.dev == y.dev && x.ino == y.ino;
}
