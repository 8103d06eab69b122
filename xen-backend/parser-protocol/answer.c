// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes and reads files and bases in messages. The parser (parser/serve.c) writes answers;
 * vreadd (datanode/client.c) reads them and checks every value. answer.h describes the functions.
 */
#include "parser-protocol/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of a file whose content lies in its inode. */
#define MAX_CONTENT (64U << 10)
/* Most bytes of a packed basis, which lists the metadata blocks a view has read. */
#define MAX_PACKED (1U << 20)

bool answer_is_error(int result)
{
	static const int errors[] = {EAGAIN, EBUSY,  EEXIST, EILSEQ,  EIO,       ENODATA,
				     ENODEV, ENOENT, ENOMEM, ENOTDIR, EOPNOTSUPP};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (result == -errors[i])
			return true;
	return false;
}

void answer_put_file(struct wire_out *out, const struct fs_file *f)
{
	wire_put64(out, f->inode);
	wire_put32(out, f->generation);
	wire_put64(out, f->size);
	wire_put32(out, f->content ? (uint32_t)f->size : 0);
	if (f->content)
		wire_put(out, f->content, (size_t)f->size);
	wire_put32(out, f->num_extents);
	for (unsigned i = 0; i < f->num_extents; i++) {
		wire_put64(out, f->extents[i].logical);
		wire_put64(out, f->extents[i].physical);
		wire_put64(out, f->extents[i].length);
	}
}

static bool get_content(struct wire_in *in, struct fs_file *f)
{
	uint32_t length = wire_get32(in);
	const void *content;

	if (length == 0)
		return !in->failed;
	content = length == f->size && length <= MAX_CONTENT ? wire_get(in, length) : NULL;
	if (!content)
		return false;
	f->content = malloc(length);
	if (f->content)
		memcpy(f->content, content, length);
	return f->content != NULL;
}

bool answer_get_file(struct wire_in *in, uint64_t volume_length, struct fs_file *ret)
{
	struct fs_file f = {.inode = wire_get64(in)};
	uint32_t count;
	bool good;

	f.generation = wire_get32(in);
	f.size = wire_get64(in);
	good = f.size <= INT64_MAX && get_content(in, &f);
	count = wire_get32(in);
	good = good && count <= (f.content ? 0 : FS_MAX_EXTENTS);

	for (uint32_t i = 0; i < count && good; i++) {
		uint64_t logical = wire_get64(in), physical = wire_get64(in);
		uint64_t length = wire_get64(in);

		good = !in->failed &&
		       fs_file_extend(&f, volume_length, logical, physical, length) == 0;
	}
	if (!good || in->failed) {
		fs_file_clear(&f);
		return false;
	}
	*ret = f;
	return true;
}

void answer_put_files(struct wire_out *out, const struct block_files *f)
{
	wire_put32(out, f->finalized);
	wire_put32(out, f->header.type);
	wire_put32(out, f->header.chunk);
	answer_put_file(out, &f->data);
	answer_put_file(out, &f->meta);
}

bool answer_get_files(struct wire_in *in, uint64_t volume_length, struct block_files *ret)
{
	uint32_t finalized = wire_get32(in), type = wire_get32(in), chunk = wire_get32(in);
	struct block_files f = {
		.finalized = finalized != 0,
		.header = {type == META_CRC32 ? META_CRC32 : META_CRC32C, chunk},
	};

	if (finalized > 1 || (type != META_CRC32 && type != META_CRC32C) ||
	    chunk < META_MIN_CHUNK || chunk > META_MAX_CHUNK)
		return false;
	if (!answer_get_file(in, volume_length, &f.data))
		return false;
	if (!answer_get_file(in, volume_length, &f.meta)) {
		fs_file_clear(&f.data);
		return false;
	}
	*ret = f;
	return true;
}

void answer_put_basis(struct wire_out *out, const struct answer_basis *b)
{
	wire_put32(out, b->clean);
	wire_put64(out, b->data.start);
	wire_put64(out, b->data.end);
	wire_put64(out, b->meta.start);
	wire_put64(out, b->meta.end);
	wire_put32(out, b->num_watched);
	for (unsigned i = 0; i < b->num_watched; i++) {
		wire_put64(out, b->watched[i].offset);
		wire_put32(out, b->watched[i].length);
		wire_put(out, b->watched[i].bytes, b->watched[i].length);
	}
	wire_put32(out, (uint32_t)b->packed_length);
	wire_put(out, b->packed, b->packed_length);
}

bool answer_get_basis(struct wire_in *in, uint64_t volume_length, struct answer_basis *ret)
{
	struct answer_basis b = {.clean = wire_get32(in) != 0};

	b.data.start = wire_get64(in);
	b.data.end = wire_get64(in);
	b.meta.start = wire_get64(in);
	b.meta.end = wire_get64(in);
	b.num_watched = wire_get32(in);
	if (b.num_watched > FS_MAX_WATCHED)
		return false;
	for (unsigned i = 0; i < b.num_watched; i++) {
		b.watched[i].offset = wire_get64(in);
		b.watched[i].length = wire_get32(in);
		if (b.watched[i].length > FS_SUPER_BYTES || b.watched[i].offset > volume_length ||
		    b.watched[i].length > volume_length - b.watched[i].offset)
			return false;
		b.watched[i].bytes = wire_get(in, b.watched[i].length);
	}
	b.packed_length = wire_get32(in);
	if (b.packed_length > MAX_PACKED)
		return false;
	b.packed = wire_get(in, b.packed_length);
	*ret = b;
	return !in->failed;
}
