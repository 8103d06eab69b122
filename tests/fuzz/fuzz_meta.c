// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what the names of a block's two files and the header of its .meta file say: meta_parse(),
 * meta_expected_length(), block_parse_data_name(), block_parse_meta_name().  An accepted name must
 * be the name that HDFS writes for those numbers.
 */
#include <inttypes.h>
#include <string.h>

#include "parser/hdfs/locate.h"
#include "parser/hdfs/meta.h"
#include "fuzz.h"

static void parse_header(const uint8_t *data, size_t size)
{
	uint8_t *raw = bytes_of(data, size);
	struct meta_header header;
	const char *reason = NULL;
	uint64_t length;

	if (meta_parse(raw, size, &header, &reason) < 0) {
		check(reason);
	} else {
		check(size >= META_HEADER_BYTES);
		check(header.chunk >= META_MIN_CHUNK && header.chunk <= META_MAX_CHUNK);
		if (meta_expected_length(&header, size, &length))
			check((length - META_HEADER_BYTES) / 4 * header.chunk >= size);
		(void)meta_expected_length(&header, UINT64_MAX, &length);
	}
	free(raw);
}

static void parse_name(const char *name)
{
	char again[80];
	uint64_t genstamp;
	int64_t id;

	if (block_parse_data_name(name, &id)) {
		snprintf(again, sizeof(again), "blk_%" PRId64, id);
		check(!strcmp(name, again));
	}
	if (block_parse_meta_name(name, &id, &genstamp)) {
		snprintf(again, sizeof(again), "blk_%" PRId64 "_%" PRId64 ".meta", id,
			 (int64_t)genstamp);
		check(!strcmp(name, again));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = text_of(data, size);

	parse_header(data, size);
	parse_name(name);
	free(name);
	return 0;
}
