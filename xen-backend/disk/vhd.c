// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The VHD format: fixed, dynamic and differencing.  disk/image.c calls it through image_vhd.
 *
 * A fixed VHD is a raw disk with a footer behind it.  The guest writes the first sectors of the
 * file, so the footer at the end counts first.
 *
 * A dynamic VHD has blocks, each behind a bitmap of the sectors that were written.  The other
 * sectors are zeros, or in a differencing VHD those of its parent, another VHD.  The owner writes
 * the block table and the bitmaps, so each look-up reads them from the file.
 */
#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "disk/image_impl.h"
#include "disk/vhd_header.h"

#define NO_BLOCK UINT32_MAX
#define PART_ENTRIES 1024U /* entries of the block table that are read at once */
#define PART_SECTORS 4096U /* bits of a bitmap that are read at once: a block of 2 MiB */

struct vhd {
	struct vhd_footer footer;
	struct vhd_header header; /* only of a dynamic VHD */
	atomic_bool stale;        /* the file no longer holds the disk that was opened */
};

static int read_footer(struct image *img, uint64_t offset, uint8_t raw[VHD_FOOTER_BYTES])
{
	return source_read(img->source, offset, raw, VHD_FOOTER_BYTES);
}

/* Takes the footer at the end, or the copy at the beginning: while a dynamic file grows there may
 * be no footer at the end.  Returns NULL, or why the file cannot be read. */
static const char *find_footer(struct image *img, struct vhd_footer *ret)
{
	uint64_t size = source_size_now(img->source);
	uint8_t raw[VHD_FOOTER_BYTES];
	const char *reason;

	if (size < VHD_FOOTER_BYTES || read_footer(img, size - VHD_FOOTER_BYTES, raw) < 0)
		return "it is not a VHD file, or it is truncated";
	if (vhd_is_footer(raw)) {
		reason = vhd_footer_parse(raw, ret);
		if (!reason && !ret->dynamic && ret->size > size - VHD_FOOTER_BYTES)
			reason = "it is shorter than its disk: the image is truncated";
		return reason;
	}
	if (read_footer(img, 0, raw) < 0)
		return "it cannot be read";
	reason = vhd_footer_parse(raw, ret);
	if (!reason && !ret->dynamic)
		reason = "its footer is missing: the image is truncated";
	return reason;
}

static const char *read_header(struct image *img, const struct vhd_footer *footer,
			       struct vhd_header *ret)
{
	uint8_t raw[VHD_HEADER_BYTES];

	if (source_read(img->source, footer->header_offset, raw, sizeof(raw)) < 0)
		return "its header lies outside the file: the image is truncated";
	return vhd_header_parse(raw, footer->size, ret);
}

/* ---- the parent of a differencing VHD ------------------------------------------------- */

static int unknown_parent(struct image *img, const char *reason, char **ret_error)
{
	return error_text(ret_error, -EMEDIUMTYPE, "image %s: %s", image_path(img), reason);
}

/* Reads the name in a locator.  Returns 1, 0 if it has none that is known here, or negative
 * errno. */
static int read_name(struct image *img, const struct vhd_locator *l,
		     char ret_path[VHD_NAME_BYTES + 1], char **ret_error)
{
	uint8_t name[VHD_NAME_BYTES];

	if (!vhd_locator_is_known(l) || l->length > sizeof(name))
		return 0;
	if (l->offset > INT64_MAX - sizeof(name) ||
	    source_read(img->source, l->offset, name, l->length) < 0)
		return unknown_parent(img,
				      "the name of its parent lies outside the file: the image is "
				      "truncated",
				      ret_error);
	return vhd_parent_path(l, name, ret_path);
}

/* Opens the first parent that can be opened: the files may have been moved since a locator was
 * written.  If there is none, the error is that of the last locator. */
static int find_parent(struct image *img, const struct vhd_header *h, char **ret_error)
{
	char path[VHD_NAME_BYTES + 1], *error = NULL;
	int r = unknown_parent(img,
			       "it is a differencing VHD that does not name its parent by a "
			       "locator MacX or W2ru",
			       &error);

	for (unsigned i = 0; i < VHD_LOCATORS && r < 0; i++) {
		int found = read_name(img, &h->locators[i], path, &error);

		if (found > 0)
			found = image_open_backing(img, path, image_format(img), &error);
		else if (found == 0)
			continue;
		r = found;
	}
	if (r < 0)
		error_text(ret_error, r, "%s", error ? error : "out of memory");
	free(error);
	return r;
}

/* A parent that was changed or made anew since is another disk, and has another id. */
static int open_parent(struct image *img, const struct vhd_header *h, char **ret_error)
{
	const struct vhd *parent;
	int r = find_parent(img, h, ret_error);

	if (r < 0)
		return r;
	parent = img->backing->state;
	if (memcmp(parent->footer.id, h->parent_id, VHD_ID_BYTES))
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s: its parent %s is another VHD than the one it was "
				  "made from: their unique ids differ",
				  image_path(img), image_path(img->backing));
	return 0;
}

static int vhd_open(struct image *img, char **ret_error)
{
	struct vhd *v = calloc(1, sizeof(*v));
	const char *reason;

	if (!v)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", image_path(img));
	img->state = v;
	reason = find_footer(img, &v->footer);
	if (!reason && v->footer.dynamic) {
		reason = read_header(img, &v->footer, &v->header);
		if (!reason && v->header.table_offset + 4 * (uint64_t)v->header.blocks >
				       source_size(img->source))
			reason = "its block table lies outside the file: the image is truncated";
	}
	if (reason)
		return error_text(ret_error, -EMEDIUMTYPE, "image %s: %s", image_path(img), reason);
	img->size = v->footer.size;
	return v->footer.differencing ? open_parent(img, &v->header, ret_error) : 0;
}

static void vhd_close(struct image *img)
{
	free(img->state);
}

static bool vhd_is_stale(struct image *img)
{
	const struct vhd *v = img->state;

	return atomic_load(&v->stale);
}

/* ---- dynamic VHDs ------------------------------------------------------------------ */

/* Compares the footer's copy at the beginning and the header with those that were opened.  They
 * change only if the disk is resized. */
static int check_header(struct image *img)
{
	struct vhd *v = img->state;
	uint8_t raw[VHD_FOOTER_BYTES];
	struct vhd_footer footer = {0};
	struct vhd_header header = {0};

	if (read_footer(img, 0, raw) == 0 && !vhd_footer_parse(raw, &footer) &&
	    footer.size == v->footer.size && footer.dynamic == v->footer.dynamic &&
	    footer.header_offset == v->footer.header_offset &&
	    footer.differencing == v->footer.differencing &&
	    !memcmp(footer.id, v->footer.id, VHD_ID_BYTES) && !read_header(img, &footer, &header) &&
	    !memcmp(&header, &v->header, sizeof(header)))
		return 0;
	atomic_store(&v->stale, true);
	return -EIO;
}

struct piece {
	bool data;
	uint64_t offset; /* in the file */
	uint64_t length;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_written(const uint8_t *bits, uint64_t sector)
{
	return bits[sector / 8] >> (7 - sector % 8) & 1;
}

/* Finds a piece within one block that is in the file: sectors that are all written, or all not
 * written. */
static int look_into_block(struct image *img, uint64_t block_offset, uint64_t within,
			   uint64_t length, struct piece *ret)
{
	const struct vhd *v = img->state;
	uint64_t first = within / VHD_SECTOR / 8 * 8; /* first sector of the bitmap's byte */
	uint64_t end = least((within + length + VHD_SECTOR - 1) / VHD_SECTOR, first + PART_SECTORS);
	uint64_t sector = within / VHD_SECTOR;
	uint8_t bits[PART_SECTORS / 8];
	int r;

	source_size_now(img->source);
	r = source_read(img->source, block_offset + first / 8, bits, (size_t)(end - first + 7) / 8);
	if (r < 0)
		return r;
	ret->data = is_written(bits, sector - first);
	while (sector < end && is_written(bits, sector - first) == ret->data)
		sector++;
	ret->offset = block_offset + v->header.bitmap_bytes + within;
	ret->length = least(length, sector * VHD_SECTOR - within);
	return 0;
}

/* Sets *ret_length to the bytes from offset on that have no blocks in the file.  If *ret_length is
 * 0, *ret_block is the entry of the block at offset. */
static int look_for_blocks(struct image *img, uint64_t offset, uint64_t length,
			   uint64_t *ret_length, uint32_t *ret_block)
{
	const struct vhd_header *h = &((struct vhd *)img->state)->header;
	uint64_t first = offset / h->block_bytes;
	uint64_t count = (offset + length - 1) / h->block_bytes - first + 1, n = 0;
	uint32_t part[PART_ENTRIES];
	int r;

	count = least(count, PART_ENTRIES);
	r = source_read(img->source, h->table_offset + 4 * first, part, (size_t)count * 4);
	if (r < 0)
		return r;
	*ret_block = be32toh(part[0]);
	while (n < count && part[n] == NO_BLOCK)
		n++;
	*ret_length = n ? least(length, (first + n) * h->block_bytes - offset) : 0;
	return 0;
}

static int look(struct image *img, uint64_t offset, uint64_t length, struct piece *ret)
{
	const struct vhd_header *h = &((struct vhd *)img->state)->header;
	uint64_t within = offset % h->block_bytes;
	uint32_t block = NO_BLOCK;
	int r = check_header(img);

	ret->data = false;
	if (r == 0)
		r = look_for_blocks(img, offset, length, &ret->length, &block);
	if (r < 0 || ret->length > 0)
		return r;
	return look_into_block(img, (uint64_t)block * VHD_SECTOR, within,
			       least(length, h->block_bytes - within), ret);
}

static int vhd_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	const struct vhd *v = img->state;
	struct piece p = {true, offset, length};
	int r = v->footer.dynamic ? look(img, offset, length, &p) : 0;
	uint64_t below = 0;

	if (r == 0 && !p.data)
		r = image_look_below(img, offset, p.length, &below);
	if (r < 0)
		return r;
	if (below)
		return image_map(img->backing, offset, below, ret);
	*ret = (struct image_run){p.data ? img->source : NULL, p.data ? p.offset : 0, p.length};
	return 0;
}

const struct image_ops image_vhd = {
	.open = vhd_open,
	.close = vhd_close,
	.map = vhd_map,
	.is_stale = vhd_is_stale,
	.moves = true,
};
