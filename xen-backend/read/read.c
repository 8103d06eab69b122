// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements block_read() of block.h: verifies bytes, then copies them to the guest.
 * ring/dispatch.c and peer/answering/answer.c call it.
 *
 * Data is read piece by piece into a buffer of this thread and compared with the .meta file. Then
 * the replica is checked to be still the same (replica.h). Only then are the wanted bytes copied to
 * memory that a guest may see. If the replica has changed, it is looked for again by its name, a
 * few times.
 *
 * The owner of a mounted file system may write a block's last chunks and their checksums in place.
 * So after a mismatch the piece is read once more. The owner may also keep the bytes of a hole in
 * its memory. So a mismatch of a piece with a hole means that the piece is not committed yet.
 *
 * From an image read with O_DIRECT: bytes that were verified before may come from the verified
 * cache instead, after the same check of the replica. Others may have been read ahead: then they
 * are verified where they are.
 *
 * The CRC32C of an answer is made of the checksums that were compared, or of the private bytes that
 * were compared. It is never made of the memory that a guest sees: others may write there.
 */
#include <errno.h>
#include <string.h>

#include "read/ahead.h"
#include "read/checksum.h"
#include "read/crc_join.h"
#include "read/read_private.h"
#include "read/piece.h"
#include "base/scratch.h"
#include "base/trace.h"
#include "disk/source.h"

/*
 * Most data verified at once. One large pread costs less than several small ones, by more than a
 * second-level cache gains.
 */
#define PIECE_BYTES (1U << 20)
#define ATTEMPTS 4 /* attempts to read a replica that changes during the read */

static int check(const struct block_replica *r)
{
	uint64_t mark = trace_mark();
	int error = replica_check(r);

	trace_stage(TRACE_CHECK, mark);
	return error;
}

static bool verify(const struct block_replica *r, const struct piece *p, uint64_t end)
{
	uint64_t mark = trace_mark();
	bool right = checksum_verify(&r->files.header, p->data, (size_t)(end - p->start), p->sums);

	trace_stage(TRACE_VERIFY, mark);
	return right;
}

/* Sets *ret_start to the offset of the piece's checksums in .meta. Returns their length. */
static size_t find_sums(const struct block_replica *r, const struct piece *p, uint64_t *ret_start)
{
	uint64_t chunk = r->files.header.chunk;

	*ret_start = META_HEADER_BYTES + p->start / chunk * 4;
	return (size_t)((p->end - p->start + chunk - 1) / chunk * 4);
}

static bool all_settled(const struct block_replica *r, const struct piece *p)
{
	uint64_t start;
	size_t sums = find_sums(r, p, &start);

	return parser_data_settled(r->basis, p->start, p->end - p->start) &&
	       parser_meta_settled(r->basis, start, sums);
}

static bool has_hole(const struct block_replica *r, const struct piece *p)
{
	uint64_t start;
	size_t sums = find_sums(r, p, &start);

	return fs_file_first_hole(&r->files.data, p->start, p->end) < p->end ||
	       fs_file_first_hole(&r->files.meta, start, start + sums) < start + sums;
}

int piece_settled(const struct block_replica *r, const struct piece *p)
{
	int error;

	if (replica_is_still(r) || all_settled(r, p))
		return 0;
	error = check(r); /* all_settled() told the state of the last check */
	if (error < 0)
		return error;
	return all_settled(r, p) ? 0 : -EAGAIN;
}

static int load_piece(struct block_replica *r, struct piece *p)
{
	const struct block_files *f = &r->files;
	size_t length = (size_t)(p->end - p->start);
	uint64_t start;
	size_t sums = find_sums(r, p, &start);
	int error;

	p->data = scratch_get(SCRATCH_DATA, length);
	p->sums = scratch_get(SCRATCH_SUMS, sums);
	if (!p->data || !p->sums)
		return -ENOMEM;
	error = fs_file_read_at(r->fs->volume, &f->data, p->start, p->data, length);
	if (error < 0)
		return error;
	error = fs_file_read_at(r->fs->volume, &f->meta, start, p->sums, sums);
	return error == -ENODATA ? -EILSEQ : error;
}

int piece_verify(const struct block_replica *r, const struct piece *p)
{
	bool right = verify(r, p, p->end);
	int error = check(r);

	if (error < 0)
		return error;
	if (!replica_is_still(r) && !all_settled(r, p))
		return -EAGAIN;
	if (right)
		return 0;
	return !replica_is_still(r) && has_hole(r, p) ? -ENODATA : -EBADMSG;
}

/* True if everything is correct except the block's last chunk, which its owner may be extending. */
static bool only_last_is_wrong(const struct block_replica *r, const struct piece *p)
{
	uint64_t last = (r->files.data.size - 1) / r->files.header.chunk * r->files.header.chunk;

	return p->end == r->files.data.size && last >= p->start && verify(r, p, last);
}

static int read_piece(struct block_replica *r, struct piece *p)
{
	int error = piece_settled(r, p);
	uint64_t mark = trace_mark();

	if (error == 0)
		error = load_piece(r, p);
	trace_stage(TRACE_READ, mark);
	return error < 0 ? error : piece_verify(r, p);
}

/*
 * Reads a piece. While the owner may write, a mismatch is not believed at once: the piece is read
 * again.
 */
static int read_piece_again(struct block_replica *r, struct piece *p)
{
	int error = read_piece(r, p);

	if (error != -EBADMSG || replica_is_still(r))
		return error;
	error = read_piece(r, p);
	return error == -EBADMSG && only_last_is_wrong(r, p) ? -EAGAIN : error;
}

/* Sets p to the piece that holds offset and ends with the last chunk wanted. */
static void cut_piece(const struct block_replica *r, uint64_t offset, uint64_t end, struct piece *p)
{
	uint64_t chunk = r->files.header.chunk;
	uint64_t most = PIECE_BYTES < chunk ? chunk : PIECE_BYTES - PIECE_BYTES % chunk;

	p->start = offset - offset % chunk;
	p->end = end + (chunk - end % chunk) % chunk;
	if (p->end - p->start > most)
		p->end = p->start + most;
	if (p->end > r->files.data.size)
		p->end = r->files.data.size;
}

/* Reads and verifies the chunk that holds offset. */
static int check_chunk(struct block_replica *r, uint64_t offset)
{
	struct piece p;

	cut_piece(r, offset, offset + 1, &p);
	return read_piece(r, &p);
}

int piece_check_holes(struct block_replica *r, uint64_t end)
{
	struct piece all = {.end = end};
	uint64_t start, hole = fs_file_first_hole(&r->files.data, 0, end);
	uint64_t sums_end = find_sums(r, &all, &start) + start;
	int error = hole < end ? check_chunk(r, hole) : 0;

	hole = fs_file_first_hole(&r->files.meta, start, sums_end);
	if (error == 0 && hole < sums_end)
		error = check_chunk(r, (hole - start) / 4 * r->files.header.chunk);
	return error;
}

/*
 * Sets p to verified bytes of r from at on. *ret_step: the step of read-ahead that holds the bytes;
 * NULL: a buffer of this thread. Bytes that were read ahead and are wrong are read once more.
 */
static int get_piece(struct block_handle *h, struct block_replica *r, uint64_t at, uint64_t end,
		     struct piece *p, struct ahead_step **ret_step)
{
	uint64_t mark = trace_mark();
	int error;

	*ret_step = ahead_get(h->ahead, r, at, end, p);
	trace_stage(TRACE_READ, mark);
	if (*ret_step) {
		error = piece_verify(r, p);
		if (error == 0)
			return 0;
		ahead_put(h->ahead, *ret_step, p);
		*ret_step = NULL;
		if (error != -EBADMSG)
			return error;
	}
	cut_piece(r, at, end, p);
	return read_piece_again(r, p);
}

static int read_verified(struct block_handle *h, struct block_replica *r, uint64_t offset,
			 uint8_t *dst, uint32_t length, uint32_t *ret_crc32c)
{
	uint64_t end = offset + length;
	struct piece p = {0};
	uint32_t sum = 0;

	for (uint64_t at = offset; at < end;) {
		struct ahead_step *step;
		uint64_t mark;
		size_t n;
		int error = get_piece(h, r, at, end, &p, &step);

		if (error < 0)
			return error;
		n = (size_t)((p.end < end ? p.end : end) - at);
		mark = trace_mark();
		sum = crc_join(sum, piece_sum(r, &p, at, at + n), (uint32_t)n);
		memcpy(dst, p.data + (at - p.start), n);
		trace_stage(TRACE_COPY, mark);
		if (replica_is_direct(r) && h->shared)
			verified_cache_add(h->shared->cache, r, &p, at + n);
		if (step)
			ahead_put(h->ahead, step, &p);
		dst += n;
		at += n;
	}
	*ret_crc32c = sum;
	return 0;
}

static int read_replica(struct block_handle *h, struct block_replica *r, uint64_t offset,
			uint8_t *dst, uint32_t length, uint32_t *ret_crc32c)
{
	struct verified_cache *cache = h->shared ? h->shared->cache : NULL;
	uint64_t mark = trace_mark();
	int found = 0;

	if (replica_is_direct(r))
		found = verified_cache_read(cache, r, offset, dst, length, ret_crc32c);

	if (replica_is_direct(r))
		trace_stage(TRACE_CACHE, mark);
	if (found != 0)
		return found < 0 ? found : 0;
	return read_verified(h, r, offset, dst, length, ret_crc32c);
}

/* Reads with read-ahead: requests the next bytes, and uses those that were requested before. */
static int read_on(struct block_handle *h, struct block_replica *r, uint64_t offset, uint8_t *dst,
		   uint32_t length, uint32_t *ret_crc32c)
{
	uint64_t end = offset + length, waits;
	int error;

	ahead_begin(h->ahead, r, offset, end, h->visible_length);
	waits = source_waits();
	error = read_replica(h, r, offset, dst, length, ret_crc32c);
	ahead_end(h->ahead, source_waits() != waits);
	return error;
}

ssize_t block_read(struct block_handle *h, uint64_t offset, void *dst, uint32_t length,
		   uint32_t *ret_crc32c)
{
	int error;

	*ret_crc32c = 0;
	if (offset >= h->visible_length)
		return 0;
	if (length > h->visible_length - offset)
		length = (uint32_t)(h->visible_length - offset);
	if (length == 0)
		return 0;
	for (unsigned attempt = 1;; attempt++) {
		struct block_replica *r = handle_replica(h);
		bool again;

		error = read_on(h, r, offset, dst, length, ret_crc32c);
		again = error == -EAGAIN && attempt < ATTEMPTS;
		if (again)
			error = handle_renew(h, r);
		replica_put(r);
		if (!again || error < 0)
			return error < 0 ? error : (ssize_t)length;
	}
}
