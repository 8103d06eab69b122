/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.h - what a parser tells of HDFS blocks: the two files of one, or a list of those in a folder.
 *
 * A block's data file has a .meta file beside it with a checksum for each chunk.
 */
#ifndef VREAD_PARSER_PROTOCOL_BLOCKS_H
#define VREAD_PARSER_PROTOCOL_BLOCKS_H

#include <stdbool.h>

#include "parser-protocol/file.h"

#define META_HEADER_BYTES 7U
#define META_MIN_CHUNK 16U
#define META_MAX_CHUNK (1U << 20)

enum meta_type { META_CRC32 = 1, META_CRC32C = 2 };

/* Of a .meta file. */
struct meta_header {
	enum meta_type type;
	uint32_t chunk; /* bytes per checksum */
};

/* Length of the .meta of a block of data_length bytes; false on overflow. */
bool meta_expected_length(const struct meta_header *h, uint64_t data_length, uint64_t *ret);

struct block_files {
	struct fs_file data;
	struct fs_file meta;
	struct meta_header header;
	bool finalized;
};

void block_files_clear(struct block_files *f);

/* What an error means where the owner may be writing: files whose content is not all
 * committed are not there yet. */
int block_not_yet(int error);

/* HDFS puts at most 256 blocks in one; rbw/ may hold more. */
#define FOLDER_MAX_NAMES (1U << 18)

/* A block in a folder. */
struct folder_block {
	int64_t id;
	uint64_t genstamp; /* 0 without a .meta */
	uint64_t length;   /* bytes of the data file; 0 if status says it cannot be told */
	int status;        /* 0: readable so far as one can tell, else as block_open() would fail */
	char problem[64];  /* English, "" if status is 0 */
};

#endif
