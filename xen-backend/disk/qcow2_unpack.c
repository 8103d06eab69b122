// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unpacks compressed clusters of qcow2; see qcow2.h.  disk/qcow2.c calls it.
 *
 * A compressed cluster is a raw deflate stream or a zstd frame, anywhere in the file.  An owner
 * never writes to a compressed cluster; the owner gives the cluster another place.
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/scratch.h"
#include "disk/qcow2.h"

#define SECTOR 512U
#define WINDOW_BITS 12 /* of the deflate streams that QEMU writes */

/* Both functions return 0 if they have filled out. */
static int inflate_cluster(uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t bytes)
{
	z_stream stream = {
		.next_in = packed,
		.avail_in = (uInt)packed_bytes,
		.next_out = out,
		.avail_out = (uInt)bytes,
	};
	int r;

	if (inflateInit2(&stream, -WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return stream.avail_out == 0 ? 0 : -EIO;
}

static int unzstd_cluster(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t bytes)
{
	ZSTD_inBuffer in = {packed, packed_bytes, 0};
	ZSTD_outBuffer to = {out, bytes, 0};
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t r = 0, before;

	if (!context)
		return -ENOMEM;
	do {
		before = to.pos + in.pos;
		r = ZSTD_decompressStream(context, &to, &in);
	} while (!ZSTD_isError(r) && to.pos < bytes && to.pos + in.pos > before);
	ZSTD_freeDCtx(context);
	return !ZSTD_isError(r) && to.pos == bytes ? 0 : -EIO;
}

int qcow2_unpack_cluster(struct image *img, uint64_t entry, uint64_t within, void *buf,
			 size_t length)
{
	const struct qcow2_header *h = &((const struct qcow2 *)img->state)->header;
	size_t cluster = (size_t)1 << h->cluster_bits;
	unsigned place_bits = 62 - (h->cluster_bits - 8);
	uint64_t place = entry & ((UINT64_C(1) << place_bits) - 1);
	uint64_t sectors = (entry >> place_bits & ((UINT64_C(1) << (h->cluster_bits - 8)) - 1)) + 1;
	uint64_t bytes = sectors * SECTOR - place % SECTOR, there = source_size_now(img->source);
	uint8_t *packed, *out;
	int r;

	if (place >= there)
		return -EIO;
	if (bytes > there - place)
		bytes = there - place; /* the file may end within a sector */
	packed = scratch_get(SCRATCH_PACKED, (size_t)bytes);
	out = scratch_get(SCRATCH_UNPACKED, cluster);
	if (!packed || !out)
		return -ENOMEM;
	r = source_read(img->source, place, packed, (size_t)bytes);
	if (r == 0)
		r = (h->zstd ? unzstd_cluster(packed, (size_t)bytes, out, cluster)
			     : inflate_cluster(packed, (size_t)bytes, out, cluster));
	if (r == 0)
		memcpy(buf, out + within, length);
	return r;
}
