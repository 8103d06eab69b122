/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - the parts of answers that are more than a number or a text, written by a
 * parser and read, with distrust, by vreadd; private to parser/.
 */
#ifndef VREAD_PARSER_ANSWER_H
#define VREAD_PARSER_ANSWER_H

#include "parser-protocol/blocks.h"
#include "parser-protocol/protocol.h"
#include "parser-protocol/wire.h"

/* Whether a question about blocks may be answered so: an error of block_locate(), or of fs.h. */
bool answer_is_error(int result);

void answer_put_file(struct wire_out *out, const struct fs_file *f);
/* Only extents inside a volume of that length, ascending; false: nothing is to be cleared. */
bool answer_get_file(struct wire_in *in, uint64_t volume_length, struct fs_file *ret);

void answer_put_files(struct wire_out *out, const struct block_files *f);
bool answer_get_files(struct wire_in *in, uint64_t volume_length, struct block_files *ret);

/* Bytes [start, end) of a file are not settled; end is 0: all are. */
struct answer_unsettled {
	uint64_t start, end;
};

/* A basis as vreadd keeps it. */
struct answer_basis {
	bool clean;
	struct answer_unsettled data, meta;
	unsigned num_watched; /* 0: always to be asked */
	struct {
		uint64_t offset;
		uint32_t length;
		const uint8_t *bytes;
	} watched[FS_MAX_WATCHED];
	const uint8_t *packed; /* the parser's own form of it */
	size_t packed_length;
};

void answer_put_basis(struct wire_out *out, const struct answer_basis *b);
/* Its pointers are into what in reads. */
bool answer_get_basis(struct wire_in *in, uint64_t volume_length, struct answer_basis *ret);

#endif
