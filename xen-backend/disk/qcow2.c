// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The qcow2 format, with backing files.  disk/image.c calls it through image_qcow2.
 *
 * The owner (QEMU) keeps new table entries in memory until its guest flushes.  So bytes that a
 * guest wrote are seen here at the latest when the guest knows that they are safe: a flush is a
 * point in time, as for a disk with a write cache.  Before the flush the tables lead to the old
 * bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "disk/qcow2.h"

static int open_header(struct image *img, struct qcow2 *q, char **ret_error)
{
	const struct qcow2_header *h = &q->header;
	uint64_t file = source_size(img->source);
	size_t length = file < QCOW2_HEAD_BYTES ? (size_t)file : QCOW2_HEAD_BYTES;
	const char *reason;

	if (source_read(img->source, 0, q->head, length) < 0)
		return error_text(ret_error, -EIO, "image %s cannot be read", image_path(img));
	reason = qcow2_header_parse(q->head, length, &q->header);
	if (!reason && h->l1_offset + 8 * (uint64_t)h->l1_entries > file)
		reason = "its L1 table lies outside the file: the image is truncated";
	if (reason)
		return error_text(ret_error, -EMEDIUMTYPE, "image %s: %s", image_path(img), reason);
	img->size = h->size;
	return 0;
}

/* The format of the backing file is never guessed: the guest of a raw file can make the file look
 * like another format. */
static int open_backing(struct image *img, const struct qcow2_header *h, char **ret_error)
{
	if (!h->backing[0])
		return 0;
	if (!h->backing_format[0])
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s does not name the format of its backing file %s; if "
				  "the format is raw, set it while no domain uses the image: "
				  "qemu-img rebase -u -F raw -b %s %s",
				  image_path(img), h->backing, h->backing, image_path(img));
	return image_open_backing(img, h->backing, h->backing_format, ret_error);
}

static int qcow2_open(struct image *img, char **ret_error)
{
	struct qcow2 *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", image_path(img));
	img->state = q;
	r = open_header(img, q, ret_error);
	return r < 0 ? r : open_backing(img, &q->header, ret_error);
}

static void qcow2_close(struct image *img)
{
	free(img->state);
}

static bool qcow2_is_stale(struct image *img)
{
	const struct qcow2 *q = img->state;

	return atomic_load(&q->stale);
}

/* Maps an extent of data.  A file may end within its last cluster; the rest of the cluster is
 * zeros. */
static int map_data(struct image *img, const struct qcow2_extent *e, struct image_run *ret)
{
	const struct qcow2 *q = img->state;
	uint64_t cluster = UINT64_C(1) << q->header.cluster_bits;
	uint64_t there = source_size(img->source);

	if (there < e->place + e->length)
		there = source_size_now(img->source);
	*ret = (struct image_run){img->source, e->place, e->length};
	if (there >= e->place + e->length)
		return 0;
	if (there > e->place) {
		ret->length = there - e->place;
		return 0;
	}
	if (there <= e->place - e->place % cluster)
		return -EIO;
	ret->source = NULL;
	ret->offset = 0;
	return 0;
}

static int qcow2_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	struct qcow2_extent e;
	uint64_t below;
	int r = qcow2_lookup(img, offset, length, &e);

	if (r < 0)
		return r;
	switch (e.kind) {
	case QCOW2_DATA:
		return map_data(img, &e, ret);
	case QCOW2_PACKED:
		return -EOPNOTSUPP;
	case QCOW2_BACKING:
		r = image_look_below(img, offset, e.length, &below);
		if (r < 0)
			return r;
		if (below)
			return image_map(img->backing, offset, below, ret);
		break;
	case QCOW2_ZERO:
		break;
	}
	*ret = (struct image_run){NULL, 0, e.length};
	return 0;
}

static int unpack_below(struct image *img, uint64_t offset, void *buf, uint64_t length,
			size_t *ret_done)
{
	uint64_t below;
	int r = image_look_below(img, offset, length, &below);

	if (r < 0)
		return r;
	if (!below || !img->backing->format->ops->unpack)
		return -EAGAIN;
	return img->backing->format->ops->unpack(img->backing, offset, buf, (size_t)below,
						 ret_done);
}

static int qcow2_unpack(struct image *img, uint64_t offset, void *buf, size_t length,
			size_t *ret_done)
{
	const struct qcow2 *q = img->state;
	uint64_t cluster = UINT64_C(1) << q->header.cluster_bits;
	struct qcow2_extent e, again;
	int r = qcow2_lookup(img, offset, length, &e);

	if (r < 0)
		return r;
	*ret_done = (size_t)e.length;
	if (e.kind == QCOW2_PACKED)
		r = qcow2_unpack_cluster(img, e.place, offset % cluster, buf, (size_t)e.length);
	else
		r = e.kind == QCOW2_BACKING ? unpack_below(img, offset, buf, e.length, ret_done)
					    : -EAGAIN;
	if (r < 0)
		return r;
	r = qcow2_lookup(img, offset, length, &again);
	if (r == 0 && (e.kind != again.kind || e.place != again.place || e.length != again.length))
		r = -EAGAIN;
	return r;
}

const struct image_ops image_qcow2 = {
	.open = qcow2_open,
	.close = qcow2_close,
	.map = qcow2_map,
	.unpack = qcow2_unpack,
	.is_stale = qcow2_is_stale,
	.moves = true,
};
