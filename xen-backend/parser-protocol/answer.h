/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - the files and the basis in a parser's answer, as bytes of a message. A parser writes
 * them (parser/serve.c). vreadd reads and checks them (datanode/client.c).
 */
#ifndef VREAD_PARSER_ANSWER_H
#define VREAD_PARSER_ANSWER_H

#include "parser-protocol/blocks.h"
#include "parser-protocol/protocol.h"
#include "parser-protocol/wire.h"

/* True if the answer to STATE, LOCATE, CHECK, LIST or NEWEST may carry the negative errno
 * `result`: the errors of block_locate() and of fs.h. */
bool answer_is_error(int result);

/* Appends the file `f` to `out`. */
void answer_put_file(struct wire_out *out, const struct fs_file *f);
/* Reads a file into `*ret` (fs_file_clear() it). The extents must ascend and lie inside a volume
 * of `volume_length` bytes. Returns false if the bytes are malformed or memory is short; then
 * there is nothing to clear. */
bool answer_get_file(struct wire_in *in, uint64_t volume_length, struct fs_file *ret);

/* The same for the data file and the .meta file of a block (block_files_clear() `*ret`). */
void answer_put_files(struct wire_out *out, const struct block_files *f);
bool answer_get_files(struct wire_in *in, uint64_t volume_length, struct block_files *ret);

/* Bytes [start, end) of a file may still be in a journal of data. All other bytes of the file lie
 * where its extents say. `end` is 0 if there is no such range. */
struct answer_unsettled {
	uint64_t start, end;
};

/* A basis: what the answer to LOCATE or CHECK rests on. While the watched bytes of the volume are
 * unchanged (and volume_changes(), if the basis is clean), the answer still holds. */
struct answer_basis {
	bool clean;
	struct answer_unsettled data, meta;
	unsigned num_watched; /* 0: only the parser can tell, ask it each time */
	struct {
		uint64_t offset;
		uint32_t length;
		const uint8_t *bytes;
	} watched[FS_MAX_WATCHED];
	const uint8_t *packed; /* the basis in the parser's own form, sent back with CHECK */
	size_t packed_length;
};

void answer_put_basis(struct wire_out *out, const struct answer_basis *b);
/* Reads a basis. All watched ranges must lie inside a volume of `volume_length` bytes. The
 * pointers in `*ret` point into the message that `in` reads. Returns false if the bytes are
 * malformed. */
bool answer_get_basis(struct wire_in *in, uint64_t volume_length, struct answer_basis *ret);

#endif
