// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Helpers for the files of a block. parser/ and read/ call them; blocks.h describes them.
 */
#include <errno.h>

#include "parser-protocol/blocks.h"

bool meta_expected_length(const struct meta_header *h, uint64_t data_length, uint64_t *ret)
{
	uint64_t chunks = data_length / h->chunk + (data_length % h->chunk != 0);

	return !__builtin_mul_overflow(chunks, 4, ret) &&
	       !__builtin_add_overflow(*ret, META_HEADER_BYTES, ret);
}

void block_files_clear(struct block_files *f)
{
	fs_file_clear(&f->data);
	fs_file_clear(&f->meta);
}

int block_not_yet(int error)
{
	return error == -EILSEQ ? -ENODATA : error;
}
