// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the bytes of a file from its volume. file.h describes the function.
 */
#include <errno.h>
#include <string.h>

#include "parser-protocol/file.h"

int fs_file_read_at(struct volume *volume, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length)
{
	uint64_t end;
	uint8_t *to = buf;

	if (offset > f->size || length > f->size - offset)
		return -ENODATA;
	if (length == 0)
		return 0;
	if (f->content) {
		memcpy(buf, f->content + offset, length);
		return 0;
	}
	end = offset + length;
	while (offset < end) {
		struct fs_extent piece = fs_file_piece(f, offset, end);
		int r = 0;

		if (piece.physical == FS_HOLE)
			memset(to, 0, (size_t)piece.length);
		else
			r = volume_read(volume, piece.physical, to, (size_t)piece.length);
		if (r < 0)
			return r;
		to += piece.length;
		offset += piece.length;
	}
	return 0;
}
