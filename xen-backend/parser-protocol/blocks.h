/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.h - HDFS blocks as a parser reports them: the data file and the .meta file of one block,
 * or the list of blocks in a folder. parser/hdfs/ fills these structures; datanode/ and read/ use
 * them.
 *
 * The .meta file lies beside the data file. It holds one checksum for each chunk of the block.
 */
#ifndef VREAD_PARSER_PROTOCOL_BLOCKS_H
#define VREAD_PARSER_PROTOCOL_BLOCKS_H

#include <stdbool.h>

#include "parser-protocol/file.h"

#define META_HEADER_BYTES 7U
#define META_MIN_CHUNK 16U
#define META_MAX_CHUNK (1U << 20)

enum meta_type { META_CRC32 = 1, META_CRC32C = 2 };

/* The header of a .meta file. */
struct meta_header {
	enum meta_type type;
	uint32_t chunk; /* bytes per checksum */
};

/* Sets `*ret` to the bytes a .meta file needs for a block of `data_length` bytes. Returns false
 * if the number overflows. */
bool meta_expected_length(const struct meta_header *h, uint64_t data_length, uint64_t *ret);

struct block_files {
	struct fs_file data;
	struct fs_file meta;
	struct meta_header header;
	bool finalized;
};

void block_files_clear(struct block_files *f);

/* Translates an error about a file system whose owner may be writing: -EILSEQ becomes -ENODATA,
 * because the .meta file may not be committed yet. Other errors are returned unchanged. */
int block_not_yet(int error);

/* The name of a replica in its pool. */
struct replica_name {
	int64_t id;
	uint64_t genstamp;
};

#define NEWEST_MAX 16U /* replicas in an answer to the question NEWEST */

/* The limit of names of blocks' files read from one folder. HDFS puts at most 256 blocks in a
 * finalized folder; rbw/ may hold more. */
#define FOLDER_MAX_NAMES (1U << 18)

/* One block of a folder. */
struct folder_block {
	int64_t id;
	uint64_t genstamp; /* 0 without a .meta */
	uint64_t length;   /* bytes of the data file; 0 if status says it is unknown */
	int status;        /* 0: readable as far as known; else the error of block_open() */
	char problem[64];  /* English, "" if status is 0 */
};

#endif
